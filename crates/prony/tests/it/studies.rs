//! Folders of studies: printed again, and compared cell by cell.

use std::collections::BTreeMap;
use std::fs;

use prony_model::{
    LoadKind, STUDY_FORMAT, STUDY_VERSION, StudyCell, StudyResult, StudyRun, Verdict, from_json,
    study_to_json, to_json,
};

use crate::binary::{ProgramOutput, prony};
use crate::folder::Folder;

const STORED: &str = include_str!("stored.json");
/// Runs of each cell.
const REPEATS: u32 = 6;

/// The folder of a study of the cells `names`, whose servers do about `per_s`.
fn study(folder: &Folder, name: &str, names: &[&str], per_s: f64) -> String {
    let path = folder.0.join(name);
    fs::create_dir_all(path.join("runs")).expect("a folder");
    let cells = names.iter().map(|cell| {
        let runs = (1..=REPEATS).map(|repeat| {
            let file = format!("runs/{cell}-{repeat}.json");
            let mut run = from_json(STORED).expect("a stored run");
            run.timing.started_at = format!("2026-01-02T03:04:{repeat:02}.000Z");
            run.rate.done_per_s = per_s * (1.0 + 0.001 * f64::from(repeat));
            run.requests.intended = 20;
            run.timing.measured_s = 20.0 / run.rate.done_per_s;
            (run.rate.sent_per_s, run.rate.answered_per_s) = (run.rate.done_per_s, run.rate.done_per_s);
            fs::write(path.join(&file), to_json(&run)).expect("a file");
            StudyRun {
                repeat,
                place: repeat,
                file,
                started_at: run.timing.started_at,
                verdict: Verdict::Valid,
                requests: 20,
                failed: 0,
                figures: BTreeMap::new(),
                findings: Vec::new(),
                limiter: None,
            }
        });
        StudyCell {
            name: (*cell).to_owned(),
            key: BTreeMap::from([("target".to_owned(), (*cell).to_owned())]),
            kind: LoadKind::Run,
            load: "GET /".to_owned(),
            planned: REPEATS,
            runs: runs.collect(),
            retried: Vec::new(),
            figures: Vec::new(),
            failed_by_kind: BTreeMap::new(),
            statuses: BTreeMap::new(),
            curve: Vec::new(),
            bins: Vec::new(),
            timelines: Vec::new(),
            executions: Vec::new(),
            searches: Vec::new(),
            stages: Vec::new(),
            scenario: None,
            agents: None,
        }
    });
    let result = StudyResult {
        format: STUDY_FORMAT.to_owned(),
        version: STUDY_VERSION,
        verdict: Verdict::Valid,
        name: name.to_owned(),
        title: "Two servers".to_owned(),
        source: None,
        intro: String::new(),
        texts: Vec::new(),
        short: false,
        complete: true,
        seed: 7,
        repeats: REPEATS,
        retries: 3,
        started_at: None,
        took_s: 60.0,
        axes: Vec::new(),
        targets: Vec::new(),
        cells: cells.collect(),
        comparisons: Vec::new(),
        thresholds: Vec::new(),
        published: Vec::new(),
        findings: Vec::new(),
        failures: Vec::new(),
        environment: None,
        file: String::new(),
    };
    fs::write(path.join("schedule.json"), "{}\n").expect("a file");
    fs::write(path.join("report.json"), study_to_json(&result)).expect("a file");
    path.display().to_string()
}

fn compare(words: &[&str]) -> ProgramOutput {
    prony(&[&["compare"], words].concat())
}

#[test]
fn a_folder_is_printed_again() {
    let folder = Folder::new("studies-report");
    let path = study(&folder, "before", &["rudy"], 1000.0);
    let output = prony(&["report", &path]);
    assert!(output.code == Some(0) && output.out.starts_with("Two servers\nbefore · 1 cell"), "{output:?}");
    let output = prony(&["report", &path, "-o", "markdown"]);
    assert!(output.out.starts_with("# Two servers\n"), "{output:?}");
    let output = prony(&["report", &path, "-o", "json"]);
    assert_eq!(output.out, fs::read_to_string(folder.0.join("before/report.json")).expect("a file"));
    fs::remove_file(folder.0.join("before/report.json")).expect("it is there");
    let output = prony(&["report", &path]);
    assert!(output.code == Some(2) && output.err.contains("--resume"), "{output:?}");
}

#[test]
fn studies_are_compared_cell_by_cell() {
    let folder = Folder::new("studies-compare");
    let before = study(&folder, "before", &["rudy", "node", "kv"], 1000.0);
    let after = study(&folder, "after", &["rudy", "node", "new"], 500.0);
    let output = compare(&[&before, &after]);
    assert_eq!(output.code, Some(0), "{output:?}");
    assert_eq!(output.out.matches("SLOWER").count(), 2, "{}", output.out);
    assert!(output.out.contains("kv is in") && output.out.contains("new is in"), "{}", output.out);
    assert_eq!(compare(&[&before, &after, "--fail-if", "slower:5%"]).code, Some(1));
    assert_eq!(compare(&[&after, &before, "--fail-if", "slower:5%"]).code, Some(0));
    let json = compare(&[&before, &after, "-o", "json"]).out;
    let results: Vec<serde_json::Value> = serde_json::Deserializer::from_str(&json)
        .into_iter()
        .collect::<Result<_, _>>()
        .expect("one after the other");
    assert_eq!(results.len(), 2);
    assert!(results[1]["a"]["name"].as_str().is_some_and(|name| name.ends_with("before: node")), "{json}");
}

#[test]
fn studies_that_have_nothing_in_common() {
    let folder = Folder::new("studies-foreign");
    let before = study(&folder, "before", &["rudy"], 1000.0);
    let after = study(&folder, "after", &["node"], 1000.0);
    let output = compare(&[&before, &after]);
    assert!(output.code == Some(2) && output.err.contains("no load in common"), "{output:?}");
    let runs = folder.0.join("before/runs").display().to_string();
    let output = compare(&[&before, &runs]);
    assert!(output.code == Some(2) && output.err.contains("the other one is not"), "{output:?}");
}

#[test]
fn a_cell_that_can_not_be_compared_is_reported_beside_the_others() {
    let folder = Folder::new("studies-cell");
    let before = study(&folder, "before", &["rudy", "node"], 1000.0);
    let after = study(&folder, "after", &["rudy", "node"], 1000.0);
    let damaged = folder.0.join("after/runs/node-3.json");
    let mut run = from_json(&fs::read_to_string(&damaged).expect("a file")).expect("a run");
    run.plan.threads = 2;
    fs::write(&damaged, to_json(&run)).expect("a file");
    let output = compare(&[&before, &after]);
    assert_eq!(output.code, Some(3), "{output:?}");
    assert!(output.out.contains("no difference") && output.out.contains("not compared: "), "{}", output.out);
    let output = compare(&[&before, &after, "--force"]);
    assert!(!output.out.contains("not compared"), "{}", output.out);
}
