//! What was drawn from a version of the store, and is good until the next commit.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Parts of pages that are kept: more than anybody looks at between two commits of a busy lab.
const MOST_PARTS: usize = 128;

/// Bytes of them together: the lab is to stay small.
const MOST_BYTES: usize = 8 << 20;

/// What was drawn, by what it shows. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub(crate) struct Drawn {
    kept: Arc<Mutex<Kept>>,
}

#[derive(Debug, Default)]
struct Kept {
    version: u64,
    bytes: usize,
    parts: HashMap<String, Arc<str>>,
}

impl Drawn {
    /// What was drawn of `what` from `version` of the store.
    pub(crate) fn find(&self, version: u64, what: &str) -> Option<Arc<str>> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.version == version { kept.parts.get(what).map(Arc::clone) } else { None }
    }

    /// Keeps what was drawn. `version` is the store's from before it was read, so that what is kept is never older
    /// than it says.
    pub(crate) fn keep(&self, version: u64, what: String, part: String) -> Arc<str> {
        let part: Arc<str> = part.into();
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if version < kept.version || part.len() > MOST_BYTES {
            return part;
        }
        let is_full = kept.parts.len() >= MOST_PARTS || kept.bytes + part.len() > MOST_BYTES;
        if version > kept.version || is_full {
            kept.parts.clear();
            kept.bytes = 0;
            kept.version = version;
        }
        kept.bytes += part.len();
        if let Some(old) = kept.parts.insert(what, Arc::clone(&part)) {
            kept.bytes -= old.len();
        }
        part
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_makes_everything_old() {
        let drawn = Drawn::default();
        drawn.keep(1, "home".to_owned(), "a".to_owned());
        assert_eq!(drawn.find(1, "home").as_deref(), Some("a"));
        assert_eq!(drawn.find(2, "home"), None);
        drawn.keep(2, "home".to_owned(), "b".to_owned());
        // A slow reader of the version before.
        drawn.keep(1, "home".to_owned(), "a".to_owned());
        assert_eq!(drawn.find(2, "home").as_deref(), Some("b"));
    }

    #[test]
    fn it_stays_small() {
        let drawn = Drawn::default();
        for number in 0..10 * MOST_PARTS {
            drawn.keep(1, number.to_string(), "x".repeat(MOST_BYTES / 16));
        }
        drawn.keep(1, "huge".to_owned(), "x".repeat(MOST_BYTES + 1));
        let kept = drawn.kept.lock().expect("whole");
        assert!(kept.parts.len() <= MOST_PARTS && kept.bytes <= MOST_BYTES);
        assert_eq!(kept.bytes, kept.parts.values().map(|part| part.len()).sum::<usize>());
    }
}
