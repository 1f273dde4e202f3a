//! Who is due next.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The due times of the connections that wait for one. Each waits for one at most, so this never holds more
/// entries than there are connections.
#[derive(Debug, Default)]
pub(super) struct DueTimes {
    heap: BinaryHeap<Reverse<(u64, usize)>>,
}

impl DueTimes {
    pub(super) fn push(&mut self, due_ns: u64, slot: usize) {
        self.heap.push(Reverse((due_ns, slot)));
    }

    /// The earliest time anyone waits for.
    pub(super) fn next_ns(&self) -> Option<u64> {
        self.heap.peek().map(|Reverse((due_ns, _))| *due_ns)
    }

    /// Takes out the earliest, if it is due by now.
    pub(super) fn pop(&mut self, now_ns: u64) -> Option<usize> {
        if self.next_ns()? > now_ns {
            return None;
        }
        self.heap.pop().map(|Reverse((_, slot))| slot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_earliest_comes_first_and_none_too_early() {
        let mut due = DueTimes::default();
        for (due_ns, slot) in [(30, 3), (10, 1), (20, 2)] {
            due.push(due_ns, slot);
        }
        assert_eq!(due.next_ns(), Some(10));
        assert_eq!(due.pop(9), None);
        assert_eq!((due.pop(25), due.pop(25), due.pop(25)), (Some(1), Some(2), None));
        assert_eq!(due.next_ns(), Some(30));
    }
}
