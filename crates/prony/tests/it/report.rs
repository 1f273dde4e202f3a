//! `prony report`: a stored run in every format, several runs together, and every file that can't be used.

use std::fs;
use std::io::Write as _;
use std::process::Stdio;

use prony_model::{Clock, from_json, to_json};
use serde_json::Value;

use crate::binary::{ProgramOutput, command, program_output, prony};
use crate::folder::Folder;
use crate::server::Server;

const STORED: &str = include_str!("stored.json");

/// Calls `prony report` with `words` in `folder`.
fn report(folder: &Folder, words: &[&str]) -> ProgramOutput {
    program_output(
        command().current_dir(&folder.0).arg("report").args(words).output().expect("the binary was built"),
    )
}

/// The stored run with one value replaced, as a file `name`.
fn edited(folder: &Folder, name: &str, pointer: &str, value: impl Into<Value>) {
    let mut stored: Value = serde_json::from_str(STORED).expect("JSON");
    *stored.pointer_mut(pointer).unwrap_or_else(|| panic!("{pointer} is there")) = value.into();
    fs::write(folder.0.join(name), stored.to_string()).expect("the folder can be written");
}

fn with_stored(name: &str) -> Folder {
    let folder = Folder::new(name);
    fs::write(folder.0.join("stored.json"), STORED).expect("the folder can be written");
    folder
}

/// What a run printed, and what is printed of its file, are the same.
#[test]
fn a_real_run_in_every_format() {
    let folder = Folder::new("report-formats");
    let server = Server::good();
    for format in ["text", "markdown", "json", "csv", "hgrm", "hlog", "html"] {
        let file = format!("{format}.json");
        let path = folder.0.join(&file).display().to_string();
        let run = prony(&[
            &server.url,
            "-n",
            "200",
            "-c",
            "2",
            "-o",
            format,
            "--json",
            &path,
            "--target-commit",
            "v7",
        ]);
        assert!(run.is_measured(), "{run:?}");
        let again = report(&folder, &[&file, "-o", format]);
        assert_eq!((again.code, again.err.as_str()), (Some(0), ""), "{again:?}");
        if format == "csv" {
            // Only the report knows the file.
            assert_eq!(again.out.replace(&format!("\n{file},"), "\n,"), run.out);
        } else {
            assert!(again.out == run.out, "{format}: {}\n{}", again.out, run.out);
        }
        assert!(!again.out.is_empty());
    }
    let text = fs::read_to_string(folder.0.join("text.json")).expect("it was kept");
    let result = from_json(&text).expect("a result");
    assert_eq!(result.target_commit.as_deref(), Some("v7"));
    assert_eq!(result.check(), []);
    assert_eq!(
        prony_model::since_1970(&result.timing.started_at).map(|moment| moment.as_nanos() % 1_000_000),
        Some(0)
    );
    assert_eq!(result.environment.fingerprint().len(), 16);
    // A build from a git checkout names its commit in both places.
    let version = prony(&["--version"]).out;
    let commit = version.split_once('(').map(|(_, rest)| rest.trim_end().trim_end_matches(')').to_owned());
    assert_eq!(result.environment.prony_commit, commit);
    assert!(report(&folder, &["text.json", "-o", "markdown"]).out.contains("| target | v7 |"));
}

