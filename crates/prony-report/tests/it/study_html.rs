//! The page of a study: well-formed, closed to foreign text, complete.

use prony_model::{StudyResult, study_from_json, study_to_json};
use prony_report::study::{html, load_charts};
use serde_json::{Value, json};

use crate::html_page::{check_escaped, checked, keep};
use crate::json_places::with_foreign_text;
use crate::study_fixture::{Chance, Server, journal, loaded, probed, sessions, study, timed};

/// The page, after a look at what must hold for every page.
fn check(result: &StudyResult) -> String {
    checked(html(result))
}

/// A study of `targets` x `widths` cells with `repeats` runs each.
fn large(targets: u32, widths: u32, repeats: u32) -> StudyResult {
    let mut chance = Chance(3);
    let names: Vec<String> = (1..=targets).map(|number| format!("server-{number}")).collect();
    let loads: Vec<String> = (0..widths).map(|power| (10 << power).to_string()).collect();
    let mut cells = Vec::new();
    for (number, name) in (1..).zip(&names) {
        for (power, load) in loads.iter().enumerate() {
            let middle = 0.5 * f64::from(number) * 1.7_f64.powi(i32::try_from(power).expect("few"));
            let server = Server {
                rate: 30_000.0 / f64::from(number) * (1.0 - 0.8_f64.powf(power as f64 + 1.0)),
                peaks: vec![(middle, 0.8), (middle * 6.0, 0.2)],
                failing: 0.0,
                waiting: 1.1,
            };
            cells.push(loaded(
                &[("target", name), ("connections", load)],
                &server,
                repeats,
                300,
                &mut chance,
            ));
        }
    }
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let loads: Vec<&str> = loads.iter().map(String::as_str).collect();
    study(&[("target", &names), ("connections", &loads)], cells)
}

/// Commands and probes.
fn commands() -> StudyResult {
    let mut chance = Chance(2);
    let cells = vec![
        timed(&[("load", "wget")], 2.4, 0.82, &mut chance),
        timed(&[("load", "curl")], 9.7, 0.91, &mut chance),
        probed(&[("load", "hello")], 1.3, &mut chance),
        probed(&[("load", "pool")], 6.1, &mut chance),
    ];
    study(&[("load", &["wget", "curl", "hello", "pool"])], cells)
}

/// One cell, run once.
fn single() -> StudyResult {
    let server = Server { rate: 938.0, peaks: vec![(1.0, 1.0)], failing: 0.0, waiting: 1.0 };
    let mut study =
        study(&[("target", &["kv"])], vec![loaded(&[("target", "kv")], &server, 1, 10, &mut Chance(4))]);
    study.repeats = 1;
    study
}

/// Two servers under sessions.
fn visits() -> StudyResult {
    let mut chance = Chance(7);
    let server = Server { rate: 938.0, peaks: vec![(12.0, 1.0)], failing: 0.0, waiting: 1.1 };
    let cells = ["old", "new"].map(|target| {
        let mut cell = loaded(&[("target", target)], &server, 6, 30, &mut chance);
        "sessions of shop.toml (1 flow, 2 steps), 20 sessions/s, 30 s".clone_into(&mut cell.load);
        cell.scenario = Some(sessions(6, 30, &mut chance));
        cell
    });
    study(&[("target", &["old", "new"])], cells.into())
}

#[test]
fn steps_stand_on_the_page_with_their_charts() {
    let page = check(&visits());
    for part in [
        "id=\"steps-0\"",
        "id=\"steps-1\"",
        "6,000 sessions, 5,700 completed, 290 failed, 10 unfinished",
        "POST /order",
        "= buy",
        "without think",
        "id=\"chart-steps\"",
        "id=\"chart-steps-3-",
        "p50 and p99 response time of order",
        "old · login",
    ] {
        assert!(page.contains(part), "{part}");
    }
    let mut many = visits();
    let steps = &mut many.cells[0].scenario.as_mut().expect("sessions").steps;
    *steps = std::iter::repeat_n(steps[0].clone(), 256).collect();
    let page = check(&many);
    assert!(page.contains(" 210 steps more are in report.json"));
    assert!(page.len() < 1_500_000, "{} bytes", page.len());
    let mut none = visits();
    none.cells.iter_mut().for_each(|cell| cell.scenario = None);
    assert!(!check(&none).contains("chart-steps"));
}

/// To look at them: `PRONY_WRITE_PAGES=FOLDER cargo test -p prony-report study_html`.
#[test]
fn pages_of_all_kinds() {
    for (name, result) in [
        ("journal", journal()),
        ("commands", commands()),
        ("single", single()),
        ("sessions", visits()),
        ("wide", large(9, 3, 6)),
        ("nothing", study(&[], Vec::new())),
    ] {
        let page = check(&result);
        keep(name, &page);
    }
}

