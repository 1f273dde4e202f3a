//! `prony exec`, whole: reports, files, messages, Ctrl-C.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use prony_model::{ExecResult, exec_from_json};
use serde_json::Value;

use crate::binary::{ProgramOutput, command, program_output, prony};
use crate::folder::Folder;

/// A test that waits longer than this has failed.
const PATIENCE: Duration = Duration::from_secs(30);

fn exec(words: &[&str]) -> ProgramOutput {
    prony(&[&["exec"], words].concat())
}

fn result(words: &[&str]) -> ExecResult {
    let output = exec(&[words, &["--json", "-"]].concat());
    assert_eq!((output.code, output.err.as_str()), (Some(0), ""), "{output:?}");
    exec_from_json(&output.out).expect("only JSON on stdout")
}

#[test]
fn a_series() {
    let output = exec(&["-r", "6", "sleep 0.01", "sleep 0.02", "--seed", "7", "--startup", "true"]);
    assert_eq!((output.code, output.err.as_str()), (Some(0), ""), "{output:?}");
    for part in [
        "2 commands in turn, each round in a random order · 6 rounds in ",
        "sh -c, shell start-up (",
        "mean, n = 50) subtracted · seed 7",
        "\n1         sleep 0.01\nwall      ",
        "\n2         sleep 0.02\nwall      ",
        "n = 6",
        "\nCPU       user ",
        "\nmemory    ",
        "\nstart-up  ",
        "\ntimes relative to command ",
        "6 pairs",
    ] {
        assert!(output.out.contains(part), "{part}: {}", output.out);
    }
    assert!(output.out.lines().all(|line| line.chars().count() <= 80), "{}", output.out);
    assert!(!output.out.contains('\u{1b}'), "no colour in a pipe: {output:?}");
    let markdown = exec(&["-N", "-r", "2", "true", "--format", "markdown"]);
    assert!(markdown.out.contains("\n| 1 | true | "), "{markdown:?}");
}

/// What is timed beside the commands prints nothing between them.
#[test]
fn only_the_commands_are_shown() {
    let output = exec(&["-N", "-r", "2", "--show-output", "grep --help"]);
    assert_eq!((output.code, output.out.matches("Usage: grep").count()), (Some(0), 2), "{output:?}");
    assert!(output.out.contains("\nstart-up  ") && !output.out.contains("Copyright"), "{output:?}");
}

#[test]
fn secrets_of_a_command_are_neither_shown_nor_kept() {
    let line = "echo -H 'Authorization: Bearer hunter2' -u me:hunter2 http://me:hunter2@h/";
    for words in [&["--format", "text"][..], &["--format", "json"], &["--format", "markdown"]] {
        let output = exec(&[&["-r", "2", "--prepare", line, line], words].concat());
        assert_eq!(output.code, Some(0), "{output:?}");
        assert!(output.out.contains("redacted") && !output.out.contains("hunter2"), "{output:?}");
    }
}

#[test]
fn times_and_memory_are_kept() {
    let result = result(&["-N", "-r", "3", "-w", "1", "sleep 0.05"]);
    assert_eq!((result.plan.shell.as_ref(), result.plan.runs.warmup), (None, 1));
    let runs = &result.commands[0].runs;
    assert_eq!(runs.len(), 3);
    assert!(runs.iter().all(|run| run.wall_s >= 0.05 && run.peak_memory_bytes > 0), "{runs:?}");
    assert!(!result.environment.kernel.is_empty() && result.environment.load_average_after.is_some());
}

#[test]
fn prepare_runs_before_each_run_and_parameters_are_filled_in() {
    let folder = Folder::new("exec-prepare");
    let log = folder.0.join("log");
    let prepare = format!("echo {{n}} >> '{}'", log.display());
    let result = result(&["-r", "3", "-w", "1", "-L", "n", "1,2", "-p", &prepare, "test {n} -gt 0"]);
    let lines = std::fs::read_to_string(&log).expect("prepare wrote");
    for n in ["1", "2"] {
        assert_eq!(lines.lines().filter(|line| *line == n).count(), 4, "{lines}");
    }
    let commands: Vec<(&str, &str)> = result
        .plan
        .commands
        .iter()
        .map(|command| (command.line.as_str(), command.parameters["n"].as_str()))
        .collect();
    assert_eq!(commands, [("test 1 -gt 0", "1"), ("test 2 -gt 0", "2")]);
}

