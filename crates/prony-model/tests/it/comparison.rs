//! The file format of a comparison.

use std::collections::BTreeMap;

use prony_model::{
    BlockOrder, COMPARISON_FORMAT, COMPARISON_VERSION, ChangeInterval, ComparedBlock, ComparedPair,
    ComparedSide, ComparisonKind, ComparisonMethod, ComparisonOutcome, ComparisonResult, FindingCode,
    FormatError, Look, LookPlan, Metric, MetricComparison, comparison_from_json, comparison_to_json,
};
use serde_json::Value;

use crate::full;

fn block() -> ComparedBlock {
    ComparedBlock {
        file: None,
        started_at: "2026-01-02T03:04:05.678Z".to_owned(),
        measured_s: 0.2,
        requests: 200,
        failed: 1,
        failed_by_kind: [(prony_model::ErrorKind::Reset, 1)].into(),
        unanswered: 0,
        rate_per_s: 995.0,
        whole_rounds_per_s: Some(995.5),
        mean_response_ms: Some(1.1),
        cpu_per_request_us: Some(35.0),
        response_ms: BTreeMap::from([("0.5".to_owned(), 1.05)]),
        client_cpu_share: 0.31,
        run_queue_wait_s: Some(0.001),
        steal_share: None,
        invalid: vec![FindingCode::SendLag],
        histogram: full::result().histograms.response,
    }
}

fn metric(metric: Metric, outcome: ComparisonOutcome) -> MetricComparison {
    MetricComparison {
        metric,
        primary: metric == Metric::P50,
        method: ComparisonMethod::SignedRanks,
        pairs: 1,
        a: Some(1.05),
        b: Some(1.05),
        change: Some(0.0),
        interval: Some(ChangeInterval { low: -0.01, high: 0.01 }),
        spread: Some(0.02),
        p: Some(0.7),
        differs: false,
        outcome,
    }
}

fn comparison() -> ComparisonResult {
    let result = full::result();
    let side = || ComparedSide {
        name: "http://127.0.0.1:3000/".to_owned(),
        plan: result.plan.clone(),
        addresses: result.addresses.clone(),
        driver: "io_uring".to_owned(),
        requests: 200,
        failed: 1,
        failed_by_kind: [(prony_model::ErrorKind::Reset, 1)].into(),
        unanswered: 0,
    };
    let noisy = ComparisonOutcome::TooNoisy { smallest_detectable: Some(0.1), pairs_needed: Some(160) };
    ComparisonResult {
        format: COMPARISON_FORMAT.to_owned(),
        version: COMPARISON_VERSION,
        verdict: result.verdict,
        kind: ComparisonKind::Interleaved,
        started_at: result.timing.started_at.clone(),
        interrupted: false,
        a: side(),
        b: side(),
        margin: 0.02,
        looks: LookPlan::Sequential,
        seed: Some(7),
        block_s: Some(0.2),
        pairs: vec![ComparedPair {
            order: BlockOrder::BFirst,
            dropped: Some("a reason".to_owned()),
            a: block(),
            b: block(),
        }],
        looks_taken: vec![Look { pairs: 10, change: None, interval: None, outcome: noisy.clone() }],
        metrics: vec![
            metric(Metric::P50, ComparisonOutcome::NoDifference),
            metric(Metric::P999, noisy),
            metric(Metric::Rate, ComparisonOutcome::NoVerdict { reason: "why".to_owned() }),
        ],
        notes: vec!["a note".to_owned()],
        findings: result.findings.clone(),
        environment: result.environment.clone(),
    }
}

/// The schema as published: that it is the one of the code is a test of its own.
fn check(what: &str, value: &Value, fits: bool) {
    let schema: Value =
        serde_json::from_str(include_str!("../../../../docs/schema/compare-v1.json")).expect("JSON");
    let validator = jsonschema::validator_for(&schema).expect("the published schema is one");
    let errors: Vec<String> = validator.iter_errors(value).map(|error| error.to_string()).collect();
    assert_eq!(errors.is_empty(), fits, "{what}: {errors:#?}");
}

#[test]
fn what_is_written_fits_the_published_schema_and_is_read_back() {
    let text = comparison_to_json(&comparison());
    check("a comparison", &serde_json::from_str(&text).expect("JSON"), true);
    assert_eq!(comparison_from_json(&text).expect("own words"), comparison());
}

#[test]
fn foreign_texts_are_refused_by_name() {
    let check = |text: &str, expected: fn(&FormatError) -> bool| {
        let error = comparison_from_json(text).expect_err(text);
        assert!(expected(&error), "{text}: {error:?}");
    };
    check("{\"format\": \"prony.run\", \"version\": 1}", |error| {
        matches!(error, FormatError::ForeignComparison)
    });
    check("{\"format\": \"prony.compare\", \"version\": 2}", |error| {
        matches!(error, FormatError::Version { found: 2 })
    });
    check("{\"format\": \"prony.compare\", \"version\": 1}", |error| matches!(error, FormatError::Schema(_)));
}

#[test]
fn what_lacks_something_does_not_fit() {
    let whole: Value = serde_json::from_str(&comparison_to_json(&comparison())).expect("JSON");
    for key in ["format", "version", "verdict", "kind", "a", "b", "margin", "pairs", "metrics", "findings"] {
        let mut lacking = whole.clone();
        lacking.as_object_mut().expect("an object").remove(key);
        check(key, &lacking, false);
    }
    let mut unknown = whole;
    unknown["metrics"][0]["outcome"]["word"] = "sideways".into();
    check("an unknown word", &unknown, false);
}
