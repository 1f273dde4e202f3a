//! The end of a worker's part of a run: when it comes, and what is written down of what is still outstanding then.

use crate::clock::{self, Nanos};
use crate::load::driver::{Io, Slot};
use crate::load::worker::{Pace, Worker};
use crate::record::slice::WaitCause;

impl Worker {
    /// Sends what became due since the last turn and before the end, on connections that are free: that this worker wakes up a
    /// little late is no reason to leave it out.
    pub(super) fn send_last<I: Io>(&mut self, io: &mut I) {
        if self.aborted {
            return;
        }
        let last = self.stop_at.saturating_sub(1);
        match self.pace {
            Pace::Open(_) => self.dispatch_requests(io, last),
            Pace::Sessions(_) => self.dispatch_steps(io, last),
            Pace::Closed { .. } => {}
        }
    }

    /// The measured part is over: no request is begun any more.
    pub(super) fn stop(&mut self, now: Nanos) {
        self.stopped = true;
        self.recorder.stop_counting(now);
        self.stop_sessions(now);
        if let Pace::Open(schedule) = &mut self.pace {
            schedule.end_at(now);
            let without_connection = schedule.waiting(now).saturating_sub(u64::from(self.connecting));
            let mut at_limit = if self.closed.is_empty() { without_connection } else { 0 };
            while schedule.waiting(now) > 0 {
                let intended = schedule.take();
                let cause = if at_limit > 0 { WaitCause::Limit } else { WaitCause::Connecting };
                at_limit = at_limit.saturating_sub(1);
                self.recorder.waited(intended, cause);
                self.recorder.never_sent(intended, false, now);
            }
        }
    }

    /// Whether nothing is left to do.
    pub(super) fn is_over(&mut self, now: Nanos) -> bool {
        // A connection on its way carries the request that a closed loop began with it.
        let idle = self.in_flight == 0
            && (self.connecting == 0 || !matches!(self.pace, Pace::Closed { .. }))
            && !self.has_refused();
        if self.stopped {
            return (idle && !self.has_retries_left())
                || self.aborted
                || now >= self.stop_at.saturating_add(self.plan.drain);
        }
        let begun = match &self.pace {
            Pace::Closed { left } => *left == 0 && self.paused.is_empty(),
            Pace::Open(schedule) => schedule.is_over(),
            Pace::Sessions(sessions) => sessions.is_over(),
        };
        let ends = self.plan.counted
            || matches!(&self.pace, Pace::Sessions(sessions) if sessions.is_ended_by_feed());
        if begun && idle && ends && !self.has_retries_left() {
            self.stop_at = now;
            self.stop(now);
            return true;
        }
        false
    }

    /// Writes down what is still outstanding.
    pub(super) fn finish(mut self) {
        let is_http2 = self.is_http2();
        let now = clock::now();
        if let Some(http2) = self.layer.as_mut().and_then(|layer| layer.http2.as_mut()) {
            for slot in 0..self.plan.slots {
                let connection = &mut self.connections[slot as usize];
                for (_, stream) in http2.flights.of(slot) {
                    connection.first_byte = stream.first_byte;
                    self.recorder.unfinished(&connection.ended(stream.flight, now));
                }
            }
            for refused in http2.refused() {
                if refused.attempt.is_retry() {
                    self.recorder.unfinished_retry(refused.intended, now);
                } else {
                    self.recorder.never_sent(refused.intended, true, now);
                }
            }
        }
        for (index, connection) in self.connections.iter_mut().enumerate() {
            let slot = Slot::try_from(index).expect("invariant: slots are numbered with 32 bits");
            while !is_http2 && let Some(flight) = self.flights.pop(slot, connection) {
                self.recorder.unfinished(&connection.ended(flight, now));
            }
            match std::mem::take(&mut connection.waiting) {
                0 => {}
                intended
                    if !is_http2 && self.retries.as_ref().is_some_and(|retries| retries.is_retry(slot)) =>
                {
                    self.recorder.unfinished_retry(intended, now);
                }
                intended => self.recorder.never_sent(intended, true, now),
            }
        }
        if let Some(retries) = &self.retries {
            retries.waiting().for_each(|intended| self.recorder.unfinished_retry(intended, now));
        }
        if let Pace::Sessions(sessions) = self.pace {
            sessions.retries().for_each(|intended| self.recorder.unfinished_retry(intended, now));
            self.recorder.sessions(Box::new(sessions.finish()));
        }
        self.recorder.finish(now);
    }
}
