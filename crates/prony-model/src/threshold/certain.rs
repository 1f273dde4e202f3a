//! Which thresholds can't be met any more, whatever follows: from what was counted so far.

use super::figure::{Figure, Level};
use super::plain::{PlainFigure, is_bad_answer};
use super::{Bound, Threshold};
use crate::{Clock, End, ErrorKind, Outcome, RunCounts, RunPlan, RunResult, StatusClass};

/// More than nothing, however little.
const SOMETHING: f64 = f64::MIN_POSITIVE;
/// Less than everything, however little.
const NOT_ALL: f64 = 1.0 - f64::EPSILON;

impl Threshold {
    /// Whether no rest of the run of `plan` can meet it any more.
    pub fn is_lost(&self, counts: &RunCounts, plan: &RunPlan) -> bool {
        use super::Operator::{Above, AtLeast, AtMost, Below, Equal, Unequal};

        let (Bound::Amount(_), Some(bound)) = (self.bound, self.bound_in_unit()) else { return false };
        let Some((low, high)) = range(self.figure, counts, planned(plan)) else { return false };
        !match self.operator {
            Below | AtMost => self.operator.holds(low, bound),
            Above | AtLeast => self.operator.holds(high, bound),
            Equal => (low..=high).contains(&bound),
            Unequal => low < high || self.operator.holds(low, bound),
        }
    }

    /// Whether some threshold of this kind can be lost before the end at all.
    pub fn can_be_lost(&self) -> bool {
        range(self.figure, &RunCounts::default(), Some(1)).is_some()
    }
}

/// How many requests will have been due, where that is known before: a time limit may come first.
fn planned(plan: &RunPlan) -> Option<u64> {
    match plan.end {
        // Those of a scenario are sessions.
        End::Requests(requests) => Some(requests).filter(|_| plan.scenario.is_none()),
        End::Duration(_) | End::First { .. } => None,
    }
}

/// Least and greatest value that the figure can have at the end of a run of `planned` requests, or of a number that
/// is not known before.
fn range(figure: Figure, counts: &RunCounts, planned: Option<u64>) -> Option<(f64, f64)> {
    let most = |outcomes: &dyn Fn(Outcome) -> bool| share(counts.of(outcomes), planned);
    let least = |outcomes: &dyn Fn(Outcome) -> bool| rest(counts.of(outcomes), planned);
    let is_good = |outcome: Outcome| outcome.error_kind().is_none();
    let is_bad = |outcome: Outcome| outcome.error_kind().is_some();
    let number = |outcomes: &dyn Fn(Outcome) -> bool| {
        (counts.of(outcomes) as f64, planned.map_or(f64::INFINITY, |planned| planned as f64))
    };
    Some(match figure {
        Figure::Plain(PlainFigure::Errors) => (most(&is_bad), least(&is_good)),
        Figure::Plain(PlainFigure::Success) => (most(&is_good), least(&is_bad)),
        Figure::Plain(PlainFigure::Checks) => (0.0, least(&is_bad_answer)),
        Figure::Errors(kind) => (most(&|outcome| outcome.error_kind() == Some(kind)), 1.0),
        Figure::StatusClass(class) => (most(&|outcome| class_of(outcome) == Some(class)), 1.0),
        Figure::Plain(PlainFigure::RequestsFailed) => number(&is_bad),
        Figure::Plain(PlainFigure::RequestsDone) => number(&is_good),
        Figure::Plain(PlainFigure::RequestsAnswered) => {
            number(&|outcome| class_of(outcome).is_some() || is_bad_answer(outcome))
        }
        Figure::Latency(clock, level) => extreme(counts, clock, level)?,
        _ => return None,
    })
}

/// The least that a share can be, `part` of which is counted.
fn share(part: u64, planned: Option<u64>) -> f64 {
    match planned {
        Some(planned) if planned > 0 => part as f64 / planned as f64,
        _ if part > 0 => SOMETHING,
        _ => 0.0,
    }
}

/// The most that a share can be, where `part` is counted that is not of it.
fn rest(part: u64, planned: Option<u64>) -> f64 {
    match planned {
        Some(planned) if planned > 0 => planned.saturating_sub(part) as f64 / planned as f64,
        _ if part > 0 => NOT_ALL,
        _ => 1.0,
    }
}

/// A maximum only grows, a minimum only falls.
fn extreme(counts: &RunCounts, clock: Clock, level: Level) -> Option<(f64, f64)> {
    let seen = match clock {
        Clock::Response => counts.response_ms,
        Clock::Service => counts.service_ms,
        _ => return None,
    };
    let (least, greatest) = seen.unwrap_or((f64::INFINITY, 0.0));
    match level {
        Level::Max => Some((greatest, f64::INFINITY)),
        Level::Min => Some((0.0, least)),
        _ => None,
    }
}

/// The status class of a complete answer; one that failed a check has none that is counted.
fn class_of(outcome: Outcome) -> Option<StatusClass> {
    match outcome {
        Outcome::Done(class) | Outcome::UnexpectedStatus(class) => Some(class),
        Outcome::Failed(_) => None,
    }
}

impl RunCounts {
    /// How many requests ended in one of these ways.
    fn of(&self, outcomes: &dyn Fn(Outcome) -> bool) -> u64 {
        Outcome::all()
            .filter(|outcome| outcomes(*outcome))
            .map(|outcome| self.outcomes[outcome.index()])
            .sum()
    }

    /// Those of a run that is over.
    pub(crate) fn of_result(result: &RunResult) -> Self {
        let mut counts = Self::default();
        for summary in &result.outcomes {
            if let Some(outcome) = Outcome::all().find(|outcome| outcome.name() == summary.outcome) {
                counts.outcomes[outcome.index()] = summary.count;
            }
        }
        // Failures are known by kind in any case.
        let counted: u64 =
            ErrorKind::ALL.iter().map(|kind| counts.of(&|outcome| outcome.error_kind() == Some(*kind))).sum();
        if counted < result.requests.failed {
            for (kind, count) in &result.requests.failed_by_kind {
                counts.outcomes[Outcome::Failed(*kind).index()] = *count;
            }
        }
        let figures = result.figures();
        counts.response_ms = figures.response.min_ms.zip(figures.response.max_ms);
        counts.service_ms = figures.service.min_ms.zip(figures.service.max_ms);
        counts
    }
}
