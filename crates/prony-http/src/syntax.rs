//! The few pieces of HTTP grammar that requests and responses share (RFC 9110 section 5.6).

/// Whether `byte` may stand in a token: a method, a field name, a transfer coding.
pub(crate) const fn is_token_byte(byte: u8) -> bool {
    matches!(
        byte,
        b'!' | b'#'
            | b'$'
            | b'%'
            | b'&'
            | b'\''
            | b'*'
            | b'+'
            | b'-'
            | b'.'
            | b'^'
            | b'_'
            | b'`'
            | b'|'
            | b'~'
    ) || byte.is_ascii_alphanumeric()
}

/// Whether `bytes` is one whole token.
pub(crate) fn is_token(bytes: &[u8]) -> bool {
    !bytes.is_empty() && bytes.iter().copied().all(is_token_byte)
}

/// `bytes` without the spaces and tabs around it (OWS).
pub(crate) fn trim(bytes: &[u8]) -> &[u8] {
    let is_space = |byte: &u8| matches!(byte, b' ' | b'\t');
    let start = bytes.iter().position(|byte| !is_space(byte)).unwrap_or(bytes.len());
    let end = bytes.iter().rposition(|byte| !is_space(byte)).map_or(start, |last| last + 1);
    &bytes[start..end]
}

/// The elements of a comma-separated list, trimmed, empty ones included.
///
/// A comma within a quoted string also separates; the lists read here have no quoted strings when valid.
pub(crate) fn list(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|byte| *byte == b',').map(trim)
}

#[cfg(test)]
mod tests {
    use super::{is_token, list, trim};

    fn check(value: &str, elements: &[&str]) {
        let found: Vec<&[u8]> = list(value.as_bytes()).collect();
        let expected: Vec<&[u8]> = elements.iter().map(|element| element.as_bytes()).collect();
        assert_eq!(found, expected, "{value:?}");
    }

    #[test]
    fn lists() {
        check("close", &["close"]);
        check(" close ,\tkeep-alive", &["close", "keep-alive"]);
        check("", &[""]);
        check("5,,5", &["5", "", "5"]);
        check(" \t ", &[""]);
    }

    #[test]
    fn tokens() {
        assert!(is_token(b"X-Request_Id.1~"));
        for bad in [&b""[..], b"a b", b"a:b", b"a\r", b"\x00", b"\xe9", b"a\"b", b"(a)", b"\x7f"] {
            assert!(!is_token(bad), "{bad:?}");
        }
        assert_eq!(trim(b"  "), b"");
    }
}
