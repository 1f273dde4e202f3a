//! The last report for each name.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::lines::on_one_line;

/// The longest name and the longest status.
pub const TEXT_LIMIT_BYTES: usize = 200;
/// The most names: together at most 4 MB.
pub const NAME_LIMIT: usize = 10_000;

/// All reports, by name.
#[derive(Debug, Default)]
pub(super) struct Reports {
    by_name: Mutex<BTreeMap<String, String>>,
}

/// Why a report is not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refused {
    TooLong,
    TooMany,
}

impl Reports {
    /// Takes a report. Anyone who reads the page sees each on one line, whatever is in it.
    pub(super) fn put(&self, name: &str, status: &str) -> Result<(), Refused> {
        if name.len() > TEXT_LIMIT_BYTES || status.len() > TEXT_LIMIT_BYTES {
            return Err(Refused::TooLong);
        }
        let mut by_name = self.lock();
        if by_name.len() >= NAME_LIMIT && !by_name.contains_key(name) {
            return Err(Refused::TooMany);
        }
        by_name.insert(name.to_owned(), status.to_owned());
        Ok(())
    }

    /// Puts a line for each behind what is in `page`.
    pub(super) fn write(&self, page: &mut Vec<u8>) {
        for (name, status) in &*self.lock() {
            let line = format!("- {}: {}\n", on_one_line(name), on_one_line(status));
            page.extend_from_slice(line.as_bytes());
        }
    }

    /// A map is whole between two calls, so a panic elsewhere does not spoil it.
    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, String>> {
        self.by_name.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_texts_are_bounded() {
        let reports = Reports::default();
        let long = "x".repeat(TEXT_LIMIT_BYTES + 1);
        assert_eq!(reports.put(&long, "up"), Err(Refused::TooLong));
        assert_eq!(reports.put("a", &long), Err(Refused::TooLong));
        for number in 0..NAME_LIMIT {
            assert_eq!(reports.put(&number.to_string(), &long[1..]), Ok(()));
        }
        assert_eq!(reports.put("one more", "up"), Err(Refused::TooMany));
        assert_eq!(reports.put("7", "down"), Ok(()), "a name that is there");
        let mut page = Vec::new();
        reports.write(&mut page);
        let page = String::from_utf8(page).unwrap();
        assert_eq!(page.lines().count(), NAME_LIMIT);
        assert!(page.contains("\n- 7: down\n"));
    }
}
