//! Field blocks that repeat are decoded once.
//!
//! The heads of a benchmark's answers are nearly always alike, and so are the few bytes that they are compressed to. What
//! a block means depends on its bytes, on where it stands, on the request that it answers and, if it names entries of the
//! dynamic table, on that table.
//!
//! A block that changes the table has to do so each time. If all that it does is to add fields, whatever the table holds
//! (nginx's heads do: it keeps no table, and always adds), it is remembered with those fields, which are added when the
//! table is next needed. Mostly it never is. Other blocks that change the table are not remembered.

use crate::h2::hpack::decoder::Effect;
use crate::h2::hpack::fields::{FIELD_OVERHEAD_BYTES, FieldList, Fields};
use crate::h2::hpack::table::{TABLE_BYTES, Table};
use crate::h2::message::{Meaning, Part};
use crate::request::RequestKind;

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
    /// A place whose block was recalled so often without adding its fields to the table.
    owed: Option<(usize, usize)>,
}

/// Where a block stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Standing {
    /// In which part of a response.
    pub part: Part,
    /// To what kind of request.
    pub kind: RequestKind,
}

#[derive(Debug)]
struct Remembered {
    block: Vec<u8>,
    fields: FieldList,
    standing: Standing,
    meaning: Meaning,
    /// The table's changes when it came, if it names entries of the table.
    table_changes: Option<u64>,
    /// The fields that it adds to the table, a bit for each.
    adds: u64,
}

impl Remembered {
    #[inline]
    fn is(&self, block: &[u8], standing: Standing, table_changes: u64) -> bool {
        self.block == block
            && self.standing == standing
            && self.table_changes.is_none_or(|changes| changes == table_changes)
    }

    /// The fields that it adds to the table.
    fn added(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        (0..u64::BITS)
            .zip(self.fields.fields())
            .filter(|(number, _)| self.adds & (1_u64 << number) != 0)
            .map(|(_, field)| field)
    }
}

impl BlockCache {
    /// Forgets all, for a new connection.
    pub(crate) fn clear(&mut self) {
        self.places = [None, None];
        self.owed = None;
    }

    /// The place and the meaning of `block`, if it is remembered. What it adds to `table` is added by [`Self::settle`].
    #[inline]
    pub(crate) fn recall(
        &mut self,
        block: &[u8],
        standing: Standing,
        table: &mut Table,
    ) -> Option<(usize, Meaning)> {
        for step in 0..BLOCKS {
            let at = (self.latest + step) % BLOCKS;
            if let Some(remembered) = &self.places[at]
                && remembered.is(block, standing, table.changes())
            {
                let (meaning, adds) = (remembered.meaning, remembered.adds);
                self.latest = at;
                if adds != 0 {
                    self.owe(at, table);
                }
                return Some((at, meaning));
            }
        }
        None
    }

    #[inline]
    fn owe(&mut self, at: usize, table: &mut Table) {
        match &mut self.owed {
            Some((place, times)) if *place == at => *times += 1,
            _ => {
                self.settle(table);
                self.owed = Some((at, 1));
            }
        }
        table.will_change();
    }

    /// Adds to `table` what recalled blocks should have added: to be called before a block is decoded.
    pub(crate) fn settle(&mut self, table: &mut Table) {
        let Some((at, times)) = self.owed.take() else { return };
        let Some(remembered) = &self.places[at] else { return };
        let round_bytes: usize =
            remembered.added().map(|(name, value)| name.len() + value.len() + FIELD_OVERHEAD_BYTES).sum();
        // What was added before so many bytes has been evicted.
        let rounds = times.min(TABLE_BYTES / round_bytes.max(1) + 1);
        for _ in 0..rounds {
            for (name, value) in remembered.added() {
                table.insert(name, value);
            }
        }
    }

