//! Alerts: what somebody should look at.

use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{AlertId, BuildId, BuildVerdict, MonitorId, ProjectId, SeriesId};
use crate::clock::Moment;

/// What an alert is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AlertKind {
    /// A build is slower than its baseline.
    Build,
    /// A series changed for the worse.
    Change,
    /// A threshold of a study file is missed.
    Threshold,
    /// A monitored URL doesn't answer well.
    Monitor,
    /// The lab itself needs an operator: its disk, queue, worker or database.
    Lab,
}

impl AlertKind {
    /// As it is stored and written.
    pub fn name(self) -> &'static str {
        match self {
            Self::Build => "build",
            Self::Change => "change",
            Self::Threshold => "threshold",
            Self::Monitor => "monitor",
            Self::Lab => "lab",
        }
    }
}

impl FromStr for AlertKind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        [Self::Build, Self::Change, Self::Threshold, Self::Monitor, Self::Lab]
            .into_iter()
            .find(|kind| kind.name() == text)
            .ok_or_else(|| format!("unknown kind of alert `{text}`"))
    }
}

/// What became of an alert.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AlertState {
    /// Nobody has looked yet.
    Active,
    /// Somebody takes care of it.
    Acknowledged,
    /// Not to be heard of until a moment.
    Silenced,
    /// Somebody says that it is nothing.
    Dismissed,
    /// What it was about is over; the lab closed it.
    Closed,
}

impl AlertState {
    /// All of them, in the order of a life.
    pub const ALL: [Self; 5] =
        [Self::Active, Self::Acknowledged, Self::Silenced, Self::Dismissed, Self::Closed];

    /// As it is stored and written.
    pub fn name(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Acknowledged => "acknowledged",
            Self::Silenced => "silenced",
            Self::Dismissed => "dismissed",
            Self::Closed => "closed",
        }
    }

    /// Whether it is about something that goes on.
    pub fn is_open(self) -> bool {
        matches!(self, Self::Active | Self::Acknowledged | Self::Silenced)
    }

    /// Whether somebody may make it `next`. What is closed stays so; what was dismissed by mistake comes back.
    pub fn may_become(self, next: Self) -> bool {
        self != next && self != Self::Closed && next != Self::Closed
    }
}

impl FromStr for AlertState {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|state| state.name() == text).ok_or_else(|| {
            format!("unknown state `{text}`: write active, acknowledged, silenced or dismissed")
        })
    }
}

/// Something that somebody should look at.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Alert {
    /// Its number.
    pub id: AlertId,
    /// What it is about.
    pub kind: AlertKind,
    /// Exactly what: there is one open alert for it at most.
    pub subject: String,
    /// Whose project.
    pub project: Option<ProjectId>,
    /// Name of the project.
    pub project_name: Option<String>,
    /// Which series.
    pub series: Option<SeriesId>,
    /// The build that shows it.
    pub build: Option<BuildId>,
    /// Which monitor.
    pub monitor: Option<MonitorId>,
    /// The build that compares the commits before and after.
    pub comparison: Option<BuildId>,
    /// What that build says.
    pub verdict: Option<BuildVerdict>,
    /// For people.
    pub words: String,
    /// What became of it.
    pub state: AlertState,
    /// When it was raised.
    pub opened_at: Moment,
    /// When its state changed last.
    pub changed_at: Moment,
    /// By whom; the lab itself is `lab`.
    pub changed_by: String,
    /// When it will be heard of again.
    pub silenced_until: Option<Moment>,
    /// What somebody wrote about it.
    pub note: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_their_names_and_closed_is_the_end() {
        for state in AlertState::ALL {
            assert_eq!(state.name().parse(), Ok(state));
            assert!(!AlertState::Closed.may_become(state) && !state.may_become(AlertState::Closed));
        }
        assert!(AlertState::Dismissed.may_become(AlertState::Active));
    }
}
