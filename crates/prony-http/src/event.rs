//! What a response parser reports.

use crate::head::Head;

/// One step of a parser.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step<'a> {
    /// How many bytes of the input belong to what was reported and before; never to be fed again.
    pub consumed: usize,
    /// What was found. `None` means that all input is consumed and more is needed.
    pub event: Option<Event<'a>>,
}

/// A piece of a response: any number of `Interim`, one `Head`, any number of `Body`, one `End`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event<'a> {
    /// An interim response (1xx) was read; the final one follows.
    Interim {
        /// Its status, 100 to 199 but never 101.
        status: u16,
    },
    /// The head of the final response.
    Head(Head<'a>),
    /// Some bytes of the body, never none, without the chunked framing.
    Body(&'a [u8]),
    /// The response is complete.
    End(End),
}

/// A complete response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct End {
    /// The status of the final head.
    pub status: u16,
    /// Whether the server keeps the connection open. A client that asked for a close does not reuse it anyway.
    pub keep_alive: bool,
    /// The length of the body, without the chunked framing.
    pub body_bytes: u64,
}

/// A complete response that one input held: see
/// [`ResponseParser::whole`](crate::ResponseParser::whole).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Whole<'a> {
    /// How many bytes of the input the response takes.
    pub consumed: usize,
    /// Its head.
    pub head: Head<'a>,
    /// Its body.
    pub body: &'a [u8],
}

impl Whole<'_> {
    /// The same as the [`Event::End`] that the parser's [`next`](crate::ResponseParser::next) would have given.
    #[inline]
    pub fn end(&self) -> End {
        End { status: self.head.status, keep_alive: self.head.keep_alive, body_bytes: self.body.len() as u64 }
    }
}

/// What a close by the server means when it is no error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finish {
    /// It closed between two responses.
    Idle,
    /// The close was the end of a body that had no other.
    BodyEnd(End),
}
