//! Requests that the lab itself makes of others' servers: monitors, webhooks, statuses of commits. The target policy
//! checks each connection, for what the person may do who asked for it.

use std::sync::Arc;
use std::time::Duration;

use crate::policy::{self, Policy, Rules};
use prony_lab_model::Role;
use prony_lab_store::{Store, StoreError, Tx, settings, users};

/// The setting that holds the target policy, as TOML.
pub const POLICY: &str = "policy";
/// A longer text about an error is of no more use.
const WORDS_MAX: usize = 300;

/// A client for what `by` asked for, with the policy as it is now.
pub fn client(store: &Store, by: &str, timeout: Duration) -> Result<ureq::Agent, StoreError> {
    let (policy, role) = store.read_blocking(|tx| Ok((policy(tx)?, role(tx, by)?)))?;
    Ok(policy::agent(Arc::new(policy), role, timeout))
}

/// A client for what an administrator wrote into a definition, with the policy as it is now.
pub(crate) fn client_of_lab(store: &Store, timeout: Duration) -> Result<ureq::Agent, StoreError> {
    Ok(policy::agent(Arc::new(store.read_blocking(policy)?), Role::Admin, timeout))
}

/// Who has gone, or was kept out, may what a runner may: what they left behind goes on, but not to more places.
pub fn role(tx: &mut Tx<'_>, by: &str) -> Result<Role, StoreError> {
    let user = users::by_name(tx, by)?.filter(|user| user.disabled_at.is_none());
    Ok(user.map_or(Role::Runner, |user| user.role))
}

/// What went wrong, in a line.
pub fn words(error: &ureq::Error) -> String {
    let text = match error {
        ureq::Error::Timeout(_) => "no answer in time".to_owned(),
        ureq::Error::Io(error) if error.kind() == std::io::ErrorKind::ConnectionRefused => {
            "nothing answers there (connection refused)".to_owned()
        }
        other => other.to_string(),
    };
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(WORDS_MAX).collect()
}

/// The target policy of the store.
pub fn policy(tx: &mut Tx<'_>) -> Result<Policy, StoreError> {
    let damaged = |error: String| StoreError::Damaged(format!("the target policy: {error}"));
    rules(tx)?.check().map_err(|error| damaged(error.to_string()))
}

/// The same as it was written.
pub fn rules(tx: &mut Tx<'_>) -> Result<Rules, StoreError> {
    let Some(text) = settings::setting(tx, POLICY)? else { return Ok(Rules::default()) };
    toml::from_str(&text)
        .map_err(|error| StoreError::Damaged(format!("the target policy: {}", error.message())))
}
