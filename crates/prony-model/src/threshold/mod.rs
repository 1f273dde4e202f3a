//! Thresholds: what is required of a figure, in one small language, `response.p99 < 50ms`.
//!
//! In reading order: `figure` (the figures, their names and units; `plain` has those that are no family), `amount`
//! (numbers with units), `parse` (text to [`Threshold`], or what is wrong and where), `reading` (a figure of a run),
//! `evaluate` (met, missed or undecided), `certain` (what can't be met any more, while the run is on), `names` (steps and
//! stages that a plan does not have). docs/thresholds.md
//! describes the language.

mod amount;
mod certain;
mod evaluate;
mod figure;
mod names;
mod parse;
mod plain;
mod reading;
mod step;

use std::fmt;

use serde::{Deserialize, Serialize};

pub use amount::{Amount, Unit};
pub use evaluate::EvaluatedThreshold;
pub use figure::{Figure, Level};
pub use parse::ThresholdError;
pub use plain::PlainFigure;
pub use reading::Reading;
pub use step::{StepFigure, StepName};

/// A figure, and what it must be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Threshold {
    /// Of what.
    pub figure: Figure,
    /// How the figure is compared with the bound.
    pub operator: Operator,
    /// What it is compared with.
    pub bound: Bound,
}

/// How a figure is compared with a bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operator {
    /// `<=`
    AtMost,
    /// `>=`
    AtLeast,
    /// `==`
    Equal,
    /// `!=`
    Unequal,
    /// `<`
    Below,
    /// `>`
    Above,
}

/// What a figure is compared with.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Bound {
    /// A number with its unit.
    Amount(Amount),
    /// One of the words of a figure that is a word, such as `valid`.
    Word(&'static str),
}

/// The outcome of a threshold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ThresholdOutcome {
    /// It is met.
    Met,
    /// It is not.
    Missed,
    /// Neither: there is no number, or none that can be defended.
    #[serde(alias = "unknown")]
    Undecided,
}

impl Operator {
    /// Every operator, the longer signs first, so that `<=` is not read as `<`.
    pub const ALL: [Self; 6] =
        [Self::AtMost, Self::AtLeast, Self::Equal, Self::Unequal, Self::Below, Self::Above];

    /// As it is written.
    pub fn sign(self) -> &'static str {
        match self {
            Self::AtMost => "<=",
            Self::AtLeast => ">=",
            Self::Equal => "==",
            Self::Unequal => "!=",
            Self::Below => "<",
            Self::Above => ">",
        }
    }

    /// Whether `value` is as required.
    #[expect(clippy::float_cmp, reason = "counts and words of the user: equal is equal")]
    pub(crate) fn holds(self, value: f64, bound: f64) -> bool {
        match self {
            Self::AtMost => value <= bound,
            Self::AtLeast => value >= bound,
            Self::Equal => value == bound,
            Self::Unequal => value != bound,
            Self::Below => value < bound,
            Self::Above => value > bound,
        }
    }

    fn inverted(self) -> Self {
        match self {
            Self::AtMost => Self::Above,
            Self::AtLeast => Self::Below,
            Self::Equal => Self::Unequal,
            Self::Unequal => Self::Equal,
            Self::Below => Self::AtLeast,
            Self::Above => Self::AtMost,
        }
    }
}

impl Threshold {
    /// The threshold that is met where this one is missed: `errors > 0.1%` as a condition to fail is `errors <= 0.1%`.
    #[must_use]
    pub fn inverted(self) -> Self {
        Self { operator: self.operator.inverted(), ..self }
    }

    /// The bound in the unit of the figure; `None` where it is a word.
    pub fn bound_in_unit(&self) -> Option<f64> {
        match self.bound {
            Bound::Amount(amount) => Some(amount.in_unit(self.figure.unit())),
            Bound::Word(_) => None,
        }
    }
}

/// As it can be read again.
impl fmt::Display for Threshold {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {} ", self.figure, self.operator.sign())?;
        match self.bound {
            Bound::Amount(amount) => amount.fmt(formatter),
            Bound::Word(word) => formatter.write_str(word),
        }
    }
}

#[cfg(test)]
mod tests;
