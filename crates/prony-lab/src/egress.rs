//! Requests that the lab itself makes of others' servers: monitors and webhooks. The target policy checks each
//! connection, for what the person may do who asked for it.

use std::sync::Arc;
use std::time::Duration;

use crate::model::Role;
use crate::store::{Store, StoreError, Tx, users};
use crate::{access, policy};

/// A longer text about an error is of no more use.
const WORDS_MAX: usize = 300;

/// A client for what `by` asked for, with the policy as it is now.
pub(crate) fn client(store: &Store, by: &str, timeout: Duration) -> Result<ureq::Agent, StoreError> {
    let (policy, role) = store.read_blocking(|tx| Ok((access::policy(tx)?, role(tx, by)?)))?;
    Ok(policy::agent(Arc::new(policy), role, timeout))
}

/// Who has gone, or was kept out, may what a runner may: what they left behind goes on, but not to more places.
pub(crate) fn role(tx: &mut Tx<'_>, by: &str) -> Result<Role, StoreError> {
    let user = users::by_name(tx, by)?.filter(|user| user.disabled_at.is_none());
    Ok(user.map_or(Role::Runner, |user| user.role))
}

/// What went wrong, in a line.
pub(crate) fn words(error: &ureq::Error) -> String {
    let text = match error {
        ureq::Error::Timeout(_) => "no answer in time".to_owned(),
        ureq::Error::Io(error) if error.kind() == std::io::ErrorKind::ConnectionRefused => {
            "nothing answers there (connection refused)".to_owned()
        }
        other => other.to_string(),
    };
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(WORDS_MAX).collect()
}

/// Checks that `text` is a URL that may be kept and asked: http or https, without user name or password.
pub(crate) fn check_url(text: &str) -> Result<String, String> {
    const URL_MAX: usize = 2_000;
    let text = text.trim();
    let advice = "write it as https://HOST:PORT/PATH";
    if text.len() > URL_MAX {
        return Err(format!("longer than {URL_MAX} characters: {advice}"));
    }
    let url = url::Url::parse(text).map_err(|error| format!("not a URL ({error}): {advice}"))?;
    if !["http", "https"].contains(&url.scheme()) || !url.has_host() {
        return Err(format!("neither http nor https: {advice}"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(
            "it holds a user name or password, which everybody here could read: leave it out".to_owned()
        );
    }
    Ok(url.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_that_may_be_kept() {
        assert_eq!(check_url(" http://a.example:8080/x?y=1 "), Ok("http://a.example:8080/x?y=1".to_owned()));
        for bad in ["", "a.example", "ftp://a.example/", "http://kim:secret@a.example/", "file:///etc/passwd"]
        {
            assert!(check_url(bad).is_err(), "{bad}");
        }
        assert!(check_url(&format!("http://a.example/{}", "x".repeat(2_000))).is_err());
    }
}
