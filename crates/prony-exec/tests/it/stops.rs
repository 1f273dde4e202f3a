//! Ends by hand: what was measured is there, and no process is.

use std::path::Path;
use std::time::{Duration, Instant};

use prony_exec::Control;
use prony_model::{Environment, ExecEvent, FindingCode};

use crate::fixture::{Folder, plan, run};

/// A test that waits longer than this has failed.
const PATIENCE: Duration = Duration::from_secs(30);

/// Waits until `file` holds a process number.
#[expect(clippy::disallowed_methods, reason = "a bound for a wait")]
fn process_in(file: &Path) -> u32 {
    let begun = Instant::now();
    while begun.elapsed() < PATIENCE {
        if let Some(number) = std::fs::read_to_string(file).ok().and_then(|text| text.trim().parse().ok()) {
            return number;
        }
        std::thread::yield_now();
    }
    panic!("nothing was written to {}", file.display());
}

/// Waits until there is no such process any more; a zombie is none.
#[expect(clippy::disallowed_methods, reason = "a bound for a wait")]
fn is_gone(process: u32) -> bool {
    let begun = Instant::now();
    while begun.elapsed() < PATIENCE {
        let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
        let state = stat.rsplit(") ").next().and_then(|rest| rest.chars().next());
        if matches!(state, None | Some('Z' | 'X')) {
            return true;
        }
        std::thread::yield_now();
    }
    false
}

#[test]
fn a_stop_ends_the_command_and_keeps_what_was_measured() {
    let folder = Folder::new("stop");
    let (number, cleaned) = (folder.file("number"), folder.file("cleaned"));
    // Quick at first; the third run starts a child and waits for ever.
    let count = folder.file("count");
    let line = format!(
        "echo x >> '{count}'; [ $(wc -l < '{count}') -lt 3 ] || {{ sleep 600 & echo $! > '{number}.new'; mv '{number}.new' '{number}'; wait; }}"
    );
    let mut plan = plan(&[&line], 10);
    plan.commands[0].cleanup = Some(format!("echo yes > '{cleaned}'"));
    let control = Control::new().expect("descriptors are left");
    let stopper = control.clone();
    let file = folder.0.join("number");
    let waits = std::thread::spawn(move || {
        let process = process_in(&file);
        stopper.stop();
        process
    });
    let result = prony_exec::run(&plan, Environment::default(), &control, &mut |_| {}).expect("a result");
    let process = waits.join().expect("the command started");
    assert!(is_gone(process), "{process} still runs");
    assert_eq!(result.commands[0].runs.len(), 2);
    assert!(result.timing.interrupted);
    assert!(result.findings.iter().any(|finding| finding.code == FindingCode::Interrupted));
    assert_eq!(folder.lines("cleaned"), ["yes"]);
}

#[test]
fn a_stop_before_the_first_run() {
    let control = Control::new().expect("descriptors are left");
    control.stop();
    let plan = plan(&["true", "true"], 10);
    let result = prony_exec::run(&plan, Environment::default(), &control, &mut |_| {}).expect("a result");
    assert!(result.timing.interrupted);
    assert_eq!((result.commands[0].runs.len(), result.reference), (0, None));
}

#[test]
fn a_command_that_ignores_the_stop_is_killed() {
    let folder = Folder::new("stubborn");
    let number = folder.file("number");
    let line = format!(
        "trap '' TERM; echo $$ > '{number}.new'; mv '{number}.new' '{number}'; while :; do sleep 1; done"
    );
    let control = Control::new().expect("descriptors are left");
    let stopper = control.clone();
    let file = folder.0.join("number");
    let waits = std::thread::spawn(move || {
        let process = process_in(&file);
        stopper.stop();
        process
    });
    prony_exec::run(&plan(&[&line], 10), Environment::default(), &control, &mut |_| {}).expect("a result");
    assert!(is_gone(waits.join().expect("the command started")));
}

#[test]
fn kill_is_at_once() {
    let folder = Folder::new("kill");
    let number = folder.file("number");
    let line = format!(
        "trap '' TERM; echo $$ > '{number}.new'; mv '{number}.new' '{number}'; while :; do sleep 1; done"
    );
    let control = Control::new().expect("descriptors are left");
    let killer = control.clone();
    let file = folder.0.join("number");
    let waits = std::thread::spawn(move || {
        process_in(&file);
        killer.kill();
    });
    let error = prony_exec::run(&plan(&[&line], 10), Environment::default(), &control, &mut |_| {});
    assert!(error.expect_err("killed").to_string().ends_with("was ended by signal 9 (run 1)"));
    waits.join().expect("the command started");
}

#[test]
fn what_a_run_leaves_behind_is_ended_with_it() {
    let folder = Folder::new("behind");
    let number = folder.file("number");
    let mut plan = plan(&[&format!("sleep 600 & echo $! > '{number}'")], 1);
    run(&plan).expect("a result");
    assert!(is_gone(process_in(&folder.0.join("number"))));
    // What a setup starts in the background is wanted, and lives until the cleanup.
    let server = folder.file("server");
    plan.commands[0].line = format!("kill -0 $(cat '{server}')");
    plan.commands[0].setup = Some(format!("sleep 600 & echo $! > '{server}'"));
    plan.commands[0].cleanup = Some(format!("kill $(cat '{server}')"));
    run(&plan).expect("the server lives while commands run");
    assert!(is_gone(process_in(&folder.0.join("server"))));
}

#[test]
fn events_name_the_phase() {
    let mut shells = 0;
    let control = Control::new().expect("descriptors are left");
    let mut sink = |event: &ExecEvent| shells += u32::from(matches!(event, ExecEvent::Shell { .. }));
    prony_exec::run(&plan(&["true"], 1), Environment::default(), &control, &mut sink).expect("a result");
    assert_eq!(shells, 50);
}
