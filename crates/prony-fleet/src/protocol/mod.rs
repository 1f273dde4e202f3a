//! What is sent: subjects, envelopes, messages, and the signatures of commands.
//!
//! The major version is in the subject. A minor version only adds fields and kinds of messages: a reader ignores fields
//! that it doesn't know, and drops messages of a kind that it doesn't know. `tests/golden/` has each message as version
//! 1.0 writes it.

mod command;
mod envelope;
mod error;
mod keys;
mod plan;
mod replay;
mod report;
mod signed;
mod subject;

pub use command::{Command, Offer};
pub use envelope::{Envelope, ID_MAX, PAYLOAD_MAX, V_MINOR};
pub use error::ProtocolError;
pub use keys::{ControllerKey, KeyError, PublicKey};
pub use plan::{Task, WirePlan};
pub use replay::ReplayWindow;
pub use report::{
    Answer, Heartbeat, Live, PART_BYTES, Part, RESULT_BYTES_MAX, Refusals, Report, ResultKind, Work,
};
pub use signed::{open, seal};
pub use subject::{AgentName, RunName, Subject};
