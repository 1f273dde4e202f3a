//! The chunked transfer coding (RFC 9112 section 7.1), one byte at a time between the chunks' data.
//!
//! The framing lines are strict, since a mistake there shifts the whole rest of the connection: CRLF only, no
//! sign, no empty size. After the digits, spaces and tabs are allowed (some servers pad the size), then
//! extensions, which are skipped. Trailers are checked to look like fields, so that a missing final CRLF is
//! not mistaken for a very long trailer, and skipped.

use crate::error::ProtocolError;
use crate::limits::Limits;
use crate::syntax::is_token_byte;

/// Where in a chunked body the next byte stands.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ChunkDecoder {
    /// While a size is read: its digits so far. Within data: what is still to come of the chunk.
    size: u64,
    /// Bytes seen of the present size line, or of all trailers.
    line_bytes: u32,
    place: Place,
}

/// In the order in which a body passes them: size lines, data, trailers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    FirstDigit,
    Digits,
    /// After the digits and a space: more space, an extension or the line's end.
    Padding,
    Extension,
    SizeLf,
    Data,
    DataCr,
    DataLf,
    /// At the beginning of a line after the last chunk.
    TrailerStart,
    TrailerName,
    TrailerValue,
    TrailerLf,
    FinalLf,
}

/// What a step of the decoder has found.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Chunk {
    /// Nothing yet: all input was framing.
    More,
    /// Body bytes, from this index of the input to the end of what was consumed.
    Data { start: usize },
    /// The end of the body.
    End,
}

impl ChunkDecoder {
    pub(crate) fn new() -> Self {
        Self { size: 0, line_bytes: 0, place: Place::FirstDigit }
    }

    /// Consumes input up to the end of one piece of data, of the body, or of the input.
    pub(crate) fn step(
        &mut self,
        limits: &Limits,
        body_bytes: u64,
        input: &[u8],
    ) -> Result<(usize, Chunk), ProtocolError> {
        let mut at = 0;
        while at < input.len() {
            if self.place == Place::Data {
                let available = input.len() - at;
                let taken = usize::try_from(self.size).map_or(available, |size| size.min(available));
                self.size -= taken as u64;
                if self.size == 0 {
                    self.place = Place::DataCr;
                }
                return Ok((at + taken, Chunk::Data { start: at }));
            }
            let byte = input[at];
            at += 1;
            if self.place >= Place::TrailerStart {
                if self.trailer(byte, limits)? {
                    return Ok((at, Chunk::End));
                }
            } else {
                self.framing(byte, limits, body_bytes)?;
            }
        }
        Ok((at, Chunk::More))
    }

    /// A byte of a size line or of the CRLF after a chunk's data.
    fn framing(&mut self, byte: u8, limits: &Limits, body_bytes: u64) -> Result<(), ProtocolError> {
        let is_size_line = self.place < Place::Data;
        if is_size_line {
            self.line_bytes += 1;
            if self.line_bytes > limits.chunk_line_bytes {
                return Err(ProtocolError::ChunkLineTooLong { limit_bytes: limits.chunk_line_bytes });
            }
        }
        self.place = match (self.place, byte) {
            (Place::FirstDigit | Place::Digits, b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F') => {
                if self.size >> 60 != 0 {
                    return Err(ProtocolError::ChunkSizeOverflow);
                }
                self.size = self.size << 4 | u64::from(hex_digit(byte));
                Place::Digits
            }
            (Place::Digits | Place::Padding, b' ' | b'\t') => Place::Padding,
            (Place::Digits | Place::Padding | Place::Extension, b'\r') => Place::SizeLf,
            (Place::Digits | Place::Padding, b';') => Place::Extension,
            (Place::Extension, _) if is_text_byte(byte) => Place::Extension,
            (Place::SizeLf, b'\n') => self.after_size(limits, body_bytes)?,
            (Place::DataCr, b'\r') => Place::DataLf,
            (Place::DataLf, b'\n') => Place::FirstDigit,
            (Place::DataCr | Place::DataLf, _) => return Err(ProtocolError::ChunkEnd),
            _ => return Err(ProtocolError::ChunkSize),
        };
        Ok(())
    }

    /// A size line is complete: data follows, or the trailers.
    fn after_size(&mut self, limits: &Limits, body_bytes: u64) -> Result<Place, ProtocolError> {
        self.line_bytes = 0;
        if self.size > limits.body_bytes.saturating_sub(body_bytes) {
            return Err(ProtocolError::BodyTooLong { limit_bytes: limits.body_bytes });
        }
        Ok(if self.size == 0 { Place::TrailerStart } else { Place::Data })
    }

