//! What `prony exec` found out.

use serde::{Deserialize, Serialize};

use crate::{ComparisonOutcome, Environment, ExecPlan, Finding, Interval, StartUpSource, Verdict};

/// One series of commands, whole: enough to print any report of it again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ExecResult {
    /// Always `prony.exec`.
    pub format: String,
    /// Version of this format.
    pub version: u32,
    /// Whether the numbers can be defended.
    pub verdict: Verdict,
    /// What was asked.
    pub plan: ExecPlan,
    /// When, and for how long.
    pub timing: ExecTiming,
    /// What the shell takes to start, if there is one; it is subtracted from every time.
    pub shell: Option<ShellUse>,
    /// What each command did, in the order of the plan.
    pub commands: Vec<CommandResult>,
    /// The command that the others were compared with, from 0; `None` where there was nothing to compare.
    pub reference: Option<u32>,
    /// The other commands against the reference.
    pub comparisons: Vec<CommandComparison>,
    /// Reasons to doubt, the worst first.
    pub findings: Vec<Finding>,
    /// Where it was made.
    pub environment: Environment,
}

/// When the series was, and how long.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ExecTiming {
    /// RFC 3339, in UTC.
    pub started_at: String,
    /// From the first setup to the last cleanup, seconds.
    pub total_s: f64,
    /// Rounds in which every command ran.
    pub rounds: u32,
    /// Whether it was ended by hand.
    pub interrupted: bool,
}

/// What the shell takes to start and to do nothing: means, in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ShellUse {
    /// Starts that were timed.
    pub runs: u32,
    /// By the clock on the wall.
    pub wall_s: f64,
    /// CPU time in user mode.
    pub user_s: f64,
    /// CPU time in the kernel.
    pub system_s: f64,
}

/// What one command did.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CommandResult {
    /// Every measured run, in the order of time.
    pub runs: Vec<CommandRun>,
    /// Time by the clock on the wall; `None` without a run.
    pub wall: Option<TimeSummary>,
    /// CPU time in user mode, of the command and all that it waited for.
    pub user: Option<TimeSummary>,
    /// CPU time in the kernel.
    pub system: Option<TimeSummary>,
    /// Memory.
    pub memory: Option<MemorySummary>,
    /// How much of its time the program takes to start.
    pub start_up: Option<StartUpShare>,
    /// Why reports show no times: they can't be distinguished from the shell's. `None` where they can.
    #[serde(default)]
    pub withheld: Option<String>,
}

/// One run of one command. Times have the shell's share subtracted, down to 0.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CommandRun {
    /// The round, from 0.
    pub round: u32,
    /// The place within the round, from 0.
    pub place: u32,
    /// When it began, seconds after the series.
    pub at_s: f64,
    /// Seconds from before its start until its end was known.
    pub wall_s: f64,
    /// The same with the shell.
    pub wall_with_shell_s: f64,
    /// CPU seconds in user mode.
    pub user_s: f64,
    /// CPU seconds in the kernel.
    pub system_s: f64,
    /// Largest resident memory of any of its processes, bytes (`ru_maxrss`).
    pub peak_memory_bytes: u64,
    /// How it ended.
    pub exit: CommandExit,
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum CommandExit {
    /// By itself.
    Code(i32),
    /// By a signal.
    Signal(i32),
    /// It took longer than the timeout and was ended.
    Timeout,
}

/// Some times of one kind, in seconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TimeSummary {
    /// How many.
    pub count: u32,
    /// Mean.
    pub mean_s: f64,
    /// Standard deviation of one of them; `None` for a single one.
    pub stddev_s: Option<f64>,
    /// Median.
    pub median_s: f64,
    /// 95 % interval of the median; `None` for fewer than 6.
    pub median_interval_s: Option<Interval>,
    /// Least.
    pub min_s: f64,
    /// Most.
    pub max_s: f64,
}

/// Memory over several runs, bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct MemorySummary {
    /// Median of the runs' peaks.
    pub median_bytes: u64,
    /// Greatest of the runs' peaks.
    pub max_bytes: u64,
    /// What the kernel counts at least, because a new process begins as a copy of prony.
    pub floor_bytes: u64,
}

/// How much of a command's time its program takes to start.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct StartUpShare {
    /// What was timed to know.
    pub line: String,
    /// Where that came from.
    pub source: StartUpSource,
    /// Its times.
    pub wall: TimeSummary,
    /// Its median over the command's median; `None` where that is 0 or above 1, and so says nothing.
    pub share: Option<f64>,
}

/// One command against the reference.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CommandComparison {
    /// Which command, from 0.
    pub command: u32,
    /// Pairs that the comparison rests on.
    pub pairs: u32,
    /// Rounds whose medians make one pair, at least.
    pub rounds_per_pair: u32,
    /// How much longer it takes, less one: 0.05 is 5 % longer.
    pub change: Option<f64>,
    /// 95 % interval of `change`.
    pub interval: Option<Interval>,
    /// Probability of such differences if there were none, adjusted for the number of comparisons (Holm).
    pub p: Option<f64>,
    /// The change that is taken as none: 0.02 is 2 %.
    pub margin: f64,
    /// What it says.
    pub verdict: ComparisonOutcome,
}
