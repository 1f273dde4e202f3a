//! The file format: what is written fits the published schema, and is read back as it was.

mod calibration;
mod capacity;
mod check;
mod comparison;
mod exec;
mod full;
mod overload;
mod probe;
mod server;
mod thresholds;

use prony_model::{from_json, to_json};
use serde_json::Value;

/// The schema as published, not as the code would make it: that both agree is a test of its own.
fn published() -> jsonschema::Validator {
    let schema: Value =
        serde_json::from_str(include_str!("../../../../docs/schema/run-v1.json")).expect("JSON");
    jsonschema::validator_for(&schema).expect("the published schema is one")
}

fn check(what: &str, result: &Value, fits: bool) {
    let validator = published();
    let errors: Vec<String> = validator
        .iter_errors(result)
        .map(|error| format!("{} at {}", error, error.instance_path()))
        .collect();
    assert_eq!(errors.is_empty(), fits, "{what}: {errors:#?}");
}

fn json(result: &prony_model::RunResult) -> Value {
    serde_json::from_str(&to_json(result)).expect("what is written is JSON")
}

#[test]
fn what_is_written_fits_the_published_schema() {
    check("full", &json(&full::result()), true);
    check("open loop", &json(&full::open_loop()), true);
    check("bare", &json(&full::bare()), true);
}

#[test]
fn what_lacks_something_does_not_fit() {
    for key in ["format", "version", "verdict", "plan", "requests", "latency", "findings", "histograms"] {
        let mut result = json(&full::result());
        result.as_object_mut().expect("an object").remove(key);
        check(key, &result, false);
        assert!(from_json(&result.to_string()).is_err(), "{key}");
    }
    let mut result = json(&full::result());
    result["plan"]["load"]["mode"] = "sideways".into();
    check("a load of no known mode", &result, false);
}

#[test]
fn what_is_written_is_read_back() {
    for result in [full::result(), full::open_loop(), full::bare()] {
        assert_eq!(from_json(&to_json(&result)).expect("own words"), result);
    }
}

/// Read the quick way, this number loses its last bit.
#[test]
fn every_bit_of_a_number_is_read_back() {
    let mut result = full::result();
    result.client.cpu_s = 0.090_806_750_469_291_04;
    assert_eq!(
        from_json(&to_json(&result)).expect("own words").client.cpu_s.to_bits(),
        result.client.cpu_s.to_bits()
    );
}

#[test]
fn secrets_are_not_written() {
    let mut result = full::result();
    result.plan.request.headers = vec![("AUTHORIZATION".to_owned(), "Bearer hush".to_owned())];
    let text = to_json(&result);
    assert!(!text.contains("hush"), "{text}");
    assert!(text.contains("[redacted]"), "{text}");
}
