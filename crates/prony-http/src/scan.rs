//! Where a head begins and ends, in input that may arrive in any pieces.
//!
//! Both functions take what was kept of the head (`before`) and the new `input`. Their answer depends on the
//! joined bytes only, never on where they were cut.

use memchr::memchr_iter;

use crate::error::ProtocolError;

/// The length of the longest beginning that [`check_start`] looks at: `HTTP/1.1`.
const START_BYTES: usize = 8;

/// Refuses an answer that is not HTTP/1 at the first byte that shows it.
///
/// Without this a TLS alert or a frame of another protocol would be waited on until a timeout, since it never
/// holds the blank line that ends a head.
pub(crate) fn check_start(before: &[u8], input: &[u8]) -> Result<(), ProtocolError> {
    if before.len() >= START_BYTES {
        return Ok(());
    }
    let mut start = [0; START_BYTES];
    let mut length = 0;
    for (slot, byte) in start.iter_mut().zip(before.iter().chain(input)) {
        *slot = *byte;
        length += 1;
    }
    match &start[..length] {
        b"HTTP/1.1" | b"HTTP/1.0" => Ok(()),
        short if b"HTTP/1.".starts_with(short) => Ok(()),
        other => other_protocol(other),
    }
}

/// Names the protocol that `start` belongs to, or asks for the bytes that will decide by returning `Ok`.
#[cold]
fn other_protocol(start: &[u8]) -> Result<(), ProtocolError> {
    match *start {
        // TLS records: content type alert (21) or handshake (22), then major version 3 (RFC 8446 section 5.1).
        [0x15 | 0x16, 3, ..] => Err(ProtocolError::Tls),
        // An HTTP/2 server's first frame is SETTINGS: a 24-bit length, then type 4 (RFC 9113 section 3.4).
        [0, 0, _, 4, ..] | [b'H', b'T', b'T', b'P', b'/', b'2', ..] => Err(ProtocolError::Http2),
        // Either of them: too few bytes to decide.
        [0x15 | 0x16 | 0] | [0, 0] | [0, 0, _] => Ok(()),
        [b'\r' | b'\n', ..] => Err(ProtocolError::StrayLine),
        [b'H', b'T', b'T', b'P', b'/', ..] => Err(ProtocolError::Version),
        _ => Err(ProtocolError::NotHttp),
    }
}

/// The number of bytes of `input` up to and including the blank line, if it is there.
pub(crate) fn head_end(before: &[u8], input: &[u8]) -> Option<usize> {
    match (before, input) {
        ([.., b'\n'] | [.., b'\n', b'\r'], [b'\n', ..]) => return Some(1),
        ([.., b'\n'], [b'\r', b'\n', ..]) => return Some(2),
        _ => {}
    }
    memchr_iter(b'\n', input).find_map(|line_end| match input[line_end + 1..] {
        [b'\n', ..] => Some(line_end + 2),
        [b'\r', b'\n', ..] => Some(line_end + 3),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::{check_start, head_end};
    use crate::error::ProtocolError;

    /// Whatever the cut, the outcome is the same; before the deciding byte there is none.
    fn check(bytes: &[u8], expected: Result<(), ProtocolError>) {
        for cut in 0..=bytes.len() {
            let (before, input) = bytes.split_at(cut);
            // What was kept had passed the check when it came.
            if check_start(&[], before).is_ok() {
                assert_eq!(check_start(before, input), expected, "{bytes:?} cut at {cut}");
            } else {
                assert_eq!(check_start(&[], before), expected, "{bytes:?} decided before {cut}");
            }
        }
    }

    #[test]
    fn starts() {
        check(b"HTTP/1.1 200 OK", Ok(()));
        check(b"HTTP/1.0", Ok(()));
        check(b"HTT", Ok(()));
        check(b"HTTP/1.2 200 OK", Err(ProtocolError::Version));
        check(b"HTTP/3", Err(ProtocolError::Version));
        check(b"HTTP/2 200", Err(ProtocolError::Http2));
        check(&[0, 0, 18, 4, 0, 0, 0, 0, 0], Err(ProtocolError::Http2));
        check(&[0, 0, 18], Ok(()));
        check(&[0, 1], Err(ProtocolError::NotHttp));
        check(&[0x15, 3, 1, 0, 2, 2, 70], Err(ProtocolError::Tls));
        check(&[0x16, 3, 3], Err(ProtocolError::Tls));
        check(&[0x16, 4], Err(ProtocolError::NotHttp));
        check(b"\r\nHTTP/1.1 200 OK", Err(ProtocolError::StrayLine));
        check(b"SSH-2.0-OpenSSH", Err(ProtocolError::NotHttp));
        check(b"http/1.1", Err(ProtocolError::NotHttp));
        check(b"<html>", Err(ProtocolError::NotHttp));
        check(b"", Ok(()));
    }

    #[test]
    fn ends_are_found_across_any_cut() {
        for head in ["a\r\nb\r\n\r\n", "a\nb\n\n", "a\r\nb\n\r\n", "a\nb\r\n\n"] {
            let bytes = format!("{head}body\n\n");
            for cut in 0..head.len() {
                let (before, input) = bytes.as_bytes().split_at(cut);
                assert_eq!(head_end(before, input), Some(head.len() - cut), "{head:?} cut at {cut}");
                assert_eq!(head_end(&[], before), None, "{head:?} before {cut}");
            }
        }
        assert_eq!(head_end(b"", b"\r\n"), None);
        assert_eq!(head_end(b"a\r", b"\r\n"), None);
    }
}
