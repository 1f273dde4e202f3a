//! What a complete head says: the status, how the body ends, whether the connection stays open.
//!
//! The only file that weighs header fields against each other. It runs when a head differs from the last
//! ones, so about once a second in a typical run; see [`cache`](crate::cache).

use std::mem::MaybeUninit;

use httparse::{Header, ParserConfig, Response};

use crate::error::ProtocolError;
use crate::head::Framing;
use crate::limits::{HEADERS_MAX, Limits};
use crate::request::RequestKind;
use crate::syntax::{is_token, list, trim};

/// All that the parser needs to know of a head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Outcome {
    pub(crate) status: u16,
    pub(crate) framing: Framing,
    pub(crate) keep_alive: bool,
    /// See [`crate::Head::has_session_fields`].
    pub(crate) has_session_fields: bool,
}

impl Outcome {
    /// Whether another response to the same request follows (RFC 9110 section 15.2).
    pub(crate) fn is_interim(&self) -> bool {
        self.status < 200
    }
}

/// What a client with sessions reads of a response, in lower case.
const SESSION_FIELDS: [&str; 3] = ["set-cookie", "location", "content-encoding"];

/// Reads a complete head, from the status line to the blank line.
pub(crate) fn read_head(head: &[u8], kind: RequestKind, limits: &Limits) -> Result<Outcome, ProtocolError> {
    let mut fields = [const { MaybeUninit::<Header<'_>>::uninit() }; HEADERS_MAX];
    let mut response = Response::new(&mut []);
    let parsed = ParserConfig::default().parse_response_with_uninit_headers(
        &mut response,
        head,
        &mut fields[..limits.headers.min(HEADERS_MAX)],
    );
    match parsed {
        Ok(httparse::Status::Complete(length)) if length == head.len() => {}
        // The blank line was found before httparse was asked; it can only disagree on a malformed line.
        Ok(_) => return Err(ProtocolError::LineEnd),
        Err(error) => return Err(refusal(error, head, limits)),
    }
    let (Some(status), Some(minor)) = (response.code, response.version) else {
        return Err(ProtocolError::StatusLine);
    };
    decide(kind, status, minor, response.headers, limits)
}

/// Our name for a refusal of httparse's.
fn refusal(error: httparse::Error, head: &[u8], limits: &Limits) -> ProtocolError {
    match error {
        httparse::Error::TooManyHeaders => ProtocolError::TooManyHeaders { limit: limits.headers },
        httparse::Error::NewLine => ProtocolError::LineEnd,
        httparse::Error::HeaderValue => ProtocolError::HeaderValue,
        httparse::Error::HeaderName if has_folded_line(head) => ProtocolError::FoldedHeader,
        httparse::Error::HeaderName => ProtocolError::HeaderName,
        // The version itself was checked with the first bytes; here it can only lack the space after it.
        httparse::Error::Status | httparse::Error::Token | httparse::Error::Version => {
            ProtocolError::StatusLine
        }
    }
}

fn has_folded_line(head: &[u8]) -> bool {
    head.windows(2).any(|pair| matches!(pair, [b'\n', b' ' | b'\t']))
}

/// Applies RFC 9112 sections 6.3 (body) and 9.3 (persistence) to the fields of one head.
fn decide(
    kind: RequestKind,
    status: u16,
    minor: u8,
    fields: &[Header<'_>],
    limits: &Limits,
) -> Result<Outcome, ProtocolError> {
    match status {
        101 => return Err(ProtocolError::Upgrade),
        100..=599 => {}
        _ => return Err(ProtocolError::StatusRange(status)),
    }
    // Section 6.3 rule 1: these have no body "regardless of the header fields", so a length is not read.
    let is_bodiless = kind == RequestKind::Head || matches!(status, 100..=199 | 204 | 304);
    let mut body = BodyFields::default();
    let mut connection = ConnectionOptions::default();
    let mut has_session_fields = false;
    for field in fields {
        let is = |name: &str| field.name.eq_ignore_ascii_case(name);
        if is("connection") {
            connection.read(field.value);
        } else if is("content-length") && !is_bodiless {
            body.read_length(field.value)?;
        } else if is("transfer-encoding") && !is_bodiless {
            body.read_coding(field.value)?;
        }
        has_session_fields |= SESSION_FIELDS.iter().any(|name| is(name));
    }
    let framing = if is_bodiless { Framing::Empty } else { body.framing(minor)? };
    if let Framing::Length(length) = framing
        && length > limits.body_bytes
    {
        return Err(ProtocolError::BodyTooLong { limit_bytes: limits.body_bytes });
    }
    let keep_alive = framing != Framing::UntilClose && connection.keeps_alive(minor);
    Ok(Outcome { status, framing, keep_alive, has_session_fields })
}

/// What the fields that describe a body contain so far.
#[derive(Default)]
struct BodyFields {
    length: Option<u64>,
    has_coding: bool,
    is_chunked: bool,
}

impl BodyFields {
    fn read_length(&mut self, value: &[u8]) -> Result<(), ProtocolError> {
        self.length = Some(content_length(self.length, value)?);
        Ok(())
    }

    /// Section 6.1: a list of codings over all fields of that name, of which only the last may be chunked.
    fn read_coding(&mut self, value: &[u8]) -> Result<(), ProtocolError> {
        self.has_coding = true;
        for element in list(value) {
            let (name, parameters) = match element.iter().position(|byte| *byte == b';') {
                Some(at) => (trim(&element[..at]), true),
                None => (element, false),
            };
            let is_chunked = name.eq_ignore_ascii_case(b"chunked");
            // Chunked defines no parameters (section 7.1) and is never applied twice (section 6.1). When it
            // is followed by another coding, the body ends with the connection, as for an unknown coding.
            if !is_token(name) || (is_chunked && (parameters || self.is_chunked)) {
                return Err(ProtocolError::TransferEncoding);
            }
            self.is_chunked = is_chunked;
        }
        Ok(())
    }

    fn framing(&self, minor: u8) -> Result<Framing, ProtocolError> {
        match (self.has_coding, self.length) {
            // Section 6.1: "MUST treat the message as if the framing is faulty".
            (true, _) if minor == 0 => Err(ProtocolError::TransferEncodingInHttp10),
            // Section 6.3 rule 3: "ought to be handled as an error". Believing either field would give a
            // body length that nobody can vouch for.
            (true, Some(_)) => Err(ProtocolError::TransferEncodingAndContentLength),
            (true, None) if self.is_chunked => Ok(Framing::Chunked),
            (true | false, None) => Ok(Framing::UntilClose),
            (false, Some(length)) => Ok(Framing::Length(length)),
        }
    }
}

/// Section 6.3 rule 5: a list or repeated fields of one same number count as that number.
pub(crate) fn content_length(earlier: Option<u64>, value: &[u8]) -> Result<u64, ProtocolError> {
    let mut found = earlier;
    for element in list(value) {
        let length = decimal(element).ok_or(ProtocolError::ContentLength)?;
        if found.is_some_and(|earlier| earlier != length) {
            return Err(ProtocolError::ContentLengthConflict);
        }
        found = Some(length);
    }
    found.ok_or(ProtocolError::ContentLength)
}

/// The options of all `Connection` fields that matter to a client.
#[derive(Default)]
struct ConnectionOptions {
    close: bool,
    keep_alive: bool,
}

impl ConnectionOptions {
    fn read(&mut self, value: &[u8]) {
        for option in list(value) {
            self.close |= option.eq_ignore_ascii_case(b"close");
            self.keep_alive |= option.eq_ignore_ascii_case(b"keep-alive");
        }
    }

    /// Section 9.3: close wins over keep-alive; without either, 1.1 stays open and 1.0 does not.
    fn keeps_alive(&self, minor: u8) -> bool {
        !self.close && (minor == 1 || self.keep_alive)
    }
}

/// A number of digits only: no sign, no space, below 2^64.
fn decimal(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0_u64, |number, digit| {
        let digit = digit.is_ascii_digit().then(|| u64::from(digit - b'0'))?;
        number.checked_mul(10)?.checked_add(digit)
    })
}

#[cfg(test)]
mod tests {
    use super::read_head;
    use crate::error::ProtocolError;
    use crate::head::Framing;
    use crate::limits::{HEADERS_MAX, Limits};
    use crate::request::RequestKind;

    /// Reads a head of these lines, as the answer to a request of that kind.
    fn check(kind: RequestKind, lines: &str, expected: Result<(u16, Framing, bool), ProtocolError>) {
        let head = format!("{}\r\n\r\n", lines.replace('\n', "\r\n"));
        let limits = Limits { headers: 8, body_bytes: 1000, ..Limits::default() }.clamped();
        let found = read_head(head.as_bytes(), kind, &limits);
        let found = found.map(|found| (found.status, found.framing, found.keep_alive));
        assert_eq!(found, expected, "{lines:?} after {kind:?}");
    }

    #[test]
    fn fields_of_sessions_are_noticed() {
        let check = |line: &str, expected: bool| {
            let head = format!("HTTP/1.1 200 OK\r\nServer: x\r\n{line}\r\nContent-Length: 0\r\n\r\n");
            let found = read_head(head.as_bytes(), RequestKind::Normal, &Limits::default());
            assert_eq!(found.map(|found| found.has_session_fields), Ok(expected), "{line}");
        };
        for line in ["Set-Cookie: a=b", "set-cookie: a=b", "LOCATION: /", "Content-Encoding: gzip"] {
            check(line, true);
        }
        for line in ["Set-Cookie2: a=b", "X-Location: /", "Content-Language: en", "Cookie: a"] {
            check(line, false);
        }
    }

    fn accepted(lines: &str, framing: Framing, keep_alive: bool) {
        check(RequestKind::Normal, lines, Ok((200, framing, keep_alive)));
    }

    fn refused(lines: &str, error: ProtocolError) {
        check(RequestKind::Normal, lines, Err(error));
    }

    #[test]
    fn content_length() {
        accepted("HTTP/1.1 200 OK\ncontent-LENGTH: 12", Framing::Length(12), true);
        accepted("HTTP/1.1 200 OK\nContent-Length:0", Framing::Length(0), true);
        accepted("HTTP/1.1 200 OK\nContent-Length: 5, 5\nContent-Length: 005", Framing::Length(5), true);
        for bad in ["", "+5", "-1", "5 5", "0x5", "5,", "5;", "1.0", "99999999999999999999"] {
            refused(&format!("HTTP/1.1 200 OK\nContent-Length: {bad}"), ProtocolError::ContentLength);
        }
        refused("HTTP/1.1 200 OK\nContent-Length: 5, 6", ProtocolError::ContentLengthConflict);
        refused(
            "HTTP/1.1 200 OK\nContent-Length: 5\nContent-Length: 6",
            ProtocolError::ContentLengthConflict,
        );
        let too_long = ProtocolError::BodyTooLong { limit_bytes: 1000 };
        accepted("HTTP/1.1 200 OK\nContent-Length: 1000", Framing::Length(1000), true);
        refused("HTTP/1.1 200 OK\nContent-Length: 1001", too_long);
        refused("HTTP/1.1 200 OK\nContent-Length: 18446744073709551615", too_long);
        refused("HTTP/1.1 200 OK\nContent-Length: 18446744073709551616", ProtocolError::ContentLength);
    }

    #[test]
    fn transfer_encoding() {
        accepted("HTTP/1.1 200 OK\nTransfer-Encoding: chunked", Framing::Chunked, true);
        accepted("HTTP/1.1 200 OK\nTransfer-Encoding: gzip;q=1, CHUNKED", Framing::Chunked, true);
        accepted(
            "HTTP/1.1 200 OK\nTransfer-Encoding: gzip\nTransfer-Encoding: chunked",
            Framing::Chunked,
            true,
        );
        accepted("HTTP/1.1 200 OK\nTransfer-Encoding: gzip", Framing::UntilClose, false);
        accepted("HTTP/1.1 200 OK\nTransfer-Encoding: chunked, gzip", Framing::UntilClose, false);
        for bad in ["", "chunked, chunked", "chunked;a=b", "chunked,", "chun ked", "a;b=\"c,d\""] {
            refused(&format!("HTTP/1.1 200 OK\nTransfer-Encoding: {bad}"), ProtocolError::TransferEncoding);
        }
        refused("HTTP/1.0 200 OK\nTransfer-Encoding: chunked", ProtocolError::TransferEncodingInHttp10);
        for both in [
            "Transfer-Encoding: chunked\nContent-Length: 5",
            "Content-Length: 5\nTransfer-Encoding: identity",
        ] {
            refused(&format!("HTTP/1.1 200 OK\n{both}"), ProtocolError::TransferEncodingAndContentLength);
        }
    }

    #[test]
    fn bodiless_responses_do_not_look_at_body_fields() {
        let fields = "Content-Length: nonsense\nTransfer-Encoding: chunked";
        for status in [100, 103, 199, 204, 304] {
            let lines = format!("HTTP/1.1 {status} x\n{fields}");
            check(RequestKind::Normal, &lines, Ok((status, Framing::Empty, true)));
        }
        for status in [200, 404, 599] {
            let lines = format!("HTTP/1.0 {status} x\n{fields}");
            check(RequestKind::Head, &lines, Ok((status, Framing::Empty, false)));
        }
        accepted("HTTP/1.1 200 OK", Framing::UntilClose, false);
        check(RequestKind::Normal, "HTTP/1.1 205 x", Ok((205, Framing::UntilClose, false)));
    }

    #[test]
    fn persistence() {
        let five = "Content-Length: 5";
        for (version, connection, keep_alive) in [
            ("1.1", "", true),
            ("1.1", "\nConnection: close", false),
            ("1.1", "\nconnection: CLOSE", false),
            ("1.1", "\nConnection: close, keep-alive", false),
            ("1.1", "\nConnection: keep-alive\nConnection: x ,close", false),
            ("1.1", "\nConnection: closed", true),
            ("1.0", "", false),
            ("1.0", "\nConnection: Keep-Alive", true),
            ("1.0", "\nConnection: keep-alive, close", false),
            ("1.0", "\nKeep-Alive: timeout=5", false),
        ] {
            let lines = format!("HTTP/{version} 200 OK\n{five}{connection}");
            accepted(&lines, Framing::Length(5), keep_alive);
        }
        accepted("HTTP/1.1 200 OK\nConnection: keep-alive", Framing::UntilClose, false);
    }

    #[test]
    fn status_lines() {
        check(RequestKind::Head, "HTTP/1.1 200", Ok((200, Framing::Empty, true)));
        check(RequestKind::Head, "HTTP/1.1 599 \u{e9}t\u{e9}", Ok((599, Framing::Empty, true)));
        for bad in ["HTTP/1.1 20", "HTTP/1.1 2000", "HTTP/1.1  200 OK", "HTTP/1.1", "HTTP/1.1 abc x"] {
            refused(bad, ProtocolError::StatusLine);
        }
        refused("HTTP/1.1 099 x", ProtocolError::StatusRange(99));
        refused("HTTP/1.1 600 x", ProtocolError::StatusRange(600));
        refused("HTTP/1.1 101 Switching Protocols\nUpgrade: websocket", ProtocolError::Upgrade);
    }

    #[test]
    fn header_lines() {
        refused("HTTP/1.1 200 OK\nA: b\n c", ProtocolError::FoldedHeader);
        refused("HTTP/1.1 200 OK\nA : b", ProtocolError::HeaderName);
        refused("HTTP/1.1 200 OK\nno colon", ProtocolError::HeaderName);
        refused("HTTP/1.1 200 OK\n: b", ProtocolError::HeaderName);
        refused("HTTP/1.1 200 OK\nA: b\0", ProtocolError::HeaderValue);
        refused("HTTP/1.1 200 OK\nA: b\rc", ProtocolError::HeaderValue);
        refused("HTTP/1.1 200 OK\nA: b\n\rc", ProtocolError::LineEnd);
        let many = |count: usize| format!("HTTP/1.1 200 OK{}", "\na: b".repeat(count));
        accepted(&many(8), Framing::UntilClose, false);
        refused(&many(9), ProtocolError::TooManyHeaders { limit: 8 });
    }

    #[test]
    fn the_header_limit_ends_where_the_stack_space_does() {
        let head = format!("HTTP/1.1 200 OK\r\n{}\r\n", "a: b\r\n".repeat(HEADERS_MAX + 1));
        let limits = Limits { headers: usize::MAX, ..Limits::default() }.clamped();
        let found = read_head(head.as_bytes(), RequestKind::Normal, &limits);
        assert_eq!(found, Err(ProtocolError::TooManyHeaders { limit: HEADERS_MAX }));
    }
}
