//! What somebody may do.

use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What somebody may do. Each may do what those before it may.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Read everything but what administers the lab.
    Viewer,
    /// Request, cancel and retry builds, write notes, answer alerts.
    Runner,
    /// Register projects, users, tokens and the target policy.
    Admin,
}

impl Role {
    /// As it is stored and written.
    pub fn name(self) -> &'static str {
        match self {
            Self::Viewer => "viewer",
            Self::Runner => "runner",
            Self::Admin => "admin",
        }
    }
}

impl FromStr for Role {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        [Self::Viewer, Self::Runner, Self::Admin]
            .into_iter()
            .find(|role| role.name() == text)
            .ok_or_else(|| format!("unknown role `{text}`: there are viewer, runner and admin"))
    }
}
