//! What a connection reports.

use std::str;

use crate::h2::error::{ErrorCode, Http2Error};
use crate::h2::hpack::fields::Fields;

/// One step of a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step<'a> {
    /// How many bytes of the input belong to what was reported and before; never to be fed again.
    pub consumed: usize,
    /// What was found. `None` means that all input is consumed and more is needed.
    pub event: Option<Event<'a>>,
}

/// A request and its response on a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Stream {
    /// Its identifier: odd, and never used again on this connection.
    pub id: u32,
    /// The place that it takes while it is open, below [`Limits::streams`](crate::h2::Limits::streams): an index for
    /// what the caller keeps of it.
    pub place: u16,
}

/// Something that a server sent.
///
/// For each stream: any number of `Interim`, one `Head`, any number of `Data`, perhaps `Trailers`, one `End`; or at
/// any time, and as the last one, `Reset` or `Malformed`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event<'a> {
    /// An interim response (1xx) was read; the final one follows.
    Interim {
        /// Whose.
        stream: Stream,
        /// Its status, 100 to 199 but never 101.
        status: u16,
    },
    /// The head of the final response.
    Head {
        /// Whose.
        stream: Stream,
        /// The head.
        head: Head<'a>,
    },
    /// Some bytes of the body, never none.
    Data {
        /// Whose.
        stream: Stream,
        /// The bytes.
        bytes: &'a [u8],
    },
    /// The fields behind the body; the end follows.
    Trailers {
        /// Whose.
        stream: Stream,
        /// The fields.
        fields: Fields<'a>,
    },
    /// The response is complete, and the place of its stream is free again.
    End {
        /// Whose.
        stream: Stream,
        /// What it was.
        end: End,
    },
    /// The server gave the stream up. Its place is free again.
    Reset {
        /// Whose.
        stream: Stream,
        /// Why.
        code: ErrorCode,
        /// The server has not begun to process the request: it may be sent again (RFC 9113 section 8.7).
        refused: bool,
    },
    /// The response broke the rules for messages, and the stream was reset. Its place is free again.
    Malformed {
        /// Whose.
        stream: Stream,
        /// The rule.
        error: Http2Error,
    },
    /// The server takes no more requests on this connection. A `Reset` follows for each request that it refuses.
    GoAway {
        /// The last stream that it answers; 2^31 - 1 announces that another GOAWAY follows.
        last_stream: u32,
        /// Why.
        code: ErrorCode,
        /// What it says about that, for people.
        debug: &'a [u8],
    },
    /// The server's settings were applied.
    Settings {
        /// How many requests it takes at once; `u32::MAX` if it does not say.
        streams: u32,
    },
}

/// The head of a final response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head<'a> {
    /// The status code, 200 to 599.
    pub status: u16,
    /// The announced length of the body.
    pub content_length: Option<u64>,
    pub(crate) fields: Fields<'a>,
}

impl<'a> Head<'a> {
    /// The value of the first field of that name, which is compared without regard to case.
    pub fn header(&self, name: &str) -> Option<&'a [u8]> {
        self.headers().find(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    /// All fields in the order they came, as name and value, without `:status`.
    pub fn headers(&self) -> impl Iterator<Item = (&'a str, &'a [u8])> + use<'a> {
        // Names were checked to be tokens.
        self.fields
            .clone()
            .filter(|(name, _)| !name.starts_with(b":"))
            .filter_map(|(name, value)| Some((str::from_utf8(name).ok()?, value)))
    }
}

/// A complete response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct End {
    /// The status of the final head.
    pub status: u16,
    /// The length of the body.
    pub body_bytes: u64,
    /// Whether the response came before all of the request was sent, the rest of which stays unsent.
    pub early: bool,
}
