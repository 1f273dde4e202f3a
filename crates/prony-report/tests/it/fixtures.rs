//! Constructed results: each is whole and agrees with itself, as the engine's are.

use std::collections::BTreeMap;
use std::time::Duration;

use prony_model::{
    Arrivals, Bytes, Client, Connections, DriverUsed, End, Environment, ErrorKind, ErrorSummary, FORMAT,
    Finding, FindingCode, HistogramData, Histograms, Interval, KernelClockUse, Latencies, LatencySummary,
    Load, MachineUse, QUANTILES, QuantileNote, Rate, RateSummary, RequestConnection, RequestPhases, Requests,
    RunPlan, RunResult, Severity, SlowRequest, Target, ThreadUse, Timing, VERSION, Verdict,
};
use prony_stats::Histogram;

/// Exceedances that a printed quantile needs (prony explain few-samples).
const NEEDED: f64 = 10.0;

/// A run of `values_ms`, all good, in a closed loop of 50 connections for ten seconds.
pub(crate) fn closed(values_ms: &[f64]) -> RunResult {
    let count = values_ms.len() as u64;
    let good = summary(values_ms);
    let per_s = count as f64 / 10.0;
    RunResult {
        format: FORMAT.to_owned(),
        version: VERSION,
        verdict: Verdict::Valid,
        plan: plan("http://127.0.0.1:3000/", Load::Closed { connections: 50 }),
        target_commit: None,
        addresses: vec!["127.0.0.1:3000".to_owned()],
        driver: DriverUsed { name: "io_uring".to_owned(), reason: "the kernel has it".to_owned() },
        kernel_clock: KernelClockUse::default(),
        timing: Timing {
            started_at: "2026-01-02T03:04:05Z".to_owned(),
            resolve_s: 0.0,
            warmup_s: 1.0,
            measured_s: 10.0,
            drain_s: 0.003,
            interrupted: false,
            ended_early_because: None,
            start: None,
        },
        requests: Requests {
            intended: count,
            sent: count,
            answered: count,
            done: count,
            ..Requests::default()
        },
        traffic: None,
        rate: RateSummary {
            asked_per_s: None,
            sent_per_s: per_s,
            answered_per_s: per_s,
            done_per_s: per_s,
            interval_per_s: Some(Interval { low: per_s * 0.988, high: per_s * 1.012, indicative: false }),
            whole_rounds_per_s: None,
        },
        bytes: Bytes { sent: count * 90, received: count * 167, body_received: count * 12 },
        connections: Connections {
            asked: 50,
            reached: 50,
            attempted: 50,
            opened: 50,
            reused: count,
            closed_by_server: 0,
        },
        latency: Latencies {
            response: good.clone(),
            kernel_response: LatencySummary::default(),
            service: good,
            first_byte: summary(values_ms),
            connect: summary(&(0..50).map(|i| 0.03 + 0.0016 * f64::from(i)).collect::<Vec<_>>()),
            lag: summary(&values_ms.iter().map(|_| 0.004).collect::<Vec<_>>()),
            blocked: LatencySummary::default(),
            departure: LatencySummary::default(),
            network: LatencySummary::default(),
            arrival: LatencySummary::default(),
        },
        outcomes: Vec::new(),
        statuses: BTreeMap::from([(200, count)]),
        errors: Vec::new(),
        series: Vec::new(),
        first_response: None,
        tls: None,
        events: None,
        scenario: None,
        replay: None,
        http2: None,
        retries: None,
        slowest: Vec::new(),
        traces: None,
        stages: Vec::new(),
        server: None,
        server_unknown_because: None,
        machine: MachineUse::default(),
        clean: None,
        solo: None,
        limiter: None,
        calibration: None,
        client: Client {
            cpu_s: 3.1,
            requests_per_cpu_s: Some(per_s / 0.31),
            peak_rss_bytes: Some(8 << 20),
            threads: vec![ThreadUse { thread: 0, cpu_s: 3.1, cpu_share_peak: 0.34, ..ThreadUse::default() }],
        },
        findings: vec![finding(
            FindingCode::ClosedLoop,
            Severity::Note,
            "with 50 connections the response time follows from the rate",
            "To see the server at a load you choose: prony http://127.0.0.1:3000/ --rate 900",
        )],
        thresholds: Vec::new(),
        environment: Environment::default(),
        histograms: Histograms { response: histogram(values_ms), ..Histograms::default() },
        drift: Vec::new(),
        pieces: None,
    }
}

/// As [`closed`], in an open loop of 500 requests per second.
pub(crate) fn open(values_ms: &[f64]) -> RunResult {
    let rate_per_s = Rate::per_second(500.0).expect("500 is a rate");
    let load = Load::Open { rate_per_s, arrivals: Arrivals::Poisson, max_connections: 1000 };
    let mut result = closed(values_ms);
    result.plan.load = load;
    result.rate.asked_per_s = Some(500.0);
    result.connections =
        Connections { asked: 1000, reached: 14, attempted: 14, opened: 14, ..result.connections };
    result.findings.clear();
    result
}

