//! How long a worker thread waited for a core in the measured part.
//!
//! The kernel returns a sum since the thread began, whenever it is asked. Both ends of the span are moments at which it
//! was asked, so that the wait can't be longer than the time: what a thread waited in the drain is not put over the
//! length of the measured part.

use crate::clock::Nanos;

/// What the kernel returned, and when.
#[derive(Debug, Clone, Copy)]
struct Reading {
    at: Nanos,
    waited: Nanos,
}

/// The readings of one thread.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RunQueueWait {
    /// The last one before the measured part, or the first one in it.
    first: Option<Reading>,
    last: Option<Reading>,
    has_ended: bool,
}

impl RunQueueWait {
    /// At `at`, before the measured part, the thread had waited for `waited`.
    pub(crate) fn begin(&mut self, at: Nanos, waited: Nanos) {
        self.first = Some(Reading { at, waited });
    }

    /// The same in the measured part; later ones are left out.
    pub(crate) fn measured(&mut self, at: Nanos, waited: Nanos) {
        if self.has_ended {
            return;
        }
        self.first.get_or_insert(Reading { at, waited });
        self.last = Some(Reading { at, waited });
    }

    /// The thread's measured part is over.
    pub(crate) fn end(&mut self) {
        self.has_ended = true;
    }

    /// How long the thread has waited between the first and the last reading.
    pub(crate) fn waited(&self) -> Nanos {
        let waits = self.first.zip(self.last);
        waits.map_or(0, |(first, last)| last.waited.saturating_sub(first.waited))
    }

    /// Its share of the time between the first and the last reading (0..1); `None` for fewer than two.
    fn share(&self) -> Option<f64> {
        let (first, last) = (self.first?, self.last?);
        let span = last.at.checked_sub(first.at).filter(|span| *span > 0)?;
        // A wait that began before the first reading is counted when it ends.
        Some((last.waited.saturating_sub(first.waited) as f64 / span as f64).min(1.0))
    }

    /// The same share of `wall`, the time that the thread was measured for.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a share of a length of time"
    )]
    pub(crate) fn of_wall(&self, wall: Nanos) -> Option<Nanos> {
        self.share().map(|share| (share * wall as f64) as Nanos)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Nanos = 1_000_000;

    #[test]
    fn waits_of_the_drain_are_not_those_of_the_measured_part() {
        let mut wait = RunQueueWait::default();
        wait.begin(0, 5 * MS);
        wait.measured(50 * MS, 10 * MS);
        wait.measured(100 * MS, 15 * MS);
        wait.end();
        // It waited for 1,253 ms of a drain of two seconds, twelve times as long as the measured part.
        wait.measured(2_100 * MS, 1_268 * MS);
        assert_eq!(wait.of_wall(100 * MS), Some(10 * MS));
    }

    #[test]
    fn a_share_is_no_more_than_all() {
        let mut wait = RunQueueWait::default();
        assert_eq!(wait.of_wall(100), None);
        wait.measured(50, 7);
        assert_eq!(wait.of_wall(100), None, "one reading is no span");
        // The kernel counts a wait when it is over, though it began before.
        wait.measured(60, 500);
        assert_eq!(wait.of_wall(100), Some(100));
    }
}
