//! What an agent does with a command whose signature is good.

use super::super::journal::Entry;
use super::super::slice::{Slice, State};
use super::super::spool::RESULTS_MAX;
use super::super::{START_AHEAD_MAX_NS, START_MARGIN_NS, UNATTENDED_MAX_NS};
use super::{Action, Agent, refused};
use crate::clock::{BOUND_MAX_NS, Comparison};
use crate::protocol::{Answer, Command, Envelope, Offer, Report, RunName, Subject};

impl Agent {
    pub(super) fn command(&mut self, envelope: Envelope<Command>, now_ns: u64, actions: &mut Vec<Action>) {
        if let Some(slice) = self.slice.as_mut().filter(|slice| envelope.run.as_ref() == Some(&slice.run)) {
            slice.heard_ns = now_ns;
        }
        if let Some(entry) = self.answers.iter().find(|entry| entry.command == envelope.msg_id).cloned() {
            let report = Report::Reply { to: entry.command, answer: entry.answer };
            self.publish(Subject::Event(self.identity.name.clone(), entry.run), report, now_ns, actions);
            return;
        }
        let Envelope { msg_id, run, slice, attempt, lab_epoch, seq, message, .. } = envelope;
        let mut reply = |agent: &mut Self, answer| {
            if let Some(run) = run.clone() {
                let entry = Entry { command: msg_id.clone(), run, epoch: lab_epoch, counter: seq, answer };
                agent.answer(entry, now_ns, actions);
            }
        };
        match message {
            Command::Beat => {}
            Command::Pong { ping, at_ns } => self.pong(ping, at_ns, now_ns, actions),
            Command::Received { result, next } => {
                if let Some(upload) = self.uploads.iter_mut().find(|upload| upload.spooled.id == result) {
                    upload.received(next, now_ns);
                }
            }
            Command::Committed { result } => self.committed(&result, now_ns, actions),
            Command::Offer(offer) => {
                // Another process of this name is meant.
                let (Some(run), true) = (run.clone(), offer.instance == self.identity.instance) else {
                    return;
                };
                if matches!(&self.slice, Some(Slice { state: State::Preparing(id), .. }) if *id == msg_id) {
                    return;
                }
                match self.refusal(&run) {
                    Some(why) => reply(self, Answer::Refused { why }),
                    None => self.offer(*offer, &msg_id, (run, lab_epoch, slice, attempt), now_ns, actions),
                }
            }
            Command::Arm => {
                if matches!(&self.slice, Some(Slice { state: State::Arming { command, .. }, .. }) if *command == msg_id)
                {
                    return;
                }
                match self.slice_of(run.as_ref(), attempt) {
                    Some(slice) if matches!(slice.state, State::Accepted | State::Ready(_)) => {
                        let comparison = Comparison::default();
                        slice.state = State::Arming { command: msg_id.clone(), since_ns: now_ns, comparison };
                        self.ping(now_ns, actions);
                    }
                    _ => reply(self, refused("it has no load to get ready for: was the agent restarted?")),
                }
            }
            Command::Start { at_ns } => {
                let started = self.start(run.as_ref(), attempt, at_ns, now_ns);
                match started {
                    Ok(action) => {
                        reply(self, Answer::Scheduled);
                        // Between the journal and the reply: on disk before the load, and the load whatever becomes of the reply.
                        let place = actions.len().saturating_sub(1);
                        actions.insert(place, action);
                    }
                    Err(why) => reply(self, refused(why)),
                }
            }
            Command::Stop { reason } => {
                let loaded = self.slice_of(run.as_ref(), attempt).is_some_and(|slice| slice.is_running());
                let held = self.uploads.iter().any(|upload| Some(&upload.spooled.run) == run.as_ref());
                if run.is_none() || self.slice_of(run.as_ref(), attempt).is_some() {
                    self.stop(&reason, now_ns, actions);
                }
                if let Some(run) = run {
                    let answer = Answer::Stopping { result: loaded || held };
                    let entry = Entry { command: msg_id, run, epoch: lab_epoch, counter: seq, answer };
                    self.answer(entry, now_ns, actions);
                }
            }
        }
    }

    /// Why no load of `run` is taken.
    fn refusal(&self, run: &RunName) -> Option<String> {
        if self.draining_since.is_some() {
            return Some("it is about to end".to_owned());
        }
        if let Some(slice) = &self.slice {
            return Some(format!("it is busy with the run {}", slice.run));
        }
        if self.preparing {
            return Some("it still checks a load that was given up: try again".to_owned());
        }
        if self.earlier.contains(run) {
            return Some("it was restarted during this run, and resumes no load".to_owned());
        }
        (self.uploads.len() >= RESULTS_MAX).then(|| {
            format!("its spool is full: {RESULTS_MAX} results that no controller has fetched; save and delete them")
        })
    }

