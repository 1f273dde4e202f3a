//! Whether one may go on after a build: its result, or that of builds that repeat it.

use std::time::Duration;

use super::{Client, ClientError};
use prony_lab_model::clock;
use prony_lab_model::{Build, BuildId, Gate, Repetition};

/// What happens while somebody waits at a gate.
#[derive(Debug)]
pub enum GateStep<'a> {
    /// A build is in another state.
    State(&'a Build),
    /// A build is over.
    Ended(&'a Build),
    /// A build is repeated.
    Repeated {
        /// Which.
        build: BuildId,
        /// As which.
        by: BuildId,
        /// Why, as it follows on "because".
        why: &'a str,
    },
    /// A build, whose result is not clear, is not repeated.
    NotRepeated {
        /// Which.
        build: BuildId,
        /// Why not.
        why: &'a str,
    },
}

impl Client {
    /// Waits until a build is over, and where its result is neither for nor against the commit has the lab repeat it, at
    /// most `repeats` times, or as often as the project says. The last result counts; a repeat without one changes nothing.
    /// All of it takes at most `patience`: where a repeat would take longer, what is known decides.
    pub fn gate(
        &self,
        id: BuildId,
        repeats: Option<u32>,
        patience: Duration,
        mut report: impl FnMut(GateStep<'_>),
    ) -> Result<Gate, ClientError> {
        let until = clock::steady() + patience;
        let first = self.wait(id, patience, |build| report(GateStep::State(build)))?;
        report(GateStep::Ended(&first));
        let (mut decided, mut last) = (Gate::of(&first), id);
        while decided.is_open_question() && repeats != Some(0) {
            let (next, why) = match self.repeat(last, repeats) {
                Ok(Repetition { build: Some(next), why }) => (next, why),
                Ok(Repetition { build: None, why }) => {
                    report(GateStep::NotRepeated { build: last, why: &why });
                    break;
                }
                // A token that may only read, a lab that knows no repeats: the result stands.
                Err(error @ ClientError::Refused { status: 400..500, .. }) => {
                    report(GateStep::NotRepeated { build: last, why: &error.to_string() });
                    break;
                }
                Err(error) => return Err(error),
            };
            report(GateStep::Repeated { build: last, by: next, why: &why });
            let left = until.saturating_sub(clock::steady());
            let build = match self.wait(next, left, |build| report(GateStep::State(build))) {
                Ok(build) => build,
                Err(error @ ClientError::TimedOut { .. }) => {
                    report(GateStep::NotRepeated { build: last, why: &error.to_string() });
                    break;
                }
                Err(error) => return Err(error),
            };
            report(GateStep::Ended(&build));
            last = next;
            decided = match Gate::of(&build) {
                Gate::Failed => decided,
                gate => gate,
            };
        }
        Ok(decided)
    }

    /// Has a build repeated, unless it is already. Sent twice, it has no second effect.
    pub(super) fn repeat(&self, id: BuildId, at_most: Option<u32>) -> Result<Repetition, ClientError> {
        let body = serde_json::json!({ "at_most": at_most }).to_string();
        self.post(&format!("/builds/{id}/repeat"), &body)
    }
}
