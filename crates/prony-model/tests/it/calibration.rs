//! What a calibration says of a run.

use prony_model::{
    Arrivals, Calibration, CalibrationPoint, CalibrationSetting, FindingCode, Load, Rate, RunResult,
    Severity, Verdict, evaluate,
};

use crate::full;

/// A run without findings: 50 connections, a median of 2 ms.
fn run() -> RunResult {
    let mut result = full::result();
    result.calibration = None;
    result.findings.clear();
    result.verdict = Verdict::Valid;
    result
}

fn at(rate_per_s: f64) -> RunResult {
    let mut result = run();
    result.rate.answered_per_s = rate_per_s;
    result
}

/// What was measured two hours before, in the setting of [`run`] but for the number of connections.
fn point(connections: u32, rate_per_s: f64) -> CalibrationPoint {
    let setting = CalibrationSetting::of_run(&run()).expect("it has answers");
    CalibrationPoint {
        setting: CalibrationSetting { connections, host: None, ..setting },
        measured_at: "2026-01-02T01:04:05Z".to_owned(),
        measured_s: 2.0,
        prony_version: "0.1.0".to_owned(),
        rate_per_s,
        client_cpu_share: 0.99,
        server_cpu_share: Some(0.80),
        p50_ms: Some(f64::from(connections) / rate_per_s * 1e3),
        p99_ms: None,
        doubt: None,
    }
}

fn grid() -> Calibration {
    let mut alone = point(1, 25_000.0);
    alone.setting.pipeline = 1;
    let mut open = point(16, 1_000.0);
    open.setting.asked_per_s = Rate::per_second(1_000.0);
    open.p50_ms = Some(0.06);
    let mut calibration = Calibration::new(run().environment);
    calibration.points = vec![alone, point(64, 160_000.0), open];
    calibration
}

fn check_limit(rate_per_s: f64, expected: Option<Severity>) {
    let (_, findings) = evaluate(&at(rate_per_s), &grid()).expect("64 connections are near 50");
    let found = findings.iter().find(|finding| finding.code == FindingCode::NearClientLimit);
    assert_eq!(found.map(|finding| finding.severity), expected, "{rate_per_s}");
}

#[test]
fn the_limit_has_two_thresholds() {
    check_limit(10_000.0, None);
    check_limit(80_000.0, None);
    check_limit(80_001.0, Some(Severity::Warning));
    check_limit(128_000.0, Some(Severity::Warning));
    check_limit(128_001.0, Some(Severity::Invalid));
    check_limit(170_000.0, Some(Severity::Invalid));
    check_limit(200_000.0, Some(Severity::Invalid));
}

#[test]
fn what_a_run_was_compared_with() {
    let (used, findings) = evaluate(&at(16_000.0), &grid()).expect("64 connections are near 50");
    assert_eq!(findings, []);
    assert_eq!((used.connections, used.threads), (64, 2));
    assert!((used.share - 0.1).abs() < 1e-9 && (used.capacity_per_s - 160_000.0).abs() < 1e-9, "{used:?}");
    assert_eq!(used.floor_p50_ms, Some(0.04));
    // From 01:04:05 to 03:04:05, and 11.5 s until the measured part was over.
    assert!((used.age_s - 7_211.5).abs() < 1e-6, "{used:?}");
}

#[test]
fn the_limit_message() {
    let (_, findings) = evaluate(&at(100_000.0), &grid()).expect("64 connections are near 50");
    assert_eq!(
        findings[0].message,
        "this client gets 160,000 /s from the null server: this run is at 62 % of what this client can do"
    );
    assert_eq!(findings[0].advice, "try prony on another machine");
}

#[test]
fn the_advice_fits_the_run() {
    let mut result = at(100_000.0);
    result.environment.cpus = 8;
    let rate_per_s = Rate::per_second(100_000.0).expect("a rate");
    result.plan.load = Load::Open { rate_per_s, arrivals: Arrivals::Constant, max_connections: 1000 };
    let (_, findings) = evaluate(&result, &grid()).expect("an open loop is near any");
    assert_eq!(findings[0].advice, "try --threads 3, a lower --rate, or prony on another machine");
}