#[test]
fn stdin_and_a_clock() {
    let folder = with_stored("report-stdin");
    let mut child = command()
        .args(["report", "-", "-o", "json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary was built");
    child.stdin.take().expect("a pipe").write_all(STORED.as_bytes()).expect("it is read");
    let output = program_output(child.wait_with_output().expect("the child ends"));
    assert_eq!((output.code, output.err.as_str()), (Some(0), ""));
    assert_eq!(output.out, to_json(&from_json(STORED).expect("a result")));
    for clock in Clock::ALL {
        let output = report(&folder, &["stored.json", "-o", "hgrm", "--clock", clock.name()]);
        assert_eq!(output.code, Some(0), "{output:?}");
        assert!(
            output.out.starts_with("       Value     Percentile TotalCount 1/(1-Percentile)\n\n"),
            "{output:?}"
        );
    }
}

#[test]
fn several_runs_and_what_they_say_together() {
    let folder = with_stored("report-together");
    edited(&folder, "late.json", "/timing/started_at", "2026-01-02T03:04:08.878Z");
    edited(&folder, "other.json", "/target_commit", "v2");
    let overlap = "stored.json and late.json loaded the same server and overlapped 51.5 % of their time";
    let text = report(&folder, &["stored.json", "late.json"]);
    assert_eq!((text.code, text.err.as_str()), (Some(0), ""), "{text:?}");
    assert!(
        text.out.starts_with("stored.json\n\nGET ") && text.out.contains("\nlate.json\n\nGET "),
        "{text:?}"
    );
    let flat = text.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains(&format!("warning {overlap}")) && flat.contains("prony explain overlap"), "{flat}");
    let markdown = report(&folder, &["stored.json", "late.json", "-o", "markdown"]);
    assert!(markdown.out.contains(&format!("\n- {overlap}")), "{markdown:?}");
    // What other tools read stays clean.
    let csv = report(&folder, &["stored.json", "late.json", "-o", "csv"]);
    assert!(!csv.out.contains("overlapped") && csv.err.contains("51.5 %"), "{csv:?}");
    assert_eq!(csv.out.matches("file,started_at").count(), 1);
    let single = report(&folder, &["stored.json", "other.json"]);
    assert!(single.out.contains("n = 1 for each of 2 variants"), "{single:?}");
}

/// One bad file among good ones: nothing is printed but what is wrong with it.
fn refused(folder: &Folder, file: &str, expected: &str) {
    let output = report(folder, &["stored.json", file]);
    assert_eq!((output.code, output.out.as_str()), (Some(2), ""), "{output:?}");
    assert!(output.err.starts_with(&format!("error: {expected}")), "{expected}\n{}", output.err);
}

/// What a command printed, and what is printed of its file, are the same.
#[test]
fn commands_and_probes_can_be_printed_again() {
    let folder = with_stored("report-others");
    let server = Server::good();
    let file = |name: &str| folder.0.join(name).display().to_string();
    let printed = [
        ("exec.json", prony(&["exec", "--runs", "3", "-N", "--json", &file("exec.json"), "true"])),
        ("probe.json", prony(&["probe", &server.url, "--json", &file("probe.json")])),
    ];
    for (name, first) in &printed {
        assert!(first.is_measured(), "{first:?}");
        let again = report(&folder, &[name]);
        assert_eq!((again.code, &again.out), (Some(0), &first.out), "{again:?}");
        let stored = fs::read_to_string(folder.0.join(name)).expect("it was written");
        assert_eq!(report(&folder, &[name, "-o", "json"]).out, stored);
        let csv = report(&folder, &[name, "-o", "csv"]);
        assert_eq!(csv.code, Some(2), "{csv:?}");
        assert!(
            csv.err.starts_with("error: csv is a format of runs, and not all of these are runs"),
            "{csv:?}"
        );
    }
    let all = report(&folder, &["exec.json", "stored.json", "probe.json"]);
    assert_eq!(all.code, Some(0), "{all:?}");
    assert!(all.out.starts_with("exec.json\n") && all.out.contains("\nprobe.json\n"), "{all:?}");
}

/// What Prony writes as k6 would, it reads as k6's.
#[test]
fn a_summary_for_k6_comes_back_with_its_figures() {
    let folder = with_stored("report-k6");
    let k6 = report(&folder, &["stored.json", "-o", "k6-summary"]);
    assert_eq!((k6.code, k6.err.as_str()), (Some(0), ""), "{k6:?}");
    fs::write(folder.0.join("k6.json"), &k6.out).expect("it can be written");
    let back = report(&folder, &["k6.json", "-o", "json"]);
    assert_eq!(back.code, Some(0), "{back:?}");
    let back: serde_json::Value = serde_json::from_str(&back.out).expect("JSON");
    let stored = prony_model::from_json(STORED).expect("a result");
    let series = &back["series"][0];
    assert_eq!(back["tool"], "k6", "{back}");
    assert_eq!(series["done"], stored.requests.done);
    assert_eq!(series["failed"], stored.requests.failed);
    assert_eq!(series["duration_s"], stored.timing.measured_s);
    let service = &stored.latency.service;
    for (name, expected) in
        [("min_ms", service.min_ms), ("mean_ms", service.mean_ms), ("max_ms", service.max_ms)]
    {
        assert_eq!(series[name], serde_json::json!(expected), "{name}");
    }
    let several = report(&folder, &["stored.json", "stored.json", "-o", "k6-summary"]);
    assert_eq!(several.code, Some(2), "{several:?}");
    assert!(several.err.starts_with("error: -o k6-summary is of one run"), "{several:?}");
}

