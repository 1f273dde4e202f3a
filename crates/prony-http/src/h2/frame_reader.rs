//! Frames out of bytes: whole payloads where their meaning needs it, bodies in whatever pieces they come.

use crate::h2::connection::{Connection, Found, KEPT_BYTES_MAX, Shared};
use crate::h2::error::Http2Error;
use crate::h2::event::Stream;
use crate::h2::frame::{ACK, END_STREAM, FrameHead, FrameKind, HEAD_BYTES, PADDED, PAYLOAD_BYTES_MAX};
use crate::h2::settings;

/// What the next byte belongs to.
#[derive(Debug, Clone, Copy)]
pub(super) enum Phase {
    /// The head of a frame.
    Head,
    /// A payload that is read as a whole.
    Whole(FrameHead),
    /// The length of the padding of a DATA frame, with the stream unless the data is of no use.
    PadLength(FrameHead, Option<Stream>),
    /// The data of a DATA frame, then its padding.
    Data { stream: Option<Stream>, data: u32, padding: u32, ends_stream: bool },
    /// A payload of no use.
    Skip { bytes: u32 },
    /// An error was reported.
    Failed,
}

/// Bytes that were used, and what came of them.
type Progress = (usize, Option<Found>);

impl Connection {
    /// Reads from `input`, which is not empty, up to the end of a frame, of the input, or of an event's bytes.
    #[inline]
    pub(super) fn advance(
        &mut self,
        shared: &mut Shared,
        input: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Progress, Http2Error> {
        if !matches!(self.phase, Phase::Head) {
            return self.read_payload(shared, input, 0, out);
        }
        let (head, used) = if self.partial.is_empty()
            && let Some(bytes) = input.first_chunk()
        {
            (FrameHead::read(bytes), HEAD_BYTES)
        } else {
            let wanted = HEAD_BYTES - self.partial.len();
            let used = wanted.min(input.len());
            self.partial.extend_from_slice(&input[..used]);
            let Some(bytes) = self.partial.first_chunk() else { return Ok((used, None)) };
            let head = FrameHead::read(bytes);
            self.partial.clear();
            (head, used)
        };
        if let Some(found) = self.begin_frame(head, shared, out)? {
            return Ok((used, Some(found)));
        }
        self.read_payload(shared, input, used, out)
    }

    /// Checks the head of a frame and decides how its payload is read.
    #[inline]
    fn begin_frame(
        &mut self,
        head: FrameHead,
        shared: &Shared,
        out: &mut Vec<u8>,
    ) -> Result<Option<Found>, Http2Error> {
        if !self.has_settings {
            check_first(head)?;
        }
        let FrameHead { length, kind, stream, .. } = head;
        if head.payload_bytes() > PAYLOAD_BYTES_MAX {
            return Err(Http2Error::FrameTooLong { kind, bytes: length });
        }
        if let Some(block) = self.open_block
            && (kind != FrameKind::CONTINUATION || stream != block.stream_id)
        {
            return Err(Http2Error::Interleaved { kind });
        }
        let is_for_streams = match kind {
            FrameKind::DATA
            | FrameKind::HEADERS
            | FrameKind::PRIORITY
            | FrameKind::RST_STREAM
            | FrameKind::CONTINUATION => Some(true),
            FrameKind::SETTINGS | FrameKind::PING | FrameKind::GOAWAY => Some(false),
            _ => None,
        };
        if is_for_streams.is_some_and(|is| is == (stream == 0)) {
            return Err(Http2Error::FrameStream { kind, stream });
        }
        let is_length = match kind {
            FrameKind::SETTINGS if head.has(ACK) => length == 0,
            FrameKind::SETTINGS => settings::is_length(head.payload_bytes()),
            FrameKind::PRIORITY => length == 5,
            FrameKind::RST_STREAM | FrameKind::WINDOW_UPDATE => length == 4,
            FrameKind::PING => length == 8,
            FrameKind::GOAWAY => length >= 8,
            _ => true,
        };
        if !is_length {
            return Err(Http2Error::FrameLength { kind, bytes: length });
        }
        self.phase = match kind {
            FrameKind::DATA => return self.begin_data(head, shared, out),
            FrameKind::PUSH_PROMISE => return Err(Http2Error::Push),
            FrameKind::CONTINUATION if self.open_block.is_none() => return Err(Http2Error::Continuation),
            FrameKind::HEADERS
            | FrameKind::CONTINUATION
            | FrameKind::SETTINGS
            | FrameKind::PING
            | FrameKind::GOAWAY
            | FrameKind::RST_STREAM
            | FrameKind::WINDOW_UPDATE => Phase::Whole(head),
            // PRIORITY is deprecated, others are unknown: both are ignored (sections 5.3 and 5.5).
            _ => {
                self.note_barren(shared)?;
                Phase::Skip { bytes: length }
            }
        };
        Ok(None)
    }

    /// Flow control counts a whole DATA frame, padding included, as soon as it begins.
    fn begin_data(
        &mut self,
        head: FrameHead,
        shared: &Shared,
        out: &mut Vec<u8>,
    ) -> Result<Option<Found>, Http2Error> {
        let stream = self.target(head)?;
        self.take_window(head, stream, shared, out);
        if head.has(PADDED) {
            if head.length == 0 {
                return Err(Http2Error::FrameLength { kind: head.kind, bytes: 0 });
            }
            self.phase = Phase::PadLength(head, stream);
            return Ok(None);
        }
        self.note_data(stream, head.length, 0, head.has(END_STREAM), shared, out)
    }

    /// The data of a frame, now that its length is known, is about to come.
    fn note_data(
        &mut self,
        stream: Option<Stream>,
        data: u32,
        padding: u32,
        ends_stream: bool,
        shared: &Shared,
        out: &mut Vec<u8>,
    ) -> Result<Option<Found>, Http2Error> {
        let error = stream.and_then(|stream| self.check_data(stream, data, shared));
        if stream.is_none() || (data == 0 && !ends_stream) {
            self.note_barren(shared)?;
        } else {
            self.barren_frames = 0;
        }
        let useful = if error.is_some() { None } else { stream };
        self.phase = Phase::Data { stream: useful, data, padding, ends_stream };
        Ok(stream.zip(error).map(|(stream, error)| self.fail_stream(stream, error, out)))
    }

    /// Reads from `input[start..]`, which may be empty.
    #[inline]
    fn read_payload(
        &mut self,
        shared: &mut Shared,
        input: &[u8],
        start: usize,
        out: &mut Vec<u8>,
    ) -> Result<Progress, Http2Error> {
        let rest = &input[start..];
        match self.phase {
            Phase::Head => Ok((start, None)),
            Phase::Whole(head) => {
                if self.partial.is_empty()
                    && let Some(payload) = rest.get(..head.payload_bytes())
                {
                    self.phase = Phase::Head;
                    let found = self.on_frame(head, payload, false, shared, out)?;
                    return Ok((start + payload.len(), found));
                }
                self.read_cut_payload(head, shared, input, start, out)
            }
            Phase::PadLength(head, stream) => {
                let Some(padding) = rest.first().copied().map(u32::from) else { return Ok((start, None)) };
                // The length itself is part of the payload.
                let data = head.length - 1;
                let data = data.checked_sub(padding).ok_or(Http2Error::Padding { kind: head.kind })?;
                // The caller may have cancelled it meanwhile.
                let stream = stream.filter(|stream| self.streams.state(*stream).is_some());
                let found = self.note_data(stream, data, padding, head.has(END_STREAM), shared, out)?;
                if found.is_some() {
                    return Ok((start + 1, found));
                }
                self.read_payload(shared, input, start + 1, out)
            }
            Phase::Data { stream, data, padding, ends_stream } => {
                let taken = at_most(data, rest.len());
                let is_last = taken == data;
                let padding_taken = if is_last { at_most(padding, rest.len() - position(taken)) } else { 0 };
                let (data, padding) = (data - taken, padding - padding_taken);
                let is_over = data == 0 && padding == 0;
                self.phase =
                    if is_over { Phase::Head } else { Phase::Data { stream, data, padding, ends_stream } };
                // The caller may have cancelled it meanwhile.
                let stream = stream.filter(|stream| self.streams.state(*stream).is_some());
                if is_over && ends_stream {
                    self.ending = stream;
                }
                let end = start + position(taken);
                let found =
                    stream.filter(|_| taken > 0).map(|stream| Found::Data { stream, range: start..end });
                Ok((end + position(padding_taken), found))
            }
            Phase::Skip { bytes } => {
                let taken = at_most(bytes, rest.len());
                let bytes = bytes - taken;
                self.phase = if bytes == 0 { Phase::Head } else { Phase::Skip { bytes } };
                Ok((start + position(taken), None))
            }
            Phase::Failed => Err(Http2Error::Failed),
        }
    }

    /// A payload that comes in pieces is put together first.
    fn read_cut_payload(
        &mut self,
        head: FrameHead,
        shared: &mut Shared,
        input: &[u8],
        start: usize,
        out: &mut Vec<u8>,
    ) -> Result<Progress, Http2Error> {
        let rest = &input[start..];
        let taken = (head.payload_bytes() - self.partial.len()).min(rest.len());
        self.partial.extend_from_slice(&rest[..taken]);
        if self.partial.len() < head.payload_bytes() {
            return Ok((start + taken, None));
        }
        self.phase = Phase::Head;
        let mut payload = std::mem::take(&mut self.partial);
        let found = self.on_frame(head, &payload, true, shared, out);
        payload.clear();
        payload.shrink_to(KEPT_BYTES_MAX);
        self.partial = payload;
        Ok((start + taken, found?))
    }
}

/// The first frame must be SETTINGS (section 3.4). Other protocols show in what would be its head.
fn check_first(head: FrameHead) -> Result<(), Http2Error> {
    if head.kind == FrameKind::SETTINGS && !head.has(ACK) && head.stream == 0 {
        return Ok(());
    }
    Err(match head.length.to_be_bytes() {
        // `HTTP/` and a record of TLS 1.x: an alert or a handshake.
        [_, b'H', b'T', b'T'] if head.kind.0 == b'P' && head.flags == b'/' => Http2Error::Http1,
        [_, 0x15 | 0x16, 3, _] => Http2Error::Tls,
        _ => Http2Error::NoSettings,
    })
}

#[inline]
fn at_most(bytes: u32, available: usize) -> u32 {
    u32::try_from(available).map_or(bytes, |available| bytes.min(available))
}

#[inline]
fn position(bytes: u32) -> usize {
    usize::try_from(bytes).expect("invariant: this is a 64-bit program")
}
