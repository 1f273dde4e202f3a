//! A result that arrives in parts.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::agent::sha256;
use crate::protocol::{PART_BYTES, Part, RESULT_BYTES_MAX, ResultKind};

/// The parts so far.
#[derive(Debug, Clone, Default)]
pub(super) struct Assembly {
    id: Option<String>,
    bytes: Vec<u8>,
    next: u32,
    done: bool,
}

/// What a part led to.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Taken {
    /// More parts are missing, from this one on.
    More(u32),
    /// The result is whole.
    Whole(ResultKind, Vec<u8>),
    /// It was whole before.
    Again,
    /// The part is damaged, or of another result.
    Bad(&'static str),
}

impl Assembly {
    /// Takes a part; of several results, the first one counts.
    pub(super) fn take(&mut self, part: &Part) -> Taken {
        if self.id.as_ref().is_some_and(|id| *id != part.result) {
            return Taken::Bad("a second result");
        }
        if self.done {
            return Taken::Again;
        }
        if part.bytes > RESULT_BYTES_MAX {
            return Taken::Bad("a result that is too long");
        }
        self.id.get_or_insert_with(|| part.result.clone());
        if part.index != self.next {
            return Taken::More(self.next);
        }
        let Ok(data) = STANDARD.decode(&part.data) else { return Taken::Bad("a part that can't be read") };
        let before = self.bytes.len() as u64;
        let whole = before + data.len() as u64 == part.bytes;
        if sha256(&data) != part.part_sha256 || (!whole && data.len() != PART_BYTES) {
            return Taken::Bad("a damaged part");
        }
        self.bytes.extend_from_slice(&data);
        self.next += 1;
        if !whole {
            return Taken::More(self.next);
        }
        if sha256(&self.bytes) != part.sha256 {
            *self = Self::default();
            return Taken::Bad("a damaged result");
        }
        self.done = true;
        Taken::Whole(part.is, std::mem::take(&mut self.bytes))
    }

    /// All parts before this one are there.
    pub(super) fn next(&self) -> u32 {
        self.next
    }
}
