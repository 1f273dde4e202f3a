//! Names that stand in addresses, files and forms.

use std::fmt;
use std::str::FromStr;

use prony_model::Problem;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The name of anyone who has not logged in, which no user may have.
pub const ANONYMOUS: &str = "anonymous";
/// Longer names break tables and are of no more use.
const BYTES_MAX: usize = 64;

/// Lower-case letters, digits, `-`, `_` and `.`, beginning with a letter or digit: fit for addresses and file names.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub struct Name(String);

/// A variant of a project: one of the names that its definition lists.
pub type Variant = Name;

impl Name {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Name {
    type Err = Problem;

    fn from_str(text: &str) -> Result<Self, Problem> {
        let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        let fits = (1..=BYTES_MAX).contains(&text.len())
            && text.bytes().all(|byte| is_plain(byte) || b"-_.".contains(&byte))
            && text.bytes().next().is_some_and(is_plain);
        if fits {
            return Ok(Self(text.to_owned()));
        }
        let shown: String = text.chars().take(BYTES_MAX).collect();
        Err(Problem::new(
            format!("`{shown}` is no name"),
            format!("take 1 to {BYTES_MAX} of a–z, 0–9, `-`, `_` and `.`, beginning with a letter or digit"),
        ))
    }
}

impl TryFrom<String> for Name {
    type Error = Problem;

    fn try_from(text: String) -> Result<Self, Problem> {
        text.parse()
    }
}

impl From<Name> for String {
    fn from(name: Name) -> Self {
        name.0
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_plain() {
        for good in ["a", "node-18", "7.x", &"a".repeat(64)] {
            assert_eq!(good.parse::<Name>().expect(good).as_str(), good);
        }
        for bad in ["", "A", "-a", "..", "a/b", "a b", "ä", &"a".repeat(65)] {
            assert!(bad.parse::<Name>().is_err(), "{bad}");
        }
    }
}
