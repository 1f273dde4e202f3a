//! What can be wrong with a message.

/// Why a message is dropped. None of these is answered: anyone who sent it may not be who it claims to be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProtocolError {
    /// Longer than any message may be; not decoded.
    #[error("a message of {bytes} bytes, more than the {max} that one may have")]
    TooLong {
        /// Its length.
        bytes: usize,
        /// The limit.
        max: usize,
    },
    /// Not JSON, or not of a known kind.
    #[error("a message that can't be read ({0})")]
    Unreadable(String),
    /// A value outside of its bounds.
    #[error("a message with an impossible {0}")]
    Bounds(&'static str),
    /// No signature, or one of somebody else.
    #[error("a command that the controller has not signed")]
    Forged,
    /// Signed in an earlier epoch: an old command, or a controller that has been replaced.
    #[error("a command of epoch {epoch}, which is over: the controller is in epoch {current}")]
    StaleEpoch {
        /// The command's.
        epoch: u64,
        /// The highest that was seen.
        current: u64,
    },
    /// A counter that was used before.
    #[error("a command that was received before (counter {0})")]
    Replayed(u64),
}
