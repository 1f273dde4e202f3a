//! The example repository from its script to its verdicts: a build, a second one that is slower, both against each other.

use std::process::Command;

use prony_lab::Moment;
use prony_lab::model::{
    AdHocLoad, BuildDetail, BuildKind, BuildState, BuildVerdict, NewBuild, Priority, TaskKind, TaskState,
};
use prony_model::{StudyMetric, StudyResult, study_from_json};

use super::checkout::git;
use super::worker::Bench;
use crate::folder::Folder;
use crate::server::Server;

/// A lab with the example as its project, which is at its first commit.
fn bench(name: &str) -> Bench {
    let folder = Folder::new(&format!("lab-tiny-{name}"));
    let repository = folder.0.join("tiny");
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/make-tiny-repository");
    let made = Command::new(script).arg(&repository).output().expect("there is a sh");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let definition = String::from_utf8(made.stdout).expect("text");
    git(&repository, &["reset", "--quiet", "--hard", "fast"]);
    Bench::with(folder, repository, &definition)
}

fn report(bench: &Bench, build: &BuildDetail) -> StudyResult {
    let text = bench.lab().file(build.build.id, "report.json").expect("read").expect("it was taken in");
    study_from_json(std::str::from_utf8(&text).expect("text")).expect("a study")
}

/// Whether some numbers of a build may be used; on a busy machine it can be that none may, and then it has to say so.
fn has_numbers(bench: &Bench, build: &BuildDetail) -> bool {
    let result = report(bench, build);
    if result.verdict == prony_model::Verdict::Invalid {
        assert_eq!(build.build.state, BuildState::Degraded, "{build:#?}");
    }
    result.cells[0].figures.iter().any(|figure| figure.value.is_some())
}

#[test]
fn a_slower_build_is_found_out() {
    let bench = bench("slower");
    let first = bench.finished(bench.submit(|_| ()));
    assert!(matches!(first.build.state, BuildState::Completed | BuildState::Degraded), "{first:#?}");
    let names: Vec<_> = first.tasks.iter().map(|task| task.name.as_str()).collect();
    assert_eq!(names, ["checkout", "compile", "test", "study"]);
    assert!(first.tasks.iter().all(|task| task.state == TaskState::Success), "{first:#?}");
    assert_eq!(bench.output(&first, "test"), "1 test passed\n");
    assert!(
        bench.output(&first, "study").contains("10 of 10 · tiny · closed · repeat 10"),
        "its progress is the log"
    );
    assert_eq!(report(&bench, &first).cells[0].runs.len(), 10);
    let files = bench.lab().files(first.build.id).expect("read");
    for name in ["report.html", "report.md", "study.toml", "runs/"] {
        let found = files.iter().find(|file| file.0.starts_with(name));
        assert!(found.is_some_and(|(_, bytes)| *bytes > 0), "{name}: {files:?}");
    }
    // The second commit adds up twice as much.
    git(&bench.repository, &["reset", "--quiet", "--hard", "slow"]);
    let second = bench.finished(bench.submit(|_| ()));
    let verdicts = [&first, &second].map(|build| build.build.verdict.expect("a verdict"));
    let reason = second.build.reason.as_deref().unwrap_or_default();
    match has_numbers(&bench, &first).then(|| has_numbers(&bench, &second)) {
        None => assert_eq!((verdicts[0], second.baseline), (BuildVerdict::Invalid, None)),
        Some(false) => assert_eq!(verdicts, [BuildVerdict::NoBaseline, BuildVerdict::Invalid]),
        Some(true) => {
            assert_eq!((verdicts[0], second.baseline), (BuildVerdict::NoBaseline, Some(first.build.id)));
            let log = bench.output(&second, "study");
            let (_, compared) = log.split_once("\ncompared with build 1:\n").expect("it says so");
            // Two of `prony compare`'s words; an error has neither.
            assert!(compared.contains("tiny · closed") && !compared.contains("error:"), "{compared}");
            assert!(reason.contains("build 1"), "{reason}");
            let comparison = bench.lab().file(second.build.id, "comparison.json").expect("read");
            assert!(comparison.is_some_and(|bytes| bytes.starts_with(b"[")), "it is kept");
            // With too few pairs of runs that are valid there is no verdict.
            let slower = "tiny · closed: rate slower, −";
            let is_slower = verdicts[1] == BuildVerdict::Slower && reason.starts_with(slower);
            assert!(is_slower || verdicts[1] == BuildVerdict::TooNoisy, "{second:#?}");
        }
    }
    assert_eq!(bench.left(), [""; 0]);
}

