//! Heads that repeat are read once.
//!
//! The heads of a benchmark's answers are nearly always the same bytes; only `Date` changes, once a second.
//! Comparing a head with the last ones costs a tenth of parsing it, and it also finds where the head ends.
//! The outcome is the same: a head that begins with a remembered complete head *is*
//! that head, and what a head means depends on its bytes, the limits and the request kind alone.

use crate::error::ProtocolError;
use crate::framing::{Outcome, read_head};
use crate::limits::Limits;
use crate::request::RequestKind;

/// How many different heads are remembered: two statuses, and both once more while `Date` changes.
const HEADS: usize = 4;

/// The longest head that is remembered. Common ones have 100 to 800 bytes; a longer one is parsed each time.
const REMEMBERED_BYTES: usize = 4 * 1024;

/// What all connections of one worker thread share: the limits, the request kind and the last heads.
///
/// Allocates 16 KiB when it is made and nothing afterwards. All requests of a run are of one kind, so one
/// cache serves one run.
#[derive(Debug)]
pub struct HeadCache {
    limits: Limits,
    kind: RequestKind,
    heads: [Remembered; HEADS],
    /// The head that matched or was read last: the most likely to come again.
    latest: usize,
}

/// A complete head and what it means. Empty bytes mean that the place is free.
#[derive(Debug)]
struct Remembered {
    bytes: Vec<u8>,
    outcome: Outcome,
}

impl HeadCache {
    /// A cache for the answers to requests of `kind`, read within `limits`.
    pub fn new(kind: RequestKind, limits: Limits) -> Self {
        let outcome = Outcome {
            status: 0,
            framing: crate::head::Framing::Empty,
            keep_alive: false,
            has_session_fields: false,
        };
        let heads =
            std::array::from_fn(|_| Remembered { bytes: Vec::with_capacity(REMEMBERED_BYTES), outcome });
        Self { limits: limits.clamped(), kind, heads, latest: 0 }
    }

    /// The limits in force: those given to [`new`](Self::new), brought into range.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The kind of request that the answers belong to.
    pub fn kind(&self) -> RequestKind {
        self.kind
    }

    /// The length and meaning of the head that `input` begins with, if it is remembered.
    #[inline]
    pub(crate) fn recall(&mut self, input: &[u8]) -> Option<(usize, Outcome)> {
        let latest = &self.heads[self.latest];
        if latest.begins(input) {
            return Some((latest.bytes.len(), latest.outcome));
        }
        self.recall_older(input)
    }

    fn recall_older(&mut self, input: &[u8]) -> Option<(usize, Outcome)> {
        let found = self.heads.iter().position(|head| head.begins(input))?;
        self.latest = found;
        Some((self.heads[found].bytes.len(), self.heads[found].outcome))
    }

    /// What the complete `head` means, which was not recalled. It is remembered if it is final.
    pub(crate) fn read(&mut self, head: &[u8]) -> Result<Outcome, ProtocolError> {
        let outcome = read_head(head, self.kind, &self.limits)?;
        if !outcome.is_interim() && head.len() <= REMEMBERED_BYTES {
            // The places are filled in turn, so the one that follows the latest is among the oldest.
            self.latest = (self.latest + 1) % HEADS;
            let place = &mut self.heads[self.latest];
            place.bytes.clear();
            place.bytes.extend_from_slice(head);
            place.outcome = outcome;
        }
        Ok(outcome)
    }
}

impl Remembered {
    #[inline]
    fn begins(&self, input: &[u8]) -> bool {
        !self.bytes.is_empty() && input.starts_with(&self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::{HEADS, HeadCache, REMEMBERED_BYTES};
    use crate::head::Framing;
    use crate::limits::Limits;
    use crate::request::RequestKind;

    fn head(length: usize, padding: usize) -> String {
        format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nX: {}\r\n\r\n", "x".repeat(padding))
    }

    /// After reading heads with these content-lengths in turn, exactly those in `remembered` are recalled.
    fn check(read: &[usize], remembered: &[usize]) {
        let mut cache = HeadCache::new(RequestKind::Normal, Limits::default());
        for length in read {
            let bytes = head(*length, 9);
            if cache.recall(bytes.as_bytes()).is_none() {
                cache.read(bytes.as_bytes()).unwrap();
            }
        }
        for length in 0..10 {
            let bytes = head(length, 9);
            let expected =
                remembered.contains(&length).then_some((bytes.len(), Framing::Length(length as u64)));
            let input = bytes + "and a body";
            let found = cache.recall(input.as_bytes()).map(|(length, outcome)| (length, outcome.framing));
            assert_eq!(found, expected, "{length} after {read:?}");
        }
    }

    #[test]
    fn the_last_heads_are_remembered() {
        check(&[], &[]);
        check(&[1], &[1]);
        check(&[1, 2, 1, 2, 1], &[1, 2]);
        check(&[1, 2, 3, 4, 5], &[2, 3, 4, 5]);
        check(&[1, 2, 3, 4, 5, 6], &[3, 4, 5, 6]);
    }

    #[test]
    fn a_head_must_be_there_completely_and_exactly() {
        let mut cache = HeadCache::new(RequestKind::Normal, Limits::default());
        let bytes = head(5, 0);
        cache.read(bytes.as_bytes()).unwrap();
        for cut in 0..bytes.len() {
            assert_eq!(cache.recall(&bytes.as_bytes()[..cut]), None, "cut at {cut}");
            let mut other = bytes.clone().into_bytes();
            other[cut] ^= 1;
            assert_eq!(cache.recall(&other), None, "changed at {cut}");
        }
        assert!(cache.recall(bytes.as_bytes()).is_some());
    }

    #[test]
    fn long_and_interim_heads_are_read_but_not_remembered() {
        let mut cache = HeadCache::new(RequestKind::Normal, Limits::default());
        let long = head(5, REMEMBERED_BYTES);
        for unkept in [long.as_str(), "HTTP/1.1 103 Early Hints\r\n\r\n"] {
            assert!(cache.read(unkept.as_bytes()).is_ok());
            assert_eq!(cache.recall(unkept.as_bytes()), None);
        }
        let fitting = head(5, REMEMBERED_BYTES - head(5, 0).len());
        cache.read(fitting.as_bytes()).unwrap();
        assert!(cache.recall(fitting.as_bytes()).is_some());
    }

    #[test]
    fn memory_is_bounded() {
        let mut cache = HeadCache::new(RequestKind::Normal, Limits::default());
        let before: Vec<usize> = cache.heads.iter().map(|head| head.bytes.capacity()).collect();
        for length in 0..HEADS * 10 {
            cache.read(head(length, length * 100).as_bytes()).unwrap();
        }
        let after: Vec<usize> = cache.heads.iter().map(|head| head.bytes.capacity()).collect();
        assert_eq!(before, after);
    }
}
