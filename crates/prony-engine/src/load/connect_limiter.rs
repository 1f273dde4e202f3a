//! How many connections an open loop may begin, so that a stall that ends does not become a flood.
//!
//! A thousand requests may wait when a server thaws. Its answers free the connections that are there within a
//! millisecond or two, so that few new ones are needed; a thousand SYNs at once would only fill its queue.

use crate::clock::Nanos;
use crate::load::worker::RETRY_PAUSE;

/// Connections begun within [`TURN`] at most: 64,000 a second for each thread, more than one opens at best.
pub(crate) const CONNECTS_PER_TURN: u32 = 64;
/// The time that they are counted in.
pub(crate) const TURN: Nanos = 1_000_000;

/// Counts what was begun.
pub(crate) struct ConnectLimiter {
    turn_ends: Nanos,
    left: u32,
    paused_until: Nanos,
}

impl ConnectLimiter {
    /// Nothing was begun yet.
    pub(crate) fn new() -> Self {
        Self { turn_ends: 0, left: 0, paused_until: 0 }
    }

    /// Whether one more may be begun at `now`; if not, when to ask again.
    pub(crate) fn permit(&mut self, now: Nanos) -> Result<(), Nanos> {
        if now < self.paused_until {
            return Err(self.paused_until);
        }
        if now >= self.turn_ends {
            self.turn_ends = now + TURN;
            self.left = CONNECTS_PER_TURN;
        }
        if self.left == 0 {
            return Err(self.turn_ends);
        }
        self.left -= 1;
        Ok(())
    }

    /// The client has no port or descriptor left: the next attempt waits until one may have come free.
    pub(crate) fn pause(&mut self, now: Nanos) {
        self.paused_until = now + RETRY_PAUSE;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_many_in_a_turn() {
        let mut limiter = ConnectLimiter::new();
        for turn in 1..5 {
            let now = turn * TURN;
            let begun = (0..1000).take_while(|_| limiter.permit(now).is_ok()).count();
            assert_eq!(begun, CONNECTS_PER_TURN as usize);
            assert_eq!(limiter.permit(now + TURN / 2), Err(now + TURN));
        }
    }

    #[test]
    fn none_in_a_pause() {
        let mut limiter = ConnectLimiter::new();
        assert_eq!(limiter.permit(TURN), Ok(()));
        limiter.pause(TURN);
        assert_eq!(limiter.permit(TURN), Err(TURN + RETRY_PAUSE));
        assert_eq!(limiter.permit(TURN + RETRY_PAUSE), Ok(()));
    }
}
