//! How one request ended: the closed list behind every count and every per-outcome histogram.

use serde::{Deserialize, Serialize};

/// The class of a final response's status code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum StatusClass {
    /// 101, the only 1xx that ends a response.
    #[serde(rename = "1xx")]
    Informational,
    /// 200–299.
    #[serde(rename = "2xx")]
    Success,
    /// 300–399.
    #[serde(rename = "3xx")]
    Redirection,
    /// 400–499.
    #[serde(rename = "4xx")]
    ClientError,
    /// 500–599.
    #[serde(rename = "5xx")]
    ServerError,
}

impl StatusClass {
    /// Every class, in order.
    pub const ALL: [Self; 5] =
        [Self::Informational, Self::Success, Self::Redirection, Self::ClientError, Self::ServerError];

    /// The class of `status`; codes outside 100–599 never leave the protocol core.
    pub fn of(status: u16) -> Self {
        match status {
            0..=199 => Self::Informational,
            200..=299 => Self::Success,
            300..=399 => Self::Redirection,
            400..=499 => Self::ClientError,
            _ => Self::ServerError,
        }
    }

    /// `2xx` and so on.
    pub fn name(self) -> &'static str {
        match self {
            Self::Informational => "1xx",
            Self::Success => "2xx",
            Self::Redirection => "3xx",
            Self::ClientError => "4xx",
            Self::ServerError => "5xx",
        }
    }
}

/// Why a request failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ErrorKind {
    /// A complete response with a status that was not expected (by default: 400 and above).
    Status,
    /// A complete response that failed a body or length check.
    CheckFailed,
    /// Nothing listens at the address.
    Refused,
    /// The connection was reset, while connecting or later.
    Reset,
    /// The server closed the connection before the response was complete.
    ClosedEarly,
    /// No connection within the connect timeout.
    ConnectTimeout,
    /// No complete response within the request timeout.
    RequestTimeout,
    /// The answer was not HTTP, or broke its rules or a limit.
    Protocol,
    /// The client ran out of local ports.
    NoPort,
    /// The client ran out of file descriptors.
    NoDescriptor,
    /// The network or the host can't be reached.
    Unreachable,
    /// Any other error of the operating system.
    Other,
    /// The server closed a connection that had carried requests before, without a byte of this one's answer.
    ClosedReused,
    /// The TLS handshake failed, or a record was not what its keys allow.
    Tls,
    /// The server's certificate failed verification.
    Certificate,
    /// The server gave the request's stream up (HTTP/2).
    StreamReset,
}

impl ErrorKind {
    /// Every kind, in the order in which reports list them.
    pub const ALL: [Self; 16] = [
        Self::Status,
        Self::CheckFailed,
        Self::Refused,
        Self::Reset,
        Self::ClosedEarly,
        Self::ConnectTimeout,
        Self::RequestTimeout,
        Self::Protocol,
        Self::NoPort,
        Self::NoDescriptor,
        Self::Unreachable,
        Self::Other,
        Self::ClosedReused,
        Self::Tls,
        Self::Certificate,
        Self::StreamReset,
    ];

    /// The stable name, as in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Status => "status",
            Self::CheckFailed => "check-failed",
            Self::Refused => "refused",
            Self::Reset => "reset",
            Self::ClosedEarly => "closed-early",
            Self::ConnectTimeout => "connect-timeout",
            Self::RequestTimeout => "request-timeout",
            Self::Protocol => "protocol",
            Self::NoPort => "no-port",
            Self::NoDescriptor => "no-descriptor",
            Self::Unreachable => "unreachable",
            Self::Other => "other",
            Self::ClosedReused => "closed-reused",
            Self::Tls => "tls",
            Self::Certificate => "certificate",
            Self::StreamReset => "stream-reset",
        }
    }

    /// What a person would say.
    pub fn description(self) -> &'static str {
        match self {
            Self::Status => "unexpected status",
            Self::CheckFailed => "check failed",
            Self::Refused => "connection refused",
            Self::Reset => "connection reset",
            Self::ClosedEarly => "closed before the response was complete",
            Self::ConnectTimeout => "no connection in time",
            Self::RequestTimeout => "no response in time",
            Self::Protocol => "not valid HTTP",
            Self::NoPort => "no free local port",
            Self::NoDescriptor => "no free file descriptor",
            Self::Unreachable => "host or network unreachable",
            Self::Other => "other system error",
            Self::ClosedReused => "closed before the first byte, on a reused connection",
            Self::Tls => "TLS failed",
            Self::Certificate => "certificate refused",
            Self::StreamReset => "stream reset by the server",
        }
    }

    /// Whether the client's own limits caused it, so that the server must not be blamed.
    pub fn is_clients_fault(self) -> bool {
        matches!(self, Self::NoPort | Self::NoDescriptor)
    }

    /// Whether the true latency is unknown and only bounded from below.
    pub fn is_censoring(self) -> bool {
        matches!(self, Self::ConnectTimeout | Self::RequestTimeout)
    }
}

/// How a request ended. A response that is complete and as expected is its status class; everything else is
/// a failure of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Outcome {
    /// A complete response that passed every check.
    Done(StatusClass),
    /// A failure. An unexpected status keeps its class, because 404s and 503s have different latencies.
    Failed(ErrorKind),
    /// A complete response with an unexpected status.
    UnexpectedStatus(StatusClass),
}

impl Outcome {
    /// How many outcomes there are: the size of a table indexed by [`Self::index`].
    pub const COUNT: usize = 2 * StatusClass::ALL.len() + ErrorKind::ALL.len();

    /// A dense index below [`Self::COUNT`].
    #[inline]
    pub fn index(self) -> usize {
        match self {
            Self::Done(class) => class as usize,
            Self::UnexpectedStatus(class) => StatusClass::ALL.len() + class as usize,
            Self::Failed(kind) => 2 * StatusClass::ALL.len() + kind as usize,
        }
    }

    /// Every outcome, by index.
    pub fn all() -> impl Iterator<Item = Self> {
        let done = StatusClass::ALL.into_iter().map(Self::Done);
        let unexpected = StatusClass::ALL.into_iter().map(Self::UnexpectedStatus);
        done.chain(unexpected).chain(ErrorKind::ALL.into_iter().map(Self::Failed))
    }

    /// The kind of failure, if it is one.
    pub fn error_kind(self) -> Option<ErrorKind> {
        match self {
            Self::Done(_) => None,
            Self::UnexpectedStatus(_) => Some(ErrorKind::Status),
            Self::Failed(kind) => Some(kind),
        }
    }

    /// The stable name, as in JSON: `2xx`, `unexpected-4xx`, `refused`, …
    pub fn name(self) -> String {
        match self {
            Self::Done(class) => class.name().to_owned(),
            Self::UnexpectedStatus(class) => format!("unexpected-{}", class.name()),
            Self::Failed(kind) => kind.name().to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indexes_are_dense_and_in_order() {
        let indexes: Vec<usize> = Outcome::all().map(Outcome::index).collect();
        assert_eq!(indexes, (0..Outcome::COUNT).collect::<Vec<_>>());
    }

    #[test]
    fn names_are_unique() {
        let names: std::collections::BTreeSet<String> = Outcome::all().map(Outcome::name).collect();
        assert_eq!(names.len(), Outcome::COUNT);
    }
}
