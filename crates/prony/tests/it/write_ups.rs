//! The study files in `studies/`, each run in its short form, on the real thing: servers, PostgreSQL, Node.
//!
//! A busy machine makes runs invalid, and rightly; what must be there all the same is every run and its report.

use std::fs;
use std::path::Path;

use prony_model::{StudyResult, ThresholdOutcome, study_from_json};

use crate::binary::{command, program_output};
use crate::folder::Folder;

/// Runs `studies/NAME.toml`, and gives back what it found out.
fn study(name: &str) -> StudyResult {
    let folder = Folder::new(&format!("write-up-{name}"));
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../studies/{name}.toml"));
    let results = folder.0.join("results");
    let mut study = command();
    study.arg("study").arg(&file).args(["--short", "--output"]).arg(&results);
    let output = program_output(study.output().expect("the binary was built"));
    assert!(matches!(output.code, Some(0 | 1 | 3)), "{name}: {}", output.err);
    let read = |file: &str| fs::read_to_string(results.join(file)).expect("a study keeps its reports");
    let result = study_from_json(&read("report.json")).expect("a report fits its schema");
    assert!(result.complete && result.failures.is_empty(), "{name}: {:#?}", result.failures);
    for cell in &result.cells {
        assert_eq!(cell.runs.len(), cell.planned as usize, "{name}: {}", cell.name);
    }
    assert!(!result.published.is_empty(), "{name}");
    let (page, markdown) = (read("report.html"), read("report.md"));
    assert!(page.contains("</html>") && markdown.contains(&result.title), "{name}");
    result
}

/// Failed requests of the cells whose names have all of `words`.
fn failed(result: &StudyResult, words: &[&str]) -> u64 {
    let cells = result.cells.iter().filter(|cell| words.iter().all(|word| cell.name.contains(word)));
    let runs: Vec<_> = cells.flat_map(|cell| &cell.runs).collect();
    assert!(!runs.is_empty(), "{words:?} names no cell");
    runs.iter().map(|run| run.failed).sum()
}

#[test]
fn mini_ci() {
    let result = study("mini-ci");
    let wget = result.cells.iter().find(|cell| cell.name.contains("wget")).expect("wget is timed");
    assert!(!wget.executions.is_empty());
    assert_eq!(failed(&result, &[]), 0);
}

#[test]
fn chronos_dashboard() {
    let result = study("chronos-dashboard");
    assert_eq!(failed(&result, &["ab"]), 0);
}

#[test]
fn kv_journal() {
    let result = study("kv-journal");
    // The missing key is answered 404, as it should be, and that is no failure there.
    assert_eq!(failed(&result, &["wrk-missing"]), 0);
    assert!(result.thresholds.iter().all(|one| one.evaluated.outcome != ThresholdOutcome::Missed));
}

#[test]
fn node_pg() {
    let result = study("node-pg");
    assert_eq!(failed(&result, &["node"]), 0);
    assert_eq!(failed(&result, &["ours"]), 0);
}

#[test]
fn rudy() {
    let result = study("rudy");
    assert_eq!(failed(&result, &["two-clients"]), 0);
}
