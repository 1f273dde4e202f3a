//! What can be wrong with a server's HTTP/2.

use std::fmt;

use thiserror::Error;

use crate::h2::frame::FrameKind;

/// An error code as it stands in RST_STREAM and GOAWAY frames (RFC 9113 section 7), known or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ErrorCode(pub u32);

impl ErrorCode {
    /// No error: a connection ends in an orderly way.
    pub const NO_ERROR: Self = Self(0x0);
    /// An unspecific violation of the protocol.
    pub const PROTOCOL_ERROR: Self = Self(0x1);
    /// A fault of the peer's own.
    pub const INTERNAL_ERROR: Self = Self(0x2);
    /// More bytes than the window had room for.
    pub const FLOW_CONTROL_ERROR: Self = Self(0x3);
    /// Settings were not acknowledged in time.
    pub const SETTINGS_TIMEOUT: Self = Self(0x4);
    /// A frame for a stream that had ended.
    pub const STREAM_CLOSED: Self = Self(0x5);
    /// A frame of a wrong length.
    pub const FRAME_SIZE_ERROR: Self = Self(0x6);
    /// The request was not processed at all: it may be sent again.
    pub const REFUSED_STREAM: Self = Self(0x7);
    /// The stream is of no more use.
    pub const CANCEL: Self = Self(0x8);
    /// The state of the field compression is lost.
    pub const COMPRESSION_ERROR: Self = Self(0x9);
    /// A tunnel was reset.
    pub const CONNECT_ERROR: Self = Self(0xa);
    /// The peer does too much of something.
    pub const ENHANCE_YOUR_CALM: Self = Self(0xb);
    /// TLS is too weak.
    pub const INADEQUATE_SECURITY: Self = Self(0xc);
    /// The request has to be sent over HTTP/1.1.
    pub const HTTP_1_1_REQUIRED: Self = Self(0xd);
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const NAMES: [&str; 14] = [
            "NO_ERROR",
            "PROTOCOL_ERROR",
            "INTERNAL_ERROR",
            "FLOW_CONTROL_ERROR",
            "SETTINGS_TIMEOUT",
            "STREAM_CLOSED",
            "FRAME_SIZE_ERROR",
            "REFUSED_STREAM",
            "CANCEL",
            "COMPRESSION_ERROR",
            "CONNECT_ERROR",
            "ENHANCE_YOUR_CALM",
            "INADEQUATE_SECURITY",
            "HTTP_1_1_REQUIRED",
        ];
        match usize::try_from(self.0).ok().and_then(|code| NAMES.get(code)) {
            Some(name) => f.write_str(name),
            None => write!(f, "0x{:x}", self.0),
        }
    }
}

/// Why a field block could not be decoded (RFC 7541). The text fits after "because".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Error)]
pub enum HpackError {
    /// The block ends in the middle of a field.
    #[error("it ends in the middle of a field")]
    Truncated,
    /// An integer that does not fit in 28 bits (section 5.1).
    #[error("an integer in it is too large")]
    Integer,
    /// An index of no entry (section 2.3.3).
    #[error("it names an entry that no table has")]
    Index,
    /// A string with a wrong Huffman code or padding (section 5.2).
    #[error("a string in it is not in Huffman code")]
    Huffman,
    /// A table larger than the 4,096 bytes that a client allows without settings (section 6.3).
    #[error("it makes the table larger than 4096 bytes")]
    TableSize,
    /// A change of the table's size behind a field (section 4.2).
    #[error("it changes the table's size behind a field")]
    LateTableSize,
}

