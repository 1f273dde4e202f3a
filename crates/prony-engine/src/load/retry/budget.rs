//! How many retries a client affords: a share of its requests, so that a server that fails is not loaded many times
//! over. As Finagle's retry budget: a bucket of tokens, of which each request adds a part and each retry takes one.

use crate::clock::Nanos;

/// What a retry takes; shares are rounded down to its millionths.
const RETRY: u64 = 1_000_000;
/// What was not used is kept for this long, to twice as long: good times don't pay for a storm much later (10 s in
/// Finagle and Linkerd, too).
const KEPT: Nanos = 10_000_000_000;

/// The budget of one worker.
pub(crate) struct Budget {
    /// What a request adds.
    share: u64,
    /// What is there at the beginning, and what time does not take.
    floor: u64,
    saved: u64,
    /// What came in this window.
    added: u64,
    window_ends: Nanos,
}

impl Budget {
    /// Retries for `share` of the requests, and `floor` of them whatever comes.
    pub(crate) fn new(share: f64, floor: u64) -> Self {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "RetryPlan::BUDGET_MAX; the cast saturates"
        )]
        let share = (share * RETRY as f64) as u64;
        Self { share, floor: floor * RETRY, saved: floor * RETRY, added: 0, window_ends: 0 }
    }

    /// One more request was sent for the first time.
    pub(crate) fn add(&mut self, now: Nanos) {
        if now >= self.window_ends {
            self.saved = self.saved.min(self.floor + self.added);
            self.added = 0;
            self.window_ends = now + KEPT;
        }
        self.saved += self.share;
        self.added += self.share;
    }

    /// Takes what a retry costs, if it is there.
    pub(crate) fn take(&mut self) -> bool {
        let left = self.saved.checked_sub(RETRY);
        self.saved = left.unwrap_or(self.saved);
        left.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(budget: &mut Budget) -> usize {
        std::iter::repeat_with(|| budget.take()).take_while(|taken| *taken).count()
    }

    #[test]
    fn retries_are_a_share_of_the_requests_and_the_floor() {
        let check = |share: f64, floor: u64, requests: u64, expected: usize| {
            let mut budget = Budget::new(share, floor);
            (0..requests).for_each(|_| budget.add(1));
            assert_eq!(taken(&mut budget), expected, "{share} of {requests} and {floor}");
            assert!(!budget.take());
        };
        check(0.2, 10, 0, 10);
        check(0.2, 10, 1000, 210);
        check(0.2, 0, 4, 0);
        check(0.2, 0, 5, 1);
        check(0.0, 3, 1000, 3);
        check(2.0, 0, 7, 14);
    }

    #[test]
    fn what_is_saved_is_of_the_last_seconds() {
        let mut budget = Budget::new(0.1, 2);
        (0..10_000).for_each(|_| budget.add(1));
        // The first window may still be used in the second one, and not in the third.
        (0..50).for_each(|_| budget.add(1 + KEPT));
        (0..50).for_each(|_| budget.add(1 + 2 * KEPT));
        assert_eq!(taken(&mut budget), 2 + 5 + 5);
    }
}
