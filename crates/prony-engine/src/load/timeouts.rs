//! Connections and requests whose time is up.

use crate::clock::Nanos;
use crate::load::conn::State;
use crate::load::driver::{Io, Slot};
use crate::load::worker::Worker;

/// Connections that are checked for a timeout before the sockets are polled again.
const CHECKS_PER_TURN: usize = 4096;

impl Worker {
    /// Gives up what is late at `now`; returns how many connections it checked.
    pub(crate) fn check_timeouts<I: Io>(&mut self, io: &mut I, now: Nanos) -> usize {
        for checks in 0..CHECKS_PER_TURN {
            let Some(slot) = self.deadlines.pop(now) else { return checks };
            self.check_timeout(io, slot, now);
        }
        CHECKS_PER_TURN
    }

    fn check_timeout<I: Io>(&mut self, io: &mut I, slot: Slot, now: Nanos) {
        let connection = &self.connections[slot as usize];
        let (connecting, since) = match connection.state {
            // Connecting again sets the next check.
            State::Closed => return,
            State::Connecting | State::Securing => (true, connection.since),
            State::Open if self.is_http2() => return self.check_streams(io, slot, now),
            State::Open => {
                let sent = self.flights.oldest(slot, connection).map_or(0, |flight| flight.sent);
                (false, if sent == 0 { now } else { sent })
            }
        };
        let timeout = if connecting { self.plan.connect_timeout } else { self.attempt_timeout(slot, since) };
        if now.saturating_sub(since) <= timeout {
            self.watch(slot, now, since.saturating_add(timeout));
        } else if connecting {
            self.connect_timed_out(io, slot, now);
        } else {
            self.request_timed_out(io, slot, now);
        }
    }

    /// Sets the next check of `slot`: when `late` has come, or a request that is begun now could be late.
    pub(crate) fn watch(&mut self, slot: Slot, now: Nanos, late: Nanos) {
        self.deadlines.set(slot, now, late.min(now.saturating_add(self.check_every)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::scripted::{Call, ScriptedIo, open_loop};

    const SECOND: Nanos = 1_000_000_000;

    #[test]
    fn a_timeout_costs_the_same_however_many_connections_there_may_be() {
        let checks = |slots: u32| {
            // One request, which is never answered.
            let (mut worker, mut io) = (open_loop(1, slots), ScriptedIo::default());
            worker.dispatch(&mut io, 1);
            io.connect_all(&mut worker, 1);
            let mut checks = 0;
            for step in 1..3100 {
                let now = step * SECOND / 100;
                checks += worker.check_timeouts(&mut io, now);
            }
            assert_eq!(io.calls.last(), Some(&Call::Close(0)), "30 s are over");
            checks
        };
        assert_eq!(checks(1), checks(200_000));
        assert!(checks(1) <= 10, "{}", checks(1));
    }

    #[test]
    fn each_connection_is_checked_once_per_timeout_and_none_is_forgotten() {
        const SLOTS: u32 = 1000;
        let (mut worker, mut io) = (open_loop(SLOTS.into(), SLOTS), ScriptedIo::default());
        let mut now = 0;
        while io.count(|call| matches!(call, Call::Connect(_))) < SLOTS as usize {
            now += crate::load::connect_limiter::TURN;
            worker.dispatch(&mut io, now);
        }
        io.connect_all(&mut worker, now);
        let mut checks = 0;
        for step in 1..3200 {
            checks += worker.check_timeouts(&mut io, step * SECOND / 100);
        }
        assert_eq!(io.count(|call| matches!(call, Call::Close(_))), SLOTS as usize, "all were late");
        assert!(checks <= 8 * SLOTS as usize, "{checks}");
    }
}
