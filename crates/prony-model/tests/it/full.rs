//! Results with everything in them that a result can have, and with nothing. In one file: it is one
//! result, field by field.

use std::collections::BTreeMap;
use std::time::Duration;

use prony_model::{
    Arrivals, Backoff, Body, BodyCheck, Bytes, CalibrationUse, Checks, CleanParts, Client, ClientCertificate,
    Connections, CutReason, DriverChoice, DriverUsed, End, Environment, ErrorKind, ErrorSummary,
    EventStreams, Evidence, FORMAT, Finding, FindingCode, FirstResponse, Handshakes, HistogramData,
    Histograms, Http2Use, Interval, KernelClock, KernelClockUse, Latencies, LatencyDrift, LatencySummary,
    Limiter, LimiterKind, Load, MachineUse, Outcome, OutcomeSummary, QUANTILES, QuantileNote, Rate,
    RateSummary, RecordedArrivals, Replay, ReplayResult, RequestConnection, RequestPhases, RequestPlan,
    Requests, RetryOn, RetryPlan, RetryUse, RunPlan, RunResult, ScenarioResult, SecondPoint,
    ServerCertificate, SessionCounts, Severity, SlowRequest, SoloRequests, StageResult, Stages, Start,
    StatusPair, StatusSet, Target, ThreadUse, Timeouts, Timing, TlsOptions, TlsUse, TlsVersions, TracePlan,
    Traces, Traffic, TrafficPart, VERSION, Verdict, Version,
};

/// A closed loop in which everything happened.
#[expect(clippy::too_many_lines, reason = "one literal with every field of a result")]
pub(crate) fn result() -> RunResult {
    let outcomes = Outcome::all().map(|outcome| OutcomeSummary {
        outcome: outcome.name(),
        count: 3,
        response: summary(),
        service: summary(),
        response_histogram: histogram(),
        service_histogram: histogram(),
    });
    let errors = ErrorKind::ALL.into_iter().map(|kind| ErrorSummary {
        kind,
        count: 2,
        first_example: "no \"answer\"\n".to_owned(),
        first_at_s: 0.5,
    });
    let findings = FindingCode::ALL.into_iter().map(|code| Finding {
        code,
        severity: Severity::Warning,
        evidence: vec![Evidence::new("lag_p99", 12.5, "ms")],
        message: "seen".to_owned(),
        advice: "do".to_owned(),
    });
    RunResult {
        format: FORMAT.to_owned(),
        version: VERSION,
        verdict: Verdict::Doubtful,
        plan: plan(),
        target_commit: Some("0123abc".to_owned()),
        addresses: vec!["127.0.0.1:3000".to_owned()],
        driver: DriverUsed { name: "epoll".to_owned(), reason: "asked for".to_owned() },
        kernel_clock: KernelClockUse {
            arrivals: true,
            arrivals_one_in: 8,
            departures_one_in: 64,
            reason: "this kernel has it".to_owned(),
            arrivals_stamped: 70,
            departures_stamped: 2,
            discarded: 1,
            responses_asked: 2,
            responses_stamped: 2,
        },
        timing: timing(),
        traffic: Some(Traffic {
            preflight_connections: 1,
            warmup: TrafficPart { sent: 12, answered: 12, answered_in_drain: 0 },
            measured: TrafficPart { sent: 90, answered: 70, answered_in_drain: 3 },
        }),
        requests: Requests {
            intended: 100,
            sent: 95,
            answered: 70,
            done: 60,
            failed: 30,
            censored: 5,
            never_sent: 5,
            failed_by_kind: ErrorKind::ALL.into_iter().map(|kind| (kind, 2)).collect(),
        },
        tls: Some(tls()),
        events: Some(events()),
        http2: Some(Http2Use { stream_limit: Some(128), refused: 3, went_away: 1 }),
        scenario: Some(sessions()),
        replay: Some(replay_result()),
        retries: Some(retries()),
        slowest: vec![slow_request(None, Some(200), None), slow_request(None, None, Some("main/list"))],
        traces: Some(traces()),
        stages: Vec::new(),
        rate: rate(Some(Interval { low: 5.5, high: 6.5, indicative: true })),
        bytes: Bytes { sent: 9_000, received: 12_000, body_received: 720 },
        connections: Connections {
            asked: 50,
            reached: 49,
            attempted: 60,
            opened: 55,
            reused: 40,
            closed_by_server: 3,
        },
        latency: Latencies {
            response: summary(),
            kernel_response: summary(),
            service: summary(),
            first_byte: summary(),
            connect: summary(),
            lag: summary(),
            blocked: LatencySummary::default(),
            departure: summary(),
            network: summary(),
            arrival: summary(),
        },
        outcomes: outcomes.collect(),
        statuses: BTreeMap::from([(200, 60), (404, 10)]),
        errors: errors.collect(),
        series: vec![SecondPoint {
            second: 0,
            covered_s: 1.0,
            p50_ms: Some(2.0),
            max_ms: Some(9.0),
            answered: Some(70),
            service_p50_ms: Some(1.5),
            service_p99_ms: Some(8.0),
            service_max_ms: Some(8.5),
            ..SecondPoint::default()
        }],
        first_response: Some(FirstResponse {
            status: 200,
            server: Some("nginx/1.22.1".to_owned()),
            body_bytes: 12,
        }),
        client: client(),
        server: Some(crate::server::server()),
        server_unknown_because: None,
        machine: MachineUse {
            steal_share: Some(0.001),
            retransmitted: Some(3),
            clock_source_became: Some("hpet".to_owned()),
            ..MachineUse::default()
        },
        clean: Some(clean()),
        solo: Some(SoloRequests { count: 9, min_ms: 1.5, median_ms: 2.5, mean_ms: 2.75, stddev_ms: 0.5 }),
        limiter: Some(Limiter {
            kind: LimiterKind::ServerWaits,
            sentence: "the server waits".to_owned(),
            evidence: vec![Evidence::new("growth", 16.5, "ratio")],
        }),
        calibration: Some(calibration()),
        findings: findings.collect(),
        thresholds: vec![],
        environment: environment(),
        histograms: Histograms { response: histogram(), service: histogram(), ..Histograms::default() },
        drift: vec![LatencyDrift {
            quantile: "p99".to_owned(),
            per_hour_ms: 0.21,
            interval: Interval { low: 0.19, high: 0.23, indicative: false },
            change: 0.07,
            tau: 0.9,
            p: 1e-9,
            correlation: 0.2,
            parts: 60,
            is_drift: true,
        }],
        pieces: None,
    }
}

