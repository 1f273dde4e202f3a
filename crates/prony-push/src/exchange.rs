//! One request to a receiver, and what its answer means.

use std::time::Duration;

use ureq::http::{StatusCode, header};
use ureq::tls::{Certificate, RootCerts, TlsConfig};

use crate::endpoint::{Endpoint, Protocol};
use crate::otlp::rejection;

/// What is read of an answer.
const ANSWER_BYTES_MAX: u64 = 32 << 10;
/// What is shown of an answer that is an error.
const WORDS_MAX: usize = 200;

/// A connection to a receiver, kept open between requests.
pub(crate) struct Exchange {
    agent: ureq::Agent,
    endpoint: Endpoint,
}

/// Why metrics did not arrive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    /// In a line.
    pub(crate) why: String,
    /// Whether the same may arrive later.
    pub(crate) is_passing: bool,
}

impl Failure {
    fn passing(why: impl Into<String>) -> Self {
        Self { why: why.into(), is_passing: true }
    }
}

impl Exchange {
    /// Redirects are not followed, and proxies not asked: metrics go where the user said.
    pub(crate) fn new(endpoint: Endpoint) -> Self {
        let tls = TlsConfig::builder();
        let tls = match system_roots() {
            Some(roots) => tls.root_certs(roots),
            // What ureq has built in: the authorities that browsers trust.
            None => tls,
        };
        let config = ureq::Agent::config_builder()
            .max_redirects(0)
            .max_redirects_will_error(false)
            .http_status_as_error(false)
            .proxy(None)
            .tls_config(tls.build())
            .user_agent(concat!("prony/", env!("CARGO_PKG_VERSION")))
            .build();
        Self { agent: ureq::Agent::new_with_config(config), endpoint }
    }

    /// Sends `body`; all of it may take as long as `timeout`.
    pub(crate) fn send(&self, body: &[u8], timeout: Duration) -> Result<(), Failure> {
        let protocol = self.endpoint.protocol;
        let mut request = self.agent.post(&self.endpoint.url).config().timeout_global(Some(timeout)).build();
        request = request.header(header::CONTENT_TYPE, "application/x-protobuf");
        if protocol == Protocol::RemoteWrite {
            request = request
                .header(header::CONTENT_ENCODING, "snappy")
                .header("x-prometheus-remote-write-version", "0.1.0");
        }
        for one in &self.endpoint.headers {
            request = request.header(&one.name, &one.value);
        }
        let mut response = request.send(body).map_err(|error| Failure::passing(describe(&error)))?;
        let status = response.status();
        let answer = response.body_mut().with_config().limit(ANSWER_BYTES_MAX).read_to_vec();
        if !status.is_success() {
            return Err(refused(status, &answer.unwrap_or_default()));
        }
        let rejected =
            answer.ok().filter(|_| protocol == Protocol::Otlp).and_then(|answer| rejection(&answer));
        match rejected {
            Some(rejected) => {
                let why = format!("{} points were rejected: {}", rejected.points, rejected.why);
                Err(Failure { why, is_passing: false })
            }
            None => Ok(()),
        }
    }
}

/// The authorities that this machine trusts, `SSL_CERT_FILE` included; `None` where it has none.
fn system_roots() -> Option<RootCerts> {
    let found = rustls_native_certs::load_native_certs().certs;
    let certificates: Vec<Certificate<'static>> =
        found.iter().map(|der| Certificate::from_der(der).to_owned()).collect();
    (!certificates.is_empty()).then(|| RootCerts::from(certificates))
}

/// An answer that is no success. By both specifications, what the client did wrong stays wrong.
fn refused(status: StatusCode, answer: &[u8]) -> Failure {
    let is_passing = status.is_server_error()
        || matches!(status, StatusCode::TOO_MANY_REQUESTS | StatusCode::REQUEST_TIMEOUT);
    let words = String::from_utf8_lossy(answer);
    let words: String = words
        .trim()
        .chars()
        .map(|c| if c.is_control() || c == char::REPLACEMENT_CHARACTER { ' ' } else { c })
        .take(WORDS_MAX)
        .collect();
    let why = if words.is_empty() { status.to_string() } else { format!("{status}: {words}") };
    Failure { why, is_passing }
}

/// What went wrong, in a line.
fn describe(error: &ureq::Error) -> String {
    match error {
        ureq::Error::Timeout(_) => "no answer in time".to_owned(),
        ureq::Error::Io(error) if error.kind() == std::io::ErrorKind::ConnectionRefused => {
            "connection refused".to_owned()
        }
        other => {
            other.to_string().chars().map(|c| if c.is_control() { ' ' } else { c }).take(WORDS_MAX).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_pass_is_tried_again() {
        let check = |status: u16, answer: &[u8], why: &str, is_passing: bool| {
            let status = StatusCode::from_u16(status).expect("a status");
            assert_eq!(refused(status, answer), Failure { why: why.to_owned(), is_passing });
        };
        check(500, b"", "500 Internal Server Error", true);
        check(429, b"slow\ndown\n", "429 Too Many Requests: slow down", true);
        check(400, b"out of order\xff", "400 Bad Request: out of order ", false);
        check(302, b"", "302 Found", false);
    }
}
