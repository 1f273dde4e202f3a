//! The head of a final response, with its header fields read only when somebody asks.

use std::str;

use memchr::memchr;

use crate::syntax::trim;

/// The head of a final response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head<'a> {
    /// The status code, 200 to 599.
    pub status: u16,
    /// How the end of the body is known.
    pub framing: Framing,
    /// Whether the server keeps the connection open after this response.
    pub keep_alive: bool,
    /// Whether it has `Set-Cookie`, `Location` or `Content-Encoding`: what a client with sessions has to look for in each
    /// response, and finds in few. Found out once for each head that is remembered.
    pub has_session_fields: bool,
    /// The bytes of the head, from the status line to the blank line, both included.
    pub raw: &'a [u8],
}

/// How the end of a body is known (RFC 9112 section 6.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// There is no body, whatever the header fields say: an answer to HEAD, 204 or 304.
    Empty,
    /// A content-length, which may be 0.
    Length(u64),
    /// The chunked transfer coding.
    Chunked,
    /// Neither: the body ends when the server closes the connection.
    UntilClose,
}

impl<'a> Head<'a> {
    /// The value of the first field of that name, compared without regard to case, without the white space
    /// around it. Values are bytes: RFC 9110 section 5.5 allows more than UTF-8.
    pub fn header(&self, name: &str) -> Option<&'a [u8]> {
        self.headers().find(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    /// All fields in the order they came, as name and value.
    pub fn headers(&self) -> Headers<'a> {
        let (_, rest) = first_line(self.raw);
        Headers { rest }
    }
}

/// The header fields of a [`Head`], as name and value.
#[derive(Debug, Clone)]
pub struct Headers<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Headers<'a> {
    type Item = (&'a str, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        // The parser has checked every line of `raw`; a line that is no field can only stand in bytes that
        // somebody else put there, and is passed over.
        while !self.rest.is_empty() {
            let (line, rest) = first_line(self.rest);
            self.rest = rest;
            let Some(colon) = memchr(b':', line) else { continue };
            if let Ok(name) = str::from_utf8(&line[..colon]) {
                return Some((name, trim(&line[colon + 1..])));
            }
        }
        None
    }
}

/// The first line of `bytes` without its line end, and what follows it.
fn first_line(bytes: &[u8]) -> (&[u8], &[u8]) {
    let (line, rest) = match memchr(b'\n', bytes) {
        Some(end) => (&bytes[..end], &bytes[end + 1..]),
        None => (bytes, &[][..]),
    };
    (line.strip_suffix(b"\r").unwrap_or(line), rest)
}

#[cfg(test)]
mod tests {
    use super::{Framing, Head};

    fn head(raw: &[u8]) -> Head<'_> {
        Head { status: 200, framing: Framing::Empty, keep_alive: true, has_session_fields: false, raw }
    }

    fn check(raw: &str, expected: &[(&str, &str)]) {
        let head = head(raw.as_bytes());
        let found: Vec<(&str, &[u8])> = head.headers().collect();
        let expected: Vec<(&str, &[u8])> = expected.iter().map(|(n, v)| (*n, v.as_bytes())).collect();
        assert_eq!(found, expected, "{raw:?}");
    }

    #[test]
    fn fields_are_read_in_order_with_either_line_end() {
        check(
            "HTTP/1.1 200 OK\r\nDate: now\r\nX:\ta:b \r\nEmpty:\r\n\r\n",
            &[("Date", "now"), ("X", "a:b"), ("Empty", "")],
        );
        check("HTTP/1.0 200 OK\na: 1\nb: 2\n\n", &[("a", "1"), ("b", "2")]);
        check("HTTP/1.1 200 OK\r\n\r\n", &[]);
        check("", &[]);
    }

    #[test]
    fn the_first_value_is_found_without_regard_to_case() {
        let raw = b"HTTP/1.1 200 OK\r\nServer-Timing: db;dur=5\r\nSERVER-timing: app\r\n\r\n";
        let head = head(raw);
        assert_eq!(head.header("server-timing"), Some(&b"db;dur=5"[..]));
        assert_eq!(head.header("server"), None);
    }
}
