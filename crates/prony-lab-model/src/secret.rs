//! Names of secrets: they are names of environment variables, too.

use std::fmt;
use std::str::FromStr;

use prony_model::Problem;
use serde::{Deserialize, Serialize};

/// Longer names are of no more use.
const NAME_BYTES_MAX: usize = 64;
/// What every command finds in its environment: a secret of that name would change what it runs.
const TAKEN: [&str; 6] = ["PATH", "HOME", "TMPDIR", "LANG", "CI", "TERM"];
/// What the lab itself, the linker and the shell read.
const TAKEN_BEGINNINGS: [&str; 4] = ["PRONY_", "LD_", "XDG_", "GIT_"];

/// Whether something else gives a variable of that name to commands, or relies on its absence.
pub(super) fn is_reserved(name: &str) -> bool {
    TAKEN.contains(&name) || TAKEN_BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
}

/// Capital letters, digits and `_`, beginning with a letter.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SecretName(String);

impl SecretName {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for SecretName {
    type Err = Problem;

    fn from_str(text: &str) -> Result<Self, Problem> {
        let fits = (1..=NAME_BYTES_MAX).contains(&text.len())
            && text.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
            && text.bytes().next().is_some_and(|byte| byte.is_ascii_uppercase())
            && !is_reserved(text);
        if fits {
            return Ok(Self(text.to_owned()));
        }
        let shown: String = text.chars().take(NAME_BYTES_MAX).collect();
        Err(Problem::new(
            format!("`{shown}` is no name of a secret"),
            format!(
                "take 1 to {NAME_BYTES_MAX} of A–Z, 0–9 and `_`, beginning with a letter, such as NPM_TOKEN; PATH and \
                 others that commands rely on are taken"
            ),
        ))
    }
}

impl TryFrom<String> for SecretName {
    type Error = Problem;

    fn try_from(text: String) -> Result<Self, Problem> {
        text.parse()
    }
}

impl From<SecretName> for String {
    fn from(name: SecretName) -> Self {
        name.0
    }
}

impl fmt::Display for SecretName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_variables_that_nobody_else_uses() {
        for good in ["NPM_TOKEN", "A", "S3_KEY"] {
            assert_eq!(good.parse::<SecretName>().expect(good).as_str(), good);
        }
        for wrong in ["", "token", "1A", "_A", "A-B", "A=B", "PATH", "LD_PRELOAD", "PRONY_BUILD", "GIT_SSH"] {
            assert!(wrong.parse::<SecretName>().is_err(), "{wrong}");
        }
    }
}
