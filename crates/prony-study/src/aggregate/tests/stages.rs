//! Stages of a cell, over its runs.

use prony_model::{Requests, StageResult};

use super::*;

/// `good` of 1,000 requests of a stage were answered.
fn stage(name: &str, from_s: f64, good: u64, result: &RunResult) -> StageResult {
    StageResult {
        name: name.to_owned(),
        from_s,
        measured_s: 2.0,
        asked_per_s: Some(500.0),
        done_per_s: good as f64 / 2.0,
        requests: Requests { intended: 1000, done: good, ..Requests::default() },
        response: result.latency.response.clone(),
        service: result.latency.response.clone(),
        response_histogram: result.histograms.response.clone(),
        service_histogram: result.histograms.service.clone(),
        censored_histogram: prony_model::HistogramData::default(),
    }
}

#[test]
fn each_stage_has_figures_over_the_runs() {
    let mut study = study(6);
    study.thresholds =
        vec![required(0, "stage.spike.response.p50 < 1h"), required(0, "stage.1.success > 99%")];
    let result = aggregated(&study, QUICK, |step, result| {
        if step.cell == 0 {
            result.stages = vec![stage("base", 0.0, 1000, result), stage("spike", 2.0, 900, result)];
        }
    });
    let stages = &result.cells[0].stages;
    assert_eq!(stages.iter().map(|stage| stage.name.as_str()).collect::<Vec<_>>(), ["base", "spike"]);
    let spike = &stages[1];
    assert_eq!((spike.from_s, spike.asked_per_s), (2.0, Some(500.0)));
    assert_eq!((spike.intended, spike.done), (6000, 5400));
    let rate = spike.rate.as_ref().expect("six runs");
    assert_eq!((rate.value, rate.runs, rate.samples), (Some(450.0), 6, 5400));
    assert_eq!(spike.success.as_ref().and_then(|figure| figure.value), Some(0.9));
    let p50 = spike.response.iter().find(|figure| figure.metric == StudyMetric::P50).expect("a median");
    assert!(p50.value.is_some_and(|value| (value - 1.0).abs() < 0.01) && p50.interval.is_some(), "{p50:?}");
    assert!(result.cells[1].stages.is_empty());
    let outcomes: Vec<_> = result.thresholds.iter().map(|one| one.evaluated.outcome).collect();
    assert_eq!(outcomes, [ThresholdOutcome::Met, ThresholdOutcome::Met]);
}
