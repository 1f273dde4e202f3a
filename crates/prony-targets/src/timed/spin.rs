//! How much of the time may be spent watching the clock.

use crate::clock::SECOND_NS;

/// The share of a window that may be spun away: one part in so many. Spinning takes the processor from the
/// client on a small machine, and then it makes the tail worse, not better.
const SHARE: u64 = 10;
/// Short, so that a rest is never far.
const WINDOW_NS: u64 = SECOND_NS / 10;

/// Bounds the spinning of one thread.
#[derive(Debug, Default)]
pub(super) struct SpinBudget {
    window_began_ns: u64,
    spent_ns: u64,
}

impl SpinBudget {
    /// How long a spin that begins now may last.
    pub(super) fn left_ns(&mut self, now_ns: u64) -> u64 {
        if now_ns >= self.window_began_ns.saturating_add(WINDOW_NS) {
            *self = Self { window_began_ns: now_ns, spent_ns: 0 };
        }
        (WINDOW_NS / SHARE).saturating_sub(self.spent_ns)
    }

    pub(super) fn spend(&mut self, span_ns: u64) {
        self.spent_ns = self.spent_ns.saturating_add(span_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tenth_of_each_window_and_no_more() {
        let mut budget = SpinBudget::default();
        let start_ns = 7 * SECOND_NS;
        assert_eq!(budget.left_ns(start_ns), 10_000_000);
        budget.spend(9_000_000);
        assert_eq!(budget.left_ns(start_ns + 50_000_000), 1_000_000);
        budget.spend(2_000_000);
        assert_eq!(budget.left_ns(start_ns + 99_999_999), 0);
        assert_eq!(budget.left_ns(start_ns + 100_000_000), 10_000_000);
    }
}
