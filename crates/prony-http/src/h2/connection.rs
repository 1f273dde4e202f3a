//! One connection: fed with whatever the socket gave.

use std::ops::Range;

use crate::h2::block_cache::BlockCache;
use crate::h2::error::{ErrorCode, Http2Error};
use crate::h2::event::{End, Event, Head, Step, Stream};
use crate::h2::frame::{PREFACE, write_go_away, write_reset, write_window_update};
use crate::h2::frame_reader::Phase;
use crate::h2::hpack::fields::{FieldList, Fields, ListLimits};
use crate::h2::hpack::table::Table;
use crate::h2::limits::Limits;
use crate::h2::request::EncodedRequest;
use crate::h2::send::Form;
use crate::h2::settings::{self, PeerSettings};
use crate::h2::streams::Streams;
use crate::h2::windows::{ReceiveWindow, SendWindow, WINDOW_BYTES};

/// What a buffer keeps when a connection needs it no more: a longer frame or block is allocated each time.
pub(super) const KEPT_BYTES_MAX: usize = 4 * 1024;

/// What a buffer for a cut frame has from the beginning: the usual head of a response, so that it seldom grows later.
const PARTIAL_BYTES: usize = 256;

/// What all connections of one worker thread share: the limits, the request, and memory for a list of fields.
#[derive(Debug)]
pub struct Shared {
    pub(super) limits: Limits,
    pub(super) request: EncodedRequest,
    /// The fields that were decoded last.
    pub(super) fields: FieldList,
}

impl Shared {
    /// For a run of `request`, whose answers are read within `limits`.
    pub fn new(request: EncodedRequest, limits: Limits) -> Self {
        Self { limits: limits.clamped(), request, fields: FieldList::default() }
    }

    /// The limits in force: those given to [`new`](Self::new), brought into range.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The request.
    pub fn request(&self) -> &EncodedRequest {
        &self.request
    }

    pub(super) fn list_limits(&self) -> ListLimits {
        ListLimits { bytes: self.limits.list_bytes, fields: self.limits.fields }
    }
}

/// The client's side of one connection.
///
/// What it reports and answers depends on the bytes only, not on how they were cut into inputs. It allocates a place for
/// each stream at first, and afterwards only until its buffers have grown to what the server sends. After an error, and
/// for a new connection, call [`reset`](Self::reset).
///
/// ```
/// use prony_http::Request;
/// use prony_http::h2::{Connection, EncodedRequest, Event, Limits, Scheme, Shared};
///
/// let request = EncodedRequest::new(&Request::get("example.org", "/"), Scheme::Http).unwrap();
/// let mut shared = Shared::new(request, Limits::default());
/// let mut connection = Connection::new(&shared);
/// let mut out = Vec::new();
/// connection.preface(&shared, &mut out);
/// let sent = connection.send_request(&shared, &mut out).unwrap();
/// // Here a client would send `out` and read; this server sends SETTINGS, and HEADERS with `:status: 204`.
/// let mut input = &[0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 1, 1, 5, 0, 0, 0, 1, 0x89][..];
/// let status = loop {
///     let step = connection.next(&mut shared, input, &mut out)?;
///     input = &input[step.consumed..];
///     match step.event {
///         Some(Event::End { stream, end }) if stream == sent => break end.status,
///         Some(_) => {}
///         None => panic!("here a client would send `out` and read more from the socket"),
///     }
/// };
/// assert_eq!(status, 204);
/// # Ok::<(), prony_http::h2::Http2Error>(())
/// ```
#[derive(Debug)]
pub struct Connection {
    pub(super) phase: Phase,
    /// The beginning of a frame's head or payload that was cut.
    pub(super) partial: Vec<u8>,
    /// The beginning of a field block, of those frames that came before.
    pub(super) block: Vec<u8>,
    /// The field block that goes on in the next frame.
    pub(super) open_block: Option<OpenBlock>,
    pub(super) table: Table,
    pub(super) blocks: BlockCache,
    pub(super) streams: Streams,
    pub(super) receive: ReceiveWindow,
    pub(super) send: SendWindow,
    pub(super) peer: PeerSettings,
    /// How the next request is written.
    pub(super) form: Form,
    /// The server's table has this size, as far as we have announced.
    pub(super) table_bytes: usize,
    /// A stream whose last frame was read.
    pub(super) ending: Option<Stream>,
    /// The server takes no more requests, and answers none above this stream.
    pub(super) last_stream: Option<u32>,
    /// Why.
    pub(super) go_away_code: ErrorCode,
    /// There may be streams above it that are still open.
    pub(super) is_refusing: bool,
    /// Frames since one brought a response forward.
    pub(super) barren_frames: u32,
    /// The server's first SETTINGS frame has come.
    pub(super) has_settings: bool,
    /// The place whose turn it is to send a piece of its body.
    pub(super) next_turn: u16,
}

