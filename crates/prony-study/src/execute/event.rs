//! What a study reports while it runs: the contract between what executes it and what shows it.

use std::time::Duration;

use prony_model::{CapacityTrial, ExecEvent, FindingCode, RunEvent, StudyFailure, Verdict};

use crate::capacity::TrialPlan;
use crate::schedule::Step;
use crate::study::Cell;

/// Something happened in a study.
#[derive(Debug)]
pub enum StudyEvent<'a> {
    /// It begins, or goes on.
    Began {
        /// Runs that are there already.
        done: usize,
        /// Runs in all.
        of: usize,
    },
    /// A target is being made.
    Building {
        /// Which.
        target: &'a str,
        /// The command.
        line: &'a str,
    },
    /// A target is being started, or looked for.
    Starting {
        /// Which.
        target: &'a str,
    },
    /// A target can be loaded.
    Ready {
        /// Which.
        target: &'a str,
        /// Since it was started.
        took: Duration,
    },
    /// A target is asked to stop.
    Stopping {
        /// Which.
        target: &'a str,
    },
    /// A run begins.
    Running {
        /// Which.
        step: &'a Step,
        /// Of what.
        cell: &'a Cell,
    },
    /// Something happened in the run.
    Run(&'a RunEvent),
    /// Something happened in the series of commands that is the run.
    Exec(&'a ExecEvent),
    /// A trial of the search that is the run begins.
    TrialBegins(&'a TrialPlan),
    /// A trial of the search that is the run is over.
    TrialEnded(&'a CapacityTrial),
    /// A run is over, and stored.
    Finished {
        /// Which.
        step: &'a Step,
        /// Of what.
        cell: &'a Cell,
        /// Its own verdict; a probe has none.
        verdict: Option<Verdict>,
        /// What makes it doubtful: each warning and worse, once.
        doubts: &'a [FindingCode],
        /// With the start of its target and all that came before it.
        took: Duration,
    },
    /// A run is over and invalid by the machine's or the client's doing: it is stored, and made again.
    Retried {
        /// Which.
        step: &'a Step,
        /// Of what.
        cell: &'a Cell,
        /// Why.
        reasons: &'a [FindingCode],
        /// Retries of the cell so far, with this one.
        retry: usize,
        /// The most that it may have.
        of: u32,
    },
    /// A run could not be made.
    Failed {
        /// Which.
        step: &'a Step,
        /// Of what.
        cell: &'a Cell,
        /// Why.
        failure: &'a StudyFailure,
    },
    /// A target failed so often that its other runs are not tried.
    GivenUp {
        /// Which.
        target: &'a str,
    },
}
