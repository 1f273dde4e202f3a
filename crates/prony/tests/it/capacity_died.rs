//! Servers that die or stand still in the middle of a search for their capacity. That is no evidence that they were overloaded,
//! whatever a busy machine lets the search find otherwise.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::thread;
use std::time::Duration;

use prony_model::{
    CapacityLimit, CapacityOutcome, CapacityResult, FindingCode, TrialOutcome, capacity_from_json,
    study_from_json,
};
use rustix::process::{Pid, Signal, kill_process};

use crate::binary::command;
use crate::fleet::Process;
use crate::folder::Folder;

/// Objectives that no load misses which the server answers at all.
const EASY: [&str; 2] = ["response.p50 < 5s", "50%"];
/// From the end of one trial well into the next one.
const INTO_TRIAL: Duration = Duration::from_secs(1);

/// A process whose stderr is read.
fn started(mut words: Command) -> Process<ChildStderr> {
    let mut child = words
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary was built");
    let lines = BufReader::new(child.stderr.take().expect("a pipe"));
    Process { child, lines }
}

/// Waits until a trial is over, and the next one has begun.
fn await_trial(search: &mut Process<ChildStderr>) {
    loop {
        let mut line = String::new();
        assert!(search.lines.read_line(&mut line).expect("text") > 0, "no trial came to an end");
        if [" /s passed", " /s void", " /s failed"].iter().any(|end| line.contains(end)) {
            break;
        }
    }
    thread::sleep(INTO_TRIAL);
}

fn code(mut search: Process<ChildStderr>) -> (Option<i32>, String) {
    let mut rest = String::new();
    search.lines.read_to_string(&mut rest).expect("text");
    (search.child.wait().expect("it ended").code(), rest)
}

/// One worker of 10 ms, in a process of its own.
fn queue_server() -> (Process<std::process::ChildStdout>, String) {
    let mut serve = command();
    let child = serve.args(["serve", "queue", "--workers", "1", "--port", "0"]);
    let mut child: Child = child.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it starts");
    let lines = BufReader::new(child.stdout.take().expect("a pipe"));
    let mut server = Process { child, lines };
    let line = server.await_line("http://");
    let url = line[line.find("http://").expect("a URL")..].split_whitespace().next().expect("a word");
    let url = url.trim_end_matches([',', ';']).to_owned();
    (server, url)
}

fn search(url: &str, file: &Path, time: &str) -> Process<ChildStderr> {
    let mut search = command();
    search.args(["capacity", url, "--slo", EASY[0], "--errors", EASY[1], "--from", "10", "--to", "40"]);
    search.args(["--trial", "3s", "--time", time, "--json"]).arg(file);
    started(search)
}

fn stored(file: &Path) -> CapacityResult {
    capacity_from_json(&fs::read_to_string(file).expect("a file")).expect("a search")
}

/// The last trial is void because the server was gone, and nothing bounds the capacity from above.
fn check_gone(result: &CapacityResult) {
    let last = result.trials.last().expect("a trial");
    assert_eq!(last.outcome, TrialOutcome::Void, "{last:?}");
    assert!(last.reason.contains("the server was gone"), "{last:?}");
    let is_known_to_be_gone = matches!(
        result.outcome,
        CapacityOutcome::AtLeast { limit: CapacityLimit::Server, .. } | CapacityOutcome::Unknown { .. }
    );
    assert!(is_known_to_be_gone, "{:?}", result.outcome);
    assert!(result.findings.iter().any(|finding| finding.code == FindingCode::NotRecovered));
}

#[test]
fn a_server_that_is_killed_in_a_trial_was_not_overloaded() {
    let (mut server, url) = queue_server();
    let folder = Folder::new("capacity-killed");
    let file = folder.0.join("capacity.json");
    let mut searching = search(&url, &file, "2m");
    await_trial(&mut searching);
    server.kill();
    let (code, text) = code(searching);
    let result = stored(&file);
    check_gone(&result);
    // 0: a lower bound is known; 3 and 4: nothing is.
    let expected = match result.outcome {
        CapacityOutcome::AtLeast { .. } => [0, 3],
        _ => [4, 4],
    };
    assert!(code.is_some_and(|code| expected.contains(&code)), "{code:?} {text}");
}

#[test]
fn a_server_that_stands_still_for_ten_seconds_is_waited_for() {
    let (server, url) = queue_server();
    let folder = Folder::new("capacity-stopped");
    let file = folder.0.join("capacity.json");
    let mut searching = search(&url, &file, "1m");
    await_trial(&mut searching);
    kill_process(server.pid(), Signal::STOP).expect("it runs");
    thread::sleep(Duration::from_secs(10));
    kill_process(server.pid(), Signal::CONT).expect("it is stopped");
    let (code, text) = code(searching);
    assert!(matches!(code, Some(0 | 3)), "{code:?} {text}");
    let result = stored(&file);
    assert!(!result.findings.iter().any(|finding| finding.code == FindingCode::NotRecovered), "{result:?}");
    assert!(!result.trials.iter().any(|trial| trial.reason.contains("the server was gone")), "{result:?}");
    assert!(!matches!(result.outcome, CapacityOutcome::Below { .. }), "{:?}", result.outcome);
    assert!(result.trials.len() > 2, "the search went on: {result:?}");
}

#[test]
fn a_study_goes_on_after_a_target_that_dies_in_its_search() {
    let folder = Folder::new("study-search-killed");
    let serve = format!("{} serve queue --workers 1 --port", command().get_program().display());
    let text = format!(
        "seed = 1\norder = \"sequential\"\npause = \"0\"\n\
         [targets.dies]\ncommand = 'sh -c \"echo $$ > dies.pid; exec {serve} {{port}}\"'\n\
         [targets.lives]\nserve = \"queue --workers 1\"\n\
         [loads.search]\nkind = \"capacity\"\nslo = \"{}\"\nerrors = \"{}\"\nfrom = 10\nto = 20\ntrial = \"3s\"\n\
         time = \"50s\"\n",
        EASY[0], EASY[1]
    );
    fs::write(folder.0.join("killed.toml"), text).expect("room");
    let mut study = command();
    study.current_dir(&folder.0).args(["study", "killed.toml"]);
    let mut study = started(study);
    await_trial(&mut study);
    let pid = fs::read_to_string(folder.0.join("dies.pid")).expect("the target wrote it");
    let pid = Pid::from_raw(pid.trim().parse().expect("a number")).expect("a process");
    kill_process(pid, Signal::KILL).expect("it runs");
    let (code, text) = code(study);
    assert_eq!(code, Some(4), "{text}");
    let results = folder.0.join("killed.study");
    let report = fs::read_to_string(results.join("report.json")).expect("a report");
    let report = study_from_json(&report).expect("a study");
    assert_eq!(report.failures.len(), 1, "{:?}", report.failures);
    let [dead, alive] = report.cells.as_slice() else { panic!("two cells: {:?}", report.cells.len()) };
    assert!(report.failures[0].why.contains("dies"), "{:?}", report.failures);
    assert!(dead.runs.is_empty() && dead.searches.len() == 1 && dead.searches[0].is_partial, "{dead:?}");
    check_gone(&dead.searches[0].result);
    assert_eq!(stored(&results.join(&dead.searches[0].file)), dead.searches[0].result);
    assert!(dead.figures.is_empty(), "it counts in no figure: {:?}", dead.figures);
    assert!(alive.runs.len() == 1 && !alive.searches[0].is_partial, "the study went on: {text}");
    let page = fs::read_to_string(results.join("report.md")).expect("a report");
    assert!(page.contains("the server was gone"), "{page}");
}
