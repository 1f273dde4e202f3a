//! Series whose flaw is known, and the finding that reports it.

use prony_model::{Finding, FindingCode};

use crate::fixture::{Folder, direct, plan, run};

/// A program that sleeps for the seconds of its run's line in a list: one line for each run, one more is an error.
fn sleeps(folder: &Folder, seconds: &[f64]) -> String {
    let list: Vec<String> = seconds.iter().map(ToString::to_string).collect();
    std::fs::write(folder.0.join("list"), list.join("\n") + "\n").expect("a file");
    let script =
        format!("cd {} && read -r time <list && sed -i 1d list && exec sleep \"$time\"", folder.0.display());
    let path = folder.0.join("sleeps.sh");
    std::fs::write(&path, script).expect("a file");
    format!("sh {}", path.display())
}

fn found(findings: &[Finding], code: FindingCode) -> Option<&str> {
    findings.iter().find(|finding| finding.code == code).map(|finding| finding.message.as_str())
}

#[test]
fn a_slow_first_run() {
    let folder = Folder::new("slow-first");
    let mut seconds = [0.05; 12];
    seconds[0] = 1.0;
    let result = run(&direct(&[&sleeps(&folder, &seconds)], 12)).expect("a result");
    let message =
        found(&result.findings, FindingCode::SlowFirstRun).expect("the first took twenty times as long");
    assert!(message.starts_with("the first run took 1"), "{message}");
}

#[test]
fn runs_far_from_the_others() {
    let folder = Folder::new("outliers");
    let mut seconds = [0.05; 12];
    (seconds[4], seconds[9]) = (0.8, 1.0);
    let result = run(&direct(&[&sleeps(&folder, &seconds)], 12)).expect("a result");
    let message = found(&result.findings, FindingCode::OutlierRuns).expect("two took twenty times as long");
    assert!(
        message.contains("of 12 runs were far from the median") && message.contains("the farthest at 1"),
        "{message}"
    );
    assert_eq!(found(&result.findings, FindingCode::SlowFirstRun), None);
}

#[test]
fn a_command_as_short_as_its_shell() {
    let result = run(&plan(&["true"], 12)).expect("a result");
    let message = found(&result.findings, FindingCode::ShortCommand).expect("`true` is part of the shell");
    assert!(message.contains("too short to be timed through a shell"), "{message}");
    let long = run(&plan(&["sleep 0.1"], 6)).expect("a result");
    assert_eq!(found(&long.findings, FindingCode::ShortCommand), None);
}
