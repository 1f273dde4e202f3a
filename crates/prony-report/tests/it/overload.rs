//! The report of an overload: as text, Markdown and a page.

use prony_model::{
    Backoff, ErrorKind, Finding, FindingCode, LoadPhase, OVERLOAD_FORMAT, OVERLOAD_VERSION, OverloadAttempts,
    OverloadMethod, OverloadOutcome, OverloadPart, OverloadPhase, OverloadResult, OverloadRun, RetryOn,
    RetryPlan, Severity, TrialTimes, Verdict,
};
use prony_report::Style;
use prony_report::overload::{html, markdown, run_line, text};

use crate::fixtures::open;

fn phase(
    phase: LoadPhase,
    from_s: f64,
    offered: u64,
    good: u64,
    kinds: &[(ErrorKind, u64)],
) -> OverloadPhase {
    OverloadPhase {
        phase,
        from_s,
        length_s: if phase == LoadPhase::After { 100.0 } else { 10.0 },
        offered,
        good,
        late: offered - good - kinds.iter().map(|(_, count)| count).sum::<u64>(),
        failed_by_kind: kinds.iter().copied().collect(),
        unanswered: 0,
        response: TrialTimes { count: good, p50_ms: Some(20.5), p99_ms: None, max_ms: Some(990.0) },
        outstanding_begin: 3,
        outstanding_end: 1_803,
        outstanding_max: 2_003,
    }
}

fn run(outcome: OverloadOutcome, retries: bool) -> OverloadRun {
    let policy = RetryPlan {
        retries: 3,
        on: RetryOn::parse("timeout").expect("a failure"),
        backoff: Backoff::default(),
        budget: None,
        attempt_timeout: std::time::Duration::from_secs(1),
    };
    let part = |number: u32| {
        let at_s = f64::from(number) * 0.5;
        let is_down = (10.0..38.0).contains(&at_s);
        OverloadPart {
            from_s: at_s,
            offered: if (10.0..20.0).contains(&at_s) { 200 } else { 50 },
            good: if is_down { 0 } else { 50 },
            outstanding: 3,
            p50_ms: (!is_down).then_some(20.5),
            max_ms: (!is_down).then_some(33.0),
        }
    };
    OverloadRun {
        retries: retries.then_some(policy),
        started_at: "2026-01-02T03:04:05.000Z".to_owned(),
        outcome,
        phases: vec![
            phase(LoadPhase::Before, 0.0, 1_000, 1_000, &[]),
            phase(LoadPhase::During, 10.0, 4_000, 400, &[(ErrorKind::RequestTimeout, 3_500)]),
            phase(LoadPhase::After, 20.0, 10_000, 8_200, &[(ErrorKind::RequestTimeout, 1_800)]),
        ],
        course: (0..240).map(part).collect(),
        attempts: retries.then_some(OverloadAttempts { attempts: 40_000, retries: 25_000, recovered: 120 }),
        server_memory_max_bytes: Some(12 << 20),
        server_memory_growth_bytes: Some(1 << 20),
        drained_after_s: Some(0.4),
        verdict: Verdict::Valid,
        invalid: Vec::new(),
        client_cpu_share: 0.1,
    }
}

fn result(runs: Vec<OverloadRun>) -> OverloadResult {
    let stored = open(&[1.0, 2.0, 3.0]);
    OverloadResult {
        format: OVERLOAD_FORMAT.to_owned(),
        version: OVERLOAD_VERSION,
        verdict: Verdict::Doubtful,
        started_at: stored.timing.started_at.clone(),
        elapsed_s: 250.0,
        interrupted: false,
        plan: stored.plan.clone(),
        addresses: stored.addresses.clone(),
        driver: "io_uring".to_owned(),
        method: OverloadMethod {
            base_per_s: 100.0,
            pulse_per_s: 400.0,
            capacity_per_s: Some(200.0),
            before_s: 10.0,
            pulse_s: 10.0,
            after_s: 100.0,
            good_within_ms: 1_000.0,
            part_s: 0.5,
            recovered_share: 0.95,
            metastable_pulses: 10.0,
        },
        alone_ms: Some(20.1),
        runs,
        notes: vec!["a note <b>".to_owned()],
        findings: vec![Finding {
            code: FindingCode::Steal,
            severity: Severity::Warning,
            evidence: Vec::new(),
            message: "without retries: the hypervisor took 6 %".to_owned(),
            advice: "use another machine".to_owned(),
        }],
        environment: stored.environment,
    }
}