/// As [`result`], in an open loop that ends with a number of requests.
pub(crate) fn open_loop() -> RunResult {
    let mut result = result();
    let rate_per_s = Rate::per_second(0.25).expect("a rate");
    result.plan.load = Load::Open { rate_per_s, arrivals: Arrivals::Poisson, max_connections: 1000 };
    result.plan.end = End::Requests(100);
    result.plan.stages = Some(Stages::parse("0.1/s:5s,up=0.1..0.25/s:5500ms").expect("stages"));
    result.plan.checks.body = Some(BodyCheck::Exact("Hello World!".to_owned()));
    result.plan.target.tls = Some(TlsOptions {
        insecure: true,
        ca_files: vec!["/etc/ca.pem".into()],
        client_certificate: Some(ClientCertificate { chain: "c.pem".into(), key: "k.pem".into() }),
        server_name: Some("other".to_owned()),
        versions: TlsVersions::Tls13,
        resumption: false,
    });
    result.plan.target.unix = Some("/run/app.sock".into());
    result.plan.driver = DriverChoice::IoUring;
    result.rate.asked_per_s = Some(0.25);
    result.stages = vec![stage()];
    result
}

/// A run in which nothing could be found out.
pub(crate) fn bare() -> RunResult {
    let nothing = LatencySummary::default();
    let mut result = result();
    result.rate = rate(None);
    result.latency = Latencies {
        response: nothing.clone(),
        kernel_response: nothing.clone(),
        service: nothing.clone(),
        first_byte: nothing.clone(),
        connect: nothing.clone(),
        lag: nothing.clone(),
        blocked: nothing.clone(),
        departure: nothing.clone(),
        network: nothing.clone(),
        arrival: nothing,
    };
    result.requests = Requests::default();
    result.client = Client::default();
    result.environment = Environment::default();
    result.histograms = Histograms::default();
    result.outcomes.clear();
    result.statuses.clear();
    result.errors.clear();
    result.series.clear();
    result.findings.clear();
    result.first_response = None;
    result.tls = None;
    result.events = None;
    result.retries = None;
    result.plan.retries = None;
    result.traces = None;
    result.plan.trace = None;
    result.machine = MachineUse::default();
    result.calibration = None;
    result.plan.checks = Checks::default();
    result.plan.request.headers.clear();
    result
}

