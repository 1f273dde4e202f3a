//! The terminal report.

use std::time::Duration;

use prony_model::{
    Body, BodyCheck, End, ErrorKind, ErrorSummary, FindingCode, Handshakes, Interval, LatencySummary, Load,
    QUANTILES, QuantileNote, RunResult, ServerCertificate, Severity, SlowRequest, StatusSet, Target,
    TlsChoices, TlsUse, TlsVersions, Verdict, Version,
};
use prony_report::{Style, markdown, text};

use crate::fixtures::{all_failed, closed, finding, histogram, open, plan, slow_request, summary, tailed};

fn check(name: &str, result: &RunResult, style: Style) {
    let drawn = text::run(result, &style);
    insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!(name, drawn);
    });
}

fn plain() -> Style {
    Style::default()
}

pub(crate) fn healthy() -> RunResult {
    let mut result = closed(&tailed(18_000, 2.7));
    let quantiles = [("0.5", 2.68, 2.72), ("0.9", 3.4, 3.48), ("0.99", 4.3, 4.6)];
    for (key, low, high) in quantiles {
        let interval = Interval { low, high, indicative: key == "0.99" };
        result.latency.response.intervals_ms.insert(key.to_owned(), interval);
    }
    result
}

/// A run over TLS that verified nothing, with every choice made.
pub(crate) fn over_tls() -> RunResult {
    let mut result = healthy();
    let target = Target::parse("https://localhost:3000/").expect("a URL");
    let choices = TlsChoices {
        insecure: true,
        certificate: Some("client.pem".into()),
        server_name: Some("other.example".to_owned()),
        versions: TlsVersions::Tls13,
        no_resumption: true,
        ..TlsChoices::default()
    };
    result.plan.target = choices.applied_to(target).expect("they fit together");
    result.tls = Some(TlsUse {
        version: "TLS 1.3".to_owned(),
        cipher_suite: "TLS13_AES_128_GCM_SHA256".to_owned(),
        key_exchange: Some("X25519".to_owned()),
        alpn: Some("http/1.1".to_owned()),
        verified: false,
        certificate: Some(ServerCertificate {
            key: "ECDSA".to_owned(),
            key_bits: Some(256),
            ..ServerCertificate::default()
        }),
        handshakes: Handshakes {
            full: 1_250,
            resumed: 18_000,
            failed: 2,
            full_latency: summary(&tailed(1_250, 1.2)),
            resumed_latency: summary(&tailed(18_000, 0.5)),
            ..Handshakes::default()
        },
    });
    result.findings = vec![finding(
        FindingCode::NotVerified,
        Severity::Note,
        "the server's certificate was not verified: another server may have answered",
        "trust its CA with --cacert FILE, and leave out --insecure",
    )];
    result
}

/// A closed loop, in which the kernel was asked about one departure in 64.
pub(crate) fn stamped() -> RunResult {
    let mut result = healthy();
    result.latency.departure = summary(&tailed(1_280, 0.004));
    result.latency.network = summary(&tailed(1_280, 2.5));
    result.latency.arrival = summary(&tailed(18_000, 0.12));
    result
}

/// An open loop whose client was late for the slowest requests, and whose kernel stamped nearly all of them.
pub(crate) fn late_client() -> RunResult {
    let mut result = open(&tailed(5_000, 3.0));
    result.latency.kernel_response = summary(&tailed(4_990, 1.1));
    result.latency.service = summary(&tailed(5_000, 2.0));
    result.latency.lag = summary(&tailed(5_000, 1.1));
    result.latency.network = summary(&tailed(4_990, 1.1));
    result.verdict = Verdict::Doubtful;
    result.findings = vec![finding(
        FindingCode::TailBlame,
        Severity::Warning,
        "the client made this p99, not the server: 61 % of the slowest 1 % of responses is its own delay",
        "quote the p99 by the kernel's clock, 1.82 ms",
    )];
    result
}

/// As [`late_client`], with too few stamps for any number.
pub(crate) fn few_stamps() -> RunResult {
    let mut result = late_client();
    let reason = "the kernel stamped only 4,100 of 5,000 responses; 99 % are needed";
    let note = QuantileNote { reason: reason.to_owned(), above_ms: None };
    result.latency.kernel_response = LatencySummary {
        count: 4_100,
        quantiles_ms: QUANTILES.iter().map(|(name, _)| ((*name).to_owned(), None)).collect(),
        withheld: QUANTILES.iter().map(|(name, _)| ((*name).to_owned(), note.clone())).collect(),
        ..LatencySummary::default()
    };
    result.verdict = Verdict::Invalid;
    result.findings[0].severity = Severity::Invalid;
    "try --threads 2".clone_into(&mut result.findings[0].advice);
    result
}

