//! Parts of pages that were drawn from the store, each good until one of the tables changes that it was drawn from. What
//! many ask for at once is drawn once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use askama::Template;

use super::error::CapacityError;
use prony_lab_store::{Store, StoreError, Tables, Tx};

/// Parts of pages that are kept: more than anybody looks at between two commits of a busy lab.
const PARTS_MAX: usize = 128;
/// Bytes of them together: the lab is to stay small.
const BYTES_MAX: usize = 8 << 20;

/// What was drawn, by what it shows. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct RenderCache {
    kept: Arc<Mutex<Kept>>,
}

#[derive(Debug, Default)]
struct Kept {
    bytes: usize,
    parts: HashMap<String, Part>,
    /// Grows with every part that is used.
    uses: u64,
    /// Who draws what right now.
    drawing: HashMap<String, Arc<tokio::sync::Mutex<()>>>,
}

#[derive(Debug)]
struct Part {
    /// The store's, from before it was read, so that a part is never older than this.
    version: u64,
    tables: Tables,
    /// What else it was drawn from.
    inputs: String,
    markup: Arc<str>,
    used: u64,
}

impl Part {
    fn bytes(&self) -> usize {
        self.markup.len() + self.inputs.len()
    }
}

impl RenderCache {
    /// What `what` shows: as it was drawn before if that is still so, else `read` from the store and drawn now. `inputs`
    /// is all that the drawing depends on beside the store.
    pub async fn part<T: Template + Send + 'static>(
        &self,
        store: &Store,
        what: String,
        inputs: String,
        read: impl FnOnce(&mut Tx<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<Arc<str>, CapacityError> {
        let version = store.version();
        if let Some(found) = self.find(store, &what, &inputs, version) {
            return Ok(found);
        }
        let drawing = Drawing { cache: self, turn: self.turn(&what), what: &what };
        let _turn = drawing.turn.lock().await;
        // The previous holder of the turn may have drawn what is wanted here.
        if let Some(found) = self.find(store, &what, &inputs, version) {
            return Ok(found);
        }
        let version = store.version();
        let (page, tables) = store.read_tables(read).await?;
        Ok(self.keep(what.clone(), inputs, version, tables, page.render()?))
    }

    /// What was drawn of `what`, if it shows at least the commit `version`, or nothing that it shows was changed since.
    fn find(&self, store: &Store, what: &str, inputs: &str, version: u64) -> Option<Arc<str>> {
        let mut kept = self.kept();
        kept.uses += 1;
        let now = kept.uses;
        let part = kept.parts.get_mut(what).filter(|part| part.inputs == inputs)?;
        if part.version < version && !store.is_unchanged(part.version, part.tables) {
            return None;
        }
        part.used = now;
        Some(Arc::clone(&part.markup))
    }

    fn keep(&self, what: String, inputs: String, version: u64, tables: Tables, markup: String) -> Arc<str> {
        let markup: Arc<str> = markup.into();
        let mut kept = self.kept();
        let bytes = markup.len() + inputs.len();
        if bytes > BYTES_MAX || kept.parts.get(&what).is_some_and(|part| part.version > version) {
            return markup;
        }
        kept.remove(&what);
        while kept.parts.len() >= PARTS_MAX || kept.bytes + bytes > BYTES_MAX {
            let oldest = kept.parts.iter().min_by_key(|(_, part)| part.used).map(|(what, _)| what.clone());
            let Some(oldest) = oldest else { break };
            kept.remove(&oldest);
        }
        kept.bytes += bytes;
        let used = kept.uses;
        kept.parts.insert(what, Part { version, tables, inputs, markup: Arc::clone(&markup), used });
        markup
    }

    fn turn(&self, what: &str) -> Arc<tokio::sync::Mutex<()>> {
        Arc::clone(self.kept().drawing.entry(what.to_owned()).or_default())
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        // A poisoned lock means a panic of ours elsewhere; what is kept is whole after every step.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    fn remove(&mut self, what: &str) {
        if let Some(part) = self.parts.remove(what) {
            self.bytes -= part.bytes();
        }
    }
}

/// Somebody who draws, or waits for who does. The last one to leave takes the turn away.
struct Drawing<'a> {
    cache: &'a RenderCache,
    what: &'a str,
    turn: Arc<tokio::sync::Mutex<()>>,
}

