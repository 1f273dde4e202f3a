//! Content codings (RFC 9110 section 8.4.1) undone: gzip, deflate, br (RFC 7932) and zstd (RFC 8878).
//!
//! A small body may stand for a large one, and may ask for as much memory to be decoded in. Both are bounded: what comes out
//! by the caller, the window by what RFC 7932 and RFC 9659 allow.

use std::io::Read;

use brotli_decompressor::Decompressor;
use flate2::bufread::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};
use ruzstd::decoding::{FrameDecoder, StreamingDecoder};

/// The largest window of zstd (RFC 9659): a larger one is refused before it is made.
pub const ZSTD_WINDOW_MAX: u64 = 8 << 20;
/// Bytes that the decoder of br takes from a body at a time.
const BR_BUFFER: usize = 4096;
/// The first bytes of a frame of zstd, and of one that is skipped, whose last four bits may be any (RFC 8878 sections 3.1.1
/// and 3.1.2).
const ZSTD_MAGIC: u32 = 0xFD2F_B528;
const ZSTD_SKIPPED: u32 = 0x184D_2A50;

/// Why a body could not be decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CodingError {
    /// Another coding, or several.
    #[error("its coding is none of gzip, deflate, br and zstd")]
    Unknown,
    /// It ends too early, or is not what it should be.
    #[error("it is cut off, or not coded as it says")]
    Damaged,
    /// It needs more memory than codings may.
    #[error("decoding it takes a window of more than the 16 MiB of br or the 8 MiB of zstd")]
    Window,
    /// More came out than was asked for.
    #[error("it is too long when it is decoded")]
    TooLong,
}

/// Whether `coding`, the value of `Content-Encoding`, says that `body` must be decoded.
pub fn is_coded(coding: &[u8], body: &[u8]) -> bool {
    let coding = coding.trim_ascii();
    !(coding.is_empty() || coding.eq_ignore_ascii_case(b"identity") || body.is_empty())
}

/// Replaces `decoded` with what `body` was before `coding`, of `most` bytes at most. After an error `decoded` holds any part
/// of it, of one byte more at most.
pub fn decode(coding: &[u8], body: &[u8], most: usize, decoded: &mut Vec<u8>) -> Result<(), CodingError> {
    decoded.clear();
    if !is_coded(coding, body) {
        if body.len() > most {
            return Err(CodingError::TooLong);
        }
        decoded.extend_from_slice(body);
        return Ok(());
    }
    let is = |name: &str| coding.trim_ascii().eq_ignore_ascii_case(name.as_bytes());
    if is("gzip") || is("x-gzip") {
        read(MultiGzDecoder::new(body), most, decoded)
    } else if is("deflate") {
        // RFC 9110 section 8.4.1.2 means zlib; some servers send what is in it alone.
        read(ZlibDecoder::new(body), most, decoded).or_else(|error| {
            if error == CodingError::TooLong {
                return Err(error);
            }
            decoded.clear();
            read(DeflateDecoder::new(body), most, decoded)
        })
    } else if is("br") {
        // The decoder knows windows of up to 1 GiB, too, which RFC 7932 (section 9.1) does not have.
        if body[0] & 0x7F == 0x11 {
            return Err(CodingError::Window);
        }
        read(Decompressor::new(body, BR_BUFFER), most, decoded)
    } else if is("zstd") {
        zstd(body, most, decoded)
    } else {
        Err(CodingError::Unknown)
    }
}

/// All that `decoder` gives, added to `decoded`, but never more than it may hold.
fn read(decoder: impl Read, most: usize, decoded: &mut Vec<u8>) -> Result<(), CodingError> {
    let room = most.saturating_sub(decoded.len()) as u64 + 1;
    let result = decoder.take(room).read_to_end(decoded);
    if decoded.len() > most {
        return Err(CodingError::TooLong);
    }
    result.map(drop).map_err(|_| CodingError::Damaged)
}

/// Frame by frame, some of which are to be skipped.
fn zstd(mut body: &[u8], most: usize, decoded: &mut Vec<u8>) -> Result<(), CodingError> {
    let mut decoder = FrameDecoder::new();
    while !body.is_empty() {
        let magic = little_endian(body, 4)?;
        if magic & !0xF == u64::from(ZSTD_SKIPPED) {
            let length = little_endian(&body[4..], 4)?;
            let end = usize::try_from(length + 8).map_err(|_| CodingError::Damaged)?;
            body = body.get(end..).ok_or(CodingError::Damaged)?;
            continue;
        }
        if magic != u64::from(ZSTD_MAGIC) {
            return Err(CodingError::Damaged);
        }
        if zstd_window(&body[4..])? > ZSTD_WINDOW_MAX {
            return Err(CodingError::Window);
        }
        let frame = StreamingDecoder::new_with_decoder(&mut body, &mut decoder);
        read(frame.map_err(|_| CodingError::Damaged)?, most, decoded)?;
    }
    Ok(())
}

/// The window that a frame asks for, from what stands behind its magic number (RFC 8878 section 3.1.1.1).
fn zstd_window(header: &[u8]) -> Result<u64, CodingError> {
    let (&descriptor, rest) = header.split_first().ok_or(CodingError::Damaged)?;
    let is_single_segment = descriptor & 0x20 != 0;
    if !is_single_segment {
        let window = *rest.first().ok_or(CodingError::Damaged)?;
        let base = 1_u64 << (10 + (window >> 3));
        return Ok(base + base / 8 * u64::from(window & 7));
    }
    // The whole content is its window.
    let dictionary_id = [0, 1, 2, 4][usize::from(descriptor & 3)];
    let rest = rest.get(dictionary_id..).ok_or(CodingError::Damaged)?;
    match descriptor >> 6 {
        0 => little_endian(rest, 1),
        1 => Ok(little_endian(rest, 2)? + 256),
        2 => little_endian(rest, 4),
        _ => little_endian(rest, 8),
    }
}

