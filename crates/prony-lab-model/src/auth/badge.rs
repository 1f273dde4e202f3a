//! The address of a project's badge: anyone who has it sees the badge, as a code host's page does that shows it to everybody,
//! and nothing else of the lab.

use hmac::Mac as _;
use subtle::ConstantTimeEq as _;

use super::{Secret, hexadecimal, hmac};

/// Says what the key was used for.
const PURPOSE: &[u8] = b"prony lab badge ";
/// Digits of a seal: 128 bits.
const SEAL_DIGITS: usize = 32;

/// What makes and knows the addresses of badges.
#[derive(Debug, Clone)]
pub struct BadgeSeal([u8; 32]);

impl BadgeSeal {
    /// For a lab with this key.
    pub fn new(key: &Secret) -> Self {
        Self(key.bytes())
    }

    /// The path of the badge of `project`.
    pub fn path(&self, project: &str) -> String {
        format!("/badge/{project}/{}.svg", self.seal(project))
    }

    /// Whether `file` is the last part of that path.
    pub fn is(&self, project: &str, file: &str) -> bool {
        file.strip_suffix(".svg")
            .is_some_and(|seal| self.seal(project).as_bytes().ct_eq(seal.as_bytes()).into())
    }

    fn seal(&self, project: &str) -> String {
        let mut mac = hmac(&self.0);
        mac.update(PURPOSE);
        mac.update(project.as_bytes());
        let mut digits = hexadecimal(&mac.finalize().into_bytes());
        digits.truncate(SEAL_DIGITS);
        digits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_of_one_project_of_one_lab() {
        let seal = BadgeSeal::new(&Secret::new());
        let path = seal.path("web");
        let file = path.strip_prefix("/badge/web/").expect("a path");
        assert!(seal.is("web", file), "{path}");
        assert!(!seal.is("shop", file) && !seal.is("web", ".svg") && !seal.is("web", &file[1..]));
        assert!(!BadgeSeal::new(&Secret::new()).is("web", file), "another lab's");
    }
}
