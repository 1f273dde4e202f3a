//! A value that was read from the store, for as long as nobody changes the tables that it was read from: what every
//! request needs and hardly anybody changes.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{Store, StoreError, Tables, Tx};

/// The value that was read last. Cheap to clone; clones share it.
#[derive(Debug)]
pub struct Kept<T> {
    last: Arc<Mutex<Option<Read<T>>>>,
}

#[derive(Debug)]
struct Read<T> {
    /// The store's, from before the value was read, so that the value is never older than this.
    version: u64,
    tables: Tables,
    value: Arc<T>,
}

impl<T> Clone for Kept<T> {
    fn clone(&self) -> Self {
        Self { last: Arc::clone(&self.last) }
    }
}

impl<T> Default for Kept<T> {
    fn default() -> Self {
        Self { last: Arc::default() }
    }
}

impl<T: Send + Sync + 'static> Kept<T> {
    /// The value as it is in `store` now; `read` reads it where it may have changed.
    pub async fn get(
        &self,
        store: &Store,
        read: impl FnOnce(&mut Tx<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<Arc<T>, StoreError> {
        if let Some(last) = self.last().as_ref().filter(|last| store.is_unchanged(last.version, last.tables))
        {
            return Ok(Arc::clone(&last.value));
        }
        let version = store.version();
        let (value, tables) = store.read_tables(read).await?;
        let value = Arc::new(value);
        let mut last = self.last();
        if last.as_ref().is_none_or(|last| last.version <= version) {
            *last = Some(Read { version, tables, value: Arc::clone(&value) });
        }
        Ok(value)
    }

    fn last(&self) -> MutexGuard<'_, Option<Read<T>>> {
        // It is replaced as a whole.
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::super::fixture::on_both;
    use super::super::{settings, values};
    use super::*;

    #[test]
    fn it_is_read_again_after_a_change_of_its_tables_alone() {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().expect("threads");
        on_both(|store| {
            let (kept, reads) = (Kept::default(), Arc::new(AtomicU32::new(0)));
            let get = || {
                let counted = Arc::clone(&reads);
                let read = move |tx: &mut Tx<'_>| {
                    counted.fetch_add(1, Ordering::Relaxed);
                    settings::setting(tx, "policy")
                };
                let value = runtime.block_on(kept.get(store, read)).expect("read");
                (value.as_ref().clone(), reads.load(Ordering::Relaxed))
            };
            assert_eq!(get(), (None, 1));
            assert_eq!(get(), (None, 1));
            let elsewhere =
                "INSERT INTO projects (name, revision, definition, created_at) VALUES ('a', 1, '', 1)";
            store.write_blocking(move |tx| tx.execute(elsewhere, values![])).expect("written");
            assert_eq!(get(), (None, 1), "a commit elsewhere");
            store.write_blocking(|tx| settings::set(tx, "policy", "new")).expect("written");
            assert_eq!(get(), (Some("new".to_owned()), 2), "what was answered is seen");
        });
    }
}
