//! Traces that can't be, and what to try.

use super::TracePlan;
use crate::{PlanError, Spelling};

/// Traces that can't be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TraceError {
    /// A share that is none.
    Share,
    /// A URL that can't show a trace, and why.
    Url(&'static str),
    /// A `traceparent` of the user's, beside those of the run.
    HeaderTwice {
        /// The step of a scenario that has it.
        step: Option<String>,
    },
    /// A setting of traces, without any; by its plain name.
    WithoutTraces(&'static str),
}

impl TraceError {
    pub(crate) fn what(&self, spelled: Spelling) -> String {
        match self {
            Self::Share => "that is no share of the requests".to_owned(),
            Self::Url(wrong) => format!("the URL that shows a trace {wrong}"),
            Self::HeaderTwice { step: None } => {
                format!("{} and a header both say what the traceparent is", spelled("trace"))
            }
            Self::HeaderTwice { step: Some(step) } => {
                format!("{} and the step `{step}` both say what the traceparent is", spelled("trace"))
            }
            Self::WithoutTraces(setting) => {
                format!("{} is about traces, and there are none", spelled(setting))
            }
        }
    }

    pub(crate) fn advice(&self, spelled: Spelling) -> String {
        match self {
            Self::Share => format!("use {} above 0 % and up to 100 %", spelled("trace-share")),
            Self::Url(_) => {
                format!("use {} http://127.0.0.1:16686/trace/{}", spelled("trace-url"), TracePlan::PLACE)
            }
            Self::HeaderTwice { .. } => "leave out one of them".to_owned(),
            Self::WithoutTraces(_) => format!("add {}, or leave it out", spelled("trace")),
        }
    }

    pub(crate) fn setting(&self) -> &'static str {
        match self {
            Self::Share => "trace-share",
            Self::Url(_) => "trace-url",
            Self::HeaderTwice { .. } => "trace",
            Self::WithoutTraces(setting) => setting,
        }
    }
}

impl From<TraceError> for PlanError {
    fn from(error: TraceError) -> Self {
        Self::Trace(error)
    }
}
