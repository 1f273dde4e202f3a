//! The page of a study: well-formed, closed to foreign text, complete.

use std::collections::BTreeSet;

use prony_model::StudyResult;
use prony_report::study::html;

use crate::study_fixture::{Chance, Server, journal, loaded, probed, study, timed};

/// The page, after a look at what must hold for every page.
fn check(result: &StudyResult) -> String {
    let page = html(result);
    let options = roxmltree::ParsingOptions { allow_dtd: true, ..Default::default() };
    let document = roxmltree::Document::parse_with_options(&page, options)
        .unwrap_or_else(|error| panic!("{error}: {:?}", page.lines().nth(error.pos().row as usize - 1)));
    let mut ids = BTreeSet::new();
    for id in document.descendants().filter_map(|node| node.attribute("id")) {
        assert!(ids.insert(id), "{id} stands twice");
    }
    for node in document.descendants() {
        if let Some(target) = node.attribute("href") {
            let inner = target.strip_prefix('#').expect("links stay on the page");
            assert!(ids.contains(inner), "no {inner} on the page");
        }
        for described in node.attribute("aria-labelledby").into_iter().flat_map(str::split_whitespace) {
            assert!(ids.contains(described), "no {described} on the page");
        }
        for forbidden in ["style", "src", "onclick", "onload"] {
            assert!(node.attribute(forbidden).is_none(), "{forbidden} at {}", node.tag_name().name());
        }
        assert!(!matches!(node.tag_name().name(), "script" | "img" | "link" | "iframe"));
        for place in ["x", "y", "x1", "x2", "y1", "y2", "cx", "cy", "r", "width", "height"] {
            if let (Some(number), true) = (node.attribute(place), node.tag_name().name() != "svg") {
                assert!(number.parse::<f64>().is_ok_and(f64::is_finite), "{place} = {number}");
            }
        }
        if let Some(path) = node.attribute("d") {
            assert!(!path.contains("NaN") && !path.contains("inf"), "{path}");
        }
    }
    page
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

/// To look at them: `PRONY_WRITE_PAGES=FOLDER cargo test -p prony-report study_html`.
#[test]
fn pages_of_all_kinds() {
    for (name, result) in [
        ("journal", journal()),
        ("commands", commands()),
        ("single", single()),
        ("wide", large(9, 3, 6)),
        ("nothing", study(&[], Vec::new())),
    ] {
        let page = check(&result);
        if let Some(folder) = std::env::var_os("PRONY_WRITE_PAGES") {
            let file = std::path::Path::new(&folder).join(format!("{name}.html"));
            std::fs::write(file, page).expect("the page can be written");
        }
    }
}
