//! Whether a threshold is met: by the figure itself, never by one that can't be defended.

use serde::{Deserialize, Serialize};

use super::reading::Reading;
use super::{Bound, Figure, Operator, Threshold, ThresholdOutcome};
use crate::finding::is_disturbed;
use crate::{Interval, LimiterKind, RunCounts, RunResult, Verdict};

/// A threshold and what became of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct EvaluatedThreshold {
    /// What is required, in the language of thresholds: `response.p99 < 50ms`.
    pub text: String,
    /// Of which figure.
    #[serde(alias = "metric")]
    pub figure: Figure,
    /// What was measured, in the figure's unit; absent where it is withheld, or a word.
    pub measured: Option<f64>,
    /// What was found, where the figure is a word.
    #[serde(default)]
    pub word: Option<String>,
    /// The 95 % interval of what was measured, where it has one.
    #[serde(default)]
    pub interval: Option<Interval>,
    /// Requests or executions behind it.
    #[serde(default)]
    pub samples: u64,
    /// What became of it.
    pub outcome: ThresholdOutcome,
    /// Whether the bound lies within the interval, so that the next run may come out otherwise.
    #[serde(default)]
    pub is_close: bool,
    /// Why it is undecided.
    #[serde(default)]
    pub reason: Option<String>,
}

impl Threshold {
    /// What became of it in `result`.
    pub fn evaluate(&self, result: &RunResult) -> EvaluatedThreshold {
        let (reading, word) = (self.figure.reading(result), self.figure.word(result));
        let found = match self.bound {
            Bound::Word(_) => self.of_words(word),
            Bound::Amount(_) => self.of_reading(&reading),
        };
        let (outcome, reason) = if result.timing.interrupted && !self.figure.is_of_client() {
            self.of_early_end(result, &reading)
        } else if result.verdict == Verdict::Invalid && !self.holds_in_invalid_runs(result, found.0) {
            (ThresholdOutcome::Undecided, Some(reason_of_invalid(result)))
        } else {
            found
        };
        self.evaluated(&reading, word, (outcome, reason))
    }

    /// The outcome by a figure alone, whatever the run is worth, and why it is undecided. Of a quantile that requests
    /// without an answer push up, only a lower bound is known; that may be enough.
    pub fn of_reading(&self, reading: &Reading) -> (ThresholdOutcome, Option<String>) {
        let Some(bound) = self.bound_in_unit() else { return (ThresholdOutcome::Undecided, None) };
        let met_if = |is_met| if is_met { ThresholdOutcome::Met } else { ThresholdOutcome::Missed };
        let above = reading.above.or(reading.withheld.as_ref().and_then(|note| note.above_ms));
        match (reading.value, above) {
            (Some(value), _) => (met_if(self.operator.holds(value, bound)), None),
            (None, Some(above)) if above >= bound => match self.operator {
                Operator::Below | Operator::AtMost | Operator::Equal => (ThresholdOutcome::Missed, None),
                Operator::Above | Operator::AtLeast | Operator::Unequal => (ThresholdOutcome::Met, None),
            },
            (None, _) if reading.below.is_some_and(|below| below <= bound) => match self.operator {
                Operator::Above | Operator::AtLeast | Operator::Equal => (ThresholdOutcome::Missed, None),
                Operator::Below | Operator::AtMost | Operator::Unequal => (ThresholdOutcome::Met, None),
            },
            (None, _) => {
                let reason = reading.withheld.as_ref().map(|note| note.reason.clone());
                (
                    ThresholdOutcome::Undecided,
                    Some(reason.unwrap_or_else(|| "there is no such figure".to_owned())),
                )
            }
        }
    }

    /// The outcome of a figure that is a word.
    pub fn of_words(&self, found: Option<&str>) -> (ThresholdOutcome, Option<String>) {
        let (Bound::Word(bound), Some(found)) = (self.bound, found) else {
            return (ThresholdOutcome::Undecided, Some("it is not known".to_owned()));
        };
        let unknown = LimiterKind::Unknown.name();
        if found == unknown && bound != unknown {
            return (ThresholdOutcome::Undecided, Some(format!("the {} is unknown", self.figure)));
        }
        let is_met = (found == bound) == (self.operator == Operator::Equal);
        (if is_met { ThresholdOutcome::Met } else { ThresholdOutcome::Missed }, None)
    }

    /// With what was measured.
    pub fn evaluated(
        &self,
        reading: &Reading,
        word: Option<&str>,
        (outcome, reason): (ThresholdOutcome, Option<String>),
    ) -> EvaluatedThreshold {
        let is_within = |interval: Interval| {
            self.bound_in_unit().is_some_and(|bound| interval.low < bound && bound < interval.high)
        };
        EvaluatedThreshold {
            text: self.to_string(),
            figure: self.figure,
            measured: reading.value,
            word: word.map(str::to_owned),
            interval: reading.interval,
            samples: reading.samples,
            outcome,
            is_close: outcome != ThresholdOutcome::Undecided && reading.interval.is_some_and(is_within),
            reason,
        }
    }

    /// A run that ended early says nothing of its rest: only what no rest can undo is missed, and nothing is met.
    fn of_early_end(&self, result: &RunResult, reading: &Reading) -> (ThresholdOutcome, Option<String>) {
        if !reading.is_of_client && self.is_lost(&RunCounts::of_result(result), &result.plan) {
            return (ThresholdOutcome::Missed, None);
        }
        let reason = format!("the run ended early, after {:.1} s", result.timing.measured_s);
        (ThresholdOutcome::Undecided, Some(reason))
    }

    /// Whether the outcome stands although the numbers of `result` are the client's: what is of the client itself, what
    /// the server used while only a neighbour or the client was in the way, and requests that did fail.
    fn holds_in_invalid_runs(&self, result: &RunResult, outcome: ThresholdOutcome) -> bool {
        self.figure.is_of_client()
            || (self.figure.is_of_server() && is_disturbed(&result.findings))
            || (self.figure.is_of_failures() && outcome == ThresholdOutcome::Missed)
    }
}

/// Why nothing of an invalid run is decided.
fn reason_of_invalid(result: &RunResult) -> String {
    match result.findings.first() {
        Some(worst) => format!("the run is INVALID ({})", worst.code.name()),
        None => "the run is INVALID".to_owned(),
    }
}
