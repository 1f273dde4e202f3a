//! What a study found out: every cell with its runs, and what follows from them. Made from stored results by
//! `prony-study`, drawn by `prony-report`.

mod agents;
mod capacity;
mod metric;
mod scenario;
mod stage;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::format::{self, FormatError};
use crate::{
    CommandExit, Environment, ErrorKind, EvaluatedThreshold, Finding, FindingCode, Interval, Limiter,
    MetricComparison, Verdict,
};

pub use agents::StudyAgents;
pub use capacity::StudySearch;
pub use metric::StudyMetric;
pub use scenario::{StudyFlow, StudyScenario, StudyStep};
pub use stage::StudyStage;

/// The value of `format` in every stored study.
pub const STUDY_FORMAT: &str = "prony.study";
/// The version of [`StudyResult`] that this crate writes.
pub const STUDY_VERSION: u32 = 1;

/// A study, whole: all that its report shows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct StudyResult {
    /// Always `prony.study`.
    pub format: String,
    /// Version of this format.
    pub version: u32,
    /// The worst of all runs' verdicts; invalid also where a run is missing.
    pub verdict: Verdict,
    /// Name of the study, fit for file names.
    pub name: String,
    /// Title, for people.
    pub title: String,
    /// Where the published figures are from.
    pub source: Option<String>,
    /// What it is about; paragraphs are separated by empty lines.
    pub intro: String,
    /// Further sections that the study file brings.
    pub texts: Vec<StudyText>,
    /// Whether it was the short form of the study.
    pub short: bool,
    /// Whether every planned run is there.
    pub complete: bool,
    /// Seed of the order and of the loads.
    pub seed: u64,
    /// How often each cell was to be run.
    pub repeats: u32,
    /// Invalid runs of a cell that were to be made again at most.
    #[serde(default)]
    pub retries: u32,
    /// Start of the first run, RFC 3339 in UTC; absent if there is none.
    pub started_at: Option<String>,
    /// From the start of the first run to the end of the last, seconds.
    pub took_s: f64,
    /// The axes of the matrix, with their values in the order of the file.
    pub axes: Vec<StudyAxis>,
    /// What was loaded.
    pub targets: Vec<StudyTarget>,
    /// The cells, in the order of the file; `cell` elsewhere is an index into them.
    pub cells: Vec<StudyCell>,
    /// What differs from what.
    pub comparisons: Vec<StudyComparison>,
    /// Thresholds and how they came out.
    pub thresholds: Vec<StudyThreshold>,
    /// What others published.
    pub published: Vec<PublishedFigure>,
    /// Every reason to doubt once, the worst first.
    pub findings: Vec<StudyFinding>,
    /// Runs that could not be made.
    pub failures: Vec<StudyFailure>,
    /// The machine, as in the first run.
    pub environment: Option<Environment>,
    /// The study file, as it was read.
    pub file: String,
}

/// A section of text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct StudyText {
    /// Heading.
    pub title: String,
    /// Paragraphs are separated by empty lines.
    pub body: String,
}

/// One axis of the matrix.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct StudyAxis {
    /// Its name: `target`, `load`, or one of the file's own.
    pub name: String,
    /// Its values as text, in the order of the file.
    pub values: Vec<String>,
}

/// A server that was loaded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct StudyTarget {
    /// Its name in the file.
    pub name: String,
    /// How it was started, or its URL where it was not; with the placeholders as written.
    pub how: String,
    /// What it says it is: a commit or a version, if the file tells.
    pub commit: Option<String>,
}