#[test]
fn the_programs_own_version_measures_its_start() {
    // This very program is a binary that prints its version, and takes a moment for something else.
    let prony = env!("CARGO_BIN_EXE_prony");
    let timed = result(&["-N", "-r", "2", &format!("'{prony}' completions bash")]);
    let start_up = timed.commands[0].start_up.as_ref().expect("it has a version");
    assert!(start_up.line.ends_with("prony --version"), "{start_up:?}");
    let none = result(&["-N", "-r", "2", "true", "--startup", "none"]);
    assert_eq!(none.commands[0].start_up, None);
}

/// Where both are installed, hyperfine's JSON of the same command has no key that ours lacks, and of the same type.
#[test]
fn hyperfines_json_has_the_keys_of_hyperfine() {
    let folder = Folder::new("exec-keys");
    let file = |name: &str| folder.0.join(name).display().to_string();
    let (own, csv, markdown) = (file("own.json"), file("own.csv"), file("own.md"));
    let words = ["-r", "3", "-N", "-L", "n", "1,2", "sleep 0.00{n}"];
    let exports = ["--export-json", &own, "--export-csv", &csv, "--export-markdown", &markdown];
    let output = exec(&[&words[..], &exports].concat());
    assert_eq!(output.code, Some(0), "{output:?}");
    let read = |path: &str| std::fs::read_to_string(path).expect("the file is there");
    let of_own: Value = serde_json::from_str(&read(&own)).expect("JSON");
    assert_eq!(of_own["results"].as_array().map(Vec::len), Some(2));
    assert!(
        read(&csv).starts_with("command,mean,stddev,median,user,system,min,max,parameter_n\nsleep 0.001,")
    );
    assert!(read(&markdown).starts_with("| Command | Mean [ms] | Min [ms] | Max [ms] | Relative |\n|:---|"));
    let theirs = file("theirs.json");
    let hyperfine = Command::new("hyperfine")
        .args(words)
        .args(["--export-json", &theirs, "--style", "none"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    match hyperfine {
        Ok(status) => assert!(status.success(), "hyperfine: {status}"),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return prony_testing::skip_without("hyperfine", "exports compared with those of hyperfine");
        }
        Err(error) => panic!("hyperfine: {error}"),
    }
    let of_theirs: Value = serde_json::from_str(&read(&theirs)).expect("JSON");
    let (own, theirs) = (&of_own["results"][0], &of_theirs["results"][0]);
    for (key, value) in theirs.as_object().expect("an object") {
        assert_eq!(kind(value), kind(&own[key]), "{key}: {value} against {}", own[key]);
    }
}

/// The type of a JSON value, and of what is in it.
fn kind(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(_) => "bool".to_owned(),
        Value::Number(_) => "number".to_owned(),
        Value::String(_) => "string".to_owned(),
        Value::Array(values) => {
            format!("{} × {}", values.len(), values.first().map(kind).unwrap_or_default())
        }
        Value::Object(map) => {
            let kinds = map.iter().map(|(key, value)| format!("{key}: {},", kind(value)));
            kinds.collect::<Vec<_>>().concat()
        }
    }
}

#[test]
fn files_are_not_overwritten() {
    let folder = Folder::new("exec-files");
    let file = folder.0.join("precious").display().to_string();
    let ran = folder.0.join("ran").display().to_string();
    std::fs::write(&file, "precious").expect("a file");
    let touch = format!("touch '{ran}'");
    for flag in ["--json", "--export-json", "--export-csv", "--export-markdown", "--output"] {
        let output = exec(&[&touch, flag, &file]);
        assert_eq!((output.code, output.out.as_str()), (Some(2), ""), "{flag}: {output:?}");
        assert!(output.err.starts_with(&format!("error: {file} exists\n")), "{flag}: {output:?}");
    }
    assert_eq!(std::fs::read_to_string(&file).expect("still there"), "precious");
    assert!(!Path::new(&ran).exists(), "nothing ran");
    let output = exec(&["-r", "1", &touch, "--json", &file, "--force"]);
    assert_eq!(output.code, Some(0), "{output:?}");
    exec_from_json(&std::fs::read_to_string(&file).expect("still there")).expect("a result");
}

