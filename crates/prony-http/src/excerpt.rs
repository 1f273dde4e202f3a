//! The beginning of an answer, made printable for a report.

use std::fmt;

/// How much of an answer is shown: enough for a status line, a TLS record header or a banner.
pub const EXCERPT_BYTES: usize = 64;

/// Displays the first [`EXCERPT_BYTES`] of some bytes in printable ASCII, the rest escaped as in Rust.
///
/// What was left out is noted: `\x15\x03\x01… (3 of 900 bytes)`.
#[derive(Debug, Clone, Copy)]
pub struct Excerpt<'a>(pub &'a [u8]);

impl fmt::Display for Excerpt<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = &self.0[..self.0.len().min(EXCERPT_BYTES)];
        write!(f, "{}", shown.escape_ascii())?;
        if shown.len() < self.0.len() {
            write!(f, "… ({} of {} bytes)", shown.len(), self.0.len())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::Excerpt;

    fn check(bytes: &[u8], expected: &str) {
        assert_eq!(Excerpt(bytes).to_string(), expected);
    }

    #[test]
    fn excerpts_are_printable_and_bounded() {
        check(b"", "");
        check(b"SSH-2.0-OpenSSH\r\n", r"SSH-2.0-OpenSSH\r\n");
        check(b"\x15\x03\x01\xff\x1b[31m", r"\x15\x03\x01\xff\x1b[31m");
        check(&[b'a'; 64], &"a".repeat(64));
        check(&[b'a'; 900], &format!("{}… (64 of 900 bytes)", "a".repeat(64)));
    }
}