#[test]
fn files_that_are_no_results() {
    let folder = with_stored("report-bad");
    let write = |name: &str, text: &[u8]| fs::write(folder.0.join(name), text).expect("it can be written");
    write("cut.json", &STORED.as_bytes()[..STORED.len() / 2]);
    write("empty.json", b" \n");
    write("binary.json", &[0xff, 0xfe, 0]);
    write("list.json", b"[1, 2]");
    write("foreign.json", b"{\"metrics\": {}}");
    write("exec.json", b"{\"format\": \"prony.exec\", \"version\": 1}");
    write("probe.json", b"{\"version\": 1, \"format\": \"prony.probe\"}");
    write("short.json", b"{\"format\": \"prony.run\", \"version\": 1}");
    let deep = format!(
        "{{\"format\": \"prony.run\", \"version\": 1, \"x\": {}1{}}}",
        "[".repeat(100_000),
        "]".repeat(100_000)
    );
    write("deep.json", deep.as_bytes());
    fs::create_dir(folder.0.join("folder")).expect("it can be made");
    edited(&folder, "newer.json", "/version", 2);
    refused(&folder, "cut.json", "cut.json can't be used: not JSON, or cut short (line ");
    refused(&folder, "empty.json", "empty.json is empty");
    refused(&folder, "binary.json", "binary.json is not text");
    refused(&folder, "list.json", "list.json can't be used: not a result of prony");
    refused(&folder, "foreign.json", "foreign.json can't be used: not a result of prony");
    refused(&folder, "exec.json", "exec.json can't be used: it says that it is a result of prony, but");
    refused(&folder, "probe.json", "probe.json can't be used: it says that it is a result of prony, but");
    refused(&folder, "short.json", "short.json can't be used: it says that it is a result of prony, but");
    refused(&folder, "deep.json", "deep.json can't be used: it says that it is a result of prony, but");
    refused(
        &folder,
        "folder",
        "folder is a directory\n       name the files in it: prony report folder/*.json",
    );
    refused(&folder, "newer.json", "newer.json can't be used: its version is 2 and this prony reads 1");
    refused(&folder, "absent.json", "can't read absent.json (No such file");
    refused(&folder, "-", "stdin is empty");
}

#[test]
fn damaged_and_hostile_distributions() {
    let folder = with_stored("report-damaged");
    let data = "/histograms/response/data";
    edited(&folder, "letters.json", data, "no base64");
    edited(&folder, "cut.json", data, "HISTFAAAA");
    edited(&folder, "count.json", "/histograms/response/count", 21);
    refused(&folder, "letters.json", "letters.json: the histogram of response is damaged: failed to read");
    refused(&folder, "cut.json", "cut.json: the histogram of response is damaged: failed to read");
    refused(&folder, "count.json", "count.json: the histogram of response holds 20 values and says 21");
}

#[test]
fn results_that_were_edited() {
    let folder = with_stored("report-edited");
    edited(&folder, "faster.json", "/latency/response/quantiles_ms/0.5", 0.000_1);
    edited(&folder, "more.json", "/requests/done", 40);
    let what = "faster.json contradicts itself: of response, min is ";
    refused(&folder, "faster.json", what);
    refused(
        &folder,
        "more.json",
        "more.json contradicts itself: intended is 20, and done, failed, censored and",
    );
    let forced = report(&folder, &["faster.json", "--force"]);
    assert_eq!(forced.code, Some(0), "{forced:?}");
    assert!(
        forced.err.starts_with(&format!("warning: {what}")) && forced.out.contains("SUCCESS"),
        "{forced:?}"
    );
}

