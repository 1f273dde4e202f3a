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
}

impl Outcome {
    /// Whether another response to the same request follows (RFC 9110 section 15.2).
    pub(crate) fn is_interim(&self) -> bool {
        self.status < 200
    }
}

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
        httparse::Error::Version => ProtocolError::Version,
        httparse::Error::NewLine => ProtocolError::LineEnd,
        httparse::Error::HeaderValue => ProtocolError::HeaderValue,
        httparse::Error::HeaderName if has_folded_line(head) => ProtocolError::FoldedHeader,
        httparse::Error::HeaderName => ProtocolError::HeaderName,
        httparse::Error::Status | httparse::Error::Token => ProtocolError::StatusLine,
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
    for field in fields {
        let is = |name: &str| field.name.eq_ignore_ascii_case(name);
        if is("connection") {
            connection.read(field.value);
        } else if is("content-length") && !is_bodiless {
            body.read_length(field.value)?;
        } else if is("transfer-encoding") && !is_bodiless {
            body.read_coding(field.value)?;
        }
    }
    let framing = if is_bodiless { Framing::Empty } else { body.framing(minor)? };
    if let Framing::Length(length) = framing
        && length > limits.body_bytes
    {
        return Err(ProtocolError::BodyTooLong { limit_bytes: limits.body_bytes });
    }
    let keep_alive = framing != Framing::UntilClose && connection.keeps_alive(minor);
    Ok(Outcome { status, framing, keep_alive })
}

/// What the fields that describe a body have said so far.
#[derive(Default)]
struct BodyFields {
    length: Option<u64>,
    has_coding: bool,
    is_chunked: bool,
}

impl BodyFields {
    /// Section 6.3 rule 5: a list or repeated fields of one same number count as that number.
    fn read_length(&mut self, value: &[u8]) -> Result<(), ProtocolError> {
        for element in list(value) {
            let length = decimal(element).ok_or(ProtocolError::ContentLength)?;
            if self.length.is_some_and(|earlier| earlier != length) {
                return Err(ProtocolError::ContentLengthConflict);
            }
            self.length = Some(length);
        }
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
