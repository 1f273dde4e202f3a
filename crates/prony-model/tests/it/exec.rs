//! The file format of `prony exec`: what is written fits the published schema, and is read back as it was.

use std::collections::BTreeMap;
use std::time::Duration;

use prony_model::{
    CommandComparison, CommandExit, CommandResult, CommandRun, ComparisonOutcome, EXEC_FORMAT, EXEC_VERSION,
    Environment, ExecCommand, ExecOrder, ExecOutput, ExecPlan, ExecResult, ExecRuns, ExecTiming,
    ExpectedExits, Finding, FindingCode, Interval, MemorySummary, Severity, ShellUse, StartUpShare,
    StartUpSource, StartUpTry, TimeSummary, Verdict, exec_from_json, exec_to_json,
};
use serde_json::Value;

/// A result in which everything happened.
fn full() -> ExecResult {
    let sources = [StartUpSource::Named, StartUpSource::Version, StartUpSource::Least];
    let start_up = sources.map(|source| StartUpTry { line: "tool --version".to_owned(), source });
    let line = Some("make".to_owned());
    let command = ExecCommand {
        name: "a".to_owned(),
        line: "tool 1".to_owned(),
        parameters: BTreeMap::from([("n".to_owned(), "1".to_owned())]),
        setup: line.clone(),
        prepare: line.clone(),
        conclude: line.clone(),
        cleanup: line,
        start_up: start_up.into(),
    };
    let exits = [CommandExit::Code(3), CommandExit::Signal(9), CommandExit::Timeout];
    let verdicts = [
        ComparisonOutcome::Faster,
        ComparisonOutcome::Slower,
        ComparisonOutcome::FasterSizeUncertain,
        ComparisonOutcome::SlowerSizeUncertain,
        ComparisonOutcome::NoDifference,
        ComparisonOutcome::TooNoisy { smallest_detectable: Some(0.12), pairs_needed: Some(160) },
        ComparisonOutcome::NoVerdict { reason: "too few".to_owned() },
    ];
    let interval = Some(Interval { low: 1.5, high: 2.5, indicative: false });
    let comparison = |verdict| CommandComparison {
        command: 1,
        pairs: 20,
        rounds_per_pair: 2,
        change: Some(0.5),
        interval,
        p: Some(0.01),
        margin: 0.02,
        verdict,
    };
    let wall = times();
    let measured = CommandResult {
        runs: exits.map(run).into(),
        wall: Some(times()),
        user: Some(times()),
        system: Some(times()),
        memory: Some(MemorySummary { median_bytes: 1, max_bytes: 2, floor_bytes: 3 }),
        start_up: Some(StartUpShare {
            line: "true".to_owned(),
            source: StartUpSource::Least,
            wall,
            share: Some(0.5),
        }),
        withheld: Some("lost in the shell's start".to_owned()),
    };
    ExecResult {
        format: EXEC_FORMAT.to_owned(),
        version: EXEC_VERSION,
        verdict: Verdict::Doubtful,
        plan: ExecPlan {
            commands: vec![command.clone(), command],
            shell: Some(vec!["sh".to_owned(), "-c".to_owned()]),
            runs: ExecRuns { warmup: 1, least: 10, most: 100, least_time: Duration::from_millis(2500) },
            order: ExecOrder::Interleaved,
            reference: Some(0),
            exits: ExpectedExits { good: vec![1], go_on: true },
            input: Some("in".into()),
            output: ExecOutput::File("out".into()),
            timeout: Duration::from_hours(1),
            seed: u64::MAX,
        },
        timing: ExecTiming {
            started_at: "2026-01-02T03:04:05Z".to_owned(),
            total_s: 6.5,
            rounds: 3,
            interrupted: true,
        },
        shell: Some(ShellUse { runs: 50, wall_s: 0.0005, user_s: 0.0003, system_s: 0.0001 }),
        commands: vec![measured.clone(), measured],
        reference: Some(0),
        comparisons: verdicts.map(comparison).into(),
        findings: vec![Finding {
            code: FindingCode::StartUpShare,
            severity: Severity::Warning,
            evidence: Vec::new(),
            message: "seen".to_owned(),
            advice: "do".to_owned(),
        }],
        environment: Environment::default(),
    }
}

/// A result in which nothing could be found out.
fn bare() -> ExecResult {
    let mut result = full();
    result.plan.shell = None;
    result.plan.input = None;
    result.plan.reference = None;
    result.plan.order = ExecOrder::Sequential;
    result.plan.output = ExecOutput::Null;
    result.plan.commands = vec![ExecCommand::default()];
    result.shell = None;
    result.reference = None;
    result.commands = vec![CommandResult::default()];
    result.comparisons.clear();
    result.findings.clear();
    result
}

fn run(exit: CommandExit) -> CommandRun {
    CommandRun {
        round: 1,
        place: 0,
        at_s: 0.5,
        wall_s: 1.0,
        wall_with_shell_s: 1.5,
        user_s: 0.5,
        system_s: 0.25,
        peak_memory_bytes: 1 << 20,
        exit,
    }
}

fn times() -> TimeSummary {
    TimeSummary {
        count: 3,
        mean_s: 1.0,
        stddev_s: Some(0.5),
        median_s: 1.0,
        median_interval_s: Some(Interval { low: 0.5, high: 1.5, indicative: false }),
        min_s: 0.5,
        max_s: 1.5,
    }
}

fn check(what: &str, result: &Value, fits: bool) {
    let schema: Value =
        serde_json::from_str(include_str!("../../../../docs/schema/exec-v1.json")).expect("JSON");
    let validator = jsonschema::validator_for(&schema).expect("the published schema is one");
    let errors: Vec<String> = validator
        .iter_errors(result)
        .map(|error| format!("{} at {}", error, error.instance_path()))
        .collect();
    assert_eq!(errors.is_empty(), fits, "{what}: {errors:#?}");
}

fn json(result: &ExecResult) -> Value {
    serde_json::from_str(&exec_to_json(result)).expect("what is written is JSON")
}

#[test]
fn what_is_written_fits_the_published_schema() {
    check("full", &json(&full()), true);
    check("bare", &json(&bare()), true);
    for key in ["format", "version", "verdict", "plan", "commands", "comparisons", "findings"] {
        let mut result = json(&full());
        result.as_object_mut().expect("an object").remove(key);
        check(key, &result, false);
        assert!(exec_from_json(&result.to_string()).is_err(), "{key}");
    }
}

#[test]
fn what_is_written_is_read_back() {
    for result in [full(), bare()] {
        assert_eq!(exec_from_json(&exec_to_json(&result)).expect("own words"), result);
    }
}
