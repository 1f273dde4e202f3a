//! Whether the notification of a push comes from the code host that shares a secret with the lab.

use hmac::Mac as _;
use subtle::ConstantTimeEq as _;

use super::hmac;
use super::secret::from_hexadecimal;

/// What came with a push, as code hosts prove that it is theirs.
#[derive(Debug, Clone, Copy)]
pub enum PushProof<'a> {
    /// HMAC-SHA256 of the body in hexadecimal digits: `X-Hub-Signature-256` of GitHub (`sha256=…`), `X-Gitea-Signature`,
    /// `X-Forgejo-Signature`.
    Signature(&'a str),
    /// The secret itself: `X-Gitlab-Token`.
    Token(&'a str),
}

impl PushProof<'_> {
    /// Whether it proves that `body` comes from who knows `secret`.
    pub fn holds(&self, secret: &[u8], body: &[u8]) -> bool {
        match self {
            Self::Token(token) => token.as_bytes().ct_eq(secret).into(),
            Self::Signature(text) => {
                let digits = text.strip_prefix("sha256=").unwrap_or(text);
                let Some(signature) = from_hexadecimal::<32>(digits) else { return false };
                let mut mac = hmac(secret);
                mac.update(body);
                mac.verify_slice(&signature).is_ok()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// GitHub's own example (Validating webhook deliveries).
    #[test]
    fn a_signature_is_that_of_the_body() {
        let secret = b"It's a Secret to Everybody";
        let digits = "757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
        let github = format!("sha256={digits}");
        assert!(PushProof::Signature(&github).holds(secret, b"Hello, World!"));
        assert!(PushProof::Signature(digits).holds(secret, b"Hello, World!"), "Gitea's form");
        assert!(!PushProof::Signature(&github).holds(secret, b"Hello, World?"));
        assert!(!PushProof::Signature(&github).holds(b"another", b"Hello, World!"));
        for none in ["", "sha256=", "sha1=757107", &digits[1..], "\u{e9}"] {
            assert!(!PushProof::Signature(none).holds(secret, b"Hello, World!"), "{none}");
        }
        assert!(PushProof::Token("It's a Secret to Everybody").holds(secret, b""));
        assert!(
            !PushProof::Token("It's a Secret").holds(secret, b"") && !PushProof::Token("").holds(secret, b"")
        );
    }
}
