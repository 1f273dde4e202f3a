//! Keys and values in memory, and who watches them.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::watch::{WATCHER_LIMIT, Watcher, event};

/// The longest key.
pub const KEY_LIMIT_BYTES: usize = 1024;
/// What a pair takes besides its bytes: a slot of the map, two allocations, the value's reference counts.
const PAIR_BYTES: u64 = 100;
/// Parts with a lock each. Many more than workers, so that two of them rarely meet.
const SHARDS: usize = 64;

/// All pairs. What is under one lock is a key's value and its watchers, so that a watcher sees every change, in
/// the order of the changes.
#[derive(Debug)]
pub(super) struct Store {
    shards: [Mutex<Shard>; SHARDS],
    hasher: RandomState,
    limit_bytes: u64,
    used_bytes: AtomicU64,
    watchers: AtomicUsize,
}

#[derive(Debug, Default)]
struct Shard {
    values: HashMap<Box<[u8]>, Arc<[u8]>>,
    watchers: HashMap<Box<[u8]>, Vec<Arc<Watcher>>>,
}

/// A write.
#[derive(Debug)]
pub(super) struct Change {
    pub(super) key: Box<[u8]>,
    /// `None` deletes.
    pub(super) value: Option<Arc<[u8]>>,
}

/// A write whose memory is set aside.
#[derive(Debug)]
pub(super) struct Reserved(Change);

/// What a write came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Changed {
    Created,
    Replaced,
    Deleted,
    Missing,
}

/// The memory bound does not allow it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Full;

impl Change {
    pub(super) fn put(key: &[u8], value: &[u8]) -> Self {
        Self { key: key.into(), value: Some(value.into()) }
    }

    pub(super) fn delete(key: &[u8]) -> Self {
        Self { key: key.into(), value: None }
    }
}

impl std::ops::Deref for Reserved {
    type Target = Change;

    fn deref(&self) -> &Change {
        &self.0
    }
}

impl Store {
    pub(super) fn new(limit_bytes: u64) -> Self {
        Self {
            shards: std::array::from_fn(|_| Mutex::default()),
            hasher: RandomState::new(),
            limit_bytes,
            used_bytes: AtomicU64::new(0),
            watchers: AtomicUsize::new(0),
        }
    }

    pub(super) fn value(&self, key: &[u8]) -> Option<Arc<[u8]>> {
        self.shard(key).values.get(key).cloned()
    }

    /// Sets memory aside for a write. A value that is there already counts until it is replaced, because it is in
    /// memory until then.
    pub(super) fn reserve(&self, change: Change) -> Result<Reserved, Full> {
        let cost = change.value.as_ref().map_or(0, |value| cost(&change.key, value));
        let add = |used: u64| used.checked_add(cost).filter(|sum| cost == 0 || *sum <= self.limit_bytes);
        self.used_bytes.fetch_update(Relaxed, Relaxed, add).map_err(|_| Full)?;
        Ok(Reserved(change))
    }

    /// Gives back what was set aside for a write that will not be.
    pub(super) fn release(&self, change: &Reserved) {
        if let Some(value) = &change.value {
            self.used_bytes.fetch_sub(cost(&change.key, value), Relaxed);
        }
    }

    /// Does the write and notifies the watchers.
    pub(super) fn apply(&self, Reserved(Change { key, value }): Reserved) -> Changed {
        let mut shard = self.shard(&key);
        let Shard { values, watchers } = &mut *shard;
        if let Some(watchers) = watchers.get(&key).filter(|_| value.is_some() || values.contains_key(&key)) {
            let event = event(value.as_deref());
            for watcher in watchers {
                watcher.push(&event);
            }
        }
        let writes = value.is_some();
        let freed = match value {
            None => values.remove(&key).map(|old| cost(&key, &old)),
            Some(value) => {
                let key_bytes = key.len();
                values.insert(key, value).map(|old| PAIR_BYTES + (key_bytes + old.len()) as u64)
            }
        };
        if let Some(bytes) = freed {
            self.used_bytes.fetch_sub(bytes, Relaxed);
        }
        match (writes, freed.is_some()) {
            (true, false) => Changed::Created,
            (true, true) => Changed::Replaced,
            (false, true) => Changed::Deleted,
            (false, false) => Changed::Missing,
        }
    }

