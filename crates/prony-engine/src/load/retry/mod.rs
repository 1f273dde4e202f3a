//! Sends failed requests again, as the clients of a plan with retries do.
//!
//! A request that fails in a way that is retried waits for its backoff. In a closed loop of HTTP/1 its connection waits with
//! it, for it is the client; else it then takes the next connection with room, in turn with the requests that are due
//! (`streams.rs` has what is different in HTTP/2). A session waits itself, with its step: among what else of it becomes due
//! (`scenario/agenda.rs`). The outcome of a request is that of its last attempt. Runs without retries have none of this:
//! `Worker::retries` is `None`.

mod budget;
mod policy;
mod streams;
mod waiting;

use prony_model::{ErrorKind, Load, Outcome, RetryPlan, RunPlan, Version};

use self::budget::Budget;
use self::policy::Policy;
use self::waiting::{Waiting, WaitingRetries};
use crate::assign::slots;
use crate::clock::{self, Nanos, span};
use crate::load::conn::State;
use crate::load::driver::{Io, Slot};
use crate::load::scenario::sessions::{NOBODY, Place};
use crate::load::trace::Trace;
use crate::load::worker::{Pace, Worker};
use crate::record::failure_detail::Detail;
use crate::record::sample::{Answer, Sample};

pub(crate) use self::policy::Reason;

/// Requests of one worker of an open loop that wait for a retry at most: those of 0.6 s at 100,000 per second.
const WAITING_MAX: usize = 1 << 16;
/// A request's timeout is noticed late by this part of it at most, as others are.
const LATE_PART: Nanos = 50;

/// Why a failure that is retried is not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// Its request has had all its retries.
    Exhausted,
    /// It would come after the timeout of its request.
    Timeout,
    /// Too many wait already.
    Room,
    /// The budget is used up.
    Budget,
}

/// Which attempt of a request a connection or a stream carries. By default the first one, of which nothing need be known.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Attempt {
    /// Retries so far.
    number: u32,
    /// When the request must have ended.
    deadline: Nanos,
    /// The trace of its request, where it was sent before.
    trace: Trace,
}

impl Attempt {
    /// Whether its request was sent before and has failed then.
    #[inline]
    pub(crate) fn is_retry(self) -> bool {
        self.number > 0
    }

    /// Which retry of its request it is, from 1; 0 for the first attempt.
    pub(crate) fn number(self) -> u32 {
        self.number
    }

    /// The trace of its request, where it was sent before.
    #[inline]
    pub(crate) fn trace(self) -> Trace {
        self.trace
    }

    /// The same attempt, of a request with this trace.
    pub(crate) fn with_trace(self, trace: Trace) -> Self {
        Self { trace, ..self }
    }
}

/// A retry that is to come.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Retry {
    /// When the request was due.
    pub intended: Nanos,
    /// When its backoff is over.
    pub due: Nanos,
    /// Which attempt it is.
    pub attempt: Attempt,
    /// Why.
    pub reason: Reason,
}

/// The retries of one worker.
pub(crate) struct Retries {
    policy: Policy,
    budget: Option<Budget>,
    /// For a request and all its retries.
    timeout: Nanos,
    /// By slot, or place of a stream in HTTP/2: what its request in flight is.
    attempts: Box<[Attempt]>,
    /// By slot: whether its request waits for a retry (closed loop of HTTP/1 only).
    held: Box<[bool]>,
    /// Empty with sessions, which wait themselves.
    waiting: WaitingRetries,
}

impl Retries {
    /// Those of worker `thread` of all agents, where `plan` has any.
    pub(crate) fn of(plan: &RunPlan, thread: u32) -> Option<Self> {
        let retries = plan.retries.as_ref()?;
        let slots = slots(plan, thread) as usize;
        let in_flight = slots * plan.request.pipeline as usize;
        let is_http2 = plan.request.version == Version::Http2;
        let is_closed = matches!(plan.load, Load::Closed { .. });
        let has_sessions = plan.scenario.is_some();
        let room = match (has_sessions, is_closed) {
            (true, _) => 0,
            (false, true) => in_flight,
            (false, false) => WAITING_MAX,
        };
        let floor = RunPlan::part_of(u64::from(RetryPlan::BUDGET_FLOOR), thread, plan.share().of);
        Some(Self {
            policy: Policy::new(retries, plan.seed, thread),
            budget: retries.budget.map(|share| Budget::new(share, floor)),
            timeout: span(plan.timeouts.request),
            attempts: vec![Attempt::default(); in_flight].into_boxed_slice(),
            held: vec![false; if is_closed && !is_http2 && !has_sessions { slots } else { 0 }]
                .into_boxed_slice(),
            waiting: WaitingRetries::new(room),
        })
    }

