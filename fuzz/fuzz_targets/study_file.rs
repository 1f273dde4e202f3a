//! Reads any bytes as a study file: it is refused with mistakes whose places are in the text, or read as a study whose
//! runs can be put in order, each once for each repeat.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use prony_study::{Estimate, Overrides, Schedule, Study};

fuzz_target!(|input: &[u8]| {
    let Ok(input) = std::str::from_utf8(input) else { return };
    match Study::read(Path::new("fuzz/made.toml"), input, Overrides::default()) {
        Ok(study) => {
            let schedule = Schedule::new(&study);
            assert_eq!(schedule.steps.len(), study.cells.len() * study.repeats as usize);
            let _ = Estimate::new(&study, &schedule).least();
        }
        Err(error) => {
            assert!(!error.mistakes.is_empty());
            for mistake in error.mistakes {
                assert!(input.get(mistake.span).is_some(), "{}", mistake.message);
            }
        }
    }
});
