//! `prony run --live`, and that of comparisons and studies, as a person sees it: on a terminal, in a pipe, and when it is interrupted.

mod terminal;

use std::io::Write as _;
use std::net::TcpStream;
use std::os::unix::process::ExitStatusExt as _;

use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};

use self::terminal::{Stdout, Terminal};
use crate::binary::prony;
use crate::folder::Folder;
use crate::server::Server;

const SIZE: (u16, u16) = (24, 80);
/// What switches to the other screen, and back.
const ENTER: &str = "\x1b[?1049h";
const LEAVE: &str = "\x1b[?1049l";

/// A load of four connections that goes on until it is ended.
fn endless(url: &str) -> Vec<&str> {
    vec!["run", "--live", url, "-d", "10m", "--warmup", "0", "-c", "4"]
}

/// On one connection: good, good, good, 503, and again.
fn one_in_four_fails() -> Server {
    Server::answering(|stream: &mut TcpStream, number| {
        let head = if number % 4 == 3 { "503 Service Unavailable" } else { "200 OK" };
        stream.write_all(format!("HTTP/1.1 {head}\r\nContent-Length: 2\r\n\r\nok").as_bytes())
    })
}

fn line<'a>(lines: &'a [String], label: &str) -> &'a str {
    let found = lines.iter().find(|line| line.starts_with(label));
    found.unwrap_or_else(|| panic!("no line `{label}`:\n{}", lines.join("\n")))
}

/// The terminal is as it was: its own screen, with a cursor.
fn assert_restored(terminal: &Terminal) {
    let screen = terminal.screen();
    assert!(!screen.alternate_screen() && !screen.hide_cursor(), "{:?}", screen.contents());
    let written = String::from_utf8_lossy(&terminal.bytes);
    assert_eq!(written.matches(ENTER).count(), written.matches(LEAVE).count());
    let wraps = written.rfind("\x1b[?7h").zip(written.rfind("\x1b[?7l"));
    assert!(wraps.is_some_and(|(on, off)| on > off), "lines wrap again");
    let frames = written.matches("\x1b[?2026h").count();
    assert!(frames > 0 && written.rfind("\x1b[?2026l") > written.rfind("\x1b[?2026h"), "no frame is open");
}

#[test]
fn the_screen_shows_the_run_and_ctrl_c_ends_it_with_its_report() {
    let server = Server::good();
    let mut terminal = Terminal::start(&endless(&server.url), &[], SIZE, Stdout::Terminal);
    let lines = terminal.until_text("limiter ");
    assert!(terminal.screen().alternate_screen() && terminal.screen().hide_cursor());
    assert_eq!(lines[0], format!("GET {} · closed loop, 4 connections, 1 thread", server.url));
    assert!(
        line(&lines, "measuring ").contains(" s of 10 min") || line(&lines, "measuring ").contains("600 s")
    );
    assert!(line(&lines, "rate ").contains(" /s so far"), "{lines:?}");
    let success = line(&lines, "SUCCESS ");
    assert!(success.starts_with("SUCCESS   100 % ") && success.ends_with(" good, 0 failed"), "{success}");
    assert!(line(&lines, "sockets ").starts_with("sockets   4 of 4 open, "), "{lines:?}");
    for clock in ["response", "service"] {
        let cells = line(&lines, clock).split_whitespace().count();
        assert_eq!(cells, 8, "name, four quantiles, max, mean and n: {lines:?}");
    }
    assert_eq!(lines.len(), 24);
    assert!(lines.iter().all(|line| line.chars().count() < 80), "{lines:?}");
    // Frames are drawn over each other: the screen is cleared once.
    let written = String::from_utf8_lossy(&terminal.bytes);
    assert_eq!(written.matches("\x1b[2J").count(), 1);

    terminal.type_keys(b"\x03");
    let status = terminal.end();
    assert_eq!(status.code(), Some(130));
    assert_restored(&terminal);
    // The report stands on the terminal's own screen: its end, as it is longer than 24 lines.
    let report = String::from_utf8_lossy(&terminal.bytes);
    let report = report.rsplit(LEAVE).next().expect("something");
    assert!(report.contains("stopped by hand after") && report.contains("SUCCESS   100 %"), "{report}");
}

