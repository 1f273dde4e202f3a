//! The phases of a run: when each begins, and how a run ends.

use super::super::outcome::{AgentResult, Outcome};
use super::super::slot::{SliceState, Slot};
use super::super::{ARMED_AT_ONCE_MAX, LINGER_NS, RESULT_LIMIT_NS, STOP_LIMIT_NS};
use super::{Action, Controller, Event, Phase, RunSettings};
use crate::clock::start_after;
use crate::protocol::{AgentName, Command, Offer};

impl Controller {
    /// The run fails: all other agents stop, what they measured is collected.
    pub(super) fn give_up(&mut self, why: String, now_ns: u64, actions: &mut Vec<Action>) {
        if self.failure.is_none() {
            actions.push(Action::Show(Event::GivenUp(why.clone())));
            self.stop(&why, now_ns, actions);
            self.failure = Some(why);
        }
    }

    pub(super) fn stop(&mut self, reason: &str, now_ns: u64, actions: &mut Vec<Action>) {
        if matches!(self.phase, Phase::Stopping(_) | Phase::Lingering(_) | Phase::Done) {
            return;
        }
        self.phase = Phase::Stopping(now_ns.saturating_add(STOP_LIMIT_NS));
        for place in 0..self.slots.len() {
            if !self.slots[place].state.is_over() {
                self.order(place, Command::Stop { reason: reason.to_owned() }, now_ns, actions);
            }
        }
    }

    /// Goes on to the next phase where the present one is over.
    pub(super) fn advance(&mut self, now_ns: u64, actions: &mut Vec<Action>) {
        let all = |slots: &[Slot], state| slots.iter().all(|slot| slot.state == state);
        let started =
            |slot: &Slot| slot.state == SliceState::Running || (slot.observes && slot.state.is_over());
        match &self.phase {
            Phase::Discovering(discovery) => {
                let RunSettings { wanted, observer, version, .. } = &self.settings;
                let observer = observer.as_ref().map(|observer| &observer.agent);
                match discovery.choose(wanted, observer, version, now_ns) {
                    None => {}
                    Some(Ok(chosen)) => self.offer(chosen, now_ns, actions),
                    Some(Err(why)) => {
                        self.failure = Some(why);
                        self.finish(actions);
                    }
                }
            }
            Phase::Offering if all(&self.slots, SliceState::Accepted) => {
                self.phase = Phase::Arming;
                self.arm(now_ns, actions);
            }
            Phase::Arming if all(&self.slots, SliceState::Ready) => {
                let rtt_ns =
                    self.slots.iter().filter_map(|slot| slot.offset).map(|offset| offset.rtt_ns).max();
                let at_ns = start_after(now_ns, rtt_ns.unwrap_or(0));
                self.start_ns = Some(at_ns);
                self.phase = Phase::Starting;
                for place in 0..self.slots.len() {
                    self.order(place, Command::Start { at_ns }, now_ns, actions);
                }
                actions.push(Action::Show(Event::Starting { at_ns, in_ns: at_ns - now_ns }));
            }
            Phase::Arming => self.arm(now_ns, actions),
            Phase::Starting if self.slots.iter().all(started) => {
                let limit_ns =
                    self.settings.deadline_ms.saturating_mul(1_000_000).saturating_add(RESULT_LIMIT_NS);
                self.phase = Phase::Running(self.start_ns.unwrap_or(now_ns).saturating_add(limit_ns));
            }
            Phase::Running(until_ns) if now_ns >= *until_ns => {
                let late = |slot: &Slot| !slot.state.is_over();
                let place = self.slots.iter().position(|slot| late(slot) && !slot.observes);
                let why = |slot: &Slot| format!("the agent {} sent no result in time", slot.name);
                if let Some(place) = place {
                    let why = why(&self.slots[place]);
                    self.give_up(why, now_ns, actions);
                } else if let Some(place) = self.slots.iter().position(late) {
                    let why = why(&self.slots[place]);
                    self.lose(place, why, now_ns, actions);
                }
            }
            Phase::Running(_) | Phase::Starting | Phase::Stopping(_)
                if self.slots.iter().all(|slot| slot.state.is_over()) =>
            {
                self.phase = Phase::Lingering(now_ns.saturating_add(LINGER_NS));
                self.advance(now_ns, actions);
            }
            Phase::Running(_) => self.end_observation(now_ns, actions),
            Phase::Stopping(until_ns) if now_ns >= *until_ns => {
                for slot in self.slots.iter_mut().filter(|slot| !slot.state.is_over()) {
                    slot.state = SliceState::Lost;
                    let why = format!("the agent {} sent no result after the end", slot.name);
                    slot.failure.get_or_insert(why);
                }
                self.phase = Phase::Lingering(now_ns.saturating_add(LINGER_NS));
            }
            Phase::Lingering(until_ns) => {
                let settled = |slot: &Slot| slot.committed.is_none() || slot.settled;
                if now_ns >= *until_ns || self.slots.iter().all(settled) {
                    self.finish(actions);
                }
            }
            _ => {}
        }
    }

