//! Secrets in what builds write: each is replaced, also where it comes in two pieces, or as Base64.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};

/// What stands in the place of a secret.
const MASK: &[u8] = b"***";
/// A line of a secret of several lines: shorter ones are in other texts, too.
const LINE_BYTES_MIN: usize = 8;

/// Replaces secrets.
#[derive(Debug, Clone, Default)]
pub(super) struct Mask {
    /// The longest first, so that one that is a part of another hides nothing of it.
    secrets: Vec<Vec<u8>>,
}

impl Mask {
    /// Of these values, and of what they look like in other forms.
    pub(super) fn of<'a>(values: impl Iterator<Item = &'a [u8]>) -> Self {
        let mut secrets = Vec::new();
        for value in values {
            for form in [STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD] {
                secrets.push(form.encode(value).into_bytes());
            }
            // Outputs are read line by line, and so are keys written.
            let lines = value.split(|byte| *byte == b'\n').filter(|line| line.len() >= LINE_BYTES_MIN);
            secrets.extend(lines.map(<[u8]>::to_vec));
            secrets.push(value.to_vec());
        }
        secrets.sort_unstable_by(|one, other| other.len().cmp(&one.len()).then(one.cmp(other)));
        secrets.dedup();
        Self { secrets }
    }

    /// Whether there is nothing to hide.
    pub(super) fn is_empty(&self) -> bool {
        self.secrets.is_empty()
    }

    /// `bytes` without secrets.
    pub(super) fn all(&self, bytes: &[u8]) -> Vec<u8> {
        let mut stream = MaskedStream::new(self.clone());
        let mut masked = stream.push(bytes);
        masked.extend(stream.finish());
        masked
    }

    /// The length of the secret that `bytes` begin with.
    fn at(&self, bytes: &[u8]) -> Option<usize> {
        self.secrets.iter().find(|secret| bytes.starts_with(secret)).map(Vec::len)
    }

    /// Whether a longer text that begins with `bytes` could begin with a secret.
    fn could_become_one(&self, bytes: &[u8]) -> bool {
        self.secrets.iter().any(|secret| secret.len() > bytes.len() && secret.starts_with(bytes))
    }
}

/// A text that comes in pieces.
#[derive(Debug, Default)]
pub(super) struct MaskedStream {
    mask: Mask,
    /// What could be the beginning of a secret.
    held: Vec<u8>,
}

impl MaskedStream {
    pub(super) fn new(mask: Mask) -> Self {
        Self { mask, held: Vec::new() }
    }

    /// Takes a piece, and gives what of all so far can be shown.
    pub(super) fn push(&mut self, piece: &[u8]) -> Vec<u8> {
        if self.mask.is_empty() {
            return piece.to_vec();
        }
        self.held.extend_from_slice(piece);
        self.shown(false)
    }

    /// The rest.
    pub(super) fn finish(&mut self) -> Vec<u8> {
        self.shown(true)
    }

    fn shown(&mut self, is_last: bool) -> Vec<u8> {
        let (mut shown, mut at) = (Vec::with_capacity(self.held.len()), 0);
        while at < self.held.len() {
            let rest = &self.held[at..];
            if !is_last && self.mask.could_become_one(rest) {
                break;
            }
            if let Some(length) = self.mask.at(rest) {
                shown.extend_from_slice(MASK);
                at += length;
            } else {
                shown.push(rest[0]);
                at += 1;
            }
        }
        self.held.drain(..at);
        shown
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mask(values: &[&str]) -> Mask {
        Mask::of(values.iter().map(|value| value.as_bytes()))
    }

    #[test]
    fn secrets_are_hidden_wherever_they_stand() {
        let check = |values: &[&str], text: &str, expected: &str| {
            assert_eq!(String::from_utf8_lossy(&mask(values).all(text.as_bytes())), expected, "{text}");
        };
        check(&["hunter2"], "hunter2 is hunter2hunter2 not hunter", "*** is ****** not hunter");
        check(&["hunter2"], "aHVudGVyMg== and aHVudGVyMg", "*** and ***");
        check(&["abcdef", "abcdefgh"], "abcdefgh abcdef abcdefg", "*** *** ***g");
        check(&["line one\nline two"], "x\nline two\n", "x\n***\n");
        check(&[], "hunter2", "hunter2");
    }

    #[test]
    fn a_secret_in_pieces_is_one() {
        let text = b"a hunter2 and hunt and hunter2";
        for size in 1..text.len() {
            let mut stream = MaskedStream::new(mask(&["hunter2"]));
            let mut shown: Vec<u8> = text.chunks(size).flat_map(|piece| stream.push(piece)).collect();
            shown.extend(stream.finish());
            assert_eq!(String::from_utf8_lossy(&shown), "a *** and hunt and ***", "{size}");
        }
    }
}
