//! What the study of a build of the example would have left, as far as pages read it.

use serde_json::{Value, json};

use super::noise;
use prony_lab_store::figures::Figure;

/// Runs of each cell.
const RUNS: u32 = 3;
/// Seconds of each.
const SECONDS: u32 = 30;
/// Points of a quantile curve for each decade of rarer responses, and the decades.
const POINTS_OF_DECADE: u32 = 12;
const DECADES: u32 = 3;
/// Between the response times of a quantile and of one ten times as rare.
const TAIL: f64 = 1.63;

/// The report of a study with these figures.
pub(super) fn study(figures: &[Figure]) -> Value {
    let names = cells(figures);
    let cells: Vec<Value> = names.iter().map(|name| cell(name, figures)).collect();
    json!({ "format": "prony.study", "version": 1, "verdict": "valid", "name": "example", "title": "An example",
        "source": null, "intro": "", "texts": [], "short": false, "complete": true, "seed": 1, "repeats": RUNS,
        "started_at": null, "took_s": RUNS * SECONDS, "axes": [{ "name": "load", "values": names }],
        "targets": [], "cells": cells, "comparisons": [],
        "thresholds": [], "published": [], "findings": [], "failures": [], "environment": null, "file": "" })
}

/// What `prony compare` would have found between these figures and those of an earlier build: no difference, in any cell.
pub(super) fn comparison(figures: &[Figure], earlier: &[Figure]) -> Value {
    let metric = |name: &str, cell: &str| {
        let value = |all: &[Figure]| {
            let found = all.iter().find(|figure| figure.cell == cell && figure.metric == name);
            found.and_then(|figure| figure.value).unwrap_or(1.0)
        };
        let (before, after) = (value(earlier), value(figures));
        let change = after / before - 1.0;
        json!({ "metric": name, "primary": name == "rate", "method": "signed-ranks", "pairs": 10, "a": before,
            "b": after, "change": change, "interval": { "low": change - 0.006, "high": change + 0.006 },
            "spread": 0.01, "p": 0.4, "differs": false, "outcome": { "word": "no-difference" } })
    };
    let build = earlier.first().map(|figure| figure.build.to_string()).unwrap_or_default();
    let compared = |name: &str| {
        let metrics = ["rate", "p50", "p99"].map(|of| metric(of, name));
        json!({ "a": { "name": format!("build-{build}: {name}") }, "b": { "name": format!("study: {name}") },
            "metrics": metrics })
    };
    cells(figures).into_iter().map(compared).collect()
}

/// The names of the cells, in their order.
fn cells(figures: &[Figure]) -> Vec<&str> {
    let mut names: Vec<&str> = figures.iter().map(|figure| figure.cell.as_str()).collect();
    names.dedup();
    names
}

fn cell(name: &str, figures: &[Figure]) -> Value {
    let value = |metric: &str| {
        let found = figures.iter().find(|figure| figure.cell == name && figure.metric == metric);
        found.and_then(|figure| figure.value).unwrap_or(1.0)
    };
    let (rate, p50, p99) = (value("rate"), value("p50"), value("p99"));
    let curve: Vec<Value> = (0..=POINTS_OF_DECADE * DECADES)
        .map(|point| {
            let decades = f64::from(point) / f64::from(POINTS_OF_DECADE);
            let response_ms = p99 * TAIL.powf(decades - 2.0);
            json!({ "quantile": 1.0 - 10_f64.powf(-decades), "response_ms": response_ms, "service_ms": response_ms * 0.9 })
        })
        .collect();
    let timeline = |repeat: u32| {
        let points: Vec<Value> = (0..SECONDS)
            .map(|second| {
                let swing = 1.0 + 0.05 * noise(second, 10 + repeat);
                json!({ "at_s": f64::from(second) + 0.5, "rate_per_s": rate * swing, "failed_per_s": 0.0,
                    "p50_ms": p50 / swing, "p99_ms": p99 / (swing * swing), "max_ms": p99 * 2.0 })
            })
            .collect();
        json!({ "repeat": repeat, "points": points })
    };
    let timelines: Vec<Value> = (1..=RUNS).map(timeline).collect();
    json!({ "name": name, "key": { "load": name }, "kind": "run", "load": name, "planned": RUNS, "runs": [],
        "figures": [], "failed_by_kind": {}, "statuses": {}, "curve": curve, "bins": [], "timelines": timelines,
        "executions": [] })
}

#[cfg(test)]
mod tests {
    use prony_model::study_from_json;
    use prony_report::study::load_charts;

    use super::*;
    use prony_lab_model::{BuildId, SeriesId};

    #[test]
    fn the_report_is_one_that_can_be_drawn() {
        let figure = |cell: &str| Figure {
            build: BuildId(1),
            series: SeriesId(1),
            cell: cell.to_owned(),
            metric: "p99".to_owned(),
            unit: "ms".to_owned(),
            is_better_high: false,
            fingerprint: String::new(),
            value: Some(4.4),
            low: None,
            high: None,
            runs: 3,
            samples: 9,
            is_valid: true,
            note: None,
        };
        let text = study(&[figure("GET /"), figure("POST /report")]).to_string();
        let charts = load_charts(study_from_json(&text).expect("a study"), 9, 9_000);
        assert_eq!(charts.loads, 2);
        assert!(charts.html.contains("chart-quantiles") && charts.html.contains("chart-timeline"));
    }
}