#[test]
fn what_does_not_fit_together() {
    let folder = with_stored("report-usage");
    let check = |words: &[&str], expected: &str| {
        let output = report(&folder, words);
        assert_eq!((output.code, output.out.as_str()), (Some(2), ""), "{output:?}");
        assert!(output.err.starts_with(&format!("error: {expected}\n")), "{output:?}");
    };
    check(
        &["stored.json", "stored.json", "-o", "hgrm"],
        "-o hgrm is one distribution, and there are several files",
    );
    check(&["stored.json", "stored.json", "-o", "html"], "-o html is one page, and there are several files");
    check(&["stored.json", "--clock", "lag", "-o", "html"], "--clock chooses the distribution of -o hgrm");
    check(&["stored.json", "--clock", "lag"], "--clock chooses the distribution of -o hgrm");
    check(&["stored.json", "--clock", "wall"], "`wall` can't be the value of --clock");
    check(&["-", "-"], "stdin can be read once only");
    check(&["stored.json", "-o", "xml"], "`xml` can't be the value of --output");
    check(&[], "<FILE>... is missing");
}

/// What another tool printed, in a file.
fn with_foreign(name: &str) -> Folder {
    let folder = Folder::new(name);
    let data = concat!(env!("CARGO_MANIFEST_DIR"), "/../prony-import/tests/data/reports");
    for file in ["wrk.txt", "wrk2.txt", "ab.txt", "locust.csv", "hyperfine.json"] {
        fs::copy(format!("{data}/{file}"), folder.0.join(file)).expect("room");
    }
    folder
}

#[test]
fn reports_of_other_tools_are_printed_with_what_they_cannot_say() {
    let folder = with_foreign("report-foreign");
    let shown = |words: &[&str], parts: &[&str]| {
        let output = report(&folder, words);
        assert_eq!((output.code, output.err.as_str()), (Some(0), ""), "{output:?}");
        for part in parts {
            assert!(output.out.contains(part), "{part}: {output:?}");
        }
        output.out
    };
    let text = shown(
        &["wrk.txt"],
        &["as wrk reported", "36,816 responses", "17,236 /s", "0.094", "17.2", "service time", "adds times"],
    );
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    shown(&["wrk2.txt"], &["response time: from when a request was due"]);
    shown(&["locust.csv", "-o", "markdown"], &["GET b, with a comma", "Aggregated", "| p99.9 |"]);
    shown(&["ab.txt", "hyperfine.json"], &["ab.txt\n", "hyperfine.json\n", "sleep 0.01", "wall-clock"]);
    let json = shown(&["ab.txt", "-o", "json"], &["\"prony.external\""]);
    fs::write(folder.0.join("stored.json"), json).expect("room");
    shown(&["stored.json"], &["as ab reported"]);
    let broken =
        fs::read_to_string(folder.0.join("wrk.txt")).expect("it is there").replace("94.00us", "fast");
    fs::write(folder.0.join("broken.txt"), broken).expect("room");
    fs::write(folder.0.join("stored.json"), STORED).expect("room");
    refused(
        &folder,
        "broken.txt",
        "broken.txt can't be used: it is a report of wrk, and `fast` is no time span",
    );
}

#[test]
fn reports_of_other_tools_are_compared_without_a_verdict() {
    let folder = with_foreign("compare-foreign");
    fs::write(folder.0.join("own.json"), STORED).expect("room");
    let compare = |words: &[&str]| {
        let words = [&["compare"], words].concat();
        program_output(command().args(words).current_dir(&folder.0).output().expect("it was built"))
    };
    let output = compare(&["wrk.txt", "own.json"]);
    assert_eq!((output.code, output.err.as_str()), (Some(0), ""), "{output:?}");
    for part in ["no verdict: a report holds", "B / A", "rate /s", "service time", "of A: whether the client"]
    {
        assert!(output.out.contains(part), "{part}: {output:?}");
    }
    // wrk2 and ab begin their times at different moments.
    let output = compare(&["ab.txt", "wrk2.txt", "-o", "markdown"]);
    assert!(output.out.contains("- warning: the times are not the same"), "{output:?}");
    let output = compare(&["locust.csv", "ab.txt"]);
    assert!(output.out.contains("Aggregated"), "{output:?}");
    let refused = |words: &[&str], part: &str| {
        let output = compare(words);
        assert!(output.code == Some(2) && output.err.contains(part), "{part}: {output:?}");
    };
    refused(&["wrk.txt", "own.json", "--fail-if", "slower:5%"], "need a verdict");
    refused(&["wrk.txt", "own.json", "--json", "both.json"], "need a verdict");
    refused(&["hyperfine.json", "wrk.txt"], "reports on 2 things");
}
