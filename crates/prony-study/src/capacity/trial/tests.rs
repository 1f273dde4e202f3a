//! Trials by made results: who is to blame.

use prony_model::{
    ErrorKind, Finding, FindingCode, Limiter, LimiterKind, QuantileNote, SecondPoint, Severity, from_json,
};

use super::*;

const STORED: &str = include_str!("../../../../prony/tests/it/stored.json");

/// An open loop of 1,000 a second for 10 s, all of it answered; p50 2 ms, p99 10 ms.
fn result() -> RunResult {
    let mut result = from_json(STORED).expect("a stored run");
    result.findings.clear();
    result.timing.measured_s = 10.0;
    result.rate.asked_per_s = Some(1000.0);
    result.rate.done_per_s = 1000.0;
    let requests = &mut result.requests;
    (requests.intended, requests.sent, requests.answered, requests.done) = (10_000, 10_000, 10_000, 10_000);
    let response = &mut result.latency.response;
    response.count = 10_000;
    response.quantiles_ms.insert("0.5".to_owned(), Some(2.0));
    response.quantiles_ms.insert("0.99".to_owned(), Some(10.0));
    response.max_ms = Some(20.0);
    result.series = vec![SecondPoint { p50_ms: Some(2.0), ..SecondPoint::default() }];
    result
}

fn objectives() -> Objectives {
    Objectives { thresholds: vec!["response.p99 < 50ms".parse().expect("a threshold")], errors_max: 0.001 }
}

fn check(
    change: impl FnOnce(&mut RunResult),
    outcome: TrialOutcome,
    limit: Option<CapacityLimit>,
    words: &str,
) {
    let mut result = result();
    change(&mut result);
    let evaluated = evaluate(&result.into(), &objectives(), TrialPurpose::Coarse);
    assert_eq!((evaluated.outcome, evaluated.void_by), (outcome, limit), "{}", evaluated.reason);
    assert!(evaluated.reason.contains(words), "{words}: {}", evaluated.reason);
}

/// p99 is 5 s.
fn miss(result: &mut RunResult) {
    result.latency.response.quantiles_ms.insert("0.99".to_owned(), Some(5000.0));
}

fn finding(code: FindingCode) -> Finding {
    Finding {
        code,
        severity: Severity::Invalid,
        evidence: Vec::new(),
        message: "because".to_owned(),
        advice: String::new(),
    }
}

#[test]
fn the_server_carries_it_or_not() {
    use TrialOutcome::{Failed, Passed};
    check(|_| (), Passed, None, "response.p99 10.0 ms");
    check(
        |result| {
            result.latency.response.quantiles_ms.insert("0.99".to_owned(), Some(50.0));
        },
        Failed,
        None,
        "response.p99 50.0 ms, not < 50ms",
    );
    check(
        |result| {
            result.requests.done = 9_980;
            result.requests.failed = 20;
            result.requests.failed_by_kind.insert(ErrorKind::Reset, 20);
        },
        Failed,
        None,
        "20 reset",
    );
    check(|result| result.requests.never_sent = 500, Failed, None, "500 never sent");
    check(|result| result.requests.censored = 500, Failed, None, "500 unanswered");
    // One failed request of a thousand is allowed.
    check(|result| result.requests.failed = 10, Passed, None, "");
}

/// 100 a second for 1 s were 95 by chance: none of them is missing.
#[test]
fn random_arrivals_that_were_few_are_no_queue() {
    use TrialOutcome::{Failed, Passed};
    let few = |done: u64| {
        move |result: &mut RunResult| {
            let requests = &mut result.requests;
            (requests.intended, requests.sent, requests.answered, requests.done) =
                (9_500, 9_500, 9_500, 9_500);
            result.rate.done_per_s = done as f64 / 10.0;
        }
    };
    check(few(9_500), Passed, None, "");
    check(few(9_300), Failed, None, "930 /s of 950 /s came back: a queue grew");
}

/// 40 requests under way at the beginning and at the end are no queue; 300 more at the end are.
#[test]
fn a_growing_queue_is_none_that_stands() {
    use TrialOutcome::{Failed, Passed};
    let late = |late: f64, p50_ms: f64| {
        move |result: &mut RunResult| {
            result.rate.done_per_s = (10_000.0 - late) / 10.0;
            result.series[0].p50_ms = Some(p50_ms);
        }
    };
    check(late(40.0, 40.0), Passed, None, "");
    check(late(400.0, 400.0), Passed, None, "");
    check(late(340.0, 40.0), Failed, None, "a queue grew");
}

