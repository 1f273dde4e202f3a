//! Reports of constructed results with known truth: each once contained something wrong.

use prony_model::{FigureBasis, StudyFigure, StudyMetric, Verdict};
use prony_report::{Style, exec, markdown, probe, study, text};

use crate::fixtures::closed;
use crate::study_fixture::journal;

/// All four answers came in the drain: none of them is part of the rate.
#[test]
fn no_rate_of_zero_beside_answers() {
    let mut result = closed(&[2100.0, 2150.0, 2180.0, 2199.0]);
    result.timing.measured_s = 2.0;
    result.timing.drain_s = 0.2;
    result.rate.done_per_s = 0.0;
    result.rate.answered_per_s = 0.0;
    result.rate.interval_per_s = None;
    for report in [text::run(&result, &Style::default()), markdown::run(&result)] {
        assert!(report.contains("4 of 4 requests"), "{report}");
        assert!(!report.contains(" 0 /s") && !report.contains("**0 /s"), "{report}");
        assert!(report.contains("all 4 answers came after the measured 2 s"), "{report}");
    }
}

/// The sum of the kernel's estimate of the spread begins at half of the first round trip.
#[test]
fn a_round_trip_measured_twice_has_no_spread() {
    let mut result = crate::probe::good();
    let kernel = result.requests[0].kernel.as_mut().expect("a TCP connection");
    kernel.round_trip_ms = 0.031;
    kernel.round_trip_deviation_ms = 0.015;
    let report = probe::text(&result, &Style::default());
    assert!(report.contains("round trip 0.031 ms"), "{report}");
    assert!(!report.contains('±'), "{report}");
}

/// `exec true` in a shell takes as long as the shell alone: what is left is noise, cut off at 0.
#[test]
fn a_command_that_is_lost_in_the_shells_start_has_no_time() {
    let result = crate::exec::lost();
    for report in [exec::text(&result, &Style::default()), exec::markdown(&result)] {
        assert!(!report.contains("0 [0, 0]"), "{report}");
    }
}

/// Connections of the warm-up are no requests of the cell.
#[test]
fn the_n_of_a_cell_is_that_of_its_requests() {
    let mut result = journal();
    let cell = &mut result.cells[0];
    for figure in &mut cell.figures {
        figure.samples = 200;
    }
    cell.figures.push(StudyFigure {
        metric: StudyMetric::Connect,
        value: Some(0.1),
        interval: None,
        basis: FigureBasis::None,
        runs: 6,
        samples: 548,
        range: None,
        note: None,
    });
    let page = study::html(&result);
    assert!(
        page.contains("<td id=\"cells-0-n\" class=\"n\" data-label=\"n\"><div>200</div></td>"),
        "n is not 200"
    );
}

/// An invalid run counts in no median, and looks so.
#[test]
fn invalid_runs_are_drawn_apart() {
    let mut result = journal();
    assert!(!study::html(&result).contains("is INVALID and counts"));
    result.cells[0].runs[1].verdict = Verdict::Invalid;
    let page = study::html(&result);
    assert!(page.contains("class=\"r unused\""), "its ring is like the others");
    assert!(
        page.contains("grey and dashed is INVALID and counts in no figure"),
        "nobody says what grey means"
    );
}

/// A short study makes fewer requests: its times are not those that were published.
#[test]
fn a_short_study_is_no_headline_against_published_figures() {
    let mut result = journal();
    assert!(study::html(&result).contains("Measured here: between"));
    result.short = true;
    let page = study::html(&result);
    assert!(!page.contains("Measured here"), "a headline");
    assert!(page.contains("The short form of a study is no comparison with what was published"));
}
