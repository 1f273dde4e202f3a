//! Simulated servers whose recovery is known.

use prony_model::{OverloadOutcome, StatusClass};

use super::*;
use crate::overload::outcome::{METASTABLE_PULSES, RECOVERED_SHARE, outcome};

const MS: u64 = 1_000_000;
/// Any moment: the clock of a machine that has been up for a while.
const BEGIN_NS: u64 = 77_000_000_123;
const GOOD: Outcome = Outcome::Done(StatusClass::Success);
const TIMED_OUT: Outcome = Outcome::Failed(ErrorKind::RequestTimeout);
const REFUSED: Outcome = Outcome::UnexpectedStatus(StatusClass::ServerError);

/// 100 /s, 400 /s for 10 s, and 100 /s for 100 s.
fn method() -> OverloadMethod {
    OverloadMethod {
        base_per_s: 100.0,
        pulse_per_s: 400.0,
        capacity_per_s: None,
        before_s: 10.0,
        pulse_s: 10.0,
        after_s: 100.0,
        good_within_ms: 1_000.0,
        part_s: 0.2,
        recovered_share: RECOVERED_SHARE,
        metastable_pulses: METASTABLE_PULSES,
    }
}

/// When each request is due, by the method, seconds.
fn due_s(method: &OverloadMethod) -> Vec<f64> {
    let mut due = Vec::new();
    for span in spans(method, f64::INFINITY) {
        let count = whole((span.to_s - span.from_s) * span.rate_per_s + 0.5);
        due.extend((0..count).map(|number| span.from_s + number as f64 / span.rate_per_s));
    }
    due
}

/// One worker behind a queue of at most `limit`; clients leave after a second, and are served nevertheless.
fn served(method: &OverloadMethod, service_s: f64, limit: f64) -> Vec<OverloadSample> {
    let mut free_s = 0.0_f64;
    let mut samples = Vec::new();
    for due in due_s(method) {
        let waits_s = (free_s - due).max(0.0);
        let (end_s, outcome) = if waits_s / service_s > limit {
            (due, REFUSED)
        } else {
            free_s = due + waits_s + service_s;
            if free_s - due > 1.0 { (due + 1.0, TIMED_OUT) } else { (free_s, GOOD) }
        };
        samples.push(sample(due, end_s, outcome));
    }
    samples
}

fn sample(due_s: f64, end_s: f64, outcome: Outcome) -> OverloadSample {
    let at = |seconds: f64| BEGIN_NS + nanoseconds(seconds);
    OverloadSample { intended_ns: at(due_s), done_ns: at(end_s), outcome }
}

fn of(method: &OverloadMethod, samples: &[OverloadSample]) -> (Course, OverloadOutcome) {
    let requests = Requests {
        samples,
        begin_ns: BEGIN_NS,
        measured_s: method.before_s + method.pulse_s + method.after_s,
        due: due_s(method).len() as u64,
    };
    let course = course(method, &requests);
    let outcome = outcome(method, &course);
    (course, outcome)
}

#[test]
fn every_request_is_counted_once() {
    let method = method();
    let samples = served(&method, 0.005, f64::INFINITY);
    let (course, _) = of(&method, &samples);
    let offered: Vec<u64> = course.phases.iter().map(|phase| phase.offered).collect();
    assert_eq!(offered, [1_000, 4_000, 10_000]);
    assert_eq!(course.parts.iter().map(|part| part.offered).sum::<u64>(), 15_000);
    for phase in &course.phases {
        let failed: u64 = phase.failed_by_kind.values().sum();
        assert_eq!(phase.good + phase.late + failed + phase.unanswered, phase.offered, "{phase:?}");
        let TrialTimes { p50_ms, p99_ms, max_ms, .. } = phase.response;
        assert!(p50_ms <= max_ms && p99_ms.is_none_or(|p99| Some(p99) >= p50_ms), "{phase:?}");
        assert!(p99_ms.is_none_or(|p99| Some(p99) <= max_ms), "{phase:?}");
    }
}

#[test]
fn the_recovery_of_an_unbounded_queue_is_known_to_a_part() {
    for (base, pulse, service_s) in
        [(100.0, 400.0, 0.005), (100.0, 250.0, 0.005), (20.0, 300.0, 0.01), (50.0, 90.0, 0.0125)]
    {
        let part_s = part_length(base, Duration::from_secs(10)).expect("long enough").as_secs_f64();
        let method = OverloadMethod { base_per_s: base, pulse_per_s: pulse, part_s, ..method() };
        let samples = served(&method, service_s, f64::INFINITY);
        let late = samples.iter().rfind(|sample| sample.outcome != GOOD).expect("an overload");
        let truth_s = seconds_between(BEGIN_NS, late.intended_ns) - 20.0;
        let (_, outcome) = of(&method, &samples);
        let OverloadOutcome::Recovered { after_s, within_s } = outcome else { panic!("{outcome:?}") };
        assert!((within_s - part_s).abs() < 1e-9, "{within_s}");
        assert!((after_s - truth_s).abs() <= within_s, "{after_s} s, truth {truth_s} s");
    }
}