#[test]
fn failures_are_counted_by_kind_as_they_come() {
    let server = one_in_four_fails();
    let mut terminal = Terminal::start(&endless(&server.url), &[], SIZE, Stdout::Pipe);
    let lines = terminal.until_text("SUCCESS   75");
    let row = lines.iter().find(|line| line.contains("503 Service Unavailable")).expect("an example");
    assert!(row.trim_start().starts_with('2'), "a quarter of them: {row}");
    assert!(line(&lines, "goodput ").contains(" /s so far"), "{lines:?}");
    terminal.type_keys(b"\x03");
    assert_eq!(terminal.end().code(), Some(130));
}

#[test]
fn a_server_that_never_answers_is_seen_as_that() {
    let url = Server::accepting(std::mem::forget);
    let words = [&endless(&url)[..], &["--timeout", "200ms"]].concat();
    let mut terminal = Terminal::start(&words, &[], SIZE, Stdout::Pipe);
    let lines = terminal.until_text("no response was good");
    assert!(line(&lines, "SUCCESS ").starts_with("SUCCESS   0 % "), "{lines:?}");
    assert!(!lines.iter().any(|line| line.starts_with("response")), "no latencies: {lines:?}");
    terminal.type_keys(b"\x03");
    assert_eq!(terminal.end().code(), Some(130));
}

#[test]
fn another_size_is_drawn_anew() {
    let server = Server::good();
    let mut terminal = Terminal::start(&endless(&server.url), &[], SIZE, Stdout::Pipe);
    terminal.until_text("limiter ");
    for (rows, columns) in [(8, 50), (40, 132), (3, 20), (24, 80)] {
        terminal.resize(rows, columns);
        let cleared = terminal.bytes.len();
        let is_drawn = |terminal: &Terminal| {
            let new = String::from_utf8_lossy(&terminal.bytes[cleared..]);
            new.split_once("\x1b[2J").is_some_and(|(_, after)| after.contains("\x1b[?2026l"))
        };
        let lines = terminal.until("a frame of another size", is_drawn);
        assert_eq!(lines.len(), usize::from(rows));
        // What matters most is there in any size: how far it is, and the rate.
        line(&lines, "measuring");
        line(&lines, "rate ");
    }
    terminal.type_keys(b"\x03");
    assert_eq!(terminal.end().code(), Some(130));
    assert_restored(&terminal);
}

#[test]
fn signals_end_the_run_and_give_the_terminal_back() {
    let server = Server::good();
    for (signal, code) in [(Signal::TERM, Some(130)), (Signal::HUP, Some(130)), (Signal::QUIT, None)] {
        let mut terminal = Terminal::start(&endless(&server.url), &[], SIZE, Stdout::Pipe);
        terminal.until_text("SUCCESS ");
        kill_process(Pid::from_child(&terminal.child), signal).expect("it runs");
        let status = terminal.end();
        assert_eq!(status.code(), code, "{signal:?} {status:?}");
        assert_eq!(status.signal(), code.is_none().then(|| signal.as_raw()), "{status:?}");
        assert_restored(&terminal);
    }
}

/// The second signal leaves at once: the server never answers, and the drain would take a minute.
#[test]
fn the_second_signal_leaves_at_once_and_gives_the_terminal_back() {
    let url = Server::accepting(std::mem::forget);
    let words = [&endless(&url)[..], &["--drain", "1m"]].concat();
    let mut terminal = Terminal::start(&words, &[], SIZE, Stdout::Pipe);
    terminal.until_text("sockets ");
    terminal.type_keys(b"\x03");
    terminal.until_text("ending early");
    terminal.type_keys(b"\x03");
    assert_eq!(terminal.end().code(), Some(130));
    assert_restored(&terminal);
}

