//! The file format of an overload.

use prony_model::{
    ErrorKind, FindingCode, FormatError, LoadPhase, OVERLOAD_FORMAT, OVERLOAD_VERSION, OverloadAttempts,
    OverloadMethod, OverloadOutcome, OverloadPart, OverloadPhase, OverloadResult, OverloadRun, RetryOn,
    RetryPlan, TrialTimes, overload_from_json, overload_to_json,
};
use serde_json::Value;

use crate::full;

fn run(outcome: OverloadOutcome, retries: Option<RetryPlan>) -> OverloadRun {
    let times = TrialTimes { count: 100, p50_ms: Some(1.5), p99_ms: None, max_ms: Some(9.0) };
    let phase = |phase| OverloadPhase {
        phase,
        from_s: 0.0,
        length_s: 10.0,
        offered: 120,
        good: 90,
        late: 10,
        failed_by_kind: [(ErrorKind::RequestTimeout, 18)].into(),
        unanswered: 2,
        response: times,
        outstanding_begin: 1,
        outstanding_end: 7,
        outstanding_max: 9,
    };
    let part =
        OverloadPart { from_s: 0.0, offered: 12, good: 9, outstanding: 1, p50_ms: None, max_ms: Some(9.0) };
    OverloadRun {
        retries,
        started_at: "2026-11-23T12:00:00.000Z".to_owned(),
        outcome,
        phases: LoadPhase::ALL.map(phase).to_vec(),
        course: vec![part],
        attempts: Some(OverloadAttempts { attempts: 400, retries: 280, recovered: 3 }),
        server_memory_max_bytes: Some(1 << 20),
        server_memory_growth_bytes: Some(-5),
        drained_after_s: None,
        verdict: prony_model::Verdict::Invalid,
        invalid: vec![FindingCode::SendLag],
        client_cpu_share: 0.31,
    }
}

fn overload(outcome: OverloadOutcome) -> OverloadResult {
    let stored = full::result();
    let on = RetryOn::parse("connect,503").expect("failures");
    let retries = RetryPlan {
        retries: 3,
        on,
        backoff: prony_model::Backoff::default(),
        budget: None,
        attempt_timeout: std::time::Duration::from_secs(1),
    };
    OverloadResult {
        format: OVERLOAD_FORMAT.to_owned(),
        version: OVERLOAD_VERSION,
        verdict: stored.verdict,
        started_at: stored.timing.started_at.clone(),
        elapsed_s: 250.0,
        interrupted: false,
        plan: stored.plan.clone(),
        addresses: stored.addresses.clone(),
        driver: "io_uring".to_owned(),
        method: OverloadMethod {
            base_per_s: 100.0,
            pulse_per_s: 400.0,
            capacity_per_s: Some(200.0),
            before_s: 10.0,
            pulse_s: 10.0,
            after_s: 100.0,
            good_within_ms: 1_000.0,
            part_s: 0.2,
            recovered_share: 0.95,
            metastable_pulses: 10.0,
        },
        alone_ms: Some(0.4),
        runs: vec![run(OverloadOutcome::Carried, None), run(outcome, Some(retries))],
        notes: vec!["a note".to_owned()],
        findings: stored.findings.clone(),
        environment: stored.environment,
    }
}

fn outcomes() -> [OverloadOutcome; 7] {
    [
        OverloadOutcome::Carried,
        OverloadOutcome::Recovered { after_s: 18.0, within_s: 0.2 },
        OverloadOutcome::Metastable { watched_s: 100.0 },
        OverloadOutcome::NotRecovered { watched_s: 10.0 },
        OverloadOutcome::BaseNotCarried { good_share: 0.4 },
        OverloadOutcome::Died,
        OverloadOutcome::Unknown { reason: "the client".to_owned() },
    ]
}

/// The schema as published: that it is the one of the code is a test of its own.
fn check(what: &str, value: &Value, fits: bool) {
    let schema: Value =
        serde_json::from_str(include_str!("../../../../docs/schema/overload-v1.json")).expect("JSON");
    let validator = jsonschema::validator_for(&schema).expect("the published schema is one");
    let errors: Vec<String> = validator.iter_errors(value).map(|error| error.to_string()).collect();
    assert_eq!(errors.is_empty(), fits, "{what}: {errors:#?}");
}

#[test]
fn what_is_written_fits_the_published_schema_and_is_read_back() {
    for outcome in outcomes() {
        let result = overload(outcome);
        let text = overload_to_json(&result);
        check("an overload", &serde_json::from_str(&text).expect("JSON"), true);
        assert_eq!(overload_from_json(&text).expect("own words"), result);
    }
}

#[test]
fn foreign_texts_are_refused_by_name() {
    let check = |text: &str, expected: fn(&FormatError) -> bool| {
        let error = overload_from_json(text).expect_err(text);
        assert!(expected(&error), "{text}: {error:?}");
    };
    check("{\"format\": \"prony.run\", \"version\": 1}", |error| {
        matches!(error, FormatError::ForeignOverload)
    });
    check("{\"format\": \"prony.overload\", \"version\": 2}", |error| {
        matches!(error, FormatError::Version { found: 2 })
    });
    check("{\"format\": \"prony.overload\", \"version\": 1}", |error| {
        matches!(error, FormatError::Schema(_))
    });
}

#[test]
fn what_lacks_something_does_not_fit() {
    let [carried, ..] = outcomes();
    let whole: Value = serde_json::from_str(&overload_to_json(&overload(carried))).expect("JSON");
    for key in ["format", "version", "verdict", "plan", "method", "runs", "findings"] {
        let mut lacking = whole.clone();
        lacking.as_object_mut().expect("an object").remove(key);
        check(key, &lacking, false);
    }
    let mut unknown = whole;
    unknown["runs"][0]["outcome"]["kind"] = "sideways".into();
    check("an unknown word", &unknown, false);
}

#[test]
fn rates_and_shares_of_a_phase() {
    let phase = run(OverloadOutcome::Carried, None).phases.remove(0);
    assert_eq!((phase.offered_per_s(), phase.goodput_per_s(), phase.good_share()), (12.0, 9.0, Some(0.75)));
    let empty = OverloadPhase { offered: 0, good: 0, length_s: 0.0, ..phase };
    assert_eq!((empty.offered_per_s(), empty.goodput_per_s(), empty.good_share()), (0.0, 0.0, None));
}