/// A field block that goes on in the next frame.
#[derive(Debug, Clone, Copy)]
pub(super) struct OpenBlock {
    /// The stream that its frames name.
    pub stream_id: u32,
    /// The stream, unless the block is to be decoded only.
    pub stream: Option<Stream>,
    /// The stream ends with it.
    pub ends_stream: bool,
    /// Frames so far.
    pub frames: u32,
}

/// An event without its bytes, so that the connection can still be changed.
#[derive(Debug)]
pub(super) enum Found {
    Interim {
        stream: Stream,
        status: u16,
    },
    Head {
        stream: Stream,
        status: u16,
        length: Option<u64>,
        source: Source,
    },
    /// A range of the input.
    Data {
        stream: Stream,
        range: Range<usize>,
    },
    Trailers {
        stream: Stream,
        source: Source,
    },
    End {
        stream: Stream,
        end: End,
    },
    Reset {
        stream: Stream,
        code: ErrorCode,
        refused: bool,
    },
    Malformed {
        stream: Stream,
        error: Http2Error,
    },
    /// `block` has the debug data if the frame was cut, else the input before the end of what is consumed.
    GoAway {
        last_stream: u32,
        code: ErrorCode,
        debug_bytes: usize,
        is_cut: bool,
    },
    Settings {
        streams: u32,
    },
}

/// Where the fields of a block are.
#[derive(Debug, Clone, Copy)]
pub(super) enum Source {
    /// They were decoded just now.
    Decoded,
    /// They are remembered, at that place.
    Remembered(usize),
}

impl Connection {
    /// A connection that has not begun.
    pub fn new(shared: &Shared) -> Self {
        Self {
            phase: Phase::Head,
            partial: Vec::with_capacity(PARTIAL_BYTES),
            block: Vec::new(),
            open_block: None,
            table: Table::new(),
            blocks: BlockCache::default(),
            streams: Streams::new(shared.limits.streams),
            receive: ReceiveWindow::new(shared.limits.connection_window_bytes),
            send: SendWindow::new(WINDOW_BYTES),
            peer: PeerSettings::new(),
            form: Form::First,
            table_bytes: crate::h2::hpack::table::TABLE_BYTES,
            ending: None,
            last_stream: None,
            go_away_code: ErrorCode::NO_ERROR,
            is_refusing: false,
            barren_frames: 0,
            has_settings: false,
            next_turn: 0,
        }
    }

    /// Makes it ready for a new connection. Keeps its buffers.
    pub fn reset(&mut self, shared: &Shared) {
        self.phase = Phase::Head;
        self.partial.clear();
        self.block.clear();
        self.open_block = None;
        self.table.reset();
        self.blocks.clear();
        self.streams.reset();
        self.receive = ReceiveWindow::new(shared.limits.connection_window_bytes);
        self.send = SendWindow::new(WINDOW_BYTES);
        self.peer = PeerSettings::new();
        self.form = Form::First;
        self.table_bytes = crate::h2::hpack::table::TABLE_BYTES;
        self.ending = None;
        self.last_stream = None;
        self.is_refusing = false;
        self.barren_frames = 0;
        self.has_settings = false;
        self.next_turn = 0;
    }

    /// Appends what a client sends first: the preface, its settings and the connection's window (RFC 9113 section 3.4).
    /// Requests may follow at once.
    pub fn preface(&self, shared: &Shared, out: &mut Vec<u8>) {
        out.extend_from_slice(PREFACE);
        settings::write(out, &shared.limits);
        let more = shared.limits.connection_window_bytes - WINDOW_BYTES;
        if more > 0 {
            write_window_update(out, 0, more);
        }
    }

