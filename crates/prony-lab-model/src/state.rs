//! The states of builds and of their tasks, and which may follow which.

use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How far a build is. Only the lab writes it, by compare-and-set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BuildState {
    /// Accepted; waits for its turn.
    Queued,
    /// Given to a worker, which may still refuse it.
    Assigned,
    /// The agents of a load get ready.
    Arming,
    /// They are ready.
    Armed,
    /// Its tasks run.
    Running,
    /// The load is over; the last answers come in.
    Draining,
    /// Its results are taken in.
    Finalizing,
    /// Everything ran, and nothing failed.
    Completed,
    /// It has results, but not all of them, or doubtful ones.
    Degraded,
    /// A task failed, or there is no result.
    Failed,
    /// To be cancelled; what runs is being stopped.
    Cancelling,
    /// Somebody cancelled it.
    Cancelled,
    /// It waited longer than it was to.
    Expired,
}

impl BuildState {
    /// All of them, in the order of a life.
    pub const ALL: [Self; 13] = [
        Self::Queued,
        Self::Assigned,
        Self::Arming,
        Self::Armed,
        Self::Running,
        Self::Draining,
        Self::Finalizing,
        Self::Completed,
        Self::Degraded,
        Self::Failed,
        Self::Cancelling,
        Self::Cancelled,
        Self::Expired,
    ];

    /// As it is stored and written.
    pub fn name(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Assigned => "assigned",
            Self::Arming => "arming",
            Self::Armed => "armed",
            Self::Running => "running",
            Self::Draining => "draining",
            Self::Finalizing => "finalizing",
            Self::Completed => "completed",
            Self::Degraded => "degraded",
            Self::Failed => "failed",
            Self::Cancelling => "cancelling",
            Self::Cancelled => "cancelled",
            Self::Expired => "expired",
        }
    }

    /// Whether nothing follows.
    pub fn is_final(self) -> bool {
        matches!(self, Self::Completed | Self::Degraded | Self::Failed | Self::Cancelled | Self::Expired)
    }

    /// Whether a worker has it.
    pub fn is_active(self) -> bool {
        !self.is_final() && self != Self::Queued
    }

    /// Whether it may be cancelled.
    pub fn is_cancellable(self) -> bool {
        self <= Self::Draining
    }

    /// Whether `next` may follow. A build that was given away comes back to the queue where the worker refuses it, or
    /// where the lab ended before anything of it had begun.
    pub fn may_become(self, next: Self) -> bool {
        use BuildState as S;
        match (self, next) {
            // A queued build is cancelled at once: nothing has to be stopped.
            (S::Queued, S::Assigned | S::Expired | S::Cancelled)
            | (S::Assigned, S::Queued | S::Arming | S::Running)
            | (S::Arming, S::Armed)
            | (S::Armed, S::Running)
            | (S::Running, S::Draining | S::Finalizing)
            | (S::Draining, S::Finalizing)
            | (S::Finalizing, S::Completed | S::Degraded)
            | (S::Cancelling, S::Cancelled) => true,
            // Whatever a worker has can fail, also while it is being stopped.
            (from, S::Failed) => from.is_active(),
            (from, S::Cancelling) => from.is_cancellable(),
            _ => false,
        }
    }
}

impl FromStr for BuildState {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|state| state.name() == text);
        found.ok_or_else(|| format!("unknown state `{text}`"))
    }
}

/// How far a task is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TaskState {
    /// Not begun.
    Pending,
    /// Runs.
    Running,
    /// Ended well.
    Success,
    /// Ended badly, or broke a limit other than that of time.
    Failed,
    /// Was stopped when its time was over.
    Timeout,
    /// Never begun, since something before it failed.
    Skipped,
    /// Cancelled.
    Cancelled,
}

impl TaskState {
    /// All of them, in the order of a life.
    pub const ALL: [Self; 7] = [
        Self::Pending,
        Self::Running,
        Self::Success,
        Self::Failed,
        Self::Timeout,
        Self::Skipped,
        Self::Cancelled,
    ];

    /// As it is stored and written.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Running => "running",
            Self::Success => "success",
            Self::Failed => "failed",
            Self::Timeout => "timeout",
            Self::Skipped => "skipped",
            Self::Cancelled => "cancelled",
        }
    }
}

impl FromStr for TaskState {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|state| state.name() == text);
        found.ok_or_else(|| format!("unknown state `{text}`"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_follows_an_end_and_everything_can_end() {
        for state in BuildState::ALL {
            let next = BuildState::ALL.into_iter().filter(|&next| state.may_become(next)).count();
            assert_eq!(next == 0, state.is_final(), "{state:?}");
            assert_eq!(state.name().parse(), Ok(state));
            assert!(!state.may_become(state), "{state:?}");
        }
        for state in TaskState::ALL {
            assert_eq!(state.name().parse(), Ok(state));
        }
    }

    #[test]
    fn a_build_is_never_called_off_while_its_results_are_taken_in() {
        assert!(!BuildState::Finalizing.may_become(BuildState::Cancelling));
        assert!(BuildState::Queued.may_become(BuildState::Cancelled));
        assert!(!BuildState::Running.may_become(BuildState::Cancelled));
    }
}
