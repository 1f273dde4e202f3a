//! The report of a search for a capacity: as text, Markdown and a page.

use prony_model::{
    CapacityLimit, CapacityMethod, CapacityOutcome, CapacityResult, CapacityTrial, Confirmation, Finding,
    FindingCode, Limiter, LimiterKind, Scaling, ScalingFigure, ScalingFit, ScalingPoint, Severity,
    TrialOutcome, TrialPurpose, TrialTimes, Varied, Verdict,
};
use prony_report::Style;
use prony_report::capacity::{html, markdown, text, trial_line};

use crate::fixtures::open;

fn trial(purpose: TrialPurpose, rate_per_s: f64, outcome: TrialOutcome, p99_ms: f64) -> CapacityTrial {
    let times =
        TrialTimes { count: 9_900, p50_ms: Some(2.0), p99_ms: Some(p99_ms), max_ms: Some(2.0 * p99_ms) };
    let reason = match outcome {
        TrialOutcome::Passed => format!("response.p99 {p99_ms} ms"),
        TrialOutcome::Failed => format!("response.p99 {p99_ms} ms, not < 50ms"),
        TrialOutcome::Void => "the client had no CPU left (client-cpu)".to_owned(),
    };
    CapacityTrial {
        purpose,
        rate_per_s,
        users: None,
        agents: Vec::new(),
        started_at: "2026-01-02T03:04:05.000Z".to_owned(),
        planned_s: 10.0,
        measured_s: 10.0,
        outcome,
        reason,
        objectives: Vec::new(),
        requests: 10_000,
        failed: 0,
        failed_by_kind: [].into(),
        unanswered: 0,
        delivered_per_s: rate_per_s,
        response: times,
        service: times,
        verdict: Verdict::Valid,
        invalid: Vec::new(),
        limiter: (outcome == TrialOutcome::Failed).then(|| Limiter {
            kind: LimiterKind::ServerThread,
            sentence: "the server: one thread has no time left".to_owned(),
            evidence: Vec::new(),
        }),
        client_cpu_share: 0.2,
        recovered_after_s: (outcome == TrialOutcome::Failed).then_some(2.5),
    }
}

pub(crate) fn result() -> CapacityResult {
    let run = open(&[1.0, 2.0, 3.0]);
    CapacityResult {
        format: prony_model::CAPACITY_FORMAT.to_owned(),
        version: prony_model::CAPACITY_VERSION,
        verdict: Verdict::Doubtful,
        started_at: run.timing.started_at.clone(),
        elapsed_s: 512.0,
        interrupted: false,
        plan: run.plan.clone(),
        agents: Vec::new(),
        addresses: run.addresses.clone(),
        driver: "io_uring".to_owned(),
        objectives: vec!["response.p99 < 50ms".to_owned()],
        errors_max: 0.001,
        peak_per_s: Some(1_200.0),
        method: CapacityMethod {
            varied: Varied::Rate,
            trial_s: 10.0,
            warmup_share: 0.2,
            trials_per_load: 5,
            exceed_ratio: 0.5,
            coarse: 0.08,
            precision: 0.02,
            confirm_trials: 6,
            confirm_share: 0.95,
            time_s: 600.0,
            from_per_s: None,
            to_per_s: None,
        },
        alone_ms: Some(0.4),
        outcome: CapacityOutcome::Between {
            estimate_per_s: 1_962.0,
            lower_per_s: 1_931.0,
            upper_per_s: 1_987.0,
            carried_per_s: 1_945.0,
            exceeded_per_s: 1_980.0,
            is_decided: true,
            confirmation: Confirmation::Confirmed { rate_per_s: 1_848.0, measured_s: 60.0 },
        },
        trials: vec![
            trial(TrialPurpose::Coarse, 1_000.0, TrialOutcome::Passed, 4.0),
            trial(TrialPurpose::Coarse, 2_000.0, TrialOutcome::Void, 61.0),
            trial(TrialPurpose::Bound, 1_945.0, TrialOutcome::Passed, 31.0),
            trial(TrialPurpose::Bound, 1_980.0, TrialOutcome::Failed, 81.0),
            CapacityTrial {
                measured_s: 60.0,
                ..trial(TrialPurpose::Confirm, 1_848.0, TrialOutcome::Passed, 9.0)
            },
        ],
        scaling: None,
        notes: vec!["a note <b>".to_owned()],
        findings: vec![Finding {
            code: FindingCode::VoidTrials,
            severity: Severity::Warning,
            evidence: Vec::new(),
            message: "1 trial of 5 is void".to_owned(),
            advice: "use another machine".to_owned(),
        }],
        environment: run.environment,
    }
}