fn sessions() -> ScenarioResult {
    let sessions = SessionCounts { begun: 40, completed: 30, failed: 6, unfinished: 4 };
    ScenarioResult { sessions, sessions_per_s: 4.0, ..ScenarioResult::default() }
}

fn retries() -> RetryUse {
    RetryUse {
        attempts: 114,
        amplification: 1.2,
        retries: 19,
        by_reason: [("503".to_owned(), 12), ("timeout".to_owned(), 7)].into(),
        retried: 16,
        recovered: 9,
        exhausted: 3,
        refused_by_budget: 4,
        refused_by_timeout: 2,
        refused_for_room: 1,
        waiting_at_end: 2,
        answers_retried: 0,
        by_attempts: [(1, 74), (2, 13), (3, 3)].into(),
        recovered_response: summary(),
    }
}

fn traces() -> Traces {
    let slowest = vec![
        slow_request(Some("0af7651916cd43dd8448eb211c80319c"), Some(200), Some("main/list")),
        slow_request(Some("4bf92f3577b34da6a3ce929d0e0e4736"), None, None),
    ];
    Traces { requests: 90, sampled: 9, slowest }
}

fn slow_request(trace_id: Option<&str>, status: Option<u16>, step: Option<&str>) -> SlowRequest {
    SlowRequest {
        trace_id: trace_id.map(str::to_owned),
        is_sampled: trace_id.is_some(),
        agent: step.map(|_| "north".to_owned()),
        due_s: 2.125,
        sent_at: "2026-01-02T03:04:07.125Z".to_owned(),
        response_ms: 812.5,
        service_ms: 811.0,
        phases: Some(RequestPhases {
            waited_ms: 0.5,
            connect_ms: 0.25,
            tls_ms: 0.5,
            client_ms: 0.25,
            first_byte_ms: 801.0,
            rest_ms: 10.0,
        }),
        outcome: if status == Some(200) { "2xx" } else { SlowRequest::UNFINISHED }.to_owned(),
        status,
        attempts: 2,
        step: step.map(str::to_owned),
        connection: status.map(|_| RequestConnection { thread: 1, port: 40_212, is_new: true }),
    }
}

fn events() -> EventStreams {
    EventStreams {
        streams: 50,
        without_events: 10,
        events: 155,
        events_per_s: 15.5,
        together: 20,
        events_min: 1,
        events_p50: 3,
        events_max: 7,
        first_response: summary(),
        first_service: summary(),
        between: summary(),
        first_response_histogram: histogram(),
        first_service_histogram: histogram(),
        between_histogram: histogram(),
    }
}

fn tls() -> TlsUse {
    TlsUse {
        version: "TLS 1.3".to_owned(),
        cipher_suite: "TLS13_AES_128_GCM_SHA256".to_owned(),
        key_exchange: Some("X25519".to_owned()),
        alpn: Some("http/1.1".to_owned()),
        verified: true,
        certificate: Some(ServerCertificate {
            key: "RSA".to_owned(),
            key_bits: Some(2048),
            subject: Some("localhost".to_owned()),
            issuer: Some("tests".to_owned()),
            not_after: Some("2099-12-31T23:59:59Z".to_owned()),
        }),
        handshakes: Handshakes {
            full: 5,
            resumed: 50,
            failed: 1,
            full_latency: summary(),
            resumed_latency: summary(),
            full_histogram: histogram(),
            resumed_histogram: histogram(),
        },
    }
}

