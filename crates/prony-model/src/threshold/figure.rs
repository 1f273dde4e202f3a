//! The figures that a threshold may be about: their names, units and what they are.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::amount::Unit;
use super::plain::PlainFigure;
use super::step::{self, StepFigure, StepName};
use crate::{
    Clock, ErrorKind, LimiterKind, LoadKind, Problem, QUANTILES, StatusClass, StudyMetric, Verdict, nearest,
};

/// A figure of a run, a command or a probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Figure {
    /// `response.p99`: a time of a clock.
    Latency(Clock, Level),
    /// `rate`, `errors`, `server.memory`, …: one that is no family.
    Plain(PlainFigure),
    /// `errors.refused`: failures of one kind, as a share of the due requests.
    Errors(ErrorKind),
    /// `status.5xx`: answers of one class, as a share of all answers.
    StatusClass(StatusClass),
    /// `status.404`: answers of one status, as a share of all answers; 100 to 599.
    Status(u16),
    /// `step.login.response.p99`: of one step of a scenario.
    Step(StepName, StepFigure),
    /// `stage.spike.response.p99`, `stage.2.success`: of one stage, by its name or its number from 1.
    Stage(StepName, StepFigure),
    /// `wall`, `dns`, `capacity`, …: of a command, a probe or a search, in studies.
    Other(StudyMetric),
}

/// Where in a distribution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// The least.
    Min,
    /// The median.
    P50,
    /// The 75th percentile.
    P75,
    /// The 90th percentile.
    P90,
    /// The 95th percentile.
    P95,
    /// The 99th percentile.
    P99,
    /// The 99.9th percentile.
    P999,
    /// The 99.99th percentile.
    P9999,
    /// The greatest.
    Max,
    /// The mean.
    Mean,
}

impl Level {
    /// Every level, from the least up; the mean last.
    pub const ALL: [Self; 10] = [
        Self::Min,
        Self::P50,
        Self::P75,
        Self::P90,
        Self::P95,
        Self::P99,
        Self::P999,
        Self::P9999,
        Self::Max,
        Self::Mean,
    ];

    /// As in `response.p99`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Min => "min",
            Self::P50 => "p50",
            Self::P75 => "p75",
            Self::P90 => "p90",
            Self::P95 => "p95",
            Self::P99 => "p99",
            Self::P999 => "p99.9",
            Self::P9999 => "p99.99",
            Self::Max => "max",
            Self::Mean => "mean",
        }
    }

    /// The quantile that it is, 0..1.
    pub fn quantile(self) -> Option<f64> {
        let key = self.key()?;
        QUANTILES.iter().find(|(known, _)| *known == key).map(|(_, quantile)| *quantile)
    }

    /// The key of [`crate::QUANTILES`], of a quantile.
    pub(crate) fn key(self) -> Option<&'static str> {
        Some(match self {
            Self::P50 => "0.5",
            Self::P75 => "0.75",
            Self::P90 => "0.9",
            Self::P95 => "0.95",
            Self::P99 => "0.99",
            Self::P999 => "0.999",
            Self::P9999 => "0.9999",
            Self::Min | Self::Max | Self::Mean => return None,
        })
    }
}

/// The clocks that thresholds know: all that have a summary.
pub(crate) fn clocks() -> impl Iterator<Item = Clock> {
    Clock::ALL.into_iter().filter(|clock| *clock != Clock::Censored)
}

impl Figure {
    /// Every figure but `status.NNN` and those of steps, in the order of the documentation.
    pub fn all() -> impl Iterator<Item = Self> {
        let latencies = clocks().flat_map(|clock| Level::ALL.map(|level| Self::Latency(clock, level)));
        let plain = PlainFigure::ALL.into_iter().map(Self::Plain);
        let errors = ErrorKind::ALL.into_iter().map(Self::Errors);
        let classes = StatusClass::ALL.into_iter().map(Self::StatusClass);
        let others = StudyMetric::ALL.into_iter().filter(|metric| metric.kind() != LoadKind::Run);
        latencies.chain(plain).chain(errors).chain(classes).chain(others.map(Self::Other))
    }

