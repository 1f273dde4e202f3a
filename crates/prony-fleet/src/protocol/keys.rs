//! The controller's keys: Ed25519 (RFC 8032).

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ring::rand::SystemRandom;
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair as _, UnparsedPublicKey};

/// Bytes of a public key.
const PUBLIC_BYTES: usize = 32;
/// Bytes of a signature.
pub(crate) const SIGNATURE_BYTES: usize = 64;

/// A key that can't be read or made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// A private key in another format.
    #[error("it is no private key of a controller: `prony agent lab-key` makes one")]
    Private,
    /// A public key in another format.
    #[error(
        "`{0}` is no public key of a controller: on the controller's machine, `prony agent lab-key` prints it"
    )]
    Public(String),
    /// The system has no random numbers.
    #[error("the system has no random numbers: is this a container without getrandom?")]
    Random,
}

/// What signs commands.
pub struct ControllerKey(Ed25519KeyPair);

impl ControllerKey {
    /// A new one, as the text that [`Self::read`] reads: PKCS#8 in base64.
    pub fn generate() -> Result<String, KeyError> {
        let document = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).map_err(|_| KeyError::Random)?;
        Ok(STANDARD.encode(document))
    }

    /// Reads the text of a private key.
    pub fn read(text: &str) -> Result<Self, KeyError> {
        let document = STANDARD.decode(text.trim()).map_err(|_| KeyError::Private)?;
        Ed25519KeyPair::from_pkcs8(&document).map(Self).map_err(|_| KeyError::Private)
    }

    /// What agents know it by.
    pub fn public(&self) -> PublicKey {
        let bytes = self.0.public_key().as_ref().try_into();
        PublicKey(bytes.expect("invariant: public keys of Ed25519 have 32 bytes"))
    }

    /// Signs `bytes`.
    pub(crate) fn sign(&self, bytes: &[u8]) -> [u8; SIGNATURE_BYTES] {
        let signature = self.0.sign(bytes);
        signature.as_ref().try_into().expect("invariant: signatures of Ed25519 have 64 bytes")
    }
}

impl std::fmt::Debug for ControllerKey {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(to, "ControllerKey({})", self.public())
    }
}

/// What verifies commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PublicKey([u8; PUBLIC_BYTES]);

impl PublicKey {
    /// Reads what [`Self`] prints: 43 characters of base64url.
    pub fn read(text: &str) -> Result<Self, KeyError> {
        let bytes = URL_SAFE_NO_PAD.decode(text.trim()).ok().and_then(|bytes| bytes.try_into().ok());
        bytes.map(Self).ok_or_else(|| KeyError::Public(text.trim().chars().take(80).collect()))
    }

    /// Whether the controller signed `bytes`.
    pub(crate) fn verify(&self, bytes: &[u8], signature: &[u8]) -> bool {
        UnparsedPublicKey::new(&ED25519, self.0).verify(bytes, signature).is_ok()
    }
}

impl std::fmt::Display for PublicKey {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.write_str(&URL_SAFE_NO_PAD.encode(self.0))
    }
}