/// A search over users whose law has a peak.
fn users() -> CapacityResult {
    let figure = |value: f64| ScalingFigure { value, low: 0.9 * value, high: 1.1 * value };
    let tried = [1_u32, 2, 4, 8, 16, 32];
    let trials = tried.map(|users| CapacityTrial {
        users: Some(users),
        ..trial(TrialPurpose::Users, 100.0 * f64::from(users).sqrt(), TrialOutcome::Passed, 5.0)
    });
    let point = |users: f64| ScalingPoint { users, rate: figure(100.0 * users.sqrt()) };
    let fit = ScalingFit {
        gamma: figure(100.0),
        alpha: figure(0.05),
        beta: figure(0.000_2),
        peak_users: Some(figure(40.0)),
        peak_per_s: Some(figure(700.0)),
        trials: 6,
        misfit: 0.02,
        curve: tried.iter().map(|users| point(f64::from(*users))).collect(),
    };
    let result = result();
    CapacityResult {
        method: CapacityMethod { varied: Varied::Users, ..result.method.clone() },
        outcome: CapacityOutcome::Users,
        trials: trials.to_vec(),
        scaling: Some(Scaling { fit: Some(fit), missing_because: None, users_max: 32 }),
        findings: Vec::new(),
        verdict: Verdict::Valid,
        ..result
    }
}

fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What stands in every format.
fn check(result: &CapacityResult, parts: &[&str]) {
    let page = html(result);
    let options = roxmltree::ParsingOptions { allow_dtd: true, ..Default::default() };
    let document = roxmltree::Document::parse_with_options(&page, options).expect("well-formed");
    let mut ids = std::collections::BTreeSet::new();
    for node in document.descendants() {
        if let Some(id) = node.attribute("id") {
            assert!(ids.insert(id), "{id} stands twice");
        }
        for forbidden in ["style", "src", "onclick"] {
            assert!(node.attribute(forbidden).is_none(), "{forbidden}");
        }
        assert!(!matches!(node.tag_name().name(), "script" | "img" | "link"));
        if let Some(path) = node.attribute("d") {
            assert!(!path.contains("NaN") && !path.contains("inf"), "{path}");
        }
    }
    let words: String = document.descendants().filter_map(|node| node.text()).collect::<Vec<_>>().join(" ");
    let report = text(result, &Style::default());
    for part in parts {
        assert!(flat(&report).contains(part), "{part}\n{report}");
        assert!(flat(&words).contains(part), "{part} is not on the page");
    }
    let plain = markdown(result).replace('\\', "").replace("&lt;", "<");
    assert!(flat(&plain).contains(parts[0]), "{plain}");
    for width in [40, 60, 80, 120] {
        for line in text(result, &Style { width, ..Style::default() }).lines() {
            assert!(line.chars().count() <= width, "{width}: {line}");
        }
    }
    let ascii = text(result, &Style { unicode: false, ..Style::default() });
    assert!(ascii.is_ascii(), "{ascii}");
}