    /// The figure that a study calls `metric`.
    pub fn of_metric(metric: StudyMetric) -> Self {
        let response = |level| Self::Latency(Clock::Response, level);
        match metric {
            StudyMetric::Rate => Self::Plain(PlainFigure::Rate),
            StudyMetric::Success => Self::Plain(PlainFigure::Success),
            StudyMetric::Mean => response(Level::Mean),
            StudyMetric::Min => response(Level::Min),
            StudyMetric::P50 => response(Level::P50),
            StudyMetric::P90 => response(Level::P90),
            StudyMetric::P95 => response(Level::P95),
            StudyMetric::P99 => response(Level::P99),
            StudyMetric::P99Kernel => Self::Latency(Clock::KernelResponse, Level::P99),
            StudyMetric::P999 => response(Level::P999),
            StudyMetric::Max => response(Level::Max),
            StudyMetric::Connect => Self::Latency(Clock::Connect, Level::P50),
            StudyMetric::Total => Self::Plain(PlainFigure::Total),
            StudyMetric::CpuPerRequest => Self::Plain(PlainFigure::ServerCpuPerRequest),
            StudyMetric::ServerMemory => Self::Plain(PlainFigure::ServerMemory),
            other => Self::Other(other),
        }
    }

    /// The name that studies have for it, where they have one.
    pub fn metric(self) -> Option<StudyMetric> {
        StudyMetric::ALL.into_iter().find(|metric| Self::of_metric(*metric) == self)
    }

    /// The figure of this name; `p99`, `success` and the other names of metrics are short for figures.
    pub fn parse(name: &str) -> Result<Self, Problem> {
        if let Some(metric) = StudyMetric::ALL.into_iter().find(|metric| metric.name() == name) {
            return Ok(Self::of_metric(metric));
        }
        if let Some(figure) = Self::all().find(|figure| figure.to_string() == name) {
            return Ok(figure);
        }
        if let Some((name, figure)) = step::parse(name) {
            return Ok(Self::Step(name, figure));
        }
        if let Some((name, figure)) = step::parse_stage(name) {
            return Ok(Self::Stage(name, figure));
        }
        match name.strip_prefix("status.").and_then(|digits| digits.parse().ok()) {
            Some(status @ 100..=599) if name.len() == "status.NNN".len() => Ok(Self::Status(status)),
            _ => Err(no_figure(name)),
        }
    }

    /// The unit of its values.
    pub fn unit(self) -> Unit {
        match self {
            Self::Latency(..)
            | Self::Step(_, StepFigure::Response(_) | StepFigure::Service(_))
            | Self::Stage(_, StepFigure::Response(_) | StepFigure::Service(_)) => Unit::Milliseconds,
            Self::Plain(figure) => figure.unit(),
            Self::Errors(_)
            | Self::StatusClass(_)
            | Self::Status(_)
            | Self::Step(_, StepFigure::Success)
            | Self::Stage(_, StepFigure::Success) => Unit::Share,
            Self::Other(metric) => Unit::of_name(metric.unit()),
        }
    }

    /// What it is, in a few words.
    pub fn description(self) -> String {
        match self {
            Self::Latency(clock, level) => format!("{} of the {} time", level.name(), clock.name()),
            Self::Plain(figure) => figure.description().to_owned(),
            Self::Errors(kind) => format!("{}, as a share of the due requests", kind.description()),
            Self::StatusClass(class) => {
                format!("answers with a status {}, as a share of all answers", class.name())
            }
            Self::Status(status) => format!("answers with status {status}, as a share of all answers"),
            Self::Step(name, figure) => format!("{figure} of the step {}", name.as_str()),
            Self::Stage(name, figure) => format!("{figure} of the stage {}", name.as_str()),
            Self::Other(StudyMetric::Capacity) => {
                "the rate that a server carries, by a search in a study".to_owned()
            }
            Self::Other(metric) => format!("{} of a {}", metric.name(), what_has(metric.kind())),
        }
    }

    /// The kind of load that has it.
    pub fn kind(self) -> LoadKind {
        match self {
            Self::Other(metric) => metric.kind(),
            _ => LoadKind::Run,
        }
    }

