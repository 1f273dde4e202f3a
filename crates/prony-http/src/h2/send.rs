//! What a client sends: heads of requests, and bodies as far as the windows allow.

use std::sync::Arc;

use thiserror::Error;

use crate::h2::connection::{Connection, Shared};
use crate::h2::event::Stream;
use crate::h2::frame::{END_STREAM, FrameKind, PAYLOAD_BYTES_MAX, write_block, write_head};
use crate::h2::frame_reader::Phase;
use crate::h2::hpack::encoder;
use crate::h2::limits::OUT_BYTES_MAX;
use crate::h2::windows::{ReceiveWindow, SendWindow};
use crate::request::RequestKind;

/// Why no request can be sent at present.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Error)]
pub enum Blocked {
    /// As many are in flight as the limits or the server allow.
    #[error("as many requests are in flight as this connection may carry")]
    Streams,
    /// The server has announced that it takes no more.
    #[error("the server takes no more requests on this connection (GOAWAY)")]
    GoingAway,
    /// 2^30 requests were sent on this connection.
    #[error("this connection has used all stream identifiers")]
    IdsSpent,
    /// The connection has failed.
    #[error("the connection has failed")]
    Failed,
}

impl Blocked {
    /// Whether another connection is needed.
    pub fn is_final(self) -> bool {
        self != Self::Streams
    }
}

/// How the next request is written: see [`encoder::EncodedBlock`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    First,
    Again,
    Plain,
}

/// A request that is not the one of the run.
#[derive(Debug, Clone, Copy)]
pub struct OneRequest<'a> {
    /// Its fields, pseudo-header fields first, as [`plain_fields`](super::plain_fields) writes them.
    pub block: &'a [u8],
    /// Its body; none, or one that is not empty.
    pub body: Option<&'a Arc<[u8]>>,
    /// What the framing of its response depends on.
    pub kind: RequestKind,
}

impl Connection {
    /// Appends the request of the run to `out`, on a new stream: its head, and its body as far as the windows allow.
    ///
    /// The rest of the body follows in [`next`](Self::next) when the server opens its windows, and in
    /// [`send_more`](Self::send_more).
    #[inline]
    pub fn send_request(&mut self, shared: &Shared, out: &mut Vec<u8>) -> Result<Stream, Blocked> {
        let body_bytes = shared.request.body().len();
        let stream = self.open(shared, shared.request.kind(), body_bytes, None)?;
        self.write_request_head(stream.id, shared, out);
        if body_bytes > 0 {
            self.send_bodies(shared, out);
        }
        Ok(stream)
    }

    /// As [`send_request`](Self::send_request), for a request of its own.
    pub fn send_one(
        &mut self,
        shared: &Shared,
        request: OneRequest<'_>,
        out: &mut Vec<u8>,
    ) -> Result<Stream, Blocked> {
        let body_bytes = request.body.map_or(0, |body| body.len());
        let stream = self.open(shared, request.kind, body_bytes, request.body.cloned())?;
        self.write_block(stream.id, request.block, body_bytes == 0, out);
        if body_bytes > 0 {
            self.send_bodies(shared, out);
        }
        Ok(stream)
    }

    /// A new stream, if there may be one.
    #[inline]
    fn open(
        &mut self,
        shared: &Shared,
        kind: RequestKind,
        body_bytes: usize,
        own_body: Option<Arc<[u8]>>,
    ) -> Result<Stream, Blocked> {
        if self.streams.open() >= self.streams.places() || u32::from(self.streams.open()) >= self.peer.streams
        {
            return Err(Blocked::Streams);
        }
        if matches!(self.phase, Phase::Failed) {
            return Err(Blocked::Failed);
        }
        if self.last_stream.is_some() {
            return Err(Blocked::GoingAway);
        }
        if self.streams.ids_are_spent() {
            return Err(Blocked::IdsSpent);
        }
        let receive = ReceiveWindow::new(shared.limits.stream_window_bytes);
        let send = SendWindow::new(self.peer.initial_window);
        Ok(self.streams.open_next(kind, body_bytes, own_body, receive, send))
    }

