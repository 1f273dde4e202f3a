//! Figures of one step of a scenario, `step.login.response.p99`, `step.login.success`, and of one stage of a load,
//! `stage.spike.response.p99`, `stage.2.success`.

use std::fmt;

use super::figure::Level;
use super::reading::{Reading, share};
use crate::{RunResult, Scenario};

/// The name of a step or a stage, of letters, digits, - and _.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StepName {
    bytes: [u8; Scenario::NAME_BYTES_MAX],
    length: u8,
}

/// What of a step or a stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StepFigure {
    /// `response.p99`: from when it was due.
    Response(Level),
    /// `service.p99`: from when its last request was sent.
    Service(Level),
    /// `success`: good ones, as a share of those that ended; of those that were due, of a stage.
    Success,
}

impl StepName {
    /// The name that `text` is.
    fn parse(text: &str) -> Option<Self> {
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
        let length = u8::try_from(text.len()).ok().filter(|length| *length > 0)?;
        let mut bytes = [0; Scenario::NAME_BYTES_MAX];
        bytes.get_mut(..text.len())?.copy_from_slice(text.as_bytes());
        text.bytes().all(is_name).then_some(Self { bytes, length })
    }

    /// As it is written.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.bytes[..usize::from(self.length)]).unwrap_or_default()
    }
}

/// The step and the figure of a name such as `step.login.response.p99`.
pub(super) fn parse(name: &str) -> Option<(StepName, StepFigure)> {
    of_part(name.strip_prefix("step.")?)
}

/// The stage and the figure of a name such as `stage.spike.response.p99`.
pub(super) fn parse_stage(name: &str) -> Option<(StepName, StepFigure)> {
    of_part(name.strip_prefix("stage.")?)
}

fn of_part(name: &str) -> Option<(StepName, StepFigure)> {
    let (step, figure) = name.split_once('.')?;
    let level = |name: &str| Level::ALL.into_iter().find(|level| level.name() == name);
    let figure = match figure.split_once('.') {
        Some(("response", name)) => StepFigure::Response(level(name)?),
        Some(("service", name)) => StepFigure::Service(level(name)?),
        None if figure == "success" => StepFigure::Success,
        _ => return None,
    };
    Some((StepName::parse(step)?, figure))
}

impl StepFigure {
    /// The figure of the step `name` in `result`.
    pub(super) fn reading(self, name: &StepName, result: &RunResult) -> Reading {
        let steps = result.scenario.as_ref().map(|found| found.steps.as_slice()).unwrap_or_default();
        let Some(step) = steps.iter().find(|step| step.name == name.as_str()) else {
            return Reading::without(&format!("there is no step `{}`", name.as_str()), 0);
        };
        match self {
            Self::Response(level) => Reading::of_times(&step.response, level, result),
            Self::Service(level) => Reading::of_times(&step.service, level, result),
            Self::Success => share(step.done, step.ended, "the step was never due"),
        }
    }

    /// The figure of the stage that is named or numbered `name` in `result`.
    pub(super) fn of_stage(self, name: &StepName, result: &RunResult) -> Reading {
        let number = name.as_str().parse::<usize>().ok().and_then(|number| number.checked_sub(1));
        let named = result.stages.iter().find(|stage| stage.name == name.as_str());
        let Some(stage) = named.or_else(|| result.stages.get(number?)) else {
            return Reading::without(&format!("no stage `{}` was begun", name.as_str()), 0);
        };
        match self {
            Self::Response(level) => Reading::of_times(&stage.response, level, result),
            Self::Service(level) => Reading::of_times(&stage.service, level, result),
            Self::Success => {
                share(stage.requests.done, stage.requests.intended, "no request was due in the stage")
            }
        }
    }
}

impl fmt::Display for StepFigure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Response(level) => write!(formatter, "response.{}", level.name()),
            Self::Service(level) => write!(formatter, "service.{}", level.name()),
            Self::Success => formatter.write_str("success"),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::Figure;

    #[test]
    fn names_are_read_as_they_are_written() {
        for name in [
            "step.login.response.p99",
            "step.a-B_1.service.p99.9",
            "step.x.success",
            "stage.2.response.p99",
            "stage.a-b.success",
        ] {
            assert_eq!(Figure::parse(name).map(|figure| figure.to_string()).as_deref(), Ok(name));
        }
        let long = format!("step.{}.success", "x".repeat(65));
        for name in [
            "stage.2.p99",
            "stage.success",
            "step.login",
            "step..success",
            "step.a b.success",
            "step.a.response.p98",
            long.as_str(),
        ] {
            assert!(Figure::parse(name).is_err(), "{name}");
        }
    }
}