    /// Whether some agent has not confirmed its start, and no end was asked for.
    pub(super) fn is_before_load(&self) -> bool {
        let waits = |slot: &Slot| {
            matches!(slot.state, SliceState::Offered | SliceState::Accepted | SliceState::Ready)
        };
        match self.phase {
            Phase::Discovering(_) | Phase::Offering | Phase::Arming => true,
            Phase::Starting => self.slots.iter().any(|slot| !slot.observes && waits(slot)),
            Phase::Running(_) | Phase::Stopping(_) | Phase::Lingering(_) | Phase::Done => false,
        }
    }

    /// Ends the measurement of the server where no load is left: a number of requests may have been answered early.
    fn end_observation(&mut self, now_ns: u64, actions: &mut Vec<Action>) {
        let is_over = |slot: &Slot| slot.state.is_over();
        let all_loads = self.slots.iter().filter(|slot| !slot.observes).all(is_over);
        let observer = self.slots.iter().position(|slot| slot.observes && !is_over(slot));
        if let (true, Some(place)) = (all_loads, observer)
            && !std::mem::replace(&mut self.slots[place].asked_to_end, true)
        {
            let reason = "the load is over".to_owned();
            self.order(place, Command::Stop { reason }, now_ns, actions);
        }
    }

    /// Has as many agents compare their clocks as may at once.
    fn arm(&mut self, now_ns: u64, actions: &mut Vec<Action>) {
        let asked = self.slots.iter().filter(|slot| slot.pending.is_some()).count();
        let waiting = self.slots.iter().enumerate();
        let next: Vec<usize> = waiting
            .filter(|(_, slot)| slot.state == SliceState::Accepted && slot.pending.is_none())
            .map(|(place, _)| place)
            .take(ARMED_AT_ONCE_MAX.saturating_sub(asked))
            .collect();
        for place in next {
            self.order(place, Command::Arm, now_ns, actions);
        }
    }

    fn offer(&mut self, chosen: Vec<(AgentName, String)>, now_ns: u64, actions: &mut Vec<Action>) {
        let observer = self.settings.observer.clone();
        let mut agents: Vec<AgentName> = chosen.iter().map(|(name, _)| name.clone()).collect();
        agents.truncate(self.settings.plans.len());
        let named = observer.as_ref().map(|observer| observer.agent.clone());
        actions.push(Action::Show(Event::Chosen { agents, observer: named }));
        let plans = std::mem::take(&mut self.settings.plans).into_iter();
        let plans = plans.chain(observer.map(|observer| observer.plan));
        let slots = chosen
            .into_iter()
            .zip(plans)
            .map(|((name, instance), plan)| Slot::new(name, instance, plan, now_ns));
        self.slots = slots.collect();
        self.places = self.slots.iter().enumerate().map(|(place, slot)| (slot.name.clone(), place)).collect();
        self.phase = Phase::Offering;
        for place in 0..self.slots.len() {
            let slot = &self.slots[place];
            let offer = Offer {
                instance: slot.instance.clone(),
                plan: slot.plan.clone(),
                deadline_ms: self.settings.deadline_ms,
                max_unattended_ms: self.settings.max_unattended_ms,
            };
            self.order(place, Command::Offer(Box::new(offer)), now_ns, actions);
        }
    }

    fn finish(&mut self, actions: &mut Vec<Action>) {
        self.phase = Phase::Done;
        let (observers, agents): (Vec<Slot>, Vec<Slot>) =
            self.slots.drain(..).partition(|slot| slot.observes);
        let result = |slot: Slot| AgentResult {
            name: slot.name,
            instance: slot.instance,
            state: slot.state,
            offset: slot.offset,
            result: slot.result,
            failure: slot.failure,
        };
        let outcome = Outcome {
            agents: agents.into_iter().map(result).collect(),
            observer: observers.into_iter().map(result).next(),
            start_ns: self.start_ns,
            failure: self.failure.clone(),
            interrupted: self.interrupted,
        };
        actions.push(Action::Done(Box::new(outcome)));
    }
}
