//! The page of a run: what it says of each kind of run.

use std::collections::BTreeMap;
use std::time::Duration;

use prony_model::{
    ErrorKind, EvaluatedThreshold, FindingCode, Interval, LatencyDrift, MemoryGrowth, ProcessesUse,
    RecordedArrivals, Replay, ReplayResult, Requests, RetryUse, RunResult, SecondPoint, ServerSection,
    ServerUse, Severity, SlowRequest, Stage, StageResult, Stages, StatusPair, Threshold, TracePlan, Traces,
    Verdict,
};
use prony_report::html::{fleet, run};

use crate::fixtures::{all_failed, closed, finding, histogram, open, slow_request, summary, tailed};
use crate::fleet::three;
use crate::html_page::{checked, keep};

/// The page of a run, checked for what must hold for every page.
pub(crate) fn check(result: &RunResult) -> String {
    checked(run(result))
}

/// `page` without markup, in one line.
pub(crate) fn flat(page: &str) -> String {
    let body = page.split_once("<main>").expect("a body").1;
    let tags = regex::Regex::new("<[^>]*>").expect("a pattern");
    let mut text = tags.replace_all(body, " ").into_owned();
    for (name, character) in [("&#38;", "&"), ("&#39;", "'"), ("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&")] {
        text = text.replace(name, character);
    }
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn second(second: u64, done: u64, max_ms: f64) -> SecondPoint {
    SecondPoint {
        second,
        covered_s: 1.0,
        sent: done + 3,
        answered: Some(done + 1),
        done,
        failed: 1,
        received_bytes: 167 * done,
        p50_ms: Some(2.0),
        p99_ms: (done >= 1000).then_some(max_ms / 2.0),
        max_ms: Some(max_ms),
        service_p50_ms: Some(1.9),
        service_p99_ms: (done >= 1000).then_some(max_ms / 3.0),
        service_max_ms: Some(max_ms / 2.5),
    }
}

/// An open loop of three seconds in which everything that can be beside a plain run was.
pub(crate) fn everything() -> RunResult {
    let values = tailed(1_500, 2.0);
    let mut result = open(&values);
    result.histograms.service = histogram(&values.iter().map(|value| value / 2.0).collect::<Vec<_>>());
    result.timing.measured_s = 3.0;
    result.series = vec![second(0, 400, 9.0), second(1, 1_200, 30.0), second(2, 300, 8.0)];
    let stages = [("base", 500.0, 1), ("up <i>", 1_500.0, 2)];
    result.plan.stages = Some(Stages(
        stages
            .map(|(name, per_s, length_s)| Stage {
                name: Some(name.to_owned()),
                ..Stage::steady(per_s, Duration::from_secs(length_s))
            })
            .into(),
    ));
    result.stages = stages
        .iter()
        .zip([0.0, 1.0])
        .map(|((name, per_s, length_s), from_s)| StageResult {
            name: (*name).to_owned(),
            from_s,
            measured_s: *length_s as f64,
            asked_per_s: Some(*per_s),
            done_per_s: per_s * 0.99,
            requests: Requests { intended: 500, done: 490, failed: 10, ..Requests::default() },
            response: summary(&values),
            service: summary(&values),
            response_histogram: histogram(&values),
            service_histogram: histogram(&values),
            censored_histogram: prony_model::HistogramData::default(),
        })
        .collect();
    result.drift = vec![LatencyDrift {
        quantile: "p99".to_owned(),
        per_hour_ms: 0.216,
        interval: Interval { low: 0.2, high: 0.23, indicative: false },
        change: 0.07,
        tau: 0.91,
        p: 1e-9,
        correlation: 0.1,
        parts: 60,
        is_drift: true,
    }];
    result.server = Some(server());
    result.errors = all_failed(closed(&values), ErrorKind::Reset, "reset <b> after 12 bytes").errors;
    result.statuses = BTreeMap::from([(200, 1_400), (503, 100)]);
    result.thresholds = ["response.p99 < 50ms", "success > 99.9%"]
        .map(|text| text.parse::<Threshold>().expect("a threshold").evaluate(&result))
        .into();
    result.retries = Some(RetryUse {
        retries: 20,
        recovered: 12,
        amplification: 1.01,
        by_reason: BTreeMap::from([("503".to_owned(), 20)]),
        ..RetryUse::default()
    });
    result.plan.trace = Some(TracePlan {
        share: 0.1,
        url: Some("http://jaeger.test:16686/trace/{trace_id}?a=1&b=2".to_owned()),
    });
    let traced = |digit: &str, response_ms: f64| SlowRequest {
        trace_id: Some(digit.repeat(32)),
        step: Some("log in <i>".to_owned()),
        attempts: 2,
        ..slow_request(response_ms)
    };
    result.traces =
        Some(Traces { requests: 1_500, sampled: 150, slowest: vec![traced("a", 30.0), traced("b", 9.0)] });
    result.slowest = vec![
        SlowRequest { is_sampled: true, ..traced("a", 30.0) },
        SlowRequest { agent: Some("north <b>".to_owned()), ..traced("c", 20.0) },
        slow_request(10.0),
    ];
    result.findings = vec![
        finding(FindingCode::Steal, Severity::Warning, "the hypervisor took 6 % <i>", "use another machine"),
        finding(
            FindingCode::MemoryGrowth,
            Severity::Note,
            "the server's memory grew all along",
            "run longer",
        ),
    ];
    result.verdict = Verdict::Doubtful;
    result
}

fn server() -> ServerUse {
    let section = |number: u32| ServerSection {
        start_s: f64::from(number) * 1.5,
        wall_s: 1.5,
        requests: 750.0,
        cpu_s: 0.3,
        memory_bytes: Some((28 + 6 * u64::from(number + 1)) << 20),
        ..ServerSection::default()
    };
    ServerUse {
        cpus: 2,
        wall_s: 3.0,
        requests: 1_500,
        own: ProcessesUse {
            name: "rudy <x>".to_owned(),
            processes: 1,
            cpu_s: 0.6,
            memory_start_bytes: Some(28 << 20),
            memory_end_bytes: Some(40 << 20),
            ..ProcessesUse::default()
        },
        memory_growth_bytes_per_h: Some(MemoryGrowth {
            value: 1024.0 * 1_048_576.0,
            interval: Some(Interval { low: 1e9, high: 1.2e9, indicative: false }),
            samples: 61,
            bytes_per_request: 8_192.0,
            is_leak: true,
        }),
        sections: (0..2).map(section).collect(),
        ..ServerUse::default()
    }
}

/// A replay of four lines, one of which was left out.
pub(crate) fn replayed() -> RunResult {
    let mut result = open(&[1.0, 2.0, 3.0]);
    result.timing.measured_s = 3.0;
    result.series = vec![second(0, 2, 3.0), second(1, 1, 2.0)];
    result.plan.recorded = Some(Box::new(RecordedArrivals::new(
        "access <log>.gz".to_owned(),
        "ab".repeat(32),
        vec![0, 500_000_000, 1_500_000_000],
    )));
    result.plan.replay = Some(Box::new(Replay {
        format: "combined".to_owned(),
        speed: 2.0,
        from: "2026-11-23T13:00:00Z".to_owned(),
        to: "2026-11-23T13:00:03Z".to_owned(),
        lines: 4,
        left_out: BTreeMap::from([("POST: not among the methods".to_owned(), 1)]),
        unreadable_lines: Vec::new(),
        out_of_order: 0,
        jump_back_s: 0.0,
        made_up_moments: 3,
        routes: vec!["GET /items".to_owned()],
        rows: std::sync::Arc::default(),
    }));
    result.replay = Some(ReplayResult {
        lateness: summary(&[0.02, 0.03, 4.5]),
        statuses: vec![StatusPair { recorded: Some(200), answered: Some(500), count: 1 }],
        due_per_second: vec![2, 1],
        ..ReplayResult::default()
    });
    result
}

/// The first one has 3,600 seconds.
fn hour() -> RunResult {
    let mut result = open(&tailed(20_000, 2.0));
    result.timing.measured_s = 3_600.0;
    result.series = (0..3_600).map(|at| second(at, 500, if at == 1_803 { 999.0 } else { 9.0 })).collect();
    result
}

#[test]
fn pages_of_all_kinds() {
    let values = tailed(1_000, 2.0);
    let mut interrupted = everything();
    interrupted.timing.interrupted = true;
    interrupted.stages.truncate(1);
    let look = |name: &str, result: RunResult| {
        let page = check(&result);
        assert!(page.len() < 400_000, "{name} has {} bytes", page.len());
        keep(name, &page);
    };
    look("run-everything", everything());
    look("run-replay", replayed());
    look("run-closed", closed(&values));
    look("run-failed", all_failed(closed(&values), ErrorKind::Refused, "connection refused"));
    look("run-hour", hour());
    look("run-one", open(&[2.5]));
    look("run-none", open(&[]));
    look("run-interrupted", interrupted);
    let agents = checked(fleet(&three()));
    assert!(agents.contains("id=\"agents\"") && agents.contains("c lost: nothing heard for 10 s"));
    keep("run-agents", &agents);
}

#[test]
fn the_answer_stands_before_the_reasons_and_these_before_the_figures() {
    let page = check(&everything());
    let places = [
        "id=\"verdict\"",
        "id=\"command\"",
        "id=\"thresholds\"",
        "id=\"findings\"",
        "id=\"clocks\"",
        "id=\"chart-timeline\"",
        "id=\"chart-distribution\"",
        "id=\"stages\"",
        "id=\"drift\"",
        "id=\"failures\"",
        "id=\"statuses\"",
        "id=\"retries\"",
        "id=\"chart-server\"",
        "id=\"environment\"",
    ]
    .map(|part| page.find(part).unwrap_or_else(|| panic!("no {part}")));
    assert!(places.is_sorted(), "{places:?}");
}

#[test]
fn a_page_has_the_figures_with_their_counts() {
    let text = flat(&check(&everything()));
    for part in [
        "▲ DOUBTFUL Rate 150 /s",
        "(n 1,500)",
        "the hypervisor took 6 % <i> — use another machine",
        "prony run http://127.0.0.1:3000/ --connections 1000 --stages 'base=500/s:1s,up <i>=1500/s:2s'",
        "response from when a request was due to its end 1,500",
        "300 to 1,200 good responses per second; the slowest good one took 30.0 ms, in second 1",
        "response n = 1,500, service n = 1,500",
        "▲ drifted all along 0.216 ms/h 0.200 to 0.230",
        "60 parts",
        "▲ grew all along 1,024.0 MiB/h",
        "8.00 KiB for each of 1,500 requests 61 samples",
        "reset <b> after 12 bytes",
        "503 Service Unavailable 100",
        "20 retries of 1,500 requests, load × 1.01",
        "The server used 0.200 of 2 cores; its memory went from 28.0 MiB to 40.0 MiB",
    ] {
        assert!(text.contains(part), "{part:?} is not in {text}");
    }
    let text = flat(&check(&replayed()));
    for part in [
        "prony replay 'access <log>.gz' --to http://127.0.0.1:3000/",
        "--speed 2",
        "What was selected from the file is not stored",
        "lateness 3 0.020",
        "POST: not among the methods 1 25 %",
        "200 → 500: 1",
    ] {
        assert!(text.contains(part), "{part:?} is not in {text}");
    }
}

/// Of 1,000 responses ten are above the p99 and one above the p99.9: the curve ends at 1 %.
#[test]
fn a_curve_ends_where_too_few_are_beyond() {
    let has = |count: u32, part: &str| check(&open(&tailed(count, 2.0))).contains(part);
    assert!(has(1_000, "id=\"distribution-1____p99_\"") && !has(1_000, "id=\"distribution-0_1____p99_9_\""));
    assert!(has(10_000, "id=\"distribution-0_1____p99_9_\"") && !has(999, "id=\"distribution-1____p99_\""));
    assert!(!has(9, "id=\"distribution\""), "nine responses have no shape");
    // A tenth failed: beyond that nothing is known of the good ones.
    let mut failing = open(&tailed(9_000, 2.0));
    (failing.requests.intended, failing.requests.failed) = (10_000, 1_000);
    let page = check(&failing);
    assert!(
        page.contains("id=\"distribution-10____p90_\"") && !page.contains("id=\"distribution-1____p99_\"")
    );
    assert!(page.contains("1,000 requests without a good response may have been slower than all"));
}

/// The coordinates of the paths in the drawing `id`.
fn paths(page: &str, id: &str) -> Vec<Vec<(f64, f64)>> {
    let options = roxmltree::ParsingOptions { allow_dtd: true, ..Default::default() };
    let document = roxmltree::Document::parse_with_options(page, options).expect("well-formed");
    let drawing = document
        .descendants()
        .find(|node| node.attribute("aria-labelledby").is_some_and(|names| names.starts_with(id)))
        .unwrap_or_else(|| panic!("no {id}"));
    let lines = drawing
        .descendants()
        .filter(|node| node.attribute("class").is_some_and(|class| class.starts_with("l ")));
    lines
        .map(|line| {
            let path = line.attribute("d").expect("a path").trim_start_matches('M');
            let points = path.split('L').map(|point| {
                let (x, y) = point.split_once(' ').expect("two numbers");
                (x.parse().expect("a number"), y.parse().expect("a number"))
            });
            points.collect()
        })
        .collect()
}

#[test]
fn an_hour_keeps_its_slowest_second() {
    let page = check(&hour());
    assert!(page.contains("the slowest good one took 999 ms, in second 1,803"));
    let lines = paths(&page, "chart-timeline-response-t");
    let max = lines.first().expect("the line of the greatest times");
    assert!(max.len() <= 660, "{} points", max.len());
    let (x, y) = max.iter().copied().min_by(|a, b| a.1.total_cmp(&b.1)).expect("points");
    // From 56 to 720 units are 3,600 s.
    assert!((x - (56.0 + 664.0 * 1_803.5 / 3_600.0)).abs() < 1.0, "{x}");
    assert_eq!(max.iter().filter(|(_, other)| *other < y + 50.0).count(), 1, "one second stands out");
    // Thirty seconds in each row of the table: their greatest is kept, too.
    assert!(page.contains("id=\"timeline-1800-max\"") && page.contains("<div>999</div>"));
}

#[test]
fn what_was_offered_is_drawn_as_planned() {
    let page = check(&everything());
    let lines = paths(&page, "chart-timeline-rate-t");
    // 500 /s for a second, then 1,500 /s: two levels, and the step between them.
    let [(x0, y0), (x1, y1), (x2, y2), (x3, y3)] = lines[0][..] else { panic!("{:?}", lines[0]) };
    assert!((x0 - 56.0).abs() < 0.01 && (x3 - 720.0).abs() < 0.01, "{x0} {x3}");
    assert!((x1 - 277.3).abs() < 0.2 && (x2 - 277.3).abs() < 0.2, "{x1} {x2}");
    // The axis begins at 0, at the bottom (206).
    assert!(
        (y0 - y1).abs() < 0.01 && (y2 - y3).abs() < 0.01 && ((206.0 - y2) / (206.0 - y0) - 3.0).abs() < 0.01,
        "{y0} {y2}"
    );
    assert!(!flat(&check(&closed(&tailed(100, 2.0)))).contains("Offered"));
}

#[test]
fn withheld_thresholds_say_why() {
    let mut result = everything();
    result.thresholds = vec![EvaluatedThreshold {
        measured: None,
        outcome: prony_model::ThresholdOutcome::Undecided,
        reason: Some("the run is INVALID <x>".to_owned()),
        ..result.thresholds[0].clone()
    }];
    let text = flat(&check(&result));
    assert!(text.contains("▲ UNDECIDED –") && text.contains("the run is INVALID <x>"), "{text}");
}

fn growth(result: &mut RunResult) -> &mut MemoryGrowth {
    let server = result.server.as_mut().expect("it is known");
    server.memory_growth_bytes_per_h.as_mut().expect("it is known")
}

/// A leak at one rate is a verdict, growth while the rate changes is none.
#[test]
fn growth_is_called_a_leak_only_where_it_is_one() {
    let word = |change: fn(&mut RunResult)| {
        let mut result = everything();
        change(&mut result);
        let text = flat(&check(&result));
        text.split_once("of rudy <x>").expect("the row").1.split(" MiB/h").next().expect("a slope").to_owned()
    };
    assert!(word(|_| ()).contains("▲ grew all along"));
    assert!(word(|result| growth(result).is_leak = false).contains("the rate changes"));
    let steady = |result: &mut RunResult| {
        growth(result).is_leak = false;
        result.plan.stages = None;
    };
    assert!(word(steady).contains("grew, but not all along"));
    assert!(
        word(|result| {
            growth(result).is_leak = false;
            growth(result).interval = Some(Interval { low: -1.0, high: 1.0, indicative: false });
            result.plan.stages = None;
        })
        .contains("✓ no growth seen")
    );
}

/// Slow requests lead to what the tracing system has of them.
#[test]
fn traces_are_links() {
    let page = check(&everything());
    let text = flat(&page);
    assert!(text.contains("150 of 1,500 requests sampled; the 2 slowest, by response time:"), "{text}");
    let (id, other) = ("a".repeat(32), "b".repeat(32));
    for id in [&id, &other] {
        let link = format!("http://jaeger.test:16686/trace/{id}?a=1&amp;b=2");
        assert!(
            page.contains(&format!(r#"<a href="{link}" rel="noreferrer"><code>{id}</code></a>"#)),
            "{page}"
        );
    }
    assert!(text.contains("03:04:05.678") && text.contains("step log in <i>, sent 2 times"), "{text}");
    let mut without = everything();
    without.plan.trace = None;
    assert!(!check(&without).contains("jaeger"));
}

/// Each of the slowest requests with where its time went; only traces that the server was asked to record are links.
#[test]
fn the_slowest_requests_are_listed() {
    let page = check(&everything());
    let text = flat(&page);
    assert!(text.contains("Slowest requests"), "{text}");
    assert!(text.contains("agent north <b>") && text.contains("new connection, port 40212"), "{text}");
    assert_eq!(
        page.matches(&format!("<code>{}</code></a>", "a".repeat(32))).count(),
        2,
        "as a trace, and here"
    );
    let unsampled = format!("<code>{}</code>", "c".repeat(32));
    assert!(page.contains(&unsampled) && !page.contains(&format!("{unsampled}</a>")), "{page}");
    assert!(!check(&RunResult { slowest: Vec::new(), ..everything() }).contains("Slowest requests"));
}
