//! Whether a target can be loaded.

use std::fs::File;
use std::io::Read as _;
use std::net::{Ipv4Addr, TcpStream, ToSocketAddrs as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use prony_model::{ProbePlan, ProbeResult, RequestOptions, StatusSet, Target as Url, TlsChoices};

use super::error::TargetError;
use crate::runner::Runner;
use crate::study::Target;

/// The first pause between polls; a quick server is ready within milliseconds.
pub(super) const FIRST_PAUSE: Duration = Duration::from_millis(5);
/// The longest pause: what a slow server's start is taken for longer than it was.
pub(super) const LAST_PAUSE: Duration = Duration::from_millis(200);
/// A server that takes longer for its first answer is not ready.
const PATIENCE: Duration = Duration::from_secs(2);

/// What prony's own servers print when they can be used. A port alone may take connections before: PostgreSQL's does.
const READY_LINE: &str = "listening on ";
/// They print it first, so it is near the beginning of the log.
const READY_WITHIN_BYTES: u64 = 64 << 10;

/// Where a target is looked for.
#[derive(Debug, Clone)]
pub(super) enum Door {
    /// The log of one of prony's own servers.
    Log(PathBuf),
    /// A port of this machine.
    Port(u16),
    /// A request.
    Request(Box<ProbePlan>, StatusSet),
    /// The address behind a URL.
    Address(String, u16),
}

impl Door {
    /// The one that `target` names. `url` and `port`: its own; `own_log`: that of one of prony's own servers.
    pub(super) fn of(
        target: &Target,
        url: &str,
        tls: &TlsChoices,
        port: Option<u16>,
        own_log: Option<PathBuf>,
    ) -> Result<Self, TargetError> {
        let (name, ready) = (&target.name, &target.ready);
        let plan = |path: &str| {
            let options = RequestOptions {
                timeout: Some(PATIENCE),
                connect_timeout: Some(PATIENCE),
                expect_status: Some(ready.status.clone()),
                ..RequestOptions::default()
            };
            probe(name, &joined(url, path), tls, &options)
        };
        Ok(match (&ready.path, own_log, port) {
            (Some(path), _, _) => Self::Request(Box::new(plan(path)?), ready.status.clone()),
            (None, Some(log), _) => Self::Log(log),
            (None, None, Some(port)) => Self::Port(port),
            (None, None, None) => {
                let url = parsed(name, url, tls)?;
                Self::Address(url.host, url.port)
            }
        })
    }

    /// Polls once: nothing if it can be loaded, else what was seen.
    pub(super) fn poll(&self, runner: &mut dyn Runner) -> Result<(), String> {
        match self {
            Self::Log(log) => has_ready_line(log),
            Self::Port(port) => connect(&Ipv4Addr::LOCALHOST.to_string(), *port),
            Self::Address(host, port) => connect(host, *port),
            Self::Request(plan, status) => {
                let result = runner.probe(plan).map_err(|error| error.to_string())?;
                good(&result, status)
            }
        }
    }
}

/// Whether `log` has the line of a server that can be used.
fn has_ready_line(log: &Path) -> Result<(), String> {
    let mut text = Vec::new();
    let read = File::open(log).and_then(|file| file.take(READY_WITHIN_BYTES).read_to_end(&mut text));
    read.map_err(|error| format!("its log can't be read ({error})"))?;
    let is_ready = String::from_utf8_lossy(&text).lines().any(|line| line.starts_with(READY_LINE));
    if is_ready { Ok(()) } else { Err("it has not reported that it listens".to_owned()) }
}

/// `path` on the server of `url`.
pub(super) fn joined(url: &str, path: &str) -> String {
    format!("{}/{}", url.strip_suffix('/').unwrap_or(url), path.strip_prefix('/').unwrap_or(path))
}

/// One request of `target`.
pub(super) fn probe(
    target: &str,
    url: &str,
    tls: &TlsChoices,
    options: &RequestOptions,
) -> Result<ProbePlan, TargetError> {
    let plan = options.probe(parsed(target, url, tls)?, 1, false);
    plan.map_err(|error| TargetError::Url {
        target: target.to_owned(),
        url: url.to_owned(),
        why: error.to_string(),
    })
}

/// `url` for a request, reached as `tls` has it. `target` is whose it is, for messages.
pub(crate) fn parsed(target: &str, url: &str, tls: &TlsChoices) -> Result<Url, TargetError> {
    let failed = |why: String| {
        let (target, url) = (target.to_owned(), url.to_owned());
        TargetError::Url { target, url, why }
    };
    let parsed = Url::parse(url).map_err(|error| failed(error.to_string()))?;
    tls.applied_to(parsed).map_err(|error| failed(error.to_string()))
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
    let refused = |error: std::io::Error| format!("{host}:{port} takes no connection ({error})");
    let addresses = (host, port).to_socket_addrs().map_err(refused)?;
    let mut last = Err(format!("{host} has no address"));
    for address in addresses {
        last = TcpStream::connect_timeout(&address, PATIENCE).map(drop).map_err(refused);
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
    fn a_server_of_our_own_is_ready_when_it_says_so() {
        let log = std::env::temp_dir().join(format!("prony-ready-{}.log", std::process::id()));
        let check = |text: &str, expected: bool| {
            std::fs::write(&log, text).expect("a temporary file");
            assert_eq!(has_ready_line(&log).is_ok(), expected, "{text}");
        };
        check("", false);
        check("LOG: listening on IPv4 address\n", false);
        check("listening on http://127.0.0.1:3000/\n", true);
        std::fs::remove_file(&log).expect("it is there");
        assert!(has_ready_line(&log).is_err());
    }

    #[test]
    fn paths_are_joined_with_one_slash() {
        let check = |url: &str, path: &str, expected: &str| assert_eq!(joined(url, path), expected);
        check("http://h:1", "/", "http://h:1/");
        check("http://h:1/", "/a", "http://h:1/a");
        check("http://h:1/base/", "a?b", "http://h:1/base/a?b");
        check("http://h:1", "//test2", "http://h:1//test2");
    }
}