#[test]
fn a_bounded_queue_recovers_at_once() {
    let method = method();
    let (course, outcome) = of(&method, &served(&method, 0.005, 20.0));
    let OverloadOutcome::Recovered { after_s, within_s } = outcome else { panic!("{outcome:?}") };
    assert!(after_s <= within_s, "{after_s}");
    let during = &course.phases[1];
    // It goes on serving at its capacity of 200 /s.
    assert!((during.goodput_per_s() - 200.0).abs() < 4.0, "{during:?}");
    assert_eq!(during.failed_by_kind.keys().collect::<Vec<_>>(), [&ErrorKind::Status]);
}

#[test]
fn the_queue_grows_by_what_is_not_served() {
    let patient = OverloadMethod { good_within_ms: 1e6, ..method() };
    let mut free_s = 0.0_f64;
    let samples: Vec<OverloadSample> = due_s(&patient)
        .into_iter()
        .map(|due| {
            free_s = free_s.max(due) + 0.005;
            sample(due, free_s, GOOD)
        })
        .collect();
    let (course, outcome) = of(&patient, &samples);
    let during = &course.phases[1];
    // 200 /s more than are served, for 10 s.
    assert!(during.outstanding_end.abs_diff(2_000) <= 2, "{during:?}");
    assert_eq!(course.phases[2].outstanding_begin, during.outstanding_end);
    assert!(course.phases[2].outstanding_end <= 1);
    assert_eq!(outcome, OverloadOutcome::Carried, "everything came within the time that is asked for");
}

#[test]
fn what_stays_down_is_metastable_only_after_ten_pulses() {
    let stays_down = |method: &OverloadMethod| -> Vec<OverloadSample> {
        let fate = |due| if due < 12.0 { (due + 0.01, GOOD) } else { (due + 1.0, TIMED_OUT) };
        due_s(method)
            .into_iter()
            .map(|due| {
                let (end, how) = fate(due);
                sample(due, end, how)
            })
            .collect()
    };
    let method = method();
    let (_, outcome) = of(&method, &stays_down(&method));
    assert_eq!(outcome, OverloadOutcome::Metastable { watched_s: 100.0 });
    let shorter = OverloadMethod { after_s: 99.0, ..method };
    let (_, outcome) = of(&shorter, &stays_down(&shorter));
    assert_eq!(outcome, OverloadOutcome::NotRecovered { watched_s: 99.0 });
}

#[test]
fn a_server_that_is_gone_is_not_metastable() {
    let method = method();
    let samples = due_s(&method).into_iter().map(|due| {
        let outcome = if due < 15.0 { GOOD } else { Outcome::Failed(ErrorKind::Refused) };
        sample(due, due + 0.01, outcome)
    });
    assert_eq!(of(&method, &samples.collect::<Vec<_>>()).1, OverloadOutcome::Died);
}

#[test]
fn a_pulse_that_is_carried_is_no_overload() {
    let method = method();
    assert_eq!(of(&method, &served(&method, 0.001, f64::INFINITY)).1, OverloadOutcome::Carried);
}

#[test]
fn a_base_that_is_not_carried_says_so() {
    let method = method();
    let (_, outcome) = of(&method, &served(&method, 0.02, f64::INFINITY));
    assert!(matches!(outcome, OverloadOutcome::BaseNotCarried { good_share } if good_share < 0.95));
}

/// All good but for these spans of seconds.
fn outages(spans: &[(f64, f64)]) -> OverloadOutcome {
    let method = method();
    let is_down = |due: f64| spans.iter().any(|(from, to)| (*from..*to).contains(&due));
    let samples = due_s(&method).into_iter().map(|due| {
        if is_down(due) { sample(due, due + 1.0, TIMED_OUT) } else { sample(due, due + 0.01, GOOD) }
    });
    of(&method, &samples.collect::<Vec<_>>()).1
}

fn recovered(spans: &[(f64, f64)]) -> f64 {
    let outcome = outages(spans);
    let OverloadOutcome::Recovered { after_s, .. } = outcome else { panic!("{outcome:?}") };
    after_s
}