#[test]
fn two_commits_are_measured_in_turn() {
    let bench = bench("turns");
    let id =
        bench.submit(|request| (request.base, request.reference) = ("fast".to_owned(), "slow".to_owned()));
    let build = bench.finished(id);
    assert!(matches!(build.build.state, BuildState::Completed | BuildState::Degraded), "{build:#?}");
    assert_eq!(build.build.kind, BuildKind::Comparison);
    let [base, commit] = ["fast", "slow"].map(|name| git(&bench.repository, &["rev-parse", name]));
    assert_eq!(build.build.commit.as_deref(), Some(commit.as_str()));
    assert_eq!(
        bench.output(&build, "test"),
        format!("in {base}\n1 test passed\nin {commit}\n1 test passed\n")
    );
    let result = report(&bench, &build);
    assert_eq!((result.cells.len(), result.comparisons.len(), result.repeats), (2, 1, 10));
    assert_eq!(result.comparisons[0].title, format!("tiny: {} against {}", &commit[..10], &base[..10]));
    let verdict = build.build.verdict.expect("a verdict");
    let is_measured = result.cells.iter().all(|cell| {
        cell.runs.iter().filter(|run| run.verdict != prony_model::Verdict::Invalid).count() == cell.runs.len()
    });
    if is_measured {
        assert_eq!(verdict, BuildVerdict::Slower, "{build:#?}");
    } else {
        assert_ne!(verdict, BuildVerdict::Faster, "{build:#?}");
    }
    // Both sides of the only comparison are what they are called. CPU time, as a busy machine changes rates by more.
    let cpu = |name: &str| {
        let cell = result.cells.iter().find(|cell| cell.name.contains(name)).expect("a cell");
        let mut times: Vec<f64> = cell
            .runs
            .iter()
            .filter_map(|run| run.figures.get(&StudyMetric::CpuPerRequest).copied())
            .collect();
        assert_eq!(times.len(), 10, "{cell:#?}");
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    };
    assert!(cpu("after") > 1.3 * cpu("before"), "{} {}", cpu("before"), cpu("after"));
}

#[test]
fn a_load_by_itself_is_measured_and_kept() {
    let bench = Bench::new("load", "[[task]]\nname = \"none\"\ncommand = \"true\"\n");
    let server = Server::good();
    let load = AdHocLoad {
        url: server.url.clone(),
        connections: 2,
        rate_per_s: Some(200.0),
        duration_s: 0.5,
        agents: None,
    };
    let new = NewBuild {
        kind: BuildKind::Load,
        project: None,
        reference: load.url.clone(),
        base: None,
        variant: None,
        tasks: vec![("load".to_owned(), TaskKind::Load, load.url.clone())],
        load: Some(load),
        email: None,
        priority: Priority::Normal,
        requested_by: "kim".to_owned(),
        requested_at: Moment(0),
        expires_at: Moment(i64::MAX),
    };
    let id = bench.lab().accept(new).expect("accepted");
    let build = bench.finished(id);
    assert!(matches!(build.build.state, BuildState::Completed | BuildState::Degraded), "{build:#?}");
    let text = bench.lab().file(id, "run.json").expect("read").expect("kept");
    let result = prony_model::from_json(std::str::from_utf8(&text).expect("text")).expect("a run");
    assert!(result.requests.intended > 50, "{:?}", result.requests);
    assert!(bench.output(&build, "load").contains("rate"), "its report is the log");
}
