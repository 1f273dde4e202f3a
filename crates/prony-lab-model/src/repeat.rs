//! Builds that repeat another because its result was neither for nor against the commit.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Build, BuildId, BuildState, BuildVerdict};

/// One end of a link between a build and its repeat.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Repeat {
    /// The build at the other end.
    pub build: BuildId,
    /// Why it was repeated, as it follows on "because".
    pub why: String,
}

/// The answer to a request for a repeat.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Repetition {
    /// The build that repeats it; absent where it is not repeated.
    pub build: Option<BuildId>,
    /// Why, or why not.
    pub why: String,
}

impl Build {
    /// Why its result should be measured again, or why not. What a noisy or busy machine did may be gone the next time;
    /// what the commit did is not.
    pub fn repeat_reason(&self) -> Result<&'static str, &'static str> {
        use BuildVerdict as V;
        match (self.state, self.verdict) {
            (BuildState::Completed | BuildState::Degraded, Some(V::TooNoisy)) => {
                Ok("its result was too noisy")
            }
            (BuildState::Completed | BuildState::Degraded, Some(V::Invalid)) => {
                Ok("its numbers could not be used")
            }
            (BuildState::Degraded, Some(V::Faster | V::NoDifference)) => {
                Ok("some of its numbers could not be used")
            }
            (BuildState::Completed | BuildState::Degraded, Some(V::NoBaseline)) => {
                Err("there is nothing to compare it with")
            }
            (BuildState::Completed | BuildState::Degraded, _) => Err("its result is clear"),
            (state, _) if state.is_final() => Err("it has no result"),
            _ => Err("it is not over yet"),
        }
    }
}
