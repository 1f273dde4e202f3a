//! The public table of exit codes.

use std::process::ExitCode;

use prony_model::{
    EvaluatedThreshold, ExecResult, ProbeResult, RunResult, StudyResult, ThresholdOutcome, Verdict,
};

/// How prony ends; scripts rely on the numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// All is well.
    Good = 0,
    /// A threshold is missed, or a condition of --fail-if holds.
    ThresholdMissed = 1,
    /// The command line asks for something that can't be done.
    Usage = 2,
    /// The run's numbers describe the client, or nothing at all; or a threshold is neither met nor missed.
    Invalid = 3,
    /// Nothing answers, or no answer was good.
    TargetFailed = 4,
    /// Our own fault, or the operating system's.
    Internal = 5,
    /// Ended by Ctrl-C, SIGTERM or SIGHUP.
    Interrupted = 130,
}

/// The table as the help and the manual print it.
pub(crate) const TABLE: &str = "\
Exit codes:
  0    good
  1    a threshold is missed, or a condition of --fail-if holds
  2    usage: the command line asks for something that can't be done
  3    invalid run: its numbers can't be defended; or a threshold is undecided
  4    target failed: nothing answers, no answer was good, or a command failed
  5    internal error
  130  interrupted; what was measured until then is reported";

impl Exit {
    /// The way that a process of prony ended with `code`; `None` where it never ends so by itself.
    pub(crate) fn of_code(code: i64) -> Option<Self> {
        let all = [
            Self::Good,
            Self::ThresholdMissed,
            Self::Usage,
            Self::Invalid,
            Self::TargetFailed,
            Self::Internal,
            Self::Interrupted,
        ];
        all.into_iter().find(|exit| *exit as i64 == code)
    }

    /// The code for a finished run: by hand before all, then no success, then doubts.
    pub(crate) fn of_run(result: &RunResult) -> Self {
        let clients_fault =
            !result.errors.is_empty() && result.errors.iter().all(|error| error.kind.is_clients_fault());
        if result.timing.interrupted {
            Self::Interrupted
        } else if result.requests.done == 0 && !clients_fault {
            Self::TargetFailed
        } else if result.verdict == Verdict::Invalid {
            Self::Invalid
        } else {
            Self::Good
        }
    }

    /// The code for a finished run of which something was required. Where it was ended because of a threshold, that is
    /// what is reported; otherwise by hand, no success and doubts come first.
    pub(crate) fn of_required(result: &RunResult, allow_undecided: bool) -> Self {
        let by_thresholds = || Self::of_thresholds(&result.thresholds, allow_undecided);
        if result.timing.ended_early_because.is_some() {
            return by_thresholds();
        }
        match Self::of_run(result) {
            Self::Good => by_thresholds(),
            exit => exit,
        }
    }

    /// The code for thresholds alone.
    pub(crate) fn of_thresholds<'a>(
        thresholds: impl IntoIterator<Item = &'a EvaluatedThreshold>,
        allow_undecided: bool,
    ) -> Self {
        let outcomes = thresholds.into_iter().map(|threshold| match threshold.outcome {
            ThresholdOutcome::Missed => Self::ThresholdMissed,
            ThresholdOutcome::Undecided if !allow_undecided => Self::Invalid,
            ThresholdOutcome::Undecided | ThresholdOutcome::Met => Self::Good,
        });
        // A missed threshold is certain, so it comes before one that is not known.
        let all: Vec<Self> = outcomes.collect();
        let worst = [Self::ThresholdMissed, Self::Invalid].into_iter().find(|exit| all.contains(exit));
        worst.unwrap_or(Self::Good)
    }

    /// The code under the flags of another tool, which ends with 0 after any load; `strict` asks for prony's codes.
    pub(crate) fn of_tool(result: &RunResult, strict: bool) -> Self {
        if strict || result.timing.interrupted { Self::of_run(result) } else { Self::Good }
    }

    /// The code for a finished probe: every request must be good.
    pub(crate) fn of_probe(result: &ProbeResult) -> Self {
        if result.interrupted {
            Self::Interrupted
        } else if result.requests.iter().all(|request| request.failure.is_none()) {
            Self::Good
        } else {
            Self::TargetFailed
        }
    }

    /// The code for a series of commands.
    pub(crate) fn of_exec(result: &ExecResult) -> Self {
        if result.timing.interrupted {
            Self::Interrupted
        } else if result.verdict == Verdict::Invalid {
            Self::Invalid
        } else {
            Self::Good
        }
    }

    /// The code for a study: by hand before all, then what could not be run, then doubts, then thresholds.
    pub(crate) fn of_study(result: &StudyResult, interrupted: bool, allow_undecided: bool) -> Self {
        if interrupted {
            Self::Interrupted
        } else if !result.failures.is_empty() {
            Self::TargetFailed
        } else if result.verdict == Verdict::Invalid {
            Self::Invalid
        } else {
            Self::of_thresholds(result.thresholds.iter().map(|one| &one.evaluated), allow_undecided)
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}
