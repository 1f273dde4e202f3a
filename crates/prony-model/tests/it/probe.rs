//! The format of a probe: what is written fits the published schema, and is read back as it was.

use prony_model::{
    BodyFraming, Environment, ErrorKind, FailedAddress, InterimResponse, KernelTcp, LaterPhases,
    PROBE_FORMAT, PROBE_VERSION, PhaseSummary, PhaseTimes, PlanError, ProbeFailure, ProbePhase, ProbePlan,
    ProbeResult, ProbedRequest, ProbedResponse, ProbedTls, RequestPlan, ServerCertificate, ServerMetric,
    ServerTimes, StatusSet, Target, Timeouts, probe_to_json,
};
use serde_json::Value;

/// A probe in which everything happened.
fn full() -> ProbeResult {
    let phase = PhaseSummary { count: 3, min_ms: Some(0.5), median_ms: Some(1.0), max_ms: Some(2.0) };
    let good = ProbedRequest {
        started_ms: 12.5,
        reused: true,
        remote: Some("127.0.0.1:3000".to_owned()),
        local: Some("127.0.0.1:40000".to_owned()),
        failed_addresses: vec![FailedAddress {
            address: "[::1]:3000".to_owned(),
            why: "connection refused".to_owned(),
            took_ms: 0.1,
        }],
        sent_bytes: 90,
        request_bytes: 90,
        tls: Some(ProbedTls {
            version: "TLS 1.3".to_owned(),
            cipher_suite: "TLS13_AES_128_GCM_SHA256".to_owned(),
            key_exchange: Some("X25519".to_owned()),
            alpn: Some("http/1.1".to_owned()),
            resumed: true,
            verified: true,
            certificate: Some(ServerCertificate::default()),
        }),
        phases: PhaseTimes {
            dns_ms: Some(0.4),
            connect_ms: Some(0.1),
            tls_ms: Some(3.0),
            send_ms: Some(0.01),
            server_ms: Some(12.1),
            transfer_ms: Some(0.03),
            total_ms: Some(15.64),
        },
        interim: vec![InterimResponse { status: 103, after_ms: 1.5 }],
        response: Some(response()),
        failure: None,
        kernel: Some(KernelTcp {
            round_trip_ms: 0.1,
            round_trip_deviation_ms: 0.05,
            round_trip_samples: 12,
            retransmitted_segments: 1,
        }),
    };
    let failure = ProbeFailure {
        phase: Some(ProbePhase::Server),
        after_ms: Some(5000.0),
        kind: Some(ErrorKind::RequestTimeout),
        message: "no response in time".to_owned(),
    };
    let failed = ProbedRequest { failure: Some(failure), ..ProbedRequest::default() };
    ProbeResult {
        format: PROBE_FORMAT.to_owned(),
        version: PROBE_VERSION,
        plan: plan(),
        started_at: "2026-01-02T03:04:05Z".to_owned(),
        interrupted: true,
        requests: vec![good, failed],
        later: Some(LaterPhases { server: phase, total: phase, ..LaterPhases::default() }),
        environment: Environment::default(),
    }
}

fn response() -> ProbedResponse {
    ProbedResponse {
        version: "HTTP/1.1".to_owned(),
        status: 302,
        reason: "Found".to_owned(),
        headers: vec![
            ("Content-Type".to_owned(), "text/plain".to_owned()),
            ("Set-Cookie".to_owned(), "session=hush".to_owned()),
        ],
        head_bytes: 120,
        body_bytes: 12,
        stray_bytes: 3,
        framing: BodyFraming::Chunked,
        location: Some("http://127.0.0.1:3000/login".to_owned()),
        server_timing: Some(ServerTimes {
            metrics: vec![ServerMetric {
                name: "db".to_owned(),
                duration_ms: Some(8.2),
                description: Some("all queries".to_owned()),
            }],
            problems: vec!["a quoted string does not end".to_owned()],
        }),
    }
}

fn plan() -> ProbePlan {
    ProbePlan {
        target: Target::parse("http://127.0.0.1:3000/").expect("a URL"),
        request: RequestPlan {
            headers: vec![("Authorization".to_owned(), "Bearer hush".to_owned())],
            ..RequestPlan::get()
        },
        count: 2,
        reuse: true,
        timeouts: Timeouts::default(),
        expected: StatusSet::default(),
        sources: vec!["127.0.0.2".parse().expect("an address")],
    }
}

fn json(result: &ProbeResult) -> Value {
    serde_json::from_str(&probe_to_json(result)).expect("what is written is JSON")
}

fn check(what: &str, result: &Value, fits: bool) {
    let schema: Value =
        serde_json::from_str(include_str!("../../../../docs/schema/probe-v1.json")).expect("JSON");
    let validator = jsonschema::validator_for(&schema).expect("the published schema is one");
    let errors: Vec<String> = validator
        .iter_errors(result)
        .map(|error| format!("{} at {}", error, error.instance_path()))
        .collect();
    assert_eq!(errors.is_empty(), fits, "{what}: {errors:#?}");
}

#[test]
fn what_is_written_fits_the_published_schema() {
    check("full", &json(&full()), true);
    check("nothing sent", &json(&ProbeResult { requests: Vec::new(), later: None, ..full() }), true);
    for key in ["format", "version", "plan", "requests", "environment"] {
        let mut result = json(&full());
        result.as_object_mut().expect("an object").remove(key);
        check(key, &result, false);
    }
}

#[test]
fn what_is_written_is_read_back() {
    let mut result = full();
    // Secrets are not, which is a test of its own.
    result.plan.request.headers.clear();
    result.requests[0].response.as_mut().expect("a response").headers.pop();
    let read: ProbeResult = serde_json::from_str(&probe_to_json(&result)).expect("own words");
    assert_eq!(read, result);
}

#[test]
fn secrets_are_not_written() {
    let text = probe_to_json(&full());
    assert!(!text.contains("hush"), "{text}");
    assert_eq!(text.matches("[redacted]").count(), 2, "{text}");
}

#[test]
fn plans_that_make_no_sense() {
    assert_eq!(plan().check(), Ok(()));
    let refused = |plan: ProbePlan| plan.check().expect_err("a contradiction");
    let max = ProbePlan::COUNT_MAX;
    for asked in [0, max + 1] {
        assert_eq!(refused(ProbePlan { count: asked, ..plan() }), PlanError::ProbeCount { asked, max });
    }
    let connect = std::time::Duration::ZERO;
    let timeouts = Timeouts { connect, ..Timeouts::default() };
    assert_eq!(
        refused(ProbePlan { timeouts, ..plan() }),
        PlanError::NoTimeout { what: "connect", setting: "connect-timeout" }
    );
    let mut unix = plan();
    unix.target.unix = Some("/run/app.socket".into());
    assert_eq!(refused(unix), PlanError::SourceWithUnixSocket);
}
