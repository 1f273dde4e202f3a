//! Retries that can't be.

use std::time::Duration;

use crate::words::length;
use crate::{PlanError, RetryPlan};

/// Retries that contradict themselves, or the rest of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RetryError {
    /// How to retry, but not how often.
    WithoutRetries {
        /// The plain name of the setting.
        setting: &'static str,
    },
    /// How often, but not what.
    OnNothing {
        /// Retries of one request.
        retries: u32,
    },
    /// More retries than [`RetryPlan::RETRIES_MAX`].
    TooMany {
        /// What was asked.
        asked: u32,
        /// The bound.
        max: u32,
    },
    /// One attempt may take longer than all of them.
    AttemptTimeout {
        /// For one attempt.
        attempt: Duration,
        /// For the request.
        request: Duration,
    },
    /// A budget outside its bounds.
    Budget,
    /// Several requests in flight on one connection, which fail together.
    Pipeline,
}

impl RetryError {
    pub(crate) fn what(&self, spelled: crate::Spelling) -> String {
        match self {
            Self::WithoutRetries { setting } => {
                format!("{} is about retries, and there are none", spelled(setting))
            }
            Self::OnNothing { .. } => format!("{} doesn't say what is retried", spelled("retries")),
            Self::TooMany { asked, max } => {
                format!("{asked} retries of one request are more than {max}")
            }
            Self::AttemptTimeout { attempt, request } => format!(
                "an attempt timeout of {} is longer than the {} that the whole request has",
                length(*attempt),
                length(*request)
            ),
            Self::Budget => "that is no budget for retries".to_owned(),
            Self::Pipeline => {
                let [retries, pipeline] = ["retries", "pipeline"].map(spelled);
                format!("{retries} and {pipeline}: requests that share a connection fail together")
            }
        }
    }

    pub(crate) fn advice(&self, spelled: crate::Spelling) -> String {
        match self {
            Self::WithoutRetries { .. } => format!("add {} 3, or leave it out", spelled("retries")),
            Self::OnNothing { .. } => {
                format!("add {} connect,reset,timeout,503, or some of it", spelled("retry-on"))
            }
            Self::TooMany { max, .. } => format!("use {} 1 to {max}", spelled("retries")),
            Self::AttemptTimeout { .. } => {
                format!("use a shorter one, or a longer {}", spelled("timeout"))
            }
            Self::Budget => format!("use 0 % to {} %", RetryPlan::BUDGET_MAX * 100.0),
            Self::Pipeline => "leave out one of them".to_owned(),
        }
    }

    pub(crate) fn setting(&self) -> &'static str {
        match self {
            Self::WithoutRetries { setting } => setting,
            Self::OnNothing { .. } | Self::TooMany { .. } | Self::Pipeline => "retries",
            Self::AttemptTimeout { .. } => "attempt-timeout",
            Self::Budget => "retry-budget",
        }
    }
}

impl From<RetryError> for PlanError {
    fn from(error: RetryError) -> Self {
        Self::Retry(error)
    }
}
