//! Frames: their heads, and those that a client writes (RFC 9113 sections 4 and 6).

use std::fmt;

use crate::h2::error::ErrorCode;

/// What a client sends first (section 3.4).
pub(crate) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// Bytes of a frame's head.
pub(crate) const HEAD_BYTES: usize = 9;
/// The longest payload that a server may send, for we never allow more, and the longest that every server takes.
pub(crate) const PAYLOAD_BYTES_MAX: usize = 16_384;
/// The reserved bit of stream identifiers and windows is ignored.
pub(crate) const LOW_31_BITS: u32 = 0x7fff_ffff;

pub(crate) const END_STREAM: u8 = 0x1;
pub(crate) const ACK: u8 = 0x1;
pub(crate) const END_HEADERS: u8 = 0x4;
pub(crate) const PADDED: u8 = 0x8;
pub(crate) const PRIORITY: u8 = 0x20;

/// The type of a frame, known or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FrameKind(pub u8);

impl FrameKind {
    /// Bytes of a body (section 6.1).
    pub const DATA: Self = Self(0);
    /// The beginning of a field block (section 6.2).
    pub const HEADERS: Self = Self(1);
    /// Deprecated (section 6.3).
    pub const PRIORITY: Self = Self(2);
    /// The end of a stream before its time (section 6.4).
    pub const RST_STREAM: Self = Self(3);
    /// What the peer can take (section 6.5).
    pub const SETTINGS: Self = Self(4);
    /// The announcement of a response that nobody asked for (section 6.6).
    pub const PUSH_PROMISE: Self = Self(5);
    /// To be echoed (section 6.7).
    pub const PING: Self = Self(6);
    /// The end of a connection (section 6.8).
    pub const GOAWAY: Self = Self(7);
    /// Room for more bytes (section 6.9).
    pub const WINDOW_UPDATE: Self = Self(8);
    /// More of a field block (section 6.10).
    pub const CONTINUATION: Self = Self(9);
}

impl fmt::Display for FrameKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const NAMES: [&str; 10] = [
            "DATA",
            "HEADERS",
            "PRIORITY",
            "RST_STREAM",
            "SETTINGS",
            "PUSH_PROMISE",
            "PING",
            "GOAWAY",
            "WINDOW_UPDATE",
            "CONTINUATION",
        ];
        match NAMES.get(usize::from(self.0)) {
            Some(name) => f.write_str(name),
            None => write!(f, "0x{:02x}", self.0),
        }
    }
}

/// The head of a frame (section 4.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FrameHead {
    /// Bytes of the payload.
    pub length: u32,
    pub kind: FrameKind,
    pub flags: u8,
    /// 0 for the connection.
    pub stream: u32,
}

impl FrameHead {
    #[inline]
    pub(crate) fn read(bytes: &[u8; HEAD_BYTES]) -> Self {
        let [a, b, c, kind, flags, stream @ ..] = *bytes;
        Self {
            length: u32::from_be_bytes([0, a, b, c]),
            kind: FrameKind(kind),
            flags,
            stream: u32::from_be_bytes(stream) & LOW_31_BITS,
        }
    }

    #[inline]
    pub(crate) fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    /// Bytes of the payload.
    #[inline]
    pub(crate) fn payload_bytes(&self) -> usize {
        usize::try_from(self.length).unwrap_or(usize::MAX)
    }
}

/// Appends the head of a frame with `length` bytes of payload, at most [`PAYLOAD_BYTES_MAX`].
#[inline]
pub(crate) fn write_head(out: &mut Vec<u8>, length: usize, kind: FrameKind, flags: u8, stream: u32) {
    debug_assert!(length <= PAYLOAD_BYTES_MAX);
    let length = u32::try_from(length).expect("invariant: at most PAYLOAD_BYTES_MAX").to_be_bytes();
    let stream = stream.to_be_bytes();
    out.extend_from_slice(&[
        length[1], length[2], length[3], kind.0, flags, stream[0], stream[1], stream[2], stream[3],
    ]);
}

/// A field block as HEADERS and, if it is long, CONTINUATION frames.
#[inline]
pub(crate) fn write_block(out: &mut Vec<u8>, block: &[u8], end_stream: bool, stream: u32) {
    let end = if end_stream { END_STREAM } else { 0 };
    if block.len() <= PAYLOAD_BYTES_MAX {
        write_head(out, block.len(), FrameKind::HEADERS, END_HEADERS | end, stream);
        out.extend_from_slice(block);
        return;
    }
    let mut pieces = block.chunks(PAYLOAD_BYTES_MAX).peekable();
    let (mut kind, mut flags) = (FrameKind::HEADERS, end);
    while let Some(piece) = pieces.next() {
        if pieces.peek().is_none() {
            flags |= END_HEADERS;
        }
        write_head(out, piece.len(), kind, flags, stream);
        out.extend_from_slice(piece);
        (kind, flags) = (FrameKind::CONTINUATION, 0);
    }
}

/// RST_STREAM.
pub(crate) fn write_reset(out: &mut Vec<u8>, stream: u32, code: ErrorCode) {
    write_head(out, 4, FrameKind::RST_STREAM, 0, stream);
    out.extend_from_slice(&code.0.to_be_bytes());
}

/// WINDOW_UPDATE, of the connection for stream 0.
pub(crate) fn write_window_update(out: &mut Vec<u8>, stream: u32, increment: u32) {
    write_head(out, 4, FrameKind::WINDOW_UPDATE, 0, stream);
    out.extend_from_slice(&increment.to_be_bytes());
}

/// GOAWAY. A client without pushed streams has processed none of the server's.
pub(crate) fn write_go_away(out: &mut Vec<u8>, code: ErrorCode) {
    write_head(out, 8, FrameKind::GOAWAY, 0, 0);
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(&code.0.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_read_as_they_are_written() {
        let mut out = Vec::new();
        write_head(&mut out, 16_384, FrameKind::CONTINUATION, END_HEADERS, 0x7fff_ffff);
        assert_eq!(out, [0, 0x40, 0, 9, 4, 0x7f, 0xff, 0xff, 0xff]);
        let head = FrameHead::read(out.first_chunk().unwrap());
        let expected = FrameHead {
            length: 16_384,
            kind: FrameKind::CONTINUATION,
            flags: END_HEADERS,
            stream: 0x7fff_ffff,
        };
        assert_eq!(head, expected);
        assert_eq!(FrameHead::read(&[0, 0, 0, 0, 0, 0x80, 0, 0, 1]).stream, 1, "the reserved bit is ignored");
    }

    #[test]
    fn long_blocks_are_continued() {
        let check = |length: usize, expected: &[(usize, u8, u8)]| {
            let mut out = Vec::new();
            write_block(&mut out, &vec![7; length], true, 5);
            let (mut at, mut found) = (0, Vec::new());
            while at < out.len() {
                let head = FrameHead::read(out[at..].first_chunk().unwrap());
                found.push((head.payload_bytes(), head.kind.0, head.flags));
                at += HEAD_BYTES + head.payload_bytes();
            }
            assert_eq!(found, expected);
        };
        check(10, &[(10, 1, 5)]);
        check(16_384, &[(16_384, 1, 5)]);
        check(16_385, &[(16_384, 1, 1), (1, 9, 4)]);
        check(40_000, &[(16_384, 1, 1), (16_384, 9, 0), (7_232, 9, 4)]);
    }
}