pub(crate) fn lagging() -> RunResult {
    let mut result = open(&tailed(5_000, 12.0));
    result.latency.service = summary(&tailed(5_000, 2.0));
    result.latency.lag = summary(&tailed(5_000, 8.1));
    result.latency.blocked = summary(&tailed(5_000, 0.3));
    result.verdict = Verdict::Invalid;
    result.findings = vec![
        finding(
            FindingCode::SendLag,
            Severity::Invalid,
            "the client made these numbers, not the server: send lag p99 12.5 ms is 62 % of the response time's p99",
            "try --threads 2, or a lower --rate, or agents on other machines",
        ),
        finding(
            FindingCode::ClientCpu,
            Severity::Warning,
            "a worker thread used 93 % of its core",
            "try --threads 2",
        ),
    ];
    result
}

pub(crate) fn not_found() -> RunResult {
    let mut result = all_failed(
        closed(&tailed(28_187, 50.0)),
        ErrorKind::Status,
        "404 Not Found for GET /asd;lfkwk;lef, body: \"no such \u{1b}[2Jkey\"",
    );
    result.plan.target = plan("http://localhost:8080/asd;lfkwk;lef", result.plan.load).target;
    result.statuses = [(404, 28_187)].into();
    result
}

/// A server that froze for the second half of the run.
pub(crate) fn frozen() -> RunResult {
    let mut result = open(&tailed(2_500, 2.0));
    result.requests.intended = 5_000;
    result.requests.censored = 1_000;
    result.requests.never_sent = 1_500;
    result.connections.reached = 1_000;
    for key in ["0.9", "0.99", "0.999"] {
        let reason = "half of the requests had no answer when the run ended".to_owned();
        result.latency.response.quantiles_ms.insert(key.to_owned(), None);
        result
            .latency
            .response
            .withheld
            .insert(key.to_owned(), QuantileNote { reason, above_ms: Some(4_980.0) });
    }
    result.verdict = Verdict::Doubtful;
    result.findings = vec![finding(
        FindingCode::Censored,
        Severity::Warning,
        "2,500 of 5,000 requests had no answer when the run ended: the upper quantiles are known from below only",
        "wait for them: --drain 30s",
    )];
    result
}

pub(crate) fn refused() -> RunResult {
    let mut result = all_failed(
        closed(&tailed(1_200, 1.0)),
        ErrorKind::Refused,
        "connect to 127.0.0.1:3000: connection refused",
    );
    result.requests.sent = 0;
    result.latency.connect = LatencySummary::default();
    result.connections.opened = 0;
    result.connections.attempted = 1_200;
    result.connections.reached = 0;
    result.connections.reused = 0;
    result
}

pub(crate) fn tiny() -> RunResult {
    let mut result = closed(&[41.2, 40.9, 43.0]);
    result.plan.load = Load::Closed { connections: 1 };
    result.plan.end = End::Requests(3);
    result.plan.warmup = Duration::ZERO;
    result.timing.measured_s = 0.1251;
    result.rate.done_per_s = 23.98;
    result.rate.interval_per_s = None;
    result.latency.connect = summary(&[0.08]);
    result.connections.asked = 1;
    result.connections.reached = 1;
    result.connections.attempted = 1;
    result.connections.opened = 1;
    result.verdict = Verdict::Doubtful;
    result.findings = vec![finding(
        FindingCode::FewSamples,
        Severity::Warning,
        "3 requests support no quantile at all",
        "measure more: -n 1000",
    )];
    result
}

pub(crate) fn mixed() -> RunResult {
    let mut result = closed(&tailed(9_000, 0.04));
    result.requests.intended = 10_000;
    result.requests.sent = 10_000;
    result.requests.answered = 9_750;
    result.requests.failed = 1_000;
    result.rate.answered_per_s = 975.0;
    result.statuses = [(200, 9_000), (404, 50), (503, 700)].into();
    let error = |kind, count, first_example: &str| ErrorSummary {
        kind,
        count,
        first_example: first_example.to_owned(),
        first_at_s: 1.25,
    };
    result.errors = vec![
        error(ErrorKind::Status, 750, "503 Service Unavailable for GET /"),
        error(ErrorKind::Reset, 213, "connection 17: reset by the server after 0 bytes"),
        error(ErrorKind::RequestTimeout, 37, "no response within 30 s on connection 4"),
    ];
    result.connections.closed_by_server = 700;
    result.connections.attempted = 963;
    result.connections.opened = 963;
    result.latency.first_byte = summary(&tailed(9_000, 0.02));
    result.verdict = Verdict::Doubtful;
    result.findings.insert(
        0,
        finding(
            FindingCode::ErrorShare,
            Severity::Warning,
            "10 % of the requests failed",
            "repair that first",
        ),
    );
    result
}

pub(crate) fn every_choice() -> RunResult {
    let mut result = closed(&tailed(1_000, 1_700.0));
    result.plan.target = plan("http://example.org/key", result.plan.load).target;
    result.addresses = vec!["93.184.215.14:80".to_owned(), "[2606:2800::1]:80".to_owned()];
    "POST".clone_into(&mut result.plan.request.method);
    result.plan.request.version = Version::Http10;
    result.plan.request.keep_alive = false;
    result.plan.request.headers = vec![("Accept".to_owned(), "*/*".to_owned())];
    result.plan.request.body = Body { bytes: vec![b'x'; 2_048] };
    result.plan.sources = (2..=9).map(|i| [127, 0, 0, i].into()).collect();
    result.plan.checks.status = StatusSet(vec![(200, 200), (300, 399)]);
    result.plan.checks.body = Some(BodyCheck::Regex("^stored".to_owned()));
    result.plan.checks.same_length = true;
    result.plan.timeouts.request = Duration::from_secs(2);
    result.plan.threads = 2;
    result.timing.interrupted = true;
    result
}

