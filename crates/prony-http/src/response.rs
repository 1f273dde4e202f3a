//! The response parser: one per connection, fed with whatever the socket gave.

use crate::cache::HeadCache;
use crate::chunked::{Chunk, ChunkDecoder, single_chunk};
use crate::error::{Part, ProtocolError};
use crate::event::{End, Event, Finish, Step, Whole};
use crate::framing::Outcome;
use crate::head::{Framing, Head};
use crate::scan::{check_start, head_end};

/// Reads the responses of one connection, one after the other.
///
/// What it reports depends on the bytes only, not on how they were cut into inputs. It allocates only when a
/// head is cut over two inputs, and keeps that buffer. After an error, and for a new connection, call
/// [`reset`](Self::reset).
///
/// ```
/// use prony_http::{Event, HeadCache, Limits, RequestKind, ResponseParser};
///
/// let mut shared = HeadCache::new(RequestKind::Normal, Limits::default());
/// let mut parser = ResponseParser::new();
/// let mut input = &b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"[..];
/// let mut body_bytes = 0;
/// loop {
///     let step = parser.next(&mut shared, input)?;
///     input = &input[step.consumed..];
///     match step.event {
///         Some(Event::End(end)) => break body_bytes = end.body_bytes,
///         Some(_) => {}
///         None => panic!("here a client would read more from the socket"),
///     }
/// }
/// assert_eq!(body_bytes, 5);
/// # Ok::<(), prony_http::ProtocolError>(())
/// ```
#[derive(Debug)]
pub struct ResponseParser {
    /// The beginning of a head that was cut. Kept until its response ends, since [`Head::raw`] borrows it.
    partial: Vec<u8>,
    phase: Phase,
    body_bytes: u64,
    status: u16,
    keep_alive: bool,
    interim_responses: u8,
}

/// What the next byte belongs to.
#[derive(Debug, Clone, Copy)]
enum Phase {
    Head,
    Length { remaining_bytes: u64 },
    UntilClose,
    Chunked(ChunkDecoder),
    Failed,
}

/// An event without its bytes, so that a failure can still be noted in the parser.
enum Found {
    More,
    Interim(u16),
    Head(Outcome),
    Body { start: usize },
    End,
}

impl Default for ResponseParser {
    fn default() -> Self {
        Self::new()
    }
}

impl ResponseParser {
    /// A parser for a new connection.
    pub fn new() -> Self {
        Self {
            partial: Vec::new(),
            phase: Phase::Head,
            body_bytes: 0,
            status: 0,
            keep_alive: false,
            interim_responses: 0,
        }
    }

    /// Makes the parser ready for a new connection. Keeps its buffer.
    pub fn reset(&mut self) {
        self.begin_response();
    }

    /// Whether no byte of a next response was seen: a close here is clean.
    #[inline]
    pub fn is_idle(&self) -> bool {
        matches!(self.phase, Phase::Head) && self.partial.is_empty() && self.interim_responses == 0
    }

