//! An agent's part of a load, from the offer to its end.

use super::machine::Action;
use super::{ARM_LIMIT_NS, PING_LIMIT_NS, STOP_LIMIT_NS};
use crate::clock::{Comparison, Offset};
use crate::protocol::RunName;

/// What an agent was given.
#[derive(Debug, Clone)]
pub(super) struct Slice {
    pub(super) run: RunName,
    pub(super) epoch: u64,
    /// Its place among the agents of the run.
    pub(super) place: u32,
    pub(super) attempt: u32,
    /// How long the load may take.
    pub(super) deadline_ns: u64,
    pub(super) unattended_ns: u64,
    /// When its controller was last heard.
    pub(super) heard_ns: u64,
    pub(super) state: State,
}

/// How far it is.
#[derive(Debug, Clone)]
pub(super) enum State {
    /// The plan is being checked, for the offer with this id.
    Preparing(String),
    /// The plan can be run.
    Accepted,
    /// Clocks are being compared, for the command with this id.
    Arming { command: String, since_ns: u64, comparison: Comparison },
    /// The load can be started.
    Ready(Offset),
    /// The load is on, or will be.
    Running {
        /// When it must be over.
        ends_ns: u64,
        /// When it was stopped.
        stopped_ns: Option<u64>,
    },
}

/// What time does to a slice.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Overdue {
    /// Nothing.
    No,
    /// The next ping is due.
    Ping,
    /// The clocks can't be compared.
    NoPongs,
    /// It is given up before its start.
    Forgotten,
    /// Its load must end.
    Stop(String),
    /// Its load does not end.
    Abort,
}

impl Slice {
    pub(super) fn overdue(&self, now_ns: u64) -> Overdue {
        let silence = now_ns.saturating_sub(self.heard_ns);
        let forgotten = silence >= self.unattended_ns;
        match &self.state {
            State::Running { stopped_ns: Some(stopped_ns), .. } => {
                if now_ns.saturating_sub(*stopped_ns) >= STOP_LIMIT_NS { Overdue::Abort } else { Overdue::No }
            }
            State::Running { ends_ns, .. } if now_ns >= *ends_ns => {
                Overdue::Stop("the load's deadline has passed".to_owned())
            }
            State::Running { .. } if forgotten => Overdue::Stop(format!(
                "the controller was not heard for {} s",
                self.unattended_ns / 1_000_000_000
            )),
            State::Running { .. } => Overdue::No,
            _ if forgotten => Overdue::Forgotten,
            State::Arming { since_ns, .. } if now_ns.saturating_sub(*since_ns) >= ARM_LIMIT_NS => {
                Overdue::NoPongs
            }
            State::Arming { comparison, .. } => {
                let waits = comparison
                    .waiting_since()
                    .is_some_and(|sent| now_ns.saturating_sub(sent) < PING_LIMIT_NS);
                if waits { Overdue::No } else { Overdue::Ping }
            }
            State::Preparing(_) | State::Accepted | State::Ready(_) => Overdue::No,
        }
    }

    /// Ends the load, once.
    pub(super) fn stop(&mut self, now_ns: u64, reason: &str) -> Option<Action> {
        match &mut self.state {
            State::Running { stopped_ns: stopped @ None, .. } => {
                *stopped = Some(now_ns);
                Some(Action::StopLoad(reason.to_owned()))
            }
            _ => None,
        }
    }

    /// Whether a load is on, or will be.
    pub(super) fn is_running(&self) -> bool {
        matches!(self.state, State::Running { .. })
    }
}
