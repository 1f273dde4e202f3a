//! Reports of other tools: nothing panics, and what is read is in order and can be drawn.
#![no_main]

use libfuzzer_sys::fuzz_target;
use prony_import::read_report;
use prony_report::{Style, external};

fuzz_target!(|text: &str| {
    match read_report(text) {
        None => {}
        Some(Err(error)) => assert!(!error.to_string().is_empty()),
        Some(Ok(result)) => {
            for series in &result.series {
                let quantiles = series.quantiles.iter().map(|quantile| quantile.ms);
                let times = series.min_ms.into_iter().chain(quantiles).chain(series.max_ms);
                assert!(times.is_sorted(), "{series:?}");
            }
            external::text(&result, &Style::default());
            external::markdown(&result);
            let json = prony_model::external_to_json(&result);
            assert_eq!(prony_model::external_from_json(&json).expect("it is read again"), result);
        }
    }
});