    /// Consumes a prefix of `input` and returns at most one event.
    ///
    /// Call it again with the rest, be it empty, until it returns no event: the end of a response may be
    /// reported without consuming anything.
    pub fn next<'a>(
        &'a mut self,
        shared: &mut HeadCache,
        input: &'a [u8],
    ) -> Result<Step<'a>, ProtocolError> {
        let (consumed, found) = match self.advance(shared, input) {
            Ok(progress) => progress,
            Err(error) => {
                self.phase = Phase::Failed;
                return Err(error);
            }
        };
        let event = match found {
            Found::More => None,
            Found::Interim(status) => Some(Event::Interim { status }),
            Found::End => Some(Event::End(self.end())),
            Found::Body { start } => {
                let body = &input[start..consumed];
                self.body_bytes += body.len() as u64;
                Some(Event::Body(body))
            }
            Found::Head(Outcome { status, framing, keep_alive, has_session_fields }) => {
                let raw = if self.partial.is_empty() { &input[..consumed] } else { &self.partial[..] };
                Some(Event::Head(Head { status, framing, keep_alive, has_session_fields, raw }))
            }
        };
        Ok(Step { consumed, event })
    }

    /// The whole response at the beginning of `input`, if that is known at once.
    ///
    /// That is so when the parser is idle, the head is remembered by `shared` and the body is all there, with
    /// a length or in one plain chunk: nearly always, in a run against small pages. The parser stays idle. It
    /// gives exactly what [`next`](Self::next) would have given in two to four calls; on `None` call that.
    #[inline]
    pub fn whole<'a>(&self, shared: &mut HeadCache, input: &'a [u8]) -> Option<Whole<'a>> {
        if !self.is_idle() {
            return None;
        }
        let (head_bytes, outcome) = shared.recall(input)?;
        let Outcome { status, framing, keep_alive, has_session_fields } = outcome;
        let (raw, rest) = input.split_at_checked(head_bytes)?;
        let (body, coded_bytes) = match framing {
            Framing::Length(length) => {
                let length = usize::try_from(length).ok()?;
                (rest.get(..length)?, length)
            }
            Framing::Empty => (&[][..], 0),
            Framing::Chunked => single_chunk(shared.limits(), rest)?,
            Framing::UntilClose => return None,
        };
        let head = Head { status, framing, keep_alive, has_session_fields, raw };
        Some(Whole { consumed: head_bytes + coded_bytes, head, body })
    }

    /// The server has closed its side: says whether it was allowed to.
    pub fn finish(&mut self) -> Result<Finish, ProtocolError> {
        let during = match self.phase {
            Phase::Head if self.is_idle() => return Ok(Finish::Idle),
            // The second is a body that is all there, but whose end was not asked for.
            Phase::UntilClose | Phase::Length { remaining_bytes: 0 } => {
                return Ok(Finish::BodyEnd(self.end()));
            }
            Phase::Failed => return Err(ProtocolError::Failed),
            Phase::Head => Part::Head,
            Phase::Length { remaining_bytes } => Part::Body { missing_bytes: remaining_bytes },
            Phase::Chunked(_) => Part::Chunks,
        };
        self.phase = Phase::Failed;
        Err(ProtocolError::ClosedEarly { during })
    }

    fn advance(&mut self, shared: &mut HeadCache, input: &[u8]) -> Result<(usize, Found), ProtocolError> {
        match &mut self.phase {
            Phase::Head => self.read_head(shared, input),
            Phase::Length { remaining_bytes: 0 } => Ok((0, Found::End)),
            Phase::Length { remaining_bytes } => {
                let taken = at_most(*remaining_bytes, input.len());
                *remaining_bytes -= taken as u64;
                Ok(body(taken))
            }
            Phase::UntilClose => {
                let limit_bytes = shared.limits().body_bytes;
                let taken = at_most(limit_bytes - self.body_bytes, input.len());
                if taken == 0 && !input.is_empty() {
                    return Err(ProtocolError::BodyTooLong { limit_bytes });
                }
                Ok(body(taken))
            }
            Phase::Chunked(decoder) => {
                let (consumed, chunk) = decoder.step(shared.limits(), self.body_bytes, input)?;
                Ok(match chunk {
                    Chunk::More => (consumed, Found::More),
                    Chunk::Data { start } => (consumed, Found::Body { start }),
                    Chunk::End => (consumed, Found::End),
                })
            }
            Phase::Failed => Err(ProtocolError::Failed),
        }
    }

    fn read_head(&mut self, shared: &mut HeadCache, input: &[u8]) -> Result<(usize, Found), ProtocolError> {
        if self.partial.is_empty()
            && let Some((consumed, outcome)) = shared.recall(input)
        {
            return Ok((consumed, self.begin_body(shared, outcome)?));
        }
        check_start(&self.partial, input)?;
        let limit_bytes = shared.limits().head_bytes;
        let room = limit_bytes - self.partial.len();
        let Some(end) = head_end(&self.partial, &input[..input.len().min(room)]) else {
            if input.len() >= room {
                return Err(ProtocolError::HeadTooLong { limit_bytes });
            }
            self.partial.extend_from_slice(input);
            return Ok((input.len(), Found::More));
        };
        let outcome = if self.partial.is_empty() {
            shared.read(&input[..end])?
        } else {
            self.partial.extend_from_slice(&input[..end]);
            match shared.recall(&self.partial) {
                Some((_, outcome)) => outcome,
                None => shared.read(&self.partial)?,
            }
        };
        Ok((end, self.begin_body(shared, outcome)?))
    }

    /// A head is complete: decides what follows it.
    fn begin_body(&mut self, shared: &HeadCache, outcome: Outcome) -> Result<Found, ProtocolError> {
        if outcome.is_interim() {
            let limit = shared.limits().interim_responses;
            if self.interim_responses >= limit {
                return Err(ProtocolError::TooManyInterim { limit });
            }
            self.interim_responses += 1;
            self.partial.clear();
            return Ok(Found::Interim(outcome.status));
        }
        self.status = outcome.status;
        self.keep_alive = outcome.keep_alive;
        self.phase = match outcome.framing {
            Framing::Empty => Phase::Length { remaining_bytes: 0 },
            Framing::Length(remaining_bytes) => Phase::Length { remaining_bytes },
            Framing::Chunked => Phase::Chunked(ChunkDecoder::new()),
            Framing::UntilClose => Phase::UntilClose,
        };
        Ok(Found::Head(outcome))
    }

    /// Closes the present response and waits for the next.
    fn end(&mut self) -> End {
        let end = End { status: self.status, keep_alive: self.keep_alive, body_bytes: self.body_bytes };
        self.begin_response();
        end
    }

    fn begin_response(&mut self) {
        self.partial.clear();
        self.phase = Phase::Head;
        self.body_bytes = 0;
        self.interim_responses = 0;
    }
}

/// The first `taken` bytes of the input are body; none means that more input is needed.
fn body(taken: usize) -> (usize, Found) {
    (taken, if taken == 0 { Found::More } else { Found::Body { start: 0 } })
}

fn at_most(bytes: u64, available: usize) -> usize {
    usize::try_from(bytes).map_or(available, |bytes| bytes.min(available))
}
