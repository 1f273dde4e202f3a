//! Whether a finished build speaks against its commit: `prony lab gate` and the status beside a commit say the same.

use super::{Build, BuildState, BuildVerdict};

/// Whether one may go on after a finished build.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gate {
    /// Nothing speaks against it.
    Open,
    /// Nothing speaks for it either: too noisy, nothing to compare with, or some of its numbers can't be used.
    Undecided,
    /// It is slower, or misses a threshold.
    Missed,
    /// Its numbers can't be used, or there are none where there should be.
    Invalid,
    /// It failed, or was never finished.
    Failed,
}

impl Gate {
    /// Of a build that is over.
    pub fn of(build: &Build) -> Self {
        use BuildVerdict as V;
        let is_whole = match build.state {
            BuildState::Completed => true,
            BuildState::Degraded => false,
            _ => return Self::Failed,
        };
        match build.verdict {
            Some(V::Slower | V::ThresholdMissed) => Self::Missed,
            // Where there is no verdict, nothing was measured.
            Some(V::Faster | V::NoDifference) | None if is_whole => Self::Open,
            Some(V::Invalid) | None => Self::Invalid,
            Some(_) => Self::Undecided,
        }
    }

    /// Whether another measurement may decide what this one did not.
    pub fn is_open_question(self) -> bool {
        matches!(self, Self::Undecided | Self::Invalid)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::clock::Moment;
    use crate::{BuildId, BuildKind, Priority};

    /// A build in `state` with `verdict` and nothing else.
    pub(crate) fn build(state: BuildState, verdict: Option<BuildVerdict>) -> Build {
        Build {
            id: BuildId(1),
            kind: BuildKind::Project,
            project: None,
            project_name: None,
            reference: String::new(),
            commit: None,
            commit_author: None,
            commit_subject: None,
            commit_at: None,
            base: None,
            variant: None,
            state,
            reason: None,
            verdict,
            priority: Priority::Normal,
            requested_by: String::new(),
            requested_at: Moment(0),
            started_at: None,
            ended_at: None,
            attempt: 1,
        }
    }

    fn gate(state: BuildState, verdict: Option<BuildVerdict>) -> Gate {
        Gate::of(&build(state, verdict))
    }

    #[test]
    fn what_a_build_says() {
        use BuildState::{Cancelled, Completed, Degraded, Expired, Failed};
        use BuildVerdict as V;
        for verdict in [None, Some(V::Faster), Some(V::NoDifference)] {
            assert_eq!(gate(Completed, verdict), Gate::Open, "{verdict:?}");
        }
        for verdict in [V::NoBaseline, V::TooNoisy] {
            assert_eq!(gate(Completed, Some(verdict)), Gate::Undecided, "{verdict:?}");
        }
        for verdict in [V::NoBaseline, V::TooNoisy, V::Faster, V::NoDifference] {
            assert_eq!(gate(Degraded, Some(verdict)), Gate::Undecided, "{verdict:?}");
        }
        for verdict in [V::Slower, V::ThresholdMissed] {
            assert_eq!(gate(Completed, Some(verdict)), Gate::Missed);
            assert_eq!(gate(Degraded, Some(verdict)), Gate::Missed);
            assert_eq!(gate(Failed, Some(verdict)), Gate::Failed);
        }
        assert_eq!(gate(Completed, Some(V::Invalid)), Gate::Invalid);
        assert_eq!(gate(Degraded, None), Gate::Invalid);
        for state in [Failed, Cancelled, Expired] {
            assert_eq!(gate(state, None), Gate::Failed);
        }
    }
}
