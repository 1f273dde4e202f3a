//! Which failures are retried, and after which wait: pure but for its own random numbers.

use prony_model::{ErrorKind, Outcome, RetryPlan};
use rand::Rng as _;
use rand_pcg::Pcg64;

use crate::clock::{Nanos, span};
use crate::record::sample::Answer;

/// Streams of random numbers from here on are those of backoffs, one for each thread; those below are of arrivals.
const STREAM: u128 = 1 << 64;

/// Why a request is sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Reason {
    /// There was no connection.
    Connect,
    /// The connection or the stream ended early.
    Reset,
    /// No answer in time.
    Timeout,
    /// An answer with this status.
    Status(u16),
}

/// The policy of one worker.
pub(crate) struct Policy {
    plan: RetryPlan,
    first: Nanos,
    max: Nanos,
    random: Pcg64,
}

impl Policy {
    /// That of `plan`, with the random numbers of `seed` for `thread`.
    pub(crate) fn new(plan: &RetryPlan, seed: u64, thread: u32) -> Self {
        Self {
            first: span(plan.backoff.first),
            max: span(plan.backoff.max),
            random: Pcg64::new(u128::from(seed), STREAM + u128::from(thread)),
            plan: plan.clone(),
        }
    }

    /// Retries of one request at most.
    pub(crate) fn retries(&self) -> u32 {
        self.plan.retries
    }

    /// Why a request without a connection is to be sent again. Where the client itself is the reason, or a certificate
    /// that is refused, it would fail again.
    pub(crate) fn unconnected(&self, kind: ErrorKind) -> Option<Reason> {
        let is_temporary = !kind.is_clients_fault() && kind != ErrorKind::Certificate;
        (self.plan.on.connect && is_temporary).then_some(Reason::Connect)
    }

    /// Why a request without an answer is to be sent again.
    pub(crate) fn lost(&self, kind: ErrorKind) -> Option<Reason> {
        match kind {
            ErrorKind::Reset | ErrorKind::ClosedEarly | ErrorKind::ClosedReused | ErrorKind::StreamReset => {
                self.plan.on.reset.then_some(Reason::Reset)
            }
            ErrorKind::RequestTimeout => self.plan.on.timeout.then_some(Reason::Timeout),
            _ => None,
        }
    }

    /// Why a request with an answer is to be sent again.
    pub(crate) fn answered(&self, outcome: Outcome, answer: Answer) -> Option<Reason> {
        let is_on = || self.plan.on.statuses.contains(answer.status);
        (matches!(outcome, Outcome::UnexpectedStatus(_)) && is_on()).then_some(Reason::Status(answer.status))
    }

    /// How long the `number`th retry of a request waits, from 1: any length up to the first one's, which doubles with
    /// each ("full jitter": Brooker, Exponential Backoff And Jitter, 2015).
    pub(crate) fn backoff(&mut self, number: u32) -> Nanos {
        let doubled = 1_u64.checked_shl(number - 1).unwrap_or(u64::MAX);
        let longest = self.first.saturating_mul(doubled).min(self.max);
        let scaled = u128::from(self.random.next_u64()) * (u128::from(longest) + 1);
        u64::try_from(scaled >> 64).expect("invariant: a product of 64 bits, less 64")
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use prony_model::{Backoff, RetryOn, StatusClass};

    use super::*;

    fn policy(on: &str, seed: u64, thread: u32) -> Policy {
        let plan = RetryPlan {
            retries: 5,
            on: RetryOn::parse(on).expect("failures"),
            backoff: Backoff { first: Duration::from_micros(100), max: Duration::from_micros(450) },
            budget: None,
            attempt_timeout: Duration::from_secs(1),
        };
        Policy::new(&plan, seed, thread)
    }

    #[test]
    fn backoffs_double_up_to_their_bound_and_repeat() {
        let longest = |number: u32| {
            let mut policy = policy("connect", 1, 0);
            (0..10_000).map(|_| policy.backoff(number)).max().expect("some")
        };
        for (number, bound) in [(1, 100_000), (2, 200_000), (3, 400_000), (4, 450_000), (100, 450_000)] {
            let found = longest(number);
            assert!((bound * 99 / 100..=bound).contains(&found), "{number}: {found}");
        }
        let some = |seed, thread| {
            let mut policy = policy("connect", seed, thread);
            (0..5).map(|_| policy.backoff(3)).collect::<Vec<_>>()
        };
        assert_eq!(some(1, 0), some(1, 0));
        assert_ne!(some(1, 0), some(2, 0));
        assert_ne!(some(1, 0), some(1, 1));
        let mut mean = policy("connect", 9, 0);
        let sum: Nanos = (0..10_000).map(|_| mean.backoff(1)).sum();
        assert!((490_000_000..510_000_000).contains(&sum), "full jitter: half the length in the mean");
    }

    #[test]
    fn only_what_was_asked_for_is_retried() {
        let lost = |on: &str, kind| policy(on, 1, 0).lost(kind);
        assert_eq!(lost("reset", ErrorKind::Reset), Some(Reason::Reset));
        assert_eq!(lost("reset", ErrorKind::ClosedReused), Some(Reason::Reset));
        assert_eq!(lost("reset", ErrorKind::RequestTimeout), None);
        assert_eq!(lost("timeout", ErrorKind::RequestTimeout), Some(Reason::Timeout));
        assert_eq!(lost("connect,reset,timeout,5xx", ErrorKind::Protocol), None);
        let unconnected = |on: &str, kind| policy(on, 1, 0).unconnected(kind);
        assert_eq!(unconnected("connect", ErrorKind::Refused), Some(Reason::Connect));
        assert_eq!(unconnected("connect", ErrorKind::ConnectTimeout), Some(Reason::Connect));
        assert_eq!(unconnected("connect", ErrorKind::NoPort), None);
        assert_eq!(unconnected("connect", ErrorKind::Certificate), None);
        assert_eq!(unconnected("reset,timeout", ErrorKind::Refused), None);
        let answered = |on: &str, status: u16, outcome: fn(StatusClass) -> Outcome| {
            let answer = Answer { status, body_bytes: 0 };
            policy(on, 1, 0).answered(outcome(StatusClass::of(status)), answer)
        };
        assert_eq!(answered("5xx", 503, Outcome::UnexpectedStatus), Some(Reason::Status(503)));
        assert_eq!(answered("429", 503, Outcome::UnexpectedStatus), None);
        assert_eq!(answered("5xx", 503, Outcome::Done), None, "a good answer is no failure");
    }
}
