//! How the due times of an open loop are spread.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Load, PlanError, RunPlan};
use crate::words::length;
use crate::{Problem, parse_duration};

/// How the due times of an open loop are spread.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Arrivals {
    /// Equal gaps.
    Constant,
    /// Exponential gaps, as of many independent users.
    Poisson,
    /// Poisson in bursts, and nothing between them: a Markov-modulated Poisson process of two states.
    Bursty {
        /// In a burst, the rate is so many times the mean; above 1. Bursts take 1/`factor` of the time.
        factor: f64,
        /// Mean length of a burst, in seconds; their lengths are exponentially distributed.
        #[serde(rename = "mean_burst_s", with = "crate::duration")]
        #[cfg_attr(test, schemars(with = "f64"))]
        mean: Duration,
    },
    /// Moments from a file, in [`RunPlan::recorded`]; the rate is their mean.
    Recorded,
}

impl Arrivals {
    /// `bursty` alone: a fifth of the time five times the rate, for a second on average.
    const BURSTY: Self = Self::Bursty { factor: 5.0, mean: Duration::from_secs(1) };
    /// Bursts of more are no load that anybody has seen, and hold all requests of a run.
    pub const BURST_FACTOR_MAX: f64 = 1000.0;
    /// Shorter ones are no bursts for a server, and cost the client time.
    pub const BURST_MIN: Duration = Duration::from_millis(10);

    /// Reads `constant`, `poisson`, `bursty` and `bursty:10x,500ms`.
    ///
    /// # Errors
    /// What else can be written.
    pub fn parse(text: &str) -> Result<Self, Problem> {
        let wrong = || {
            Problem::new(
                format!("`{text}` is no way for requests to arrive"),
                "write constant, poisson or bursty; bursty:10x,500ms for ten times the rate, 500 ms at a time",
            )
        };
        let (kind, bursts) = match text.trim().split_once(':') {
            None => (text.trim(), None),
            Some((kind, bursts)) => (kind.trim(), Some(bursts)),
        };
        match (kind, bursts) {
            ("constant", None) => Ok(Self::Constant),
            ("poisson", None) => Ok(Self::Poisson),
            ("bursty", None) => Ok(Self::BURSTY),
            ("bursty", Some(bursts)) => {
                let (factor, mean) = bursts.split_once(',').ok_or_else(wrong)?;
                let factor = factor.trim().strip_suffix('x').and_then(|factor| factor.trim().parse().ok());
                let mean = parse_duration(mean).map_err(|_| wrong())?;
                Ok(Self::Bursty { factor: factor.ok_or_else(wrong)?, mean })
            }
            _ => Err(wrong()),
        }
    }
}

impl fmt::Display for Arrivals {
    /// In words: `constant`, `Poisson`, `in bursts of 5x the rate, 1 s on average`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Constant => f.write_str("constant"),
            Self::Poisson => f.write_str("Poisson"),
            Self::Bursty { factor, mean } => {
                write!(f, "in bursts of {factor}x the rate, {} on average", length(*mean))
            }
            Self::Recorded => f.write_str("on average, at recorded moments"),
        }
    }
}

impl RunPlan {
    /// Finds bursts that can't be.
    pub(super) fn check_arrivals(&self) -> Result<(), PlanError> {
        let Load::Open { rate_per_s, arrivals: Arrivals::Bursty { factor, mean }, .. } = self.load else {
            return Ok(());
        };
        if !(factor > 1.0 && factor <= Arrivals::BURST_FACTOR_MAX) {
            return Err(PlanError::BurstFactor { max: Arrivals::BURST_FACTOR_MAX.to_string() });
        }
        if mean < Arrivals::BURST_MIN {
            return Err(PlanError::BurstTooShort { min: Arrivals::BURST_MIN });
        }
        if rate_per_s.as_per_second() * factor * mean.as_secs_f64() < 1.0 {
            return Err(PlanError::BurstWithoutRequests);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_people_write_is_read() {
        let bursty = |factor, ms| Arrivals::Bursty { factor, mean: Duration::from_millis(ms) };
        for (text, expected) in [
            ("constant", Arrivals::Constant),
            ("poisson", Arrivals::Poisson),
            ("bursty", bursty(5.0, 1000)),
            ("bursty:10x,500ms", bursty(10.0, 500)),
            ("bursty: 2.5x, 2s", bursty(2.5, 2000)),
        ] {
            assert_eq!(Arrivals::parse(text), Ok(expected), "{text}");
        }
        for text in ["", "uniform", "poisson:2x,1s", "bursty:", "bursty:10x", "bursty:10,1s", "bursty:x,1s"] {
            assert!(Arrivals::parse(text).is_err(), "{text}");
        }
    }
}
