//! What a search has found.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::{Build, BuildId, MonitorId};

/// What a search has found.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SearchResults {
    /// The build that was named by its number, which is then the only one of `items`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub number: Option<BuildId>,
    /// Projects whose name or title has the words.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub projects: Vec<FoundProject>,
    /// Branches that begin with the word, in small letters; `branch:NAME` finds their builds.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub branches: Vec<String>,
    /// Monitors whose name has the words.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub monitors: Vec<FoundMonitor>,
    /// Users whose name has the words; administrators alone see them.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub users: Vec<String>,
    /// Builds, the newest first.
    pub items: Vec<Build>,
    /// `before` of the next page; absent at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<BuildId>,
    /// Whether the search ended because it had looked at as many builds as it may: older ones may fit, too.
    pub is_stopped: bool,
    /// Builds that it looked at.
    pub looked_at: u32,
}

/// A project that was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FoundProject {
    /// Its name.
    pub name: String,
    /// What people call it; may be empty.
    pub title: String,
}

/// A monitor that was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FoundMonitor {
    /// Its number.
    pub id: MonitorId,
    /// Its name.
    pub name: String,
}

impl SearchResults {
    /// Whether there is nothing.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
            && self.projects.is_empty()
            && self.branches.is_empty()
            && self.monitors.is_empty()
            && self.users.is_empty()
    }
}
