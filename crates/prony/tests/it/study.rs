//! `prony study` as a whole: servers that start and stop, results that stay, and nothing left behind.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::binary::{ProgramOutput, command, program_output};
use crate::folder::Folder;
use crate::processes::{await_end, descendants, is_alive, named, pipe};

/// Two servers, two loads, two repeats: eight runs of a fifth of a second.
const TWO: &str = r#"
name = "two"
title = "Two servers"
repeats = 2
seed = 7
pause = "0s"

[targets.null]
serve = "null"
[targets.rudy]
serve = "rudy --delay 1ms --keepalive"

[loads.load]
kind = "run"
path = "/"
connections = 1
duration = "200ms"
warmup = "10ms"
[loads.probe]
kind = "probe"
path = "/"
"#;

/// A folder with a study file, and where its results go.
struct Case {
    folder: Folder,
}

impl Case {
    fn new(name: &str, text: &str) -> Self {
        let folder = Folder::new(name);
        fs::write(folder.0.join("study.toml"), text).expect("room");
        Self { folder }
    }

    /// With one target, `lines` of its table, and one probe of it.
    fn of_target(name: &str, lines: &str) -> Self {
        Self::new(
            name,
            &format!(
                "name = \"one\"\ntitle = \"One\"\nrepeats = 1\nseed = 1\n\n[targets.it]\n{lines}\n\n[loads.probe]\nkind = \"probe\"\npath = \"/\"\n"
            ),
        )
    }

    fn results(&self) -> PathBuf {
        self.folder.0.join("results")
    }

    fn command(&self, flags: &[&str]) -> Command {
        let mut command = command();
        command
            .arg("study")
            .arg(self.folder.0.join("study.toml"))
            .arg("--output")
            .arg(self.results())
            .args(flags);
        command
    }

    fn run(&self, flags: &[&str]) -> ProgramOutput {
        program_output(self.command(flags).output().expect("the binary was built"))
    }

    /// Starts it and waits until `number` of its runs have ended.
    fn start_until(&self, number: usize) -> (Child, BufReader<std::process::ChildStderr>) {
        let mut child = self
            .command(&[])
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary was built");
        let mut stderr = BufReader::new(child.stderr.take().expect("it is piped"));
        let mut ended = 0;
        while ended < number {
            let mut line = String::new();
            assert!(stderr.read_line(&mut line).expect("text") > 0, "it ended early");
            ended += usize::from(line.contains(" · repeat "));
        }
        (child, stderr)
    }
}

/// The files of a folder, with their bytes.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(folder).expect("it is there").flatten();
    entries
        .map(|entry| {
            let bytes = fs::read(entry.path()).expect("it can be read");
            (entry.file_name().to_string_lossy().into_owned(), bytes)
        })
        .collect()
}

/// Whether a study has made its runs: on a busy machine some are invalid, as they should be.
fn is_made(output: &ProgramOutput) -> bool {
    matches!(output.code, Some(0 | 3))
}

#[test]
fn a_study_is_run_stored_and_reported() {
    let case = Case::new("study-whole", TWO);
    let output = case.run(&[]);
    assert!(is_made(&output), "{output:?}");
    assert_eq!(output.err.lines().filter(|line| line.contains(" · repeat ")).count(), 8, "{output:?}");
    assert_eq!(files(&case.results().join("runs")).len(), 8);
    for name in ["study.toml", "schedule.json", "report.json", "report.md", "report.html"] {
        assert!(case.results().join(name).is_file(), "{name}");
    }
    let again = case.run(&[]);
    assert_eq!(again.code, Some(2), "{again:?}");
    assert!(again.err.contains("has 8 of 8 runs already") && again.err.contains("--resume"), "{again:?}");
    let before = files(&case.results().join("runs"));
    let resumed = case.run(&["--resume", "--quiet"]);
    assert!(is_made(&resumed) && resumed.err.is_empty(), "{resumed:?}");
    assert_eq!(files(&case.results().join("runs")), before);
    let other = case.run(&["--resume", "--repeats", "3"]);
    assert!(other.code == Some(2) && other.err.contains("another plan"), "{other:?}");
    let over = case.run(&["--force"]);
    assert!(is_made(&over) && over.err.contains("starting over: removed 8 runs"), "{over:?}");
}