    /// How often a connection is to be checked for timeouts where it would otherwise be each `shortest`.
    pub(crate) fn check_every(&self, shortest: Nanos) -> Nanos {
        shortest.min(self.timeout / LATE_PART).max(1)
    }

    /// Whether the request of `slot` was sent before.
    #[inline]
    pub(crate) fn is_retry(&self, slot: Slot) -> bool {
        self.attempts[slot as usize].is_retry()
    }

    /// Whether `slot` waits with its request (closed loop of HTTP/1 only).
    pub(crate) fn holds(&self, slot: Slot) -> bool {
        self.held.get(slot as usize).copied().unwrap_or_default()
    }

    /// The request that is sent on `slot` is this attempt.
    #[inline]
    pub(crate) fn note_attempt(&mut self, slot: Slot, attempt: Attempt) {
        self.attempts[slot as usize] = attempt;
    }

    /// What the request of `slot` was, which has ended or is not there any more.
    pub(crate) fn take_attempt(&mut self, slot: Slot) -> Attempt {
        std::mem::take(&mut self.attempts[slot as usize])
    }

    /// The trace of the request of `slot`, where it was sent before.
    pub(crate) fn trace(&self, slot: Slot) -> Trace {
        self.attempts[slot as usize].trace
    }

    /// When each of the requests that wait was due.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = Nanos> {
        self.waiting.all().map(|waiting| waiting.intended)
    }

    /// When `attempt` of a request, which failed as `sample` says, is followed by another one, if it is. `has_room`: it can
    /// wait.
    fn schedule(
        &mut self,
        attempt: Attempt,
        has_room: bool,
        sample: &Sample,
    ) -> Result<(Nanos, Attempt), Refusal> {
        let (sent, now) = (sample.sent, sample.done);
        let next = Attempt {
            number: attempt.number + 1,
            deadline: if attempt.number == 0 { sent.saturating_add(self.timeout) } else { attempt.deadline },
            // What got no connection was not sent.
            trace: if sample.is_unsent { attempt.trace } else { sample.trace.again() },
        };
        if next.number > self.policy.retries() {
            return Err(Refusal::Exhausted);
        }
        let due = now.saturating_add(self.policy.backoff(next.number));
        if due >= next.deadline {
            return Err(Refusal::Timeout);
        }
        if !has_room {
            return Err(Refusal::Room);
        }
        if self.budget.as_mut().is_some_and(|budget| !budget.take()) {
            return Err(Refusal::Budget);
        }
        Ok((due, next))
    }
}

impl Worker {
    /// Whether a request waits for a retry.
    pub(crate) fn has_retries_left(&self) -> bool {
        if let Pace::Sessions(sessions) = &self.pace {
            return sessions.has_retries();
        }
        self.retries.as_ref().is_some_and(|retries| !retries.waiting.is_empty())
    }

    /// How long the attempt of `slot`, sent at `sent`, may take.
    pub(crate) fn attempt_timeout(&self, slot: Slot, sent: Nanos) -> Nanos {
        let attempt = self.retries.as_ref().map(|retries| retries.attempts[slot as usize]);
        match attempt {
            Some(Attempt { number: 1.., deadline, .. }) => {
                self.plan.request_timeout.min(deadline.saturating_sub(sent))
            }
            _ => self.plan.request_timeout,
        }
    }

    /// Begins the retries whose backoff is over, at the latest by the next check for a stop by hand.
    #[cold]
    pub(crate) fn retry_due<I: Io>(&mut self, io: &mut I, now: Nanos) {
        if self.retries_take_any_connection() {
            self.dispatch_retries(io, now);
        } else {
            while let Some(waiting) = self.retries.as_mut().and_then(|retries| retries.waiting.pop_due(now)) {
                self.retry_on_own_connection(io, &waiting, now);
            }
        }
        if let Some(due) = self.retries.as_ref().and_then(|retries| retries.waiting.next_due()) {
            self.next_control = self.next_control.min(due);
        }
    }