pub(crate) fn unix_socket() -> RunResult {
    let mut result = healthy();
    result.plan.target.unix = Some("/run/app/http.sock".into());
    result.addresses = vec!["/run/app/http.sock".to_owned()];
    result
}

#[test]
fn reports() {
    check("healthy", &healthy(), plain());
    check("over-tls", &over_tls(), plain());
    check("stamped", &stamped(), plain());
    check("late-client", &late_client(), plain());
    check("few-stamps", &few_stamps(), plain());
    check("lagging", &lagging(), plain());
    check("not-found", &not_found(), plain());
    check("frozen", &frozen(), plain());
    check("refused", &refused(), plain());
    check("tiny", &tiny(), plain());
    check("mixed", &mixed(), plain());
    check("every-choice", &every_choice(), plain());
    check("unix-socket", &unix_socket(), plain());
}

#[test]
fn styles() {
    check("healthy-ascii", &healthy(), Style { unicode: false, ..plain() });
    check("healthy-narrow", &healthy(), Style { width: 44, ..plain() });
    check("stamped-narrow", &stamped(), Style { width: 44, ..plain() });
    check("healthy-wide", &healthy(), Style { width: 120, ..plain() });
    check("lagging-coloured", &lagging(), Style { colour: true, ..plain() });
}

pub(crate) fn all() -> Vec<RunResult> {
    vec![
        healthy(),
        stamped(),
        late_client(),
        few_stamps(),
        lagging(),
        not_found(),
        frozen(),
        refused(),
        tiny(),
        mixed(),
        every_choice(),
        unix_socket(),
    ]
}

#[test]
fn no_line_is_wider_than_asked() {
    for result in all() {
        for width in (40..=130).chain([0, 1, 39]) {
            for unicode in [true, false] {
                let drawn = text::run(&result, &Style { width, colour: false, unicode });
                for line in drawn.lines() {
                    let columns = unicode_width::UnicodeWidthStr::width(line);
                    assert!(columns <= width.max(Style::MIN_WIDTH), "{columns} columns of {width}: {line}");
                    assert_eq!(line, line.trim_end(), "no line ends with a space");
                    assert!(unicode || line.is_ascii(), "{line}");
                }
            }
        }
    }
}

#[test]
fn nothing_a_server_sends_reaches_the_terminal_raw() {
    for result in all() {
        let drawn = text::run(&result, &plain());
        assert!(drawn.chars().all(|character| character == '\n' || !character.is_control()), "{drawn:?}");
    }
}

#[test]
fn success_stands_before_any_rate() {
    for result in all() {
        let drawn = text::run(&result, &plain());
        let at = |needle: &str| drawn.find(needle).unwrap_or_else(|| panic!("`{needle}` in {drawn}"));
        let rate = drawn.find("\nrate ").unwrap_or_else(|| at("\ngoodput "));
        assert!(at("\nSUCCESS") < rate, "{drawn}");
        let verdict = ["\nVALID", "\nDOUBTFUL", "\nINVALID"].iter().find_map(|word| drawn.find(word));
        assert!(verdict.expect("a verdict") < at("\nSUCCESS"), "{drawn}");
    }
}

/// Numbers that no run has yet must not break the table.
#[test]
fn absurd_numbers_fit_too() {
    let mut result = closed(&[1e-6, 0.5, 3e7]);
    result.requests.intended = u64::MAX;
    result.requests.done = u64::MAX - 1;
    result.rate.done_per_s = 1e12;
    result.latency.response.count = u64::MAX;
    result.latency.response.max_ms = Some(1e15);
    result.histograms.response = histogram(&[1e-6, 0.5, 3e7]);
    for width in 40..=130 {
        let drawn = text::run(&result, &Style { width, ..plain() });
        let widest = drawn.lines().map(unicode_width::UnicodeWidthStr::width).max().unwrap_or_default();
        assert!(widest <= width, "{widest} columns of {width}:\n{drawn}");
    }
}

/// Where the time of the slowest requests went, in a line or two each: three at most.
#[test]
fn the_slowest_requests() {
    let mut result = healthy();
    result.slowest = vec![
        SlowRequest { step: Some("main/list".to_owned()), attempts: 2, ..slow_request(301.0) },
        SlowRequest {
            outcome: SlowRequest::UNFINISHED.to_owned(),
            status: None,
            phases: None,
            agent: Some("north".to_owned()),
            connection: None,
            ..slow_request(40.0)
        },
        slow_request(8.0),
        slow_request(7.0),
    ];
    check("slowest", &result, plain());
    let markdown = markdown::run(&result);
    assert!(markdown.contains("The 4 slowest requests by response time; times in ms"), "{markdown}");
    assert_eq!(markdown.matches("new connection, port 40212").count(), 3, "{markdown}");
}
