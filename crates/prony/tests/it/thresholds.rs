//! Thresholds by the binary: exit codes, reports, early ends, and the examples of docs/thresholds.md.

use std::fs;

use prony_model::{Threshold, ThresholdOutcome, Verdict};
use rustix::process::Signal;

use crate::binary::{ProgramOutput, command, program_output, prony};
use crate::folder::Folder;
use crate::server::Server;
use crate::servers::Served;

const DOCUMENT: &str = include_str!("../../../../docs/thresholds.md");

/// Whether a busy machine made the run invalid, as it should be then: its code is 3, whatever is required.
fn is_invalid(output: &ProgramOutput) -> bool {
    output.code == Some(3) && output.out.contains("INVALID")
}

fn rudy() -> Served {
    Served::start(&["rudy", "--model", "async", "--delay", "5ms", "--keepalive"])
}

#[test]
fn outcomes_are_reported_and_decide_the_exit_code() {
    let served = rudy();
    let check = |words: &[&str], code: i32, expected: &str| {
        let load = [served.url.as_str(), "-n", "200", "-c", "4"];
        let output = prony(&[&load[..], words].concat());
        if is_invalid(&output) {
            return;
        }
        assert_eq!(output.code, Some(code), "{words:?}: {output:?}");
        assert!(output.out.contains(expected), "{words:?}: {output:?}");
        assert!(output.err.is_empty(), "{output:?}");
    };
    check(&["--threshold", "response.p50 > 1ms"], 0, "\nmet       response.p50 > 1ms: ");
    check(&["--threshold", "p50 < 1ms"], 1, "\nMISSED    response.p50 < 1ms: ");
    check(&["--fail-if", "p50 > 1ms"], 1, "\nMISSED    response.p50 <= 1ms: ");
    check(&["--fail-if", "errors > 0.1%"], 0, "\nmet       errors <= 0.1%: 0 %, n = 200");
    check(&["--threshold", "response.p99.99 < 1s"], 3, "\nUNDECIDED response.p99.99 < 1s: ");
    check(&["--threshold", "response.p99.99 < 1s", "--allow-undecided"], 0, "\nUNDECIDED ");
    let both = ["--threshold", "response.p99.99 < 1s", "--threshold", "errors > 0"];
    check(&both, 1, "\nMISSED    errors > 0: 0 %");
    check(
        &["--threshold", "requests == 200", "--threshold", "verdict != invalid"],
        0,
        "met       requests == 200: 200",
    );
    served.end(Signal::TERM);
}

#[test]
fn mistakes_say_where_and_what_to_try() {
    let check = |threshold: &str, expected: &str| {
        let output = prony(&["127.0.0.1:1", "--threshold", threshold]);
        assert_eq!((output.code, output.err.as_str()), (Some(2), expected), "{output:?}");
    };
    check(
        "respons.p99 < 1ms",
        "error: --threshold `respons.p99` is not a figure\n       did you mean `response.p99`?\n",
    );
    check(
        "response.p99 < 50",
        "error: --threshold `50` has no unit, and a time needs one (column 16)\n       write it as 50ms or 1.5s\n",
    );
    let nothing = prony(&["127.0.0.1:1", "--abort-early", "--threshold", "p99 < 1s"]);
    assert!(nothing.code == Some(2) && nothing.err.contains("--abort-early has no threshold"), "{nothing:?}");
}

