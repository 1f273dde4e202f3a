//! A build as code hosts show it beside a commit.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Build, BuildId, BuildKind, BuildState, BuildVerdict};

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
    /// It failed, is slower, or misses a threshold.
    Failure,
    /// It says nothing about the commit.
    Error,
}

impl CommitStatus {
    /// That of `build`, on a lab that is reached at `address` (`https://lab.example`, or empty).
    pub fn of(build: &Build, address: &str) -> Self {
        let words = build
            .verdict
            .map_or_else(|| build.state.name().to_owned(), |verdict| verdict.name().replace('-', " "));
        let description = match &build.reason {
            Some(reason) => format!("{words}: {reason}"),
            None => words,
        };
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
            description: description.chars().take(DESCRIPTION_MAX).collect(),
            target_url: format!("{address}/build/{}", build.id),
            context: format!("prony/{place}"),
        }
    }
}

impl CommitState {
    /// That of `build`.
    pub fn of(build: &Build) -> Self {
        let is_measured = matches!(build.state, BuildState::Completed | BuildState::Degraded);
        match (build.state, build.verdict) {
            (BuildState::Failed, _) => Self::Failure,
            (BuildState::Cancelled | BuildState::Expired, _) => Self::Error,
            (_, Some(BuildVerdict::Slower | BuildVerdict::ThresholdMissed)) if is_measured => Self::Failure,
            (_, Some(BuildVerdict::Invalid)) if is_measured => Self::Error,
            _ if is_measured => Self::Success,
            _ => Self::Pending,
        }
    }
}
