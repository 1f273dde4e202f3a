//! What carries messages: NATS between machines, memory within a process. A bus may lose, repeat and reorder messages;
//! nothing is true because it was published.

mod memory;
mod nats;
mod nkey;
mod version;

pub use memory::Hub;
pub use nats::{NatsBus, NatsOptions};
pub use nkey::Nkey;
pub use version::check_version;

use crate::protocol::Subject;

/// Publishes; what arrives on subscribed subjects goes to the [`Sink`] that the bus was made with.
pub trait Bus: Send + Sync {
    /// Sends a message if there is room and a connection; waits for neither.
    fn publish(&self, subject: &Subject, payload: Vec<u8>) -> Result<(), BusError>;
}

/// What a bus has for its user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BusEvent {
    /// A message.
    Message {
        /// Where it arrived.
        subject: Subject,
        /// Its bytes.
        payload: Vec<u8>,
    },
    /// There is a connection (again).
    Up,
    /// There is none; the bus connects again by itself.
    Down,
    /// Something that people should know.
    Problem(String),
    /// The bus is of no use any more.
    Fatal(String),
}

/// Gets what a bus has; must not block for long.
pub type Sink = Box<dyn Fn(BusEvent) + Send + Sync>;

/// Why a message was not sent, or there is no bus.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BusError {
    /// More messages wait than may.
    #[error("too many messages wait for the connection: anyone who waits for an answer sends again")]
    Full,
    /// No connection.
    #[error("{0}")]
    Connect(String),
}