    /// Whether it is of the client or its machine, or says itself how good the run is, so that it holds in an invalid
    /// run, too.
    pub fn is_of_client(self) -> bool {
        matches!(self, Self::Plain(figure) if figure.is_of_client())
    }

    /// Whether it is what the server used, which others on its cores hardly change.
    pub fn is_of_server(self) -> bool {
        matches!(self, Self::Plain(figure) if figure.is_of_server())
    }

    /// Whether it counts requests that failed, which did fail in an invalid run, too.
    pub fn is_of_failures(self) -> bool {
        use PlainFigure::{Checks, Errors, RequestsFailed, SessionsFailed, SessionsSuccess, Success};
        matches!(
            self,
            Self::Plain(Success | Checks | Errors | RequestsFailed | SessionsFailed | SessionsSuccess)
                | Self::Step(_, StepFigure::Success)
                | Self::Stage(_, StepFigure::Success)
                | Self::Errors(_)
                | Self::Status(_)
                | Self::StatusClass(_)
        )
    }

    /// The words that it may be, where it is a word.
    pub(crate) fn words(self) -> Vec<&'static str> {
        match self {
            Self::Plain(PlainFigure::Verdict) => Verdict::ALL.map(Verdict::name).to_vec(),
            Self::Plain(PlainFigure::Limiter) => LimiterKind::ALL.map(LimiterKind::name).to_vec(),
            _ => Vec::new(),
        }
    }
}

/// What has the figures of `kind`, in words.
fn what_has(kind: LoadKind) -> &'static str {
    match kind {
        LoadKind::Run => "run",
        LoadKind::Probe => "probe",
        LoadKind::Exec => "command",
        LoadKind::Capacity => "search",
    }
}

/// A name that is none, with the one that was probably meant.
fn no_figure(name: &str) -> Problem {
    let what = format!("`{name}` is not a figure");
    let figures: Vec<String> = Figure::all().map(|figure| figure.to_string()).collect();
    let short = StudyMetric::ALL.map(StudyMetric::name);
    let names = figures.iter().map(String::as_str).chain(short);
    if let Some(near) = nearest(name, names) {
        let full = Figure::parse(near).map_or_else(|_| near.to_owned(), |figure| figure.to_string());
        return Problem::new(what, format!("did you mean `{full}`?"));
    }
    let family = name.split_once('.').map_or(name, |(family, _)| family);
    let prefix = format!("{family}.");
    let members: Vec<&str> =
        figures.iter().map(String::as_str).filter(|figure| figure.starts_with(&prefix)).collect();
    if members.is_empty() {
        if family == "step" || family == "stage" {
            let advice = format!(
                "write {family}.NAME.response.p99, {family}.NAME.service.p50 or {family}.NAME.success"
            );
            return Problem::new(what, advice);
        }
        return Problem::new(what, "`prony explain thresholds` lists all of them");
    }
    Problem::new(what, format!("there is {}", members.join(", ")))
}

impl fmt::Display for Figure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Latency(clock, level) => write!(formatter, "{}.{}", clock.name(), level.name()),
            Self::Plain(figure) => formatter.write_str(figure.name()),
            Self::Errors(kind) => write!(formatter, "errors.{}", kind.name()),
            Self::StatusClass(class) => write!(formatter, "status.{}", class.name()),
            Self::Status(status) => write!(formatter, "status.{status}"),
            Self::Step(name, figure) => write!(formatter, "step.{}.{figure}", name.as_str()),
            Self::Stage(name, figure) => write!(formatter, "stage.{}.{figure}", name.as_str()),
            Self::Other(metric) => formatter.write_str(metric.name()),
        }
    }
}

impl TryFrom<String> for Figure {
    type Error = Problem;
    fn try_from(name: String) -> Result<Self, Problem> {
        Self::parse(&name)
    }
}

impl From<Figure> for String {
    fn from(figure: Figure) -> Self {
        figure.to_string()
    }
}

#[cfg(test)]
impl schemars::JsonSchema for Figure {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Figure".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "The name of a figure, as thresholds have it: response.p99, errors, server.memory, …",
            "type": "string"
        })
    }
}