#[test]
fn a_page_of_five_hundred_runs_stays_small() {
    /// What a browser opens and a mail takes without complaint.
    const BYTES_MAX: usize = 5_000_000;
    let result = large(10, 5, 10);
    assert_eq!(result.cells.iter().map(|cell| cell.runs.len()).sum::<usize>(), 500);
    let page = check(&result);
    assert!(page.len() < BYTES_MAX, "{} bytes", page.len());
}

#[test]
fn the_small_page() {
    let mut result = single();
    let cell = &mut result.cells[0];
    cell.curve.retain(|point| point.quantile == 0.0 || point.quantile > 0.9993);
    cell.bins.truncate(2);
    cell.timelines[0].points.truncate(3);
    let page = check(&result);
    let (head, body) = page.split_once("<style>").expect("a style");
    let body = body.split_once("</style>").expect("its end").1;
    insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true, filters => vec![
        // Its test is elsewhere, and it changes with every colour.
        ("'sha256-[^']+'", "[hash]"),
    ] }, {
        insta::assert_snapshot!("study-page", format!("{head}<style>{body}"));
    });
}

/// Every text of a study, replaced by markup.
#[test]
fn foreign_text_stays_text() {
    let (result, replaced) = with_foreign_text(&short());
    assert!(replaced > 40, "{replaced}");
    check_escaped(&check(&result));
}

/// The journal with little of everything.
fn short() -> StudyResult {
    let mut result = journal();
    for cell in &mut result.cells {
        cell.runs.truncate(2);
        cell.curve.truncate(3);
        cell.bins.truncate(3);
        cell.timelines.truncate(1);
        cell.timelines[0].points.truncate(3);
    }
    result.cells[0].scenario = Some(sessions(2, 3, &mut Chance(6)));
    result
}

/// Numbers that nobody measured: the page may look odd, but is one.
#[test]
fn extreme_numbers_are_drawn_or_left_out() {
    let mut result = short();
    let mut chance = Chance(5);
    let mut command = timed(&[("target", "kv")], 2.4, 0.8, &mut chance);
    command.executions.truncate(2);
    command.runs.truncate(2);
    let mut probe = probed(&[("target", "kv")], 2.4, &mut chance);
    probe.runs.truncate(2);
    result.cells.extend([command, probe]);
    let stored = study_to_json(&result);
    // Every number with a fraction at once: counts and indices have none.
    let number = regex::Regex::new(r"\s-?\d+\.\d+(e-?\d+)?").expect("a pattern");
    for extreme in ["1e308", "-1e308", "1e-308", "-1.0", "0.0"] {
        let hostile = number.replace_all(&stored, format!(" {extreme}").as_str());
        check(&study_from_json(&hostile).expect("a study"));
    }
    // One by one in a chart of otherwise sound numbers.
    let sound: Value = serde_json::from_str(&stored).expect("JSON");
    let mut drawn = 0;
    for place in [
        "curve/1/response_ms",
        "curve/1/quantile",
        "bins/1/from_ms",
        "bins/1/to_ms",
        "bins/1/count",
        "timelines/0/points/1/at_s",
        "timelines/0/points/1/rate_per_s",
        "timelines/0/points/1/p50_ms",
        "figures/0/value",
        "figures/0/range/1",
        "runs/0/figures/rate",
        "runs/0/requests",
        "scenario/steps/0/response/0/value",
        "scenario/steps/1/timelines/0/points/1/at_s",
        "scenario/steps/1/timelines/0/points/1/p50_ms",
        "scenario/steps/1/ended",
    ] {
        for extreme in [json!(u64::MAX), json!(1e308), json!(1e-308), json!(0)] {
            let mut hostile = sound.clone();
            *hostile.pointer_mut(&format!("/cells/0/{place}")).expect(place) = extreme;
            // A count has no fraction.
            if let Ok(result) = study_from_json(&hostile.to_string()) {
                check(&result);
                drawn += 1;
            }
        }
    }
    assert!(drawn >= 58, "{drawn}");
}

#[test]
fn charts_of_loads_fit_into_another_page() {
    let mut result = large(3, 4, 3);
    result.cells.push(timed(&[("target", "kv")], 2.4, 0.8, &mut Chance(5)));
    let charts = load_charts(result.clone(), 5, 3_000);
    assert_eq!((charts.shown, charts.loads), (5, 12));
    roxmltree::Document::parse(&format!("<div>{}</div>", charts.html)).expect("well-formed");
    for part in [
        "id=\"chart-quantiles\"",
        "share of responses that were at least as fast",
        "response time, ms (log scale)",
        "id=\"chart-timeline\"",
        "good responses, per second",
        ">time, s</text>",
        "<figcaption>",
        "The data as a table",
    ] {
        assert!(charts.html.contains(part), "{part}");
    }
    let all = load_charts(result.clone(), 100, 3_000);
    assert_eq!((all.shown, all.loads), (12, 12));
    assert!(all.html.len() > charts.html.len());
    result.cells.retain(|cell| cell.executions.len() > 1);
    assert_eq!(load_charts(result, 5, 3_000).html, "", "commands have neither");
}