#[test]
fn ctrl_z_gives_the_terminal_back_until_the_run_goes_on() {
    let server = Server::good();
    let mut terminal = Terminal::start(&endless(&server.url), &[], SIZE, Stdout::Pipe);
    terminal.until_text("SUCCESS ");
    let process = Pid::from_child(&terminal.child);
    kill_process(process, Signal::TSTP).expect("it runs");
    let stopped = waitpid(Some(process), WaitOptions::UNTRACED).expect("a child").expect("it stopped");
    assert!(stopped.1.stopped(), "{stopped:?}");
    terminal.until("its own screen", |terminal| !terminal.screen().alternate_screen());
    kill_process(process, Signal::CONT).expect("it is there");
    terminal.until("the view", |terminal| terminal.screen().alternate_screen());
    terminal.until_text("SUCCESS ");
    terminal.type_keys(b"\x03");
    assert_eq!(terminal.end().code(), Some(130));
    assert_restored(&terminal);
}

/// Nobody reads the terminal: its buffer fills up, and the run ends in its time all the same.
#[test]
fn a_terminal_that_takes_nothing_holds_up_nothing() {
    let server = Server::good();
    let words = ["run", "--live", &server.url, "-d", "4s", "--warmup", "0", "-c", "4", "-o", "json"];
    let mut terminal = Terminal::start(&words, &[], SIZE, Stdout::Pipe);
    let stdout = terminal.child.stdout.take().expect("a pipe");
    let result = prony_model::from_json(&std::io::read_to_string(stdout).expect("text")).expect("a result");
    assert!(!result.timing.interrupted && result.timing.measured_s < 4.5, "{:?}", result.timing);
    let status = terminal.child.wait().expect("it was started");
    assert!(matches!(status.code(), Some(0 | 3)), "{status:?}");
}

#[test]
fn colours_are_for_those_who_want_them() {
    let server = Server::not_found();
    let coloured = |variables: &[(&str, &str)]| {
        let mut terminal = Terminal::start(&endless(&server.url), variables, SIZE, Stdout::Pipe);
        terminal.until_text("SUCCESS   0 %");
        terminal.type_keys(b"\x03");
        terminal.end();
        String::from_utf8_lossy(&terminal.bytes).contains("\x1b[1;31mSUCCESS")
    };
    assert!(coloured(&[]));
    assert!(!coloured(&[("NO_COLOR", "1")]));
}

#[test]
fn ascii_is_enough() {
    let server = Server::good();
    let mut terminal = Terminal::start(&endless(&server.url), &[("LANG", "C")], SIZE, Stdout::Pipe);
    let lines = terminal.until_text("limiter ");
    assert!(lines.iter().all(|line| line.is_ascii()), "{lines:?}");
    terminal.type_keys(b"\x03");
    assert_eq!(terminal.end().code(), Some(130));
}

/// A server can't write to the terminal: what it sends is shown, not obeyed.
#[test]
fn what_the_server_sends_moves_no_cursor() {
    let server = Server::answering(|stream: &mut TcpStream, _| {
        stream.write_all(b"HTTP/1.1 2\x1b[2J0\x1b]0;owned\x07 \x1b[?1049l\r\n\r\n")?;
        Err(std::io::ErrorKind::ConnectionAborted.into())
    });
    let mut terminal = Terminal::start(&endless(&server.url), &[], SIZE, Stdout::Pipe);
    terminal.until_text("no response was good");
    assert!(terminal.screen().alternate_screen());
    let written = String::from_utf8_lossy(&terminal.bytes);
    assert!(!written.contains("owned\x07"), "{written:?}");
    assert_eq!(written.matches("\x1b[2J").count(), 1);
    terminal.type_keys(b"\x03");
    terminal.end();
}

