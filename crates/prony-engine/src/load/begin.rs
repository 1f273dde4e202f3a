//! Begins what is due: requests of an open loop on connections that are free or newly opened, and connections of a closed
//! one.

use crate::clock::{self, NEVER, Nanos};
use crate::load::driver::{Io, Slot};
use crate::load::worker::{Pace, RAMP_IN_FLIGHT, Worker};
use crate::record::slice::WaitCause;

impl Worker {
    /// Opens the connections of a closed loop, and those again that failed to open.
    pub(super) fn open_closed_loop<I: Io>(&mut self, io: &mut I, now: Nanos) {
        while self.paused.front().is_some_and(|(at, _)| *at <= now) {
            if let Some((_, slot)) = self.paused.pop_front() {
                self.begin(io, slot, now);
            }
        }
        if now < self.plan.solo_until {
            let alone = self.plan.first_attempt == 0 && self.attempts == 0;
            if let Some(slot) = self.closed.pop_if(|_| alone) {
                self.begin(io, slot, now);
            }
            return;
        }
        self.plan.solo_until = 0;
        let at_once = RAMP_IN_FLIGHT.max(self.open / 2);
        while self.connecting < at_once && self.may_begin(now) {
            let Some(slot) = self.closed.pop() else { return };
            self.begin(io, slot, now);
        }
    }

    /// Begins the requests that are due, on connections that are free or newly opened.
    pub(crate) fn dispatch<I: Io>(&mut self, io: &mut I, now: Nanos) {
        if self.retries.is_some() {
            self.dispatch_retries(io, now);
        }
        match &self.pace {
            Pace::Closed { .. } => return,
            Pace::Open(_) => self.dispatch_requests(io, now),
            Pace::Sessions(_) => self.dispatch_steps(io, now),
        }
        loop {
            // Asked again each time: a connection that fails at once takes a waiting request with it.
            self.connect_at = NEVER;
            if u64::from(self.connecting) >= self.pace.waiting(now) || self.closed.is_empty() {
                return;
            }
            if let Err(later) = self.limiter.permit(now) {
                self.connect_at = later;
                return;
            }
            let Some(slot) = self.closed.pop() else { return };
            self.connect(io, slot, now);
        }
    }

    /// Sends the requests of an open loop that are due, on connections that are free.
    pub(super) fn dispatch_requests<I: Io>(&mut self, io: &mut I, now: Nanos) {
        let mut waiting = self.pace.waiting(now);
        while waiting > 0 {
            let Some(slot) = self.free.pop_front() else { break };
            self.send_due(io, slot, waiting);
            waiting -= 1;
        }
    }

    /// Sends the oldest of the `waiting` requests that are due on `slot`, which is free.
    #[inline]
    pub(crate) fn send_due<I: Io>(&mut self, io: &mut I, slot: Slot, waiting: u64) {
        let Pace::Open(schedule) = &mut self.pace else { return };
        let intended = schedule.take();
        self.recorder.taken(intended);
        if let Some(cause) = self.wait_cause(slot, intended, waiting) {
            self.recorder.waited(intended, cause);
        }
        self.send(io, slot, intended, clock::now());
        if self.connections[slot as usize].has_room() {
            self.free.push_back(slot);
        }
    }

    /// What a request that was due at `intended` has waited for, if its connection was not free by then; `waiting`
    /// requests are due, this one among them.
    #[inline]
    pub(crate) fn wait_cause(&self, slot: Slot, intended: Nanos, waiting: u64) -> Option<WaitCause> {
        let connection = &self.connections[slot as usize];
        if connection.since <= intended {
            return None;
        }
        let may_open_more = !self.closed.is_empty();
        // Where each request that waits has a connection on its way, none waits for the limit.
        let at_limit = if connection.used {
            u64::from(self.connecting) < waiting
        } else {
            let began = connection.since.saturating_sub(connection.took);
            began.saturating_sub(intended) > connection.since - began.max(intended)
        };
        Some(if at_limit && !may_open_more { WaitCause::Limit } else { WaitCause::Connecting })
    }

    /// Whether a closed loop may begin one more request.
    #[inline]
    pub(crate) fn may_begin(&self, now: Nanos) -> bool {
        match self.pace {
            Pace::Closed { left } => now < self.stop_at && left > 0 && self.has_idle_client(),
            Pace::Open(_) | Pace::Sessions(_) => false,
        }
    }
}