/// A number of so many bytes at the beginning of `bytes`.
fn little_endian(bytes: &[u8], length: usize) -> Result<u64, CodingError> {
    let bytes = bytes.get(..length).ok_or(CodingError::Damaged)?;
    Ok(bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::Compression;
    use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};

    use super::*;

    const MOST: usize = 1 << 20;
    /// `hello` as the reference programs write it: `brotli -c`, `zstd -c`, and `zstd --no-check -c` of a stream.
    const BR_HELLO: &[u8] = b"\x0b\x02\x80hello\x03";
    const ZSTD_HELLO: &[u8] = b"\x28\xb5\x2f\xfd\x20\x05\x29\x00\x00hello";

    fn check(coding: &str, body: &[u8], expected: Result<&[u8], CodingError>) {
        let mut memory = b"of the last body".to_vec();
        let result = decode(coding.as_bytes(), body, MOST, &mut memory).map(|()| memory.as_slice());
        assert_eq!(result, expected, "{coding} {body:?}");
    }

    fn gzip(body: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(body).expect("memory takes it");
        encoder.finish().expect("memory takes it")
    }

    #[test]
    fn codings_are_undone() {
        check("", b"hello", Ok(b"hello"));
        check("identity", b"hello", Ok(b"hello"));
        check(" GZIP", &gzip(b"hello"), Ok(b"hello"));
        check("gzip", &[gzip(b"hel"), gzip(b"lo")].concat(), Ok(b"hello"));
        let mut zlib = ZlibEncoder::new(Vec::new(), Compression::fast());
        zlib.write_all(b"hello").expect("memory takes it");
        check("deflate", &zlib.finish().expect("memory takes it"), Ok(b"hello"));
        let mut raw = DeflateEncoder::new(Vec::new(), Compression::fast());
        raw.write_all(b"hello").expect("memory takes it");
        check("deflate", &raw.finish().expect("memory takes it"), Ok(b"hello"));
        check("br", BR_HELLO, Ok(b"hello"));
        check("zstd", ZSTD_HELLO, Ok(b"hello"));
        check("gzip", b"", Ok(b""));
        check("gzip, gzip", &gzip(&gzip(b"hello")), Err(CodingError::Unknown));
        check("compress", b"hello", Err(CodingError::Unknown));
    }

    #[test]
    fn frames_of_zstd_follow_one_another_and_some_are_skipped() {
        let skipped = b"\x5a\x2a\x4d\x18\x03\0\0\0abc";
        check("zstd", &[ZSTD_HELLO, skipped, ZSTD_HELLO].concat(), Ok(b"hellohello"));
        check("zstd", skipped, Ok(b""));
        check("zstd", &skipped[..10], Err(CodingError::Damaged));
        check("zstd", &[ZSTD_HELLO, b"\0"].concat(), Err(CodingError::Damaged));
    }

    #[test]
    fn what_is_cut_off_or_something_else_is_refused() {
        for (coding, body) in
            [("gzip", gzip(b"hello")), ("br", BR_HELLO.to_vec()), ("zstd", ZSTD_HELLO.to_vec())]
        {
            check(coding, b"hello", Err(CodingError::Damaged));
            for end in 1..body.len() {
                check(coding, &body[..end], Err(CodingError::Damaged));
            }
        }
        check("deflate", b"\xff\xff", Err(CodingError::Damaged));
    }

    #[test]
    fn a_window_that_is_too_large_is_refused_before_it_is_made() {
        // A frame descriptor without single segment, then exponent and mantissa.
        let window = |byte: u8| [&b"\x28\xb5\x2f\xfd\x00"[..], &[byte], b"\x29\x00\x00hello"].concat();
        check("zstd", &window(13 << 3), Ok(b"hello"));
        check("zstd", &window(13 << 3 | 1), Err(CodingError::Window));
        check("zstd", &window(0xFF), Err(CodingError::Window));
        // A single segment is its own window.
        check("zstd", b"\x28\xb5\x2f\xfd\xe0\0\0\0\0\x01\0\0\0\x29\0\0hello", Err(CodingError::Window));
        check("br", b"\x11\x1ehello", Err(CodingError::Window));
    }

    #[test]
    fn a_bomb_is_cut_off() {
        let zeros = vec![0; 4 * MOST];
        // Four blocks of a repeated byte (RFC 8878 section 3.1.1.2.2), of 128 KiB each, eight times.
        let block = |is_last: u32| ((128 << 10) << 3 | 1 << 1 | is_last).to_le_bytes()[..3].to_vec();
        let mut zstd = b"\x28\xb5\x2f\xfd\x00\x58".to_vec();
        for at in 0..32 {
            zstd.extend(block(u32::from(at == 31)));
            zstd.push(0);
        }
        for (coding, bomb) in [("gzip", gzip(&zeros)), ("zstd", zstd)] {
            assert!(bomb.len() < MOST / 10);
            let mut memory = Vec::new();
            assert_eq!(
                decode(coding.as_bytes(), &bomb, MOST, &mut memory),
                Err(CodingError::TooLong),
                "{coding}"
            );
            assert!(memory.len() <= MOST + 1, "{coding}: {}", memory.len());
            assert_eq!(decode(coding.as_bytes(), &bomb, 4 * MOST, &mut memory), Ok(()), "{coding}");
            assert_eq!(memory, zeros, "{coding}");
        }
    }
}
