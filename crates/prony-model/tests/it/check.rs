//! Edited results are found out.

use prony_model::{Interval, Outcome, RunResult, StatusClass, Verdict};

use crate::full;

/// Three good answers and a refusal.
fn agreeing() -> RunResult {
    let mut result = full::result();
    result.verdict = Verdict::Valid;
    result.findings.clear();
    let requests = &mut result.requests;
    (requests.intended, requests.answered, requests.done, requests.failed) = (4, 3, 3, 1);
    result.traffic.get_or_insert_default().measured.answered = 3;
    (requests.censored, requests.never_sent) = (0, 0);
    requests.failed_by_kind = [(prony_model::ErrorKind::Refused, 1)].into();
    result.statuses = [(200, 3)].into();
    let refused = Outcome::Failed(prony_model::ErrorKind::Refused).name();
    let good = Outcome::Done(StatusClass::Success).name();
    result.outcomes.retain(|entry| [&refused, &good].contains(&&entry.outcome));
    for entry in result.outcomes.iter_mut().filter(|entry| entry.outcome == refused) {
        (entry.count, entry.response.count, entry.service.count) = (1, 1, 1);
        (entry.response_histogram.count, entry.service_histogram.count) = (1, 1);
    }
    result
}

fn check(change: impl Fn(&mut RunResult), expected: &[&str]) {
    let mut result = agreeing();
    change(&mut result);
    let found: Vec<String> = result.check().iter().map(ToString::to_string).collect();
    assert_eq!(found, expected);
}

#[test]
fn what_is_as_it_was_written_agrees_with_itself() {
    check(|_| (), &[]);
    check(|result| result.histograms.service = prony_model::HistogramData::default(), &[]);
}

#[test]
fn stages_must_add_up() {
    let [stage] = crate::full::open_loop().stages.try_into().expect("one stage");
    let mut result = crate::full::bare();
    result.stages = vec![stage];
    result.stages[0].requests.done = 4;
    let found: Vec<String> = result.check().iter().map(ToString::to_string).collect();
    for expected in
        ["the stages make 13", "the stages make 4", "the done of a stage is 4, and its samples make 3"]
    {
        assert!(found.iter().any(|one| one.contains(expected)), "{expected}: {found:#?}");
    }
}

#[test]
fn counts_must_add_up() {
    check(
        |result| result.requests.intended = 5,
        &["intended is 5, and done, failed, censored and never_sent make 4"],
    );
    check(
        |result| (result.requests.failed, result.requests.intended) = (0, 3),
        &["failed is 0, and failed_by_kind make 1", "failed is 0, and the bad outcomes make 1"],
    );
    check(|result| result.statuses.clear(), &["answered is 3, and statuses make 0"]);
    check(
        |result| result.traffic.get_or_insert_default().measured.answered = 2,
        &["the traffic's answers of the measured part is 2, and answered make 3"],
    );
    check(
        |result| result.requests.never_sent = u64::MAX,
        &["intended is 4, and done, failed, censored and never_sent make 18446744073709551619"],
    );
    check(|result| result.histograms.response.count = 7, &["response has 3 samples, and its histogram 7"]);
}

#[test]
fn counts_of_the_clean_parts_must_add_up() {
    check(
        |result| {
            let Some(clean) = &mut result.clean else { return };
            clean.requests.done += 1;
        },
        &[
            "intended of the clean parts is 3, and done, failed, censored and never_sent of the clean parts make 4",
            "done of the clean parts is 4, and response of the clean parts make 3",
            "done of the clean parts is 4, and service of the clean parts make 3",
        ],
    );
}

#[test]
fn quantiles_must_ascend() {
    let set = |key: &'static str, value: f64| {
        move |result: &mut RunResult| {
            result.latency.service.quantiles_ms.insert(key.to_owned(), Some(value));
        }
    };
    check(set("0.5", 0.5), &["of service, min is 1 ms and 0.5 is 0.5 ms"]);
    check(set("0.9", 1.5), &["of service, 0.75 is 2 ms and 0.9 is 1.5 ms"]);
    check(set("0.9999", 10.0), &["of service, 0.9999 is 10 ms and max is 9 ms"]);
    check(
        |result| result.latency.connect.mean_ms = Some(99.0),
        &["of connect, mean is 99 ms and max is 9 ms"],
    );
    check(
        |result| {
            let upside_down = Interval { low: 3.0, high: 2.0, indicative: false };
            result.latency.response.intervals_ms.insert("0.5".to_owned(), upside_down);
        },
        &["of response, the lower end of 0.5 is 3 ms and the upper end of 0.5 is 2 ms"],
    );
}

#[test]
fn outcomes_must_be_known_and_add_up() {
    check(
        |result| result.outcomes[0].outcome = "splendid".to_owned(),
        &["its outcome `splendid` is unknown or stands there twice"],
    );
    check(
        |result| {
            let again = result.outcomes[0].clone();
            result.outcomes.push(again);
        },
        &["its outcome `2xx` is unknown or stands there twice"],
    );
    check(
        |result| result.outcomes[0].count = 2,
        &["the count of an outcome is 2, and its samples make 3", "done is 3, and the good outcomes make 2"],
    );
}

#[test]
fn the_verdict_must_be_that_of_the_findings() {
    check(
        |result| {
            result.findings = full::result().findings;
        },
        &["its verdict is Valid, and its findings make it Doubtful"],
    );
}
