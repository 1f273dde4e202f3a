//! Commands that don't do what they should.

use std::time::Duration;

use prony_exec::ExecError;
use prony_model::{CommandExit, ExecOutput, ExpectedExits, FindingCode};

use crate::fixture::{Folder, direct, plan, run};

fn check(plan: &prony_model::ExecPlan, expected: &str) {
    let error = run(plan).expect_err("a failure");
    assert_eq!(error.to_string(), expected);
}

#[test]
fn a_failing_command_ends_the_series() {
    let folder = Folder::new("failing");
    let mut failing = plan(&["echo why >&2; exit 3"], 5);
    failing.commands[0].cleanup = Some(format!("echo cleaned >> '{}'", folder.file("log")));
    match run(&failing) {
        Err(ExecError::Failed { stderr, measured, .. }) => {
            assert_eq!((stderr.as_str(), measured), ("why", true));
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(folder.lines("log"), ["cleaned"]);
    check(&failing, "`echo why >&2; exit 3` ended with exit code 3 (run 1)");
    check(&plan(&["kill -9 $$"], 1), "`kill -9 $$` was ended by signal 9 (run 1)");
    check(&direct(&["false"], 1), "`false` ended with exit code 1 (run 1)");
}

#[test]
fn failures_can_be_ignored() {
    let mut ignoring = plan(&["exit 3", "true"], 6);
    ignoring.exits.go_on = true;
    let result = run(&ignoring).expect("a result");
    assert!(result.commands[0].runs.iter().all(|run| run.exit == CommandExit::Code(3)));
    let codes: Vec<FindingCode> = result.findings.iter().map(|finding| finding.code).collect();
    assert!(codes.contains(&FindingCode::FailedRuns), "{codes:?}");
    // An exit code that is expected is no failure.
    ignoring.exits = ExpectedExits { good: vec![3], go_on: false };
    let result = run(&ignoring).expect("a result");
    let codes: Vec<FindingCode> = result.findings.iter().map(|finding| finding.code).collect();
    assert!(!codes.contains(&FindingCode::FailedRuns), "{codes:?}");
}

#[test]
fn a_command_that_is_not_there() {
    let expected =
        "there is no program `no-such-program`: is the name spelled right, and the folder in PATH?";
    check(&plan(&["no-such-program --flag"], 1), expected);
    check(&direct(&["no-such-program --flag"], 1), expected);
    let mut ignoring = plan(&["no-such-program"], 1);
    ignoring.exits.go_on = true;
    check(&ignoring, expected);
    let mut shell = plan(&["true"], 1);
    shell.shell = Some(vec!["no-such-shell".to_owned(), "-c".to_owned()]);
    check(&shell, "there is no program `no-such-shell`: is the name spelled right, and the folder in PATH?");
    shell.shell = Some(vec!["false".to_owned()]);
    check(
        &shell,
        "the shell `false` can't run an empty command: name another with `shell`, or use none with -N",
    );
    check(
        &direct(&["echo 'open"], 1),
        "`echo 'open` has a quote without its end: without a shell a command is a program and its arguments",
    );
}

#[test]
fn what_belongs_around_fails() {
    let mut setup = plan(&["true"], 1);
    setup.commands[0].setup = Some("exit 5".to_owned());
    check(&setup, "`exit 5` ended with exit code 5 (setup)");
    let mut prepare = plan(&["true"], 1);
    prepare.commands[0].prepare = Some("exit 6".to_owned());
    check(&prepare, "`exit 6` ended with exit code 6 (prepare)");
    // The numbers are there; a cleanup takes none of them away.
    let mut cleanup = plan(&["true"], 1);
    cleanup.commands[0].cleanup = Some("exit 7".to_owned());
    let result = run(&cleanup).expect("a result");
    let is_reported =
        result.findings.iter().any(|finding| finding.message.contains("`exit 7` ended with exit code 7"));
    assert!(is_reported, "{:?}", result.findings);
}

#[test]
fn a_run_without_an_end() {
    let mut endless = plan(&["sleep 600"], 1);
    endless.timeout = Duration::from_millis(50);
    // The shell's own start must not be what times out on a busy machine.
    endless.shell = None;
    check(&endless, "`sleep 600` took longer than its timeout (run 1)");
    endless.exits.go_on = true;
    let result = run(&endless).expect("a result");
    assert_eq!(result.commands[0].runs[0].exit, CommandExit::Timeout);
}

#[test]
fn files_that_cant_be_opened() {
    let mut plan = plan(&["true"], 1);
    plan.output = ExecOutput::File("/nonexistent/out".into());
    let error = run(&plan).expect_err("no folder");
    assert!(error.to_string().starts_with("can't open /nonexistent/out ("), "{error}");
    plan.output = ExecOutput::Null;
    plan.input = Some("/nonexistent/in".into());
    let error = run(&plan).expect_err("no file");
    assert!(error.to_string().starts_with("can't open /nonexistent/in ("), "{error}");
}
