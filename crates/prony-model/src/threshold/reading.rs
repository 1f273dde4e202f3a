//! A figure of one run, with what is known of its precision, or why there is none.

use super::figure::{Figure, Level};
use crate::{Clock, Interval, LatencySummary, QuantileNote, RunResult};

/// One figure of one run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reading {
    /// In the figure's unit; absent where it is withheld.
    pub value: Option<f64>,
    /// Its precision, from within the run.
    pub interval: Option<Interval>,
    /// Requests, executions or trials behind it.
    pub samples: u64,
    /// Why there is no value.
    pub withheld: Option<QuantileNote>,
    /// What it is at least, where only that is known: a server carried every rate that could be tried.
    pub above: Option<f64>,
    /// What it is below, where only that is known: a server carried not even the least rate that was tried.
    pub below: Option<f64>,
    /// Whether the client made it, so that it supports no number of all runs together either.
    pub is_of_client: bool,
}

impl Reading {
    /// Nothing, for this reason.
    pub(crate) fn without(reason: &str, samples: u64) -> Self {
        let withheld = Some(QuantileNote { reason: reason.to_owned(), above_ms: None });
        Self { samples, withheld, ..Self::default() }
    }

    /// The `level` of response or service times in `result`, of all requests or some.
    pub fn of_times(times: &LatencySummary, level: Level, result: &RunResult) -> Self {
        if TAIL.contains(&level) && result.has_client_tail() {
            let reason = "the client made this tail, not the server: see p99-kernel";
            return Self { is_of_client: true, ..Self::without(reason, times.count) };
        }
        of_summary(times, level)
    }

    /// `part` of `whole`, or nothing for this reason.
    pub fn of_share(part: u64, whole: u64, reason: &str) -> Self {
        Self::of((whole > 0).then(|| part as f64 / whole as f64), whole, reason)
    }

    /// `value`, or nothing for this reason.
    pub(crate) fn of(value: Option<f64>, samples: u64, reason: &str) -> Self {
        value.map_or_else(|| Self::without(reason, samples), |value| known(value, samples))
    }
}

pub(super) fn known(value: f64, samples: u64) -> Reading {
    Reading { value: Some(value), samples, ..Reading::default() }
}

pub(super) fn counted(count: u64) -> Reading {
    known(count as f64, count)
}

pub(super) fn share(part: u64, whole: u64, reason: &str) -> Reading {
    Reading::of_share(part, whole, reason)
}

impl Figure {
    /// The figure of `result`. A figure that is a word has no value here, and those of commands and probes have none in
    /// a run.
    pub fn reading(self, result: &RunResult) -> Reading {
        match self {
            Self::Latency(clock, level) => latency(result, clock, level),
            Self::Plain(figure) => figure.read(result),
            Self::Errors(kind) => {
                let failed = result.requests.failed_by_kind.get(&kind).copied().unwrap_or_default();
                share(failed, result.requests.intended, "no request was due")
            }
            Self::StatusClass(class) => {
                let of_class =
                    result.statuses.iter().filter(|(status, _)| crate::StatusClass::of(**status) == class);
                let part = of_class.map(|(_, count)| count).sum();
                share(part, result.requests.answered, "no request was answered")
            }
            Self::Status(status) => {
                let part = result.statuses.get(&status).copied().unwrap_or_default();
                share(part, result.requests.answered, "no request was answered")
            }
            Self::Step(name, figure) => figure.reading(&name, result),
            Self::Stage(name, figure) => figure.of_stage(&name, result),
            Self::Other(_) => Reading::without("a run has no such figure", 0),
        }
    }

    /// The word that it is in `result`, where it is a word.
    pub fn word(self, result: &RunResult) -> Option<&'static str> {
        use super::plain::PlainFigure;
        match self {
            Self::Plain(PlainFigure::Verdict) => Some(result.verdict.name()),
            Self::Plain(PlainFigure::Limiter) => result.limiter.as_ref().map(|limiter| limiter.kind.name()),
            _ => None,
        }
    }
}

/// Clocks whose tail a client that was late itself has spoiled: see [`RunResult::has_client_tail`].
const WITH_CLIENT_TAIL: [Clock; 2] = [Clock::Response, Clock::Service];
/// That tail.
const TAIL: [Level; 4] = [Level::P99, Level::P999, Level::P9999, Level::Max];

fn latency(result: &RunResult, clock: Clock, level: Level) -> Reading {
    let figures = result.figures();
    let summary = match clock {
        Clock::Response => figures.response,
        Clock::Service => figures.service,
        Clock::Lag => figures.lag,
        _ => match result.summary(clock) {
            Some(summary) => summary,
            None => return Reading::without("no events were measured: that takes --events", 0),
        },
    };
    if WITH_CLIENT_TAIL.contains(&clock) {
        Reading::of_times(summary, level, result)
    } else {
        of_summary(summary, level)
    }
}

fn of_summary(summary: &LatencySummary, level: Level) -> Reading {
    let value = match level {
        Level::Min => summary.min_ms,
        Level::Max => summary.max_ms,
        Level::Mean => summary.mean_ms,
        _ => level.key().and_then(|key| summary.quantiles_ms.get(key).copied().flatten()),
    };
    let key = level.key().unwrap_or_default();
    let mut reading = Reading::of(value, summary.count, "there are no samples of it");
    reading.interval = summary.intervals_ms.get(key).copied();
    if let (None, Some(note)) = (value, summary.withheld.get(key)) {
        reading.withheld = Some(note.clone());
    }
    reading
}
