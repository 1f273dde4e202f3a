//! The page of a run with text that is markup, with secrets, and with numbers that can't be.

use prony_model::RunResult;
use prony_report::html::run;
use serde_json::{Value, json};

use crate::fixtures::{closed, tailed};
use crate::html::{check, everything, flat, replayed};
use crate::html_page::check_escaped;
use crate::json_places::{places_of, with_foreign_text};

/// Every text of a run, replaced by markup.
#[test]
fn foreign_text_stays_text() {
    for result in [everything(), replayed()] {
        let (result, replaced) = with_foreign_text(&result);
        assert!(replaced > 40, "{replaced}");
        check_escaped(&check(&result));
    }
}

/// The plan of a run that has just ended has secrets, its page has none.
#[test]
fn secrets_and_bodies_stay_off_the_page() {
    let mut result = closed(&tailed(100, 2.0));
    result.plan.request.headers = vec![
        ("Authorization".to_owned(), "Bearer s3cr3t".to_owned()),
        ("X-Trace".to_owned(), "it's me".to_owned()),
    ];
    result.plan.request.body.bytes = b"password=s3cr3t".to_vec();
    let page = check(&result);
    assert!(!page.contains("s3cr3t"));
    let text = flat(&page);
    assert!(
        text.contains(
            r"--header 'Authorization: [redacted]' --header 'X-Trace: it'\''s me' --body-file BODY"
        ),
        "{text}"
    );
}

/// Numbers that can't be measured: the page may look odd, but is one.
#[test]
fn extreme_numbers_are_drawn_or_left_out() {
    let mut drawn = 0;
    for result in [everything(), replayed()] {
        let stored = serde_json::to_value(&result).expect("JSON");
        let mut places = places_of(&stored, Value::is_number);
        // Findings, thresholds and the machine are words on the page.
        places.retain(|place| {
            !["/environment", "/thresholds", "/plan/timeouts"].iter().any(|part| place.starts_with(part))
        });
        for place in &places {
            for extreme in [json!(u64::MAX), json!(1e308), json!(-1e308), json!(0)] {
                let mut hostile = stored.clone();
                *hostile.pointer_mut(place).expect("a place") = extreme;
                if let Ok(result) = serde_json::from_value::<RunResult>(hostile) {
                    let page = run(&result);
                    assert!(!page.contains("NaN") && !page.contains("inf\""), "{place}");
                    drawn += 1;
                }
            }
        }
    }
    assert!(drawn > 500, "{drawn}");
}
