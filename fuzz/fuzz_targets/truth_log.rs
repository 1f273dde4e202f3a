//! Reads any bytes as a log of the server with known delays: it is refused, or holds as many records as bytes for them.
#![no_main]

use libfuzzer_sys::fuzz_target;
use prony_targets::truth::log;

/// Bytes of a record.
const RECORD_BYTES: usize = 72;

fuzz_target!(|input: &[u8]| {
    let Ok(log) = log::parse(input) else { return };
    let records = log.len();
    assert!(records * RECORD_BYTES <= input.len(), "{records} records in {} bytes", input.len());
    for record in log {
        let _ = record.residence_ns();
    }
});
