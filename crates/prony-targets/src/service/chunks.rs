//! A chunked body, out of pieces (RFC 9112 section 7.1). Bytes in, bytes out: no socket, no clock.

use crate::head::{BODY_LIMIT_BYTES, Reject};

/// The longest line of a chunk's size, with its extensions; 16 hexadecimal digits are more than any body has.
const LINE_LIMIT_BYTES: usize = 256;
/// The longest trailer, all lines together.
const TRAILER_LIMIT_BYTES: usize = 8 * 1024;

/// Reads one body.
#[derive(Debug, Default)]
pub(crate) struct Chunks {
    state: State,
    /// Bytes of the line, or of the trailer, so far.
    line_bytes: usize,
    /// The chunk's size as far as it is read, then what is left of the chunk.
    size: u64,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Before the first digit.
    #[default]
    Start,
    Size,
    /// Behind the digits: nothing there matters.
    Extension,
    SizeEnd,
    Data,
    DataCr,
    DataLf,
    /// At the start of a line of the trailer.
    TrailerStart,
    Trailer,
    TrailerLf,
    TrailerEnd,
    Done,
}

impl Chunks {
    /// Takes what of `input` belongs to the body: how many bytes that are. The content goes behind `body`.
    pub(crate) fn take(&mut self, input: &[u8], body: &mut Vec<u8>) -> Result<usize, Reject> {
        let mut at = 0;
        while at < input.len() && self.state != State::Done {
            if self.state == State::Data {
                let rest = &input[at..];
                let here = usize::try_from(self.size).map_or(rest.len(), |left| left.min(rest.len()));
                body.extend_from_slice(&rest[..here]);
                at += here;
                self.size -= here as u64;
                if self.size == 0 {
                    self.state = State::DataCr;
                }
            } else {
                self.state = self.step(input[at], body.len() as u64)?;
                at += 1;
            }
        }
        Ok(at)
    }

    pub(crate) fn is_done(&self) -> bool {
        self.state == State::Done
    }

    fn step(&mut self, byte: u8, body_bytes: u64) -> Result<State, Reject> {
        self.line_bytes += 1;
        match (self.state, byte) {
            (State::Start | State::Size, digit) if digit.is_ascii_hexdigit() => {
                let value = char::from(digit).to_digit(16).expect("invariant: a hexadecimal digit");
                self.size = self.size.saturating_mul(16).saturating_add(u64::from(value));
                if body_bytes.saturating_add(self.size) > BODY_LIMIT_BYTES {
                    return Err(Reject::BodyTooLong);
                }
                self.bounded(LINE_LIMIT_BYTES, State::Size)
            }
            (State::Size, b';' | b' ' | b'\t') => Ok(State::Extension),
            (State::Size | State::Extension, b'\r') => Ok(State::SizeEnd),
            (State::Extension, other) if other != b'\n' => self.bounded(LINE_LIMIT_BYTES, State::Extension),
            (State::SizeEnd, b'\n') => {
                self.line_bytes = 0;
                Ok(if self.size == 0 { State::TrailerStart } else { State::Data })
            }
            (State::DataCr, b'\r') => Ok(State::DataLf),
            (State::DataLf, b'\n') => {
                self.line_bytes = 0;
                Ok(State::Start)
            }
            (State::TrailerStart, b'\r') => Ok(State::TrailerEnd),
            (State::TrailerStart | State::Trailer, other) if !matches!(other, b'\r' | b'\n') => {
                self.bounded(TRAILER_LIMIT_BYTES, State::Trailer)
            }
            (State::Trailer, b'\r') => Ok(State::TrailerLf),
            (State::TrailerLf, b'\n') => Ok(State::TrailerStart),
            (State::TrailerEnd, b'\n') => Ok(State::Done),
            _ => Err(Reject::Malformed),
        }
    }

    fn bounded(&self, limit_bytes: usize, next: State) -> Result<State, Reject> {
        if self.line_bytes > limit_bytes { Err(Reject::Malformed) } else { Ok(next) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(input: &str, expected: Result<(&str, usize), Reject>) {
        let read = |pieces: &mut dyn Iterator<Item = &[u8]>| {
            let (mut chunks, mut body, mut used) = (Chunks::default(), Vec::new(), 0);
            for piece in pieces {
                used += chunks.take(piece, &mut body)?;
            }
            assert!(chunks.is_done(), "{input:?}");
            Ok((body, used))
        };
        let expected = expected.map(|(body, used)| (body.as_bytes().to_vec(), used));
        assert_eq!(read(&mut [input.as_bytes()].into_iter()), expected, "{input:?}");
        assert_eq!(read(&mut input.as_bytes().chunks(1)), expected, "{input:?} byte by byte");
    }

    #[test]
    fn chunks_make_up_a_body() {
        check("0\r\n\r\n", Ok(("", 5)));
        check("3\r\nabc\r\n0\r\n\r\nGET", Ok(("abc", 13)));
        check(
            "3;x=\"y\"\r\nabc\r\n0a \r\n0123456789\r\n00\r\nA: b\r\nC: d\r\n\r\n",
            Ok(("abc0123456789", 49)),
        );
    }

    #[test]
    fn what_is_no_chunk_is_rejected() {
        for wrong in ["\r\n", "g\r\n", "-1\r\n", "1\n", "1\r\nab\r\n", "1\r\na\n", "0\r\n\n", "0\r\nA\n"] {
            check(wrong, Err(Reject::Malformed));
        }
        check(&format!("1;{}\r\n", "x".repeat(LINE_LIMIT_BYTES)), Err(Reject::Malformed));
        check(&format!("0\r\n{}", "A: b\r\n".repeat(TRAILER_LIMIT_BYTES)), Err(Reject::Malformed));
    }

    #[test]
    fn a_body_may_be_as_long_as_the_limit_and_no_longer() {
        let whole = "x".repeat(1024 * 1024);
        check(&format!("100000\r\n{whole}\r\n0\r\n\r\n"), Ok((&whole, 8 + whole.len() + 2 + 5)));
        check("100001\r\n", Err(Reject::BodyTooLong));
        check(&format!("100000\r\n{whole}\r\n1\r\n"), Err(Reject::BodyTooLong));
        check("ffffffffffffffffffff\r\n", Err(Reject::BodyTooLong));
    }
}
