//! The report of a comparison.

use prony_model::{
    COMPARISON_FORMAT, COMPARISON_VERSION, ChangeInterval, ComparedSide, ComparisonKind, ComparisonMethod,
    ComparisonOutcome, ComparisonResult, Evidence, Finding, FindingCode, LookPlan, Metric, MetricComparison,
    Severity, Verdict,
};
use prony_report::{Style, compare};

use crate::text::healthy;

fn check(name: &str, result: &ComparisonResult, style: Style) {
    let drawn = compare::text(result, &style);
    assert!(drawn.lines().all(|line| line.chars().count() <= style.width), "{drawn}");
    insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!(name, drawn);
    });
}

fn compared(metric: Metric, change: f64, half: f64, outcome: ComparisonOutcome) -> MetricComparison {
    MetricComparison {
        metric,
        primary: false,
        method: ComparisonMethod::SignedRanks,
        pairs: 20,
        a: Some(2.71),
        b: Some(2.71 * (1.0 + change)),
        change: Some(change),
        interval: Some(ChangeInterval { low: change - half, high: change + half }),
        spread: Some(half),
        p: Some(0.2),
        differs: false,
        outcome,
    }
}

fn comparison() -> ComparisonResult {
    let run = healthy();
    let side = |name: &str| ComparedSide {
        name: name.to_owned(),
        plan: run.plan.clone(),
        addresses: run.addresses.clone(),
        driver: "io_uring".to_owned(),
        requests: 40_000,
        failed: 0,
        failed_by_kind: std::collections::BTreeMap::new(),
        unanswered: 0,
    };
    let noisy = ComparisonOutcome::TooNoisy { smallest_detectable: Some(0.14), pairs_needed: Some(160) };
    let mut tail = compared(
        Metric::P99,
        -0.03,
        0.0,
        ComparisonOutcome::TooNoisy { smallest_detectable: None, pairs_needed: None },
    );
    (tail.method, tail.interval) = (ComparisonMethod::LabelSwaps, None);
    ComparisonResult {
        format: COMPARISON_FORMAT.to_owned(),
        version: COMPARISON_VERSION,
        verdict: Verdict::Valid,
        kind: ComparisonKind::Interleaved,
        started_at: run.timing.started_at.clone(),
        interrupted: false,
        a: side("http://127.0.0.1:3000/"),
        b: side("http://127.0.0.1:3001/"),
        margin: 0.02,
        looks: LookPlan::Once,
        seed: Some(7),
        block_s: Some(0.2),
        pairs: Vec::new(),
        looks_taken: Vec::new(),
        metrics: vec![
            MetricComparison {
                primary: true,
                ..compared(Metric::P50, 0.079, 0.028, ComparisonOutcome::Slower)
            },
            compared(Metric::Rate, 0.003, 0.011, ComparisonOutcome::NoDifference),
            compared(Metric::P90, -0.03, 0.16, noisy),
            tail,
        ],
        notes: Vec::new(),
        findings: Vec::new(),
        environment: run.environment.clone(),
    }
}

/// Two stored runs, for which there is no verdict.
fn silent() -> ComparisonResult {
    let mut result = comparison();
    result.kind = ComparisonKind::TooFewRuns;
    result.seed = None;
    result.block_s = None;
    result.notes = vec!["a.json and b.json differ in the machine".to_owned()];
    for metric in &mut result.metrics {
        metric.outcome =
            ComparisonOutcome::NoVerdict { reason: "1 run on each side; at least 6 needed".to_owned() };
    }
    result
}

/// A comparison that the client disturbed.
fn invalid() -> ComparisonResult {
    let mut result = comparison();
    result.verdict = Verdict::Invalid;
    result.findings = vec![Finding {
        code: FindingCode::ClientCpu,
        severity: Severity::Invalid,
        evidence: vec![Evidence::new("client_blocks", 19.0, "count")],
        message: "in 19 of 40 blocks the client made the numbers, not the servers".to_owned(),
        advice: "leave the client a core of its own".to_owned(),
    }];
    for metric in &mut result.metrics {
        metric.outcome =
            ComparisonOutcome::NoVerdict { reason: "the client is in the way: client-cpu".to_owned() };
    }
    result
}

#[test]
fn reports() {
    check("compare", &comparison(), Style::default());
    check("compare-narrow", &comparison(), Style { width: 50, ..Style::default() });
    check("compare-too-few-runs", &silent(), Style::default());
    check("compare-invalid", &invalid(), Style::default());
}

#[test]
fn markdown() {
    insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!("compare-markdown", compare::markdown(&comparison()));
    });
}

/// What a server's name holds must not move the cursor.
#[test]
fn foreign_text_is_cleaned() {
    let mut hostile = comparison();
    hostile.b.name = "a\u{1b}[2J`b|".to_owned();
    hostile.notes = vec!["\u{202e}".to_owned()];
    for drawn in [compare::text(&hostile, &Style::default()), compare::markdown(&hostile)] {
        assert!(!drawn.contains(['\u{1b}', '\u{202e}']), "{drawn}");
    }
}