#[test]
fn the_capacity_its_basis_and_every_trial() {
    check(
        &result(),
        &[
            "1,962 /s [1,931, 1,987] with response.p99 < 50ms, at most 0.1 % without a good answer",
            "1,945 /s was carried, 1,980 /s was not; 1,848 /s held for 1 min",
            "the server: one thread has no time left (at 1,980 /s)",
            "1,200 /s planned: 60 % to 62 % of the capacity",
            "response.p99 81 ms, not < 50ms; as before after 2.5 s",
            "the client had no CPU left (client-cpu)",
            "1 min to confirm",
            "1 trial of 5 is void",
        ],
    );
    let page = html(&result());
    assert!(
        page.contains(">capacity<") && page.contains(">planned peak<") && page.contains("class=\"r s0\"")
    );
    assert!(page.contains("h s4 rest"), "the bounds are shaded");
    assert!(!page.contains("a note <b>") && page.contains("a note &"), "text is escaped");
}

#[test]
fn every_trial_has_its_number_of_requests() {
    for width in [80, 120] {
        let report = text(&result(), &Style { width, ..Style::default() });
        let head = report.lines().find(|line| line.contains("offered /s")).expect("a table");
        assert_eq!(head.contains("delivered /s"), width == 120, "{head}");
        let trial = report.lines().find(|line| line.starts_with("✕ failed")).expect("a trial");
        let cells: Vec<&str> = trial.split_whitespace().collect();
        assert_eq!(cells[..8], ["✕", "failed", "1,980", "10,000", "2.00", "81.0", "162", "81.0"], "{trial}");
    }
}

#[test]
fn other_outcomes() {
    let with = |outcome| CapacityResult { outcome, ..result() };
    let confirmation = Confirmation::Missing;
    let at_least = CapacityOutcome::AtLeast {
        lower_per_s: 1_945.0,
        is_decided: true,
        limit: CapacityLimit::Client,
        reason: "the client is the limit at 2,000 /s".to_owned(),
        confirmation,
    };
    check(
        &with(at_least),
        &[
            "1,945 /s with response.p99 < 50ms, at most 0.1 % without a good answer: the client is the limit",
            "not confirmed by a long trial",
        ],
    );
    check(
        &with(CapacityOutcome::Below { upper_per_s: 10.0 }),
        &["10.0 /s, the least load that was tried, is not carried", "more than the server carries"],
    );
    check(&with(CapacityOutcome::Unknown { reason: "all void".to_owned() }), &["all void", "is not known"]);
}

#[test]
fn the_peak_against_the_bounds() {
    let with = |peak| text(&CapacityResult { peak_per_s: Some(peak), ..result() }, &Style::default());
    assert!(flat(&with(1_950.0)).contains("lies between the bounds"));
    assert!(flat(&with(4_000.0)).contains("is more than the server carries: 20"));
}

#[test]
fn users_and_their_law() {
    check(
        &users(),
        &[
            "the rate is greatest with 40.0 [36.0, 44.0] users, 700 [630, 770] /s",
            "β 2.0e-4 [1.8e-4, 2.2e-4]",
        ],
    );
    let unfit = CapacityResult {
        scaling: Some(Scaling {
            fit: None,
            missing_because: Some("five bound no law".to_owned()),
            users_max: 16,
        }),
        outcome: CapacityOutcome::Unknown { reason: "five bound no law".to_owned() },
        ..users()
    };
    check(&unfit, &["five bound no law"]);
}

#[test]
fn empty_and_absurd_results_are_drawn() {
    let empty = CapacityResult { trials: Vec::new(), ..result() };
    check(&empty, &["1,962 /s"]);
    for value in [f64::NAN, f64::INFINITY, 0.0, -1.0, 1e300] {
        let mut absurd = result();
        for trial in &mut absurd.trials {
            trial.rate_per_s = value;
            trial.response.p99_ms = Some(value);
            trial.measured_s = value;
        }
        html(&absurd);
        markdown(&absurd);
        text(&absurd, &Style { width: 200, ..Style::default() });
    }
}

#[test]
fn a_line_for_people_who_wait() {
    let line = trial_line(&result().trials[3]);
    assert_eq!(line, "1,980 /s failed · p99 81 ms · response.p99 81 ms, not < 50ms; as before after 2.5 s");
    assert_eq!(trial_line(&users().trials[1]), "2 users passed · 141 /s · p99 5 ms · response.p99 5 ms");
}
