//! What `prony compare` found between a build and an earlier one. Where it compared a figure, every page shows this
//! difference, of runs in pairs, and not that of the two values beside it.

use prony_model::{ComparisonOutcome, Metric, MetricComparison};
use serde::Deserialize;

use crate::web::pages::format;
use prony_lab_model::BuildId;
use prony_lab_store::figures::Figure;
use prony_lab_store::{StoreError, Tx, files};

/// A longer comparison, or report of one, is not read for its few numbers.
pub(super) const COMPARISON_BYTES_MAX: u64 = 16 << 20;

/// The cells of a build that were compared; none where there is nothing to compare with.
#[derive(Default)]
pub(in crate::web::pages) struct Paired {
    /// The build in whose column the values before stand.
    against: Option<BuildId>,
    cells: Vec<Compared>,
}

/// What `prony compare` found of one cell, without the runs that it rests on.
#[derive(Deserialize)]
struct Compared {
    #[serde(default)]
    a: Option<Side>,
    b: Side,
    metrics: Vec<MetricComparison>,
}

#[derive(Deserialize)]
struct Side {
    name: String,
}

impl Compared {
    /// The earlier build, from the name that the worker gave its runs: `build-7: GET /`.
    fn earlier(&self) -> Option<BuildId> {
        let (build, _) = self.a.as_ref()?.name.strip_prefix("build-")?.split_once(':')?;
        build.parse().ok()
    }
}

impl Paired {
    /// Reads what was found of build `id`, to be shown beside the values of build `against`.
    pub(in crate::web::pages) fn read(
        tx: &mut Tx<'_>,
        id: BuildId,
        against: Option<BuildId>,
    ) -> Result<Self, StoreError> {
        let cells = match against {
            Some(_) => files::json(tx, id, "comparison.json", COMPARISON_BYTES_MAX)?.unwrap_or_default(),
            None => Vec::new(),
        };
        Ok(Self { against, cells })
    }

    /// Whether the figure is one by which its cell is compared first.
    pub(super) fn is_primary(&self, figure: &Figure) -> bool {
        self.of(figure).is_some_and(|(_, metric)| metric.primary)
    }

    /// The difference of a figure, whichever build it was compared with: markup.
    pub(super) fn difference(&self, figure: &Figure) -> Option<String> {
        let (cell, metric) = self.of(figure)?;
        let other = cell.earlier().filter(|earlier| Some(*earlier) != self.against);
        let other = other.map_or_else(String::new, |build| {
            format!(" <span class=\"soft\">against <a href=\"/build/{build}\">build {build}</a></span>")
        });
        Some(difference(metric) + &other)
    }

    /// The same, and only if it was compared with the build whose values stand beside it.
    pub(in crate::web::pages) fn exact(&self, figure: &Figure) -> Option<&MetricComparison> {
        let (cell, metric) = self.of(figure)?;
        (cell.earlier() == self.against).then_some(metric)
    }

    fn of(&self, figure: &Figure) -> Option<(&Compared, &MetricComparison)> {
        let cell = self.cells.iter().find(|one| is_cell(&one.b.name, &figure.cell))?;
        let metric = cell.metrics.iter().find(|metric| name(metric.metric) == figure.metric)?;
        Some((cell, metric))
    }
}

/// What studies call a metric of a comparison.
fn name(metric: Metric) -> &'static str {
    match metric {
        Metric::Cpu => "cpu-per-request",
        other => other.name(),
    }
}

/// Whether `prony compare` means `cell` by `name`: it puts the folder of the study before it.
fn is_cell(name: &str, cell: &str) -> bool {
    name.strip_suffix(cell).is_some_and(|before| before.is_empty() || before.ends_with(": "))
}

/// A difference with its interval, the pairs of runs that it rests on, and its outcome: markup.
pub(in crate::web::pages) fn difference(metric: &MetricComparison) -> String {
    let (class, shape) = match &metric.outcome {
        outcome if outcome.is_slower() => ("bad", "▼"),
        outcome if outcome.is_faster() => ("good", "▲"),
        ComparisonOutcome::NoDifference => ("good", "="),
        ComparisonOutcome::TooNoisy { .. } => ("care", "~"),
        _ => ("calm", "·"),
    };
    let word = format::word(class, shape, metric.outcome.word());
    let percent = prony_report::signed_percent;
    let Some(change) = metric.change else { return word };
    let interval = metric.interval.map_or_else(String::new, |interval| {
        format!("{} to {}, ", percent(interval.low), percent(interval.high))
    });
    format!("{word} {} <span class=\"i\">({interval}{} pairs)</span>", percent(change), metric.pairs)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::figure::tests::figure;
    use super::*;

    fn metric(outcome: &Value, interval: &Value) -> MetricComparison {
        let metric = json!({ "metric": "p99", "primary": true, "method": "signed-ranks", "pairs": 10, "a": 1.0,
            "b": 1.08, "change": 0.08, "interval": interval, "spread": null, "p": null, "differs": true,
            "outcome": outcome });
        serde_json::from_value(metric).expect("a comparison of a metric")
    }

    #[test]
    fn a_difference_comes_with_its_interval_its_pairs_and_a_word() {
        let check = |word: Value, expected: &str| {
            let markup = difference(&metric(&word, &json!({ "low": 0.05, "high": 0.11 })));
            assert!(markup.contains(expected) && markup.contains("+8.0 %"), "{markup}");
            assert!(markup.contains("(+5.0 % to +11 %, 10 pairs)"), "{markup}");
        };
        check(json!({ "word": "slower" }), "▼</span> slower");
        check(json!({ "word": "faster-size-uncertain" }), "▲</span> faster");
        check(json!({ "word": "no-difference" }), "=</span> no difference");
        check(json!({ "word": "too-noisy", "smallest_detectable": null, "pairs_needed": null }), "too noisy");
        check(json!({ "word": "no-verdict", "reason": "<b>" }), "no verdict");
        let without = difference(&metric(&json!({ "word": "slower" }), &json!(null)));
        assert!(without.contains("(10 pairs)") && !without.contains(" to "), "{without}");
    }

    #[test]
    fn a_cell_is_found_behind_the_folder_of_its_study() {
        assert!(is_cell("/tmp/study: GET /", "GET /") && is_cell("GET /", "GET /"));
        assert!(!is_cell("/tmp/study: all GET /", "GET /"), "that is another cell");
        assert!(is_cell("study: a: b", "a: b"), "a cell may have a colon in its name");
    }

    #[test]
    fn a_difference_to_another_build_is_not_shown_as_one_to_this() {
        let slower = serde_json::to_value(metric(&json!({ "word": "slower" }), &json!(null))).expect("JSON");
        let cells = json!([{ "a": { "name": "build-6: a: b" }, "b": { "name": "study: a: b" }, "metrics": [slower] }]);
        let paired = |against| Paired {
            against: Some(BuildId(against)),
            cells: serde_json::from_value(cells.clone()).expect("comparisons"),
        };
        let found = figure("a: b", "p99", [1.0, 1.1, 1.2]);
        assert!(paired(6).exact(&found).is_some() && paired(7).exact(&found).is_none());
        assert!(!paired(6).difference(&found).expect("compared").contains("against"));
        assert!(paired(7).difference(&found).expect("compared").contains("/build/6\">build 6</a>"));
        assert!(paired(6).is_primary(&found) && !Paired::default().is_primary(&found));
        assert!(paired(6).difference(&figure("a: b", "p50", [1.0, 1.1, 1.2])).is_none());
    }
}
