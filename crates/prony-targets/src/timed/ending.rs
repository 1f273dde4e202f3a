//! How connections end that do not end by themselves: timeouts, and the server's stop.

use super::connection::Phase;
use super::worker::Worker;
use super::{End, TimedHandler};
use crate::clock::SECOND_NS;
use crate::head::Reject;

/// The longest and the shortest time between two checks of the timeouts, and of an accept that the kernel had
/// refused.
const SWEEP_LIMIT_NS: u64 = SECOND_NS;
const SWEEP_LEAST_NS: u64 = SECOND_NS / 1000;
/// How long a connection that was served may stay without another request.
pub(super) const IDLE_LIMIT_NS: u64 = 60 * SECOND_NS;
/// How long what a rejected client still sends is thrown away.
const LINGER_LIMIT_NS: u64 = 2 * SECOND_NS;

impl<S: TimedHandler> Worker<S> {
    /// How often to check.
    pub(super) fn sweep_ns(&self) -> u64 {
        (self.request_timeout_ns / 2).clamp(SWEEP_LEAST_NS, SWEEP_LIMIT_NS)
    }

    /// Ends what has taken too long to come.
    pub(super) fn sweep(&mut self, now_ns: u64) {
        self.swept_ns = now_ns;
        self.stamps.compare_clocks();
        self.poller.accept_anyway();
        for slot in self.poller.slots() {
            let Some(connection) = self.poller.connection(slot) else { continue };
            let age_ns = now_ns.saturating_sub(connection.since_ns);
            match connection.phase {
                Phase::Reading if connection.reader.is_idle() => {
                    let limit_ns = if connection.served { IDLE_LIMIT_NS } else { self.request_timeout_ns };
                    if age_ns >= limit_ns {
                        self.close(slot);
                    }
                }
                Phase::Reading if age_ns >= self.request_timeout_ns => self.reject(slot, Reject::TooSlow),
                Phase::Lingering if age_ns >= LINGER_LIMIT_NS => self.close(slot),
                _ => {}
            }
        }
    }

    /// The stop: no new connections; those that wait for a request are closed once what came is read.
    pub(super) fn begin_to_end(&mut self) {
        self.poller.stop_listening();
        for slot in self.poller.slots() {
            if let Some(connection) = self.poller.connection(slot) {
                connection.may_have_more();
            }
            self.wake(slot);
        }
    }

    /// Gives up what is unanswered. It stays in flight in the counters, and that is how the stop's report knows.
    pub(super) fn abandon(mut self) {
        for slot in self.poller.slots() {
            let Some(connection) = self.poller.close(slot) else { continue };
            let (ticket, end) = match connection.phase {
                Phase::Waiting { ticket, .. } => (ticket, End { first_ns: 0, last_ns: 0, delivered: false }),
                Phase::Replying(replying) => {
                    let end = replying.end(false);
                    (replying.ticket, end)
                }
                Phase::Reading | Phase::Lingering => continue,
            };
            self.script.over(ticket, end);
        }
    }
}
