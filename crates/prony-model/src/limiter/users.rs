//! Users of a closed loop of sessions: how many there are, and how long each thinks, is a limit of its own.
//!
//! Each of N users begins a session, ends it after R, thinks and waits for Z in all, and begins the next: N / (R + Z) sessions
//! per second (Little's law; the interactive response time law of Denning and Buzen, 1978). More users bring more as long
//! as R does not grow with them, which requests show that were sent while no other was in flight.

use super::evaluate::limiter;
use super::facts::Facts;
use super::{Limiter, LimiterKind, SoloRequests};
use crate::words::{milliseconds, two_digits, whole};
use crate::{RunResult, StepResult};

/// Share of the requests whose steps must have been seen alone.
const SEEN_ALONE: f64 = 0.8;
/// Fewer completed sessions don't say how long one takes.
const SESSIONS_MIN: u64 = 10;

/// Who loads the server.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Users {
    /// How many.
    pub number: f64,
    /// Sessions that began, per second.
    pub sessions_per_s: f64,
    /// Of a completed session without its think times, milliseconds, on average.
    pub active_ms: f64,
    /// Completed sessions.
    pub completed: u64,
}

impl Users {
    /// Those of `result`, if it has any.
    pub(super) fn of(result: &RunResult) -> Option<Self> {
        let found = result.scenario.as_ref().filter(|_| result.plan.load.rate().is_none())?;
        let completed: u64 = found.flows.iter().map(|flow| flow.sessions.completed).sum();
        let active = found
            .flows
            .iter()
            .filter_map(|flow| Some(flow.time_without_think.mean_ms? * flow.sessions.completed as f64));
        Some(Self {
            number: f64::from(result.plan.load.connections()),
            sessions_per_s: found.sessions_per_s,
            active_ms: active.sum::<f64>() / completed.max(1) as f64,
            completed,
        })
    }

    /// From the beginning of a user's session to that of the next, milliseconds.
    fn cycle_ms(&self) -> f64 {
        1e3 * self.number / self.sessions_per_s.max(f64::MIN_POSITIVE)
    }

    /// Whether enough is known of their sessions.
    pub(super) fn is_known(&self) -> bool {
        self.completed >= SESSIONS_MIN && self.sessions_per_s > 0.0
    }
}

/// How long requests take with others and alone, both in the mix of steps of the run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct InCompany {
    pub mean_ms: f64,
    pub alone: SoloRequests,
}

impl InCompany {
    /// Of `result`, where nearly all of its requests are of steps that were seen alone, too.
    pub(super) fn of(result: &RunResult) -> Option<Self> {
        let steps = &result.scenario.as_ref()?.steps;
        let done: u64 = steps.iter().map(|step| step.done).sum();
        let seen: Vec<(f64, f64, SoloRequests)> = steps.iter().filter_map(with_alone).collect();
        let weights: f64 = seen.iter().map(|(weight, ..)| weight).sum();
        if weights <= 0.0 || weights < SEEN_ALONE * done as f64 {
            return None;
        }
        let mixed = |of: &dyn Fn(&(f64, f64, SoloRequests)) -> f64| {
            seen.iter().map(|step| step.0 / weights * of(step)).sum::<f64>()
        };
        let count: u64 = seen.iter().map(|(.., alone)| alone.count).sum();
        // The error of the mixed mean, as if it were one of `count` requests.
        let variance = seen
            .iter()
            .map(|(weight, _, alone)| {
                (weight / weights * alone.stddev_ms).powi(2) / alone.count.max(1) as f64
            })
            .sum::<f64>();
        let mean_ms = mixed(&|(.., alone)| alone.mean_ms);
        Some(Self {
            mean_ms: mixed(&|(_, mean_ms, _)| *mean_ms),
            alone: SoloRequests {
                count,
                min_ms: mixed(&|(.., alone)| alone.min_ms),
                median_ms: mean_ms,
                mean_ms,
                stddev_ms: (variance * count as f64).sqrt(),
            },
        })
    }
}

/// How often a step was good, its mean service time, and what it took alone.
fn with_alone(step: &StepResult) -> Option<(f64, f64, SoloRequests)> {
    let alone = step.alone.filter(|alone| alone.count > 0)?;
    Some((step.done as f64, step.service.mean_ms?, alone))
}

/// No request waits for another: more users bring more.
pub(super) fn too_few(facts: &Facts, users: &Users, solo: &SoloRequests) -> Limiter {
    let cycle_ms = users.cycle_ms();
    let pause_ms = (cycle_ms - users.active_ms).max(0.0);
    let sessions = if users.sessions_per_s < 10.0 {
        two_digits(users.sessions_per_s).to_string()
    } else {
        whole(users.sessions_per_s)
    };
    let sentence = format!(
        "the users: each of {} takes {} for a session, {} of it think time and pacing, which makes {sessions} sessions/s \
         (Little's law); a request takes {}, as long as with no other in flight ({}), so that more users bring more",
        whole(users.number),
        milliseconds(cycle_ms),
        milliseconds(pause_ms),
        milliseconds(facts.service_mean_ms),
        milliseconds(solo.mean_ms),
    );
    let evidence = [
        ("users", users.number, "count"),
        ("sessions", users.sessions_per_s, "per_s"),
        ("session", cycle_ms, "ms"),
        ("pause", pause_ms, "ms"),
        ("in_flight", facts.in_flight, "count"),
        ("service_mean", facts.service_mean_ms, "ms"),
        ("alone_mean", solo.mean_ms, "ms"),
        ("alone_count", solo.count as f64, "count"),
    ];
    limiter(LimiterKind::Users, sentence, &evidence)
}
