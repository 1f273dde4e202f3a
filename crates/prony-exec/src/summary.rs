//! The result of a series: what each command took, which is faster, what is doubtful.

use std::time::Duration;

use prony_model::{
    CommandResult, CommandRun, EXEC_FORMAT, EXEC_VERSION, Environment, ExecPlan, ExecResult, ExecTiming,
    Interval, MemorySummary, ShellUse, StartUpShare, TimeSummary, Verdict,
};
use prony_stats::describe;

use crate::start_up::StartUp;
use crate::{audit, compare};

/// A start-up command that takes longer than the command by more than this does not stand for a part of it. Up to
/// here it may be noise, and the share counts as all.
const MOST_SHARE: f64 = 1.1;

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

/// Puts the result together and judges it.
pub(crate) fn result(plan: &ExecPlan, measured: Measured, environment: Environment) -> ExecResult {
    let Measured { started_at, total, interrupted, shell, start_ups, runs, rounds, unclean } = measured;
    let floor_bytes = own_peak_bytes();
    let mut commands: Vec<CommandResult> = runs.into_iter().map(|runs| command(runs, floor_bytes)).collect();
    for start_up in &start_ups {
        for command in &start_up.commands {
            commands[*command].start_up = share(start_up, &commands[*command]);
        }
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

fn command(runs: Vec<CommandRun>, floor_bytes: u64) -> CommandResult {
    let summary = |of: fn(&CommandRun) -> f64| times(&runs.iter().map(of).collect::<Vec<_>>());
    CommandResult {
        wall: summary(|run| run.wall_s),
        user: summary(|run| run.user_s),
        system: summary(|run| run.system_s),
        memory: memory(&runs, floor_bytes),
        start_up: None,
        runs,
    }
}

/// `values` in seconds, described.
fn times(values: &[f64]) -> Option<TimeSummary> {
    let told = describe(values)?;
    Some(TimeSummary {
        count: u32::try_from(told.count).unwrap_or(u32::MAX),
        mean_s: told.mean,
        stddev_s: told.std_dev,
        median_s: told.median,
        median_interval_s: told.median_interval.map(|(low, high)| Interval { low, high, indicative: false }),
        min_s: told.min,
        max_s: told.max,
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
    let share = (share > 0.0 && share <= MOST_SHARE).then_some(share.min(1.0));
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
    use super::*;
    use prony_model::StartUpSource;

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
}
