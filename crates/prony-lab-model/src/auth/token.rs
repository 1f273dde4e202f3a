//! API tokens, `lab_<id>_<secret>`: the id finds the row, the secret opens the door.

use std::fmt;

use prony_model::Problem;

use super::secret::from_hexadecimal;
use super::{Digest, Secret, hexadecimal, random};

/// Begins every token, so that tools that look for leaked secrets recognise it.
const PREFIX: &str = "lab_";
/// Bytes of an id: enough that two never meet. It is no secret.
const ID_BYTES: usize = 8;

/// A token as its holder has it.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiToken {
    id: String,
    secret: Secret,
}

/// A text that is no API token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenError;

impl TokenError {
    /// What is wrong, and what to try.
    pub fn problem(&self) -> Problem {
        let advice = "it should read lab_<id>_<secret>, as `prony lab token add` printed it";
        Problem::new("this is no API token", advice)
    }
}

impl fmt::Display for TokenError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.problem().fmt(formatter)
    }
}

impl std::error::Error for TokenError {}

impl ApiToken {
    /// A new one.
    pub fn new() -> Self {
        Self { id: hexadecimal(&random::<ID_BYTES>()), secret: Secret::new() }
    }

    /// The one that `text` writes.
    pub fn read(text: &str) -> Result<Self, TokenError> {
        let (id, secret) =
            text.strip_prefix(PREFIX).and_then(|rest| rest.split_once('_')).ok_or(TokenError)?;
        from_hexadecimal::<ID_BYTES>(id).ok_or(TokenError)?;
        Ok(Self { id: id.to_owned(), secret: Secret::read(secret).map_err(|_| TokenError)? })
    }

    /// What the store finds it by: 16 hexadecimal digits, no secret.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// What the store keeps beside the id.
    pub fn digest(&self) -> Digest {
        self.secret.digest()
    }

    /// All of it, for its holder, shown once.
    pub fn text(&self) -> String {
        format!("{PREFIX}{}_{}", self.id, self.secret.text())
    }
}

impl Default for ApiToken {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for ApiToken {
    /// Without its secret.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "ApiToken({PREFIX}{}_…)", self.id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_comes_back_and_opens_its_own_door_only() {
        let [token, other] = [ApiToken::new(), ApiToken::new()];
        let read = ApiToken::read(&token.text()).expect("a token");
        assert_eq!((read.id(), read.id().len()), (token.id(), 16));
        assert!(read.digest().is(&token.digest()));
        assert!(!other.digest().is(&token.digest()));
        assert!(!format!("{token:?}").contains(&token.text()[21..]), "{token:?}");
    }

    #[test]
    fn texts_that_are_no_tokens() {
        let good = ApiToken::new().text();
        for text in [
            "",
            "lab_",
            "lab__",
            &good[1..],
            &good[..good.len() - 1],
            &good.to_uppercase(),
            &good.replacen('_', "-", 2),
        ] {
            assert_eq!(ApiToken::read(text), Err(TokenError), "{text}");
        }
    }
}