/// Why a connection, or one stream of it, failed by a fault of the server's.
///
/// Small and `Copy`, so that a worker can count it without allocating. [`code`](Self::code) is the stable name for
/// files and tables, [`wire_code`](Self::wire_code) what is sent to the server. Sections are those of RFC 9113.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Error)]
#[non_exhaustive]
pub enum Http2Error {
    /// The first bytes are a TLS record (alert or handshake).
    #[error("the server speaks TLS on this port: try an https URL")]
    Tls,
    /// The first bytes are a status line of HTTP/1.
    #[error("the server answers in HTTP/1: ask it for HTTP/1.1, or use a port where it speaks HTTP/2")]
    Http1,
    /// The first frame is no SETTINGS frame.
    #[error("the server's first frame is not SETTINGS (RFC 9113 section 3.4): does it speak HTTP/2?")]
    NoSettings,
    /// A longer frame than we allow.
    #[error("a {kind} frame has {bytes} bytes, more than the 16384 allowed (RFC 9113 section 4.2)")]
    FrameTooLong {
        /// Its type.
        kind: FrameKind,
        /// Bytes of its payload.
        bytes: u32,
    },
    /// A frame whose length its type does not allow.
    #[error("a {kind} frame has a wrong length: {bytes} bytes (RFC 9113 section 6)")]
    FrameLength {
        /// Its type.
        kind: FrameKind,
        /// Bytes of its payload.
        bytes: u32,
    },
    /// A frame for the connection that must be for a stream, or the other way round.
    #[error("a {kind} frame must not be sent on stream {stream} (RFC 9113 section 6)")]
    FrameStream {
        /// Its type.
        kind: FrameKind,
        /// The stream.
        stream: u32,
    },
    /// As much padding as payload, or more.
    #[error("a {kind} frame has more padding than payload (RFC 9113 section 6.1)")]
    Padding {
        /// Its type.
        kind: FrameKind,
    },
    /// A frame for a stream that no request was sent on.
    #[error("a {kind} frame came for stream {stream}, on which no request was sent (RFC 9113 section 5.1)")]
    IdleStream {
        /// Its type.
        kind: FrameKind,
        /// The stream.
        stream: u32,
    },
    /// A frame for a stream that the server has ended.
    #[error("a {kind} frame came for stream {stream} after the server had ended it (RFC 9113 section 5.1)")]
    ClosedStream {
        /// Its type.
        kind: FrameKind,
        /// The stream.
        stream: u32,
    },
    /// Another frame in the middle of a field block.
    #[error("a {kind} frame came in the middle of a field block (RFC 9113 section 6.10)")]
    Interleaved {
        /// The frame that is no CONTINUATION of the block.
        kind: FrameKind,
    },
    /// A CONTINUATION frame without a field block to continue.
    #[error("a CONTINUATION frame continues nothing (RFC 9113 section 6.10)")]
    Continuation,
    /// A pushed response, which our settings forbid.
    #[error("the server pushes a response although push is disabled (RFC 9113 section 8.4)")]
    Push,
    /// A server's SETTINGS_ENABLE_PUSH other than 0.
    #[error("the server's SETTINGS_ENABLE_PUSH is not 0 (RFC 9113 section 6.5.2)")]
    EnablePush,
    /// A SETTINGS_INITIAL_WINDOW_SIZE of 2^31 or more.
    #[error("the server's SETTINGS_INITIAL_WINDOW_SIZE is over 2147483647 (RFC 9113 section 6.5.2)")]
    InitialWindow,
    /// A SETTINGS_MAX_FRAME_SIZE outside 2^14 to 2^24 - 1.
    #[error("the server's SETTINGS_MAX_FRAME_SIZE is outside 16384 to 16777215 (RFC 9113 section 6.5.2)")]
    MaxFrameSize,
    /// A WINDOW_UPDATE of the connection by nothing; for a stream it fails that stream alone.
    #[error("a WINDOW_UPDATE frame adds nothing (RFC 9113 section 6.9)")]
    WindowZero,
    /// A window of 2^31 bytes or more; for a stream it fails that stream alone.
    #[error("a window grows beyond 2147483647 bytes (RFC 9113 section 6.9.1)")]
    WindowOverflow,
    /// A second GOAWAY that takes back the first.
    #[error("the last stream of a second GOAWAY is {last_stream}, after a lower one (RFC 9113 section 6.8)")]
    GoAwayRaised {
        /// What the later frame says.
        last_stream: u32,
    },
    /// A field block that cannot be decoded.
    #[error("a field block cannot be decoded: {0} (RFC 7541)")]
    Compression(HpackError),
    /// A longer field block than [`Limits::block_bytes`](crate::h2::Limits::block_bytes).
    #[error("a field block does not end within {limit_bytes} bytes (RFC 9113 section 10.5.1)")]
    BlockTooLong {
        /// The limit that was passed.
        limit_bytes: u32,
    },
    /// A field block in more than [`BLOCK_FRAMES_MAX`](crate::h2::limits::BLOCK_FRAMES_MAX) frames.
    #[error("a field block does not end within {limit} frames (RFC 9113 section 10.5.1)")]
    TooManyContinuations {
        /// The limit that was passed.
        limit: u32,
    },
    /// More bytes of fields than [`Limits::list_bytes`](crate::h2::Limits::list_bytes).
    #[error("a list of fields is longer than {limit_bytes} bytes (RFC 9113 section 10.5.1)")]
    ListTooLong {
        /// The limit that was passed.
        limit_bytes: u32,
    },
    /// More fields than [`Limits::fields`](crate::h2::Limits::fields).
    #[error("a response has more than {limit} fields (RFC 9113 section 10.5.1)")]
    TooManyFields {
        /// The limit that was passed.
        limit: u16,
    },
    /// More frames without use than [`Limits::barren_frames`](crate::h2::Limits::barren_frames).
    #[error("more than {limit} frames came that bring no response forward (RFC 9113 section 10.5)")]
    Flood {
        /// The limit that was passed.
        limit: u32,
    },
    /// The server asks for answers and reads none.
    #[error(
        "the server does not read the {limit_bytes} bytes that answer its frames (RFC 9113 section 10.5)"
    )]
    AnswersUnread {
        /// The limit that was passed.
        limit_bytes: u32,
    },
    /// The server closed the connection with requests in flight.
    #[error("the server closed the connection before it had answered all requests")]
    ClosedEarly,
    /// The connection was used again after it had failed and before it was reset: a fault of the caller.
    #[error("the connection had already failed: reset it before using it again")]
    Failed,

    /// A field name that is no token, or has capital letters. This and the following fail one stream.
    #[error("a field name is not made of lower-case letters, digits and hyphens (RFC 9113 section 8.2.1)")]
    FieldName,
    /// A field value with NUL, CR or LF, or with white space around it.
    #[error("a field value has a line end or NUL in it, or white space around it (RFC 9113 section 8.2.1)")]
    FieldValue,
    /// A field that belongs to HTTP/1.1's connections, such as `connection` or `transfer-encoding`.
    #[error(
        "a response has a field of HTTP/1.1's connections, such as transfer-encoding (RFC 9113 section 8.2.2)"
    )]
    ConnectionField,
    /// A pseudo-header field other than one `:status` before all other fields.
    #[error("a response must have one :status before all other fields, trailers none (RFC 9113 section 8.3)")]
    PseudoField,
    /// A `:status` that is no number of three digits from 100 to 599.
    #[error("the :status is not a number from 100 to 599 (RFC 9113 section 8.3.2)")]
    Status,
    /// 101, which HTTP/2 does not know.
    #[error("the server switches protocols (101), which HTTP/2 forbids (RFC 9113 section 8.6)")]
    Upgrade,
    /// An interim (1xx) response that ends its stream, or a stream that ends without any response.
    #[error("a stream ends before its final response (RFC 9113 section 8.1)")]
    NoResponse,
    /// DATA before the final head.
    #[error("DATA came before the head of the response (RFC 9113 section 8.1)")]
    DataBeforeHead,
    /// A second list of fields that does not end the stream.
    #[error("a second HEADERS frame does not end the stream, as trailers must (RFC 9113 section 8.1)")]
    Trailers,
    /// More 1xx responses than [`Limits::interim_responses`](crate::h2::Limits::interim_responses).
    #[error("more than {limit} interim (1xx) responses came before a final one")]
    TooManyInterim {
        /// The limit that was reached.
        limit: u8,
    },
    /// A content-length that is no decimal number below 2^64, or two different ones.
    #[error("the content-length is not one decimal number (RFC 9113 section 8.1.1)")]
    ContentLength,
    /// A shorter body than its content-length.
    #[error("the body is {missing_bytes} bytes shorter than its content-length (RFC 9113 section 8.1.1)")]
    BodyShort {
        /// What had been announced and did not come; `u32::MAX` for more than that.
        missing_bytes: u32,
    },
    /// A longer body than its content-length, or one where there must be none.
    #[error("the body is longer than its content-length, or than none (RFC 9113 section 8.1.1)")]
    BodyLong,
    /// A longer body than [`Limits::body_bytes`](crate::h2::Limits::body_bytes).
    #[error("the body is longer than the limit for bodies")]
    BodyTooLong,
}