#[test]
fn a_hiccup_after_a_recovery_is_none_a_relapse_is() {
    let near = |value: f64, expected: f64| (value - expected).abs() < 0.21;
    assert!(near(recovered(&[(12.0, 25.0)]), 5.0));
    assert!(near(recovered(&[(12.0, 25.0), (60.0, 60.3)]), 5.0), "a third of a second after 35 good ones");
    assert!(near(recovered(&[(12.0, 25.0), (60.0, 70.0)]), 50.0), "ten seconds after 35 good ones");
    assert!(near(recovered(&[(12.0, 25.0), (26.0, 27.0)]), 7.0), "a second after one good one");
    assert!(near(recovered(&[(25.0, 30.0)]), 10.0), "it falls only after the pulse");
    assert!(
        matches!(outages(&[(12.0, 119.5)]), OverloadOutcome::Metastable { .. }),
        "half a second is no recovery"
    );
    assert!(matches!(outages(&[(12.0, 25.0), (100.0, 120.0)]), OverloadOutcome::Metastable { .. }));
}

#[test]
fn requests_that_never_ended_are_not_good() {
    let method = method();
    let mut samples = served(&method, 0.001, f64::INFINITY);
    let whole = samples.len();
    samples.retain(|sample| seconds_between(BEGIN_NS, sample.intended_ns) < 118.0);
    let (course, _) = of(&method, &samples);
    assert_eq!(course.phases[2].unanswered, (whole - samples.len()) as u64);
    assert_eq!(course.phases[2].unanswered, 200);
    assert_eq!(course.parts.last().map(|part| (part.offered, part.good)), Some((20, 0)));
    assert_eq!(course.phases[2].outstanding_end, 200);
}

#[test]
fn a_run_that_was_stopped_says_what_it_can() {
    let method = method();
    let samples = served(&method, 0.005, f64::INFINITY);
    let stopped = |measured_s: f64| {
        let is_in = |sample: &&OverloadSample| seconds_between(BEGIN_NS, sample.intended_ns) < measured_s;
        let samples: Vec<OverloadSample> = samples.iter().filter(is_in).copied().collect();
        let due = samples.len() as u64;
        let requests = Requests { samples: &samples, begin_ns: BEGIN_NS, measured_s, due };
        outcome(&method, &course(&method, &requests))
    };
    assert!(matches!(stopped(0.0), OverloadOutcome::Unknown { .. }));
    assert!(matches!(stopped(15.0), OverloadOutcome::Unknown { .. }));
    assert!(
        matches!(stopped(25.0), OverloadOutcome::NotRecovered { watched_s } if (watched_s - 5.0).abs() < 1e-9)
    );
    assert!(matches!(stopped(60.0), OverloadOutcome::Recovered { .. }));
}

#[test]
fn quantiles_need_their_exceedances() {
    let times: Vec<f64> = (1..=999).map(f64::from).collect();
    assert_eq!(quantile(&times, Quantile::P50), Some(500.0));
    assert_eq!(quantile(&times, Quantile::P99), None);
    let times: Vec<f64> = (1..=1_000).map(f64::from).collect();
    assert_eq!(quantile(&times, Quantile::P99), Some(990.0));
    assert_eq!(quantile(&[], Quantile::P50), None);
    assert_eq!(quantile(&[1.0; 19], Quantile::P50), None);
}

#[test]
fn parts_hold_enough_requests_and_pulses_enough_parts() {
    let check = |base, pulse_s, expected_ms: Option<u64>| {
        let length = part_length(base, Duration::from_secs(pulse_s)).ok();
        assert_eq!(length, expected_ms.map(Duration::from_millis), "{base} /s, {pulse_s} s");
    };
    check(10_000.0, 10, Some(100));
    check(200.0, 10, Some(100));
    check(199.0, 10, Some(200));
    check(20.0, 10, Some(1_000));
    check(10.0, 10, Some(2_000));
    check(9.0, 10, None);
    check(2.0, 50, Some(10_000));
    let problem = part_length(9.0, Duration::from_secs(10)).expect_err("too short");
    assert!(problem.advice.as_deref().is_some_and(|advice| advice.contains("--pulse 25s")), "{problem:?}");
}

#[test]
fn late_responses_are_not_good() {
    let method = OverloadMethod { good_within_ms: 5.0, ..method() };
    let samples: Vec<OverloadSample> =
        due_s(&method).into_iter().map(|due| sample(due, due + 0.006, GOOD)).collect();
    let (course, outcome) = of(&method, &samples);
    assert!(course.phases.iter().all(|phase| phase.good == 0 && phase.late == phase.offered));
    assert!(matches!(outcome, OverloadOutcome::BaseNotCarried { good_share } if good_share == 0.0));
    let at_the_bound = sample(1.0, 1.0 + 5.0 * MS as f64 / 1e9, GOOD);
    let requests = Requests { samples: &[at_the_bound], begin_ns: BEGIN_NS, measured_s: 120.0, due: 1 };
    assert_eq!(super::course(&method, &requests).phases[0].good, 1);
}
