//! The file format of a search for a capacity.

use prony_model::{
    CAPACITY_FORMAT, CAPACITY_VERSION, CapacityLimit, CapacityMethod, CapacityOutcome, CapacityResult,
    CapacityTrial, Confirmation, FindingCode, FormatError, Scaling, ScalingFigure, ScalingFit, ScalingPoint,
    TrialOutcome, TrialPurpose, TrialTimes, Varied, capacity_from_json, capacity_to_json,
};
use serde_json::Value;

use crate::full;

fn capacity(outcome: CapacityOutcome) -> CapacityResult {
    let run = full::result();
    let times = TrialTimes { count: 100, p50_ms: Some(1.5), p99_ms: None, max_ms: Some(9.0) };
    let trial = CapacityTrial {
        purpose: TrialPurpose::Bound,
        rate_per_s: 1978.0,
        users: None,
        agents: vec!["a".to_owned(), "b".to_owned()],
        started_at: run.timing.started_at.clone(),
        planned_s: 10.0,
        measured_s: 10.0,
        outcome: TrialOutcome::Failed,
        reason: "response.p99 61.2 ms, not < 50ms".to_owned(),
        objectives: run.thresholds.clone(),
        requests: 100,
        failed: 1,
        failed_by_kind: [(prony_model::ErrorKind::Reset, 1)].into(),
        unanswered: 2,
        delivered_per_s: 1960.0,
        response: times,
        service: times,
        verdict: run.verdict,
        invalid: vec![FindingCode::SendLag],
        limiter: run.limiter.clone(),
        client_cpu_share: 0.31,
        recovered_after_s: Some(1.25),
    };
    let figure = ScalingFigure { value: 1.0, low: 0.5, high: 1.5 };
    CapacityResult {
        format: CAPACITY_FORMAT.to_owned(),
        version: CAPACITY_VERSION,
        verdict: run.verdict,
        started_at: run.timing.started_at.clone(),
        elapsed_s: 500.0,
        interrupted: false,
        plan: run.plan.clone(),
        agents: vec!["a".to_owned(), "b".to_owned()],
        addresses: run.addresses.clone(),
        driver: "io_uring".to_owned(),
        objectives: vec!["response.p99 < 50ms".to_owned()],
        errors_max: 0.001,
        peak_per_s: Some(1200.0),
        method: CapacityMethod {
            varied: Varied::Rate,
            trial_s: 10.0,
            warmup_share: 0.2,
            trials_per_load: 5,
            exceed_ratio: 0.5,
            coarse: 0.08,
            precision: 0.02,
            confirm_trials: 6,
            confirm_share: 0.95,
            time_s: 600.0,
            from_per_s: None,
            to_per_s: Some(9000.0),
        },
        alone_ms: Some(0.4),
        outcome,
        trials: vec![trial],
        scaling: Some(Scaling {
            fit: Some(ScalingFit {
                gamma: figure,
                alpha: figure,
                beta: figure,
                peak_users: Some(figure),
                peak_per_s: None,
                trials: 18,
                misfit: 0.01,
                curve: vec![ScalingPoint { users: 2.0, rate: figure }],
            }),
            missing_because: None,
            users_max: 32,
        }),
        notes: vec!["a note".to_owned()],
        findings: run.findings.clone(),
        environment: run.environment,
    }
}

fn outcomes() -> [CapacityOutcome; 5] {
    let confirmation = Confirmation::Confirmed { rate_per_s: 1860.0, measured_s: 60.0 };
    [
        CapacityOutcome::Between {
            estimate_per_s: 1960.0,
            lower_per_s: 1940.0,
            upper_per_s: 1990.0,
            carried_per_s: 1950.0,
            exceeded_per_s: 1978.0,
            is_decided: true,
            confirmation,
        },
        CapacityOutcome::AtLeast {
            lower_per_s: 10.0,
            is_decided: false,
            limit: CapacityLimit::Client,
            reason: "the client".to_owned(),
            confirmation: Confirmation::Missing,
        },
        CapacityOutcome::Below { upper_per_s: 1.0 },
        CapacityOutcome::Unknown { reason: "all void".to_owned() },
        CapacityOutcome::Users,
    ]
}

/// The schema as published: that it is the one of the code is a test of its own.
fn check(what: &str, value: &Value, fits: bool) {
    let schema: Value =
        serde_json::from_str(include_str!("../../../../docs/schema/capacity-v1.json")).expect("JSON");
    let validator = jsonschema::validator_for(&schema).expect("the published schema is one");
    let errors: Vec<String> = validator.iter_errors(value).map(|error| error.to_string()).collect();
    assert_eq!(errors.is_empty(), fits, "{what}: {errors:#?}");
}

#[test]
fn what_is_written_fits_the_published_schema_and_is_read_back() {
    for outcome in outcomes() {
        let result = capacity(outcome);
        let text = capacity_to_json(&result);
        check("a capacity", &serde_json::from_str(&text).expect("JSON"), true);
        assert_eq!(capacity_from_json(&text).expect("own words"), result);
    }
}

#[test]
fn foreign_texts_are_refused_by_name() {
    let check = |text: &str, expected: fn(&FormatError) -> bool| {
        let error = capacity_from_json(text).expect_err(text);
        assert!(expected(&error), "{text}: {error:?}");
    };
    check("{\"format\": \"prony.run\", \"version\": 1}", |error| {
        matches!(error, FormatError::ForeignCapacity)
    });
    check("{\"format\": \"prony.capacity\", \"version\": 2}", |error| {
        matches!(error, FormatError::Version { found: 2 })
    });
    check("{\"format\": \"prony.capacity\", \"version\": 1}", |error| {
        matches!(error, FormatError::Schema(_))
    });
}

#[test]
fn what_lacks_something_does_not_fit() {
    let [between, ..] = outcomes();
    let whole: Value = serde_json::from_str(&capacity_to_json(&capacity(between))).expect("JSON");
    for key in ["format", "version", "verdict", "plan", "method", "outcome", "trials", "findings"] {
        let mut lacking = whole.clone();
        lacking.as_object_mut().expect("an object").remove(key);
        check(key, &lacking, false);
    }
    let mut unknown = whole;
    unknown["outcome"]["kind"] = "sideways".into();
    check("an unknown word", &unknown, false);
}