    /// A byte after the last chunk. Returns whether it was the last of the body.
    fn trailer(&mut self, byte: u8, limits: &Limits) -> Result<bool, ProtocolError> {
        self.line_bytes += 1;
        if self.line_bytes > limits.trailer_bytes {
            return Err(ProtocolError::TrailersTooLong { limit_bytes: limits.trailer_bytes });
        }
        self.place = match (self.place, byte) {
            (Place::TrailerStart, b'\r') => Place::FinalLf,
            (Place::TrailerStart | Place::FinalLf, b'\n') => return Ok(true),
            (Place::TrailerStart | Place::TrailerName, _) if is_token_byte(byte) => Place::TrailerName,
            (Place::TrailerName, b':') => Place::TrailerValue,
            (Place::TrailerValue, b'\r') => Place::TrailerLf,
            (Place::TrailerValue | Place::TrailerLf, b'\n') => Place::TrailerStart,
            (Place::TrailerValue, _) if is_text_byte(byte) => Place::TrailerValue,
            _ => return Err(ProtocolError::Trailer),
        };
        Ok(false)
    }
}

/// The data and the whole length of a chunked body of at most one chunk, if `input` begins with one that is
/// written the plain way: a size of up to 16 digits, no extensions, no trailers.
///
/// That is how servers send a small page whose length they did not compute. Whatever else stands there, be
/// it wrong or only rare, is left to [`ChunkDecoder`].
pub(crate) fn single_chunk<'a>(limits: &Limits, input: &'a [u8]) -> Option<(&'a [u8], usize)> {
    const LAST_CHUNK: &[u8] = b"0\r\n\r\n";
    if input.starts_with(LAST_CHUNK) {
        return Some((&[], LAST_CHUNK.len()));
    }
    let digits = input.iter().take(16).take_while(|byte| byte.is_ascii_hexdigit()).count();
    let size = input[..digits].iter().fold(0, |size, digit| size << 4 | u64::from(hex_digit(*digit)));
    if size == 0 || size > limits.body_bytes {
        return None;
    }
    let rest = input[digits..].strip_prefix(b"\r\n")?;
    let (data, rest) = rest.split_at_checked(usize::try_from(size).ok()?)?;
    let rest = rest.strip_prefix(b"\r\n")?.strip_prefix(LAST_CHUNK)?;
    Some((data, input.len() - rest.len()))
}

/// Whether `byte` may stand in an extension or a field value (RFC 9110 section 5.5).
fn is_text_byte(byte: u8) -> bool {
    matches!(byte, b'\t' | b' '..=b'~' | 0x80..)
}

/// The value of a byte that is known to be a hexadecimal digit.
fn hex_digit(byte: u8) -> u8 {
    match byte {
        b'0'..=b'9' => byte - b'0',
        _ => (byte | 0x20) - b'a' + 10,
    }
}

#[cfg(test)]
mod tests {
    use super::{Chunk, ChunkDecoder, single_chunk};
    use crate::error::ProtocolError;
    use crate::limits::Limits;

