//! Where a request's head ends, and what of it decides about the answer (RFC 9112).

use std::mem::MaybeUninit;

/// The longest head: request line, header fields and the blank line.
pub(crate) const HEAD_LIMIT_BYTES: usize = 8 * 1024;
/// The longest body.
pub(crate) const BODY_LIMIT_BYTES: u64 = 1024 * 1024;
/// The most header fields; a browser sends about 15.
const FIELD_LIMIT: usize = 100;

/// The contents of a complete head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Head<'a> {
    /// Its length, from the first byte of the input to behind the blank line.
    pub(crate) bytes: usize,
    /// How the body that follows is delimited.
    pub(crate) framing: Framing,
    pub(crate) target: &'a str,
    /// The method as it was written.
    pub(crate) verb: &'a str,
    pub(crate) method: Method,
    pub(crate) version: Version,
    /// What the client wants: the version's default unless a Connection field overrides it.
    pub(crate) keep_alive: bool,
    /// The client waits for "100 Continue" before it sends the body.
    pub(crate) expects_continue: bool,
    /// The field X-Request-Id, if it is a number.
    pub(crate) request_id: Option<u64>,
    /// The field Accept names `text/event-stream`.
    pub(crate) wants_events: bool,
    /// The field If-None-Match, unless the client wants no cached answer (`Cache-Control: no-cache`).
    pub(crate) if_none_match: Option<&'a str>,
}

impl Head<'_> {
    /// The length of the body, for a server that reads no other bodies.
    pub(crate) fn known_length(&self) -> Result<u64, Reject> {
        match self.framing {
            Framing::Length(bytes) => Ok(bytes),
            Framing::Chunked => Err(Reject::NoLength),
        }
    }
}

/// Where a body ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Framing {
    /// After so many bytes, [`BODY_LIMIT_BYTES`] at most; 0 for no body.
    Length(u64),
    /// After the chunk of length 0.
    Chunked,
}

/// Only HEAD makes a difference here: its answer has no body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Method {
    Head,
    Other,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Version {
    Http10,
    Http11,
}

/// A request that is not served, by the status with the reason. The connection ends with the reply, because
/// where the next request would begin is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reject {
    /// 400
    Malformed,
    /// 408
    TooSlow,
    /// 411: a body of unknown length. RFC 9112 section 6.1 lets a server ask for a length instead.
    NoLength,
    /// 413
    BodyTooLong,
    /// 431
    HeadTooLong,
    /// 503: as much is half done already as memory is set aside for.
    Overloaded,
}

impl Reject {
    /// The status line without the version.
    pub(crate) fn status(self) -> &'static str {
        match self {
            Self::Malformed => "400 Bad Request",
            Self::TooSlow => "408 Request Timeout",
            Self::NoLength => "411 Length Required",
            Self::BodyTooLong => "413 Content Too Large",
            Self::HeadTooLong => "431 Request Header Fields Too Large",
            Self::Overloaded => "503 Service Unavailable",
        }
    }
}

/// The head at the start of `input`; `None` when more bytes are needed.
///
/// How the bytes were split over packets makes no difference: never more than the limit is read.
pub(crate) fn parse(input: &[u8]) -> Result<Option<Head<'_>>, Reject> {
    let window = &input[..input.len().min(HEAD_LIMIT_BYTES)];
    let mut fields = [const { MaybeUninit::uninit() }; FIELD_LIMIT];
    let mut request = httparse::Request::new(&mut []);
    let bytes = match request.parse_with_uninit_headers(window, &mut fields) {
        Ok(httparse::Status::Complete(bytes)) => bytes,
        Ok(httparse::Status::Partial) if input.len() < HEAD_LIMIT_BYTES => return Ok(None),
        Ok(httparse::Status::Partial) | Err(httparse::Error::TooManyHeaders) => {
            return Err(Reject::HeadTooLong);
        }
        Err(_) => return Err(Reject::Malformed),
    };
    let version = if request.version == Some(0) { Version::Http10 } else { Version::Http11 };
    let mut head = Head {
        bytes,
        framing: Framing::Length(0),
        target: request.path.expect("invariant: a complete head has a target"),
        verb: request.method.expect("invariant: a complete head has a method"),
        method: if request.method == Some("HEAD") { Method::Head } else { Method::Other },
        version,
        keep_alive: version == Version::Http11,
        expects_continue: false,
        request_id: None,
        wants_events: false,
        if_none_match: None,
    };
    read_fields(request.headers, &mut head)?;
    Ok(Some(head))
}

