//! 256 bits of chance, and what is kept of them.

use std::fmt;

use hmac::{Hmac, KeyInit as _};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

/// Bytes of a secret: 256 bits, so that nobody ever guesses one, nor finds it from its digest.
const SECRET_BYTES: usize = 32;

/// A secret that somebody holds: of a session, of an invitation, of an API token. Shown once, then only its digest is
/// kept.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret([u8; SECRET_BYTES]);

/// The SHA-256 of a secret, which the store keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Digest(pub [u8; 32]);

/// A text that is no secret of ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("this is no secret of this lab: it should be 64 hexadecimal digits")]
pub struct SecretError;

impl Secret {
    /// A new one, from the kernel.
    pub fn new() -> Self {
        Self(random())
    }

    /// The one that `text` writes.
    pub fn read(text: &str) -> Result<Self, SecretError> {
        from_hexadecimal(text).map(Self).ok_or(SecretError)
    }

    /// It, in 64 hexadecimal digits: for its holder only.
    pub fn text(&self) -> String {
        hexadecimal(&self.0)
    }

    /// Its bytes, for a key.
    pub fn bytes(&self) -> [u8; SECRET_BYTES] {
        self.0
    }

    /// What is kept of it.
    pub fn digest(&self) -> Digest {
        Digest(Sha256::digest(self.0).into())
    }

    /// Whether `text` writes this secret, in a time that doesn't depend on how much of it is right.
    pub fn is(&self, text: &str) -> bool {
        Self::read(text).is_ok_and(|other| bool::from(self.0.ct_eq(&other.0)))
    }
}

impl Default for Secret {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Secret {
    /// Never the secret: whatever is printed ends up in a log.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Secret")
    }
}

impl Digest {
    /// Whether it is `other`, in constant time.
    pub fn is(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }

    /// It, in 64 hexadecimal digits.
    pub fn text(&self) -> String {
        hexadecimal(&self.0)
    }

    /// The one that `text` writes.
    pub fn read(text: &str) -> Option<Self> {
        from_hexadecimal(text).map(Self)
    }
}

/// HMAC-SHA256 with `key`, over what is still to be fed to it.
pub fn hmac(key: &[u8]) -> Hmac<Sha256> {
    Hmac::new_from_slice(key).expect("invariant: HMAC takes keys of any length")
}

/// Bytes from the kernel's generator.
pub fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    let mut filled = 0;
    while filled < N {
        // Without flags it waits once, at boot, until there is enough chance, and then fails for a signal at most.
        match rustix::rand::getrandom(&mut bytes[filled..], rustix::rand::GetRandomFlags::empty()) {
            Ok(count) => filled += count,
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => panic!("invariant: the kernel has getrandom(2), which says {error}"),
        }
    }
    bytes
}

/// `bytes` in hexadecimal digits.
pub fn hexadecimal(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    bytes
        .iter()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .map(|digit| char::from(DIGITS[usize::from(digit)]))
        .collect()
}

/// The bytes that `text` writes in small hexadecimal digits: each value has one writing.
pub(crate) fn from_hexadecimal<const N: usize>(text: &str) -> Option<[u8; N]> {
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    if text.len() != 2 * N {
        return None;
    }
    let mut bytes = [0; N];
    for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
        *byte = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_differ_and_come_back() {
        let [one, other] = [Secret::new(), Secret::new()];
        assert_ne!(one, other);
        assert_eq!(Secret::read(&one.text()), Ok(one.clone()));
        assert!(one.is(&one.text()) && !one.is(&other.text()) && !one.is(""));
        assert!(one.digest().is(&one.digest()) && !one.digest().is(&other.digest()));
        assert_eq!(Digest::read(&one.digest().text()), Some(one.digest()));
        assert_ne!(one.digest().text(), one.text());
        assert_eq!(format!("{one:?}"), "Secret");
    }

    #[test]
    fn texts_that_are_no_secrets() {
        let long = "a".repeat(65);
        let capital = "A".repeat(64);
        let odd = format!("{}g", "a".repeat(63));
        let wide = "ä".repeat(32);
        for text in ["", "ab", &long, &capital, &odd, &wide] {
            assert_eq!(Secret::read(text), Err(SecretError), "{text}");
        }
    }
}