fn stage() -> StageResult {
    StageResult {
        name: "peak".to_owned(),
        from_s: 2.0,
        measured_s: 8.5,
        asked_per_s: Some(12.5),
        done_per_s: 7.0,
        requests: Requests {
            intended: 13,
            sent: 8,
            answered: 3,
            done: 3,
            failed: 2,
            censored: 3,
            never_sent: 5,
            failed_by_kind: BTreeMap::from([(ErrorKind::RequestTimeout, 2)]),
        },
        response: summary(),
        service: summary(),
        response_histogram: histogram(),
        service_histogram: histogram(),
        censored_histogram: histogram(),
    }
}

fn plan() -> RunPlan {
    RunPlan {
        target: Target::parse("http://localhost:8080//test2?a=b").expect("a URL"),
        request: RequestPlan {
            method: "POST".to_owned(),
            headers: vec![("Content-Type".to_owned(), "text/plain".to_owned())],
            verbatim: false,
            body: Body { bytes: vec![0, 255, b'a'] },
            version: Version::Http10,
            keep_alive: true,
            pipeline: 2,
        },
        load: Load::Closed { connections: 50 },
        stages: None,
        end: End::Duration(Duration::from_millis(10_500)),
        warmup: Duration::from_secs(1),
        threads: 2,
        share: None,
        timeouts: Timeouts::default(),
        checks: Checks {
            status: StatusSet(vec![(200, 204)]),
            body: Some(BodyCheck::Regex("^o".to_owned())),
            same_length: true,
        },
        sources: vec![[127, 0, 0, 2].into()],
        driver: DriverChoice::Epoll,
        kernel_clock: KernelClock::Auto,
        samples: false,
        events: false,
        scenario: None,
        recorded: Some(Box::new(recorded())),
        replay: Some(Box::new(replay())),
        retries: Some(RetryPlan {
            retries: 3,
            on: RetryOn::parse("connect,timeout,5xx").expect("failures"),
            backoff: Backoff { first: Duration::from_millis(100), max: Duration::from_secs(2) },
            budget: Some(0.2),
            attempt_timeout: Duration::from_secs(5),
        }),
        trace: Some(TracePlan {
            share: 0.1,
            url: Some("http://127.0.0.1:16686/trace/{trace_id}".to_owned()),
        }),
        seed: u64::MAX,
    }
}

fn timing() -> Timing {
    Timing {
        started_at: "2026-01-02T03:04:05Z".to_owned(),
        resolve_s: 0.001,
        warmup_s: 1.0,
        measured_s: 10.5,
        drain_s: 1.0,
        interrupted: true,
        ended_early_because: None,
        start: Some(Start { planned_ns: 1 << 40, ready_ns: 30_000, first_sent_ns: Some(70_000) }),
    }
}

fn rate(interval_per_s: Option<Interval>) -> RateSummary {
    RateSummary {
        asked_per_s: None,
        sent_per_s: 9.5,
        answered_per_s: 7.0,
        done_per_s: 6.0,
        interval_per_s,
        whole_rounds_per_s: Some(6.1),
    }
}

fn calibration() -> CalibrationUse {
    CalibrationUse {
        measured_at: "2026-01-02T01:04:05Z".to_owned(),
        age_s: 7200.0,
        prony_version: "0.1.0".to_owned(),
        connections: 64,
        threads: 1,
        null_rate_per_s: 180_000.0,
        capacity_per_s: 250_000.0,
        floor_p50_ms: Some(0.05),
        floor_p99_ms: None,
        share: 0.62,
    }
}

fn client() -> Client {
    let thread = ThreadUse {
        thread: 1,
        cpu_s: 0.5,
        cpu_share_peak: 0.2,
        run_queue_wait_s: Some(0.01),
        loop_gap_max_ms: 1.5,
        loop_gaps_over_1ms: 1,
        polls: 1_000,
    };
    Client { cpu_s: 0.5, requests_per_cpu_s: Some(200.0), peak_rss_bytes: Some(1), threads: vec![thread] }
}

