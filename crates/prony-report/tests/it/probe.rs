//! The report of a probe.

use prony_model::{
    Body, BodyFraming, Environment, ErrorKind, FailedAddress, InterimResponse, KernelTcp, LaterPhases,
    PROBE_FORMAT, PROBE_VERSION, PhaseSummary, PhaseTimes, ProbeFailure, ProbePhase, ProbePlan, ProbeResult,
    ProbedRequest, ProbedResponse, ProbedTls, RequestPlan, ServerCertificate, ServerMetric, ServerTimes,
    StatusSet, Target, Timeouts,
};
use prony_report::{Style, probe};

fn check(name: &str, result: &ProbeResult, style: Style) {
    snapshot(name, &probe::text(result, &style));
}

fn snapshot(name: &str, drawn: &str) {
    insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!(format!("probe-{name}"), drawn);
    });
}

fn plain() -> Style {
    Style::default()
}

fn narrow() -> Style {
    Style { width: 50, ..plain() }
}

/// One good request of a name.
pub(crate) fn good() -> ProbeResult {
    ProbeResult {
        format: PROBE_FORMAT.to_owned(),
        version: PROBE_VERSION,
        plan: plan("http://localhost:3000/account?id=7"),
        started_at: "2026-01-02T03:04:05Z".to_owned(),
        interrupted: false,
        requests: vec![request()],
        later: None,
        environment: Environment::default(),
    }
}

fn plan(url: &str) -> ProbePlan {
    ProbePlan {
        target: Target::parse(url).expect("a URL"),
        request: RequestPlan::get(),
        count: 1,
        reuse: false,
        timeouts: Timeouts::default(),
        expected: StatusSet::default(),
        sources: Vec::new(),
    }
}

fn request() -> ProbedRequest {
    ProbedRequest {
        started_ms: 0.0,
        reused: false,
        remote: Some("127.0.0.1:3000".to_owned()),
        local: Some("127.0.0.1:40822".to_owned()),
        failed_addresses: Vec::new(),
        sent_bytes: 91,
        request_bytes: 91,
        tls: None,
        phases: PhaseTimes {
            dns_ms: Some(0.412),
            connect_ms: Some(0.0512),
            tls_ms: None,
            send_ms: Some(0.0124),
            server_ms: Some(12.1),
            transfer_ms: Some(0.0333),
            total_ms: Some(12.6089),
        },
        interim: Vec::new(),
        response: Some(response()),
        failure: None,
        kernel: Some(KernelTcp {
            round_trip_ms: 0.031,
            round_trip_deviation_ms: 0.015,
            round_trip_samples: 2,
            retransmitted_segments: 0,
        }),
    }
}

fn response() -> ProbedResponse {
    let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    ProbedResponse {
        version: "HTTP/1.1".to_owned(),
        status: 200,
        reason: "OK".to_owned(),
        headers: vec![header("Content-Type", "text/html; charset=utf-8"), header("Content-Length", "1234")],
        head_bytes: 79,
        body_bytes: 1234,
        framing: BodyFraming::Length,
        ..ProbedResponse::default()
    }
}

fn metric(name: &str, duration_ms: Option<f64>, description: Option<&str>) -> ServerMetric {
    ServerMetric { name: name.to_owned(), duration_ms, description: description.map(str::to_owned) }
}

/// The same with the server's own times.
fn timed() -> ProbeResult {
    let mut result = good();
    let response = result.requests[0].response.as_mut().expect("a response");
    response.server_timing = Some(ServerTimes {
        metrics: vec![metric("db", Some(8.2), Some("two queries")), metric("app", Some(3.1), None)],
        problems: vec!["dur must be a number of milliseconds, 0 or more (`cache;dur=soon`)".to_owned()],
    });
    result
}

/// An address, as most servers under test have one.
fn of_an_address() -> ProbeResult {
    let mut result = good();
    result.plan = plan("http://127.0.0.1:3000/");
    result.requests[0].phases.dns_ms = None;
    result
}

