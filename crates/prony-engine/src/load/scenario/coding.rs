//! Bodies that are coded (`Content-Encoding`), decoded where a check or an extraction reads them. That is work of the
//! client's, done after the moments of the response were taken, as all checks are.

use std::io::Read;

use flate2::bufread::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};

use super::fault::StepFault;
use crate::load::checks::BODY_MAX_BYTES;

/// `body` as it was before `coding`; `decoded` is memory for it.
pub(super) fn decoded<'a>(
    coding: &[u8],
    body: &'a [u8],
    decoded: &'a mut Vec<u8>,
) -> Result<&'a [u8], StepFault> {
    decoded.clear();
    let is = |name: &str| coding.trim_ascii().eq_ignore_ascii_case(name.as_bytes());
    if coding.is_empty() || is("identity") || body.is_empty() {
        return Ok(body);
    }
    if is("gzip") || is("x-gzip") {
        read(MultiGzDecoder::new(body), decoded)?;
    } else if is("deflate") {
        // RFC 9110 section 8.4.1.2 means zlib; some servers send what is in it alone.
        let zlib = read(ZlibDecoder::new(body), decoded);
        if zlib == Err(StepFault::Coding) {
            decoded.clear();
            read(DeflateDecoder::new(body), decoded)?;
        } else {
            zlib?;
        }
    } else {
        return Err(StepFault::Coding);
    }
    Ok(decoded)
}

/// All that `decoder` gives, but never more than can be kept: a small body may stand for a large one.
fn read(decoder: impl Read, decoded: &mut Vec<u8>) -> Result<(), StepFault> {
    let most = BODY_MAX_BYTES as u64 + 1;
    decoder.take(most).read_to_end(decoded).map_err(|_| StepFault::Coding)?;
    if decoded.len() > BODY_MAX_BYTES { Err(StepFault::BodyTooLong) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::Compression;
    use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};

    use super::*;

    fn check(coding: &str, body: &[u8], expected: Result<&[u8], StepFault>) {
        let mut memory = Vec::new();
        assert_eq!(decoded(coding.as_bytes(), body, &mut memory), expected, "{coding}");
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
        check("gzip", b"", Ok(b""));
        check("gzip", b"hello", Err(StepFault::Coding));
        check("gzip", &gzip(b"hello")[..20], Err(StepFault::Coding));
        check("br", b"hello", Err(StepFault::Coding));
        check("gzip, gzip", &gzip(&gzip(b"hello")), Err(StepFault::Coding));
    }

    #[test]
    fn a_bomb_is_cut_off() {
        let bomb = gzip(&vec![0; 4 * BODY_MAX_BYTES]);
        assert!(bomb.len() < BODY_MAX_BYTES / 10);
        let mut memory = Vec::new();
        assert_eq!(decoded(b"gzip", &bomb, &mut memory), Err(StepFault::BodyTooLong));
        assert!(memory.len() <= BODY_MAX_BYTES + 1);
    }
}
