//! HTTP/2 before the load: whether a server speaks it, so that one that doesn't ends a run before it begins.

use std::io::ErrorKind;
use std::time::Duration;

use prony_http::Request;
use prony_http::h2::{Connection, EncodedRequest, Event, Http2Error, Limits, Scheme, Shared};
use prony_http::tls::TlsError;
use prony_model::Version;

use crate::RunError;
use crate::clock::{self, span};
use crate::resolve::plain;
use crate::tls::{READ_BYTES, Waiting, exchange};

/// Whether the server has chosen HTTP/2 in the TLS handshake. `address` is for the error.
pub(crate) fn check_choice(protocol: Option<&str>, address: &str) -> Result<(), RunError> {
    let why = match protocol {
        Some("h2") => return Ok(()),
        Some(other) => format!("the server chose {other} in the TLS handshake (ALPN)"),
        None => "the server chose no protocol in the TLS handshake (ALPN)".to_owned(),
    };
    Err(RunError::NoHttp2 { address: address.to_owned(), why, negotiated: true })
}

/// `error` of a handshake that offered `version`, where it is one of the protocol that was offered.
pub(crate) fn explained(error: RunError, version: Version) -> RunError {
    match error {
        RunError::Tls { address, why, error } if version == Version::Http2 && *error == NO_PROTOCOL => {
            RunError::NoHttp2 { address, why, negotiated: true }
        }
        error => error,
    }
}

/// The alert `no_application_protocol` (RFC 7301 section 3.2).
const NO_PROTOCOL: TlsError = TlsError::Alert(120);

/// Exchanges settings over `stream`, within `limit`, without a request. `address` is for the error.
pub(crate) fn greet(stream: &mut impl Waiting, address: &str, limit: Duration) -> Result<(), RunError> {
    let refused = |why: String| RunError::NoHttp2 { address: address.to_owned(), why, negotiated: false };
    let deadline = clock::now().saturating_add(span(limit));
    // The core wants to know what it would send.
    let request = EncodedRequest::new(&Request::get("localhost", "/"), Scheme::Http)
        .map_err(|error| RunError::Request(error.to_string()))?;
    let mut shared = Shared::new(request, Limits::default());
    let mut connection = Connection::new(&shared);
    let (mut out, mut input) = (Vec::new(), vec![0; READ_BYTES]);
    connection.preface(&shared, &mut out);
    loop {
        let count = match exchange(stream, &mut out, &mut input, deadline) {
            Ok(Some(count)) => count,
            Ok(None) => {
                let why = match connection.finish() {
                    Err(error @ Http2Error::Tls) => error.to_string(),
                    _ => "the server closed the connection without its settings".to_owned(),
                };
                return Err(refused(why));
            }
            Err(error) => {
                let why = match error.kind() {
                    ErrorKind::WouldBlock | ErrorKind::TimedOut => {
                        "the server did not send its settings in time".to_owned()
                    }
                    _ => format!("{} before the server's settings came", plain(&error)),
                };
                return Err(refused(why));
            }
        };
        let mut rest = &input[..count];
        loop {
            let step =
                connection.next(&mut shared, rest, &mut out).map_err(|error| refused(error.to_string()))?;
            rest = &rest[step.consumed..];
            match step.event {
                Some(Event::Settings { .. }) => return Ok(()),
                Some(_) => {}
                None => break,
            }
        }
    }
}
