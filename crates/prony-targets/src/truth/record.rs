//! One request in the log: 72 bytes, laid out as [`super::log`] describes.

use std::io::{self, Write};

pub(super) const RECORD_BYTES: usize = 72;
const FLAG_STAMPED: u32 = 1;
const FLAG_CLOCK_MOVED: u32 = 2;

/// What became of one request. Times are ns on the monotonic clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record {
    /// The id the client gave it, or else its number among those without: the first is 0.
    pub id: u64,
    /// The number of its connection: the first is 0.
    pub connection: u64,
    /// The client's port of that connection.
    pub peer_port: u16,
    /// When its last byte reached the machine.
    pub arrival_ns: u64,
    /// When the server had read it.
    pub read_ns: u64,
    /// When its service was to begin: its arrival, unless it had to wait (single worker, freeze).
    pub start_ns: u64,
    /// The delay it was to have, from its arrival to the first byte of its reply: what was drawn and, for a
    /// single worker or in a freeze, the wait that follows from it.
    pub delay_ns: u64,
    /// Just before the first byte of the reply, or the reset, was handed to the kernel; 0 if none was.
    pub first_ns: u64,
    /// Just before the last piece of the reply was.
    pub last_ns: u64,
    /// How it ended.
    pub outcome: Outcome,
    /// The arrival is the kernel's; otherwise it is `read_ns`.
    pub stamped: bool,
    /// Within the second before, the realtime clock moved by more than 10 µs against the monotonic one.
    pub clock_moved: bool,
}

/// How a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Answered 200.
    Success,
    /// Answered 500, as drawn.
    Error,
    /// Reset, as drawn.
    Reset,
    /// The client left before all was sent, or the server stopped.
    Unfinished,
}

impl Record {
    /// What the server took, from the arrival to the first byte of the reply, ns.
    pub fn residence_ns(&self) -> u64 {
        self.first_ns.saturating_sub(self.arrival_ns)
    }

    pub(super) fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let numbers = [
            self.id,
            self.connection,
            self.arrival_ns,
            self.read_ns,
            self.start_ns,
            self.delay_ns,
            self.first_ns,
            self.last_ns,
        ];
        let flags = u32::from(self.stamped) * FLAG_STAMPED + u32::from(self.clock_moved) * FLAG_CLOCK_MOVED;
        let mut slot = [0; RECORD_BYTES];
        for (place, number) in slot.chunks_exact_mut(8).zip(numbers) {
            place.copy_from_slice(&number.to_le_bytes());
        }
        slot[64..66].copy_from_slice(&(self.outcome as u16).to_le_bytes());
        slot[66..68].copy_from_slice(&self.peer_port.to_le_bytes());
        slot[68..].copy_from_slice(&flags.to_le_bytes());
        out.write_all(&slot)
    }

    /// `None` when the outcome is none that is ever written.
    pub(super) fn from_bytes(slot: &[u8]) -> Option<Self> {
        let number = |index: usize| u64_at(slot, index * 8);
        let flags = u32_at(slot, 68);
        Some(Self {
            id: number(0),
            connection: number(1),
            arrival_ns: number(2),
            read_ns: number(3),
            start_ns: number(4),
            delay_ns: number(5),
            first_ns: number(6),
            last_ns: number(7),
            peer_port: u16_at(slot, 66),
            outcome: match u16_at(slot, 64) {
                0 => Outcome::Success,
                1 => Outcome::Error,
                2 => Outcome::Reset,
                3 => Outcome::Unfinished,
                _ => return None,
            },
            stamped: flags & FLAG_STAMPED != 0,
            clock_moved: flags & FLAG_CLOCK_MOVED != 0,
        })
    }
}

pub(super) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("invariant: eight bytes"))
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(bytes[at..at + 2].try_into().expect("invariant: two bytes"))
}

pub(super) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("invariant: four bytes"))
}
