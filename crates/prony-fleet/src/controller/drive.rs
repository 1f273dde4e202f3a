//! A controller as part of a process: what [`Controller`] decides is done here.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use super::discovery::Discovery;
use super::{
    Action, Arrived, CollectAction, CollectInput, CollectSettings, Collection, Controller, Event, Input,
    Outcome, RunSettings, Wanted,
};
use crate::bus::{Bus, BusEvent};
use crate::clock::now_ns;
use crate::protocol::{AgentName, Envelope, Report};

/// How often time is looked at.
const TICK: Duration = Duration::from_millis(50);
/// Events that wait for the controller: a second of 1,000 agents, each with a heartbeat, a live view and a part.
pub const EVENTS_MAX: usize = 4_096;

/// What reaches a controller from its threads.
#[derive(Debug)]
pub enum Line {
    /// From the bus.
    Bus(BusEvent),
    /// The run is to end early.
    Interrupt,
}

/// Looks for the agents of each of `wanted`, with the observer beside them, without a run: the processes, name and instance, in
/// its order, the observer last. `version` is the controller's. `Err` has who is missing; an end by hand is one, too.
pub fn find(
    wanted: &[(Wanted, Option<AgentName>)],
    version: &str,
    events: &Receiver<Line>,
) -> Result<Vec<Vec<(AgentName, String)>>, String> {
    let mut discovery = Discovery::new(BTreeSet::new(), now_ns());
    loop {
        match events.recv_timeout(TICK) {
            Ok(Line::Bus(BusEvent::Message { subject, payload })) => {
                if let (Some(name), Ok(envelope)) = (subject.agent(), Envelope::<Report>::decode(&payload))
                    && let Report::Heartbeat(heartbeat) = envelope.message
                {
                    discovery.heard(name, heartbeat);
                }
            }
            Ok(Line::Bus(BusEvent::Fatal(why))) => return Err(why),
            Ok(Line::Interrupt) | Err(RecvTimeoutError::Disconnected) => {
                return Err("ended by hand".to_owned());
            }
            Ok(Line::Bus(_)) | Err(RecvTimeoutError::Timeout) => {}
        }
        let now_ns = now_ns();
        let chosen: Option<Result<Vec<_>, String>> = wanted
            .iter()
            .map(|(wanted, observer)| discovery.choose(wanted, observer.as_ref(), version, now_ns))
            .collect();
        if let Some(chosen) = chosen {
            return chosen;
        }
    }
}

/// Leads a run to its end. `events` gets what the bus has; `store` puts a result where it will be found again, and says
/// whether it did; `show` gets what people may want to know.
pub fn drive(
    settings: RunSettings,
    bus: &Arc<dyn Bus>,
    events: &Receiver<Line>,
    store: &mut dyn FnMut(&Arrived) -> bool,
    show: &mut dyn FnMut(Event),
) -> Outcome {
    let mut controller = Controller::new(settings, now_ns());
    let mut inputs: Vec<Input> = Vec::new();
    let mut ticked_ns = now_ns();
    loop {
        let input = match inputs.pop() {
            Some(input) => input,
            None => match events.recv_timeout(TICK) {
                Ok(Line::Bus(BusEvent::Message { subject, payload })) => {
                    Input::Message { subject, bytes: payload }
                }
                Ok(Line::Bus(BusEvent::Up)) => Input::Connected,
                Ok(Line::Bus(BusEvent::Down)) => {
                    show(Event::Connection(
                        "the connection to the broker is lost; connects again".to_owned(),
                    ));
                    Input::Disconnected
                }
                Ok(Line::Bus(BusEvent::Problem(what))) => {
                    show(Event::Connection(what));
                    continue;
                }
                Ok(Line::Bus(BusEvent::Fatal(what))) => {
                    show(Event::Connection(what));
                    Input::Interrupt
                }
                Ok(Line::Interrupt) | Err(RecvTimeoutError::Disconnected) => Input::Interrupt,
                Err(RecvTimeoutError::Timeout) => Input::Tick,
            },
        };
        let is_tick = matches!(input, Input::Tick);
        let now = now_ns();
        let mut actions = controller.handle(input, now);
        // A busy bus must not keep the clock from being looked at; to look at every agent for each message costs too much.
        if is_tick {
            ticked_ns = now;
        } else if u128::from(now.saturating_sub(ticked_ns)) >= TICK.as_nanos() {
            ticked_ns = now;
            actions.extend(controller.handle(Input::Tick, now));
        }
        for action in actions {
            match action {
                // What gets lost here is sent again until it is answered.
                Action::Publish(subject, bytes) => drop(bus.publish(&subject, bytes)),
                Action::Store(place, arrived) => {
                    if store(&arrived) {
                        inputs.push(Input::Stored(place));
                    }
                }
                Action::Show(event) => show(event),
                Action::Done(outcome) => return *outcome,
            }
        }
    }
}

/// Collects what agents hold of runs whose controller has ended; returns what they still hold. `events`, `store` and `show`
/// are as in [`drive`]. Ends early by [`Line::Interrupt`], or where the bus is of no use.
pub fn collect(
    settings: CollectSettings,
    bus: &Arc<dyn Bus>,
    events: &Receiver<Line>,
    store: &mut dyn FnMut(&Arrived) -> bool,
    show: &mut dyn FnMut(Event),
) -> BTreeMap<AgentName, u32> {
    let mut collection = Collection::new(settings, now_ns());
    let mut inputs: Vec<CollectInput> = Vec::new();
    loop {
        let input = match inputs.pop() {
            Some(input) => input,
            None => match events.recv_timeout(TICK) {
                Ok(Line::Bus(BusEvent::Message { subject, payload })) => {
                    CollectInput::Message { subject, bytes: payload }
                }
                Ok(Line::Bus(BusEvent::Problem(what))) => {
                    show(Event::Connection(what));
                    continue;
                }
                Ok(Line::Bus(BusEvent::Fatal(what))) => {
                    show(Event::Connection(what));
                    return BTreeMap::new();
                }
                Ok(Line::Interrupt) | Err(RecvTimeoutError::Disconnected) => return BTreeMap::new(),
                Ok(Line::Bus(BusEvent::Up | BusEvent::Down)) | Err(RecvTimeoutError::Timeout) => {
                    CollectInput::Tick
                }
            },
        };
        for action in collection.handle(input, now_ns()) {
            match action {
                CollectAction::Publish(subject, bytes) => drop(bus.publish(&subject, bytes)),
                CollectAction::Store(arrived) => {
                    let is_stored = store(&arrived);
                    let Arrived { agent, id, .. } = arrived;
                    inputs.push(if is_stored {
                        CollectInput::Stored(agent, id)
                    } else {
                        CollectInput::NotStored(agent, id)
                    });
                }
                CollectAction::Done(held) => return held,
            }
        }
    }
}