    /// A closed loop's request is sent again by the connection that waited with it, or by a new one in its place.
    fn retry_on_own_connection<I: Io>(&mut self, io: &mut I, waiting: &Waiting, now: Nanos) {
        let slot = waiting.slot;
        self.begin_retry(slot, waiting);
        if let Some(retries) = &mut self.retries {
            retries.held[slot as usize] = false;
        }
        let connection = &mut self.connections[slot as usize];
        if connection.state == State::Open {
            connection.since = connection.since.max(waiting.due);
            self.send_again(io, slot, waiting.intended, now);
        } else {
            connection.waiting = waiting.intended;
            self.connect(io, slot, now);
        }
    }

    /// Sends requests again whose backoff is over, in turn with those that are due, as long as connections have room; for the
    /// others it begins connections. Not in a closed loop of HTTP/1.
    #[cold]
    pub(crate) fn dispatch_retries<I: Io>(&mut self, io: &mut I, now: Nanos) {
        while let Some(ready) = self.first_ready(now) {
            let Some(slot) = self.take_roomy() else { return self.connect_for_retries(io, now) };
            let waiting = self.first_attempts(now);
            match &self.pace {
                Pace::Open(schedule) if waiting > 0 && schedule.oldest() < ready.due => {
                    self.send_due(io, slot, waiting);
                }
                _ if self.is_http2() => {
                    self.send_ready(io, slot, &ready);
                    self.give_back(slot);
                }
                _ => {
                    self.take_ready();
                    self.begin_retry(slot, &ready);
                    let connection = &mut self.connections[slot as usize];
                    connection.since = connection.since.max(ready.due);
                    self.send_again(io, slot, ready.intended, clock::now());
                }
            }
        }
    }

    fn connect_for_retries<I: Io>(&mut self, io: &mut I, now: Nanos) {
        // Asked again each time: a connection that fails at once takes a waiting request with it.
        while self.first_ready(now).is_some() && !self.closed.is_empty() {
            let ready = self.retries.as_ref().map_or(0, |retries| retries.waiting.ready());
            if u64::from(self.connecting) >= ready + self.first_attempts(now) {
                return;
            }
            if let Err(later) = self.limiter.permit(now) {
                self.next_control = self.next_control.min(later);
                return;
            }
            let Some(slot) = self.closed.pop() else { return };
            self.connect(io, slot, now);
        }
    }

    /// The first request whose backoff is over; it stays.
    fn first_ready(&mut self, now: Nanos) -> Option<Waiting> {
        self.retries.as_mut()?.waiting.first_ready(now)
    }

    fn take_ready(&mut self) {
        if let Some(retries) = &mut self.retries {
            retries.waiting.take_ready();
        }
    }

    /// Requests of an open loop that are due for the first time.
    fn first_attempts(&mut self, now: Nanos) -> u64 {
        match &mut self.pace {
            Pace::Open(schedule) if now < self.stop_at => schedule.waiting(now),
            _ => 0,
        }
    }

    /// `slot` is to carry the request that `waiting` was about.
    fn begin_retry(&mut self, slot: Slot, waiting: &Waiting) {
        if let Some(retries) = &mut self.retries {
            retries.note_attempt(slot, waiting.attempt());
        }
        self.recorder.retried(waiting.intended, waiting.reason, waiting.number);
    }

    /// As `send`, for a request that was sent before.
    pub(crate) fn send_again<I: Io>(&mut self, io: &mut I, slot: Slot, intended: Nanos, now: Nanos) {
        let (bytes, reused) = self.hand_over(io, slot, intended);
        self.recorder.sent_again(intended, bytes, reused, now);
    }

    /// An attempt has got its answer. Returns whether its request is sent again.
    #[cold]
    pub(crate) fn settle_answered(
        &mut self,
        slot: Slot,
        sample: Sample,
        outcome: Outcome,
        answer: Answer,
        detail: Detail,
    ) -> bool {
        let Some(retries) = &mut self.retries else { return false };
        let attempt = retries.take_attempt(slot);
        let reason = retries.policy.answered(outcome, answer);
        let place = self.session_on(slot);
        if self.is_sent_again(attempt, slot, place, &sample, reason) {
            self.forget_attempt(slot);
            self.recorder.answer_retried(&sample, answer);
            return true;
        }
        self.recorder.ended_after(&sample, outcome, attempt.number + 1);
        if attempt.number == 0 {
            self.recorder.answered(sample, outcome, answer, detail);
        } else {
            self.recorder.without_blocked(|recorder| recorder.answered(sample, outcome, answer, detail));
        }
        false
    }

