//! The result of a series: what each command took, which is faster, what is doubtful.

use std::time::Duration;

use prony_model::words::{grouped, milliseconds, plural};
use prony_model::{
    CommandResult, CommandRun, EXEC_FORMAT, EXEC_VERSION, Environment, ExecPlan, ExecResult, ExecTiming,
    Interval, MemorySummary, ShellUse, StartUpShare, TimeSummary, Verdict,
};
use prony_stats::describe;

use crate::start_up::StartUp;
use crate::{audit, compare};

/// A start-up command that takes longer than the command by more than this does not stand for a part of it. Up to
/// here it may be noise, and the share counts as all.
const SHARE_MAX: f64 = 1.1;

/// Of a command that takes longer than the shell by more than both vary, no more runs than these are as short as the
/// shell alone.
const LOST_SHARE: f64 = 0.10;

/// What was measured.
pub(crate) struct Measured {
    /// Since 1970.
    pub(crate) started_at: Duration,
    pub(crate) total: Duration,
    pub(crate) interrupted: bool,
    pub(crate) shell: Option<ShellUse>,
    pub(crate) start_ups: Vec<StartUp>,
    /// Of each command.
    pub(crate) runs: Vec<Vec<CommandRun>>,
    pub(crate) rounds: u32,
    /// Cleanups that failed, in words.
    pub(crate) unclean: Vec<String>,
}

/// Puts the result together and evaluates it.
pub(crate) fn result(plan: &ExecPlan, measured: Measured, environment: Environment) -> ExecResult {
    let Measured { started_at, total, interrupted, shell, start_ups, runs, rounds, unclean } = measured;
    let floor_bytes = own_peak_bytes();
    let mut commands: Vec<CommandResult> = runs.into_iter().map(|runs| command(runs, floor_bytes)).collect();
    for start_up in &start_ups {
        for command in &start_up.commands {
            commands[*command].start_up = share(start_up, &commands[*command]);
        }
    }
    for command in &mut commands {
        command.withheld = withheld(command, shell);
    }
    let (reference, comparisons) = compare::compare(plan, &commands, rounds);
    let timing = ExecTiming {
        started_at: prony_model::rfc3339(started_at),
        total_s: total.as_secs_f64(),
        rounds,
        interrupted,
    };
    let mut result = ExecResult {
        format: EXEC_FORMAT.to_owned(),
        version: EXEC_VERSION,
        verdict: Verdict::Valid,
        plan: plan.clone(),
        timing,
        shell,
        commands,
        reference,
        comparisons,
        findings: Vec::new(),
        environment,
    };
    result.findings = audit::findings(&result, &unclean);
    result.verdict = Verdict::from_findings(&result.findings);
    result
}

/// Why the times of `command` mean nothing: the runs vary around what the shell takes alone, and what is left of them is
/// cut off at 0.
fn withheld(command: &CommandResult, shell: Option<ShellUse>) -> Option<String> {
    let shell = shell?;
    let (lost, runs) = (command.runs.iter().filter(|run| run.wall_s <= 0.0).count(), command.runs.len());
    (lost as f64 > LOST_SHARE * runs as f64).then(|| {
        format!(
            "{} of {} took no longer than the shell alone ({})",
            grouped(lost as u64),
            plural(runs as u64, "run"),
            milliseconds(shell.wall_s * 1e3)
        )
    })
}

fn command(runs: Vec<CommandRun>, floor_bytes: u64) -> CommandResult {
    let summary = |of: fn(&CommandRun) -> f64| times(&runs.iter().map(of).collect::<Vec<_>>());
    CommandResult {
        wall: summary(|run| run.wall_s),
        user: summary(|run| run.user_s),
        system: summary(|run| run.system_s),
        memory: memory(&runs, floor_bytes),
        start_up: None,
        withheld: None,
        runs,
    }
}

/// `values` in seconds, described.
fn times(values: &[f64]) -> Option<TimeSummary> {
    let description = describe(values)?;
    Some(TimeSummary {
        count: u32::try_from(description.count).unwrap_or(u32::MAX),
        mean_s: description.mean,
        stddev_s: description.std_dev,
        median_s: description.median,
        median_interval_s: description.median_interval.map(|(low, high)| Interval {
            low,
            high,
            indicative: false,
        }),
        min_s: description.min,
        max_s: description.max,
    })
}

fn memory(runs: &[CommandRun], floor_bytes: u64) -> Option<MemorySummary> {
    let mut peaks: Vec<u64> = runs.iter().map(|run| run.peak_memory_bytes).collect();
    peaks.sort_unstable();
    Some(MemorySummary { median_bytes: *peaks.get(peaks.len() / 2)?, max_bytes: *peaks.last()?, floor_bytes })
}

/// How much of `command`'s time `start_up` stands for.
fn share(start_up: &StartUp, command: &CommandResult) -> Option<StartUpShare> {
    let wall = times(&start_up.times_s)?;
    let share = wall.median_s / command.wall.as_ref()?.median_s;
    // Nothing takes no time: then the shell's share, which was subtracted, was all.
    let share = (share > 0.0 && share <= SHARE_MAX).then_some(share.min(1.0));
    Some(StartUpShare { line: start_up.line.clone(), source: start_up.source, wall, share })
}

