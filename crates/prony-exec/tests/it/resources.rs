//! What is measured of each run. Bounds are those that the kernel guarantees.

use prony_model::{ExecOutput, StartUpSource, StartUpTry};

use crate::fixture::{Folder, direct, plan, run};

#[test]
fn a_sleep_takes_at_least_its_time() {
    for plan in [plan(&["sleep 0.05"], 3), direct(&["sleep 0.05"], 3)] {
        let result = run(&plan).expect("a result");
        let command = &result.commands[0];
        for run in &command.runs {
            assert!(run.wall_with_shell_s >= 0.05, "{run:?}");
            assert!(run.wall_s <= run.wall_with_shell_s, "{run:?}");
        }
        let wall = command.wall.as_ref().expect("three runs");
        assert_eq!(wall.count, 3);
        assert!(wall.min_s <= wall.median_s && wall.median_s <= wall.max_s, "{wall:?}");
        assert_eq!(wall.median_interval_s, None);
        assert_eq!(result.shell.is_some(), plan.shell.is_some());
    }
}

#[test]
fn memory_of_a_child_that_allocates() {
    // `tail` keeps the one line that it gets.
    let result = run(&plan(&["head -c 60000000 /dev/zero | tail | wc -c"], 2)).expect("a result");
    let memory = result.commands[0].memory.expect("two runs");
    assert!(memory.max_bytes >= 50_000_000, "{memory:?}");
    assert!(memory.median_bytes >= 50_000_000, "{memory:?}");
    assert!(memory.floor_bytes > 0);
}

#[test]
fn work_takes_cpu_time() {
    let busy = "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done";
    let result = run(&plan(&[busy], 2)).expect("a result");
    let user = result.commands[0].user.as_ref().expect("two runs");
    assert!(user.max_s > 0.0, "{user:?}");
}

#[test]
fn output_goes_where_it_should() {
    let folder = Folder::new("output");
    let file = folder.0.join("out");
    let mut plan = plan(&["cat; echo ignored >&2"], 2);
    let input = folder.0.join("in");
    std::fs::write(&input, "line\n").expect("a file");
    plan.input = Some(input);
    plan.output = ExecOutput::File(file);
    run(&plan).expect("a result");
    assert_eq!(folder.lines("out"), ["line"], "emptied for each run");
    // More than a pipe holds: nobody waits for anybody.
    plan.commands[0].line = "head -c 1000000 /dev/zero; head -c 1000000 /dev/zero >&2".to_owned();
    plan.output = ExecOutput::Pipe;
    run(&plan).expect("a result");
    plan.output = ExecOutput::Null;
    run(&plan).expect("a result");
}

#[test]
fn start_up_is_measured_beside() {
    let start_up = |tries: &[(&str, StartUpSource)]| {
        let mut plan = direct(&["sleep 0.05"], 8);
        plan.commands[0].start_up = tries.iter().map(|(line, source)| of(line, *source)).collect();
        let result = run(&plan).expect("a result");
        result.commands[0].start_up.clone().expect("a start-up command that works")
    };
    let least = ("true", StartUpSource::Least);
    // `sleep` of the GNU tools prints a version; others refuse the flag.
    let own = start_up(&[("sleep --version", StartUpSource::Version), least]);
    assert!(matches!(own.source, StartUpSource::Version | StartUpSource::Least));
    assert_eq!(own.wall.count, 8);
    let none = start_up(&[("false", StartUpSource::Version), least]);
    assert_eq!((none.line.as_str(), none.source), ("true", StartUpSource::Least));
    // It works, but doesn't print a version: it may have done the program's work.
    let silent = start_up(&[("true", StartUpSource::Version), least]);
    assert_eq!(silent.source, StartUpSource::Least);
    let named = start_up(&[("true", StartUpSource::Named)]);
    assert_eq!(named.source, StartUpSource::Named);
}

#[test]
fn a_share_above_the_threshold_is_a_finding() {
    let mut plan = direct(&["sleep 0.02"], 4);
    plan.commands[0].start_up = vec![of("sleep 0.015", StartUpSource::Named)];
    let result = run(&plan).expect("a result");
    let share = result.commands[0].start_up.as_ref().expect("it ran").share;
    let is_reported =
        result.findings.iter().any(|finding| finding.code == prony_model::FindingCode::StartUpShare);
    // On a busy machine the median of the shorter sleep may come out above that of the longer one.
    assert_eq!(is_reported, share.is_some_and(|share| share > 0.2), "{:?}", result.findings);
}

#[test]
fn a_start_up_command_that_was_named_must_work() {
    let mut plan = direct(&["true"], 1);
    plan.commands[0].start_up = vec![of("false", StartUpSource::Named)];
    let error = run(&plan).expect_err("it was named");
    assert_eq!(error.to_string(), "`false` ended with exit code 1 (start-up)");
}

fn of(line: &str, source: StartUpSource) -> StartUpTry {
    StartUpTry { line: line.to_owned(), source }
}
