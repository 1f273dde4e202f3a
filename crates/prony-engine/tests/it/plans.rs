//! Short forms of plans, and what must hold for every result.

use std::time::Duration;

use prony_engine::{Control, RunError};
use prony_model::{
    Arrivals, Body, DriverChoice, End, ErrorKind, ErrorSummary, Finding, FindingCode, LatencySummary, Load,
    Outcome, QUANTILES, Rate, RequestPlan, RunEvent, RunPlan, RunResult, Target, Timeouts, Verdict,
};

/// One GET of `url` on one connection; what a test changes stands in the test.
pub(crate) fn plan(url: &str) -> RunPlan {
    RunPlan {
        // A drain ends as soon as nothing is outstanding: on a busy machine the last answer may take its time.
        timeouts: Timeouts { drain: Duration::from_secs(20), ..Timeouts::default() },
        ..RunPlan::new(Target::parse(url).expect("a URL"), closed(1), requests(1), 7)
    }
}

pub(crate) fn get() -> RequestPlan {
    RequestPlan::get()
}

pub(crate) fn post(bytes: Vec<u8>) -> RequestPlan {
    RequestPlan { method: "POST".to_owned(), body: Body { bytes }, ..get() }
}

pub(crate) fn closed(connections: u32) -> Load {
    Load::Closed { connections }
}

pub(crate) fn open(rate_per_s: f64, max_connections: u32) -> Load {
    let rate_per_s = Rate::per_second(rate_per_s).expect("a rate");
    Load::Open { rate_per_s, arrivals: Arrivals::Constant, max_connections }
}

pub(crate) fn poisson(rate_per_s: f64, max_connections: u32) -> Load {
    let rate_per_s = Rate::per_second(rate_per_s).expect("a rate");
    Load::Open { rate_per_s, arrivals: Arrivals::Poisson, max_connections }
}

pub(crate) fn requests(count: u64) -> End {
    End::Requests(count)
}

pub(crate) fn for_ms(ms: u64) -> End {
    End::Duration(Duration::from_millis(ms))
}

/// Waits of `ms` for everything that may never come.
pub(crate) fn impatient(ms: u64) -> Timeouts {
    let wait = Duration::from_millis(ms);
    Timeouts { connect: wait, request: wait, drain: wait }
}

/// Runs `plan` to its end and checks what must hold for every result.
pub(crate) fn run(driver: DriverChoice, plan: RunPlan) -> RunResult {
    run_with(driver, plan, &Control::default(), &mut |_| {})
}

/// The same, where the test stops or watches the run.
pub(crate) fn run_with(
    driver: DriverChoice,
    plan: RunPlan,
    control: &Control,
    sink: &mut dyn FnMut(RunEvent),
) -> RunResult {
    let plan = RunPlan { driver, ..plan };
    let result = prony_engine::run(&plan, control, sink).expect("the run can be started");
    assert_eq!(result.plan, plan);
    let name = if driver == DriverChoice::Epoll { "epoll" } else { "io_uring" };
    assert_eq!((driver == DriverChoice::Auto, result.driver.name.as_str()), (false, name));
    check(&result);
    result
}

/// Why `plan` can't be started.
pub(crate) fn refused(driver: DriverChoice, plan: RunPlan) -> RunError {
    let plan = RunPlan { driver, ..plan };
    prony_engine::run(&plan, &Control::default(), &mut |_| {}).expect_err("the run can't be started")
}

/// The failures of `kind`.
pub(crate) fn failures(result: &RunResult, kind: ErrorKind) -> &ErrorSummary {
    let found = result.errors.iter().find(|error| error.kind == kind);
    found.unwrap_or_else(|| panic!("no {kind:?} among {:?}", result.errors))
}

/// The finding of `code`.
pub(crate) fn finding(result: &RunResult, code: FindingCode) -> &Finding {
    let found = result.findings.iter().find(|finding| finding.code == code);
    found.unwrap_or_else(|| panic!("no {code:?} among {:#?}", result.findings))
}

pub(crate) fn has_finding(result: &RunResult, code: FindingCode) -> bool {
    result.findings.iter().any(|finding| finding.code == code)
}

