//! Studies that search for a capacity, on servers of the documented example. What a busy machine lets a search find is not what
//! these tests are about: they assert what is stored and shown whatever it was.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::Stdio;

use prony_model::{
    CapacityOutcome, LoadKind, StudyMetric, StudyResult, ThresholdOutcome, Verdict, capacity_from_json,
    study_from_json,
};
use rustix::process::{Pid, Signal, kill_process};

use crate::binary::{command, prony};
use crate::folder::Folder;
use crate::repository::root;

/// The study of docs/capacity.md.
fn example() -> String {
    let text = fs::read_to_string(root().join("docs/capacity.md")).expect("it is there");
    let section = text.split("## In a study").nth(1).expect("the section");
    section
        .split("```toml\n")
        .nth(1)
        .and_then(|rest| rest.split("```").next())
        .expect("an example")
        .to_owned()
}

fn report(folder: &Path) -> StudyResult {
    study_from_json(&fs::read_to_string(folder.join("report.json")).expect("a report")).expect("a study")
}

#[test]
fn the_documented_study_searches_both_servers() {
    let folder = Folder::new("study-capacity");
    let file = folder.0.join("launch.toml");
    fs::write(&file, example()).expect("room");
    let [file, out] = [&file, &folder.0.join("one")].map(|path| path.display().to_string());
    let output = prony(&["study", &file, "--short", "--output", &out]);
    assert!(matches!(output.code, Some(0 | 1 | 3)), "{output:?}");
    let result = report(Path::new(&out));
    assert!(result.complete && result.cells.len() == 2, "{output:?}");
    for cell in &result.cells {
        assert_eq!((cell.kind, cell.runs.len(), cell.searches.len()), (LoadKind::Capacity, 1, 1));
        let search = &cell.searches[0];
        let stored = fs::read_to_string(Path::new(&out).join(&search.file)).expect("a file");
        assert_eq!(capacity_from_json(&stored).expect("a search"), search.result);
        assert!(!search.result.trials.is_empty() && search.result.peak_per_s == Some(80.0));
        let figure = cell.figures.iter().find(|figure| figure.metric == StudyMetric::Capacity);
        if let CapacityOutcome::Between { estimate_per_s, lower_per_s, upper_per_s, .. } =
            search.result.outcome
        {
            let figure = figure.expect("it was found");
            let interval = figure.interval.expect("both bounds are known");
            assert_eq!(
                (figure.value, interval.low, interval.high),
                (Some(estimate_per_s), lower_per_s, upper_per_s)
            );
        } else {
            assert!(figure.is_none_or(|figure| figure.value.is_none() && figure.note.is_some()));
        }
    }
    assert_eq!((result.thresholds.len(), result.comparisons.len()), (2, 1));
    if result.thresholds.iter().any(|one| one.evaluated.outcome == ThresholdOutcome::Missed) {
        assert_eq!(output.code, Some(1), "{output:?}");
    }
    for name in ["one", "two"] {
        assert!(output.out.contains(&format!("search    {name}: ")), "{}", output.out);
    }
    let page = fs::read_to_string(Path::new(&out).join("report.html")).expect("a page");
    for part in
        ["id=\"cells-capacity\"", "id=\"searches\"", "id=\"chart-capacity-0-0\"", "id=\"chart-capacity-1-0\""]
    {
        assert!(page.contains(part), "{part}");
    }
    let markdown = fs::read_to_string(Path::new(&out).join("report.md")).expect("a report");
    assert!(
        markdown.contains("<details><summary>Every trial</summary>") && markdown.contains("| offered /s |")
    );
    compared_with_itself(&out);
}

/// Bounds that are the same overlap: no difference is seen, and none is denied. On a busy machine searches may be INVALID,
/// and those of a study are not compared then.
fn compared_with_itself(study: &str) {
    let result = report(Path::new(study));
    let invalid = result.cells.iter().filter(|cell| cell.runs[0].verdict == Verdict::Invalid).count();
    let file = Path::new(study).join(&result.cells[0].runs[0].file).display().to_string();
    let studies = prony(&["compare", study, study]);
    assert_eq!(studies.out.matches("not compared: ").count(), invalid, "{studies:?}");
    let files = prony(&["compare", "--a", &file, "--b", &file]);
    for (compared, least) in [(studies, result.cells.len() - invalid), (files, 1)] {
        let words = ["no difference seen", "NO VERDICT"];
        let outcomes: usize = words.iter().map(|word| compared.out.matches(word).count()).sum();
        assert!(outcomes >= least && !compared.out.contains("SLOWER"), "{compared:?}");
        assert!(matches!(compared.code, Some(0 | 3)), "{compared:?}");
    }
}

#[test]
fn ctrl_c_keeps_the_trials_of_a_search() {
    let folder = Folder::new("study-capacity-stopped");
    let file = folder.0.join("launch.toml");
    fs::write(&file, example()).expect("room");
    let results = folder.0.join("results");
    let mut child = command()
        .args(["study", &file.display().to_string(), "--output", &results.display().to_string()])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary was built");
    let stderr = BufReader::new(child.stderr.take().expect("it is piped"));
    let mut lines = stderr.lines().map(|line| line.expect("text"));
    let words = [" /s passed", " /s failed", " /s void"];
    let first = lines.find(|line| words.iter().any(|word| line.contains(word)));
    assert!(first.is_some(), "no trial came to an end");
    kill_process(Pid::from_child(&child), Signal::INT).expect("it runs");
    lines.for_each(drop);
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(130), "{output:?}");
    let partial: Vec<_> = fs::read_dir(results.join("partial")).expect("a folder").flatten().collect();
    assert_eq!((partial.len(), fs::read_dir(results.join("runs")).expect("a folder").count()), (1, 0));
    let stored =
        capacity_from_json(&fs::read_to_string(partial[0].path()).expect("a file")).expect("a search");
    assert!(stored.interrupted && !stored.trials.is_empty());
    let result = report(&results);
    let searches: Vec<_> = result.cells.iter().flat_map(|cell| &cell.searches).collect();
    assert!(searches.len() == 1 && searches[0].is_partial && searches[0].result == stored);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("stopped, and counts in no figure"), "{text}");
    assert!(fs::read_to_string(results.join("report.html")).expect("a page").contains("stopped, and counts"));
}

#[test]
fn a_search_that_can_find_nothing_is_refused_before_any_load() {
    let folder = Folder::new("study-capacity-refused");
    let file = folder.0.join("launch.toml");
    for (from, to, what) in [
        ("response.p50 < 50ms", "response.p50 > 50ms", "does not bound what grows worse"),
        ("response.p50 < 50ms", "response.p49 < 50ms", "`response.p49` is not a figure"),
        ("time = \"10m\"", "time = \"3s\"", "`time` must be 10s to 24h"),
        ("kind = \"capacity\"", "kind = \"capacity\"\nrate = 100", "a load of kind capacity has no `rate`"),
        ("slo = ", "# slo = ", "a capacity needs `slo`"),
    ] {
        fs::write(&file, example().replace(from, to)).expect("room");
        let results = folder.0.join("results");
        let words = [&file, &results].map(|path| path.display().to_string());
        let output = prony(&["study", &words[0], "--output", &words[1]]);
        assert_eq!((output.code, output.out.as_str()), (Some(2), ""), "{to}: {output:?}");
        assert!(output.err.contains(what), "{to}: {}", output.err);
        assert!(!results.exists(), "nothing was begun");
    }
}
