//! The reports on timed commands.

use std::collections::BTreeMap;
use std::time::Duration;

use prony_model::{
    CommandComparison, CommandExit, CommandResult, CommandRun, ComparisonOutcome, EXEC_FORMAT, EXEC_VERSION,
    Environment, Evidence, ExecCommand, ExecOrder, ExecOutput, ExecPlan, ExecResult, ExecRuns, ExecTiming,
    ExpectedExits, Finding, FindingCode, Interval, MemorySummary, Severity, ShellUse, StartUpShare,
    StartUpSource, TimeSummary, Verdict,
};
use prony_report::{Style, exec, hyperfine};
use prony_stats::describe;

fn times(values: &[f64]) -> TimeSummary {
    let summary = describe(values).expect("values");
    TimeSummary {
        count: u32::try_from(summary.count).expect("few"),
        mean_s: summary.mean,
        stddev_s: summary.std_dev,
        median_s: summary.median,
        median_interval_s: summary.median_interval.map(|(low, high)| Interval {
            low,
            high,
            indicative: false,
        }),
        min_s: summary.min,
        max_s: summary.max,
    }
}

/// Runs of these times, in seconds.
fn command(walls: &[f64], exit: CommandExit) -> CommandResult {
    let run = |(round, wall_s): (u32, &f64)| CommandRun {
        round,
        place: 0,
        at_s: 0.1 * f64::from(round),
        wall_s: *wall_s,
        wall_with_shell_s: wall_s + 0.0005,
        user_s: wall_s / 2.0,
        system_s: wall_s / 4.0,
        peak_memory_bytes: 6_000_000 + u64::from(round) * 1000,
        exit: if round == 0 { exit } else { CommandExit::Code(0) },
    };
    let runs: Vec<CommandRun> = (0..).zip(walls).map(run).collect();
    let of = |value: fn(&CommandRun) -> f64| Some(times(&runs.iter().map(value).collect::<Vec<_>>()));
    let last = runs.last().expect("a run").peak_memory_bytes;
    CommandResult {
        wall: of(|run| run.wall_s),
        user: of(|run| run.user_s),
        system: of(|run| run.system_s),
        memory: Some(MemorySummary { median_bytes: last, max_bytes: last, floor_bytes: 5_000_000 }),
        start_up: None,
        withheld: None,
        runs,
    }
}

fn series(typical_s: f64) -> Vec<f64> {
    (0..20).map(|i| typical_s * (1.0 + 0.01 * f64::from(i * 7 % 20))).collect()
}

/// What a program that starts for each request looks like.
fn two() -> ExecResult {
    let planned =
        |name: &str| ExecCommand { name: name.to_owned(), line: name.to_owned(), ..ExecCommand::default() };
    let mut first = command(&series(0.0023), CommandExit::Code(0));
    first.start_up = Some(StartUpShare {
        line: "/usr/bin/wget --version".to_owned(),
        source: StartUpSource::Version,
        wall: times(&series(0.0016)),
        share: Some(0.69),
    });
    let mut second = command(&series(0.0051), CommandExit::Signal(9));
    second.start_up = Some(StartUpShare {
        line: "/usr/bin/true".to_owned(),
        source: StartUpSource::Least,
        wall: times(&series(0.0005)),
        share: Some(0.1),
    });
    ExecResult {
        format: EXEC_FORMAT.to_owned(),
        version: EXEC_VERSION,
        verdict: Verdict::Doubtful,
        plan: ExecPlan {
            commands: vec![planned("wget -qO- http://127.0.0.1:3000/"), planned("./client | tail, \"x\"")],
            shell: Some(vec!["sh".to_owned(), "-c".to_owned()]),
            runs: ExecRuns { warmup: 3, least: 10, most: 1000, least_time: Duration::from_secs(3) },
            order: ExecOrder::Interleaved,
            reference: None,
            exits: ExpectedExits { good: vec![1], go_on: true },
            input: None,
            output: ExecOutput::Pipe,
            timeout: Duration::from_mins(1),
            seed: 42,
        },
        timing: ExecTiming {
            started_at: "2026-01-02T03:04:05Z".to_owned(),
            total_s: 6.02,
            rounds: 20,
            interrupted: false,
        },
        shell: Some(ShellUse { runs: 50, wall_s: 0.0005, user_s: 0.0003, system_s: 0.0001 }),
        commands: vec![first, second],
        reference: Some(0),
        comparisons: vec![CommandComparison {
            command: 1,
            pairs: 20,
            rounds_per_pair: 1,
            change: Some(1.22),
            interval: Some(Interval { low: 1.2, high: 1.25, indicative: false }),
            p: Some(0.0001),
            margin: 0.02,
            verdict: ComparisonOutcome::Slower,
        }],
        findings: vec![Finding {
            code: FindingCode::StartUpShare,
            severity: Severity::Warning,
            evidence: vec![Evidence::new("share_1", 0.69, "share")],
            message: "command 1: 69 % of the time is process start-up".to_owned(),
            advice: "to time the request itself: prony http://127.0.0.1:3000/".to_owned(),
        }],
        environment: Environment::default(),
    }
}