#[test]
fn a_run_beyond_the_calibration_asks_for_another() {
    let (_, findings) = evaluate(&at(320_000.0), &grid()).expect("64 connections are near 50");
    assert_eq!(findings[0].severity, Severity::Warning);
    assert_eq!(
        findings[0].message,
        "this client gets 160,000 /s from the null server: this run got 2.0 times as much, so that is not true any \
         more"
    );
    assert_eq!(findings[0].advice, "calibrate again while nothing else runs: `prony calibrate`");
}

#[test]
fn an_estimate_is_called_one() {
    let mut calibration = grid();
    calibration.points[1].client_cpu_share = 0.64;
    calibration.points[1].server_cpu_share = Some(0.97);
    let (used, findings) = evaluate(&at(150_000.0), &calibration).expect("64 connections are near 50");
    assert!((used.share - 0.6).abs() < 1e-9, "{used:?}");
    assert_eq!(
        findings[0].message,
        "this client gets 160,000 /s from the null server, and by its use of the CPU could get about 250,000 /s: \
         this run is at 60 % of what this client can do"
    );
}

fn check_floor(load: Load, median_ms: f64, expected: Option<Severity>) {
    let mut result = run();
    let mut calibration = grid();
    result.plan.load = load;
    result.latency.response.quantiles_ms.insert("0.5".to_owned(), Some(median_ms));
    // Something to compare the rate with.
    calibration.points.push(point(1, 1e6));
    let (_, findings) = evaluate(&result, &calibration).expect("a setting is near");
    let found = findings.iter().find(|finding| finding.code == FindingCode::NearClientFloor);
    assert_eq!(found.map(|finding| finding.severity), expected, "{load:?} {median_ms}");
}

#[test]
fn the_floor_is_three_times_the_least() {
    let rate_per_s = Rate::per_second(500.0).expect("a rate");
    let open = Load::Open { rate_per_s, arrivals: Arrivals::Constant, max_connections: 1000 };
    check_floor(open, 0.179, Some(Severity::Warning));
    check_floor(open, 0.181, None);
    check_floor(Load::Closed { connections: 1 }, 0.119, Some(Severity::Warning));
    check_floor(Load::Closed { connections: 1 }, 0.121, None);
    check_floor(Load::Closed { connections: 50 }, 0.119, Some(Severity::Note));
}

#[test]
fn the_verdict_follows() {
    let mut result = at(150_000.0);
    result.compare_with(&grid());
    assert_eq!(result.verdict, Verdict::Invalid);
    assert_eq!(result.findings[0].code, FindingCode::NearClientLimit);
    assert!(result.calibration.is_some_and(|used| used.share > 0.9));
}

#[test]
fn nothing_to_compare_with_changes_nothing() {
    let mut unlike = grid();
    unlike.points.iter_mut().for_each(|point| point.setting.threads = 7);
    let mut no_answer = run();
    no_answer.requests.answered = 0;
    let mut unix = run();
    unix.plan.target.unix = Some("/run/app.sock".into());
    for (mut result, calibration) in [(run(), unlike), (no_answer, grid()), (unix, grid())] {
        let before = result.clone();
        result.compare_with(&calibration);
        assert_eq!(result, before);
    }
}

#[test]
fn what_is_written_fits_the_published_schema() {
    let schema: serde_json::Value =
        serde_json::from_str(include_str!("../../../../docs/schema/calibration-v1.json")).expect("JSON");
    let validator = jsonschema::validator_for(&schema).expect("the published schema is one");
    let written: serde_json::Value = serde_json::from_str(&grid().to_json()).expect("JSON");
    let errors: Vec<String> = validator.iter_errors(&written).map(|error| error.to_string()).collect();
    assert_eq!(errors, Vec::<String>::new());
    for key in ["format", "version", "fingerprint", "points"] {
        let mut lacking = written.clone();
        lacking.as_object_mut().expect("an object").remove(key);
        assert!(!validator.is_valid(&lacking), "{key}");
    }
}
