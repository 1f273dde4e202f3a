//! Reads any bytes as a stored result: whatever passes for one must be checked and drawn in every format without
//! a panic, and must be read back as it was after it is written again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use prony_model::{Clock, from_json, stored_format, to_json};
use prony_report::{Style, check_distributions, csv, hgrm, hlog, markdown, text};

fuzz_target!(|input: &[u8]| {
    let Ok(input) = std::str::from_utf8(input) else { return };
    let _ = stored_format(input);
    let Ok(result) = from_json(input) else { return };
    // Secrets in headers are not written, so it is the second writing that must be the first again.
    let written = to_json(&result);
    let again = from_json(&written).expect("what is written can be read");
    assert_eq!(to_json(&again), written);

    result.check();
    let _ = check_distributions(&result);
    text::run(&result, &Style::default());
    markdown::run(&result);
    csv::rows("file", &result);
    for clock in Clock::ALL {
        let _ = hgrm::run(&result, clock);
    }
    let _ = hlog::runs(&[&result]);
});
