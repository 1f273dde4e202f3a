//! What `prony exec` is asked to do. Every choice stands here, also those that nobody made by hand.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::result::CommandExit;
use crate::problem::shown_as_problem;
use crate::{Problem, Spelling};

/// A plan that contradicts itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExecPlanError {
    /// Nothing to run.
    NoCommand,
    /// More commands than [`ExecPlan::COMMANDS_MAX`].
    TooManyCommands {
        /// What was asked.
        asked: usize,
        /// The bound.
        max: usize,
    },
    /// No run at all.
    NoRuns,
    /// More runs than [`ExecPlan::RUNS_MAX`].
    TooManyRuns {
        /// What was asked.
        asked: u32,
        /// The bound.
        max: u32,
    },
    /// At least more than at most.
    Runs {
        /// The lower bound.
        least: u32,
        /// The upper bound.
        most: u32,
    },
    /// A reference that is not among the commands.
    Reference {
        /// Which was asked, from 1.
        asked: u32,
        /// How many there are.
        commands: usize,
    },
    /// A timeout of zero.
    NoTimeout,
    /// Setups that undo each other when commands take turns.
    SetupsDiffer,
}

impl ExecPlanError {
    /// What is wrong, and what to try.
    pub fn problem(&self, spelled: Spelling) -> Problem {
        match self {
            Self::NoCommand => {
                Problem::new("there is no command to run", "write one, such as prony exec 'sleep 0.1'")
                    .about("command")
            }
            Self::TooManyCommands { asked, max } => {
                let what = format!("{asked} commands are more than {max}");
                Problem::new(what, "use shorter lists of parameters").about("command")
            }
            Self::NoRuns => {
                let advice = format!("use {} 1 or more", spelled("runs"));
                Problem::new("0 runs measure nothing", advice).about("runs")
            }
            Self::TooManyRuns { asked, max } => {
                Problem::new(format!("{asked} runs are more than {max}"), "use fewer").about("runs")
            }
            Self::Runs { least, most } => {
                let what = format!("at least {least} runs and at most {most} contradict each other");
                Problem::new(what, "leave out one of them").about("min-runs")
            }
            Self::Reference { asked, commands } => {
                let advice = format!("the reference is one of 1 to {commands}");
                Problem::new(format!("there is no command {asked}"), advice).about("reference")
            }
            Self::NoTimeout => {
                let advice = format!("use {} 10s or leave it out", spelled("timeout"));
                Problem::new("a timeout of 0 ends every run at once", advice).about("timeout")
            }
            Self::SetupsDiffer => {
                let [setup, prepare, sequential] = ["setup", "prepare", "sequential"].map(spelled);
                let what = format!(
                    "{setup} differs from command to command, and the commands take turns, so the last one would \
                     hold for all"
                );
                let advice = format!("use {prepare}, or {sequential} to run one command after the other");
                Problem::new(what, advice).about("setup")
            }
        }
    }
}

shown_as_problem!(ExecPlanError);

/// A series: which commands, how often, in which order, how evaluated.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ExecPlan {
    /// The commands, parameters filled in.
    pub commands: Vec<ExecCommand>,
    /// The shell that gets each command as one more word; `None` starts programs directly.
    pub shell: Option<Vec<String>>,
    /// How often.
    pub runs: ExecRuns,
    /// In which order.
    pub order: ExecOrder,
    /// The command that the others are compared with, from 0; `None` takes the fastest.
    pub reference: Option<u32>,
    /// Which exit codes are good, and what becomes of others.
    pub exits: ExpectedExits,
    /// The file that commands read from; `None` is nothing.
    pub input: Option<PathBuf>,
    /// Where the commands' output goes.
    pub output: ExecOutput,
    /// When a run is ended, in seconds.
    #[serde(rename = "timeout_s", with = "crate::duration")]
    #[cfg_attr(test, schemars(with = "f64"))]
    pub timeout: Duration,
    /// Seed of the order (PCG-64).
    pub seed: u64,
}

/// One command with what belongs to it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ExecCommand {
    /// What reports call it.
    #[serde(serialize_with = "crate::redact::line")]
    pub name: String,
    /// What is run; stored with its secrets replaced by `[redacted]`.
    #[serde(serialize_with = "crate::redact::line")]
    pub line: String,
    /// The parameters that were filled in.
    pub parameters: BTreeMap<String, String>,
    /// Run once before the first run.
    #[serde(serialize_with = "crate::redact::some_line")]
    pub setup: Option<String>,
    /// Run before each run.
    #[serde(serialize_with = "crate::redact::some_line")]
    pub prepare: Option<String>,
    /// Run after each run.
    #[serde(serialize_with = "crate::redact::some_line")]
    pub conclude: Option<String>,
    /// Run once after the last run.
    #[serde(serialize_with = "crate::redact::some_line")]
    pub cleanup: Option<String>,
    /// What may tell the time of the program's start: the first that works is taken. Empty: it is not measured.
    pub start_up: Vec<StartUpTry>,
}

/// One way to time the start of a command's program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct StartUpTry {
    /// What is run.
    pub line: String,
    /// Where it comes from. A `version` must print one to be taken, a `named` one must work.
    pub source: StartUpSource,
}

/// What stands for the program's start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum StartUpSource {
    /// A command that somebody named.
    Named,
    /// The program's own `--version`.
    Version,
    /// A program that does nothing: the least that any process takes.
    Least,
}