/// One cell: a target under a load, repeated.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct StudyCell {
    /// Its value on every axis of more than one value, or all of them in a study of one cell.
    pub name: String,
    /// Its value on every axis that it has, by the axis's name.
    pub key: BTreeMap<String, String>,
    /// What was done.
    pub kind: LoadKind,
    /// What was done, in words: "GET /test, closed loop, 400 connections, 30 s", or a command.
    pub load: String,
    /// Runs that were planned.
    pub planned: u32,
    /// Runs that were made, in the order of time.
    pub runs: Vec<StudyRun>,
    /// Runs that were invalid by the machine's or the client's doing, and were made again.
    #[serde(default)]
    pub retried: Vec<RetriedRun>,
    /// What they say together; a metric that they don't have is absent.
    pub figures: Vec<StudyFigure>,
    /// Failures of all runs by kind.
    pub failed_by_kind: BTreeMap<ErrorKind, u64>,
    /// Statuses of all responses of all runs.
    pub statuses: BTreeMap<u16, u64>,
    /// The response and service times of all good responses, by quantile; empty for other kinds than runs.
    pub curve: Vec<CurvePoint>,
    /// The response times of all good responses, in bins of equal ratio; empty for other kinds than runs.
    pub bins: Vec<HistogramBin>,
    /// The timeline of each run; empty for other kinds than runs.
    #[serde(alias = "courses")]
    pub timelines: Vec<Timeline>,
    /// Every execution of a command, in the order of time; empty for other kinds.
    pub executions: Vec<Execution>,
    /// Searches for the capacity, in the order of time, where that was measured: at most
    /// [`StudySearch::KEPT_MAX`] of the repeats, and those that came to no result.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub searches: Vec<StudySearch>,
    /// The stages of the load, where it has some.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stages: Vec<StudyStage>,
    /// Sessions, flows and steps, where the load is a scenario.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scenario: Option<StudyScenario>,
    /// The agents that shared the load, where any did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agents: Option<StudyAgents>,
}

/// What is done to a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LoadKind {
    /// A load, as of `prony run`.
    Run,
    /// Single requests, as of `prony probe`.
    Probe,
    /// A command, as of `prony exec`.
    Exec,
    /// A search for what a server carries, as of `prony capacity`.
    Capacity,
}

impl LoadKind {
    /// Every kind.
    pub const ALL: [Self; 4] = [Self::Run, Self::Probe, Self::Exec, Self::Capacity];

    /// The stable name, as in JSON and in study files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Probe => "probe",
            Self::Exec => "exec",
            Self::Capacity => "capacity",
        }
    }
}

/// One run of a cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct StudyRun {
    /// Which repeat, from 1.
    pub repeat: u32,
    /// Its place in the order of all runs, from 1.
    pub place: u32,
    /// The stored result, relative to the folder of the study.
    pub file: String,
    /// Start, RFC 3339 in UTC.
    pub started_at: String,
    /// Its verdict.
    pub verdict: Verdict,
    /// Requests that were due, executions of the command, or trials of a search.
    pub requests: u64,
    /// Those of them without a good response, with a bad exit code, or void.
    pub failed: u64,
    /// What it says; a metric that it doesn't have, or that is withheld, is absent.
    pub figures: BTreeMap<StudyMetric, f64>,
    /// Its findings.
    pub findings: Vec<FindingCode>,
    /// What limited it, for loads.
    #[serde(default)]
    pub limiter: Option<Limiter>,
}

/// A run that was made again. None of its numbers count.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RetriedRun {
    /// Which repeat, from 1.
    pub repeat: u32,
    /// Which attempt at it, from 1.
    pub attempt: u32,
    /// The stored result, relative to the folder of the study.
    pub file: String,
    /// Why it was invalid.
    pub findings: Vec<FindingCode>,
}

/// One number of a cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct StudyFigure {
    /// Which.
    pub metric: StudyMetric,
    /// The median over the runs, in the metric's unit; absent where it is withheld.
    pub value: Option<f64>,
    /// What the true value lies in, 95 %; absent where too little is known.
    pub interval: Option<Interval>,
    /// Where the interval comes from.
    pub basis: FigureBasis,
    /// Runs that have it.
    pub runs: u32,
    /// Requests, executions or trials behind it, over all runs.
    pub samples: u64,
    /// Least and greatest of the runs.
    pub range: Option<(f64, f64)>,
    /// Why there is no value, or no interval.
    pub note: Option<String>,
}

/// Where an interval comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum FigureBasis {
    /// From the differences between runs, which is what speaks of the next run.
    AcrossRuns,
    /// From within the only run, which says nothing of the next.
    WithinRun,
    /// There is none.
    None,
}

/// A point of the quantile curve.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CurvePoint {
    /// The quantile, 0..1.
    pub quantile: f64,
    /// Response time, milliseconds.
    pub response_ms: f64,
    /// Service time, milliseconds.
    pub service_ms: f64,
}