#[test]
fn without_a_terminal_there_are_lines() {
    let server = one_in_four_fails();
    let output = prony(&["run", "--live", &server.url, "-d", "2s", "--warmup", "0", "-c", "2"]);
    assert!(output.err.lines().count() >= 2, "{output:?}");
    assert!(
        output.err.lines().any(|line| line.contains(" of 2 s · ") && line.contains(" /s · p50 ")),
        "{output:?}"
    );
    let finding = "so far: 2";
    assert!(output.err.lines().any(|line| line.starts_with(finding)), "{output:?}");
    assert_eq!(output.err.matches("(error-share)").count(), 1, "a finding is written once: {output:?}");
    assert!(!output.err.contains('\x1b'), "{output:?}");
    assert!(output.out.starts_with(&format!("GET {}", server.url)), "{output:?}");
}

#[test]
fn on_a_dumb_terminal_there_are_lines() {
    let server = Server::good();
    let words = ["run", "--live", &server.url, "-d", "1s", "--warmup", "0", "-c", "2"];
    let mut terminal = Terminal::start(&words, &[("TERM", "dumb")], SIZE, Stdout::Pipe);
    let status = terminal.end();
    assert!(matches!(status.code(), Some(0 | 3)), "{status:?}");
    let written = String::from_utf8_lossy(&terminal.bytes);
    assert!(written.contains(" of 1 s · ") && !written.contains('\x1b'), "{written:?}");
}

#[test]
fn live_and_quiet_contradict_each_other() {
    let output = prony(&["run", "--live", "--quiet", "http://127.0.0.1:9/"]);
    assert_eq!(output.code, Some(2), "{output:?}");
}

/// Compares two servers in pairs of short blocks.
fn compared<'a>(a: &'a str, b: &'a str, pairs: &'a str) -> Vec<&'a str> {
    vec!["compare", "--live", a, b, "--pairs", pairs, "--block", "100ms", "--warmup", "50ms", "-c", "2"]
}

#[test]
fn a_comparison_shows_its_pairs_and_no_verdict_before_its_end() {
    let (a, b) = (Server::good(), Server::good());
    let words = compared(&a.url, &b.url, "500");
    let mut terminal = Terminal::start(&words, &[], SIZE, Stdout::Terminal);
    let lines = terminal.until_text("B against A");
    assert!(terminal.screen().alternate_screen());
    assert_eq!(lines[0], format!("A  GET {}", a.url));
    assert_eq!(lines[1], format!("B  GET {}", b.url));
    assert!(line(&lines, "pairs ").contains(" of 500 · "), "{lines:?}");
    assert!(line(&lines, "rate ").ends_with('%'), "{lines:?}");
    terminal.until_text("A is loaded, ");
    terminal.until_text("B is loaded, ");
    let shown = String::from_utf8_lossy(&terminal.bytes).to_lowercase();
    assert!(!shown.contains("faster") && !shown.contains("slower"), "{shown}");

    terminal.type_keys(b"\x03");
    assert_eq!(terminal.end().code(), Some(130));
    assert_restored(&terminal);
    let report = String::from_utf8_lossy(&terminal.bytes);
    let report = report.rsplit(LEAVE).next().expect("something");
    assert!(report.contains("stopped by hand") && report.contains(&b.url), "{report}");
}

#[test]
fn a_comparison_has_lines_where_there_is_no_terminal() {
    let (a, b) = (Server::good(), Server::good());
    let output = prony(&compared(&a.url, &b.url, "6"));
    let lines: Vec<&str> = output.err.lines().filter(|line| line.starts_with("pair ")).collect();
    assert_eq!(lines.len(), 6, "{output:?}");
    assert!(lines[5].starts_with("pair 6 of 6 · rate ") && lines[5].ends_with(" · 0 s left"), "{lines:?}");
    assert!(!output.err.contains('\x1b') && output.out.contains(&a.url), "{output:?}");

    for refused in
        [vec!["compare", "--live", "sleep 0", "sleep 0"], vec!["compare", "--live", "-q", "a", "b"]]
    {
        assert_eq!(prony(&refused).code, Some(2), "{refused:?}");
    }
}

