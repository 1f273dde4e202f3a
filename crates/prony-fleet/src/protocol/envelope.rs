//! What is around every message.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::{ProtocolError, RunName};

/// The minor version that this program writes.
pub const V_MINOR: u16 = 0;
/// Bytes of a message at most: what a NATS server accepts without being configured.
pub const PAYLOAD_MAX: usize = 1 << 20;
/// Characters of an id at most.
pub const ID_MAX: usize = 64;

/// A message and what is known of it. `M` is [`super::Command`] or [`super::Report`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Envelope<M> {
    /// The minor version of who wrote it.
    #[serde(default)]
    pub v_minor: u16,
    /// Of a command: its id, the same each time that it is sent. Of a report: unique.
    pub msg_id: String,
    /// The controller's epoch; reports repeat the last one that the agent has seen.
    pub lab_epoch: u64,
    /// The run; absent from heartbeats outside of one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunName>,
    /// The part of the load: the agent's place among the agents of the run, from 0.
    #[serde(default)]
    pub slice: u32,
    /// How often this slice was given out, from 1.
    #[serde(default)]
    pub attempt: u32,
    /// Increases with every message of a sender; of commands, the counter that is used once in an epoch.
    pub seq: u64,
    /// The sender's monotonic clock.
    pub sent_mono_ns: u64,
    /// `kind` and `body`.
    #[serde(flatten)]
    pub message: M,
}

impl<M: Serialize> Envelope<M> {
    /// As JSON.
    pub fn encode(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("invariant: messages have text keys only")
    }
}

impl<M: DeserializeOwned> Envelope<M> {
    /// Reads a message, whose length is checked first.
    pub fn decode(bytes: &[u8]) -> Result<Self, ProtocolError> {
        if bytes.len() > PAYLOAD_MAX {
            return Err(ProtocolError::TooLong { bytes: bytes.len(), max: PAYLOAD_MAX });
        }
        let envelope: Self =
            serde_json::from_slice(bytes).map_err(|error| ProtocolError::Unreadable(error.to_string()))?;
        if envelope.msg_id.is_empty() || envelope.msg_id.len() > ID_MAX {
            return Err(ProtocolError::Bounds("id"));
        }
        Ok(envelope)
    }
}
