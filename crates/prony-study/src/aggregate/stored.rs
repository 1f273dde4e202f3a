//! A result as its file has it.

use prony_model::{
    CAPACITY_FORMAT, CapacityResult, EXEC_FORMAT, Environment, ExecResult, FLEET_FORMAT, FORMAT, Finding,
    FleetResult, FormatError, PROBE_FORMAT, ProbeResult, RunResult, Verdict, capacity_from_json,
    exec_from_json, fleet_from_json, from_json, probe_from_json, stored_format,
};
use prony_stats::DecodeError;

/// What one step of a study measured.
#[derive(Debug)]
pub enum Stored {
    /// A load.
    Run(Box<RunResult>),
    /// A load that agents shared.
    Fleet(Box<FleetResult>),
    /// Single requests.
    Probe(Box<ProbeResult>),
    /// A command.
    Exec(Box<ExecResult>),
    /// A search for the capacity.
    Capacity(Box<CapacityResult>),
}

/// A file that is no result of a step.
#[derive(Debug, thiserror::Error)]
pub enum StoredError {
    /// Not one of ours, damaged, or of another version.
    #[error(transparent)]
    Format(#[from] FormatError),
    /// Of another kind.
    #[error("it holds a `{0}`, which no step of a study makes")]
    Kind(String),
}

/// Why stored results can't be put together.
#[derive(Debug, thiserror::Error)]
pub enum AggregateError {
    /// A file that can't be read.
    #[error("can't read {file} ({error}): move it away and use --resume to measure that run again")]
    Read {
        /// The file.
        file: String,
        /// The system's reason.
        error: std::io::Error,
    },
    /// A file that is no result.
    #[error("{file}: {error}; delete it and use --resume to measure it again")]
    Stored {
        /// The file.
        file: String,
        /// What is wrong with it.
        error: StoredError,
    },
    /// A distribution that does not decode.
    #[error("{file}: {error}; delete it and use --resume to measure it again")]
    Distribution {
        /// The file.
        file: String,
        /// What is wrong with it.
        error: DecodeError,
    },
    /// A step of another study.
    #[error(
        "{file} belongs to cell {cell}, which this study does not have: is the schedule that of another study?"
    )]
    Cell {
        /// The file.
        file: String,
        /// The cell, by index.
        cell: usize,
    },
}

impl Stored {
    /// Reads what a step of a study stored.
    pub fn from_json(text: &str) -> Result<Self, StoredError> {
        match stored_format(text)?.as_str() {
            FORMAT => Ok(Self::Run(Box::new(from_json(text)?))),
            FLEET_FORMAT => Ok(Self::Fleet(Box::new(fleet_from_json(text)?))),
            PROBE_FORMAT => Ok(Self::Probe(Box::new(probe_from_json(text)?))),
            CAPACITY_FORMAT => Ok(Self::Capacity(Box::new(capacity_from_json(text)?))),
            EXEC_FORMAT => Ok(Self::Exec(Box::new(exec_from_json(text)?))),
            other => Err(StoredError::Kind(other.to_owned())),
        }
    }

    /// Whether its numbers can be defended. A run in which nothing was due has none, and a probe has no verdict of its
    /// own: it is as good as its requests.
    pub fn verdict(&self) -> Verdict {
        match self {
            Self::Run(result) => verdict_of_run(result),
            Self::Fleet(fleet) => verdict_of_run(&fleet.merged),
            Self::Exec(result) => result.verdict,
            Self::Capacity(result) => result.verdict,
            Self::Probe(result) => {
                let failed = result.requests.iter().filter(|request| request.failure.is_some()).count();
                match failed {
                    _ if failed == result.requests.len() => Verdict::Invalid,
                    0 if !result.interrupted => Verdict::Valid,
                    _ => Verdict::Doubtful,
                }
            }
        }
    }

    pub(super) fn findings(&self) -> &[Finding] {
        match self {
            Self::Run(result) => &result.findings,
            Self::Fleet(fleet) => &fleet.merged.findings,
            Self::Exec(result) => &result.findings,
            Self::Capacity(result) => &result.findings,
            Self::Probe(_) => &[],
        }
    }

    pub(super) fn started_at(&self) -> &str {
        match self {
            Self::Run(result) => &result.timing.started_at,
            Self::Fleet(fleet) => &fleet.merged.timing.started_at,
            Self::Exec(result) => &result.timing.started_at,
            Self::Capacity(result) => &result.started_at,
            Self::Probe(result) => &result.started_at,
        }
    }

    /// From its start to its end, seconds.
    pub(super) fn took_s(&self) -> f64 {
        match self {
            Self::Run(result) => took_s(result),
            Self::Fleet(fleet) => took_s(&fleet.merged),
            Self::Exec(result) => result.timing.total_s,
            Self::Capacity(result) => result.elapsed_s,
            Self::Probe(result) => result
                .requests
                .last()
                .map_or(0.0, |last| (last.started_ms + last.phases.total_ms.unwrap_or_default()) / 1e3),
        }
    }

    pub(super) fn environment(&self) -> &Environment {
        match self {
            Self::Run(result) => &result.environment,
            Self::Fleet(fleet) => &fleet.merged.environment,
            Self::Exec(result) => &result.environment,
            Self::Capacity(result) => &result.environment,
            Self::Probe(result) => &result.environment,
        }
    }
}

/// A run in which nothing was due has no numbers.
pub(super) fn verdict_of_run(result: &RunResult) -> Verdict {
    if result.requests.intended == 0 { Verdict::Invalid } else { result.verdict }
}

fn took_s(result: &RunResult) -> f64 {
    result.timing.warmup_s + result.timing.measured_s + result.timing.drain_s
}