/// Ten runs of half a second of a server that answers, of which all have a finding: no connection is kept.
fn study(folder: &Folder, target: &str) -> String {
    let text = format!(
        "name = \"seen\"\ntitle = \"Seen\"\nrepeats = 5\nseed = 7\npause = \"0s\"\nretries = 0\n\n\
         [targets.it]\n{target}\n\n[loads.first]\nkind = \"run\"\npath = \"/\"\nconnections = 1\nduration = \"500ms\"\n\
         warmup = \"10ms\"\n[loads.second]\nkind = \"run\"\npath = \"/\"\nconnections = 2\nduration = \"500ms\"\n\
         warmup = \"10ms\"\n"
    );
    let file = folder.0.join("study.toml");
    std::fs::write(&file, text).expect("room");
    file.to_str().expect("text").to_owned()
}

#[test]
fn a_study_shows_its_cell_and_what_is_done() {
    let folder = Folder::new("live-study");
    let file = study(&folder, "serve = \"null\"");
    let results = folder.0.join("results");
    let words = ["study", "--live", &file, "--output", results.to_str().expect("text")];
    let mut terminal = Terminal::start(&words, &[], (30, 100), Stdout::Terminal);
    let lines = terminal.until_text("3 of 10 · ");
    assert!(terminal.screen().alternate_screen());
    assert_eq!(lines[0], "study seen");
    let lines = terminal.until("a run that ended", |terminal| {
        terminal.lines().iter().any(|line| line.starts_with("3 of 10 · ") && line.contains(" · repeat "))
    });
    assert!(line(&lines, "runs ").contains(" left"), "{lines:?}");
    assert!(line(&lines, "now ").contains(" · repeat ") || line(&lines, "now").trim() == "now", "{lines:?}");
    assert!(line(&lines, "finding ").contains(" in "), "short runs are doubtful: {lines:?}");
    terminal.type_keys(b"\x03");
    assert_eq!(terminal.end().code(), Some(130));
    assert_restored(&terminal);
    let after = String::from_utf8_lossy(&terminal.bytes);
    assert!(after.rsplit(LEAVE).next().expect("something").contains("go on with --resume"), "{after}");
}

#[test]
fn what_fails_in_a_study_stays_after_the_screen() {
    let folder = Folder::new("live-study-failed");
    let file = study(&folder, "command = \"false\"\nurl = \"http://127.0.0.1:9\"");
    let results = folder.0.join("results");
    let words = ["study", "--live", &file, "--output", results.to_str().expect("text")];
    let mut terminal = Terminal::start(&words, &[], SIZE, Stdout::Terminal);
    terminal.end();
    assert_restored(&terminal);
    let written = String::from_utf8_lossy(&terminal.bytes);
    let after = written.rsplit(LEAVE).next().expect("something");
    assert!(after.contains("failed: 1 of 10 · ") && after.contains("given up: it"), "{after}");
}

#[test]
fn a_study_has_lines_where_there_is_no_terminal() {
    let folder = Folder::new("live-study-lines");
    let file = study(&folder, "serve = \"null\"");
    let output =
        prony(&["study", "--live", &file, "--output", folder.0.join("results").to_str().expect("text")]);
    assert_eq!(output.err.lines().filter(|line| line.contains(" of 10 · ")).count(), 10, "{output:?}");
    let findings: Vec<&str> =
        output.err.lines().filter(|line| line.starts_with("so far: a run with the finding ")).collect();
    let mut once = findings.clone();
    once.sort_unstable();
    once.dedup();
    assert!(!findings.is_empty() && once.len() == findings.len(), "{output:?}");
    assert!(!output.err.contains('\x1b'), "{output:?}");
}
