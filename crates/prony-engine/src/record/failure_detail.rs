//! The first example of each kind of failure, kept without allocating.

use prony_http::h2::{ErrorCode, Http2Error};
use prony_http::tls::TlsError;
use prony_http::{Excerpt, ProtocolError};
use prony_model::{ErrorKind, status_name};
use rustix::io::Errno;

use crate::clock::Nanos;
use crate::load::scenario::fault::StepFault;

/// Bytes of an answer that are kept to show.
pub(crate) const EXCERPT_BYTES: usize = 64;

/// The first failure of a kind.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Example {
    /// When it came.
    pub at: Nanos,
    /// What is known of it.
    pub detail: Detail,
}

/// What is known of a failure.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) enum Detail {
    /// Nothing beyond its kind.
    #[default]
    None,
    /// A status that was not expected.
    Status(u16),
    /// An error number of the system.
    System(Errno),
    /// What was wrong with the answer, and its beginning.
    Protocol(ProtocolError, Piece),
    /// What was wrong with TLS.
    Tls(TlsError),
    /// What came instead of TLS began with this.
    NotTls(Piece),
    /// What was wrong with HTTP/2.
    Http2(Http2Error),
    /// The server chose another protocol than HTTP/2 in the TLS handshake.
    NoHttp2,
    /// The server reset the stream.
    Reset(ErrorCode),
    /// The server refused the request again and again.
    Refused(ErrorCode, u8),
    /// The server had announced why it would close the connection, in a code and in words.
    GoAway(ErrorCode, Piece),
    /// A server that speaks TLS answered, with a 400, that a request came without.
    WantsTls,
    /// More bytes than the answer had announced.
    StrayBytes(Piece),
    /// A body that did not match.
    Body(Piece),
    /// A body too long to be checked.
    BodyTooLong(u64),
    /// A body of another length than the first one.
    Length {
        /// Of the first body.
        expected: u64,
        /// Of this one.
        got: u64,
    },
    /// What was wrong with a step of a session.
    Step(StepFault),
}

/// The beginning of some bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Piece {
    bytes: [u8; EXCERPT_BYTES],
    length: u8,
}

impl Piece {
    /// The first [`EXCERPT_BYTES`] of `bytes`.
    pub(crate) fn of(bytes: &[u8]) -> Self {
        let length = bytes.len().min(EXCERPT_BYTES);
        let mut piece =
            Self { bytes: [0; EXCERPT_BYTES], length: u8::try_from(length).expect("invariant: at most 64") };
        piece.bytes[..length].copy_from_slice(&bytes[..length]);
        piece
    }

    fn text(&self) -> String {
        Excerpt(&self.bytes[..usize::from(self.length)]).to_string()
    }
}

impl Detail {
    /// A body that did not match.
    pub(crate) fn body(bytes: &[u8]) -> Self {
        Self::Body(Piece::of(bytes))
    }

    /// In words, for a report. `method` and `path` are those of every request of the run.
    pub(crate) fn describe(&self, kind: ErrorKind, method: &str, path: &str) -> String {
        match self {
            Self::None => kind.description().to_owned(),
            Self::Status(status) => format!("{} for {method} {path}", status_name(*status)),
            Self::System(error) => std::io::Error::from(*error).to_string(),
            Self::Protocol(error, piece) => format!("{error}; it began with {}", piece.text()),
            Self::Tls(error) => error.to_string(),
            Self::NotTls(piece) => format!("{}; it began with {}", TlsError::NotTls, piece.text()),
            Self::Http2(error) => error.to_string(),
            Self::NoHttp2 => "the server did not choose HTTP/2 in the TLS handshake (ALPN)".to_owned(),
            Self::Reset(code) => format!("the server reset the stream: {code} (RST_STREAM)"),
            Self::Refused(code, times) => {
                format!("the server refused the request more than {times} times: {code}")
            }
            Self::GoAway(code, words) if words.length == 0 => {
                format!("the server closed the connection after GOAWAY: {code}")
            }
            Self::GoAway(code, words) => {
                format!("the server closed the connection after GOAWAY: {code}, {}", words.text())
            }
            Self::WantsTls => {
                format!("{} for {method} {path}: {}", status_name(400), ProtocolError::Tls)
            }
            Self::StrayBytes(piece) => format!("bytes after the end of the answer: {}", piece.text()),
            Self::Body(piece) => format!("the body began with {}", piece.text()),
            Self::BodyTooLong(bytes) => {
                format!(
                    "a body of {bytes} bytes is longer than the {} that can be checked",
                    crate::load::checks::BODY_MAX_BYTES
                )
            }
            Self::Step(fault) => fault.describe().to_owned(),
            Self::Length { expected, got } => format!("the first body had {expected} bytes, this one {got}"),
        }
    }
}

/// What a kind of system error means for a request.
pub(crate) fn kind_of(error: Errno) -> ErrorKind {
    match error {
        // A Unix socket with a full queue says AGAIN.
        Errno::CONNREFUSED | Errno::NOENT | Errno::AGAIN => ErrorKind::Refused,
        Errno::CONNRESET | Errno::PIPE | Errno::CONNABORTED | Errno::NOTCONN => ErrorKind::Reset,
        Errno::TIMEDOUT => ErrorKind::ConnectTimeout,
        Errno::ADDRNOTAVAIL | Errno::ADDRINUSE => ErrorKind::NoPort,
        Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM => ErrorKind::NoDescriptor,
        Errno::NETUNREACH
        | Errno::HOSTUNREACH
        | Errno::NETDOWN
        | Errno::HOSTDOWN
        | Errno::ACCESS
        | Errno::PERM => ErrorKind::Unreachable,
        _ => ErrorKind::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_system_errors_mean() {
        let check = |error: Errno, expected: ErrorKind| assert_eq!(kind_of(error), expected, "{error}");
        check(Errno::CONNREFUSED, ErrorKind::Refused);
        check(Errno::NOENT, ErrorKind::Refused);
        check(Errno::CONNRESET, ErrorKind::Reset);
        check(Errno::PIPE, ErrorKind::Reset);
        check(Errno::TIMEDOUT, ErrorKind::ConnectTimeout);
        // No free port says so at `connect` or, with a source address of one's own, at `bind`.
        check(Errno::ADDRNOTAVAIL, ErrorKind::NoPort);
        check(Errno::ADDRINUSE, ErrorKind::NoPort);
        check(Errno::MFILE, ErrorKind::NoDescriptor);
        check(Errno::NFILE, ErrorKind::NoDescriptor);
        check(Errno::NETUNREACH, ErrorKind::Unreachable);
        check(Errno::HOSTUNREACH, ErrorKind::Unreachable);
        check(Errno::IO, ErrorKind::Other);
    }

    #[test]
    fn failures_as_text() {
        let check = |detail: Detail, kind: ErrorKind, expected: &str| {
            assert_eq!(detail.describe(kind, "GET", "/x"), expected);
        };
        check(Detail::None, ErrorKind::RequestTimeout, "no response in time");
        check(Detail::Status(404), ErrorKind::Status, "404 Not Found for GET /x");
        check(Detail::Status(599), ErrorKind::Status, "599 for GET /x");
        check(
            Detail::Length { expected: 5, got: 7 },
            ErrorKind::CheckFailed,
            "the first body had 5 bytes, this one 7",
        );
        let long = Detail::body(&[b'x'; 1000]).describe(ErrorKind::CheckFailed, "GET", "/x");
        assert_eq!(long.matches('x').count(), EXCERPT_BYTES, "{long}");
    }
}
