//! What can be wrong with a server's answer.

use thiserror::Error;

use crate::h2::Http2Error;

/// Why an answer could not be read. The connection it came from is of no more use.
///
/// Small and `Copy`, so that a worker can count it without allocating. The text is a lower-case fragment for
/// a report; [`code`](Self::code) is the stable name for files and tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Error)]
#[non_exhaustive]
pub enum ProtocolError {
    /// The first bytes are a TLS record (alert or handshake).
    #[error("the server speaks TLS on this port: try an https URL")]
    Tls,
    /// The first bytes are an HTTP/2 frame or name HTTP/2.
    #[error("the server answers in HTTP/2: ask it for HTTP/1.1 or use another port")]
    Http2,
    /// The first bytes are no status line.
    #[error("the answer does not start with HTTP/1: is this an HTTP server?")]
    NotHttp,
    /// An empty line where a status line was due.
    #[error(
        "an empty line came where a status line was due: \
         was the body before it longer than its content-length?"
    )]
    StrayLine,
    /// A version other than 1.0 and 1.1.
    #[error("the answer's version is neither HTTP/1.0 nor HTTP/1.1")]
    Version,
    /// A status line that RFC 9112 section 4 does not allow.
    #[error("the status line is malformed: it must read like `HTTP/1.1 200 OK`")]
    StatusLine,
    /// A status outside 100 to 599 (RFC 9110 section 15).
    #[error("the status {0} is outside 100 to 599")]
    StatusRange(u16),
    /// 101 Switching Protocols, which no request of ours asks for.
    #[error("the server switches protocols (101) without being asked to")]
    Upgrade,
    /// A header field name with a character that is not allowed, or without a colon.
    #[error("a header line is malformed: it must read `name: value`, without a space before the colon")]
    HeaderName,
    /// A CR that is not followed by LF.
    #[error("a line of the head ends in CR without LF")]
    LineEnd,
    /// A header field value with a control character.
    #[error("a header value holds a control character")]
    HeaderValue,
    /// A header line that begins with white space (obs-fold, RFC 9112 section 5.2).
    #[error("a header is folded over several lines, which RFC 9112 forbids: send it in one line")]
    FoldedHeader,
    /// The head did not end within [`Limits::head_bytes`](crate::Limits::head_bytes).
    #[error("the head does not end within {limit_bytes} bytes")]
    HeadTooLong {
        /// The limit that was reached.
        limit_bytes: usize,
    },
    /// More header fields than [`Limits::headers`](crate::Limits::headers).
    #[error("the head has more than {limit} header fields")]
    TooManyHeaders {
        /// The limit that was reached.
        limit: usize,
    },
    /// More 1xx responses than [`Limits::interim_responses`](crate::Limits::interim_responses).
    #[error("more than {limit} interim (1xx) responses came before a final one")]
    TooManyInterim {
        /// The limit that was reached.
        limit: u8,
    },
    /// A content-length that is no decimal number below 2^64.
    #[error("the content-length is not a decimal number")]
    ContentLength,
    /// Two content-lengths that differ.
    #[error("the head has two different content-lengths")]
    ContentLengthConflict,
    /// A transfer-encoding that is no list of codings, or that applies chunked wrongly.
    #[error("the transfer-encoding is malformed: a server sends `chunked` once, last and without parameters")]
    TransferEncoding,
    /// A transfer-encoding in an HTTP/1.0 response.
    #[error("an HTTP/1.0 response has a transfer-encoding, which HTTP/1.0 does not know")]
    TransferEncodingInHttp10,
    /// Both a transfer-encoding and a content-length: the length of the body is in doubt.
    #[error("the head has both a transfer-encoding and a content-length: send only one of them")]
    TransferEncodingAndContentLength,
    /// A longer body than [`Limits::body_bytes`](crate::Limits::body_bytes).
    #[error("the body is longer than {limit_bytes} bytes")]
    BodyTooLong {
        /// The limit that was passed.
        limit_bytes: u64,
    },
    /// A chunk-size line that is no hexadecimal number with extensions, ended by CRLF.
    #[error("a chunk-size line is malformed: it must be a hexadecimal number, ended by CRLF")]
    ChunkSize,
    /// A chunk size of 2^64 or more.
    #[error("a chunk size does not fit in 64 bits")]
    ChunkSizeOverflow,
    /// A longer chunk-size line than [`Limits::chunk_line_bytes`](crate::Limits::chunk_line_bytes).
    #[error("a chunk-size line does not end within {limit_bytes} bytes")]
    ChunkLineTooLong {
        /// The limit that was passed.
        limit_bytes: u32,
    },
    /// The data of a chunk is not followed by CRLF: it is longer or shorter than its size says.
    #[error("a chunk is not followed by CRLF: its size does not match its data")]
    ChunkEnd,
    /// A line after the last chunk that is neither a field nor empty.
    #[error("the line after the last chunk is neither a trailer nor empty: is the final CRLF missing?")]
    Trailer,
    /// Longer trailers than [`Limits::trailer_bytes`](crate::Limits::trailer_bytes).
    #[error("the trailers do not end within {limit_bytes} bytes")]
    TrailersTooLong {
        /// The limit that was passed.
        limit_bytes: u32,
    },
    /// The server closed the connection in the middle of a response.
    #[error("the server closed the connection {during}")]
    ClosedEarly {
        /// Where in the response.
        during: Part,
    },
    /// What was wrong with a server's HTTP/2, as far as it was HTTP/2.
    #[error(transparent)]
    InHttp2(#[from] Http2Error),
    /// The parser was asked again after it had failed and before it was reset: a fault of the caller.
    #[error("the connection had already failed: reset its parser before using it again")]
    Failed,
}