    /// Consumes a prefix of `input` and returns at most one event. Appends to `out` what has to be sent.
    ///
    /// Call it again with the rest, be it empty, until it returns no event. After an error, `out` ends with a GOAWAY
    /// frame, and the connection is of no more use.
    pub fn next<'a>(
        &'a mut self,
        shared: &'a mut Shared,
        input: &'a [u8],
        out: &mut Vec<u8>,
    ) -> Result<Step<'a>, Http2Error> {
        let mut consumed = 0;
        let found = loop {
            if let Some(found) = self.pending(out) {
                break Some(found);
            }
            if consumed == input.len() && !matches!(self.phase, Phase::Failed) {
                break None;
            }
            let (used, found) = match self.advance(shared, &input[consumed..], out) {
                Ok(progress) => progress,
                Err(error) => {
                    self.fail(error, out);
                    return Err(error);
                }
            };
            let base = consumed;
            consumed += used;
            if let Some(found) = found {
                break Some(match found {
                    Found::Data { stream, range } => {
                        Found::Data { stream, range: base + range.start..base + range.end }
                    }
                    found => found,
                });
            }
        };
        let event = found.map(|found| self.event(shared, &input[..consumed], found));
        Ok(Step { consumed, event })
    }

    /// Requests in flight.
    #[inline]
    pub fn in_flight(&self) -> u16 {
        self.streams.open()
    }

    /// Whether the server has announced that it takes no more requests. Those in flight that it did not refuse are
    /// answered; then the connection may be closed.
    #[inline]
    pub fn is_going_away(&self) -> bool {
        self.last_stream.is_some()
    }

    /// Gives a request up, for instance after a timeout: nothing more is reported of it, and its place is free.
    pub fn cancel(&mut self, stream: Stream, out: &mut Vec<u8>) {
        if self.streams.close(stream).is_some() {
            write_reset(out, stream.id, ErrorCode::CANCEL);
            self.streams.cancelled(stream.id);
        }
    }

    /// Appends what a client sends before it closes the connection in an orderly way.
    pub fn close(&mut self, out: &mut Vec<u8>) {
        write_go_away(out, ErrorCode::NO_ERROR);
    }

    /// The server has closed its side: says whether it was allowed to. Requests in flight have failed if not.
    pub fn finish(&mut self) -> Result<(), Http2Error> {
        match self.phase {
            Phase::Failed => return Err(Http2Error::Failed),
            // A TLS alert is shorter than the head of a frame.
            Phase::Head if !self.has_settings && matches!(self.partial[..], [0x15, 3, ..]) => {
                self.phase = Phase::Failed;
                return Err(Http2Error::Tls);
            }
            _ => {}
        }
        self.phase = Phase::Failed;
        if self.in_flight() > 0 { Err(Http2Error::ClosedEarly) } else { Ok(()) }
    }

    /// What follows from frames that were read before.
    #[inline]
    fn pending(&mut self, out: &mut Vec<u8>) -> Option<Found> {
        if let Some(stream) = self.ending.take() {
            return self.end(stream, out);
        }
        if self.is_refusing {
            let last = self.last_stream.unwrap_or(u32::MAX);
            let Some(stream) = self.streams.first_above(last) else {
                self.is_refusing = false;
                return None;
            };
            self.streams.close(stream);
            return Some(Found::Reset { stream, code: self.go_away_code, refused: true });
        }
        None
    }

    /// The last frame of `stream` was read.
    #[inline]
    fn end(&mut self, stream: Stream, out: &mut Vec<u8>) -> Option<Found> {
        // `None` if it was cancelled meanwhile.
        let state = self.streams.close(stream)?;
        let early = state.unsent_bytes > 0;
        let missing_bytes = state.length.map_or(0, |length| length.saturating_sub(state.body_bytes));
        let end = End { status: state.status, body_bytes: state.body_bytes, early };
        if early {
            write_reset(out, stream.id, ErrorCode::CANCEL);
        }
        Some(if missing_bytes > 0 {
            let missing_bytes = u32::try_from(missing_bytes).unwrap_or(u32::MAX);
            Found::Malformed { stream, error: Http2Error::BodyShort { missing_bytes } }
        } else {
            Found::End { stream, end }
        })
    }

    /// The response on `stream` broke a rule: resets it.
    pub(super) fn fail_stream(&mut self, stream: Stream, error: Http2Error, out: &mut Vec<u8>) -> Found {
        self.streams.close(stream);
        self.streams.cancelled(stream.id);
        write_reset(out, stream.id, error.wire_code());
        Found::Malformed { stream, error }
    }

    fn fail(&mut self, error: Http2Error, out: &mut Vec<u8>) {
        let is_heard = !matches!(error, Http2Error::Tls | Http2Error::Http1 | Http2Error::Failed);
        if is_heard {
            write_go_away(out, error.wire_code());
        }
        self.phase = Phase::Failed;
    }

    /// What `found` stands for; `input` is what is consumed of it.
    #[inline]
    fn event<'a>(&'a self, shared: &'a Shared, input: &'a [u8], found: Found) -> Event<'a> {
        match found {
            Found::Interim { stream, status } => Event::Interim { stream, status },
            Found::Head { stream, status, length, source } => {
                let head = Head { status, content_length: length, fields: self.fields(shared, source) };
                Event::Head { stream, head }
            }
            Found::Data { stream, range } => Event::Data { stream, bytes: &input[range] },
            Found::Trailers { stream, source } => {
                Event::Trailers { stream, fields: self.fields(shared, source) }
            }
            Found::End { stream, end } => Event::End { stream, end },
            Found::Reset { stream, code, refused } => Event::Reset { stream, code, refused },
            Found::Malformed { stream, error } => Event::Malformed { stream, error },
            Found::GoAway { last_stream, code, debug_bytes, is_cut } => {
                let bytes = if is_cut { &self.block[..] } else { input };
                Event::GoAway { last_stream, code, debug: &bytes[bytes.len() - debug_bytes..] }
            }
            Found::Settings { streams } => Event::Settings { streams },
        }
    }

    fn fields<'a>(&'a self, shared: &'a Shared, source: Source) -> Fields<'a> {
        match source {
            Source::Decoded => shared.fields.fields(),
            Source::Remembered(place) => self.blocks.fields(place),
        }
    }
}
