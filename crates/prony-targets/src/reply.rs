//! Replies as bytes.

use std::io::Write;

use crate::head::{Method, Reject};

/// Interim reply to a client that asks before it sends a body.
pub(crate) const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";

/// A reply that is not yet bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reply<'a> {
    /// Code and words: `200 OK`.
    pub(crate) status: &'a str,
    pub(crate) content_type: &'a str,
    pub(crate) body: &'a [u8],
    /// What the server took, by its own clock, for `Server-Timing` (in ms there).
    pub(crate) took_ns: u64,
    /// The id of the request, so that a client can look up what the server says of it.
    pub(crate) id: Option<u64>,
    /// The connection ends behind it.
    pub(crate) close: bool,
    pub(crate) method: Method,
}

impl Reply<'_> {
    /// Puts the reply behind what is in `out`.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        let Self { status, content_type, body, took_ns, .. } = self;
        let connection = if self.close { "close" } else { "keep-alive" };
        write!(
            out,
            "HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\nContent-Length: {}\r\n\
             Connection: {connection}\r\nServer-Timing: app;dur={}.{:06}\r\n",
            body.len(),
            took_ns / 1_000_000,
            took_ns % 1_000_000,
        )
        .expect("invariant: writing to a Vec does not fail");
        if let Some(id) = self.id {
            write!(out, "X-Request-Id: {id}\r\n").expect("invariant: writing to a Vec does not fail");
        }
        out.extend_from_slice(b"\r\n");
        if self.method == Method::Other {
            out.extend_from_slice(body);
        }
    }
}

/// The reply to a request that isn't served; the connection ends behind it.
pub(crate) fn rejection(reject: Reject) -> Vec<u8> {
    closing(reject.status())
}

/// The reply to a connection that no handler is free for.
pub(crate) fn refusal() -> Vec<u8> {
    closing("503 Service Unavailable")
}

fn closing(status: &str) -> Vec<u8> {
    let mut out = Vec::new();
    let text = format!("{status}\n");
    let body = text.as_bytes();
    Reply {
        status,
        content_type: "text/plain",
        body,
        took_ns: 0,
        id: None,
        close: true,
        method: Method::Other,
    }
    .write(&mut out);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_is_in_milliseconds() {
        let mut out = Vec::new();
        let reply = Reply {
            status: "200 OK",
            content_type: "text/plain",
            body: b"x",
            took_ns: 40_001_002,
            id: Some(7),
            close: false,
            method: Method::Head,
        };
        reply.write(&mut out);
        let text = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 1\r\n\
                    Connection: keep-alive\r\nServer-Timing: app;dur=40.001002\r\nX-Request-Id: 7\r\n\r\n";
        assert_eq!(String::from_utf8(out).unwrap(), text);
    }
}