fn both() -> OverloadResult {
    result(vec![
        run(OverloadOutcome::Recovered { after_s: 18.0, within_s: 0.5 }, false),
        run(OverloadOutcome::Metastable { watched_s: 100.0 }, true),
    ])
}

fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Each of `expected` must be in every format.
fn check(result: &OverloadResult, expected: &[&str]) {
    let reports =
        [("text", text(result, &Style::default())), ("markdown", markdown(result)), ("html", html(result))];
    for (format, report) in reports {
        // What only one format escapes.
        let report = flat(&report.replace('\\', "").replace("&#38;", "&").replace("&#39;", "'"));
        for expected in expected {
            assert!(report.contains(expected), "{format} lacks {expected}: {report}");
        }
    }
}

#[test]
fn outcomes_and_what_they_rest_on() {
    check(
        &both(),
        &[
            "100 /s for 10 s",
            "400 /s for 10 s",
            "good: a good response within 1 s",
            "RECOVERS",
            "without retries: good again 18 s after the pulse, ± 500 ms",
            "METASTABLE",
            "with retries: not good again in the 100 s after the pulse, 10x its length: it stays down without the cause",
            "3 under way before the pulse, 1,803 at its end (+180 /s), 2,003 at most",
            "40,000 attempts for 15,000 requests: 62 % of the load were retries; 120 requests got a good response by one",
            "1.00 MiB more at the end",
            "single requests took as long as before 400 ms after all load",
            "100 late, 3,500 request-timeout",
            "the hypervisor took 6 %",
        ],
    );
    let mut quick = both();
    quick.runs[0].drained_after_s = Some(7e-6);
    check(&quick, &["single requests took as long as before right after all load"]);
    let page = html(&both());
    assert!(page.contains(">good again<") && page.contains(">pulse<") && page.contains("h s4 rest"));
    assert!(!page.contains("a note <b>") && page.contains("a note &"), "text is escaped");
}

#[test]
fn every_phase_has_its_number_of_requests() {
    for width in [80, 120] {
        let report = text(&both(), &Style { width, ..Style::default() });
        assert!(report.lines().all(|line| line.chars().count() <= width), "{report}");
        let line = report.lines().find(|line| line.starts_with("during")).expect("a phase");
        let cells: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(cells[..6], ["during", "400", "4,000", "40.0", "10", "%"], "{line}");
    }
}

#[test]
fn other_outcomes() {
    let one = |outcome| result(vec![run(outcome, false)]);
    check(&one(OverloadOutcome::Carried), &["CARRIED", "the pulse of 400 /s is no overload"]);
    check(
        &one(OverloadOutcome::NotRecovered { watched_s: 30.0 }),
        &["DOWN", "not good again in the 30 s after the pulse; 100 s would tell"],
    );
    check(
        &one(OverloadOutcome::BaseNotCarried { good_share: 0.43 }),
        &["TOO MUCH", "100 /s is not carried before the pulse: 43 % good"],
    );
    check(&one(OverloadOutcome::Died), &["DIED", "nothing listens at the server's address any more"]);
    check(&one(OverloadOutcome::Unknown { reason: "the client".to_owned() }), &["UNKNOWN", "the client"]);
}

#[test]
fn a_run_without_a_course_is_drawn_without_a_chart() {
    let empty = OverloadRun {
        phases: Vec::new(),
        course: Vec::new(),
        ..run(OverloadOutcome::Unknown { reason: "it was stopped".to_owned() }, false)
    };
    let page = html(&result(vec![empty]));
    assert!(page.contains("it was stopped") && !page.contains("<svg"));
    html(&result(Vec::new()));
}

#[test]
fn a_run_in_a_line() {
    let line = run_line(&run(OverloadOutcome::Carried, true));
    assert_eq!(line, "with retries: good before 100 %, during 10 %, after 82 %");
}
