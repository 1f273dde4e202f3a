//! Bytes of a connection's own that the kernel has not taken yet.

/// A queue of bytes, which keeps its memory for the connections to come.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    bytes: Vec<u8>,
    /// Bytes of it that are gone.
    taken: usize,
}

/// Memory that an empty queue keeps at most: a handshake and small requests.
const KEPT_MAX_BYTES: usize = 4096;

impl Outbox {
    /// Adds `bytes`.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// What is left.
    pub(super) fn left(&self) -> &[u8] {
        &self.bytes[self.taken..]
    }

    pub(super) fn is_empty(&self) -> bool {
        self.taken == self.bytes.len()
    }

    /// The first `count` bytes of what is left are gone.
    pub(super) fn advance(&mut self, count: usize) {
        self.taken += count;
        if self.is_empty() {
            self.clear();
        }
    }

    /// Forgets everything.
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.bytes.shrink_to(KEPT_MAX_BYTES);
        self.taken = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_out_in_order() {
        let mut outbox = Outbox::default();
        outbox.push(b"abc");
        outbox.push(b"de");
        outbox.advance(2);
        assert_eq!(outbox.left(), b"cde");
        outbox.push(b"f");
        outbox.advance(4);
        assert!(outbox.is_empty() && outbox.left().is_empty());
        outbox.push(&vec![0; 100_000]);
        outbox.advance(100_000);
        assert!(outbox.bytes.capacity() <= KEPT_MAX_BYTES);
    }
}