    /// An attempt will get no answer. Returns whether its request is sent again.
    #[cold]
    pub(crate) fn settle_lost(
        &mut self,
        slot: Slot,
        sample: Sample,
        kind: ErrorKind,
        detail: Detail,
    ) -> bool {
        let Some(retries) = &mut self.retries else {
            self.recorder.lost(sample, kind, detail);
            return false;
        };
        let attempt = retries.take_attempt(slot);
        let reason = retries.policy.lost(kind);
        let place = self.session_on(slot);
        if self.is_sent_again(attempt, slot, place, &sample, reason) {
            self.forget_attempt(slot);
            self.recorder.loss_retried(&sample);
            return true;
        }
        self.recorder.ended_after(&sample, Outcome::Failed(kind), attempt.number + 1);
        if attempt.number == 0 {
            self.recorder.lost(sample, kind, detail);
        } else {
            self.recorder.without_blocked(|recorder| recorder.lost(sample, kind, detail));
        }
        false
    }

    /// `attempt`, of the session at `place` if there are sessions, could not be sent, because there was no connection for
    /// it. Returns whether its request is sent again.
    #[cold]
    pub(crate) fn settle_unconnected(
        &mut self,
        attempt: Attempt,
        slot: Slot,
        place: Place,
        sample: Sample,
        kind: ErrorKind,
        detail: Detail,
    ) -> bool {
        let Some(retries) = &mut self.retries else {
            self.recorder.unconnected(sample, kind, detail);
            return false;
        };
        // What its attempts before were.
        let sample = Sample { trace: sample.trace.or(attempt.trace).without_trace(), ..sample };
        let reason = retries.policy.unconnected(kind);
        if self.is_sent_again(attempt, slot, place, &sample, reason) {
            if attempt.number == 0 {
                self.recorder.unconnected_retried(&sample);
            }
            return true;
        }
        self.recorder.ended_after(&sample, Outcome::Failed(kind), attempt.number + 1);
        if attempt.number == 0 {
            self.recorder.unconnected(sample, kind, detail);
        } else {
            self.recorder.unconnected_again(sample, kind, detail);
        }
        false
    }

    /// An open loop did not get the connection that `began` then: fails the attempt of the retry that has waited longest,
    /// if it has waited longer than the requests that are due for the first time.
    pub(crate) fn fail_waiting_retry(
        &mut self,
        slot: Slot,
        began: Nanos,
        kind: ErrorKind,
        detail: Detail,
        now: Nanos,
    ) -> bool {
        let Some(ready) = self.first_ready(now) else { return false };
        if self.first_attempts(now) > 0
            && let Pace::Open(schedule) = &self.pace
            && schedule.oldest() < ready.due
        {
            return false;
        }
        self.take_ready();
        self.recorder.retried(ready.intended, ready.reason, ready.number);
        let sample = Sample { intended: ready.intended, ..Sample::unsent(ready.due, began, now) };
        self.settle_unconnected(ready.attempt(), slot, NOBODY, sample, kind, detail);
        true
    }

    /// Whether a request is sent again whose `attempt` ended as `sample` says, for `reason`, if that is one: then it waits.
    fn is_sent_again(
        &mut self,
        attempt: Attempt,
        slot: Slot,
        place: Place,
        sample: &Sample,
        reason: Option<Reason>,
    ) -> bool {
        let Some(retries) = &mut self.retries else { return false };
        if let Some(budget) = &mut retries.budget
            && attempt.number == 0
        {
            budget.add(sample.done);
        }
        let Some(reason) = reason else { return false };
        let has_room = matches!(self.pace, Pace::Sessions(_)) || !retries.waiting.is_full();
        let (due, next) = match retries.schedule(attempt, has_room, sample) {
            Ok(next) => next,
            Err(refusal) => {
                self.recorder.not_retried(sample.intended, refusal);
                return false;
            }
        };
        if let Pace::Sessions(sessions) = &mut self.pace {
            sessions.try_again(place, Retry { intended: sample.intended, due, attempt: next, reason });
            return true;
        }
        retries.waiting.push(Waiting::new(due, sample.intended, next, reason, slot));
        if let Some(held) = retries.held.get_mut(slot as usize) {
            *held = true;
        }
        self.next_control = self.next_control.min(due);
        true
    }
}
