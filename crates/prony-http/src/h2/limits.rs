//! How much of a server's answers is read before it is called endless.

/// The bounds of one connection. Every one of them turns an endless answer into a typed error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Requests in flight at once; the server may allow fewer. Brought into 1 to [`STREAMS_MAX`].
    pub streams: u16,
    /// Bytes of one response that may be on their way. Brought into [`WINDOW_BYTES_MIN`] to [`WINDOW_BYTES_MAX`].
    pub stream_window_bytes: u32,
    /// Bytes of all responses that may be on their way. Brought into the same range.
    pub connection_window_bytes: u32,
    /// Bytes of one field block as it is sent, over all its frames.
    pub block_bytes: u32,
    /// Bytes of one list of fields when decoded, counted as by RFC 9113 section 6.5.2: 32 more for each field. The
    /// server is sent.
    pub list_bytes: u32,
    /// Fields in one list.
    pub fields: u16,
    /// Bytes of one body.
    pub body_bytes: u64,
    /// Interim (1xx) responses before one final response.
    pub interim_responses: u8,
    /// Frames in a row that bring no response forward: PING, SETTINGS, empty DATA and the like.
    pub barren_frames: u32,
}

/// As many as common servers allow (100 to 256), and a power of two more.
pub const STREAMS: u16 = 256;
/// More would be a search through a long list for each frame.
pub const STREAMS_MAX: u16 = 1024;
/// What every server may send before it has read our settings (RFC 9113 section 6.9.2).
pub const WINDOW_BYTES_MIN: u32 = 65_535;
/// RFC 9113 section 6.9.1.
pub const WINDOW_BYTES_MAX: u32 = 0x7fff_ffff;
/// What a path of 10 Gbit/s and 13 ms holds. Bodies are not kept, so a window costs no memory here.
pub const STREAM_WINDOW_BYTES: u32 = 16 * 1024 * 1024;
/// Four streams at their full windows.
pub const CONNECTION_WINDOW_BYTES: u32 = 64 * 1024 * 1024;
/// As a head of HTTP/1.1.
pub const BLOCK_BYTES: u32 = 64 * 1024;
/// As a head of HTTP/1.1. It also bounds what a small block that names one long field again and again expands to.
pub const LIST_BYTES: u32 = 64 * 1024;
/// As a head of HTTP/1.1.
pub const FIELDS: u16 = 128;
/// A server that pings each second meanwhile would have waited for three hours; a flood is over in milliseconds.
pub const BARREN_FRAMES: u32 = 10_000;
/// Frames of one field block; a block of the greatest length needs 4.
pub const BLOCK_FRAMES_MAX: u32 = 64;
/// Bytes in the caller's buffer beyond which no more of a request's body is appended, until the caller has sent them and
/// calls [`send_more`](crate::h2::Connection::send_more): four frames, so that a body of any size costs no memory.
pub const OUT_BYTES_MAX: usize = 64 * 1024;
/// Bytes in the caller's buffer beyond which no PING and no SETTINGS frame is answered any more: the server asks and does
/// not read.
pub const ANSWERS_BYTES_MAX: u32 = 1024 * 1024;

impl Default for Limits {
    fn default() -> Self {
        Self {
            streams: STREAMS,
            stream_window_bytes: STREAM_WINDOW_BYTES,
            connection_window_bytes: CONNECTION_WINDOW_BYTES,
            block_bytes: BLOCK_BYTES,
            list_bytes: LIST_BYTES,
            fields: FIELDS,
            body_bytes: crate::limits::BODY_BYTES,
            interim_responses: crate::limits::INTERIM_RESPONSES,
            barren_frames: BARREN_FRAMES,
        }
    }
}

impl Limits {
    /// The same limits, brought into the ranges that the protocol allows.
    pub(crate) fn clamped(mut self) -> Self {
        self.streams = self.streams.clamp(1, STREAMS_MAX);
        self.stream_window_bytes = self.stream_window_bytes.clamp(WINDOW_BYTES_MIN, WINDOW_BYTES_MAX);
        self.connection_window_bytes = self.connection_window_bytes.clamp(WINDOW_BYTES_MIN, WINDOW_BYTES_MAX);
        self
    }
}
