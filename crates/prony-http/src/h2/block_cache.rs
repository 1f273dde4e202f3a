//! Field blocks that repeat are decoded once.
//!
//! The heads of a benchmark's answers are nearly always alike, and so are the few bytes that they are compressed to. What
//! a block means depends on its bytes, on where it stands and, if it names entries of the dynamic table, on that table. A
//! block that changes the table is never remembered, for decoding it again has an effect.

use crate::h2::hpack::decoder::Effect;
use crate::h2::hpack::fields::{FieldList, Fields};
use crate::h2::message::{Meaning, Part};

/// How many different blocks are remembered for each connection: a head, and trailers or an interim head.
const BLOCKS: usize = 2;
/// The longest block that is remembered: a head without any compression has 100 to 800 bytes.
const BLOCK_BYTES_MAX: usize = 1024;
/// The longest list of fields that is remembered, without what is counted for each field.
const FIELDS_BYTES_MAX: usize = 2048;

/// The last field blocks of one connection.
#[derive(Debug, Default)]
pub(crate) struct BlockCache {
    places: [Option<Remembered>; BLOCKS],
    /// The one that came last.
    latest: usize,
}

#[derive(Debug)]
struct Remembered {
    block: Vec<u8>,
    fields: FieldList,
    part: Part,
    meaning: Meaning,
    /// The table's changes when it came, if it names entries of the table.
    table_changes: Option<u64>,
}

impl Remembered {
    #[inline]
    fn is(&self, block: &[u8], part: Part, table_changes: u64) -> bool {
        self.block == block
            && self.part == part
            && self.table_changes.is_none_or(|changes| changes == table_changes)
    }
}

impl BlockCache {
    /// Forgets all, for a new connection.
    pub(crate) fn clear(&mut self) {
        self.places = [None, None];
    }

    /// The place and the meaning of `block`, if it is remembered.
    #[inline]
    pub(crate) fn recall(
        &mut self,
        block: &[u8],
        part: Part,
        table_changes: u64,
    ) -> Option<(usize, Meaning)> {
        for step in 0..BLOCKS {
            let at = (self.latest + step) % BLOCKS;
            if let Some(remembered) = &self.places[at]
                && remembered.is(block, part, table_changes)
            {
                self.latest = at;
                return Some((at, remembered.meaning));
            }
        }
        None
    }

    /// Remembers what `block` means, if that can be of use.
    pub(crate) fn remember(
        &mut self,
        block: &[u8],
        part: Part,
        meaning: Meaning,
        fields: &FieldList,
        effect: Effect,
        table_changes: u64,
    ) {
        if effect.changes_table || block.len() > BLOCK_BYTES_MAX || fields.bytes() > FIELDS_BYTES_MAX {
            return;
        }
        self.latest = (self.latest + 1) % BLOCKS;
        let place = self.places[self.latest].get_or_insert_with(|| Remembered {
            block: Vec::new(),
            fields: FieldList::default(),
            part,
            meaning,
            table_changes: None,
        });
        place.block.clear();
        place.block.extend_from_slice(block);
        place.fields.copy_from(fields);
        place.part = part;
        place.meaning = meaning;
        place.table_changes = effect.uses_table.then_some(table_changes);
    }

    /// The fields of the block at a place that was recalled.
    pub(crate) fn fields(&self, place: usize) -> Fields<'_> {
        let remembered = self.places[place].as_ref();
        remembered.expect("invariant: it was recalled just now").fields.fields()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEANING: Meaning = Meaning::Interim { status: 103 };

    fn remember(cache: &mut BlockCache, block: &[u8], uses_table: bool, changes_table: bool) {
        let effect = Effect { uses_table, changes_table };
        cache.remember(block, Part::Head, MEANING, &FieldList::default(), effect, 7);
    }

    fn is_known(cache: &mut BlockCache, block: &[u8], changes: u64) -> bool {
        cache.recall(block, Part::Head, changes).is_some()
    }

    #[test]
    fn what_names_the_table_is_known_until_the_table_changes() {
        let mut cache = BlockCache::default();
        remember(&mut cache, b"indexed", true, false);
        remember(&mut cache, b"literal", false, false);
        assert!(is_known(&mut cache, b"indexed", 7) && !is_known(&mut cache, b"indexed", 8));
        assert!(is_known(&mut cache, b"literal", 7) && is_known(&mut cache, b"literal", 8));
        assert!(!is_known(&mut cache, b"litera", 7) && !is_known(&mut cache, b"literal.", 7));
        assert_eq!(cache.recall(b"literal", Part::Trailers, 7), None);
        cache.clear();
        assert!(!is_known(&mut cache, b"literal", 7));
    }

    #[test]
    fn what_changes_the_table_or_is_long_is_not_remembered() {
        let mut cache = BlockCache::default();
        remember(&mut cache, b"adds", false, true);
        remember(&mut cache, &[7; BLOCK_BYTES_MAX + 1], false, false);
        assert!(!is_known(&mut cache, b"adds", 7));
        assert!(!is_known(&mut cache, &[7; BLOCK_BYTES_MAX + 1], 7));
    }

    #[test]
    fn the_last_ones_stay() {
        let mut cache = BlockCache::default();
        for block in [b"a", b"b", b"c"] {
            remember(&mut cache, block, false, false);
        }
        assert_eq!([b"a", b"b", b"c"].map(|block| is_known(&mut cache, block, 0)), [false, true, true]);
    }
}