    /// The body and how much of the input was left, or the error.
    type Outcome<'a> = Result<(&'a str, usize), ProtocolError>;

    /// Decodes `input` in pieces of every size: all must give the same.
    fn check(input: &str, expected: Outcome<'_>) {
        let limits = Limits { body_bytes: 20, chunk_line_bytes: 12, trailer_bytes: 24, ..Limits::default() };
        for piece_bytes in 1..=input.len() {
            let mut decoder = ChunkDecoder::new();
            let mut body = Vec::new();
            let mut left = input.len();
            let outcome = input.as_bytes().chunks(piece_bytes).try_for_each(|mut piece| {
                while !piece.is_empty() {
                    let (consumed, chunk) = decoder.step(&limits, body.len() as u64, piece).map_err(Some)?;
                    left -= consumed;
                    match chunk {
                        Chunk::Data { start } => body.extend_from_slice(&piece[start..consumed]),
                        Chunk::More => assert_eq!(consumed, piece.len()),
                        Chunk::End => return Err(None),
                    }
                    piece = &piece[consumed..];
                }
                Ok(())
            });
            let found = match outcome {
                Ok(()) => panic!("{input:?} has no end"),
                Err(None) => Ok((str::from_utf8(&body).unwrap(), left)),
                Err(Some(error)) => Err(error),
            };
            assert_eq!(found, expected, "{input:?} in pieces of {piece_bytes}");
        }
    }

    #[test]
    fn bodies() {
        check("0\r\n\r\n", Ok(("", 0)));
        check("5\r\nhello\r\n0\r\n\r\n", Ok(("hello", 0)));
        check("5\r\nhello\r\n00A\r\n, world! \n\r\n0\r\n\r\nHTTP/1.1", Ok(("hello, world! \n", 8)));
        check("1 \t\r\nx\r\n0;a=\"b\"\r\n\r\n", Ok(("x", 0)));
        check("1 ; a\r\nx\r\n0\r\n\r\n", Ok(("x", 0)));
    }

    #[test]
    fn a_single_plain_chunk_is_seen_at_once() {
        let limits = Limits { body_bytes: 20, ..Limits::default() };
        let single = |input: &'static str| single_chunk(&limits, input.as_bytes());
        assert_eq!(single("0\r\n\r\nrest"), Some((&b""[..], 5)));
        assert_eq!(single("5\r\nhello\r\n0\r\n\r\nrest"), Some((&b"hello"[..], 15)));
        assert_eq!(single("000000000000000A\r\n0123456789\r\n0\r\n\r\n"), Some((&b"0123456789"[..], 35)));
        for other in [
            "",
            "5",
            "5\r\nhello\r\n0\r\n\r",
            "5;a\r\nhello\r\n0\r\n\r\n",
            "5\r\nhello\r\n0\r\nA: b\r\n\r\n",
            "1\r\na\r\n1\r\nb\r\n0\r\n\r\n",
            "00\r\n\r\n",
            "15\r\n012345678901234567890\r\n0\r\n\r\n",
            "FFFFFFFFFFFFFFFF\r\n",
            "10000000000000001\r\na\r\n0\r\n\r\n",
        ] {
            assert_eq!(single(other), None, "{other:?}");
        }
    }

    #[test]
    fn trailers_are_skipped() {
        check("0\r\nA: b\r\nC:\r\n\r\nrest", Ok(("", 4)));
        check("0\r\nA: b\n\nrest", Ok(("", 4)));
        for bad in [
            "0\r\nHTTP/1.1 200 OK\r\n\r\n",
            "0\r\n: a\r\n",
            "0\r\n a\r\n",
            "0\r\na: \0",
            "0\r\na: b\rc",
            "0\r\n\ra",
        ] {
            check(bad, Err(ProtocolError::Trailer));
        }
        check(&format!("0\r\na:{}\r\n\r\n", "b".repeat(18)), Ok(("", 0)));
        let too_long = ProtocolError::TrailersTooLong { limit_bytes: 24 };
        check(&format!("0\r\na:{}\r\n\r\n", "b".repeat(19)), Err(too_long));
        check(&format!("0\r\n{}", "a:b\r\n".repeat(9)), Err(too_long));
    }

    #[test]
    fn size_lines_are_strict() {
        for bad in [
            "\r\n",
            "-1\r\n",
            "+1\r\n",
            "0x1\r\n",
            " 1\r\n",
            "g\r\n",
            "1\n",
            "1\r\r\n",
            "1 1\r\n",
            ";a\r\n",
            "1;\x07\r\n",
            "1;a\n",
        ] {
            check(bad, Err(ProtocolError::ChunkSize));
        }
        check("1\r\nxy\r\n", Err(ProtocolError::ChunkEnd));
        check("1\r\nx\n", Err(ProtocolError::ChunkEnd));
        check("1\r\nx\ry", Err(ProtocolError::ChunkEnd));
    }

    #[test]
    fn endless_lines_and_bodies_are_refused() {
        check("0000000001\r\nx\r\n0\r\n\r\n", Ok(("x", 0)));
        let line_too_long = ProtocolError::ChunkLineTooLong { limit_bytes: 12 };
        check("00000000001\r\n", Err(line_too_long));
        check("1;aaaaaaaaaaa\r\n", Err(line_too_long));
        let too_long = ProtocolError::BodyTooLong { limit_bytes: 20 };
        check("15\r\n", Err(too_long));
        check("14\r\n01234567890123456789\r\n1\r\n", Err(too_long));
        check("14\r\n01234567890123456789\r\n0\r\n\r\n", Ok(("01234567890123456789", 0)));
    }

    #[test]
    fn sizes_of_64_bits_and_more() {
        let limits = Limits { body_bytes: u64::MAX, ..Limits::default() };
        let step = |input: &str| ChunkDecoder::new().step(&limits, 0, input.as_bytes());
        assert_eq!(step("FFFFFFFFFFFFFFFF\r\nx"), Ok((19, Chunk::Data { start: 18 })));
        assert_eq!(step("10000000000000000\r\n"), Err(ProtocolError::ChunkSizeOverflow));
    }
}
