//! What this prony was built from, for the results that it makes.

use prony_model::Environment;

/// The commit, if there was one.
const COMMIT: Option<&str> = option_env!("PRONY_COMMIT");

/// Notes in `environment` what this prony was built from, which the engine can't know.
pub(crate) fn note(environment: &mut Environment) {
    environment.prony_commit = COMMIT.map(str::to_owned);
}