fn everything() -> ProbeResult {
    let mut result = timed();
    "POST".clone_into(&mut result.plan.request.method);
    result.plan.request.body = Body { bytes: vec![b'x'; 4 << 20] };
    result.plan.request.headers = vec![("Accept".to_owned(), "*/*".to_owned())];
    result.plan.sources = vec!["127.0.0.2".parse().expect("an address")];
    result.plan.expected = StatusSet(vec![(200, 299), (302, 302)]);
    result.plan.timeouts.request = std::time::Duration::from_secs(5);
    let request = &mut result.requests[0];
    request.failed_addresses = vec![FailedAddress {
        address: "[::1]:3000".to_owned(),
        why: "connection refused".to_owned(),
        took_ms: 0.03,
    }];
    (request.sent_bytes, request.request_bytes) = (1 << 20, (4 << 20) + 160);
    request.interim = vec![InterimResponse { status: 103, after_ms: 1.5 }];
    request.kernel = Some(KernelTcp {
        round_trip_ms: 25.0,
        round_trip_deviation_ms: 3.5,
        round_trip_samples: 40,
        retransmitted_segments: 2,
    });
    let response = request.response.as_mut().expect("a response");
    (response.status, response.stray_bytes) = (302, 17);
    "Found".clone_into(&mut response.reason);
    response.framing = BodyFraming::Chunked;
    response.location = Some("http://localhost:3000/login?from=$(reboot)".to_owned());
    response.headers.push(("X-Evil".to_owned(), "\u{1b}[2Jgone \u{202e}backwards".to_owned()));
    result
}

fn unexpected() -> ProbeResult {
    let mut result = of_an_address();
    let request = &mut result.requests[0];
    request.failure = Some(ProbeFailure {
        phase: None,
        after_ms: None,
        kind: Some(ErrorKind::Status),
        message: "404 Not Found for GET /".to_owned(),
    });
    let response = request.response.as_mut().expect("a response");
    response.status = 404;
    "Not Found".clone_into(&mut response.reason);
    result
}

/// No answer in time.
fn silent() -> ProbeResult {
    let mut result = good();
    let request = &mut result.requests[0];
    request.response = None;
    request.phases = PhaseTimes { server_ms: None, transfer_ms: None, total_ms: None, ..request.phases };
    request.failure = Some(ProbeFailure {
        phase: Some(ProbePhase::Server),
        after_ms: Some(30_000.2),
        kind: Some(ErrorKind::RequestTimeout),
        message: "no response came within 30 s".to_owned(),
    });
    result
}

fn stopped() -> ProbeResult {
    let mut result = silent();
    result.interrupted = true;
    let failure = result.requests[0].failure.as_mut().expect("it failed");
    (failure.kind, failure.after_ms) = (None, Some(3_210.0));
    "stopped by hand before the response began".clone_into(&mut failure.message);
    result
}

fn unix_socket() -> ProbeResult {
    let mut result = of_an_address();
    result.plan.target.unix = Some("/run/app/http.sock".into());
    let request = &mut result.requests[0];
    request.remote = Some("/run/app/http.sock".to_owned());
    (request.local, request.kernel) = (None, None);
    request.response.as_mut().expect("a response").framing = BodyFraming::UntilClose;
    result
}

fn with_tls() -> ProbeResult {
    let mut result = good();
    result.plan.target = Target::parse("https://localhost:3000/").expect("a URL");
    result.requests[0].tls = Some(ProbedTls {
        version: "TLS 1.2".to_owned(),
        cipher_suite: "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384".to_owned(),
        key_exchange: Some("secp256r1".to_owned()),
        alpn: None,
        resumed: false,
        verified: true,
        certificate: Some(ServerCertificate {
            key: "RSA".to_owned(),
            key_bits: Some(2048),
            subject: Some("localhost".to_owned()),
            issuer: Some("Some CA".to_owned()),
            not_after: Some("2099-12-31T23:59:59Z".to_owned()),
        }),
    });
    result.requests[0].phases.tls_ms = Some(3.21);
    result.requests[0].phases.total_ms = Some(15.8189);
    result
}