    fn offer(
        &mut self,
        offer: Offer,
        command: &str,
        (run, epoch, slice, attempt): (RunName, u64, u32, u32),
        now_ns: u64,
        actions: &mut Vec<Action>,
    ) {
        self.slice = Some(Slice {
            run,
            epoch,
            place: slice,
            attempt,
            deadline_ns: offer.deadline_ms.saturating_mul(1_000_000),
            unattended_ns: offer.max_unattended_ms.saturating_mul(1_000_000).min(UNATTENDED_MAX_NS),
            heard_ns: now_ns,
            state: State::Preparing(command.to_owned()),
        });
        self.preparing = true;
        actions.push(Action::Prepare(Box::new(offer.plan)));
    }

    pub(super) fn prepared(&mut self, outcome: Result<(), String>, actions: &mut Vec<Action>, now_ns: u64) {
        self.preparing = false;
        let Some(slice) = &mut self.slice else { return };
        let State::Preparing(command) = &slice.state else { return };
        let (command, run, epoch) = (command.clone(), slice.run.clone(), slice.epoch);
        let answer = match outcome {
            Ok(()) => {
                slice.state = State::Accepted;
                Answer::Accepted
            }
            Err(why) => {
                self.slice = None;
                Answer::Refused { why }
            }
        };
        let counter = self.counter_of(epoch);
        self.answer(Entry { command, run, epoch, counter, answer }, now_ns, actions);
    }

    /// What has been seen of `epoch`: an answer that comes later than others has no lower counter than they.
    pub(super) fn counter_of(&self, epoch: u64) -> u64 {
        if self.window.epoch() == epoch { self.window.counter() } else { 0 }
    }

    pub(super) fn ping(&mut self, now_ns: u64, actions: &mut Vec<Action>) {
        if let Some(Slice { state: State::Arming { comparison, .. }, .. }) = &mut self.slice {
            let ping = comparison.ping(now_ns);
            self.publish(Subject::Clock(self.identity.name.clone()), Report::Ping { ping }, now_ns, actions);
        }
    }

    fn pong(&mut self, ping: u32, controller_ns: u64, now_ns: u64, actions: &mut Vec<Action>) {
        let Some(slice) = &mut self.slice else { return };
        let State::Arming { comparison, command, .. } = &mut slice.state else { return };
        if !comparison.pong(ping, controller_ns, now_ns) {
            return;
        }
        let Some(offset) = comparison.offset() else { return self.ping(now_ns, actions) };
        let (command, run, epoch) = (command.clone(), slice.run.clone(), slice.epoch);
        let answer = if offset.bound_ns > BOUND_MAX_NS {
            slice.state = State::Accepted;
            let (bound, max) = (offset.bound_ns / 1_000_000, BOUND_MAX_NS / 1_000_000);
            refused(format!(
                "its clock is known to ± {bound} ms only, and a common start needs ± {max} ms: is the network slow?"
            ))
        } else {
            slice.state = State::Ready(offset);
            Answer::Ready { offset_ns: offset.offset_ns, bound_ns: offset.bound_ns, rtt_ns: offset.rtt_ns }
        };
        let counter = self.counter_of(epoch);
        self.answer(Entry { command, run, epoch, counter, answer }, now_ns, actions);
    }

    fn start(
        &mut self,
        run: Option<&RunName>,
        attempt: u32,
        at_ns: u64,
        now_ns: u64,
    ) -> Result<Action, String> {
        let slice = self.slice_of(run, attempt).ok_or("it has no load to start: was the agent restarted?")?;
        let State::Ready(offset) = &slice.state else { return Err("it has not compared clocks".to_owned()) };
        let local_ns = offset.local(at_ns).ok_or("the start is before its clock began")?;
        if local_ns < now_ns.saturating_add(START_MARGIN_NS) {
            return Err("the command to start came too late: is the network slow?".to_owned());
        }
        if local_ns > now_ns.saturating_add(START_AHEAD_MAX_NS) {
            return Err("the start is too far ahead".to_owned());
        }
        let ends_ns = local_ns.saturating_add(slice.deadline_ns);
        slice.state = State::Running { ends_ns, stopped_ns: None };
        Ok(Action::Start(local_ns, slice.run.clone(), slice.epoch, slice.place, slice.attempt))
    }

    /// Ends a load that is on, and forgets one that is not.
    pub(super) fn stop(&mut self, reason: &str, now_ns: u64, actions: &mut Vec<Action>) {
        match &mut self.slice {
            Some(slice) if slice.is_running() => actions.extend(slice.stop(now_ns, reason)),
            Some(_) => {
                self.slice = None;
                actions.push(Action::Release);
            }
            None => {}
        }
    }
}
