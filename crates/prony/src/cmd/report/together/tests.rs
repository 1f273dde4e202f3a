//! Runs beside each other.

use prony_model::from_json;

use super::*;

/// A short run, with what the tests of the binary need and no more.
const STORED: &str = include_str!("../../../../tests/it/stored.json");

/// A run that began so many milliseconds into a certain second, measured for `measured_s`.
fn run(began_ms: u64, measured_s: f64) -> RunResult {
    let mut result = from_json(STORED).expect("a stored run");
    result.timing.started_at = format!("2026-01-02T03:04:{:02}.{:03}Z", began_ms / 1000, began_ms % 1000);
    result.timing.measured_s = measured_s;
    result
}

/// The findings of runs that are called a, b, c, …
fn findings_of(results: &[RunResult]) -> Vec<Finding> {
    let names = ["a", "b", "c", "d"];
    let runs: Vec<Named<'_>> =
        results.iter().zip(names).map(|(result, file)| Named { file, result }).collect();
    findings(&runs)
}

fn check(results: &[RunResult], code: FindingCode, expected: Option<&str>) {
    let found = findings_of(results).into_iter().find(|finding| finding.code == code);
    assert_eq!(found.as_ref().map(|finding| finding.message.split(':').next().unwrap_or_default()), expected);
}

#[test]
fn runs_that_ran_into_each_other() {
    let check = |results: &[RunResult], expected| check(results, FindingCode::Overlap, expected);
    check(&[run(0, 10.0)], None);
    check(&[run(0, 10.0), run(20_000, 10.0)], None);
    check(&[run(0, 10.0), run(10_000, 10.0)], None);
    check(&[run(0, 10.0), run(50, 10.0)], None);
    check(
        &[run(0, 10.0), run(3_200, 10.0)],
        Some("a and b loaded the same server and overlapped 51.5 % of their time; b began 3.2 s after a"),
    );
    check(
        &[run(2_000, 4.0), run(0, 8.0)],
        Some("b and a loaded the same server and overlapped 50 % of their time; a began 2 s after b"),
    );
    check(
        &[run(0, 10.0), run(1_000, 10.0), run(6_000, 10.0)],
        Some(
            "a and c loaded the same server and overlapped 25 % of their time; c began 6 s after a; so did 2 \
             other pairs",
        ),
    );
}

#[test]
fn the_same_server() {
    let check = |change: fn(&mut RunResult, &mut RunResult), is_same: bool| {
        let (mut one, mut other) = (run(0, 10.0), run(5_000, 10.0));
        change(&mut one, &mut other);
        assert_eq!(
            overlap(&[Named { file: "a", result: &one }, Named { file: "b", result: &other }]).is_some(),
            is_same
        );
    };
    check(|_, _| (), true);
    check(|one, _| one.addresses = vec!["127.0.0.1:4000".to_owned()], false);
    // Loopback is another server on another machine.
    check(|one, _| one.environment.boot_id = Some("another".to_owned()), false);
    check(
        |one, other| {
            one.environment.boot_id = Some("another".to_owned());
            for result in [one, other] {
                result.addresses.push("192.0.2.1:80".to_owned());
            }
        },
        true,
    );
    check(
        |one, other| {
            one.environment.boot_id = Some("another".to_owned());
            for result in [one, other] {
                result.addresses = vec!["/run/app.sock".to_owned()];
            }
        },
        false,
    );
    check(|one, _| one.timing.started_at = "yesterday".to_owned(), false);
}

#[test]
fn two_machines_have_two_clocks() {
    let (mut one, mut other) = (run(0, 10.0), run(5_000, 10.0));
    one.environment.boot_id = Some("another".to_owned());
    one.addresses = vec!["192.0.2.1:80".to_owned()];
    other.addresses.clone_from(&one.addresses);
    let found = findings_of(&[one, other]);
    assert!(found[0].message.contains("5 s after a (by the clocks of two machines): the sum"), "{found:?}");
}

#[test]
fn comparisons_of_one_run_each() {
    let check = |results: &[RunResult], expected| check(results, FindingCode::SingleRun, expected);
    let commit = |name: &str| RunResult { target_commit: Some(name.to_owned()), ..run(0, 10.0) };
    check(&[run(0, 10.0)], None);
    check(&[run(0, 10.0), run(20_000, 10.0)], None);
    check(&[commit("x"), commit("x"), commit("y"), commit("y")], None);
    check(&[commit("x"), commit("y")], Some("n = 1 for each of 2 variants"));
    check(&[commit("x"), commit("y"), commit("x")], Some("n = 1 for 1 of 2 variants"));
    let mut reseeded = run(0, 10.0);
    reseeded.plan.seed += 1;
    check(&[run(0, 10.0), reseeded], None);
    let mut threads = run(0, 10.0);
    threads.plan.threads = 2;
    check(&[run(0, 10.0), threads], Some("n = 1 for each of 2 variants"));
}
