//! What the bus has, sorted: heartbeats for the list, everything of the run that is led for who leads it, results of other
//! runs for who collects them. Called by the thread of the bus, so nothing here waits.

use std::sync::mpsc::SyncSender;

use prony_fleet::bus::BusEvent;
use prony_fleet::clock::now_ns;
use prony_fleet::controller::Line;
use prony_fleet::protocol::{AgentName, Envelope, Report, RunName, Subject};

use super::{Shared, State};

/// A message about a result of a run that nobody leads any more.
pub(super) struct LatePart {
    pub(super) agent: AgentName,
    pub(super) run: RunName,
    pub(super) payload: Vec<u8>,
}

impl Shared {
    /// Takes what the bus has.
    pub(super) fn arrived(&self, event: BusEvent, late: &SyncSender<LatePart>) {
        let mut state = self.state();
        match &event {
            BusEvent::Up => {
                state.is_connected = true;
                state.problem = None;
            }
            BusEvent::Down => state.is_connected = false,
            BusEvent::Problem(what) => state.problem = Some(super::shown(what)),
            BusEvent::Fatal(what) => {
                state.is_connected = false;
                state.problem = Some(super::shown(what));
            }
            BusEvent::Message { subject, payload } => state.message(subject, payload, late),
        }
        if let Some(leading) = &state.leading {
            // What finds no room is sent again by the agents.
            drop(leading.line.try_send(Line::Bus(event)));
        }
    }
}

impl State {
    fn message(&mut self, subject: &Subject, payload: &[u8], late: &SyncSender<LatePart>) {
        match subject {
            Subject::Heartbeat(name) => {
                if let Ok(Envelope { message: Report::Heartbeat(heartbeat), .. }) = Envelope::decode(payload)
                {
                    self.roster.heard(name, heartbeat, now_ns());
                }
            }
            Subject::Event(agent, run) => {
                let is_orphan = |orphan: &super::Orphan| orphan.agent == *agent && orphan.run == *run;
                if let Some(place) = self.orphans.iter().position(is_orphan)
                    && let Ok(Envelope { message: Report::Reply { to, .. }, .. }) = Envelope::decode(payload)
                    && self.orphans[place].command.as_ref() == Some(&to)
                {
                    self.orphans.remove(place);
                }
            }
            Subject::Result(agent, run)
                if self.leading.as_ref().is_none_or(|leading| leading.run != *run) =>
            {
                let part = LatePart { agent: agent.clone(), run: run.clone(), payload: payload.to_vec() };
                drop(late.try_send(part));
            }
            _ => {}
        }
    }
}