#[test]
fn a_kill_loses_no_finished_run_and_leaves_no_process() {
    let case = Case::new("study-killed", TWO);
    let (mut child, _stderr) = case.start_until(3);
    let prony = Pid::from_child(&child);
    let below = descendants(prony);
    assert!(below.len() >= 2, "a guardian and a server: {below:?}");
    kill_process(prony, Signal::KILL).expect("it lives");
    child.wait().expect("it ends");
    below.into_iter().for_each(await_end);
    let before = files(&case.results().join("runs"));
    let output = case.run(&["--resume"]);
    assert!(is_made(&output), "{output:?}");
    let after = files(&case.results().join("runs"));
    assert_eq!(after.len(), 8);
    let whole = before.iter().filter(|(name, _)| !name.starts_with('.'));
    assert!(whole.clone().count() >= 3);
    for (name, bytes) in whole {
        assert!(after[name] == *bytes, "{name} was made again");
    }
}

#[test]
fn ctrl_c_keeps_what_was_measured_and_reports_it() {
    let case = Case::new("study-interrupted", TWO);
    let (mut child, _stderr) = case.start_until(2);
    let prony = Pid::from_child(&child);
    let below = descendants(prony);
    kill_process(prony, Signal::INT).expect("it lives");
    assert_eq!(child.wait().expect("it ends").code(), Some(130));
    assert!(!below.into_iter().any(is_alive));
    let made = files(&case.results().join("runs")).len();
    assert!((2..8).contains(&made), "{made}");
    assert!(case.results().join("report.md").is_file());
}

#[test]
fn nothing_is_left_of_a_target_with_children() {
    let lines = format!(
        "command = \"sh server.sh {{port}}\"\nenvironment = {{ PRONY = \"{}\", PIPE = \"pipe\" }}",
        env!("CARGO_BIN_EXE_prony")
    );
    let case = Case::of_target("study-children", &lines);
    let script = "exec 3>$PIPE; sleep 1000 & echo $! >&3; (setsid sleep 1001 & echo $! >&3); echo $$ >&3\n\
                  exec \"$PRONY\" serve null --port $1\n";
    let pipe = pipe(&case.folder.0);
    fs::write(case.folder.0.join("server.sh"), script).expect("room");
    let text = fs::read_to_string(case.folder.0.join("study.toml")).expect("it is there");
    let text = text.replace("kind = \"probe\"", "kind = \"run\"\nduration = \"60s\"\nconnections = 1");
    fs::write(case.folder.0.join("study.toml"), text).expect("room");
    let quiet = || Stdio::null();
    let mut child = case.command(&[]).stdout(quiet()).stderr(quiet()).spawn().expect("the binary was built");
    let prony = Pid::from_child(&child);
    let own = named::<3>(&pipe);
    let below = descendants(prony);
    assert!(
        below.len() > own.len() && own.iter().all(|process| below.contains(process)),
        "{own:?} {below:?}"
    );
    kill_process(prony, Signal::KILL).expect("it lives");
    child.wait().expect("it ends");
    below.into_iter().for_each(await_end);
}

#[test]
fn a_command_that_is_timed_dies_with_prony() {
    let text = "name = \"timed\"\ntitle = \"Timed\"\nrepeats = 1\nseed = 1\n\n[loads.wait]\nkind = \"exec\"\n\
                command = \"sh wait.sh\"\nruns = 2\n";
    let case = Case::new("study-timed", text);
    let pipe = pipe(&case.folder.0);
    let script = format!("exec 3>{}; sleep 1000 & echo $! >&3; echo $$ >&3; wait\n", pipe.display());
    fs::write(case.folder.0.join("wait.sh"), script).expect("room");
    let mut command = case.command(&[]);
    command.current_dir(&case.folder.0).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().expect("the binary was built");
    let own = named::<2>(&pipe);
    let prony = Pid::from_child(&child);
    assert!(own.iter().all(|process| descendants(prony).contains(process)), "{own:?}");
    kill_process(prony, Signal::KILL).expect("it lives");
    child.wait().expect("it ends");
    own.into_iter().for_each(await_end);
}

#[test]
fn a_target_gets_the_address_of_the_service_that_it_needs() {
    let text = "name = \"service\"\nrepeats = 2\nseed = 1\n\n[services.pages]\nserve = \"null\"\n\n\
                [targets.it]\nserve = \"dashboard --check {pages.url}/\"\nneeds = [\"pages\"]\n\n\
                [loads.probe]\nkind = \"probe\"\npath = \"/status\"\n";
    let case = Case::new("study-service", text);
    let output = case.run(&[]);
    assert_eq!(output.code, Some(0), "{output:?}");
    let logs = files(&case.results().join("logs"));
    let names: Vec<&str> = logs.keys().map(String::as_str).collect();
    assert_eq!(names, ["it-1.log", "it-2.log", "pages-1.log", "pages-2.log"]);
    for name in ["pages-1.log", "it-1.log"] {
        let log = String::from_utf8_lossy(&logs[name]);
        assert!(log.contains("listening on ") && log.contains(" requests answered on "), "{log}");
    }
}

