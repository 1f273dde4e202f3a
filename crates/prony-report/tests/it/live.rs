//! The screen of a run that is on: its lines, and what goes first where there is no room.

use std::time::Duration;

use prony_model::{Phase, Progress, RunResult, Stages};
use prony_report::Style;
use prony_report::live::{Moment, screen};
use unicode_width::UnicodeWidthStr as _;

use crate::fixtures::{all_failed, closed, open, tailed};

const STYLE: Style = Style { width: 79, colour: false, unicode: true };

fn progress() -> Progress {
    Progress {
        elapsed: Duration::from_millis(4_130),
        done: 1_000,
        failed: 3,
        rate_per_s: 250.0,
        median: None,
        in_flight: 1.74,
        open: 2,
    }
}

fn moment<'a>(result: &'a RunResult, progress: &'a Progress) -> Moment<'a> {
    Moment {
        plan: &result.plan,
        phase: Some(Phase::Measure),
        progress: Some(progress),
        rate_per_s: Some(260.0),
        rates_per_s: &[100.0, 200.0, 300.0, 0.0, 260.0],
        result: Some(result),
        stopping: false,
    }
}

#[test]
fn a_screen() {
    let mut result = closed(&tailed(1_000, 2.0));
    result.find_limiter();
    insta::assert_snapshot!(screen(&moment(&result, &progress()), &STYLE, 24).join("\n"));
}

#[test]
fn what_matters_least_goes_first() {
    let mut result = closed(&tailed(1_000, 2.0));
    result.find_limiter();
    let progress = progress();
    let moment = moment(&result, &progress);
    for rows in 0..40 {
        let lines = screen(&moment, &STYLE, rows);
        assert!(lines.len() <= rows, "{rows}: {lines:#?}");
        let has = |start: &str| lines.iter().any(|line| line.starts_with(start));
        assert_eq!(has("measuring"), rows >= 1, "{rows}: {lines:#?}");
        assert_eq!(has("rate"), rows >= 2, "{rows}: {lines:#?}");
        assert!(!has("limiter") || has("service"), "{rows}: {lines:#?}");
    }
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    let texts = ["x".repeat(500), "漢字 ".repeat(100), "\u{1b}[2J\u{7}".repeat(60)];
    for text in texts {
        let mut result = all_failed(closed(&[1.0; 10]), prony_model::ErrorKind::Protocol, &text);
        result.plan.target.path = format!("/{text}");
        let progress = progress();
        for width in [40, 79, 120] {
            let style = Style { width, ..STYLE };
            for line in screen(&moment(&result, &progress), &style, 24) {
                assert!(line.width() <= width, "{width}: {line}");
                assert!(!line.contains(char::is_control), "{line:?}");
            }
        }
    }
}

#[test]
fn before_the_load_and_when_it_ends() {
    let result = closed(&[1.0; 10]);
    let progress = progress();
    let before = Moment {
        phase: None,
        progress: None,
        rate_per_s: None,
        rates_per_s: &[],
        result: None,
        ..moment(&result, &progress)
    };
    let lines = screen(&before, &STYLE, 24);
    assert!(lines.iter().any(|line| line == "starting") && lines.iter().any(|line| line == "rate      –"));
    let ending = Moment { stopping: true, phase: Some(Phase::Drain), ..moment(&result, &progress) };
    let lines = screen(&ending, &STYLE, 24);
    let drain = "drain     waiting for the last answers; ending early";
    assert!(lines.iter().any(|line| line == drain), "{lines:#?}");
    assert_eq!(lines.last().map(String::as_str), Some("Ctrl-C again leaves without a report"));
}

/// The screen `elapsed_ms` into the measured part of a load in stages.
fn in_stages(elapsed_ms: u64, phase: Phase) -> String {
    let mut result = open(&tailed(1_000, 2.0));
    result.plan.stages =
        Some(Stages::parse("base=100/s:2s,100..500/s:4s,spike=900/s:3s").expect("three stages"));
    let progress = Progress { elapsed: Duration::from_millis(elapsed_ms), ..progress() };
    let moment = Moment { phase: Some(phase), ..moment(&result, &progress) };
    screen(&moment, &STYLE, 24).join("\n")
}

#[test]
fn the_stage_at_hand_is_named_with_its_rate_and_the_time_left() {
    let check = |elapsed_ms, expected: &str, asked: &str| {
        let screen = in_stages(elapsed_ms, Phase::Measure);
        assert!(screen.contains(&format!("\nstage     {expected}")), "{elapsed_ms} ms:\n{screen}");
        assert!(screen.contains(&format!("{asked} /s asked")), "{elapsed_ms} ms:\n{screen}");
    };
    check(0, "base (1 of 3): 100 /s, 2 s left, then 2: 100 to 500 /s\n", "100");
    check(1_950, "base (1 of 3): 100 /s, 100 ms left, then 2", "100");
    check(4_000, "2 of 3: 100 to 500 /s, 2 s left, then spike: 900 /s\n", "300");
    check(6_500, "spike (3 of 3): 900 /s, 2.5 s left\n", "900");
    // Beyond the last one, and where no stage is at hand.
    assert!(!in_stages(9_000, Phase::Measure).contains("stage "));
    let warm_up = in_stages(500, Phase::Warmup);
    assert!(!warm_up.contains("stage ") && warm_up.contains("100 /s asked"), "{warm_up}");
    assert!(!in_stages(500, Phase::Drain).contains("/s asked"));
}