/// A bar of a histogram.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct HistogramBin {
    /// Lower bound, milliseconds, included.
    pub from_ms: f64,
    /// Upper bound, milliseconds, not included.
    pub to_ms: f64,
    /// Responses in it.
    pub count: u64,
}

/// A run second by second.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Timeline {
    /// Which repeat, from 1.
    pub repeat: u32,
    /// Its seconds.
    pub points: Vec<TimelinePoint>,
}

/// A second of a run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TimelinePoint {
    /// From the start of the measured part, seconds.
    pub at_s: f64,
    /// Good responses per second.
    pub rate_per_s: f64,
    /// Failures per second.
    pub failed_per_s: f64,
    /// Median response time, milliseconds.
    pub p50_ms: Option<f64>,
    /// 99th percentile, milliseconds.
    pub p99_ms: Option<f64>,
    /// Greatest, milliseconds.
    pub max_ms: Option<f64>,
}

/// One execution of a command.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Execution {
    /// Which repeat, from 1.
    pub repeat: u32,
    /// Wall-clock time, milliseconds.
    pub wall_ms: f64,
    /// How it ended.
    pub exit: CommandExit,
}

/// B against A.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct StudyComparison {
    /// What is asked, in words.
    pub title: String,
    /// The cell that B is compared with.
    pub a: u32,
    /// The cell that is compared.
    pub b: u32,
    /// The change that is taken as none: 0.02 is 2 %.
    pub margin: f64,
    /// The primary metric first.
    pub metrics: Vec<MetricComparison>,
}

/// A threshold and its outcome in one cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct StudyThreshold {
    /// The cell.
    pub cell: u32,
    /// What is required, and what became of it.
    #[serde(flatten)]
    pub evaluated: EvaluatedThreshold,
}

/// A published number, and ours beside it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PublishedFigure {
    /// The cell that stands for it.
    pub cell: u32,
    /// Which number.
    pub metric: StudyMetric,
    /// What was published, in the metric's unit.
    pub published: f64,
    /// Where, if not in the study's source.
    pub source: Option<String>,
    /// What the write-up could not see.
    pub note: Option<String>,
    /// Ours.
    pub measured: Option<f64>,
    /// The interval of ours.
    pub interval: Option<Interval>,
    /// Ours over theirs.
    pub ratio: Option<f64>,
}

/// A reason to doubt, and where it was seen.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct StudyFinding {
    /// The worst of its kind.
    pub finding: Finding,
    /// Where it was seen.
    pub places: Vec<FindingPlace>,
}

/// Runs of one cell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FindingPlace {
    /// The cell.
    pub cell: u32,
    /// The repeats, from 1.
    pub repeats: Vec<u32>,
}

/// A run that could not be made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct StudyFailure {
    /// The cell.
    pub cell: u32,
    /// The repeat, from 1.
    pub repeat: u32,
    /// Why, with what to try.
    pub why: String,
    /// The last lines that the target wrote.
    pub log_tail: String,
}

/// `result` as JSON text, with a line feed at the end.
pub fn study_to_json(result: &StudyResult) -> String {
    format::write(result)
}

/// Reads a stored study.
pub fn study_from_json(text: &str) -> Result<StudyResult, FormatError> {
    format::read(text, STUDY_FORMAT, STUDY_VERSION, FormatError::ForeignStudy)
}

/// The JSON Schema of a stored study, as in docs/schema/study-result-v1.json.
#[cfg(test)]
fn study_json_schema() -> String {
    format::write(&schemars::schema_for!(StudyResult))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// After a change of the model: `PRONY_WRITE_SCHEMA=1 cargo test -p prony-model`, and read the difference.
    #[test]
    fn the_published_schema_is_the_one_of_the_code() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/schema/study-result-v1.json");
        if std::env::var_os("PRONY_WRITE_SCHEMA").is_some() {
            std::fs::write(path, study_json_schema()).expect("docs/schema can be written");
        }
        let published = std::fs::read_to_string(path).expect("docs/schema/study-result-v1.json can be read");
        assert!(
            published == study_json_schema(),
            "docs/schema/study-result-v1.json is out of date: see this test"
        );
    }
}
