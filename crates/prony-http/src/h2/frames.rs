//! What each frame changes (RFC 9113 section 6).

use crate::h2::block_cache::Standing;
use crate::h2::connection::{Connection, Found, KEPT_BYTES_MAX, OpenBlock, Shared, Source};
use crate::h2::error::{ErrorCode, Http2Error};
use crate::h2::event::Stream;
use crate::h2::frame::{
    ACK, END_HEADERS, END_STREAM, FrameHead, FrameKind, LOW_31_BITS, PADDED, PRIORITY, write_head,
    write_window_update,
};
use crate::h2::hpack::decoder;
use crate::h2::limits::{ANSWERS_BYTES_MAX, BLOCK_FRAMES_MAX};
use crate::h2::message::{self, Meaning, Part};

/// A stream and its weight, before the block of a HEADERS frame with the flag PRIORITY (section 6.2).
const PRIORITY_BYTES: usize = 5;

impl Connection {
    /// A frame whose payload is there as a whole; `is_cut` if it came in pieces.
    #[inline]
    pub(super) fn on_frame(
        &mut self,
        head: FrameHead,
        payload: &[u8],
        is_cut: bool,
        shared: &mut Shared,
        out: &mut Vec<u8>,
    ) -> Result<Option<Found>, Http2Error> {
        match head.kind {
            FrameKind::HEADERS => self.on_headers(head, payload, shared, out),
            FrameKind::CONTINUATION => self.on_continuation(head, payload, shared, out),
            FrameKind::WINDOW_UPDATE => self.on_window_update(head, number(payload, 0), shared, out),
            FrameKind::RST_STREAM => self.on_reset(head, number(payload, 0), shared),
            FrameKind::SETTINGS => self.on_settings(head, payload, shared, out),
            FrameKind::GOAWAY => self.on_go_away(payload, is_cut, shared),
            FrameKind::PING => self.on_ping(head, payload, shared, out),
            _ => Ok(None),
        }
    }

    /// The open stream that a frame is for; `None` if the frame is of no more use.
    #[inline]
    pub(super) fn target(&self, head: FrameHead) -> Result<Option<Stream>, Http2Error> {
        let FrameHead { kind, stream, .. } = head;
        if let Some(found) = self.streams.find(stream) {
            return Ok(Some(found));
        }
        if self.streams.is_idle(stream) {
            return Err(Http2Error::IdleStream { kind, stream });
        }
        let is_refused = self.last_stream.is_some_and(|last| stream > last);
        if is_refused || self.streams.was_cancelled(stream) {
            return Ok(None);
        }
        Err(Http2Error::ClosedStream { kind, stream })
    }

    /// Counts a frame that brings no response forward.
    pub(super) fn note_barren(&mut self, shared: &Shared) -> Result<(), Http2Error> {
        self.barren_frames += 1;
        let limit = shared.limits.barren_frames;
        if self.barren_frames > limit { Err(Http2Error::Flood { limit }) } else { Ok(()) }
    }

    /// Takes room for a DATA frame, and gives new room (section 6.9).
    #[inline]
    pub(super) fn take_window(
        &mut self,
        head: FrameHead,
        stream: Option<Stream>,
        shared: &Shared,
        out: &mut Vec<u8>,
    ) {
        if let Some(added) = self.receive.take(head.length, shared.limits.connection_window_bytes) {
            write_window_update(out, 0, added);
        }
        if !head.has(END_STREAM)
            && let Some(state) = stream.and_then(|stream| self.streams.state(stream))
            && let Some(added) = state.receive.take(head.length, shared.limits.stream_window_bytes)
        {
            write_window_update(out, head.stream, added);
        }
    }

    /// Counts `data` bytes of the body of `stream`; returns the rule that they break.
    #[inline]
    pub(super) fn check_data(&mut self, stream: Stream, data: u32, shared: &Shared) -> Option<Http2Error> {
        let state = self.streams.state(stream)?;
        if state.status == 0 {
            return Some(Http2Error::DataBeforeHead);
        }
        state.body_bytes += u64::from(data);
        if state.length.is_some_and(|length| state.body_bytes > length)
            || (state.is_bodiless && state.body_bytes > 0)
        {
            return Some(Http2Error::BodyLong);
        }
        (state.body_bytes > shared.limits.body_bytes).then_some(Http2Error::BodyTooLong)
    }