    /// Whether the request on `stream` was appended to its end; true if the stream is not open any more.
    #[inline]
    pub fn is_whole(&self, stream: Stream) -> bool {
        self.streams.at(stream.place).is_none_or(|(open, state)| open != stream || state.unsent_bytes == 0)
    }

    /// Whether [`send_more`](Self::send_more) would append something to an empty buffer.
    #[inline]
    pub fn has_more(&self) -> bool {
        self.has_room_to_send() && (0..self.streams.places()).any(|place| self.piece_bytes(place) > 0)
    }

    /// Appends more of the requests' bodies, once the caller has sent what was in `out`.
    pub fn send_more(&mut self, shared: &Shared, out: &mut Vec<u8>) {
        if !matches!(self.phase, Phase::Failed) {
            self.send_bodies(shared, out);
        }
    }

    /// One frame of each body in turn, as long as windows and `out` have room.
    pub(super) fn send_bodies(&mut self, shared: &Shared, out: &mut Vec<u8>) {
        let places = self.streams.places();
        let mut without_progress = 0;
        while self.has_room_to_send() && without_progress < places && out.len() < OUT_BYTES_MAX {
            let place = self.next_turn % places;
            self.next_turn = (place + 1) % places;
            let bytes = self.piece_bytes(place);
            let Some((stream, state)) = self.streams.at(place).filter(|_| bytes > 0) else {
                without_progress += 1;
                continue;
            };
            let own_body = state.own_body.clone();
            without_progress = 0;
            self.barren_frames = 0;
            self.send.take(bytes);
            let left = self.streams.sent(stream, bytes);
            let body = own_body.as_deref().unwrap_or(shared.request.body());
            let start = body.len() - left - bytes;
            let flags = if left == 0 { END_STREAM } else { 0 };
            write_head(out, bytes, FrameKind::DATA, flags, stream.id);
            out.extend_from_slice(&body[start..start + bytes]);
        }
    }

    /// Whether a body is unsent and the connection's window has room for some of it.
    #[inline]
    fn has_room_to_send(&self) -> bool {
        self.streams.unsent() > 0 && self.send.room() > 0
    }

    /// How many bytes of its body the stream at `place` may send in one frame.
    #[inline]
    fn piece_bytes(&self, place: u16) -> usize {
        let Some((_, state)) = self.streams.at(place) else { return 0 };
        state.unsent_bytes.min(state.send.room()).min(self.send.room()).min(PAYLOAD_BYTES_MAX)
    }

    #[inline]
    fn write_request_head(&mut self, stream_id: u32, shared: &Shared, out: &mut Vec<u8>) {
        let block = &shared.request.block;
        if self.peer.table_bytes < self.table_bytes && block.table_bytes > self.peer.table_bytes {
            self.form = Form::Plain;
        }
        let bytes = match self.form {
            Form::First => &block.first,
            Form::Again => &block.again,
            Form::Plain => &block.plain,
        };
        self.write_block(stream_id, bytes, shared.request.body().is_empty(), out);
        if self.form == Form::First {
            self.form = Form::Again;
        }
    }

    #[inline]
    fn write_block(&mut self, stream_id: u32, block: &[u8], ends_stream: bool, out: &mut Vec<u8>) {
        if self.peer.table_bytes < self.table_bytes {
            // RFC 9113 section 4.3.1: a block must begin with the smaller size once we have acknowledged it.
            self.table_bytes = self.peer.table_bytes;
            let mut prefixed = Vec::new();
            encoder::write_table_size(&mut prefixed, self.table_bytes);
            prefixed.extend_from_slice(block);
            write_block(out, &prefixed, ends_stream, stream_id);
        } else {
            write_block(out, block, ends_stream, stream_id);
        }
    }
}
