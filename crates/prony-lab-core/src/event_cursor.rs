//! Reading new events from where it stopped, so that what follows from them happens once the lab is up again, too.

use std::time::Duration;

use prony_lab_model::EventId;
use prony_lab_store::{Store, StoreError, Tx, events, settings};

/// Events that are read at once.
const TOGETHER: u32 = 256;
/// Events that mean nothing to a follower are written down as seen only so often: an output in pieces shouldn't cost a
/// commit each.
const STORED_EVERY: i64 = 1_000;
/// How soon a follower sees what was committed.
pub(crate) const POLL_INTERVAL: Duration = Duration::from_millis(200);
/// How long it waits after an error of the store: time for a database to come back.
pub(crate) const AFTER_ERROR: Duration = Duration::from_secs(2);

/// A place in the stream of events, kept in the store.
pub(crate) struct Cursor {
    key: &'static str,
    /// Seen, and known to the store as seen.
    place: Option<(EventId, EventId)>,
    version: u64,
}

impl Cursor {
    /// The one that is kept as `key`.
    pub(crate) fn new(key: &'static str) -> Self {
        Self { key, place: None, version: 0 }
    }

    /// Events that are new to this follower and `is_meant` for it, the oldest first; empty if there are none for now.
    pub(crate) fn unseen(
        &mut self,
        store: &Store,
        is_meant: impl Fn(&str) -> bool,
    ) -> Result<Vec<events::Event>, StoreError> {
        let key = self.key;
        let (mut seen, stored) = if let Some(place) = self.place {
            place
        } else {
            let found = store.read_blocking(|tx| settings::setting(tx, key))?;
            let id = EventId(found.and_then(|text| text.parse().ok()).unwrap_or(0));
            (id, id)
        };
        loop {
            let version = store.version();
            if self.place.is_some() && version == self.version {
                return Ok(Vec::new());
            }
            let read = store.read_blocking(|tx| events::after(tx, seen, None, TOGETHER))?;
            self.place = Some((seen, stored));
            let Some(last) = read.last().map(|event| event.id) else {
                self.version = version;
                return Ok(Vec::new());
            };
            let meant: Vec<_> = read.into_iter().filter(|event| is_meant(&event.kind)).collect();
            if !meant.is_empty() {
                return Ok(meant);
            }
            seen = last;
            if seen.0 - stored.0 >= STORED_EVERY {
                store.write_blocking(move |tx| Self::write(tx, key, seen))?;
                self.place = Some((seen, seen));
                return Ok(Vec::new());
            }
            self.place = Some((seen, stored));
        }
    }

    /// Notes in a transaction that everything up to `event` was seen.
    pub(crate) fn write(tx: &mut Tx<'_>, key: &str, event: EventId) -> Result<(), StoreError> {
        settings::set(tx, key, &event.to_string())
    }

    /// Goes on after `event`, which the store knows as seen.
    pub(crate) fn advance(&mut self, event: EventId) {
        self.place = Some((event, event));
    }
}

/// Has the follower that is kept as `key` begin after everything that happened so far.
pub(crate) fn skip(tx: &mut Tx<'_>, key: &str) -> Result<(), StoreError> {
    let last = events::last(tx)?;
    Cursor::write(tx, key, last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_lab_model::clock::Moment;
    use prony_lab_store::fixture::on_both;
    use serde_json::json;

    fn happens(store: &Store, kind: &'static str) -> EventId {
        store
            .write_blocking(move |tx| events::append(tx, Moment(1), kind, None, &json!({})))
            .expect("written")
    }

    #[test]
    fn what_was_seen_is_not_seen_again_and_nothing_is_missed() {
        on_both(|store| {
            let is_meant = |kind: &str| kind == "good";
            let mut cursor = Cursor::new("seen.test");
            assert!(cursor.unseen(store, is_meant).expect("read").is_empty());
            happens(store, "good");
            store.write_blocking(|tx| skip(tx, "seen.test")).expect("skipped");
            let mut cursor = Cursor::new("seen.test");
            assert!(cursor.unseen(store, is_meant).expect("read").is_empty());
            happens(store, "bad");
            let first = happens(store, "good");
            let second = happens(store, "good");
            let seen = |cursor: &mut Cursor| {
                let events = cursor.unseen(store, is_meant).expect("read");
                events.iter().map(|event| event.id).collect::<Vec<_>>()
            };
            assert_eq!(seen(&mut cursor), [first, second]);
            store.write_blocking(move |tx| Cursor::write(tx, "seen.test", first)).expect("written");
            cursor.advance(first);
            assert_eq!(seen(&mut cursor), [second]);
            // Another one, after a restart, goes on from the stored place.
            assert_eq!(seen(&mut Cursor::new("seen.test")), [second]);
            cursor.advance(second);
            assert!(seen(&mut cursor).is_empty());
            // Many that mean nothing don't hide one that does, and are noted.
            let mut last = second;
            for _ in 0..STORED_EVERY {
                last = happens(store, "bad");
            }
            let third = happens(store, "good");
            while store.read_blocking(|tx| settings::setting(tx, "seen.test")).expect("read")
                == Some(first.to_string())
            {
                assert!(seen(&mut cursor).is_empty() || last < third);
                if seen(&mut cursor) == [third] {
                    break;
                }
            }
            assert_eq!(seen(&mut cursor), [third]);
        });
    }
}
