//! Memory that sends under way read from, one piece for each connection.
//!
//! The kernel may read a piece until the request that it was lent to completes, also when the connection has been closed
//! meanwhile and its slot has the next one. So a piece is neither changed nor freed before it is given back.

/// All pieces of a ring.
pub(super) struct Lent {
    by_slot: Box<[Loan]>,
    /// Of connections that were closed before their piece came back.
    orphans: Vec<Loan>,
}

/// One piece. Its memory is used again and again.
#[derive(Default)]
struct Loan {
    bytes: Vec<u8>,
    /// The request that it is lent to; none where it is back.
    to: Option<u64>,
}

/// Memory that a piece keeps when it is back: a handshake and small requests.
const KEPT_MAX_BYTES: usize = 4096;

impl Lent {
    /// For so many connections.
    pub(super) fn new(connections: u32) -> Self {
        Self { by_slot: (0..connections).map(|_| Loan::default()).collect(), orphans: Vec::new() }
    }

    /// Copies `bytes` and lends the copy to the request `to`.
    pub(super) fn lend(&mut self, slot: u32, bytes: &[u8], to: u64) -> &[u8] {
        let loan = &mut self.by_slot[slot as usize];
        if loan.to.is_some() {
            self.orphans.push(std::mem::take(loan));
        }
        loan.bytes.clear();
        if bytes.len() <= KEPT_MAX_BYTES {
            loan.bytes.shrink_to(KEPT_MAX_BYTES);
        }
        loan.bytes.extend_from_slice(bytes);
        loan.to = Some(to);
        &loan.bytes
    }

    /// Lends the piece of `slot`, which is back, once more without its first `taken` bytes.
    pub(super) fn lend_rest(&mut self, slot: u32, taken: usize, to: u64) -> &[u8] {
        let loan = &mut self.by_slot[slot as usize];
        assert!(loan.to.is_none(), "invariant: one request at a time has the piece of a connection");
        loan.to = Some(to);
        &loan.bytes[taken..]
    }

    /// The request `to` of a connection of `slot` is complete. Returns how long its piece is.
    pub(super) fn give_back(&mut self, slot: u32, to: u64) -> usize {
        let loan = &mut self.by_slot[slot as usize];
        if loan.to == Some(to) {
            loan.to = None;
            return loan.bytes.len();
        }
        let orphan = self.orphans.iter().position(|orphan| orphan.to == Some(to));
        orphan.map_or(0, |index| self.orphans.swap_remove(index).bytes.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_piece_stays_where_it_is_until_it_is_back() {
        let mut lent = Lent::new(2);
        let first = lent.lend(1, b"first", 11).as_ptr();
        // The connection was closed, and the slot has the next one.
        let second = lent.lend(1, b"second", 12).as_ptr();
        assert_ne!(first, second);
        assert_eq!(lent.orphans[0].bytes.as_ptr(), first);
        assert_eq!(lent.give_back(1, 12), 6);
        assert_eq!(lent.lend_rest(1, 4, 12), b"nd");
        assert_eq!(lent.give_back(1, 11), 5);
        assert!(lent.orphans.is_empty());
        assert_eq!(lent.give_back(1, 12), 6);
        assert_eq!(lent.lend(1, b"x", 13).as_ptr(), second, "its memory is used again");
        assert_eq!(lent.give_back(0, 77), 0);
    }
}
