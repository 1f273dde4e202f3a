//! What became of figures over time: series, their points, and where they changed.

use std::str::FromStr;

use prony_model::{LoadKind, StudyMetric};
use prony_stats::Certainty;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{AlertId, BuildId, ProjectId, SeriesId};
use crate::clock::Moment;

/// One metric of one cell of one variant of one project on one kind of machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Series {
    /// Its number.
    pub id: SeriesId,
    /// Whose.
    pub project: ProjectId,
    /// Of which variant.
    pub variant: String,
    /// Of which cell of the study.
    pub cell: String,
    /// Which metric, by its name in study files.
    pub metric: String,
    /// Its unit.
    pub unit: String,
    /// Whether more is better.
    pub is_better_high: bool,
    /// The machine, as far as it matters.
    pub fingerprint: String,
}

impl Series {
    /// Whether a change of it, or a threshold for it, may raise an alert. The far tail of a run is a handful of
    /// occasions; an alert on it would cry every week.
    pub fn is_gating(&self) -> bool {
        !["p99.9", "max", "min"].contains(&self.metric.as_str())
    }

    /// Whether two commits can be compared for a change of it: a comparison measures loads in turn, and neither commands,
    /// probes nor searches for a capacity.
    pub fn is_comparable(&self) -> bool {
        let metric = StudyMetric::ALL.into_iter().find(|metric| metric.name() == self.metric);
        metric.is_none_or(|metric| metric.kind() == LoadKind::Run)
    }

    /// Whether going from `before` to `after` is for the worse.
    pub fn is_worse(&self, before: f64, after: f64) -> bool {
        if self.is_better_high { after < before } else { after > before }
    }

    /// For people: "p99 of GET /, default".
    pub fn words(&self) -> String {
        format!("{} of {} ({})", self.metric, self.cell, self.variant)
    }
}

/// What one build says of a series.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Point {
    /// The build.
    pub build: BuildId,
    /// Its commit.
    pub commit: Option<String>,
    /// When it was asked for.
    pub at: Moment,
    /// The figure, in the series' unit; absent where it was withheld.
    pub value: Option<f64>,
    /// Lower end of its interval.
    pub low: Option<f64>,
    /// Upper end of its interval.
    pub high: Option<f64>,
    /// Runs behind it.
    pub runs: u32,
    /// Requests or executions behind it.
    pub samples: u64,
    /// Whether it counts: not where the client was in the way.
    pub is_valid: bool,
    /// Why it has no value, or does not count.
    pub note: Option<String>,
}

/// How sure a change is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ChangeState {
    /// Improbable by chance; a comparison of the two commits will tell more.
    Suspected,
    /// Very improbable by chance.
    Found,
    /// The same, with ten points on each side.
    Confirmed,
}

impl ChangeState {
    /// As it is stored and written.
    pub fn name(self) -> &'static str {
        match self {
            Self::Suspected => "suspected",
            Self::Found => "found",
            Self::Confirmed => "confirmed",
        }
    }
}

impl FromStr for ChangeState {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        [Self::Suspected, Self::Found, Self::Confirmed]
            .into_iter()
            .find(|state| state.name() == text)
            .ok_or_else(|| format!("unknown state of a change `{text}`"))
    }
}

impl From<Certainty> for ChangeState {
    fn from(certainty: Certainty) -> Self {
        match certainty {
            Certainty::Suspected => Self::Suspected,
            Certainty::Found => Self::Found,
            Certainty::Confirmed => Self::Confirmed,
        }
    }
}

/// Where a series changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Change {
    /// Its number.
    pub id: i64,
    /// Of which series.
    pub series: SeriesId,
    /// The first build after it.
    pub build: BuildId,
    /// The last build before it.
    pub last_before: BuildId,
    /// How sure it is.
    pub state: ChangeState,
    /// Median of the points before, back to the change before.
    pub before: f64,
    /// Median of the points after, up to the next change.
    pub after: f64,
    /// The probability of so clear a change by chance.
    pub p: f64,
    /// When it was first reported.
    pub found_at: Moment,
    /// The alert about it, which is one for all series that changed with it.
    pub alert: Option<AlertId>,
    /// The build that compares the commits before and after.
    pub comparison: Option<BuildId>,
}

impl Change {
    /// After over before, less one.
    pub fn ratio(&self) -> f64 {
        self.after / self.before - 1.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_loads_are_compared_in_turn() {
        let check = |metric: &str, expected: bool| {
            let series = Series {
                id: SeriesId(1),
                project: ProjectId(1),
                variant: "default".to_owned(),
                cell: "GET /".to_owned(),
                metric: metric.to_owned(),
                unit: "ms".to_owned(),
                is_better_high: false,
                fingerprint: "machine".to_owned(),
            };
            assert_eq!(series.is_comparable(), expected, "{metric}");
        };
        for metric in ["rate", "p50", "p99", "cpu-per-request", "server-memory"] {
            check(metric, true);
        }
        for metric in ["wall", "wall-mean", "user", "memory", "probe", "dns", "capacity"] {
            check(metric, false);
        }
    }
}
