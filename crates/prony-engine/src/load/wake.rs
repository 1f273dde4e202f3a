//! When to wake up for a request that will be due, so that it goes out on time.
//!
//! A sleeping thread wakes up late: by a few microseconds on bare metal, by 25 on the virtual machines that
//! this was built on. So it sleeps until a little earlier, by as much as waking up usually takes here, and
//! watches the clock for the rest. That is bounded twice: no single watch is longer than [`MARGIN_MAX`], and
//! together they take no more than a tenth of the time, because a client that spins is preempted when it
//! matters and looks busier than it is (docs/decisions/010-waking-up.md).

use crate::clock::{self, Nanos};

/// The longest time to watch the clock for one request.
const MARGIN_MAX: Nanos = 60_000;
/// Where the estimate begins.
const MARGIN_START: Nanos = 20_000;
/// Steps of the estimate: it settles where one wake-up in nine is later than it.
const STEP_UP: Nanos = 800;
const STEP_DOWN: Nanos = 100;
/// Time that may be watched away within [`WINDOW`].
const BUDGET: Nanos = WINDOW / 10;
const WINDOW: Nanos = 20_000_000;

/// What is known of waking up here.
pub(crate) struct WakeUp {
    /// How late a wake-up usually is at most.
    margin: Nanos,
    /// What the last sleep was to end at, if it was for a request.
    wake_at: Option<Nanos>,
    window_ends: Nanos,
    watched: Nanos,
}

impl WakeUp {
    /// Nothing is known yet.
    pub(crate) fn new() -> Self {
        Self { margin: MARGIN_START, wake_at: None, window_ends: 0, watched: 0 }
    }

    /// When to wake up for a request that is due at `due`, if not `otherwise` before.
    #[inline]
    pub(crate) fn before(&mut self, due: Nanos, otherwise: Nanos) -> Nanos {
        let early = if self.watched < BUDGET { due.saturating_sub(self.margin) } else { due };
        self.wake_at = (early < otherwise).then_some(early);
        early.min(otherwise)
    }

    /// The thread is awake at `now`; `by_itself`: because its time had come, not because something happened.
    #[inline]
    pub(crate) fn awake(&mut self, now: Nanos, by_itself: bool) {
        let Some(wake_at) = self.wake_at.take().filter(|_| by_itself) else { return };
        if now > wake_at + self.margin {
            self.margin = (self.margin + STEP_UP).min(MARGIN_MAX);
        } else if now >= wake_at {
            self.margin = self.margin.saturating_sub(STEP_DOWN);
        }
    }

    /// Watches the clock until `due`, if that is near and there is budget left; returns what it says then.
    #[inline]
    pub(crate) fn watch(&mut self, due: Nanos, now: Nanos) -> Nanos {
        if now >= self.window_ends {
            self.window_ends = now + WINDOW;
            self.watched = 0;
        }
        if due <= now || due - now > self.margin || self.watched >= BUDGET {
            return now;
        }
        let mut moment = now;
        while moment < due {
            std::hint::spin_loop();
            moment = clock::now();
        }
        self.watched += moment - now;
        moment
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lets wake-ups be late by `lateness` and returns the margin in the end.
    fn check(lateness: impl Fn(u64) -> Nanos) -> Nanos {
        let mut wake = WakeUp::new();
        for index in 1..20_000 {
            let due = index * 1_000_000;
            let wake_at = wake.before(due, Nanos::MAX);
            assert!(wake_at <= due && due - wake_at <= MARGIN_MAX, "never later than due, never far before");
            wake.awake(wake_at + lateness(index), true);
        }
        wake.margin
    }

    #[test]
    fn the_margin_settles_a_little_above_what_is_usual() {
        assert!((5_000..7_000).contains(&check(|_| 5_000)), "{}", check(|_| 5_000));
        let spread = check(|index| 20_000 + index * 7_919 % 10_000);
        assert!((27_000..31_000).contains(&spread), "{spread}");
        assert_eq!(check(|_| 10_000_000), MARGIN_MAX, "a machine that is never on time");
    }

    #[test]
    fn watching_ends_with_the_budget() {
        let mut wake = WakeUp::new();
        let now = clock::now();
        assert_eq!(wake.watch(now + MARGIN_MAX * 2, now), now, "too far away");
        assert!(wake.watch(now + 10, now) >= now + 10);
        wake.watched = BUDGET;
        assert_eq!(wake.watch(now + 100, now), now, "no budget");
        assert_eq!(wake.before(now + 100, Nanos::MAX), now + 100, "and so no early wake-up");
    }
}