/// The first failure ends a run of an hour; the report has what was measured, and why it ended.
#[test]
fn a_run_ends_when_a_threshold_is_lost() {
    let server = Server::answering(|stream, number| {
        use std::io::Write as _;
        let status = if number == 20 { "500 Oh No" } else { "200 OK" };
        stream.write_all(format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n").as_bytes())
    });
    let load = [server.url.as_str(), "-c", "1", "-d", "1h", "--warmup", "0", "--abort-early"];
    let output = prony(
        &[&load[..], &["--threshold", "errors == 0", "--threshold", "p50 < 1h", "-o", "json"]].concat(),
    );
    assert_eq!(output.code, Some(1), "{output:?}");
    let result = prony_model::from_json(&output.out).expect("a result");
    assert!(result.timing.interrupted && result.requests.failed >= 1 && result.requests.done >= 20);
    assert_eq!(result.timing.ended_early_because.as_deref(), Some("errors == 0 can't be met any more"));
    assert!(result.check().is_empty(), "{:?}", result.check());
    let outcomes: Vec<_> = result.thresholds.iter().map(|threshold| threshold.outcome).collect();
    assert_eq!(outcomes, [ThresholdOutcome::Missed, ThresholdOutcome::Undecided]);
    assert!(output.err.starts_with("MISSED errors == 0: "), "{output:?}");

    let server = Server::not_found();
    let load = [server.url.as_str(), "-c", "1", "-d", "1h", "--warmup", "0", "--abort-early"];
    let text = prony(&[&load[..], &["--fail-if", "status.4xx > 0"]].concat());
    assert_eq!(text.code, Some(1), "{text:?}");
    // A terminal's lines break anywhere.
    let words = text.out.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in
        ["ended early after", "status.4xx <= 0 can't be met any more", "MISSED status.4xx <= 0: 100 %"]
    {
        assert!(words.contains(part), "{part}: {text:?}");
    }
}

#[test]
fn without_the_flag_a_run_goes_on() {
    let server = Server::not_found();
    let output = prony(&[&server.url, "-n", "50", "-c", "1", "--threshold", "errors == 0", "-o", "json"]);
    let result = prony_model::from_json(&output.out).expect("a result");
    assert_eq!(
        (output.code, result.requests.intended),
        (Some(4), 50),
        "no answer was good: {:?}",
        result.thresholds
    );
    assert_eq!(result.thresholds[0].outcome, ThresholdOutcome::Missed);
}

/// What was required stays with the result, and a stored result can be required to meet something else.
#[test]
fn stored_results_are_evaluated_again() {
    let (folder, served) = (Folder::new("thresholds-stored"), rudy());
    let file = folder.0.join("result.json").to_string_lossy().into_owned();
    let load = [served.url.as_str(), "-n", "200", "-c", "4", "--json", &file];
    prony(&[&load[..], &["--threshold", "errors == 0", "--threshold", "p99.9 < 1s"]].concat());
    let text = fs::read_to_string(&file).expect("it is kept");
    let invalid = prony_model::from_json(&text).expect("a result").verdict == Verdict::Invalid;
    let junit = prony(&["report", &file, "-o", "junit"]);
    assert_eq!((junit.code, junit.out.matches("<testcase ").count()), (Some(0), 3), "{junit:?}");
    let markdown = prony(&["report", &file, "-o", "markdown"]);
    assert!(markdown.out.contains("| `errors == 0` | 0 % |"), "{markdown:?}");
    let other = prony(&["report", &file, "--threshold", "errors > 0"]);
    assert_eq!(other.code, Some(1), "{other:?}");
    assert!(
        other.out.contains("MISSED    errors > 0: 0 %") && !other.out.contains("errors == 0"),
        "{other:?}"
    );
    let undecided = prony(&["report", &file, "--threshold", "response.p99.99 < 1s", "-o", "csv"]);
    assert_eq!(undecided.code, Some(3), "{undecided:?}");
    let met = prony(&["report", &file, "--fail-if", "errors > 0"]);
    assert_eq!(met.code, Some(if invalid { 3 } else { 0 }), "{met:?}");
    served.end(Signal::TERM);
}

#[test]
fn a_study_with_thresholds_in_both_forms() {
    let folder = Folder::new("thresholds-study");
    let text = r#"
name = "both"
seed = 1
thresholds = ["errors == 0", "response.p99.99 < 1h"]
[targets.it]
serve = "null"
[loads.load]
connections = 1
duration = "100ms"
warmup = "0"
[[threshold]]
metric = "p50"
at-least = "1ns"
[[threshold]]
where = { load = "load" }
require = "requests < 1"
"#;
    fs::write(folder.0.join("study.toml"), text).expect("room");
    let study = |words: &[&str]| {
        let mut study = command();
        study.current_dir(&folder.0).args(["study", "study.toml", "--quiet"]).args(words);
        program_output(study.output().expect("the binary was built"))
    };
    let output = study(&["--format", "junit"]);
    assert_eq!(output.out.matches("<testcase ").count(), 5, "{output:?}");
    let again = prony(&["report", &folder.0.join("both.study").to_string_lossy(), "-o", "junit"]);
    assert_eq!((again.code, &again.out), (Some(0), &output.out), "{again:?}");
    let report = fs::read_to_string(folder.0.join("both.study/report.json")).expect("it is kept");
    let result = prony_model::study_from_json(&report).expect("a study");
    if result.verdict != Verdict::Invalid {
        assert_eq!(output.code, Some(1), "{output:?}");
        let outcomes: Vec<_> = result
            .thresholds
            .iter()
            .map(|one| (one.evaluated.text.as_str(), one.evaluated.outcome))
            .collect();
        let expected = [
            ("errors == 0", ThresholdOutcome::Met),
            ("response.p99.99 < 1h", ThresholdOutcome::Undecided),
            ("response.p50 >= 1ns", ThresholdOutcome::Met),
            ("requests < 1", ThresholdOutcome::Missed),
        ];
        let decided =
            outcomes.iter().zip(&expected).filter(|((_, found), (_, known))| found == known).count();
        // A null server may answer the ten thousands of requests that p99.99 needs.
        assert!(
            decided >= 3 && outcomes.iter().map(|(text, _)| *text).eq(expected.iter().map(|(text, _)| *text)),
            "{outcomes:?}"
        );
    }
}

/// The blocks of docs/thresholds.md in this language.
fn blocks(language: &str) -> Vec<&'static str> {
    let fence = format!("```{language}\n");
    let blocks = DOCUMENT.split(fence.as_str()).skip(1);
    blocks.map(|rest| rest.split("\n```").next().expect("a block ends")).collect()
}

