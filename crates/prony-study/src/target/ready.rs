//! Whether a target can be loaded.

use std::net::{Ipv4Addr, TcpStream, ToSocketAddrs as _};
use std::time::Duration;

use prony_model::{ProbePlan, ProbeResult, RequestOptions, StatusSet, Target as Url};

use super::error::Trouble;
use crate::runner::Runner;
use crate::study::Ready;

/// The first pause between looks; a quick server is ready within milliseconds.
pub(super) const FIRST_PAUSE: Duration = Duration::from_millis(5);
/// The longest pause: what a slow server's start is taken for longer than it was.
pub(super) const LAST_PAUSE: Duration = Duration::from_millis(200);
/// A server that takes longer for its first answer is not ready.
const PATIENCE: Duration = Duration::from_secs(2);

/// Where a target is looked for.
#[derive(Debug, Clone)]
pub(super) enum Door {
    /// A port of this machine.
    Port(u16),
    /// A request.
    Request(Box<ProbePlan>, StatusSet),
    /// The address behind a URL.
    Address(String, u16),
}

impl Door {
    /// The one that `ready` names. `url` and `port`: the target's own.
    pub(super) fn of(target: &str, ready: &Ready, url: &str, port: Option<u16>) -> Result<Self, Trouble> {
        let plan = |path: &str| {
            let options = RequestOptions {
                timeout: Some(PATIENCE),
                connect_timeout: Some(PATIENCE),
                expect_status: Some(ready.status.clone()),
                ..RequestOptions::default()
            };
            probe(target, &joined(url, path), &options)
        };
        Ok(match (&ready.path, port) {
            (Some(path), _) => Self::Request(Box::new(plan(path)?), ready.status.clone()),
            (None, Some(port)) => Self::Port(port),
            (None, None) => {
                let url = parsed(target, url)?;
                Self::Address(url.host, url.port)
            }
        })
    }

    /// Looks once: nothing if it can be loaded, else what was seen.
    pub(super) fn look(&self, runner: &mut dyn Runner) -> Result<(), String> {
        match self {
            Self::Port(port) => connect(&Ipv4Addr::LOCALHOST.to_string(), *port),
            Self::Address(host, port) => connect(host, *port),
            Self::Request(plan, status) => {
                let result = runner.probe(plan).map_err(|error| error.to_string())?;
                good(&result, status)
            }
        }
    }
}

/// `path` on the server of `url`.
pub(super) fn joined(url: &str, path: &str) -> String {
    format!("{}/{}", url.strip_suffix('/').unwrap_or(url), path.strip_prefix('/').unwrap_or(path))
}

/// One request of `target`.
pub(super) fn probe(target: &str, url: &str, options: &RequestOptions) -> Result<ProbePlan, Trouble> {
    let plan = options.probe(parsed(target, url)?, 1, false);
    plan.map_err(|error| Trouble::Url {
        target: target.to_owned(),
        url: url.to_owned(),
        why: error.to_string(),
    })
}

/// `url` for a request.
pub(super) fn parsed(target: &str, url: &str) -> Result<Url, Trouble> {
    Url::parse(url).map_err(|error| Trouble::Url {
        target: target.to_owned(),
        url: url.to_owned(),
        why: error.to_string(),
    })
}

/// What is wrong with the one request of `result`.
pub(super) fn good(result: &ProbeResult, status: &StatusSet) -> Result<(), String> {
    let Some(request) = result.requests.first() else { return Err("it was stopped".to_owned()) };
    match (&request.failure, &request.response) {
        (_, Some(response)) if !status.contains(response.status) => {
            Err(format!("it answered {}", response.status))
        }
        (Some(failure), _) => Err(failure.message.clone()),
        (None, _) => Ok(()),
    }
}

fn connect(host: &str, port: u16) -> Result<(), String> {
    let told = |error: std::io::Error| format!("{host}:{port} takes no connection ({error})");
    let addresses = (host, port).to_socket_addrs().map_err(told)?;
    let mut last = Err(format!("{host} has no address"));
    for address in addresses {
        last = TcpStream::connect_timeout(&address, PATIENCE).map(drop).map_err(told);
        if last.is_ok() {
            break;
        }
    }
    last
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_joined_with_one_slash() {
        let check = |url: &str, path: &str, expected: &str| assert_eq!(joined(url, path), expected);
        check("http://h:1", "/", "http://h:1/");
        check("http://h:1/", "/a", "http://h:1/a");
        check("http://h:1/base/", "a?b", "http://h:1/base/a?b");
        check("http://h:1", "//test2", "http://h:1//test2");
    }
}
