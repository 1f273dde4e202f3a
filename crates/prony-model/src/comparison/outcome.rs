//! The words of every comparison, of servers as of commands.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The outcome for B against A: of two servers in one metric, or of a command against the reference.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "word", rename_all = "kebab-case")]
pub enum ComparisonOutcome {
    /// Better by the margin or more.
    Faster,
    /// Worse by the margin or more.
    Slower,
    /// Better; whether by as much as the margin is open.
    FasterSizeUncertain,
    /// Worse; whether by as much as the margin is open.
    SlowerSizeUncertain,
    /// Neither by as much as the margin.
    NoDifference,
    /// The bounds of both overlap: there may be a difference, and none was seen.
    NoDifferenceSeen,
    /// The differences vary too much for these pairs.
    TooNoisy {
        /// The least change that this many pairs would usually find; null where that is not known.
        smallest_detectable: Option<f64>,
        /// Pairs needed to usually find a change of the margin; null where that is not known.
        pairs_needed: Option<u64>,
    },
    /// Nothing.
    NoVerdict {
        /// Why not.
        reason: String,
    },
}

impl ComparisonOutcome {
    /// The word for people: `slower`, `no difference`. Whether a size is certain is shown beside it.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Faster | Self::FasterSizeUncertain => "faster",
            Self::Slower | Self::SlowerSizeUncertain => "slower",
            Self::NoDifference => "no difference",
            Self::NoDifferenceSeen => "no difference seen",
            Self::TooNoisy { .. } => "too noisy",
            Self::NoVerdict { .. } => "no verdict",
        }
    }

    /// Better, by whatever size.
    pub fn is_faster(&self) -> bool {
        matches!(self, Self::Faster | Self::FasterSizeUncertain)
    }

    /// Worse, by whatever size.
    pub fn is_slower(&self) -> bool {
        matches!(self, Self::Slower | Self::SlowerSizeUncertain)
    }
}