fn environment() -> Environment {
    Environment {
        prony_version: "0.1.0".to_owned(),
        prony_commit: Some("0123abc".to_owned()),
        kernel: "Linux 6".to_owned(),
        architecture: "x86_64".to_owned(),
        cpu_model: Some("a CPU".to_owned()),
        cpus: 2,
        governor: Some("performance".to_owned()),
        clock_source: Some("tsc".to_owned()),
        memory_bytes: Some(1 << 33),
        open_files_limit: Some(20_000),
        port_range: Some((32_768, 60_999)),
        congestion_control: Some("cubic".to_owned()),
        load_average_before: Some(0.1),
        load_average_after: Some(0.5),
        cpus_online: Some(4),
        cores: Some(2),
        cpu_quota: Some(1.5),
        cpu_set: Some("0-1".to_owned()),
        memory_limit_bytes: Some(1 << 32),
        virtualisation: Some("KVM".to_owned()),
        container: Some("docker".to_owned()),
        hardware: Some("QEMU Standard PC".to_owned()),
        boot_id: Some("1b4e28ba-2fa1-11d2-883f-0016d3cca427".to_owned()),
        transparent_hugepages: Some("madvise".to_owned()),
        listen_backlog_limit: Some(4096),
        syn_backlog_limit: Some(2048),
        time_wait_reuse: Some(2),
        link_mbit_per_s: Some(25_000),
    }
}

fn summary() -> LatencySummary {
    let withheld = QuantileNote { reason: "too few".to_owned(), above_ms: Some(5.0) };
    LatencySummary {
        count: 3,
        min_ms: Some(1.0),
        mean_ms: Some(2.5),
        stddev_ms: Some(0.5),
        max_ms: Some(9.0),
        quantiles_ms: QUANTILES
            .iter()
            .map(|(key, q)| ((*key).to_owned(), (*q < 0.99).then_some(2.0)))
            .collect(),
        intervals_ms: BTreeMap::from([(
            "0.5".to_owned(),
            Interval { low: 1.5, high: 2.5, indicative: false },
        )]),
        withheld: BTreeMap::from([("0.99".to_owned(), withheld)]),
    }
}

fn histogram() -> HistogramData {
    HistogramData {
        encoding: "hdrhistogram-v2-deflate-base64".to_owned(),
        unit: "ns".to_owned(),
        count: 3,
        data: "HISTFAAA".to_owned(),
    }
}

fn clean() -> CleanParts {
    CleanParts {
        share: 0.75,
        clean_s: 7.5,
        slices: 200,
        clean_slices: 150,
        cut: BTreeMap::from([(CutReason::Steal, 20), (CutReason::Aftermath, 30)]),
        taken_s: Some(0.8),
        requests: Requests { intended: 3, sent: 3, done: 3, ..Requests::default() },
        rate: rate(None),
        response: summary(),
        service: summary(),
        lag: summary(),
        run_queue_wait_share: Some(0.01),
        response_histogram: histogram(),
        service_histogram: histogram(),
    }
}

fn recorded() -> RecordedArrivals {
    let moments = Vec::new();
    RecordedArrivals {
        count: 3,
        span_s: 2.5,
        ..RecordedArrivals::new("access.log".to_owned(), "ab".repeat(32), moments)
    }
}

fn replay() -> Replay {
    Replay {
        format: "combined".to_owned(),
        speed: 2.0,
        from: "2026-11-23T14:00:00.000Z".to_owned(),
        to: "2026-11-23T14:00:05.000Z".to_owned(),
        lines: 5,
        left_out: [("method POST".to_owned(), 1), ("not in the format".to_owned(), 1)].into(),
        unreadable_lines: vec![4],
        out_of_order: 1,
        jump_back_s: 1.0,
        made_up_moments: 3,
        routes: vec!["GET /users/*".to_owned()],
        rows: std::sync::Arc::default(),
    }
}

fn replay_result() -> ReplayResult {
    ReplayResult {
        lateness: summary(),
        lateness_histogram: histogram(),
        statuses: vec![
            StatusPair { recorded: Some(200), answered: Some(500), count: 2 },
            StatusPair { recorded: None, answered: None, count: 1 },
        ],
        due_per_second: vec![2, 0, 1],
    }
}
