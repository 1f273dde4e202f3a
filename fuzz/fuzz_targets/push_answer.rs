//! Feeds any bytes as the answer of a receiver of OTLP metrics: reading it must never panic, and what it says must be
//! bounded and printable.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    if let Some(rejection) = prony_push::rejection(input) {
        assert!(rejection.points > 0);
        assert!(rejection.why.chars().count() <= 300 && !rejection.why.contains(char::is_control), "{rejection:?}");
    }
});