impl Http2Error {
    /// The stable name of the error: kebab-case, never reused for another meaning.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Tls => "tls",
            Self::Http1 => "h2-http1",
            Self::NoSettings => "h2-no-settings",
            Self::FrameTooLong { .. } => "h2-frame-too-long",
            Self::FrameLength { .. } => "h2-frame-length",
            Self::FrameStream { .. } => "h2-frame-stream",
            Self::Padding { .. } => "h2-padding",
            Self::IdleStream { .. } => "h2-idle-stream",
            Self::ClosedStream { .. } => "h2-closed-stream",
            Self::Interleaved { .. } => "h2-interleaved",
            Self::Continuation => "h2-continuation",
            Self::Push => "h2-push",
            Self::EnablePush => "h2-enable-push",
            Self::InitialWindow => "h2-initial-window",
            Self::MaxFrameSize => "h2-max-frame-size",
            Self::WindowZero => "h2-window-zero",
            Self::WindowOverflow => "h2-window-overflow",
            Self::GoAwayRaised { .. } => "h2-goaway-raised",
            Self::Compression(_) => "h2-compression",
            Self::BlockTooLong { .. } => "h2-block-too-long",
            Self::TooManyContinuations { .. } => "h2-too-many-continuations",
            Self::ListTooLong { .. } => "h2-list-too-long",
            Self::TooManyFields { .. } => "h2-too-many-fields",
            Self::Flood { .. } => "h2-flood",
            Self::AnswersUnread { .. } => "h2-answers-unread",
            Self::ClosedEarly => "h2-closed-early",
            Self::Failed => "h2-failed",
            Self::FieldName => "h2-field-name",
            Self::FieldValue => "h2-field-value",
            Self::ConnectionField => "h2-connection-field",
            Self::PseudoField => "h2-pseudo-field",
            Self::Status => "h2-status",
            Self::Upgrade => "h2-upgrade",
            Self::NoResponse => "h2-no-response",
            Self::DataBeforeHead => "h2-data-before-head",
            Self::Trailers => "h2-trailers",
            Self::TooManyInterim { .. } => "h2-too-many-interim",
            Self::ContentLength => "h2-content-length",
            Self::BodyShort { .. } => "h2-body-short",
            Self::BodyLong => "h2-body-long",
            Self::BodyTooLong => "h2-body-too-long",
        }
    }

    /// What is sent to the server, in GOAWAY or RST_STREAM.
    pub fn wire_code(&self) -> ErrorCode {
        match self {
            Self::FrameTooLong { .. } | Self::FrameLength { .. } => ErrorCode::FRAME_SIZE_ERROR,
            Self::ClosedStream { .. } => ErrorCode::STREAM_CLOSED,
            Self::InitialWindow | Self::WindowOverflow => ErrorCode::FLOW_CONTROL_ERROR,
            Self::Compression(_) => ErrorCode::COMPRESSION_ERROR,
            Self::BlockTooLong { .. }
            | Self::TooManyContinuations { .. }
            | Self::ListTooLong { .. }
            | Self::TooManyFields { .. }
            | Self::Flood { .. }
            | Self::AnswersUnread { .. }
            | Self::TooManyInterim { .. } => ErrorCode::ENHANCE_YOUR_CALM,
            Self::BodyTooLong => ErrorCode::CANCEL,
            _ => ErrorCode::PROTOCOL_ERROR,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{ErrorCode, HpackError, Http2Error};
    use crate::h2::FrameKind;

    #[test]
    fn texts_say_what_was_wrong_and_where_the_rule_stands() {
        let check = |error: Http2Error, text: &str| assert_eq!(error.to_string(), text);
        check(
            Http2Error::FrameLength { kind: FrameKind::PING, bytes: 7 },
            "a PING frame has a wrong length: 7 bytes (RFC 9113 section 6)",
        );
        check(
            Http2Error::Compression(HpackError::Index),
            "a field block cannot be decoded: it names an entry that no table has (RFC 7541)",
        );
        assert_eq!(FrameKind(0xfe).to_string(), "0xfe");
        assert_eq!(ErrorCode::HTTP_1_1_REQUIRED.to_string(), "HTTP_1_1_REQUIRED");
        assert_eq!(ErrorCode(14).to_string(), "0xe");
    }

    #[test]
    fn an_error_is_cheap_to_pass_on() {
        assert!(size_of::<Http2Error>() <= 8);
    }
}