/// The part of a response in which a connection was closed. Displays as a phrase after "closed the connection".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Error)]
pub enum Part {
    /// Before the blank line that ends the head, or after an interim response.
    #[error("before the end of the head")]
    Head,
    /// Before all bytes announced by content-length had come.
    #[error("{missing_bytes} bytes before the end of the body")]
    Body {
        /// What had been announced and did not come.
        missing_bytes: u64,
    },
    /// Before the last chunk and the blank line after it.
    #[error("before the last chunk")]
    Chunks,
}

impl ProtocolError {
    /// The stable name of the error: kebab-case, never reused for another meaning.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Tls => "tls",
            Self::Http2 => "http2",
            Self::NotHttp => "not-http",
            Self::StrayLine => "stray-line",
            Self::Version => "http-version",
            Self::StatusLine => "status-line",
            Self::StatusRange(_) => "status-range",
            Self::Upgrade => "upgrade",
            Self::HeaderName => "header-name",
            Self::LineEnd => "line-end",
            Self::HeaderValue => "header-value",
            Self::FoldedHeader => "folded-header",
            Self::HeadTooLong { .. } => "head-too-long",
            Self::TooManyHeaders { .. } => "too-many-headers",
            Self::TooManyInterim { .. } => "too-many-interim",
            Self::ContentLength => "content-length",
            Self::ContentLengthConflict => "content-length-conflict",
            Self::TransferEncoding => "transfer-encoding",
            Self::TransferEncodingInHttp10 => "transfer-encoding-in-http10",
            Self::TransferEncodingAndContentLength => "transfer-encoding-and-content-length",
            Self::BodyTooLong { .. } => "body-too-long",
            Self::ChunkSize => "chunk-size",
            Self::ChunkSizeOverflow => "chunk-size-overflow",
            Self::ChunkLineTooLong { .. } => "chunk-line-too-long",
            Self::ChunkEnd => "chunk-end",
            Self::Trailer => "trailer",
            Self::TrailersTooLong { .. } => "trailers-too-long",
            Self::ClosedEarly { during: Part::Head } => "closed-in-head",
            Self::ClosedEarly { during: Part::Body { .. } } => "closed-in-body",
            Self::ClosedEarly { during: Part::Chunks } => "closed-in-chunks",
            Self::InHttp2(error) => error.code(),
            Self::Failed => "parser-failed",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Part, ProtocolError};

    fn check(error: ProtocolError, code: &str, text: &str) {
        assert_eq!(error.code(), code);
        assert_eq!(error.to_string(), text);
    }

    #[test]
    fn texts_say_what_was_wrong_with_the_answer() {
        check(ProtocolError::Tls, "tls", "the server speaks TLS on this port: try an https URL");
        check(
            ProtocolError::NotHttp,
            "not-http",
            "the answer does not start with HTTP/1: is this an HTTP server?",
        );
        check(
            ProtocolError::HeadTooLong { limit_bytes: 65536 },
            "head-too-long",
            "the head does not end within 65536 bytes",
        );
        check(
            ProtocolError::ClosedEarly { during: Part::Head },
            "closed-in-head",
            "the server closed the connection before the end of the head",
        );
        check(
            ProtocolError::ClosedEarly { during: Part::Body { missing_bytes: 7 } },
            "closed-in-body",
            "the server closed the connection 7 bytes before the end of the body",
        );
        check(
            ProtocolError::ClosedEarly { during: Part::Chunks },
            "closed-in-chunks",
            "the server closed the connection before the last chunk",
        );
    }

    #[test]
    fn an_error_is_cheap_to_pass_on() {
        assert!(size_of::<ProtocolError>() <= 16);
    }
}