    /// Notifies `watcher` of every change of a key from now on, and of its value now; false when too many watch.
    pub(super) fn watch(&self, key: &[u8], watcher: &Arc<Watcher>) -> bool {
        let one_more = |count: usize| (count < WATCHER_LIMIT).then_some(count + 1);
        if self.watchers.fetch_update(Relaxed, Relaxed, one_more).is_err() {
            return false;
        }
        let mut shard = self.shard(key);
        let now = shard.values.get(key).map(|value| event(Some(value)));
        if let Some(event) = now {
            watcher.push(&event);
        }
        shard.watchers.entry(key.into()).or_default().push(Arc::clone(watcher));
        true
    }

    pub(super) fn unwatch(&self, key: &[u8], watcher: &Arc<Watcher>) {
        let mut shard = self.shard(key);
        if let Some(watchers) = shard.watchers.get_mut(key) {
            watchers.retain(|other| !Arc::ptr_eq(other, watcher));
            if watchers.is_empty() {
                shard.watchers.remove(key);
            }
        }
        self.watchers.fetch_sub(1, Relaxed);
    }

    /// A shard is whole between two calls, so a panic elsewhere does not spoil it.
    fn shard(&self, key: &[u8]) -> MutexGuard<'_, Shard> {
        let hash = self.hasher.hash_one(key);
        let index = usize::try_from(hash % SHARDS as u64).expect("invariant: below SHARDS");
        self.shards[index].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn cost(key: &[u8], value: &[u8]) -> u64 {
    PAIR_BYTES + (key.len() + value.len()) as u64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn put(store: &Store, key: &[u8], value: &[u8]) -> Result<Changed, Full> {
        Ok(store.apply(store.reserve(Change::put(key, value))?))
    }

    #[test]
    fn memory_is_bounded_and_given_back() {
        let store = Store::new(3 * (PAIR_BYTES + 10));
        assert_eq!(put(&store, b"a", b"123456789"), Ok(Changed::Created));
        assert_eq!(put(&store, b"b", b"123456789"), Ok(Changed::Created));
        assert_eq!(put(&store, b"b", b"12345678"), Ok(Changed::Replaced));
        assert_eq!(put(&store, b"c", b"1234567890"), Ok(Changed::Created));
        assert_eq!(put(&store, b"d", b""), Err(Full));
        let aside = store.reserve(Change::delete(b"a")).unwrap();
        assert_eq!(store.apply(aside), Changed::Deleted);
        let aside = store.reserve(Change::put(b"d", b"123456789")).unwrap();
        assert_eq!(put(&store, b"e", b""), Err(Full), "what is set aside counts");
        store.release(&aside);
        assert_eq!(put(&store, b"e", b""), Ok(Changed::Created));
    }

    #[derive(Debug, Clone)]
    enum Step {
        Put(Vec<u8>, Vec<u8>),
        Delete(Vec<u8>),
        Read(Vec<u8>),
    }

    fn step() -> impl Strategy<Value = Step> {
        let key = || proptest::collection::vec(b'a'..b'd', 1..3);
        let value = proptest::collection::vec(any::<u8>(), 0..20);
        prop_oneof![
            (key(), value).prop_map(|(key, value)| Step::Put(key, value)),
            key().prop_map(Step::Delete),
            key().prop_map(Step::Read),
        ]
    }

    proptest! {
        #[test]
        fn it_is_a_map(steps in proptest::collection::vec(step(), 0..200)) {
            let store = Store::new(1_000_000);
            let mut map = HashMap::new();
            for step in steps {
                match step {
                    Step::Put(key, value) => {
                        let expected = match map.insert(key.clone(), value.clone()) {
                            None => Changed::Created,
                            Some(_) => Changed::Replaced,
                        };
                        prop_assert_eq!(put(&store, &key, &value), Ok(expected));
                    }
                    Step::Delete(key) => {
                        let expected = if map.remove(&key).is_some() { Changed::Deleted } else { Changed::Missing };
                        let aside = store.reserve(Change::delete(&key)).unwrap();
                        prop_assert_eq!(store.apply(aside), expected);
                    }
                    Step::Read(key) => {
                        prop_assert_eq!(store.value(&key).map(|value| value.to_vec()), map.get(&key).cloned());
                    }
                }
                let used: u64 = map.iter().map(|(key, value)| cost(key, value)).sum();
                prop_assert_eq!(store.used_bytes.load(Relaxed), used);
            }
        }
    }
}