/// One command that takes no longer than the shell alone.
pub(crate) fn lost() -> ExecResult {
    let mut result = two();
    let walls: Vec<f64> = (0..20).map(|i| (0.000_1 * (f64::from(i * 7 % 20) - 17.0)).max(0.0)).collect();
    result.commands = vec![command(&walls, CommandExit::Code(0))];
    result.commands[0].withheld =
        Some("18 of 20 runs took no longer than the shell alone (500 µs)".to_owned());
    result.plan.commands.truncate(1);
    result.comparisons.clear();
    result.reference = None;
    result
}

/// Ended before the first run.
fn none() -> ExecResult {
    let mut result = two();
    result.verdict = Verdict::Valid;
    result.findings.clear();
    result.commands = vec![CommandResult::default(); 2];
    result.comparisons.clear();
    result.reference = None;
    result.timing.interrupted = true;
    result.timing.rounds = 0;
    result
}

fn check(name: &str, drawn: &str) {
    insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!(name, drawn);
    });
}

#[test]
fn reports() {
    let style = Style::default();
    check("exec-two", &exec::text(&two(), &style));
    check("exec-none", &exec::text(&none(), &style));
    check("exec-markdown-two", &exec::markdown(&two()));
    check("exec-ascii-narrow", &exec::text(&two(), &Style { width: 44, unicode: false, colour: false }));
}

#[test]
fn no_line_is_too_wide() {
    for width in [40, 60, 80, 120] {
        for result in [two(), none()] {
            let drawn = exec::text(&result, &Style { width, ..Style::default() });
            for line in drawn.lines() {
                assert!(line.chars().count() <= width, "{width}: {line}");
            }
        }
    }
}

#[test]
fn hyperfines_formats() {
    check("exec-hyperfine-csv", &hyperfine::csv(&two()));
    check("exec-hyperfine-markdown", &hyperfine::markdown(&two()));
    let mut result = two();
    for (command, value) in result.plan.commands.iter_mut().zip(["1", "a,b"]) {
        command.parameters = BTreeMap::from([("n".to_owned(), value.to_owned())]);
    }
    assert!(
        hyperfine::csv(&result).starts_with("command,mean,stddev,median,user,system,min,max,parameter_n\n")
    );
    assert!(hyperfine::csv(&result).ends_with(",\"a,b\"\n"));
    assert_eq!(hyperfine::csv(&none()).lines().count(), 1);
}

/// The keys and types that programs which read hyperfine's JSON rely on.
#[test]
fn hyperfines_json() {
    let text = hyperfine::json(&two());
    let value: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let entry = value["results"][1].as_object().expect("an object");
    let keys: Vec<&str> =
        text.lines().filter_map(|line| line.strip_prefix("      \"")?.split('"').next()).collect();
    let golden = [
        "command",
        "mean",
        "stddev",
        "median",
        "user",
        "system",
        "min",
        "max",
        "times",
        "memory_usage_byte",
        "exit_codes",
    ];
    assert_eq!(keys[..golden.len()], golden);
    assert_eq!(entry.len(), golden.len(), "no parameters, no key");
    assert!(
        ["mean", "stddev", "median", "user", "system", "min", "max"].iter().all(|key| entry[*key].is_f64())
    );
    assert_eq!(entry["times"].as_array().map(Vec::len), Some(20));
    assert!(entry["memory_usage_byte"][0].is_u64());
    assert_eq!((&entry["exit_codes"][0], &entry["exit_codes"][1]), (&137.into(), &0.into()));
    let mut single = two();
    single.commands[0] = command(&[0.5], CommandExit::Timeout);
    single.plan.commands[0].parameters = BTreeMap::from([("n".to_owned(), "1".to_owned())]);
    let value: serde_json::Value = serde_json::from_str(&hyperfine::json(&single)).expect("JSON");
    assert!(value["results"][0]["stddev"].is_null() && value["results"][0]["exit_codes"][0].is_null());
    assert_eq!(value["results"][0]["parameters"]["n"], "1");
}