/// How often each command runs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ExecRuns {
    /// Runs of each command before the first that counts.
    pub warmup: u32,
    /// Runs of each command at least.
    pub least: u32,
    /// Runs of each command at most.
    pub most: u32,
    /// Rounds go on until this much time has passed for each command on average, in seconds.
    #[serde(rename = "least_time_s", with = "crate::duration")]
    #[cfg_attr(test, schemars(with = "f64"))]
    pub least_time: Duration,
}

/// In which order the commands run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ExecOrder {
    /// In rounds; every round runs each command once, in an order of its own.
    Interleaved,
    /// One command after the other, as hyperfine does; then there is no verdict on which is faster.
    Sequential,
}

/// Which exit codes are good, and whether a bad one ends the series.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ExpectedExits {
    /// Exit codes that are as good as 0.
    pub good: Vec<i32>,
    /// Whether the series goes on after a run that failed.
    pub go_on: bool,
}

/// Where the commands' output goes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ExecOutput {
    /// Away, through /dev/null; what goes to stderr is read, for error messages.
    Null,
    /// Away, through a pipe.
    Pipe,
    /// To where prony's own goes.
    Inherit,
    /// Into this file, which is emptied before each run.
    File(PathBuf),
}

impl ExecPlan {
    /// Commands of one series at most: every pair of them may be compared.
    pub const COMMANDS_MAX: usize = 256;
    /// Runs of one command at most: each is kept, with 100 bytes.
    pub const RUNS_MAX: u32 = 1_000_000;

    /// Refuses what contradicts itself or exceeds a bound.
    pub fn check(&self) -> Result<(), ExecPlanError> {
        let ExecRuns { warmup, least, most, .. } = self.runs;
        let commands = self.commands.len();
        if commands == 0 {
            return Err(ExecPlanError::NoCommand);
        }
        if commands > Self::COMMANDS_MAX {
            return Err(ExecPlanError::TooManyCommands { asked: commands, max: Self::COMMANDS_MAX });
        }
        if least == 0 || most == 0 {
            return Err(ExecPlanError::NoRuns);
        }
        if least > most {
            return Err(ExecPlanError::Runs { least, most });
        }
        if let Some(asked) = [most, warmup].into_iter().find(|runs| *runs > Self::RUNS_MAX) {
            return Err(ExecPlanError::TooManyRuns { asked, max: Self::RUNS_MAX });
        }
        if let Some(reference) = self.reference.filter(|reference| *reference as usize >= commands) {
            return Err(ExecPlanError::Reference { asked: reference.saturating_add(1), commands });
        }
        if self.timeout.is_zero() {
            return Err(ExecPlanError::NoTimeout);
        }
        let setup_differs = self.commands.windows(2).any(|pair| pair[0].setup != pair[1].setup);
        if setup_differs && self.order == ExecOrder::Interleaved {
            return Err(ExecPlanError::SetupsDiffer);
        }
        Ok(())
    }
}

impl ExpectedExits {
    /// Whether a run that ended so did what it should.
    pub fn is_good(&self, exit: CommandExit) -> bool {
        matches!(exit, CommandExit::Code(code) if code == 0 || self.good.contains(&code))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan() -> ExecPlan {
        let command = ExecCommand { name: "a".to_owned(), line: "true".to_owned(), ..ExecCommand::default() };
        ExecPlan {
            commands: vec![command.clone(), command],
            shell: None,
            runs: ExecRuns { warmup: 0, least: 10, most: 20, least_time: Duration::from_secs(3) },
            order: ExecOrder::Interleaved,
            reference: None,
            exits: ExpectedExits { good: Vec::new(), go_on: false },
            input: None,
            output: ExecOutput::Null,
            timeout: Duration::from_mins(1),
            seed: 1,
        }
    }

    fn check(change: fn(&mut ExecPlan), expected: &Result<(), ExecPlanError>) {
        let mut plan = plan();
        change(&mut plan);
        assert_eq!(&plan.check(), expected);
    }

    #[test]
    fn contradictions_are_refused() {
        check(|_| {}, &Ok(()));
        check(|plan| plan.commands.clear(), &Err(ExecPlanError::NoCommand));
        check(
            |plan| plan.commands = vec![ExecCommand::default(); 257],
            &Err(ExecPlanError::TooManyCommands { asked: 257, max: 256 }),
        );
        check(|plan| plan.runs.least = 0, &Err(ExecPlanError::NoRuns));
        check(|plan| plan.runs.least = 21, &Err(ExecPlanError::Runs { least: 21, most: 20 }));
        check(
            |plan| plan.runs.most = 1_000_001,
            &Err(ExecPlanError::TooManyRuns { asked: 1_000_001, max: 1_000_000 }),
        );
        check(|plan| plan.reference = Some(1), &Ok(()));
        check(|plan| plan.reference = Some(2), &Err(ExecPlanError::Reference { asked: 3, commands: 2 }));
        check(|plan| plan.timeout = Duration::ZERO, &Err(ExecPlanError::NoTimeout));
    }

    #[test]
    fn setups_that_differ_can_only_be_one_after_the_other() {
        check(|plan| plan.commands[1].setup = Some("make".to_owned()), &Err(ExecPlanError::SetupsDiffer));
        check(
            |plan| {
                plan.commands[1].setup = Some("make".to_owned());
                plan.order = ExecOrder::Sequential;
            },
            &Ok(()),
        );
    }
}
