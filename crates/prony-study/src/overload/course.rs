//! The course of a run: its requests in parts, by when they were due.

use std::collections::BTreeMap;
use std::time::Duration;

use prony_model::{
    ErrorKind, LoadPhase, Outcome, OverloadMethod, OverloadPart, OverloadPhase, Problem, TrialTimes,
};
use prony_stats::{LEAST_EXCEEDANCES, Quantile};

/// Lengths of a part, milliseconds.
const PARTS_MS: [u64; 7] = [100, 200, 500, 1_000, 2_000, 5_000, 10_000];
/// Requests of a part at the base rate, so that one stray failure is not an outage.
const REQUESTS_PER_PART: f64 = 20.0;
/// Parts that a pulse has at least: a recovery is known to one.
const PARTS_PER_PULSE: u32 = 5;

/// A request that has ended; moments are nanoseconds on one clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OverloadSample {
    /// When it was due.
    pub intended_ns: u64,
    /// When it had ended.
    pub done_ns: u64,
    /// How.
    pub outcome: Outcome,
}

/// The requests of a run.
#[derive(Debug, Clone, Copy)]
pub(super) struct Requests<'a> {
    /// Those that ended, in any order.
    pub(super) samples: &'a [OverloadSample],
    /// When the measured part began, on their clock.
    pub(super) begin_ns: u64,
    /// How long it was, seconds: less than planned where the run was stopped.
    pub(super) measured_s: f64,
    /// How many were due.
    pub(super) due: u64,
}

/// Phases and parts of a run.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Course {
    pub(super) phases: Vec<OverloadPhase>,
    pub(super) parts: Vec<OverloadPart>,
}

/// How long a part of the course is, at a base rate and with a pulse of this length.
///
/// # Errors
/// The pulse is too short to see anything in it.
pub fn part_length(base_per_s: f64, pulse: Duration) -> Result<Duration, Problem> {
    let lengths = PARTS_MS.map(Duration::from_millis);
    let has_enough = |length: &Duration| length.as_secs_f64() * base_per_s >= REQUESTS_PER_PART;
    // At a rate below them all, whole seconds.
    let longer = || Duration::from_secs_f64((REQUESTS_PER_PART / base_per_s).ceil());
    let length = lengths.into_iter().find(has_enough).unwrap_or_else(longer);
    if length * PARTS_PER_PULSE <= pulse {
        return Ok(length);
    }
    let least = (length * PARTS_PER_PULSE).as_secs_f64();
    Err(Problem::new(
        format!("at {base_per_s} requests per second a pulse takes {least} s at least to show anything"),
        format!("lengthen the pulse or raise the rate: --pulse {least}s"),
    ))
}

/// The bounds of a phase within the measured part, seconds.
struct Span {
    phase: LoadPhase,
    from_s: f64,
    to_s: f64,
    rate_per_s: f64,
}

fn spans(method: &OverloadMethod, measured_s: f64) -> Vec<Span> {
    let OverloadMethod { before_s, pulse_s, after_s, base_per_s, pulse_per_s, .. } = *method;
    let lengths = [(before_s, base_per_s), (pulse_s, pulse_per_s), (after_s, base_per_s)];
    let mut from_s = 0.0;
    let mut spans = Vec::new();
    for (phase, (length_s, rate_per_s)) in LoadPhase::ALL.into_iter().zip(lengths) {
        let to_s = (from_s + length_s).min(measured_s);
        if to_s > from_s {
            spans.push(Span { phase, from_s, to_s, rate_per_s });
        }
        from_s += length_s;
    }
    spans
}

/// A part before its requests are counted.
struct Bin {
    from_s: f64,
    to_s: f64,
    phase: usize,
    planned: u64,
    samples: Vec<OverloadSample>,
    /// Due, and not ended when the run was over.
    unanswered: u64,
}

/// The course of a run.
pub(super) fn course(method: &OverloadMethod, requests: &Requests<'_>) -> Course {
    let spans = spans(method, requests.measured_s);
    let mut bins = bins(method, &spans);
    for sample in requests.samples {
        let at_s = seconds_between(requests.begin_ns, sample.intended_ns);
        let place = bins.partition_point(|bin| bin.to_s <= at_s).min(bins.len().saturating_sub(1));
        if let Some(bin) = bins.get_mut(place) {
            bin.samples.push(*sample);
        }
    }
    unanswered(&mut bins, requests.due.saturating_sub(requests.samples.len() as u64));
    let mut ends: Vec<u64> = requests.samples.iter().map(|sample| sample.done_ns).collect();
    ends.sort_unstable();
    let mut due = 0;
    let mut parts = Vec::with_capacity(bins.len());
    for bin in &bins {
        due += bin.offered();
        let at_ns = requests.begin_ns.saturating_add(nanoseconds(bin.to_s));
        let ended = ends.partition_point(|end| *end <= at_ns) as u64;
        parts.push(bin.part(method, due.saturating_sub(ended)));
    }
    let phases = spans.iter().enumerate().map(|(place, span)| phase(method, span, place, &bins, &parts));
    Course { phases: phases.collect(), parts }
}

