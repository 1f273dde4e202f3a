//! Feeds: rows of values from a file, of which each session takes one.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// A file of rows. Results hold what identifies it, never its rows, which may be accounts with their passwords.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Feed {
    /// The name before the dot in templates, `{users.password}`.
    pub name: String,
    /// The file, as the scenario names it.
    pub file: String,
    /// SHA-256 of its content, in hexadecimal.
    pub sha256: String,
    /// How many rows it has.
    pub rows: u64,
    /// The names of its columns.
    pub columns: Vec<String>,
    /// Which row a session takes.
    pub order: FeedOrder,
    /// What happens after the last row.
    pub at_end: FeedEnd,
    /// The rows themselves.
    #[serde(skip)]
    pub data: Arc<FeedRows>,
}

/// Which row a session takes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum FeedOrder {
    /// The next one of the file, over all threads.
    #[default]
    Sequential,
    /// Any one, each as often as another.
    Random,
    /// The next one of the file, and none twice in a run.
    Unique,
}

/// What happens after the last row of a feed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum FeedEnd {
    /// It begins again.
    #[default]
    Repeat,
    /// The run ends: no session begins without its row.
    Stop,
}

/// The values of a feed, row by row.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct FeedRows {
    columns: usize,
    /// All values, one behind the other.
    bytes: Vec<u8>,
    /// Where each value ends in `bytes`.
    ends: Vec<u32>,
}

/// Why a row can't be added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FeedRowsError {
    /// It has another number of values than there are columns.
    Uneven {
        /// Its values.
        values: usize,
        /// The columns.
        columns: usize,
    },
    /// All values together are larger than [`FeedRows::BYTES_MAX`].
    TooLarge,
}

impl FeedRows {
    /// Bytes of all values together.
    pub const BYTES_MAX: usize = 256 << 20;

    /// No rows yet, of so many columns.
    pub fn new(columns: usize) -> Self {
        Self { columns, ..Self::default() }
    }

    /// Adds a row.
    pub fn push(&mut self, values: &[impl AsRef<[u8]>]) -> Result<(), FeedRowsError> {
        if values.len() != self.columns {
            return Err(FeedRowsError::Uneven { values: values.len(), columns: self.columns });
        }
        let bytes: usize = values.iter().map(|value| value.as_ref().len()).sum();
        if bytes > Self::BYTES_MAX - self.bytes.len() {
            return Err(FeedRowsError::TooLarge);
        }
        for value in values {
            self.bytes.extend_from_slice(value.as_ref());
            let end = u32::try_from(self.bytes.len()).expect("invariant: FeedRows::BYTES_MAX is below 4 GiB");
            self.ends.push(end);
        }
        Ok(())
    }

    /// All values, one behind the other, row by row.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// How long each value is.
    pub fn lengths(&self) -> impl Iterator<Item = u32> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        self.ends.iter().zip(starts).map(|(end, start)| end - start)
    }

    /// The rows of so many columns with these [`bytes`](Self::bytes) and [`lengths`](Self::lengths); `None` where they don't
    /// fit.
    pub fn from_parts(columns: usize, bytes: Vec<u8>, lengths: &[u32]) -> Option<Self> {
        let mut ends = Vec::with_capacity(lengths.len());
        let mut end = 0_u32;
        for length in lengths {
            end = end.checked_add(*length)?;
            ends.push(end);
        }
        let fits = bytes.len() <= Self::BYTES_MAX
            && end as usize == bytes.len()
            && lengths.len().checked_rem(columns).unwrap_or(lengths.len()) == 0;
        fits.then_some(Self { columns, bytes, ends })
    }

    /// How many values each row has.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.ends.len().checked_div(self.columns).unwrap_or_default()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The value in `column` of `row`, both from 0.
    pub fn value(&self, row: usize, column: usize) -> Option<&[u8]> {
        let at = row.checked_mul(self.columns)?.checked_add(column).filter(|_| column < self.columns)?;
        let end = *self.ends.get(at)? as usize;
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before] as usize);
        Some(&self.bytes[start..end])
    }
}

impl fmt::Debug for FeedRows {
    /// Without the values, which may be secrets.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} rows of {} values", self.len(), self.columns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_found_again() {
        let mut rows = FeedRows::new(2);
        rows.push(&["ann", ""]).expect("two values");
        rows.push(&["", "secret"]).expect("two values");
        assert_eq!(rows.push(&["one"]), Err(FeedRowsError::Uneven { values: 1, columns: 2 }));
        let all: Vec<Option<&[u8]>> = [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (0, 2)]
            .map(|(row, column)| rows.value(row, column))
            .into();
        assert_eq!(all, [Some(&b"ann"[..]), Some(b""), Some(b""), Some(b"secret"), None, None]);
        assert_eq!(format!("{rows:?}"), "2 rows of 2 values");
        let lengths: Vec<u32> = rows.lengths().collect();
        let parts =
            |columns, bytes: &[u8], lengths: &[u32]| FeedRows::from_parts(columns, bytes.to_vec(), lengths);
        assert_eq!(parts(2, rows.bytes(), &lengths), Some(rows.clone()));
        for (columns, bytes, lengths) in [
            (2, &b"ab"[..], &[1, 1, 0][..]),
            (0, b"ab", &[1, 1]),
            (2, b"ab", &[1, 2]),
            (2, b"ab", &[1, 0]),
            (1, b"", &[u32::MAX, 1]),
        ] {
            assert_eq!(parts(columns, bytes, lengths), None, "{columns} {lengths:?}");
        }
    }
}
