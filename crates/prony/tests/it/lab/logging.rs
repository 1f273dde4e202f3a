//! The log of a lab on stderr.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{Child, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::binary::command;
use crate::folder::Folder;

/// A lab in `data` with `flags`, once it has started, and the entry that says so.
fn start(data: &Path, flags: &[&str]) -> (Child, BufReader<std::process::ChildStderr>, Vec<String>) {
    let mut child = command()
        .args(["lab", "--listen", "127.0.0.1:0", "--no-worker", "--data"])
        .arg(data)
        .args(flags)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary was built");
    let mut lines = BufReader::new(child.stderr.take().expect("piped"));
    let mut read = Vec::new();
    while !read.last().is_some_and(|line: &String| line.contains("has started")) {
        let mut line = String::new();
        assert!(lines.read_line(&mut line).expect("text") > 0, "it ended: {read:?}");
        read.push(line);
    }
    (child, lines, read)
}

/// What a lab that is asked to end still logs.
fn stop(mut child: Child, mut lines: BufReader<std::process::ChildStderr>) -> String {
    kill_process(Pid::from_child(&child), Signal::INT).expect("it runs");
    let mut rest = String::new();
    lines.read_to_string(&mut rest).expect("text");
    assert!(child.wait().expect("it ends").success());
    rest
}

#[test]
fn a_lab_logs_json_line_by_line_if_that_is_wanted() {
    let folder = Folder::new("log-json");
    let read =
        |line: &str| serde_json::from_str::<Value>(line).unwrap_or_else(|error| panic!("{line}: {error}"));
    let (mut child, _, lines) = start(&folder.0, &["--log", "json"]);
    let started = read(lines.last().expect("one"));
    assert_eq!((&started["event"], &started["level"]), (&"lab.started".into(), &"info".into()));
    assert_eq!(started["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(
        (&started["database"], started["addresses"].as_array().map(Vec::len)),
        (&"SQLite".into(), Some(1))
    );
    assert!(started["time"].as_str().is_some_and(|time| time.ends_with('Z')), "{started}");
    child.kill().expect("it lives");
    child.wait().expect("it ends");
    // What the next one notices stands in the log, too.
    let (child, rest, lines) = start(&folder.0, &["--log", "json"]);
    let events: Vec<Value> = lines.iter().map(|line| read(line)["event"].clone()).collect();
    assert_eq!(events, ["store.note", "lab.started"]);
    let rest = stop(child, rest);
    assert_eq!(read(&rest)["event"], "lab.stopped", "{rest}");
}

#[test]
fn a_lab_logs_text_by_default() {
    let folder = Folder::new("log-text");
    let (child, rest, lines) = start(&folder.0, &[]);
    assert!(lines[0].contains(" UTC: prony "), "{lines:?}");
    let rest = stop(child, rest);
    assert!(rest.ends_with(" UTC: the lab has stopped\n"), "{rest}");
}