    #[inline]
    fn on_headers(
        &mut self,
        head: FrameHead,
        mut payload: &[u8],
        shared: &mut Shared,
        out: &mut Vec<u8>,
    ) -> Result<Option<Found>, Http2Error> {
        let stream = self.target(head)?;
        let too_short = Http2Error::FrameLength { kind: head.kind, bytes: head.length };
        let mut padding = 0;
        if head.has(PADDED) {
            let (length, rest) = payload.split_first().ok_or(too_short)?;
            (padding, payload) = (usize::from(*length), rest);
        }
        if head.has(PRIORITY) {
            payload = payload.get(PRIORITY_BYTES..).ok_or(too_short)?;
        }
        let fragment_bytes =
            payload.len().checked_sub(padding).ok_or(Http2Error::Padding { kind: head.kind })?;
        let fragment = &payload[..fragment_bytes];
        check_block_bytes(fragment.len(), shared)?;
        let ends_stream = head.has(END_STREAM);
        if head.has(END_HEADERS) {
            return self.on_block(stream, ends_stream, fragment, shared, out);
        }
        self.block.clear();
        self.block.extend_from_slice(fragment);
        self.open_block = Some(OpenBlock { stream_id: head.stream, stream, ends_stream, frames: 1 });
        Ok(None)
    }

    fn on_continuation(
        &mut self,
        head: FrameHead,
        fragment: &[u8],
        shared: &mut Shared,
        out: &mut Vec<u8>,
    ) -> Result<Option<Found>, Http2Error> {
        let Some(open_block) = &mut self.open_block else { return Err(Http2Error::Continuation) };
        open_block.frames += 1;
        if open_block.frames > BLOCK_FRAMES_MAX {
            return Err(Http2Error::TooManyContinuations { limit: BLOCK_FRAMES_MAX });
        }
        let OpenBlock { stream, ends_stream, .. } = *open_block;
        check_block_bytes(self.block.len() + fragment.len(), shared)?;
        self.block.extend_from_slice(fragment);
        if !head.has(END_HEADERS) {
            return Ok(None);
        }
        self.open_block = None;
        let mut block = std::mem::take(&mut self.block);
        // The caller may have cancelled it meanwhile.
        let stream = stream.filter(|stream| self.streams.state(*stream).is_some());
        let found = self.on_block(stream, ends_stream, &block, shared, out);
        block.clear();
        block.shrink_to(KEPT_BYTES_MAX);
        self.block = block;
        found
    }

    /// A complete field block; without a stream it only keeps the table up to date.
    #[inline]
    fn on_block(
        &mut self,
        stream: Option<Stream>,
        ends_stream: bool,
        block: &[u8],
        shared: &mut Shared,
        out: &mut Vec<u8>,
    ) -> Result<Option<Found>, Http2Error> {
        let state = stream.and_then(|stream| self.streams.state(stream));
        let (status, kind) = state.map_or((0, shared.request.kind()), |state| (state.status, state.kind));
        let part = if status == 0 { Part::Head } else { Part::Trailers };
        let standing = Standing { part, kind };
        if let Some(stream) = stream
            && let Some((place, meaning)) = self.blocks.recall(block, standing, &mut self.table)
        {
            let source = Source::Remembered(place);
            return Ok(self.on_message(stream, meaning, source, ends_stream, shared, out));
        }
        shared.fields.clear();
        self.blocks.settle(&mut self.table);
        let effect = decoder::decode(&mut self.table, block, shared.list_limits(), &mut shared.fields)?;
        let Some(stream) = stream else {
            self.note_barren(shared)?;
            return Ok(None);
        };
        match message::read(shared.fields.fields(), part, kind) {
            Ok(meaning) => {
                self.blocks.remember(block, standing, meaning, &shared.fields, effect, self.table.changes());
                Ok(self.on_message(stream, meaning, Source::Decoded, ends_stream, shared, out))
            }
            Err(error) => Ok(Some(self.fail_stream(stream, error, out))),
        }
    }

    /// A valid list of fields on `stream` (section 8.1).
    #[inline]
    fn on_message(
        &mut self,
        stream: Stream,
        meaning: Meaning,
        source: Source,
        ends_stream: bool,
        shared: &Shared,
        out: &mut Vec<u8>,
    ) -> Option<Found> {
        let state = self.streams.state(stream)?;
        self.barren_frames = 0;
        let error = match meaning {
            Meaning::Interim { status } => {
                let limit = shared.limits.interim_responses;
                if ends_stream {
                    Http2Error::NoResponse
                } else if state.interim_responses >= limit {
                    Http2Error::TooManyInterim { limit }
                } else {
                    state.interim_responses += 1;
                    return Some(Found::Interim { stream, status });
                }
            }
            Meaning::Final { status, length, is_bodiless } => {
                if length.is_some_and(|length| length > shared.limits.body_bytes) {
                    Http2Error::BodyTooLong
                } else {
                    (state.status, state.length, state.is_bodiless) = (status, length, is_bodiless);
                    self.ending = ends_stream.then_some(stream);
                    return Some(Found::Head { stream, status, length, source });
                }
            }
            Meaning::Trailers if ends_stream => {
                self.ending = Some(stream);
                return Some(Found::Trailers { stream, source });
            }
            Meaning::Trailers => Http2Error::Trailers,
        };
        Some(self.fail_stream(stream, error, out))
    }

