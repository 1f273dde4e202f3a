//! Keys that a broker knows its clients by.

/// A key pair.
pub struct Nkey {
    /// The secret half, for the file of `--nkey`.
    pub seed: String,
    /// The public half, for the broker's configuration.
    pub public: String,
}

impl Nkey {
    /// A new one of a user. Says what went wrong.
    pub fn generate() -> Result<Self, String> {
        let pair = nkeys::KeyPair::new_user();
        let seed = pair.seed().map_err(|error| format!("no key could be made ({error})"))?;
        Ok(Self { seed, public: pair.public_key() })
    }
}