fn read_fields<'a>(fields: &[httparse::Header<'a>], head: &mut Head<'a>) -> Result<(), Reject> {
    let (mut length, mut coding, mut close, mut no_cache) = (None, None, false, false);
    for field in fields {
        // The length of the name distinguishes most fields before a byte is compared.
        match field.name.len() {
            10 if field.name.eq_ignore_ascii_case("connection") => {
                close |= has_token(field.value, b"close");
                head.keep_alive |= has_token(field.value, b"keep-alive");
            }
            14 if field.name.eq_ignore_ascii_case("content-length") => {
                let this = number(field.value).ok_or(Reject::Malformed)?;
                if length.is_some_and(|earlier| earlier != this) {
                    return Err(Reject::Malformed);
                }
                length = Some(this);
            }
            17 if field.name.eq_ignore_ascii_case("transfer-encoding") => {
                // A second one makes it something else than `chunked` alone.
                coding = Some(coding.is_none() && field.value.trim_ascii().eq_ignore_ascii_case(b"chunked"));
            }
            6 if field.name.eq_ignore_ascii_case("expect") => {
                head.expects_continue = has_token(field.value, b"100-continue");
            }
            6 if field.name.eq_ignore_ascii_case("accept") => {
                head.wants_events |= has_token(field.value, b"text/event-stream");
            }
            13 if field.name.eq_ignore_ascii_case("if-none-match") => {
                head.if_none_match = std::str::from_utf8(field.value).ok();
            }
            13 if field.name.eq_ignore_ascii_case("cache-control") => {
                no_cache |= has_token(field.value, b"no-cache");
            }
            12 if field.name.eq_ignore_ascii_case("x-request-id") => head.request_id = number(field.value),
            _ => {}
        }
    }
    head.keep_alive &= !close;
    head.if_none_match = head.if_none_match.filter(|_| !no_cache);
    head.framing = match (length, coding) {
        // Both is how requests are smuggled (RFC 9112 section 6.3), and HTTP/1.0 has no codings (section 6.1).
        (Some(_), Some(_)) => return Err(Reject::Malformed),
        (None, Some(_)) if head.version == Version::Http10 => return Err(Reject::Malformed),
        (None, Some(true)) => Framing::Chunked,
        (None, Some(false)) => return Err(Reject::NoLength),
        (Some(long), None) if long > BODY_LIMIT_BYTES => return Err(Reject::BodyTooLong),
        (length, None) => Framing::Length(length.unwrap_or(0)),
    };
    Ok(())
}

/// Whether a comma-separated list holds the word, in any case.
fn has_token(list: &[u8], word: &[u8]) -> bool {
    list.split(|byte| *byte == b',').any(|item| item.trim_ascii().eq_ignore_ascii_case(word))
}

