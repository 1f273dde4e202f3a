//! Which connection is to be checked for a timeout, and when, at no cost per request.
//!
//! Each connection is checked once per timeout, not once per request: a check that finds its oldest request
//! still in time sets the next check to when that request would be late. Checks are kept in a wheel of short
//! stretches of time, so that setting one and finding those that are due takes the same few steps however many
//! connections there are.

use crate::clock::Nanos;
use crate::load::driver::Slot;

/// Stretches of the wheel. A check that is further away than all of them together comes early and is set again.
const BUCKETS: usize = 1024;
/// Ends a bucket's row of slots.
const END: Slot = Slot::MAX;
/// A slot that is in no bucket.
const UNSET: Slot = Slot::MAX - 1;

/// The checks to come.
pub(crate) struct Deadlines {
    /// The first slot of each bucket.
    buckets: Box<[Slot]>,
    /// By slot: the next one in its bucket.
    next: Box<[Slot]>,
    /// Length of a stretch.
    tick: Nanos,
    /// The first stretch that may still hold slots: since time 0, not modulo the wheel.
    current: u64,
    /// Slots in all buckets.
    set: u32,
}

impl Deadlines {
    /// No checks, of slots below `slots`; checks come up to `tick` late.
    pub(crate) fn new(slots: u32, tick: Nanos) -> Self {
        Self {
            buckets: vec![END; BUCKETS].into_boxed_slice(),
            next: vec![UNSET; slots as usize].into_boxed_slice(),
            tick,
            current: 0,
            set: 0,
        }
    }

    /// `slot` is to be checked when `at` has come, unless a check of it is set already; `now` is the present.
    pub(crate) fn set(&mut self, slot: Slot, now: Nanos, at: Nanos) {
        if self.next[slot as usize] != UNSET {
            return;
        }
        if self.set == 0 {
            self.current = now / self.tick + 1;
        }
        let last = self.current + BUCKETS as u64 - 1;
        let bucket = bucket_of((at / self.tick + 1).clamp(self.current, last));
        self.next[slot as usize] = std::mem::replace(&mut self.buckets[bucket], slot);
        self.set += 1;
    }

    /// Takes a slot that is to be checked by `now`.
    pub(crate) fn pop(&mut self, now: Nanos) -> Option<Slot> {
        let present = now / self.tick;
        while self.set > 0 && self.current <= present {
            let bucket = bucket_of(self.current);
            let slot = self.buckets[bucket];
            if slot != END {
                self.buckets[bucket] = std::mem::replace(&mut self.next[slot as usize], UNSET);
                self.set -= 1;
                return Some(slot);
            }
            self.current += 1;
        }
        None
    }

    /// When the next stretch begins in which there may be slots, as of `now`.
    pub(crate) fn next_check(&self, now: Nanos) -> Nanos {
        if self.set == 0 { now + self.tick } else { self.current * self.tick }
    }
}

/// Where in the wheel a stretch of time is.
fn bucket_of(stretch: u64) -> usize {
    usize::try_from(stretch % BUCKETS as u64).expect("invariant: less than the buckets")
}

#[cfg(test)]
mod tests {
    use super::*;

    const TICK: Nanos = 1_000;
    const START: Nanos = 77_777_777;

    fn due(deadlines: &mut Deadlines, now: Nanos) -> Vec<Slot> {
        let mut slots: Vec<Slot> = std::iter::from_fn(|| deadlines.pop(now)).collect();
        slots.sort_unstable();
        slots
    }

    #[test]
    fn looks_come_when_they_are_due_and_at_most_a_tick_late() {
        let mut deadlines = Deadlines::new(100, TICK);
        for slot in 0..100 {
            deadlines.set(slot, START, START + Nanos::from(slot) * 7_919);
        }
        let mut seen = Vec::new();
        for step in 0..2 * BUCKETS as u64 {
            let now = START + step * TICK;
            for slot in due(&mut deadlines, now) {
                let at = START + Nanos::from(slot) * 7_919;
                assert!(now >= at && now <= at + 2 * TICK, "{slot} due at {at}, seen at {now}");
                seen.push(slot);
            }
        }
        assert_eq!(seen, (0..100).collect::<Vec<_>>(), "each once, in order");
    }

    #[test]
    fn a_look_that_is_set_stays_and_one_beyond_the_wheel_comes_early() {
        let mut deadlines = Deadlines::new(2, TICK);
        deadlines.set(0, START, START + 5 * TICK);
        deadlines.set(0, START, START + 900 * TICK);
        deadlines.set(1, START, START + 5_000 * TICK);
        assert!(due(&mut deadlines, START + 4 * TICK).is_empty(), "too early");
        assert_eq!(due(&mut deadlines, START + 6 * TICK), [0]);
        assert_eq!(due(&mut deadlines, START + 1_024 * TICK), [1]);
        assert_eq!(deadlines.next_check(START), START + TICK, "nothing is set");
    }

    #[test]
    fn a_stretch_without_looks_is_skipped_when_the_next_one_is_set() {
        let mut deadlines = Deadlines::new(1, TICK);
        deadlines.set(0, START, START);
        assert_eq!(due(&mut deadlines, START + 1_000_000 * TICK), [0]);
        let later = START + 9_000_000 * TICK;
        deadlines.set(0, later, later + TICK);
        assert_eq!(deadlines.next_check(later), (later / TICK + 1) * TICK);
        assert_eq!(due(&mut deadlines, later + 2 * TICK), [0]);
    }
}
