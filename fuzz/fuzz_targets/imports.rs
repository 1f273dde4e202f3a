//! Files of other tools: nothing panics, and what is read is a scenario in which nothing is wrong, which its file says
//! again. The first byte chooses the tool.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use prony_import::{Context, read_hurl, read_openapi, read_postman};
use prony_model::{PartContent, Scenario, StepBody};
use prony_study::ScenarioFile;

fuzz_target!(|input: (u8, &str)| {
    let (tool, text) = input;
    let read = [read_hurl, read_openapi, read_postman][usize::from(tool) % 3];
    match read(text, &Context { name: "imported", variables: &[] }) {
        Err(problem) => assert!(!problem.what.is_empty()),
        Ok(imported) => {
            assert!(imported.scenario.problems().is_empty());
            let toml = imported.to_toml();
            // The reader has a bound of its own, and reads the files that a scenario names.
            if toml.len() < 1 << 20 && !names_files(&imported.scenario) {
                match ScenarioFile::read(Path::new("imported.toml"), &toml) {
                    Ok(again) => assert_eq!(sorted(again.scenario), sorted(imported.scenario), "{toml}"),
                    // An expression of Hurl may be none of ours, and a server none at all.
                    Err(error) => assert!(
                        toml.contains("regex") || toml.contains("base"),
                        "{error:?}\n{toml}"
                    ),
                }
            }
        }
    }
});

fn names_files(scenario: &Scenario) -> bool {
    scenario.steps().any(|(_, step)| match &step.body {
        StepBody::File(_) => true,
        StepBody::Multipart(parts) => {
            parts.iter().any(|part| matches!(part.content, PartContent::File(_)))
        }
        _ => false,
    })
}

/// What a file has by name comes in the order of the names.
fn sorted(mut scenario: Scenario) -> Scenario {
    for step in scenario.flows.iter_mut().flat_map(|flow| &mut flow.steps) {
        step.headers.sort_by(|one, other| one.0.cmp(&other.0));
        step.checks.headers.sort();
        step.checks.json.sort_by(|one, other| one.0.cmp(&other.0));
        step.extract.sort_by(|one, other| one.name.cmp(&other.name));
        if let StepBody::Form(fields) = &mut step.body {
            fields.sort_by(|one, other| one.0.cmp(&other.0));
        }
    }
    scenario
}