#[test]
fn a_threshold_that_is_missed() {
    let case = Case::of_target("study-threshold", "serve = \"null\"");
    let file = case.folder.0.join("study.toml");
    let text = fs::read_to_string(&file).expect("it is there");
    let demand = "\n[[threshold]]\nwhere = { target = \"it\" }\nmetric = \"probe\"\nat-most = \"1ns\"\n";
    fs::write(&file, text + demand).expect("room");
    let output = case.run(&["--quiet"]);
    assert_eq!(output.code, Some(1), "{output:?}");
    let dry = case.run(&["--dry-run"]);
    assert!(dry.code == Some(0) && dry.out.contains("1 threshold"), "{dry:?}");
}

/// A study of one target that can't be loaded: what is reported on it, and what must stand in that.
fn fails(name: &str, lines: &str, expected: &[&str]) {
    let case = Case::of_target(name, lines);
    let output = case.run(&[]);
    assert_eq!(output.code, Some(4), "{output:?}");
    for part in expected {
        assert!(output.err.contains(part), "{part}: {output:?}");
    }
    assert_eq!(files(&case.results().join("failed")).len(), 1);
    assert!(files(&case.results().join("runs")).is_empty());
}

#[test]
fn targets_that_cannot_be_loaded() {
    fails(
        "study-ends",
        "command = \"sh -c 'echo no such table; exit 3'\"",
        &["ended with exit code 3 before it was ready", "| no such table"],
    );
    fails(
        "study-missing",
        "command = \"no-such-program-here --flag\"",
        &["exit code 127", "is its program spelled right", "`no-such-program-here` can't be started"],
    );
    fails(
        "study-never-ready",
        "command = \"sh -c 'echo thinking; exec sleep 1000'\"\nready = { path = \"/\", within = \"300ms\" }",
        &["not ready after 300 ms", "refused", "| thinking"],
    );
    fails(
        "study-build",
        "command = \"true\"\nbuild = [\"sh -c 'echo no compiler >&2; exit 2'\"]",
        &["`sh -c echo no compiler >&2; exit 2` ended with exit code 2", "| no compiler"],
    );
}

#[test]
fn a_port_that_is_taken_and_by_whom() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("an address").port();
    let by = format!("(process {})", std::process::id());
    fails(
        "study-port",
        &format!("serve = \"null\"\nport = {port}"),
        &[&format!("port {port} is taken by "), &by],
    );
}

#[test]
fn a_port_that_another_takes_first_is_left_to_it() {
    // On its first port the server waits until somebody else has it, and fails; on the next it serves. The other one takes
    // connections and answers nothing, which is not ready.
    let script = "if [ -e taken ]; then exec \"$PRONY\" serve null --port $1; fi\n\
                  echo $1 >port.new; mv port.new port\n\
                  while [ ! -e taken ]; do sleep 0.02; done\n\
                  exit 1\n";
    let lines = format!(
        "command = \"sh start.sh {{port}}\"\nready = {{ path = \"/\" }}\nenvironment = {{ PRONY = '{}' }}",
        env!("CARGO_BIN_EXE_prony")
    );
    let case = Case::of_target("study-taken", &lines);
    fs::write(case.folder.0.join("start.sh"), script).expect("room");
    let study =
        case.command(&[]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it was built");
    let written = case.folder.0.join("port");
    for _ in 0..1000 {
        if written.exists() {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let port: u16 = fs::read_to_string(&written).expect("a port").trim().parse().expect("a number");
    let _thief = TcpListener::bind(("127.0.0.1", port)).expect("nobody else has it");
    fs::write(case.folder.0.join("taken"), "").expect("room");
    let output = program_output(study.wait_with_output().expect("it ends"));
    assert!(matches!(output.code, Some(0 | 3)), "{output:?}");
    assert_eq!(files(&case.results().join("runs")).len(), 1, "{output:?}");
    assert!(files(&case.results().join("failed")).is_empty(), "{output:?}");
}