/// Late requests and late reading make times longer: what was met nevertheless is met, and what was missed says nothing.
#[test]
fn what_passed_on_a_disturbed_machine_has_passed() {
    for (codes, limit) in [
        (&[FindingCode::ClientCpu][..], CapacityLimit::Client),
        (&[FindingCode::NearClientLimit], CapacityLimit::Client),
        (&[FindingCode::SendLag], CapacityLimit::Machine),
        (&[FindingCode::Steal], CapacityLimit::Machine),
        (&[FindingCode::RunQueueWait, FindingCode::ClientCpu], CapacityLimit::Client),
    ] {
        let of = |change: fn(&mut RunResult)| {
            let mut result = result();
            change(&mut result);
            result.findings.extend(codes.iter().copied().map(finding));
            evaluate(&result.into(), &objectives(), TrialPurpose::Coarse)
        };
        let passed = of(|_| ());
        assert_eq!((passed.outcome, passed.void_by), (TrialOutcome::Passed, None), "{codes:?}");
        assert!(passed.reason.starts_with("response.p99 10.0 ms, although because ("), "{}", passed.reason);
        let missed = of(miss);
        assert_eq!((missed.outcome, missed.void_by), (TrialOutcome::Void, Some(limit)), "{codes:?}");
        assert!(passed.is_disturbed && missed.is_disturbed);
        // What is not known is no miss.
        let unknown = of(|result| {
            result.latency.response.quantiles_ms.insert("0.99".to_owned(), None);
        });
        assert_eq!((unknown.outcome, unknown.is_disturbed), (TrialOutcome::Void, false));
    }
}

/// Requests that were never sent, packets that were lost, a clock that jumps: the load was another one, or not measured.
#[test]
fn a_trial_without_its_whole_load_is_void_whatever_it_measured() {
    for (codes, limit) in [
        (&[FindingCode::RateNotReached][..], CapacityLimit::Client),
        (&[FindingCode::Ports], CapacityLimit::Client),
        (&[FindingCode::Descriptors], CapacityLimit::Client),
        (&[FindingCode::ClockSource], CapacityLimit::Machine),
        (&[FindingCode::Frequency], CapacityLimit::Machine),
        // The worst of several counts.
        (&[FindingCode::ClientCpu, FindingCode::RateNotReached], CapacityLimit::Client),
        (&[FindingCode::SendLag, FindingCode::ClockSource], CapacityLimit::Machine),
    ] {
        for change in [|_: &mut RunResult| (), miss] {
            let mut result = result();
            change(&mut result);
            result.findings.extend(codes.iter().copied().map(finding));
            let evaluated = evaluate(&result.into(), &objectives(), TrialPurpose::Coarse);
            let Evaluated { outcome, void_by, is_disturbed, reason } = evaluated;
            assert_eq!(
                (outcome, void_by, is_disturbed),
                (TrialOutcome::Void, Some(limit), false),
                "{codes:?}"
            );
            assert!(reason.starts_with("because ("), "{reason}");
        }
    }
}

/// A client that is in the way makes the rate of users lower: no such trial counts.
#[test]
fn users_of_a_client_that_is_too_slow_say_nothing() {
    let mut result = result();
    result.findings.push(finding(FindingCode::ClientCpu));
    let evaluated = evaluate(&result.into(), &objectives(), TrialPurpose::Users);
    assert_eq!((evaluated.outcome, evaluated.is_disturbed), (TrialOutcome::Void, false));
}

#[test]
fn what_is_no_fault_of_the_client() {
    // A warning spoils nothing, and what the server does is no excuse.
    check(
        |result| {
            result.findings.push(Finding { severity: Severity::Warning, ..finding(FindingCode::SendLag) });
        },
        TrialOutcome::Passed,
        None,
        "",
    );
    check(
        |result| {
            result.requests.done = 0;
            result.requests.failed = 10_000;
            result.findings.push(finding(FindingCode::NoSuccess));
        },
        TrialOutcome::Failed,
        None,
        "100 %",
    );
}

#[test]
fn a_full_link_is_not_the_servers_fault() {
    let limiter = Limiter {
        kind: LimiterKind::Network,
        sentence: "the network: full".to_owned(),
        evidence: Vec::new(),
    };
    check(
        |result| {
            result.latency.response.quantiles_ms.insert("0.99".to_owned(), Some(90.0));
            result.limiter = Some(limiter.clone());
        },
        TrialOutcome::Void,
        Some(CapacityLimit::Network),
        "the network: full",
    );
    check(|result| result.limiter = Some(limiter.clone()), TrialOutcome::Passed, None, "");
}

#[test]
fn a_withheld_figure_decides_only_where_its_bound_does() {
    let withheld = |above_ms: Option<f64>| {
        move |result: &mut RunResult| {
            let response = &mut result.latency.response;
            response.quantiles_ms.insert("0.99".to_owned(), None);
            let note = QuantileNote { reason: "too few".to_owned(), above_ms };
            response.withheld.insert("0.99".to_owned(), note);
        }
    };
    check(withheld(Some(80.0)), TrialOutcome::Failed, None, "withheld, not < 50ms");
    check(withheld(Some(30.0)), TrialOutcome::Void, Some(CapacityLimit::Machine), "too few");
    check(withheld(None), TrialOutcome::Void, Some(CapacityLimit::Machine), "too few");
}

#[test]
fn a_quantile_needs_ten_requests_beyond_it() {
    let needed = |text: &str| {
        Objectives { thresholds: vec![text.parse().expect("a threshold")], errors_max: 0.0 }.requests_needed()
    };
    assert!((needed("response.p99 < 1s") - 1100.0).abs() < 1e-6);
    assert!((needed("service.p99.9 < 1s") - 11_000.0).abs() < 1e-3);
    assert!((needed("response.max < 1s") - 11.0).abs() < 1e-9);
    assert!((needed("errors < 1%") - 11.0).abs() < 1e-9);
}
