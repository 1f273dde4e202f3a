//! What must not be true of a run: `p99 > 50ms`, as `prony run --fail-if` has it.

use std::fmt;

use prony_model::{LoadKind, Problem, RunResult, StudyMetric, nearest};

use crate::aggregate::reading_of;
use crate::file::amount_of;

/// The signs, longest first, so that `>=` is not read as `>`.
const SIGNS: [(&str, Sign); 4] =
    [(">=", Sign::AtLeast), ("<=", Sign::AtMost), (">", Sign::Above), ("<", Sign::Below)];

/// A figure of a run, and what it must not be.
#[derive(Debug, Clone, PartialEq)]
pub struct Condition {
    metric: StudyMetric,
    sign: Sign,
    /// In the unit of the metric.
    bound: f64,
    /// As it was written.
    text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sign {
    AtLeast,
    AtMost,
    Above,
    Below,
}

/// Whether a condition holds.
#[derive(Debug, Clone, PartialEq)]
pub enum ConditionOutcome {
    /// It does: the figure is this, in the unit of its metric.
    Holds(f64),
    /// It doesn't.
    Clear(f64),
    /// The run has no such figure, for this reason.
    Unknown(String),
}

impl Condition {
    /// Reads one.
    pub fn parse(text: &str) -> Result<Self, Problem> {
        let found = SIGNS.iter().filter_map(|(sign, meaning)| Some((text.find(sign)?, *sign, *meaning)));
        let (at, sign, meaning) =
            found.min_by_key(|(at, sign, _)| (*at, std::cmp::Reverse(sign.len()))).ok_or_else(|| {
                let advice = "write a metric, a sign and a value, such as 'p99 > 50ms' or 'success < 99.9%'";
                Problem::new(format!("`{text}` is not a condition"), advice)
            })?;
        let (name, value) = (text[..at].trim(), text[at + sign.len()..].trim());
        let metric = metrics().find(|metric| metric.name() == name).ok_or_else(|| {
            let names: Vec<&str> = metrics().map(StudyMetric::name).collect();
            let advice = match nearest(name, names.iter().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("there is {}", names.join(", ")),
            };
            Problem::new(format!("`{name}` is not a metric of a run"), advice)
        })?;
        let bound = amount_of(value, metric)?;
        Ok(Self { metric, sign: meaning, bound, text: format!("{name} {sign} {value}") })
    }

    /// Whether it holds for `result`. Of a quantile that requests without an answer push up, only a lower bound is known:
    /// that is enough to be above something.
    pub fn of(&self, result: &RunResult) -> ConditionOutcome {
        let reading = reading_of(result, self.metric);
        let at_least = reading.withheld.as_ref().and_then(|note| note.above_ms);
        match (reading.value, at_least) {
            (Some(value), _) if self.is_met_by(value) => ConditionOutcome::Holds(value),
            (Some(value), _) => ConditionOutcome::Clear(value),
            (None, Some(bound))
                if matches!(self.sign, Sign::Above | Sign::AtLeast) && self.is_met_by(bound) =>
            {
                ConditionOutcome::Holds(bound)
            }
            (None, _) => {
                let reason = reading.withheld.map(|note| note.reason);
                ConditionOutcome::Unknown(reason.unwrap_or_else(|| "the run has no such figure".to_owned()))
            }
        }
    }

    /// What it is about.
    pub fn metric(&self) -> StudyMetric {
        self.metric
    }

    fn is_met_by(&self, value: f64) -> bool {
        match self.sign {
            Sign::AtLeast => value >= self.bound,
            Sign::AtMost => value <= self.bound,
            Sign::Above => value > self.bound,
            Sign::Below => value < self.bound,
        }
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

fn metrics() -> impl Iterator<Item = StudyMetric> {
    StudyMetric::ALL.into_iter().filter(|metric| metric.kind() == LoadKind::Run)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str, expected: &str) {
        let error = Condition::parse(text).unwrap_err().to_string();
        assert!(error.contains(expected), "{text}: {error}");
    }

    #[test]
    fn what_is_no_condition_says_what_to_write() {
        refused("p99", "'p99 > 50ms'");
        refused("p98 > 1ms", "did you mean `p9");
        refused("wall > 1ms", "not a metric of a run");
        refused("p99 > 50", "write");
        refused("success < 99", "write");
        refused("> 5ms", "not a metric");
    }

    #[test]
    fn signs_and_units() {
        let check = |text: &str, value: f64, expected: bool| {
            assert_eq!(Condition::parse(text).unwrap().is_met_by(value), expected, "{text} {value}");
        };
        check("p99 > 50ms", 50.0, false);
        check("p99>=50ms", 50.0, true);
        check("p99.9 < 1.5s", 1499.0, true);
        check("rate <= 5k", 5000.0, true);
        check("success < 99.9%", 0.9989, true);
        check("success < 99.9%", 0.9991, false);
        check("cpu-per-request > 300us", 301.0, true);
    }

    #[test]
    fn of_a_run() {
        let stored = include_str!("../../prony/tests/it/stored.json");
        let result = prony_model::from_json(stored).expect("a result");
        let of = |text: &str| Condition::parse(text).unwrap().of(&result);
        assert!(matches!(of("rate > 0.1"), ConditionOutcome::Holds(_)));
        assert!(matches!(of("success < 1%"), ConditionOutcome::Clear(_)));
        assert!(matches!(of("cpu-per-request > 1us"), ConditionOutcome::Unknown(_)));
    }
}