/// Digits and nothing else. A number past 2^64 saturates: as a length it is too long either way.
pub(crate) fn number(text: &[u8]) -> Option<u64> {
    if text.is_empty() {
        return None;
    }
    text.iter().try_fold(0_u64, |sum, byte| {
        byte.is_ascii_digit().then(|| sum.saturating_mul(10).saturating_add(u64::from(byte - b'0')))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(input: &str, expected: Result<Option<(usize, u64, bool)>, Reject>) {
        let seen = parse(input.as_bytes())
            .and_then(|head| head.map(|h| Ok((h.bytes, h.known_length()?, h.keep_alive))).transpose());
        assert_eq!(seen, expected, "{input:?}");
    }

    #[test]
    fn a_head_ends_at_its_blank_line() {
        check("", Ok(None));
        check("GET / HTTP/1.1\r\nHost: a\r\n", Ok(None));
        check("GET / HTTP/1.1\r\n\r\n", Ok(Some((18, 0, true))));
        check("GET / HTTP/1.1\r\n\r\nGET", Ok(Some((18, 0, true))));
        check("POST / HTTP/1.1\r\ncontent-LENGTH: 7\r\n\r\n", Ok(Some((38, 7, true))));
    }

    #[test]
    fn keep_alive_follows_version_and_field() {
        check("GET / HTTP/1.0\r\n\r\n", Ok(Some((18, 0, false))));
        check("GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", Ok(Some((42, 0, true))));
        check("GET / HTTP/1.1\r\nConnection: x, CLOSE\r\n\r\n", Ok(Some((40, 0, false))));
        check("GET / HTTP/1.1\r\nConnection: close, keep-alive\r\n\r\n", Ok(Some((49, 0, false))));
    }

    #[test]
    fn what_cannot_be_framed_is_rejected() {
        check("nonsense\r\n\r\n", Err(Reject::Malformed));
        check("GET / HTTP/2.0\r\n\r\n", Err(Reject::Malformed));
        check("POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", Err(Reject::Malformed));
        check("POST / HTTP/1.1\r\nContent-Length: +1\r\n\r\n", Err(Reject::Malformed));
        check("POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", Err(Reject::Malformed));
        check("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", Err(Reject::NoLength));
        check(
            "POST / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
            Err(Reject::Malformed),
        );
        check("POST / HTTP/1.1\r\nContent-Length: 1048577\r\n\r\n", Err(Reject::BodyTooLong));
        check("POST / HTTP/1.1\r\nContent-Length: 99999999999999999999999\r\n\r\n", Err(Reject::BodyTooLong));
    }

    #[test]
    fn only_chunked_alone_is_a_coding() {
        let framing = |fields: &str| {
            let head = format!("POST / HTTP/1.1\r\n{fields}\r\n");
            parse(head.as_bytes()).map(|head| head.unwrap().framing)
        };
        assert_eq!(framing("Transfer-Encoding: Chunked\r\n"), Ok(Framing::Chunked));
        assert_eq!(framing("Transfer-Encoding: gzip, chunked\r\n"), Err(Reject::NoLength));
        let twice = "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n";
        assert_eq!(framing(twice), Err(Reject::NoLength));
        check("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", Err(Reject::Malformed));
    }

    #[test]
    fn a_head_may_be_as_long_as_the_limit_and_no_longer() {
        let frame = "GET / HTTP/1.1\r\nA: \r\n\r\n".len();
        let with = |padding: usize| format!("GET / HTTP/1.1\r\nA: {}\r\n\r\n", "x".repeat(padding));
        check(&with(HEAD_LIMIT_BYTES - frame), Ok(Some((HEAD_LIMIT_BYTES, 0, true))));
        check(&with(HEAD_LIMIT_BYTES - frame + 1), Err(Reject::HeadTooLong));
        check(&format!("GET / HTTP/1.1\r\n{}\r\n", "A: b\r\n".repeat(101)), Err(Reject::HeadTooLong));
    }

    #[test]
    fn method_id_and_expectation_are_read() {
        let head = parse(b"HEAD /p?q HTTP/1.1\r\nX-Request-ID: 12\r\nExpect: 100-continue\r\n\r\n");
        let head = head.unwrap().unwrap();
        assert_eq!((head.method, head.target, head.request_id), (Method::Head, "/p?q", Some(12)));
        assert!(head.expects_continue && !head.wants_events);
        let head = parse(b"GET / HTTP/1.1\r\nAccept: text/html, Text/Event-Stream\r\n\r\n").unwrap().unwrap();
        assert!(head.verb == "GET" && head.wants_events);
    }

    #[test]
    fn what_the_client_has_counts_unless_it_wants_no_cached_answer() {
        let check = |fields: &str, expected: Option<&str>| {
            let head = format!("GET / HTTP/1.1\r\n{fields}\r\n");
            assert_eq!(parse(head.as_bytes()).unwrap().unwrap().if_none_match, expected, "{fields}");
        };
        check("", None);
        check("if-none-match: \"a\", W/\"b\"\r\n", Some("\"a\", W/\"b\""));
        check("If-None-Match: \"a\"\r\nCache-Control: max-age=0\r\n", Some("\"a\""));
        check("Cache-Control: No-Cache\r\nIf-None-Match: \"a\"\r\n", None);
    }
}
