//! Reads any bytes as a scenario file: it is refused with mistakes whose places are in the text, or read as a scenario
//! in which nothing is wrong.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use prony_model::Template;
use prony_study::ScenarioFile;

fuzz_target!(|input: &[u8]| {
    let Ok(input) = std::str::from_utf8(input) else { return };
    if let Ok(template) = Template::parse(input) {
        let _ = (template.as_static(), template.names().count());
    }
    match ScenarioFile::read(Path::new("fuzz/made.toml"), input) {
        Ok(file) => assert!(file.scenario.problems().is_empty()),
        Err(error) => {
            assert!(!error.mistakes.is_empty());
            for mistake in error.mistakes {
                assert!(input.get(mistake.span).is_some(), "{}", mistake.message);
            }
        }
    }
});