/// Greatest memory that this process had. The kernel counts it for new processes, too: until a process has its own
/// program it lives in a copy of ours (`exec_mmap` in fs/exec.c keeps the old high-water mark).
fn own_peak_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kibibytes = line.and_then(|line| line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok());
    kibibytes.unwrap_or_default() * 1024
}

#[cfg(test)]
mod tests {
    use prony_model::{
        CommandExit, ExecCommand, ExecOrder, ExecOutput, ExecRuns, ExpectedExits, FindingCode, StartUpSource,
    };

    use super::*;

    fn check(start_up_s: f64, command_s: f64, expected: Option<f64>) {
        let start_up = StartUp {
            line: "tool --version".to_owned(),
            source: StartUpSource::Version,
            commands: vec![0],
            times_s: vec![start_up_s; 3],
        };
        let command = CommandResult { wall: times(&[command_s; 3]), ..CommandResult::default() };
        assert_eq!(
            share(&start_up, &command).expect("both ran").share,
            expected,
            "{start_up_s} of {command_s}"
        );
    }

    #[test]
    fn shares() {
        check(1.0, 4.0, Some(0.25));
        check(1.05, 1.0, Some(1.0));
        // Doing nothing can't be a part of something shorter.
        check(2.0, 1.0, None);
        check(1.0, 0.0, None);
        check(0.0, 1.0, None);
    }

    #[test]
    fn our_own_memory_is_known() {
        assert!(own_peak_bytes() > 100_000);
    }

    /// Runs of these times, in seconds.
    fn measured(walls: &[f64]) -> Measured {
        let run = |(round, wall_s): (u32, &f64)| CommandRun {
            round,
            place: 0,
            at_s: 0.0,
            wall_s: *wall_s,
            wall_with_shell_s: wall_s + 0.001,
            user_s: 0.0,
            system_s: 0.0,
            peak_memory_bytes: 0,
            exit: CommandExit::Code(0),
        };
        Measured {
            started_at: Duration::ZERO,
            total: Duration::ZERO,
            interrupted: false,
            shell: Some(ShellUse { runs: 50, wall_s: 0.001, user_s: 0.0, system_s: 0.0 }),
            start_ups: vec![StartUp {
                line: "true".to_owned(),
                source: StartUpSource::Least,
                commands: vec![0],
                times_s: vec![0.000_05; 20],
            }],
            runs: vec![(0..).zip(walls).map(run).collect()],
            rounds: 20,
            unclean: Vec::new(),
        }
    }

    fn plan() -> ExecPlan {
        ExecPlan {
            commands: vec![ExecCommand { name: "exec true".to_owned(), ..ExecCommand::default() }],
            shell: Some(vec!["sh".to_owned(), "-c".to_owned()]),
            runs: ExecRuns { warmup: 0, least: 20, most: 20, least_time: Duration::ZERO },
            order: ExecOrder::Interleaved,
            reference: None,
            exits: ExpectedExits { good: Vec::new(), go_on: false },
            input: None,
            output: ExecOutput::Null,
            timeout: Duration::from_secs(1),
            seed: 1,
        }
    }

    /// `exec true` in a shell takes what the shell takes: what the subtraction leaves is noise.
    #[test]
    fn a_command_that_is_lost_in_the_shells_start_has_no_time() {
        // The first run is far from the others, as first runs are.
        let mut walls: Vec<f64> =
            (0..20).map(|i| (0.000_01 * (f64::from(i * 7 % 20) - 12.0)).max(0.0)).collect();
        walls[0] = 0.002;
        let exec_result = result(&plan(), measured(&walls), Environment::default());
        let reason = exec_result.commands[0].withheld.as_deref().expect("no time");
        assert!(reason.contains(" of 20 runs took no longer than the shell alone (1.00 ms)"), "{reason}");
        let codes: Vec<FindingCode> = exec_result.findings.iter().map(|finding| finding.code).collect();
        assert_eq!(codes, [FindingCode::ShortCommand], "{:#?}", exec_result.findings);
        assert!(exec_result.findings[0].message.contains(reason), "{:?}", exec_result.findings);
    }

    #[test]
    fn a_short_command_is_reported_first() {
        let mut walls = vec![0.002; 20];
        walls[0] = 0.02;
        for (at, wall) in walls.iter_mut().enumerate() {
            *wall += 0.000_01 * at as f64;
        }
        let exec_result = result(&plan(), measured(&walls), Environment::default());
        assert_eq!(exec_result.commands[0].withheld, None);
        let codes: Vec<FindingCode> = exec_result.findings.iter().map(|finding| finding.code).collect();
        assert_eq!(
            codes,
            [FindingCode::ShortCommand, FindingCode::SlowFirstRun],
            "{:#?}",
            exec_result.findings
        );
    }
}
