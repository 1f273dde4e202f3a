//! What runs when.

use std::collections::BTreeSet;
use std::time::Duration;

use prony_model::{ComparisonOutcome, Environment, ExecEvent, ExecOrder, ExecRuns};

use crate::fixture::{Folder, plan, run};

#[test]
fn every_round_has_every_command_in_an_order_of_its_own() {
    let folder = Folder::new("rounds");
    let log = folder.file("log");
    let lines: Vec<String> = ["a", "b", "c"].map(|name| format!("echo {name} >> '{log}'")).into();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let result = run(&plan(&lines, 12)).expect("a result");
    let written = folder.lines("log");
    assert_eq!(written.len(), 36);
    let rounds: Vec<String> = written.chunks(3).map(<[String]>::concat).collect();
    for round in &rounds {
        assert_eq!(round.chars().collect::<BTreeSet<_>>().len(), 3, "{rounds:?}");
    }
    assert!(rounds.iter().collect::<BTreeSet<_>>().len() > 1, "never another order: {rounds:?}");
    // The order in the result is what happened.
    for (command, name) in result.commands.iter().zip(["a", "b", "c"]) {
        for run in &command.runs {
            assert_eq!(written[(run.round * 3 + run.place) as usize], name);
        }
    }
    assert_eq!(result.timing.rounds, 12);
    // The same seed makes the same order.
    run(&plan(&lines, 12)).expect("a result");
    let again = folder.lines("log");
    assert_eq!(again[36..], again[..36]);
}

#[test]
fn what_belongs_around_the_runs() {
    let folder = Folder::new("around");
    let log = folder.file("log");
    let write = |what: &str| Some(format!("echo {what} >> '{log}'"));
    let mut plan = plan(&[&write("run").expect("a line")], 3);
    plan.runs.warmup = 2;
    let command = &mut plan.commands[0];
    command.setup = write("setup");
    command.prepare = write("prepare");
    command.conclude = write("conclude");
    command.cleanup = write("cleanup");
    let result = run(&plan).expect("a result");
    let once = ["prepare", "run", "conclude"];
    let expected: Vec<&str> =
        std::iter::once("setup").chain(std::iter::repeat_n(once, 5).flatten()).chain(["cleanup"]).collect();
    assert_eq!(folder.lines("log"), expected);
    assert_eq!(result.commands[0].runs.len(), 3, "warm-up does not count");
}

#[test]
fn one_after_the_other() {
    let folder = Folder::new("sequential");
    let log = folder.file("log");
    let lines: Vec<String> = ["a", "b"].map(|name| format!("echo {name} >> '{log}'")).into();
    let mut plan = plan(&[&lines[0], &lines[1]], 6);
    plan.order = ExecOrder::Sequential;
    for (command, name) in plan.commands.iter_mut().zip(["a", "b"]) {
        command.setup = Some(format!("echo setup-{name} >> '{log}'"));
        command.cleanup = Some(format!("echo cleanup-{name} >> '{log}'"));
    }
    let result = run(&plan).expect("a result");
    let mut expected = Vec::new();
    for name in ["a", "b"] {
        expected.push(format!("setup-{name}"));
        expected.extend(std::iter::repeat_n(name.to_owned(), 6));
        expected.push(format!("cleanup-{name}"));
    }
    assert_eq!(folder.lines("log"), expected);
    assert!(matches!(result.comparisons[0].verdict, ComparisonOutcome::NoVerdict { .. }));
}

#[test]
fn rounds_go_on_until_the_time_is_used() {
    let mut plan = plan(&["sleep 0.02", "sleep 0.02"], 1);
    plan.runs = ExecRuns { warmup: 0, least: 2, most: 1000, least_time: Duration::from_millis(300) };
    let result = run(&plan).expect("a result");
    // 0.6 s in all, of rounds that take 0.04 s at least.
    assert!((2..=15).contains(&result.timing.rounds), "{:?}", result.timing);
    assert!(result.commands.iter().all(|command| command.runs.len() == result.timing.rounds as usize));
}

#[test]
fn the_sink_hears_of_every_run() {
    let mut runs = 0;
    let control = prony_exec::Control::new().expect("descriptors are left");
    let mut sink = |event: &ExecEvent| runs += usize::from(matches!(event, ExecEvent::Run { .. }));
    let result = prony_exec::run(&plan(&["true", "true"], 3), Environment::default(), &control, &mut sink);
    result.expect("a result");
    assert_eq!(runs, 6);
}