#[test]
fn failures_are_reported_with_the_output() {
    let check = |words: &[&str], err: &str| {
        let output = exec(words);
        assert_eq!((output.code, output.out.as_str(), output.err.as_str()), (Some(4), "", err), "{words:?}");
    };
    check(
        &["echo why >&2; exit 3"],
        "error: `echo why >&2; exit 3` ended with exit code 3 (run 1)\n       | why\n       \
         -i goes on after failures; -i=3 says that exit code 3 is good\n",
    );
    check(
        &["-w", "1", "-p", "exit 2", "true"],
        "error: `exit 2` ended with exit code 2 (prepare)\n       `|| true` behind a command ignores its failures\n",
    );
    let missing = "error: there is no program `no-such-program`\n       \
                   is the name spelled right, and the folder in PATH?\n";
    check(&["no-such-program a"], missing);
    check(&["-N", "no-such-program a"], missing);
    let words = exec(&["sleep", "0.1"]);
    assert!(words.err.contains("quote what belongs together: prony exec 'sleep 0.1'"), "{words:?}");
    let ignored = exec(&["-i", "-r", "6", "exit 3"]);
    assert_eq!(ignored.code, Some(0), "{ignored:?}");
    assert!(
        ignored.out.contains("6 of 6 runs failed") && ignored.out.contains("6 with exit code 3"),
        "{ignored:?}"
    );
    let good = exec(&["-i=3", "-r", "2", "exit 3"]);
    assert!(good.code == Some(0) && !good.out.contains("failed"), "{good:?}");
}

#[test]
fn wrong_command_lines() {
    let check = |words: &[&str], err: &str| {
        let output = exec(words);
        assert_eq!((output.code, output.out.as_str(), output.err.as_str()), (Some(2), "", err), "{words:?}");
    };
    check(&[], "error: there is no command to run\n       write one, such as prony exec 'sleep 0.1'\n");
    check(&["true", "-r", "0"], "error: 0 runs measure nothing\n       use --runs 1 or more\n");
    check(
        &["true", "-r", "1", "-m", "1"],
        "error: --runs <N> can't stand beside --min-runs <N>\n       leave out one of them\n",
    );
    check(
        &["true", "--reference", "2"],
        "error: --reference `2` is none of the commands\n       name one, or write its number: 1 to 1\n",
    );
}

/// Ctrl-C ends the command that runs, reports the runs before it, and leaves no process.
#[test]
#[expect(clippy::disallowed_methods, reason = "a bound for a wait")]
fn ctrl_c_reports_and_leaves_nothing() {
    let folder = Folder::new("exec-ctrl-c");
    let (count, number) = (folder.0.join("count"), folder.0.join("number"));
    // The third run never ends.
    let line = format!(
        "echo x >> '{0}'; [ $(wc -l < '{0}') -lt 3 ] || {{ sleep 600 & echo $! > '{1}.new'; mv '{1}.new' '{1}'; wait; }}",
        count.display(),
        number.display()
    );
    let child = command()
        .args(["exec", "--startup", "none", &line])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary was built");
    let begun = Instant::now();
    while !number.exists() {
        assert!(begun.elapsed() < PATIENCE, "the third run never began");
        std::thread::yield_now();
    }
    let id = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(id, rustix::process::Signal::INT).expect("the child lives");
    let output = program_output(child.wait_with_output().expect("the child ends"));
    assert_eq!(output.code, Some(130), "{output:?}");
    assert!(output.out.contains("stopped by hand") && output.out.contains("n = 2\n"), "{output:?}");
    let process = std::fs::read_to_string(&number).expect("it was written");
    while is_running(process.trim()) {
        assert!(begun.elapsed() < PATIENCE, "{process} still runs");
        std::thread::yield_now();
    }
}

/// Whether there is such a process; a zombie is none.
fn is_running(process: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let state = stat.rsplit(") ").next().and_then(|rest| rest.chars().next());
    !matches!(state, None | Some('Z' | 'X'))
}
