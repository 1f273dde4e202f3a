//! Requests that the lab itself makes of others' servers: monitors, webhooks, statuses of commits. The target policy
//! checks each connection, for what the person may do who asked for it.

use std::sync::Arc;
use std::time::Duration;

use crate::policy::{self, Policy, Reach, Rules};
use prony_lab_model::{Monitor, Role};
use prony_lab_store::{Store, StoreError, Tx, settings, users};

/// The setting that holds the target policy, as TOML.
pub const POLICY: &str = "policy";
/// A longer text about an error is of no more use.
const WORDS_MAX: usize = 300;

/// A client for what `by` asked for, with the policy as it is now.
pub fn client(store: &Store, by: &str, timeout: Duration) -> Result<ureq::Agent, StoreError> {
    let (policy, role) = store.read_blocking(|tx| Ok((policy(tx)?, role(tx, by)?)))?;
    Ok(policy::agent(Arc::new(policy), role, timeout, Reach::default()))
}

/// How a monitor's server is asked.
pub(crate) struct Look {
    /// Connects to it, as the monitor says.
    pub(crate) client: ureq::Agent,
    /// What to ask for.
    pub(crate) url: String,
    /// The host to name, where it is another than the URL's.
    pub(crate) host: Option<String>,
}

/// A look at what `monitor` says, with the policy as it is now; the words say why it can't be asked.
pub(crate) fn look_of(store: &Store, monitor: &Monitor) -> Result<Result<Look, String>, StoreError> {
    let (policy, role) = store.read_blocking(|tx| Ok((policy(tx)?, role(tx, &monitor.created_by)?)))?;
    let trusted = monitor.tls.cacert.as_deref().map(|name| {
        let file = policy.authority(name).ok_or_else(|| no_authority(&policy, name))?;
        policy::trusted(name, file).map_err(|error| error.to_string())
    });
    let trusted = match trusted.transpose() {
        Ok(trusted) => trusted,
        Err(why) => return Ok(Err(why)),
    };
    let (url, host, leads_to) = match &monitor.tls.sni {
        Some(name) => match renamed(&monitor.url, name) {
            Some((url, host)) => (url, Some(host), Some(monitor.url.clone())),
            None => return Ok(Err(format!("`{name}` can't be the name of a server in a URL"))),
        },
        None => (monitor.url.clone(), None, None),
    };
    let reach = Reach { trusted, insecure: monitor.tls.insecure, leads_to };
    let client = policy::agent(Arc::new(policy), role, monitor.timeout(), reach);
    Ok(Ok(Look { client, url, host }))
}

/// That `policy` has no authority called `name`.
pub(crate) fn no_authority(policy: &Policy, name: &str) -> String {
    let known: Vec<&str> = policy.authorities().collect();
    let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
    format!("the target policy has no authority `{name}` (it has {known}): an administrator adds it there")
}

/// `url` with `name` as its host, and the host that it had, with its port.
fn renamed(url: &str, name: &str) -> Option<(String, String)> {
    let mut parsed = url::Url::parse(url).ok()?;
    let host = parsed.host_str()?.to_owned();
    let host = parsed.port().map_or_else(|| host.clone(), |port| format!("{host}:{port}"));
    let is_v6 = name.parse::<std::net::Ipv6Addr>().is_ok();
    let name = if is_v6 { format!("[{name}]") } else { name.to_owned() };
    parsed.set_host(Some(&name)).ok()?;
    Some((parsed.into(), host))
}

/// A client for what an administrator wrote into a definition, with the policy as it is now.
pub(crate) fn client_of_lab(store: &Store, timeout: Duration) -> Result<ureq::Agent, StoreError> {
    Ok(policy::agent(Arc::new(store.read_blocking(policy)?), Role::Admin, timeout, Reach::default()))
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

#[cfg(test)]
mod tests {
    use super::renamed;

    #[test]
    fn another_name_keeps_the_rest_of_the_url_and_the_host() {
        let check = |url: &str, name: &str, expected: (&str, &str)| {
            let (url, host) = renamed(url, name).expect("a name");
            assert_eq!((url.as_str(), host.as_str()), expected);
        };
        check(
            "https://10.0.0.1:8443/a?b",
            "shop.example",
            ("https://shop.example:8443/a?b", "10.0.0.1:8443"),
        );
        check("https://h/", "::1", ("https://[::1]/", "h"));
        check("https://[::1]:1/", "h", ("https://h:1/", "[::1]:1"));
        assert_eq!(renamed("https://h/", "a b"), None);
    }
}