#[test]
fn every_documented_threshold_is_one() {
    let lines: Vec<&str> =
        blocks("threshold").concat().lines().map(str::to_owned).map(|line| &*line.leak()).collect();
    assert!(lines.len() > 15, "{lines:?}");
    for line in lines {
        let threshold: Threshold = line.parse().unwrap_or_else(|error| panic!("{line}: {error}"));
        assert_eq!(threshold.to_string().parse(), Ok(threshold), "{line}");
    }
}

/// The documented commands, in order, against a server that is what they want; the study file is read as one.
#[test]
fn the_documented_commands_work() {
    let (folder, served) = (Folder::new("thresholds-docs"), Served::start(&["null"]));
    let run = |line: &str| {
        let line = line.replace("http://127.0.0.1:3000/", &served.url);
        let words = shell_words::split(&line).expect("words of a shell");
        assert_eq!(words[0], "prony");
        let mut own = command();
        program_output(own.current_dir(&folder.0).args(&words[1..]).output().expect("the binary was built"))
    };
    run("prony http://127.0.0.1:3000/ -n 2000 -c 4 --json result.json");
    let lines: Vec<&str> = blocks("sh").into_iter().flat_map(str::lines).collect();
    assert_eq!(lines.len(), 4);
    for line in lines {
        let output = run(line);
        assert!(matches!(output.code, Some(0 | 3)), "{line}: {output:?}");
        assert!(output.out.contains("met ") || output.out.contains("UNDECIDED"), "{line}: {output:?}");
    }
    for (at, block) in blocks("toml").iter().enumerate() {
        let name = format!("{at}.toml");
        fs::write(folder.0.join(&name), block).expect("room");
        let output = run(&format!("prony study {name} --dry-run"));
        assert!(output.code == Some(0) && output.out.contains("6 thresholds"), "{output:?}");
    }
    served.end(Signal::TERM);
}
