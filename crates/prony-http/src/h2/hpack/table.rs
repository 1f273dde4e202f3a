//! The dynamic table of a decoder (RFC 7541 section 2.3.2).

use std::collections::VecDeque;

use crate::h2::hpack::fields::FIELD_OVERHEAD_BYTES;
use crate::h2::hpack::static_table;

/// The size that both sides begin with, and the largest that we allow (RFC 9113 section 6.5.2).
pub(crate) const TABLE_BYTES: usize = 4096;

/// The fields that were sent last, newest first, and the static ones before them.
///
/// Takes at most 8 KiB for names and values and 2 KiB for entries, and less until it is needed.
#[derive(Debug)]
pub(crate) struct Table {
    /// Names and values, the oldest first, with evicted ones before them.
    bytes: Vec<u8>,
    /// The oldest entry first.
    entries: VecDeque<Entry>,
    /// What the entries count (RFC 7541 section 4.1).
    size: usize,
    size_max: usize,
    /// How often entries were added or evicted: what an index means has changed as often.
    changes: u64,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    start: u32,
    name_bytes: u16,
    value_bytes: u16,
}

impl Entry {
    fn size(self) -> usize {
        self.len() + FIELD_OVERHEAD_BYTES
    }

    fn len(self) -> usize {
        usize::from(self.name_bytes) + usize::from(self.value_bytes)
    }
}

impl Table {
    pub(crate) fn new() -> Self {
        Self { bytes: Vec::new(), entries: VecDeque::new(), size: 0, size_max: TABLE_BYTES, changes: 0 }
    }

    /// Back to an empty table; keeps its memory.
    pub(crate) fn reset(&mut self) {
        self.bytes.clear();
        self.entries.clear();
        (self.size, self.size_max) = (0, TABLE_BYTES);
        self.changes += 1;
    }

    /// See the field.
    #[inline]
    pub(crate) fn changes(&self) -> u64 {
        self.changes
    }

    /// The table is to be changed, later: what was learned from it does not hold any more.
    #[inline]
    pub(crate) fn will_change(&mut self) {
        self.changes += 1;
    }

    /// What is counted as the size of the entries.
    #[cfg(test)]
    pub(crate) fn size(&self) -> usize {
        self.size
    }

    /// Name and value of an entry, counted from 1, the static ones first.
    #[inline]
    pub(crate) fn get(&self, index: usize) -> Option<(&[u8], &[u8])> {
        let index = index.checked_sub(1)?;
        if let Some((name, value)) = static_table::ENTRIES.get(index) {
            return Some((name.as_bytes(), value.as_bytes()));
        }
        let from_newest = index - static_table::ENTRIES.len();
        let entry = self.entries.get(self.entries.len().checked_sub(from_newest + 1)?)?;
        let start = usize::try_from(entry.start).expect("invariant: this is a 64-bit program");
        Some(self.bytes[start..start + entry.len()].split_at(usize::from(entry.name_bytes)))
    }

    /// Adds an entry and evicts what no longer fits; one that is too large empties the table (section 4.4).
    pub(crate) fn insert(&mut self, name: &[u8], value: &[u8]) {
        self.changes += 1;
        let size = name.len() + value.len() + FIELD_OVERHEAD_BYTES;
        self.evict_until(self.size_max.saturating_sub(size));
        if size > self.size_max {
            return;
        }
        if self.bytes.len() + name.len() + value.len() > 2 * TABLE_BYTES {
            self.compact();
        }
        let fits = "invariant: an entry fits into the table";
        self.entries.push_back(Entry {
            start: u32::try_from(self.bytes.len()).expect(fits),
            name_bytes: u16::try_from(name.len()).expect(fits),
            value_bytes: u16::try_from(value.len()).expect(fits),
        });
        self.bytes.extend_from_slice(name);
        self.bytes.extend_from_slice(value);
        self.size += size;
    }

    /// Changes how large it may grow, to at most [`TABLE_BYTES`].
    pub(crate) fn resize(&mut self, size_max: usize) {
        self.changes += 1;
        self.size_max = size_max.min(TABLE_BYTES);
        self.evict_until(self.size_max);
    }

    fn evict_until(&mut self, size: usize) {
        while self.size > size {
            let oldest = self.entries.pop_front().expect("invariant: an empty table has the size 0");
            self.size -= oldest.size();
        }
        if self.entries.is_empty() {
            self.bytes.clear();
        }
    }

    /// Drops the bytes of evicted entries: at least half of all.
    fn compact(&mut self) {
        let evicted = self.entries.front().map_or(0, |entry| entry.start);
        self.bytes.drain(..usize::try_from(evicted).expect("invariant: this is a 64-bit program"));
        for entry in &mut self.entries {
            entry.start -= evicted;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_come_and_go_within_bounds() {
        let mut table = Table::new();
        for round in 0..10_000_u32 {
            let (name, value) = (format!("name-{round}"), "v".repeat((round * 37 % 900) as usize));
            table.insert(name.as_bytes(), value.as_bytes());
            assert_eq!(table.get(62), Some((name.as_bytes(), value.as_bytes())));
            assert!(table.size() <= TABLE_BYTES && table.bytes.len() <= 2 * TABLE_BYTES);
        }
        let kept = table.entries.len();
        assert!(table.get(61 + kept).is_some() && table.get(62 + kept).is_none());
        let large = "x".repeat(TABLE_BYTES);
        table.insert(b"", large.as_bytes());
        assert_eq!((table.size(), table.get(62)), (0, None), "too large for the table");
        assert_eq!((table.get(0), table.get(usize::MAX)), (None, None));
    }

    #[test]
    fn a_smaller_table_evicts_the_oldest() {
        let mut table = Table::new();
        for name in [b"a", b"b", b"c"] {
            table.insert(name, b"1");
        }
        let before = table.changes();
        table.resize(70);
        assert_ne!(table.changes(), before);
        let found: Vec<_> = (62..66).map(|index| table.get(index).map(|(name, _)| name.to_vec())).collect();
        assert_eq!(found, [Some(b"c".to_vec()), Some(b"b".to_vec()), None, None]);
        table.resize(0);
        table.insert(b"d", b"1");
        assert_eq!(table.get(62), None);
    }
}