    /// Remembers what `block` means, if that can be of use.
    pub(crate) fn remember(
        &mut self,
        block: &[u8],
        standing: Standing,
        meaning: Meaning,
        fields: &FieldList,
        effect: Effect,
        table_changes: u64,
    ) {
        let adds = if effect.changes_table && effect.uses_table { None } else { effect.adds };
        let Some(adds) = adds else { return };
        if block.len() > BLOCK_BYTES_MAX || fields.bytes() > FIELDS_BYTES_MAX {
            return;
        }
        self.latest = (self.latest + 1) % BLOCKS;
        let place = self.places[self.latest].get_or_insert_with(|| Remembered {
            block: Vec::new(),
            fields: FieldList::default(),
            standing,
            meaning,
            table_changes: None,
            adds,
        });
        place.block.clear();
        place.block.extend_from_slice(block);
        place.fields.copy_from(fields);
        place.standing = standing;
        place.meaning = meaning;
        place.adds = adds;
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
    use proptest::prelude::*;

    use super::*;
    use crate::h2::hpack::decoder::decode;
    use crate::h2::hpack::fields::ListLimits;

    const MEANING: Meaning = Meaning::Interim { status: 103 };
    const HEAD: Standing = Standing { part: Part::Head, kind: RequestKind::Normal };
    const LIMITS: ListLimits = ListLimits { bytes: 64 * 1024, fields: 100 };

    fn remember(cache: &mut BlockCache, block: &[u8], uses_table: bool, adds: Option<u64>, table: &Table) {
        let effect = Effect { uses_table, changes_table: adds != Some(0), adds };
        let fields = FieldList::default();
        cache.remember(block, HEAD, MEANING, &fields, effect, table.changes());
    }

    fn is_known(cache: &mut BlockCache, block: &[u8], table: &mut Table) -> bool {
        cache.recall(block, HEAD, table).is_some()
    }

    #[test]
    fn what_names_the_table_is_known_until_the_table_changes() {
        let (mut cache, mut table) = (BlockCache::default(), Table::new());
        remember(&mut cache, b"indexed", true, Some(0), &table);
        remember(&mut cache, b"literal", false, Some(0), &table);
        assert!(is_known(&mut cache, b"indexed", &mut table) && is_known(&mut cache, b"literal", &mut table));
        table.will_change();
        assert!(
            !is_known(&mut cache, b"indexed", &mut table) && is_known(&mut cache, b"literal", &mut table)
        );
        assert!(
            !is_known(&mut cache, b"litera", &mut table) && !is_known(&mut cache, b"literal.", &mut table)
        );
        assert_eq!(cache.recall(b"literal", Standing { part: Part::Trailers, ..HEAD }, &mut table), None);
        let head = cache.recall(b"literal", Standing { kind: RequestKind::Head, ..HEAD }, &mut table);
        assert_eq!(head, None, "it has no body then");
        cache.clear();
        assert!(!is_known(&mut cache, b"literal", &mut table));
    }

    #[test]
    fn what_changes_the_table_beyond_adding_or_is_long_is_not_remembered() {
        let (mut cache, mut table) = (BlockCache::default(), Table::new());
        remember(&mut cache, b"resizes", false, None, &table);
        remember(&mut cache, b"names and adds", true, Some(1), &table);
        remember(&mut cache, &[7; BLOCK_BYTES_MAX + 1], false, Some(0), &table);
        for block in [&b"resizes"[..], b"names and adds", &[7; BLOCK_BYTES_MAX + 1]] {
            assert!(!is_known(&mut cache, block, &mut table));
        }
    }

    #[test]
    fn the_last_ones_stay() {
        let (mut cache, mut table) = (BlockCache::default(), Table::new());
        for block in [b"a", b"b", b"c"] {
            remember(&mut cache, block, false, Some(0), &table);
        }
        let known = [b"a", b"b", b"c"].map(|block| is_known(&mut cache, block, &mut table));
        assert_eq!(known, [false, true, true]);
    }

    type Owned = Vec<(Vec<u8>, Vec<u8>)>;
    /// The fields of a block, or that it can't be decoded.
    type Decoded = Result<Owned, ()>;

    fn owned(fields: Fields<'_>) -> Owned {
        fields.map(|(name, value)| (name.to_vec(), value.to_vec())).collect()
    }

    fn decoded(table: &mut Table, block: &[u8], list: &mut FieldList) -> Result<Effect, ()> {
        list.clear();
        decode(table, block, LIMITS, list).map_err(|_| ())
    }

    /// As a connection does it.
    fn through_cache(cache: &mut BlockCache, table: &mut Table, block: &[u8]) -> Decoded {
        if let Some((place, _)) = cache.recall(block, HEAD, table) {
            return Ok(owned(cache.fields(place)));
        }
        cache.settle(table);
        let mut list = FieldList::default();
        let effect = decoded(table, block, &mut list)?;
        cache.remember(block, HEAD, MEANING, &list, effect, table.changes());
        Ok(owned(list.fields()))
    }

    /// A field with a value of its own name and so many bytes.
    fn literal(first: u8, number: u8, bytes: u8) -> Vec<u8> {
        [&[first, 1, b'a' + number % 4, bytes % 120][..], &vec![b'0' + number % 4; usize::from(bytes % 120)]]
            .concat()
    }

    fn field() -> impl Strategy<Value = Vec<u8>> {
        prop_oneof![
            4 => (any::<u8>(), prop_oneof![Just(1), Just(119), any::<u8>()])
                .prop_map(|(number, bytes)| literal(0x40, number, bytes)),
            2 => (any::<u8>(), any::<u8>()).prop_map(|(number, bytes)| literal(0, number, bytes)),
            2 => Just(vec![0x88]),
            2 => (62_u8..70).prop_map(|index| vec![0x80 | index]),
        ]
    }

    fn block() -> impl Strategy<Value = Vec<u8>> {
        let resize = prop_oneof![
            8 => Just(vec![]),
            1 => Just(vec![0x20]),
            1 => Just(vec![0x3f, 0x45]),
            1 => Just(vec![0x3f, 0xe1, 0x1f]),
        ];
        (resize, proptest::collection::vec(field(), 1..5))
            .prop_map(|(resize, fields)| [resize, fields.concat()].concat())
    }

    proptest! {
        /// Blocks of a few kinds, each many times in a row now and then: the cache changes nothing.
        #[test]
        fn the_cache_never_changes_what_a_block_means(
            blocks in proptest::collection::vec(block(), 1..6),
            order in proptest::collection::vec((any::<prop::sample::Index>(), prop_oneof![Just(1), Just(2), 1..200_usize]), 1..30),
        ) {
            let (mut cache, mut table, mut plain) = (BlockCache::default(), Table::new(), Table::new());
            let mut list = FieldList::default();
            for (index, times) in order {
                let block = index.get(&blocks);
                for _ in 0..times {
                    let expected = decoded(&mut plain, block, &mut list).map(|_| owned(list.fields()));
                    prop_assert_eq!(&through_cache(&mut cache, &mut table, block), &expected);
                    if expected.is_err() {
                        return Ok(());
                    }
                }
            }
            cache.settle(&mut table);
            for index in 1..300 {
                prop_assert_eq!(table.get(index), plain.get(index));
            }
        }
    }
}
