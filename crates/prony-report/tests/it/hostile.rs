//! Results made in bad faith: whatever passes for one is drawn in every format without a panic.

use prony_model::{Clock, from_json};
use prony_report::{Style, check_distributions, csv, hgrm, hlog, html, junit, markdown, text};
use serde_json::{Value, json};

use crate::json_places::places;

const STORED: &str = include_str!("../../../prony/tests/it/stored.json");

/// Draws `text` in every format, if it is a result; says whether it is.
fn draw(text: &str) -> bool {
    let Ok(result) = from_json(text) else { return false };
    result.check();
    let _ = check_distributions(&result);
    // Narrow, so that every way to break a line is taken.
    text::run(&result, &Style { width: 20, colour: true, unicode: true });
    markdown::run(&result);
    let page = html::run(&result);
    assert!(!page.contains(['\u{202e}', '\u{1b}']) && !page.contains("NaN"), "{page}");
    junit::runs(&[("file", &result)]);
    csv::rows("file", &result);
    let _ = hgrm::run(&result, Clock::Response);
    let _ = hlog::runs(&[&result]);
    true
}

#[test]
fn every_value_replaced_by_an_extreme_one() {
    let stored: Value = serde_json::from_str(STORED).expect("JSON");
    let extremes = [
        json!(null),
        json!(0),
        json!(-1),
        json!(u64::MAX),
        json!(1e308),
        json!(-1e308),
        json!(1e-308),
        json!(""),
        json!("\u{1b}[2J\u{202e}\n,\"|"),
        json!("wide 漢字 ".repeat(40)),
        json!([]),
        json!({}),
    ];
    let all = places(&stored);
    assert!(draw(STORED));
    let (mut drawn, mut tried) = (0, 0);
    for place in &all {
        for extreme in &extremes {
            let mut hostile = stored.clone();
            *hostile.pointer_mut(place).expect("a place") = extreme.clone();
            drawn += u32::from(draw(&hostile.to_string()));
            tried += 1;
        }
    }
    assert!(drawn > tried / 10, "{drawn} of {tried} are results: the others test nothing");
}
