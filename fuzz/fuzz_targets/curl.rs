//! Curl commands: nothing panics, and what is read can be sent or is refused with advice.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    // Files of this machine stay out of it.
    if text.contains('@') || text.contains('<') || text.contains("-T") || text.contains("--upload") {
        return;
    }
    match prony_import::read_curl(text) {
        Ok(request) => assert!(!request.url.is_empty()),
        Err(problem) => assert!(problem.advice.is_some(), "{problem:?}"),
    }
});
