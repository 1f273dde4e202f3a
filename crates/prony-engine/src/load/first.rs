//! What the first complete response says of itself.

use crate::clock::Nanos;
use crate::load::driver::Slot;

/// Bytes of a `Server` field that are kept.
const SERVER_BYTES: usize = 128;

/// The first complete response of a worker.
#[derive(Debug, Clone)]
pub(crate) struct First {
    /// When it was complete.
    pub at: Nanos,
    /// Its status code.
    pub status: u16,
    /// Its `Server` field.
    pub server: Option<Box<str>>,
    /// Length of its body.
    pub body_bytes: u64,
}

/// Waits for a worker's first complete response.
#[derive(Debug)]
pub(crate) enum Watch {
    /// For a head, of any connection.
    Head,
    /// For the end of the response of this connection, or of this stream.
    End(Slot, Option<Box<str>>),
    /// It has come.
    Over,
}

impl Watch {
    /// The final head of `slot` has come, with this `Server` field. Allocates for the first one only.
    #[inline]
    pub(crate) fn head<'a>(&mut self, slot: Slot, server: impl FnOnce() -> Option<&'a [u8]>) {
        if matches!(self, Self::Head) {
            *self = Self::End(slot, server().map(shown));
        }
    }

    /// The response of `slot` is complete: returns it, if it is the first one.
    #[inline]
    pub(crate) fn complete(&mut self, slot: Slot, at: Nanos, status: u16, body_bytes: u64) -> Option<First> {
        match self {
            Self::End(watched, server) if *watched == slot => {
                let first = First { at, status, server: server.take(), body_bytes };
                *self = Self::Over;
                Some(first)
            }
            _ => None,
        }
    }

    /// The connection of `slot` is gone.
    pub(crate) fn gone(&mut self, slot: Slot) {
        if matches!(self, Self::End(watched, _) if *watched == slot) {
            *self = Self::Head;
        }
    }
}

/// A server's name for itself, cut to a length that can be shown.
fn shown(value: &[u8]) -> Box<str> {
    String::from_utf8_lossy(&value[..value.len().min(SERVER_BYTES)]).into()
}