impl Drop for Drawing<'_> {
    fn drop(&mut self) {
        let mut kept = self.cache.kept();
        // This one's and the map's.
        if Arc::strong_count(&self.turn) <= 2 {
            kept.drawing.remove(self.what);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;
    use prony_lab_store::fixture::on_both;
    use prony_lab_store::values;

    #[derive(Template)]
    #[template(source = "{{ number }}", ext = "txt")]
    struct Page {
        number: i64,
    }

    fn runtime() -> tokio::runtime::Runtime {
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("threads")
    }

    fn set(store: &Store, key: &'static str) {
        let statement = "INSERT INTO settings (key, value) VALUES ($1, 'x')";
        store.write_blocking(move |tx| tx.execute(statement, values![key])).expect("written");
    }

    #[test]
    fn a_part_is_drawn_once_until_something_changes_that_it_shows() {
        on_both(|store| {
            let (cache, drawn, runtime) = (RenderCache::default(), Arc::new(AtomicU32::new(0)), runtime());
            let ask = |table: &'static str| {
                let counted = Arc::clone(&drawn);
                let part = cache.part(store, table.to_owned(), String::new(), move |tx| {
                    counted.fetch_add(1, Ordering::Relaxed);
                    Ok(Page { number: tx.number(&format!("SELECT COUNT(*) FROM {table}"), &[])? })
                });
                let part = runtime.block_on(part).expect("drawn");
                (part.to_string(), drawn.load(Ordering::Relaxed))
            };
            assert_eq!(ask("settings"), ("0".to_owned(), 1));
            assert_eq!(ask("settings"), ("0".to_owned(), 1));
            assert_eq!(ask("builds"), ("0".to_owned(), 2));
            set(store, "one");
            assert_eq!(ask("builds"), ("0".to_owned(), 2), "a commit elsewhere");
            assert_eq!(ask("settings"), ("1".to_owned(), 3));
        });
    }

    #[test]
    fn a_part_is_drawn_anew_for_other_inputs() {
        on_both(|store| {
            let (cache, runtime) = (RenderCache::default(), runtime());
            let ask = |number: i64| {
                let read = move |_: &mut Tx<'_>| Ok(Page { number });
                let part = cache.part(store, "build".to_owned(), number.to_string(), read);
                runtime.block_on(part).expect("drawn").to_string()
            };
            assert_eq!((ask(1), ask(2), ask(1)), ("1".to_owned(), "2".to_owned(), "1".to_owned()));
            assert_eq!(cache.kept().parts.len(), 1, "it takes the place of what is out of date");
        });
    }

    #[test]
    fn what_many_want_at_once_is_drawn_once() {
        on_both(|store| {
            let (cache, drawn, runtime) = (RenderCache::default(), Arc::new(AtomicU32::new(0)), runtime());
            let requests: Vec<_> = (0..64)
                .map(|_| {
                    let (cache, store, drawn) = (cache.clone(), store.clone(), Arc::clone(&drawn));
                    runtime.spawn(async move {
                        let read = move |tx: &mut Tx<'_>| {
                            drawn.fetch_add(1, Ordering::Relaxed);
                            Ok(Page { number: tx.number("SELECT COUNT(*) FROM builds", &[])? })
                        };
                        let part = cache.part(&store, "builds".to_owned(), String::new(), read).await;
                        part.map(|part| part.to_string())
                    })
                })
                .collect();
            for one in requests {
                assert_eq!(runtime.block_on(one).expect("no panic").expect("drawn"), "0");
            }
            assert_eq!(drawn.load(Ordering::Relaxed), 1);
            assert!(cache.kept().drawing.is_empty());
        });
    }

    #[test]
    fn it_stays_small_and_keeps_what_is_used() {
        on_both(|store| {
            let cache = RenderCache::default();
            let large = "x".repeat(BYTES_MAX / 16);
            for number in 0..10 * PARTS_MAX {
                cache.keep(number.to_string(), "i".to_owned(), 1, Tables::default(), large.clone());
                assert!(cache.find(store, "0", "i", 1).is_some(), "it is used all the time");
            }
            let huge = "x".repeat(BYTES_MAX);
            cache.keep("huge".to_owned(), "i".to_owned(), 1, Tables::default(), huge);
            let kept = cache.kept();
            assert!(kept.parts.len() <= PARTS_MAX && kept.bytes <= BYTES_MAX);
            assert_eq!(kept.bytes, kept.parts.values().map(Part::bytes).sum::<usize>());
        });
    }
}