    fn on_reset(&mut self, head: FrameHead, code: u32, shared: &Shared) -> Result<Option<Found>, Http2Error> {
        let Some(stream) = self.streams.find(head.stream) else {
            if self.streams.is_idle(head.stream) {
                return Err(Http2Error::IdleStream { kind: head.kind, stream: head.stream });
            }
            self.note_barren(shared)?;
            return Ok(None);
        };
        self.streams.close(stream);
        let code = ErrorCode(code);
        Ok(Some(Found::Reset { stream, code, refused: code == ErrorCode::REFUSED_STREAM }))
    }

    fn on_window_update(
        &mut self,
        head: FrameHead,
        increment: u32,
        shared: &Shared,
        out: &mut Vec<u8>,
    ) -> Result<Option<Found>, Http2Error> {
        let increment = i64::from(increment & LOW_31_BITS);
        self.note_barren(shared)?;
        if head.stream == 0 {
            if increment == 0 {
                return Err(Http2Error::WindowZero);
            }
            if !self.send.change(increment) {
                return Err(Http2Error::WindowOverflow);
            }
        } else if let Some(stream) = self.streams.find(head.stream) {
            let Some(state) = self.streams.state(stream) else { return Ok(None) };
            if increment == 0 {
                return Ok(Some(self.fail_stream(stream, Http2Error::WindowZero, out)));
            }
            if !state.send.change(increment) {
                return Ok(Some(self.fail_stream(stream, Http2Error::WindowOverflow, out)));
            }
        } else if self.streams.is_idle(head.stream) {
            return Err(Http2Error::IdleStream { kind: head.kind, stream: head.stream });
        }
        self.send_bodies(shared, out);
        Ok(None)
    }

    fn on_settings(
        &mut self,
        head: FrameHead,
        payload: &[u8],
        shared: &Shared,
        out: &mut Vec<u8>,
    ) -> Result<Option<Found>, Http2Error> {
        if self.has_settings {
            self.note_barren(shared)?;
        }
        if head.has(ACK) {
            return Ok(None);
        }
        self.has_settings = true;
        let before = self.peer.initial_window;
        self.peer.apply(payload)?;
        // Section 6.9.2: a window may become less than empty.
        let change = i64::from(self.peer.initial_window) - i64::from(before);
        for state in self.streams.all_mut() {
            if !state.send.change(change) {
                return Err(Http2Error::WindowOverflow);
            }
        }
        check_answers(out)?;
        write_head(out, 0, FrameKind::SETTINGS, ACK, 0);
        self.send_bodies(shared, out);
        Ok(Some(Found::Settings { streams: self.peer.streams }))
    }

    fn on_ping(
        &mut self,
        head: FrameHead,
        payload: &[u8],
        shared: &Shared,
        out: &mut Vec<u8>,
    ) -> Result<Option<Found>, Http2Error> {
        self.note_barren(shared)?;
        if !head.has(ACK) {
            check_answers(out)?;
            write_head(out, payload.len(), FrameKind::PING, ACK, 0);
            out.extend_from_slice(payload);
        }
        Ok(None)
    }

    fn on_go_away(
        &mut self,
        payload: &[u8],
        is_cut: bool,
        shared: &Shared,
    ) -> Result<Option<Found>, Http2Error> {
        self.note_barren(shared)?;
        let last_stream = number(payload, 0) & LOW_31_BITS;
        if self.last_stream.is_some_and(|earlier| last_stream > earlier) {
            return Err(Http2Error::GoAwayRaised { last_stream });
        }
        self.last_stream = Some(last_stream);
        self.go_away_code = ErrorCode(number(payload, 4));
        self.is_refusing = true;
        let debug = &payload[8..];
        if is_cut {
            // Nothing else is there: no field block is open here.
            self.block.clear();
            self.block.extend_from_slice(debug);
        }
        Ok(Some(Found::GoAway { last_stream, code: self.go_away_code, debug_bytes: debug.len(), is_cut }))
    }
}

/// The 32-bit number at a place of a payload whose length was checked.
#[inline]
fn number(payload: &[u8], at: usize) -> u32 {
    payload[at..].first_chunk().map_or(0, |bytes| u32::from_be_bytes(*bytes))
}

fn check_block_bytes(bytes: usize, shared: &Shared) -> Result<(), Http2Error> {
    let limit_bytes = shared.limits.block_bytes;
    let is_within = u32::try_from(bytes).is_ok_and(|bytes| bytes <= limit_bytes);
    if is_within { Ok(()) } else { Err(Http2Error::BlockTooLong { limit_bytes }) }
}

/// A server that reads nothing must not make the caller's buffer grow.
fn check_answers(out: &[u8]) -> Result<(), Http2Error> {
    let is_within = u32::try_from(out.len()).is_ok_and(|bytes| bytes <= ANSWERS_BYTES_MAX);
    if is_within { Ok(()) } else { Err(Http2Error::AnswersUnread { limit_bytes: ANSWERS_BYTES_MAX }) }
}
