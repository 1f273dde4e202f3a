//! How much of a server's answer is read before it is called endless.

/// The bounds of one response. Every one of them turns an endless answer into a typed error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of one head, from the status line to the blank line. Raised to [`HEAD_BYTES_MIN`].
    pub head_bytes: usize,
    /// Header fields in one head. Lowered to [`HEADERS_MAX`].
    pub headers: usize,
    /// Bytes of one body, after the chunked framing is taken off.
    pub body_bytes: u64,
    /// Interim (1xx) responses before one final response.
    pub interim_responses: u8,
    /// Bytes of one chunk-size line, extensions and line end included. Raised to [`CHUNK_LINE_BYTES_MIN`].
    pub chunk_line_bytes: u32,
    /// Bytes of all trailer lines after the last chunk, the blank line included. Raised to
    /// [`TRAILER_BYTES_MIN`].
    pub trailer_bytes: u32,
}

/// Four times the largest head that common servers and browsers exchange (16 KiB in Node and nginx).
pub const HEAD_BYTES: usize = 64 * 1024;
/// Below this the first line could not be distinguished from another protocol's.
pub const HEAD_BYTES_MIN: usize = 64;
/// More fields than any framework sends by itself; hyper allows 100, Apache httpd 100, Node 2000.
pub const HEADERS: usize = 128;
/// The parser keeps the fields of one head on the stack: 256 x 32 bytes.
pub const HEADERS_MAX: usize = 256;
/// A body is not kept, so this guards only against a stream without an end: about a minute at 10 Gbit/s.
pub const BODY_BYTES: u64 = 64 * 1024 * 1024 * 1024;
/// A server sends one or two (100, 103), one per stage for 102; more is a loop.
pub const INTERIM_RESPONSES: u8 = 16;
/// A size needs 16 digits; the rest is room for extensions, which nobody sends.
pub const CHUNK_LINE_BYTES: u32 = 4 * 1024;
/// Any 64-bit size and CRLF.
pub const CHUNK_LINE_BYTES_MIN: u32 = 18;
/// As large as a whole head may be elsewhere: trailers carry a checksum or a status.
pub const TRAILER_BYTES: u32 = 16 * 1024;
/// The blank line that every chunked body ends with.
pub const TRAILER_BYTES_MIN: u32 = 2;

impl Default for Limits {
    fn default() -> Self {
        Self {
            head_bytes: HEAD_BYTES,
            headers: HEADERS,
            body_bytes: BODY_BYTES,
            interim_responses: INTERIM_RESPONSES,
            chunk_line_bytes: CHUNK_LINE_BYTES,
            trailer_bytes: TRAILER_BYTES,
        }
    }
}

impl Limits {
    /// The same limits, brought into the ranges that the parser can hold.
    pub(crate) fn clamped(mut self) -> Self {
        self.head_bytes = self.head_bytes.max(HEAD_BYTES_MIN);
        self.headers = self.headers.min(HEADERS_MAX);
        self.chunk_line_bytes = self.chunk_line_bytes.max(CHUNK_LINE_BYTES_MIN);
        self.trailer_bytes = self.trailer_bytes.max(TRAILER_BYTES_MIN);
        self
    }
}
