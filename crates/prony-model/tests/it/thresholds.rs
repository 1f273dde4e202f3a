//! Thresholds over results whose figures are known.

use prony_model::{
    Clock, ErrorKind, EvaluatedThreshold, Evidence, Figure, Finding, FindingCode, Interval, KERNEL_P99,
    LatencySummary, Level, LimiterKind, Outcome, ProcessesUse, QuantileNote, RunCounts, RunResult,
    ServerFigure, ServerUse, Severity, StatusClass, Threshold, ThresholdOutcome, Verdict,
};

use crate::full;

const MIB: u64 = 1 << 20;

fn threshold(text: &str) -> Threshold {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn evaluated(text: &str, result: &RunResult) -> EvaluatedThreshold {
    threshold(text).evaluate(result)
}

/// A clock whose levels are 1 to 10 ms times `factor`, from the minimum up; the mean is in between.
fn summary(factor: f64) -> LatencySummary {
    let at = |ms: f64| Some(ms * factor);
    let keys = ["0.5", "0.75", "0.9", "0.95", "0.99", "0.999", "0.9999"];
    LatencySummary {
        count: 70_000,
        min_ms: at(1.0),
        mean_ms: at(4.5),
        stddev_ms: at(1.0),
        max_ms: at(10.0),
        quantiles_ms: keys
            .into_iter()
            .zip(2..)
            .map(|(key, ms)| (key.to_owned(), at(f64::from(ms))))
            .collect(),
        intervals_ms: [(
            "0.99".to_owned(),
            Interval { low: 5.0 * factor, high: 7.0 * factor, indicative: false },
        )]
        .into(),
        withheld: [].into(),
    }
}

/// A valid, whole run in which every figure is known.
fn known() -> RunResult {
    let mut result = full::result();
    result.timing.interrupted = false;
    result.findings.clear();
    result.verdict = Verdict::Valid;
    result.clean = None;
    result.latency.response = summary(1.0);
    result.latency.kernel_response = summary(2.0);
    result.latency.service = summary(3.0);
    result.latency.first_byte = summary(4.0);
    let events = result.events.as_mut().expect("a full result has events");
    events.first_response = summary(5.0);
    events.first_service = summary(6.0);
    events.between = summary(7.0);
    result.latency.connect = summary(8.0);
    result.latency.lag = summary(9.0);
    result.latency.blocked = summary(10.0);
    result.latency.departure = summary(11.0);
    result.latency.network = summary(12.0);
    result.latency.arrival = summary(13.0);
    let requests = &mut result.requests;
    (requests.intended, requests.sent, requests.answered, requests.done) = (1000, 996, 980, 970);
    (requests.failed, requests.censored, requests.never_sent) = (23, 3, 4);
    requests.failed_by_kind = ErrorKind::ALL.into_iter().zip(1..).collect();
    result.statuses = [(101, 10), (200, 940), (301, 20), (404, 6), (503, 4)].into();
    result.bytes.sent = MIB;
    result.bytes.received = 2 * MIB;
    result.bytes.body_received = 3 * MIB;
    result.client.peak_rss_bytes = Some(8 * MIB);
    result.machine.busy_share = Some(0.5);
    let figure = ServerFigure {
        value: 80.0,
        interval: Some(Interval { low: 75.0, high: 85.0, indicative: false }),
        requests: 980,
    };
    result.server = Some(ServerUse {
        cpus: 2,
        wall_s: 10.0,
        requests: 980,
        cpu_per_request_us: Some(figure),
        own: ProcessesUse {
            cpu_s: 5.0,
            busiest_thread_share: Some(0.4),
            memory_peak_bytes: Some(64 * MIB),
            ..ProcessesUse::default()
        },
        ..ServerUse::default()
    });
    result
}

/// Every figure by its name, and what it is in [`known`].
#[expect(clippy::match_same_arms, reason = "a table, whose rows stand in the order of the figures")]
fn expected(figure: Figure) -> Option<f64> {
    let values = |name: &str| match name {
        "rate" => 6.0,
        "rate.sent" => 9.5,
        "rate.answered" => 7.0,
        "success" => 0.97,
        "checks" => 970.0 / 980.0,
        "errors" => 0.023,
        "requests" => 1000.0,
        "requests.sent" => 996.0,
        "requests.answered" => 980.0,
        "requests.done" => 970.0,
        "requests.failed" => 23.0,
        "requests.censored" => 3.0,
        "requests.never-sent" => 4.0,
        "retries" => 19.0 / 996.0,
        "retries.recovered" => 0.009,
        "bytes.sent" => 1.0,
        "bytes" => 2.0,
        "bytes.bodies" => 3.0,
        "connections" => 49.0,
        "connections.opened" => 55.0,
        "connections.reused" => 40.0,
        "connections.closed-by-server" => 3.0,
        "total" => 10.5,
        "server.cpu-per-request" => 80.0,
        "server.cpu" => 0.25,
        "server.busiest-thread" => 0.4,
        "server.memory" => 64.0,
        "client.cpu" => 0.2,
        "client.memory" => 8.0,
        "client.capacity" => 0.62,
        "machine.steal" => 0.001,
        "machine.busy" => 0.5,
        "machine.retransmitted" => 3.0,
        "sessions" => 40.0,
        "sessions.rate" => 4.0,
        "sessions.success" => 30.0 / 36.0,
        "sessions.failed" => 6.0,
        name => panic!("no value is known of {name}"),
    };
    Some(match figure {
        Figure::Latency(clock, level) => {
            let clocks = Clock::ALL.into_iter().filter(|clock| *clock != Clock::Censored);
            let factor =
                clocks.zip(1..).find(|(known, _)| *known == clock).map(|(_, factor)| f64::from(factor))?;
            let levels = Level::ALL.into_iter().filter(|level| *level != Level::Mean);
            let place = levels.zip(1..).find(|(known, _)| *known == level).map(|(_, place)| f64::from(place));
            // p99.99 and max are 8 and 10.
            factor * place.map_or(4.5, |place| if level == Level::Max { 10.0 } else { place })
        }
        Figure::Plain(_) if figure.to_string() == "verdict" || figure.to_string() == "limiter" => {
            return None;
        }
        Figure::Plain(_) => values(&figure.to_string()),
        Figure::Errors(kind) => (kind as usize + 1) as f64 / 1000.0,
        Figure::StatusClass(class) => [10.0, 940.0, 20.0, 6.0, 4.0][class as usize] / 980.0,
        Figure::Status(status) => {
            if status == 503 {
                4.0 / 980.0
            } else {
                0.0
            }
        }
        Figure::Step(..) | Figure::Stage(..) | Figure::Other(_) => return None,
    })
}

/// Each figure is what it is in a result whose numbers are known, and a bound on either side of it tells.
#[test]
fn every_figure_of_a_known_result() {
    let result = known();
    let mut seen = 0;
    for figure in Figure::all().chain([Figure::Status(503), Figure::Status(418)]) {
        let reading = figure.reading(&result);
        let value = expected(figure);
        assert_eq!(reading.value, value, "{figure}");
        let Some(value) = value else { continue };
        seen += 1;
        for (operator, factor, outcome) in [
            ("<=", 1.0, ThresholdOutcome::Met),
            (">=", 1.0, ThresholdOutcome::Met),
            ("<", 1.5, ThresholdOutcome::Met),
            (">", 1.5, ThresholdOutcome::Missed),
            (">", 0.5, ThresholdOutcome::Met),
            ("<", 0.5, ThresholdOutcome::Missed),
        ] {
            if value <= 0.0 {
                continue;
            }
            let unit = match figure.unit().name() {
                "share" => "%",
                "per_s" => "/s",
                "µs" => "us",
                "count" => "",
                unit => unit,
            };
            let scale = if unit == "%" { 100.0 } else { 1.0 };
            // Only a share, as percent, may miss its last digit.
            let nudge = if (factor - 1.0_f64).abs() > 0.0 {
                1.0
            } else if operator == "<=" {
                1.0 + 1e-12
            } else {
                1.0 - 1e-12
            };
            let text = format!("{figure} {operator} {}{unit}", value * factor * scale * nudge);
            let found = evaluated(&text, &result);
            assert_eq!(found.outcome, outcome, "{text}: {found:?}");
            assert_eq!(found.measured, Some(value), "{text}");
        }
    }
    assert_eq!(seen, 13 * 10 + 37 + 16 + 5 + 2);
}

#[test]
fn words() {
    let mut result = known();
    let check = |text: &str, result: &RunResult, outcome: ThresholdOutcome, word: &str| {
        let found = evaluated(text, result);
        assert_eq!((found.outcome, found.word.as_deref()), (outcome, Some(word)), "{text}");
    };
    check("verdict == valid", &result, ThresholdOutcome::Met, "valid");
    check("verdict != invalid", &result, ThresholdOutcome::Met, "valid");
    check("limiter == server-waits", &result, ThresholdOutcome::Met, "server-waits");
    check("limiter == client", &result, ThresholdOutcome::Missed, "server-waits");
    result.limiter.as_mut().expect("it has one").kind = LimiterKind::Unknown;
    check("limiter == client", &result, ThresholdOutcome::Undecided, "unknown");
    check("limiter == unknown", &result, ThresholdOutcome::Met, "unknown");
    result.verdict = Verdict::Invalid;
    check("verdict == valid", &result, ThresholdOutcome::Missed, "invalid");
    result.limiter = None;
    assert_eq!(evaluated("limiter == client", &result).outcome, ThresholdOutcome::Undecided);
}

#[test]
fn close_is_within_the_interval() {
    let result = known();
    let check = |text: &str, outcome: ThresholdOutcome, is_close: bool| {
        let found = evaluated(text, &result);
        assert_eq!((found.outcome, found.is_close), (outcome, is_close), "{text}: {found:?}");
        assert_eq!(found.interval.map(|interval| (interval.low, interval.high)), Some((5.0, 7.0)));
        assert_eq!(found.samples, 70_000);
    };
    check("p99 < 50ms", ThresholdOutcome::Met, false);
    check("p99 < 6.5ms", ThresholdOutcome::Met, true);
    check("p99 < 6ms", ThresholdOutcome::Missed, true);
    check("p99 < 7ms", ThresholdOutcome::Met, false);
    check("p99 < 5ms", ThresholdOutcome::Missed, false);
}

#[test]
fn what_is_withheld_is_undecided_with_the_reason() {
    let mut result = known();
    let withhold = |result: &mut RunResult, above_ms| {
        let note = QuantileNote { reason: "too few".to_owned(), above_ms };
        result.latency.response.quantiles_ms.insert("0.99".to_owned(), None);
        result.latency.response.intervals_ms.clear();
        result.latency.response.withheld.insert("0.99".to_owned(), note);
    };
    withhold(&mut result, None);
    let found = evaluated("p99 < 50ms", &result);
    assert_eq!((found.outcome, found.reason.as_deref()), (ThresholdOutcome::Undecided, Some("too few")));
    // A lower bound is enough to be above something, and to be not below it.
    withhold(&mut result, Some(60.0));
    for (text, outcome) in [
        ("p99 < 50ms", ThresholdOutcome::Missed),
        ("p99 <= 60ms", ThresholdOutcome::Missed),
        ("p99 > 50ms", ThresholdOutcome::Met),
        ("p99 < 61ms", ThresholdOutcome::Undecided),
        ("p99 > 61ms", ThresholdOutcome::Undecided),
    ] {
        assert_eq!(evaluated(text, &result).outcome, outcome, "{text}");
    }
    result.server = None;
    result.server_unknown_because = Some("it runs elsewhere".to_owned());
    let found = evaluated("server.memory < 1GiB", &result);
    assert_eq!(
        (found.outcome, found.reason.as_deref()),
        (ThresholdOutcome::Undecided, Some("it runs elsewhere"))
    );
    let mut bare = full::bare();
    bare.clean = None;
    for figure in Figure::all().filter(|figure| figure.unit().name() == "ms") {
        assert_eq!(figure.reading(&bare).value, None, "{figure}");
        assert!(figure.reading(&bare).withheld.is_some(), "{figure}");
    }
}

fn finding(code: FindingCode, severity: Severity) -> Finding {
    Finding { code, severity, evidence: Vec::new(), message: String::new(), advice: String::new() }
}

#[test]
fn nothing_of_an_invalid_run_is_met() {
    let mut result = known();
    result.verdict = Verdict::Invalid;
    result.findings = vec![finding(FindingCode::SendLag, Severity::Invalid)];
    for text in ["p99 < 50ms", "rate > 1", "errors < 50%", "checks > 1%", "requests > 1", "bytes > 1B"] {
        let found = evaluated(text, &result);
        let reason = "the run is INVALID (send-lag)";
        assert_eq!(
            (found.outcome, found.reason.as_deref()),
            (ThresholdOutcome::Undecided, Some(reason)),
            "{text}"
        );
        assert!(found.measured.is_some(), "{text}: it is shown all the same");
    }
    // What failed did fail, and what a neighbour hardly changes stands.
    for text in ["errors == 0", "checks > 99.9%", "status.5xx == 0", "p99 < 1ms", "verdict == valid"] {
        let outcome =
            if text.starts_with("p99") { ThresholdOutcome::Undecided } else { ThresholdOutcome::Missed };
        assert_eq!(evaluated(text, &result).outcome, outcome, "{text}");
    }
    assert_eq!(evaluated("server.memory < 1GiB", &result).outcome, ThresholdOutcome::Met);
    assert_eq!(evaluated("client.cpu < 50%", &result).outcome, ThresholdOutcome::Met);
    result.findings.push(finding(FindingCode::NoSuccess, Severity::Invalid));
    assert_eq!(evaluated("server.memory < 1GiB", &result).outcome, ThresholdOutcome::Undecided);
}

#[test]
fn a_tail_that_the_client_made_is_undecided() {
    let mut result = known();
    let mut found = finding(FindingCode::TailBlame, Severity::Warning);
    found.evidence.push(Evidence::new(KERNEL_P99, 1.0, "ms"));
    result.findings.push(found);
    for text in ["response.p99 < 1s", "service.max < 1s", "response.p99.99 < 1s"] {
        assert_eq!(evaluated(text, &result).outcome, ThresholdOutcome::Undecided, "{text}");
    }
    for text in ["response.p95 < 1s", "kernel-response.p99 < 1s", "service.mean < 1s"] {
        assert_eq!(evaluated(text, &result).outcome, ThresholdOutcome::Met, "{text}");
    }
}

/// 1,000 requests are planned: what no rest of them can undo is lost, and not a request earlier.
#[test]
fn what_cannot_be_met_any_more() {
    let mut plan = full::open_loop().plan;
    plan.end = prony_model::End::Requests(1000);
    let mut by_time = plan.clone();
    by_time.end = prony_model::End::Duration(std::time::Duration::from_secs(1));
    let counts = |done: u64, failed: u64, status: u64, max_ms: f64| {
        let mut counts = RunCounts { response_ms: Some((2.0, max_ms)), ..RunCounts::default() };
        counts.outcomes[Outcome::Done(StatusClass::Success).index()] = done;
        counts.outcomes[Outcome::Failed(ErrorKind::Refused).index()] = failed;
        counts.outcomes[Outcome::UnexpectedStatus(StatusClass::ServerError).index()] = status;
        counts
    };
    let nothing = RunCounts::default();
    for (text, still, lost, lost_by_time) in [
        ("errors == 0", counts(900, 0, 0, 5.0), counts(0, 1, 0, 5.0), true),
        ("errors < 0.1%", counts(900, 0, 0, 5.0), counts(900, 0, 1, 5.0), false),
        ("errors <= 0.1%", counts(900, 0, 1, 5.0), counts(900, 1, 1, 5.0), false),
        ("success > 99%", counts(0, 9, 0, 5.0), counts(0, 10, 0, 5.0), false),
        ("checks > 99%", counts(0, 900, 9, 5.0), counts(0, 0, 10, 5.0), false),
        ("checks == 100%", counts(0, 900, 0, 5.0), counts(0, 0, 1, 5.0), true),
        ("errors.refused == 0", counts(0, 0, 900, 5.0), counts(0, 1, 0, 5.0), true),
        ("status.5xx == 0", counts(0, 900, 0, 5.0), counts(0, 0, 1, 5.0), true),
        ("requests.failed < 5", counts(0, 3, 1, 5.0), counts(0, 3, 2, 5.0), true),
        ("response.max < 1s", counts(1, 0, 0, 999.9), counts(1, 0, 0, 1000.0), true),
        (
            "response.min >= 2ms",
            counts(1, 0, 0, 5.0),
            RunCounts { response_ms: Some((1.9, 5.0)), ..nothing },
            true,
        ),
        ("errors > 50%", counts(499, 0, 0, 5.0), counts(500, 0, 0, 5.0), false),
    ] {
        let threshold = threshold(text);
        assert!(threshold.can_be_lost(), "{text}");
        assert!(!threshold.is_lost(&nothing, &plan), "{text}: nothing was counted");
        assert!(!threshold.is_lost(&still, &plan), "{text}");
        assert!(threshold.is_lost(&lost, &plan), "{text}");
        assert_eq!(threshold.is_lost(&lost, &by_time), lost_by_time, "{text} without a number of requests");
    }
    for text in ["p99 < 1ms", "rate > 5", "verdict == valid", "server.memory < 1B", "requests < 5"] {
        assert!(!threshold(text).can_be_lost(), "{text}");
        assert!(!threshold(text).is_lost(&counts(5, 5, 5, 1e9), &plan), "{text}");
    }
}

#[test]
fn a_run_that_ended_early_meets_nothing() {
    let mut result = known();
    result.timing.interrupted = true;
    for outcome in &mut result.outcomes {
        outcome.count = if outcome.outcome == "refused" { 2 } else { 0 };
    }
    for (text, outcome) in [
        ("errors == 0", ThresholdOutcome::Missed),
        ("errors < 50%", ThresholdOutcome::Undecided),
        ("p99 < 1s", ThresholdOutcome::Undecided),
        ("p99 < 1us", ThresholdOutcome::Undecided),
        ("response.max < 9ms", ThresholdOutcome::Missed),
        ("requests > 1M", ThresholdOutcome::Undecided),
    ] {
        let found = evaluated(text, &result);
        assert_eq!(found.outcome, outcome, "{text}: {found:?}");
        assert_eq!(found.reason.is_some(), outcome == ThresholdOutcome::Undecided, "{text}");
    }
}

/// Least, quantiles and greatest of any clock ascend, so that a bound that one of them meets from above meets the lower
/// ones, too.
#[test]
fn levels_ascend() {
    for result in [known(), full::result(), full::open_loop()] {
        for clock in Clock::ALL.into_iter().filter(|clock| *clock != Clock::Censored) {
            let levels = Level::ALL.into_iter().filter(|level| *level != Level::Mean);
            let values: Vec<f64> =
                levels.filter_map(|level| Figure::Latency(clock, level).reading(&result).value).collect();
            assert!(values.is_sorted(), "{}: {values:?}", clock.name());
        }
    }
}