fn bins(method: &OverloadMethod, spans: &[Span]) -> Vec<Bin> {
    let mut bins = Vec::new();
    for (phase, span) in spans.iter().enumerate() {
        let length_s = span.to_s - span.from_s;
        // Whole parts, all of one length, so that no part is of two phases.
        let count = whole((length_s / method.part_s).floor().max(1.0));
        for number in 0..count {
            let at = |number: u64| span.from_s + length_s * number as f64 / count as f64;
            let due =
                |number: u64| whole((span.rate_per_s * length_s * number as f64 / count as f64).floor());
            bins.push(Bin {
                from_s: at(number),
                to_s: at(number + 1),
                phase,
                planned: due(number + 1) - due(number),
                samples: Vec::new(),
                unanswered: 0,
            });
        }
    }
    bins
}

/// Requests that never ended: every request has a timeout, so they are among the last.
fn unanswered(bins: &mut [Bin], all: u64) {
    let mut left = all;
    for bin in bins.iter_mut().rev() {
        bin.unanswered = bin.planned.saturating_sub(bin.samples.len() as u64).min(left);
        left -= bin.unanswered;
    }
    if let Some(last) = bins.last_mut() {
        last.unanswered += left;
    }
}

impl Bin {
    fn offered(&self) -> u64 {
        self.samples.len() as u64 + self.unanswered
    }

    fn part(&self, method: &OverloadMethod, outstanding: u64) -> OverloadPart {
        let times = response_times(&self.samples);
        OverloadPart {
            from_s: self.from_s,
            offered: self.offered(),
            good: good(method, &times),
            outstanding,
            p50_ms: quantile(&times, Quantile::P50),
            max_ms: times.last().copied(),
        }
    }
}

fn phase(
    method: &OverloadMethod,
    span: &Span,
    place: usize,
    bins: &[Bin],
    parts: &[OverloadPart],
) -> OverloadPhase {
    let own = || bins.iter().zip(parts).filter(|(bin, _)| bin.phase == place);
    let samples: Vec<OverloadSample> = own().flat_map(|(bin, _)| bin.samples.iter().copied()).collect();
    let times = response_times(&samples);
    let good = good(method, &times);
    let mut failed_by_kind: BTreeMap<ErrorKind, u64> = BTreeMap::new();
    for kind in samples.iter().filter_map(|sample| sample.outcome.error_kind()) {
        *failed_by_kind.entry(kind).or_default() += 1;
    }
    let first = bins.iter().position(|bin| bin.phase == place).unwrap_or_default();
    OverloadPhase {
        phase: span.phase,
        from_s: span.from_s,
        length_s: span.to_s - span.from_s,
        offered: own().map(|(bin, _)| bin.offered()).sum(),
        good,
        late: times.len() as u64 - good,
        failed_by_kind,
        unanswered: own().map(|(bin, _)| bin.unanswered).sum(),
        response: TrialTimes {
            count: times.len() as u64,
            p50_ms: quantile(&times, Quantile::P50),
            p99_ms: quantile(&times, Quantile::P99),
            max_ms: times.last().copied(),
        },
        outstanding_begin: first.checked_sub(1).map_or(0, |before| parts[before].outstanding),
        outstanding_end: own().next_back().map_or(0, |(_, part)| part.outstanding),
        outstanding_max: own().map(|(_, part)| part.outstanding).max().unwrap_or_default(),
    }
}

/// Response times of the good responses, milliseconds, ascending.
fn response_times(samples: &[OverloadSample]) -> Vec<f64> {
    let done = samples.iter().filter(|sample| sample.outcome.error_kind().is_none());
    let mut times: Vec<f64> =
        done.map(|sample| seconds_between(sample.intended_ns, sample.done_ns) * 1e3).collect();
    times.sort_by(f64::total_cmp);
    times
}

fn good(method: &OverloadMethod, times: &[f64]) -> u64 {
    times.partition_point(|time| *time <= method.good_within_ms) as u64
}

/// The order statistic, where enough lie beyond it.
fn quantile(times: &[f64], q: Quantile) -> Option<f64> {
    let count = times.len() as u64;
    let is_supported = q.exceedances(count) >= LEAST_EXCEEDANCES;
    let rank = usize::try_from(q.rank(count)).ok().filter(|_| is_supported)?;
    times.get(rank.checked_sub(1)?).copied()
}

fn seconds_between(from_ns: u64, to_ns: u64) -> f64 {
    to_ns.saturating_sub(from_ns) as f64 / 1e9
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive; saturates")]
fn whole(value: f64) -> u64 {
    value as u64
}

fn nanoseconds(seconds: f64) -> u64 {
    whole((seconds * 1e9).round())
}

#[cfg(test)]
mod tests;
