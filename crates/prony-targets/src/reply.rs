//! Replies as bytes.

use crate::head::{Method, Reject};

/// Interim reply to a client that asks before it sends a body.
pub(crate) const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";

/// A reply that is not yet bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reply<'a> {
    /// Code and reason phrase: `200 OK`.
    pub(crate) status: &'a str,
    pub(crate) content_type: &'a str,
    /// Whole lines of further header fields, each with its end.
    pub(crate) fields: &'a str,
    pub(crate) body: &'a [u8],
    /// What the server took, by its own clock, for `Server-Timing` (in ms there).
    pub(crate) took_ns: u64,
    /// The id of the request, so that a client can find it in the server's log.
    pub(crate) id: Option<u64>,
    /// The connection ends behind it.
    pub(crate) close: bool,
    pub(crate) method: Method,
}

impl Reply<'_> {
    /// Puts the reply behind what is in `out`. It is in the way of every request, so it formats nothing.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        let connection: &[u8] = if self.close { b"close" } else { b"keep-alive" };
        out.extend_from_slice(b"HTTP/1.1 ");
        out.extend_from_slice(self.status.as_bytes());
        out.extend_from_slice(b"\r\nContent-Type: ");
        out.extend_from_slice(self.content_type.as_bytes());
        out.extend_from_slice(b"\r\nContent-Length: ");
        put_number(self.body.len() as u64, 1, out);
        out.extend_from_slice(b"\r\nConnection: ");
        out.extend_from_slice(connection);
        out.extend_from_slice(b"\r\nServer-Timing: app;dur=");
        put_ms(self.took_ns, out);
        out.extend_from_slice(b"\r\n");
        if let Some(id) = self.id {
            out.extend_from_slice(b"X-Request-Id: ");
            put_number(id, 1, out);
            out.extend_from_slice(b"\r\n");
        }
        out.extend_from_slice(self.fields.as_bytes());
        out.extend_from_slice(b"\r\n");
        if self.method == Method::Other {
            out.extend_from_slice(self.body);
        }
    }
}

/// Milliseconds, to the nanosecond.
pub(crate) fn put_ms(span_ns: u64, out: &mut Vec<u8>) {
    put_number(span_ns / 1_000_000, 1, out);
    out.push(b'.');
    put_number(span_ns % 1_000_000, 6, out);
}

/// A number in decimal, with at least so many digits.
pub(crate) fn put_number(number: u64, least_digits: usize, out: &mut Vec<u8>) {
    // The most digits that 64 bits can have.
    let mut digits = [b'0'; 20];
    let mut left = number;
    let mut start = digits.len();
    while left > 0 {
        start -= 1;
        digits[start] += u8::try_from(left % 10).expect("invariant: a digit");
        left /= 10;
    }
    out.extend_from_slice(&digits[start.min(digits.len() - least_digits)..]);
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
        fields: "",
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
            fields: "Allow: GET\r\n",
            body: b"x",
            took_ns: 40_001_002,
            id: Some(7),
            close: false,
            method: Method::Head,
        };
        reply.write(&mut out);
        let text = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 1\r\n\
                    Connection: keep-alive\r\nServer-Timing: app;dur=40.001002\r\nX-Request-Id: 7\r\n\
                    Allow: GET\r\n\r\n";
        assert_eq!(String::from_utf8(out).unwrap(), text);
    }

    #[test]
    fn numbers_are_decimal_and_padded() {
        let check = |number, least_digits, expected: &str| {
            let mut out = Vec::new();
            put_number(number, least_digits, &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), expected);
        };
        check(0, 1, "0");
        check(42, 6, "000042");
        check(1_234_567, 6, "1234567");
        check(u64::MAX, 1, "18446744073709551615");
    }
}