/// Seven requests, of which one was refused.
fn several() -> ProbeResult {
    let mut result = timed();
    result.plan.count = 7;
    let refused = ProbeFailure {
        phase: Some(ProbePhase::Connect),
        after_ms: Some(0.05),
        kind: Some(ErrorKind::Refused),
        message: "nothing answers at 127.0.0.1:3000 (connection refused)".to_owned(),
    };
    result.requests.extend((0..5).map(|_| request()));
    result.requests.push(ProbedRequest { failure: Some(refused), ..ProbedRequest::default() });
    let phase = |least_ms: f64| PhaseSummary {
        count: 5,
        min_ms: Some(least_ms),
        median_ms: Some(least_ms * 1.1),
        max_ms: Some(least_ms * 1.7),
    };
    result.later = Some(LaterPhases {
        dns: phase(0.08),
        connect: phase(0.03),
        tls: PhaseSummary::default(),
        send: phase(0.009),
        server: phase(11.7),
        transfer: phase(0.02),
        total: phase(11.9),
    });
    result
}

/// Two on one connection: too few for a median.
fn two() -> ProbeResult {
    let mut result = good();
    (result.plan.count, result.plan.reuse) = (2, true);
    result.requests.push(ProbedRequest { reused: true, ..request() });
    let once =
        |time_ms| PhaseSummary { count: 1, min_ms: Some(time_ms), median_ms: None, max_ms: Some(time_ms) };
    result.later = Some(LaterPhases {
        send: once(0.01),
        server: once(11.8),
        transfer: once(0.03),
        total: once(11.84),
        ..LaterPhases::default()
    });
    result
}

fn nothing() -> ProbeResult {
    ProbeResult { requests: Vec::new(), interrupted: true, ..good() }
}

fn all() -> Vec<(&'static str, ProbeResult)> {
    vec![
        ("good", good()),
        ("timed", timed()),
        ("address", of_an_address()),
        ("everything", everything()),
        ("unexpected", unexpected()),
        ("silent", silent()),
        ("stopped", stopped()),
        ("unix-socket", unix_socket()),
        ("tls", with_tls()),
        ("several", several()),
        ("two", two()),
        ("nothing", nothing()),
    ]
}

#[test]
fn reports() {
    for (name, result) in all() {
        check(name, &result, plain());
    }
}

#[test]
fn styles() {
    check("narrow", &timed(), narrow());
    check("narrow-silent", &silent(), narrow());
    check("narrow-several", &several(), Style { width: 40, ..plain() });
    check("ascii", &timed(), Style { unicode: false, ..plain() });
    check("ascii-address", &of_an_address(), Style { unicode: false, ..plain() });
    check("wide", &everything(), Style { width: 120, ..plain() });
    check("coloured", &unexpected(), Style { colour: true, ..plain() });
}

#[test]
fn markdown() {
    for (name, result) in
        [("everything", everything()), ("several", several()), ("two", two()), ("silent", silent())]
    {
        snapshot(&format!("markdown-{name}"), &probe::markdown(&result));
    }
}

#[test]
fn no_line_is_wider_than_asked() {
    for (name, mut result) in all() {
        for factor in [1.0, 1e9] {
            for request in &mut result.requests {
                request.phases.server_ms = request.phases.server_ms.map(|time_ms| time_ms * factor);
            }
            for width in (40..=85).chain([0, 39, 130]) {
                for unicode in [true, false] {
                    let drawn = probe::text(&result, &Style { width, colour: false, unicode });
                    for line in drawn.lines() {
                        let columns = unicode_width::UnicodeWidthStr::width(line);
                        assert!(
                            columns <= width.max(Style::MIN_WIDTH),
                            "{name}: {columns} of {width}: {line}"
                        );
                        assert_eq!(line, line.trim_end(), "{name}: no line ends with a space");
                        assert!(unicode || line.is_ascii(), "{name}: {line}");
                    }
                }
            }
        }
    }
}

#[test]
fn nothing_a_server_sends_is_drawn_raw() {
    for (name, result) in all() {
        for drawn in [probe::text(&result, &plain()), probe::markdown(&result)] {
            let harmless = |character: char| character == '\n' || !character.is_control();
            assert!(drawn.chars().all(harmless) && !drawn.contains('\u{202e}'), "{name}: {drawn:?}");
        }
    }
}