pub(crate) fn plan(url: &str, load: Load) -> RunPlan {
    let target = Target::parse(url).expect(url);
    let end = End::Duration(Duration::from_secs(10));
    RunPlan { warmup: Duration::from_secs(1), ..RunPlan::new(target, load, end, 42) }
}

/// `result` with every request failed in one way.
pub(crate) fn all_failed(mut result: RunResult, kind: ErrorKind, example: &str) -> RunResult {
    let count = result.requests.intended;
    result.requests.done = 0;
    result.requests.failed = count;
    result.requests.failed_by_kind = BTreeMap::from([(kind, count)]);
    result.rate.done_per_s = 0.0;
    result.rate.interval_per_s = None;
    if kind != ErrorKind::Status {
        result.requests.answered = 0;
        result.rate.answered_per_s = 0.0;
        result.statuses.clear();
        result.bytes.received = 0;
    }
    let nothing = LatencySummary::default();
    result.latency.response = nothing.clone();
    result.latency.service = nothing.clone();
    result.latency.first_byte = nothing.clone();
    result.latency.lag = nothing;
    result.histograms = Histograms::default();
    result.errors =
        vec![ErrorSummary { kind, count, first_example: example.to_owned(), first_at_s: 0.000_4 }];
    result.verdict = Verdict::Invalid;
    result.findings = vec![finding(
        FindingCode::NoSuccess,
        Severity::Invalid,
        &format!("no request of {count} succeeded: nothing was measured but failures"),
        "look at the first example below, and try one request with curl -v",
    )];
    result
}

pub(crate) fn finding(code: FindingCode, severity: Severity, message: &str, advice: &str) -> Finding {
    Finding { code, severity, evidence: Vec::new(), message: message.to_owned(), advice: advice.to_owned() }
}

/// Order statistics of `values_ms`, withheld where fewer than ten lie above.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a rank within a small sample")]
pub(crate) fn summary(values_ms: &[f64]) -> LatencySummary {
    let mut sorted = values_ms.to_vec();
    sorted.sort_by(f64::total_cmp);
    let mut summary = LatencySummary { count: sorted.len() as u64, ..LatencySummary::default() };
    if sorted.is_empty() {
        return summary;
    }
    summary.min_ms = sorted.first().copied();
    summary.max_ms = sorted.last().copied();
    summary.mean_ms = Some(sorted.iter().sum::<f64>() / sorted.len() as f64);
    for (key, q) in QUANTILES {
        let supported = (1.0 - q) * sorted.len() as f64 >= NEEDED - 1e-6;
        let at = (q * sorted.len() as f64).ceil() as usize - 1;
        summary.quantiles_ms.insert(key.to_owned(), supported.then(|| sorted[at]));
        if !supported {
            let reason = "fewer than 10 requests lie above it".to_owned();
            summary.withheld.insert(key.to_owned(), QuantileNote { reason, above_ms: None });
        }
    }
    summary
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "nanoseconds, to the nearest below"
)]
pub(crate) fn histogram(values_ms: &[f64]) -> HistogramData {
    let mut histogram = Histogram::new();
    for value in values_ms {
        histogram.record((value * 1e6) as u64);
    }
    HistogramData {
        encoding: "hdrhistogram-v2-deflate-base64".to_owned(),
        unit: "ns".to_owned(),
        count: values_ms.len() as u64,
        data: histogram.to_base64_v2(),
    }
}

/// `count` values around `typical_ms` with a tail: the same ones every time.
pub(crate) fn tailed(count: u32, typical_ms: f64) -> Vec<f64> {
    (1..=count)
        .map(|i| {
            // Quantiles of a log-logistic distribution: a plain bell with a tail to the right.
            let q = (f64::from(i) - 0.5) / f64::from(count);
            typical_ms * (q / (1.0 - q)).powf(0.11)
        })
        .collect()
}

/// A request that the server held back, on a connection that was new.
pub(crate) fn slow_request(response_ms: f64) -> SlowRequest {
    SlowRequest {
        trace_id: None,
        is_sampled: false,
        agent: None,
        due_s: 1.503,
        sent_at: "2026-01-02T03:04:05.678Z".to_owned(),
        response_ms,
        service_ms: response_ms / 2.0,
        phases: Some(RequestPhases {
            waited_ms: response_ms / 4.0,
            connect_ms: response_ms / 8.0,
            tls_ms: response_ms / 8.0,
            client_ms: response_ms / 1e3,
            first_byte_ms: response_ms * 0.499,
            rest_ms: 0.0,
        }),
        outcome: "2xx".to_owned(),
        status: Some(200),
        attempts: 1,
        step: None,
        connection: Some(RequestConnection { thread: 1, port: 40_212, is_new: true }),
    }
}
