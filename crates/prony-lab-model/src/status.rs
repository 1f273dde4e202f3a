//! A build as code hosts show it beside a commit.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Build, BuildId, BuildKind, BuildState, Gate};

/// Code hosts cut longer descriptions off.
const DESCRIPTION_MAX: usize = 140;

/// A build as code hosts show it beside a commit: the fields are those of their own interfaces.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CommitStatus {
    /// Which build.
    pub build: BuildId,
    /// The commit, once it is known.
    pub commit: Option<String>,
    /// What became of it.
    pub state: CommitState,
    /// In a sentence.
    pub description: String,
    /// The page of the build; without scheme and host where the lab doesn't know by which address it is reached.
    pub target_url: String,
    /// Whose status it is: `prony/PROJECT/VARIANT`.
    pub context: String,
}

/// The states that code hosts know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CommitState {
    /// It is not over.
    Pending,
    /// Nothing speaks against the commit.
    Success,
    /// It is slower, or misses a threshold.
    Failure,
    /// The build failed or was never finished, or its numbers can't be used.
    Error,
}

impl CommitStatus {
    /// That of `build`, on a lab that is reached at `address` (`https://lab.example`, or empty).
    pub fn of(build: &Build, address: &str) -> Self {
        let place = match build.kind {
            BuildKind::Load => "load".to_owned(),
            _ => [build.project_name.as_deref(), build.variant.as_deref()]
                .into_iter()
                .flatten()
                .collect::<Vec<_>>()
                .join("/"),
        };
        Self {
            build: build.id,
            commit: build.commit.clone(),
            state: CommitState::of(build),
            description: prony_report::clean(&describe(build)).chars().take(DESCRIPTION_MAX).collect(),
            target_url: format!("{address}/build/{}", build.id),
            context: format!("prony/{place}"),
        }
    }
}

/// The verdict of `build` and the figure that decided it. Of a build that did not come to its end only how it ended:
/// the reason may name users of the lab, and places on its machine, and a forge may show this to everybody.
fn describe(build: &Build) -> String {
    let is_measured = matches!(build.state, BuildState::Completed | BuildState::Degraded);
    match (build.verdict, &build.reason) {
        (Some(verdict), Some(reason)) if is_measured => {
            format!("{}: {reason}", verdict.name().replace('-', " "))
        }
        (Some(verdict), None) if is_measured => verdict.name().replace('-', " "),
        _ => build.state.name().to_owned(),
    }
}

impl CommitState {
    /// That of `build`: the same as `prony lab gate` says.
    pub fn of(build: &Build) -> Self {
        if !build.state.is_final() {
            return Self::Pending;
        }
        match Gate::of(build) {
            Gate::Open | Gate::Undecided => Self::Success,
            Gate::Missed => Self::Failure,
            Gate::Invalid | Gate::Failed => Self::Error,
        }
    }

    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Success => "success",
            Self::Failure => "failure",
            Self::Error => "error",
        }
    }
}

/// A status on its way to a forge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatusReport {
    /// What the forge is to show.
    pub status: CommitStatus,
    /// Whether the build runs, rather than waits: some forges show the difference.
    pub is_running: bool,
}

#[cfg(test)]
mod tests {
    use super::super::gate::tests::build;
    use super::super::{BuildState, BuildVerdict};
    use super::*;

    #[test]
    fn a_status_says_what_the_gate_says() {
        use BuildState as S;
        use BuildVerdict as V;
        for (state, verdict, expected) in [
            (S::Queued, None, CommitState::Pending),
            (S::Finalizing, Some(V::Slower), CommitState::Pending),
            (S::Completed, None, CommitState::Success),
            (S::Completed, Some(V::Faster), CommitState::Success),
            (S::Completed, Some(V::TooNoisy), CommitState::Success),
            (S::Degraded, Some(V::NoBaseline), CommitState::Success),
            (S::Completed, Some(V::Slower), CommitState::Failure),
            (S::Degraded, Some(V::ThresholdMissed), CommitState::Failure),
            (S::Completed, Some(V::Invalid), CommitState::Error),
            (S::Degraded, None, CommitState::Error),
            (S::Failed, None, CommitState::Error),
            (S::Cancelled, None, CommitState::Error),
            (S::Expired, None, CommitState::Error),
        ] {
            assert_eq!(CommitState::of(&build(state, verdict)), expected, "{state:?} {verdict:?}");
        }
    }

    #[test]
    fn a_build_that_did_not_come_to_its_end_tells_forges_only_how_it_ended() {
        use BuildState as S;
        for state in [S::Queued, S::Running, S::Cancelling, S::Failed, S::Cancelled, S::Expired] {
            for verdict in [None, Some(BuildVerdict::NoBaseline)] {
                let mut of = build(state, verdict);
                of.reason = Some("cancelled by kim, who read /srv/lab/work".to_owned());
                assert_eq!(CommitStatus::of(&of, "").description, state.name(), "{state:?}");
            }
        }
    }

    #[test]
    fn a_description_is_one_short_line() {
        let mut of = build(BuildState::Completed, Some(BuildVerdict::TooNoisy));
        of.reason = Some(format!("kv: p99\n too noisy \u{202e} {}", "ü".repeat(300)));
        let status = CommitStatus::of(&of, "https://lab.example");
        assert_eq!(status.description.chars().count(), DESCRIPTION_MAX);
        assert!(status.description.starts_with("too noisy: kv: p99\\n too noisy \\u{202e} ü"), "{status:?}");
        assert_eq!(status.target_url, "https://lab.example/build/1");
    }
}
