//! Passwords, kept as Argon2id.

use argon2::password_hash::phc::PasswordHash;
use argon2::{Algorithm, Argon2, Params, PasswordHasher as _, PasswordVerifier as _, Version};

use super::random;

/// Memory, passes and lanes: OWASP's Password Storage Cheat Sheet, its first choice for Argon2id with 19 MiB.
const MEMORY_KIB: u32 = 19_456;
const PASSES: u32 = 2;
const LANES: u32 = 1;
/// What the PHC string format recommends.
const SALT_BYTES: usize = 16;
/// Between the 8 that ASVS 5.0 (6.2.1) requires and the 15 that it recommends.
const CHARACTERS_MIN: usize = 12;
/// ASVS 5.0 (6.2.9) wants at least 64 to be possible; without a bound, hashing serves as an attack.
const BYTES_MAX: usize = 256;

/// A password as it was typed, once it may be one.
#[derive(Clone)]
pub struct Password(String);

/// Why something is no password.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PasswordError {
    /// Too short.
    #[error("a password has at least {CHARACTERS_MIN} characters: a few words are good")]
    Short,
    /// Too long.
    #[error("a password has at most {BYTES_MAX} bytes: take a shorter one")]
    Long,
    /// The user's own name.
    #[error("the password holds the user's name, which is tried first: take another")]
    Name,
    /// One character, again and again.
    #[error("the password has fewer than 5 different characters: a few words are good")]
    Monotonous,
}

impl Password {
    /// Takes `typed` for the password of the user `name`, if it is good enough. It is taken as it is: no character is
    /// forbidden, none is required.
    pub fn choose(typed: &str, name: &str) -> Result<Self, PasswordError> {
        let mut different: Vec<char> = typed.chars().collect();
        let characters = different.len();
        different.sort_unstable();
        different.dedup();
        if characters < CHARACTERS_MIN {
            Err(PasswordError::Short)
        } else if typed.len() > BYTES_MAX {
            Err(PasswordError::Long)
        } else if !name.is_empty() && typed.to_lowercase().contains(&name.to_lowercase()) {
            Err(PasswordError::Name)
        } else if different.len() < 5 {
            Err(PasswordError::Monotonous)
        } else {
            Ok(Self(typed.to_owned()))
        }
    }

    /// What is stored of it, as a PHC string. Takes tens of milliseconds and 19 MiB: not for a thread that others wait
    /// for.
    pub fn hash(&self) -> String {
        hasher()
            .hash_password_with_salt(self.0.as_bytes(), &random::<SALT_BYTES>())
            .map(|hash| hash.to_string())
            .expect("invariant: a bounded password and a good salt have a hash")
    }

    /// Whether `typed` is the password of which `stored` is kept; `None` stands for a user that isn't there, for whom it
    /// takes as long to refuse. As slow as [`Self::hash`].
    pub fn verify(typed: &str, stored: Option<&str>) -> bool {
        if typed.len() > BYTES_MAX {
            return false;
        }
        let known = stored.and_then(|text| PasswordHash::new(text).ok());
        if let Some(hash) = known {
            return hasher().verify_password(typed.as_bytes(), &hash).is_ok();
        }
        // The same work, whose result nobody looks at.
        let _ = hasher().hash_password_with_salt(typed.as_bytes(), &[0; SALT_BYTES]);
        false
    }
}

fn hasher() -> Argon2<'static> {
    let params =
        Params::new(MEMORY_KIB, PASSES, LANES, None).expect("invariant: the parameters are in range");
    Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_known_again() {
        let password = Password::choose("korrektes Pferd 7", "ada").expect("a password");
        let stored = password.hash();
        assert!(stored.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{stored}");
        assert_ne!(stored, password.hash(), "each has its own salt");
        assert!(Password::verify("korrektes Pferd 7", Some(&stored)));
        assert!(!Password::verify("korrektes Pferd 8", Some(&stored)));
        assert!(!Password::verify("korrektes Pferd 7", None));
        assert!(!Password::verify("korrektes Pferd 7", Some("")));
        assert!(!Password::verify(&"x".repeat(257), Some(&stored)));
    }

    #[test]
    fn what_is_no_password() {
        let check = |typed: &str, expected| {
            assert_eq!(Password::choose(typed, "ada").err(), expected, "{typed}");
        };
        check("elevenchars", Some(PasswordError::Short));
        check("twelve chars", None);
        check(&"ab cde".repeat(43), Some(PasswordError::Long));
        check("i am Ada Lovelace", Some(PasswordError::Name));
        check("aaaabbbbccccdddd", Some(PasswordError::Monotonous));
        check("zwölf Zeichen ü", None);
    }
}