/// What must hold for every result, whatever the server did.
pub(crate) fn check(result: &RunResult) {
    assert_eq!(result.check(), []);
    check_counts(result);
    check_outcomes(result);
    check_latencies(result);
    let connections = &result.connections;
    assert!(connections.opened <= connections.attempted, "{connections:?}");
    assert!(connections.reached <= connections.asked, "{connections:?}");
    assert!(connections.reached <= connections.opened, "{connections:?}");
    let timing = &result.timing;
    let times = [timing.resolve_s, timing.warmup_s, timing.measured_s, timing.drain_s];
    assert!(times.iter().all(|time| *time >= 0.0), "{timing:?}");
    let covered_s: f64 = result.series.iter().map(|point| point.covered_s).sum();
    assert!(covered_s <= timing.measured_s + 1e-6, "{covered_s} {timing:?}");
    assert_eq!(result.verdict, Verdict::from_findings(&result.findings));
    // JSON has no NaN: a number that is none would be read back as null.
    let read = prony_model::from_json(&prony_model::to_json(result)).expect("what is written can be read");
    assert_eq!(read.requests, result.requests);
}

fn check_counts(result: &RunResult) {
    let requests = &result.requests;
    assert_eq!(
        requests.intended,
        requests.done + requests.failed + requests.censored + requests.never_sent,
        "{requests:?}"
    );
    assert_eq!(requests.intended, requests.sent + requests.never_sent, "{requests:?}");
    assert_eq!(requests.failed, requests.failed_by_kind.values().sum::<u64>());
    assert_eq!(requests.answered, result.statuses.values().sum::<u64>());
    let of = |kind: ErrorKind| requests.failed_by_kind.get(&kind).copied().unwrap_or_default();
    assert_eq!(requests.answered, requests.done + of(ErrorKind::Status) + of(ErrorKind::CheckFailed));
    assert_eq!(result.errors.len(), requests.failed_by_kind.len());
    for error in &result.errors {
        assert_eq!(error.count, of(error.kind));
        assert!(!error.first_example.is_empty(), "{error:?}");
        let end_s = result.timing.measured_s + result.timing.drain_s;
        assert!((0.0..=end_s).contains(&error.first_at_s), "{error:?}");
    }
    let waited = of(ErrorKind::ConnectTimeout) + of(ErrorKind::RequestTimeout);
    assert_eq!(result.histograms.censored.count, requests.censored + requests.never_sent + waited);
}

fn check_outcomes(result: &RunResult) {
    let good: Vec<String> =
        Outcome::all().filter(|outcome| outcome.error_kind().is_none()).map(Outcome::name).collect();
    let (mut done, mut failed) = (0, 0);
    for outcome in &result.outcomes {
        assert!(outcome.count > 0, "{outcome:?}");
        assert_eq!(outcome.count, outcome.response.count);
        assert_eq!(outcome.count, outcome.service.count);
        let sum = if good.contains(&outcome.outcome) { &mut done } else { &mut failed };
        *sum += outcome.count;
        check_summary(&outcome.outcome, &outcome.response);
        check_summary(&outcome.outcome, &outcome.service);
    }
    assert_eq!((done, failed), (result.requests.done, result.requests.failed));
}

fn check_latencies(result: &RunResult) {
    let (latency, histograms) = (&result.latency, &result.histograms);
    for (name, summary, histogram) in [
        ("response", &latency.response, &histograms.response),
        ("service", &latency.service, &histograms.service),
        ("first byte", &latency.first_byte, &histograms.first_byte),
        ("connect", &latency.connect, &histograms.connect),
        ("lag", &latency.lag, &histograms.lag),
        ("blocked", &latency.blocked, &histograms.blocked),
    ] {
        check_summary(name, summary);
        assert_eq!(summary.count, histogram.count, "{name}");
        assert_eq!(summary.count == 0, histogram.data.is_empty(), "{name}");
    }
    let done = result.requests.done;
    assert_eq!((latency.response.count, latency.service.count), (done, done));
    assert_eq!(latency.connect.count, result.connections.opened);
    // Nothing is answered sooner than it was sent, nor sent before it was due.
    assert!(latency.response.max_ms >= latency.service.max_ms);
    assert!(latency.response.mean_ms >= latency.service.mean_ms);
}

/// min <= p50 <= … <= max, and the mean between the ends.
fn check_summary(name: &str, summary: &LatencySummary) {
    let ends = [summary.min_ms, summary.mean_ms, summary.max_ms];
    assert_eq!(ends.map(|end| end.is_some()), [summary.count > 0; 3], "{name}: {summary:?}");
    let [Some(min), Some(mean), Some(max)] = ends else { return };
    // The mean is a quotient of whole nanoseconds: it may be off by a rounding of its last bit.
    let slack = max * 1e-12;
    assert!(min <= mean + slack && mean <= max + slack, "{name}: {summary:?}");
    let mut least = min;
    for (quantile, _) in QUANTILES {
        if let Some(value) = summary.quantiles_ms[quantile] {
            assert!(least <= value && value <= max, "{name} {quantile}: {summary:?}");
            least = value;
        } else {
            assert!(summary.withheld.contains_key(quantile), "{name} {quantile}: {summary:?}");
        }
    }
}
