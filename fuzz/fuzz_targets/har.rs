//! HTTP archives as scenarios: nothing panics, and what is read is a scenario in which nothing is wrong, which its file says
//! again. Bit 0 of the first byte imports images and scripts, too; with bit 1 an empty line is between two recordings.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use prony_import::{Context, HarOptions, read_har};
use prony_study::ScenarioFile;

fuzz_target!(|input: (u8, &str)| {
    let (choice, text) = input;
    let recordings: Vec<String> = match text.split_once("\n\n").filter(|_| choice & 2 != 0) {
        Some((first, second)) => vec![first.to_owned(), second.to_owned()],
        None => vec![text.to_owned()],
    };
    let options = HarOptions { assets: choice & 1 != 0 };
    match read_har(&recordings, options, &Context { name: "imported", variables: &[] }) {
        Err(problem) => assert!(!problem.what.is_empty()),
        Ok(imported) => {
            assert!(imported.scenario.problems().is_empty(), "{:?}", imported.scenario.problems());
            let toml = imported.to_toml();
            // The reader has a bound of its own.
            if toml.len() < 1 << 20 {
                let again = ScenarioFile::read(Path::new("imported.toml"), &toml);
                // A server of a recording may be none.
                assert!(again.is_ok() || toml.contains("base"), "{:?}\n{toml}", again.err());
                if let Ok(again) = again {
                    let steps = |scenario: &prony_model::Scenario| scenario.steps().count();
                    assert_eq!(steps(&again.scenario), steps(&imported.scenario), "{toml}");
                }
            }
        }
    }
});
