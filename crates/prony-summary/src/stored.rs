//! The stored distributions, decoded. A file that was damaged is found out here, before anything is drawn of it.

use prony_model::{Clock, HistogramData, RunResult};
use prony_stats::{DecodeError, Histogram};

/// A stored distribution that can't be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DistributionError {
    /// The text is not one of a histogram.
    #[error("the histogram of {name} is damaged: failed to {source}")]
    Damaged {
        /// The clock, or the outcome and its clock.
        name: String,
        /// What is wrong with it.
        source: DecodeError,
    },
    /// Another encoding or unit than the format has.
    #[error("the histogram of {name} is `{encoding}` in `{unit}`, which this prony does not read")]
    Foreign {
        /// The clock, or the outcome and its clock.
        name: String,
        /// How it says that it is encoded.
        encoding: String,
        /// The unit that it says its values have.
        unit: String,
    },
    /// More or fewer values in the text than its count says.
    #[error("the histogram of {name} holds {held} values and says {stated}")]
    Count {
        /// The clock, or the outcome and its clock.
        name: String,
        /// Values in the text.
        held: u64,
        /// What its count says.
        stated: u64,
    },
}

/// Decodes every distribution of `result` once, to find out whether that can be done.
pub fn check_distributions(result: &RunResult) -> Result<(), DistributionError> {
    for clock in Clock::ALL {
        decoded(clock.name(), result.histogram(clock))?;
    }
    for entry in &result.outcomes {
        decoded(&format!("response of {}", entry.outcome), &entry.response_histogram)?;
        decoded(&format!("service of {}", entry.outcome), &entry.service_histogram)?;
    }
    Ok(())
}

/// The distribution of `clock`; `None` where nothing was recorded.
pub fn distribution(result: &RunResult, clock: Clock) -> Result<Option<Histogram>, DistributionError> {
    decoded(clock.name(), result.histogram(clock))
}

/// What `stored` holds; `None` for nothing. `name` is for errors.
pub(crate) fn decoded(name: &str, stored: &HistogramData) -> Result<Option<Histogram>, DistributionError> {
    let name = || name.to_owned();
    if stored.data.is_empty() {
        let stated = stored.count;
        return if stated == 0 {
            Ok(None)
        } else {
            Err(DistributionError::Count { name: name(), held: 0, stated })
        };
    }
    if stored.encoding != "hdrhistogram-v2-deflate-base64" || stored.unit != "ns" {
        let (encoding, unit) = (stored.encoding.clone(), stored.unit.clone());
        return Err(DistributionError::Foreign { name: name(), encoding, unit });
    }
    let histogram = Histogram::from_base64_v2(&stored.data)
        .map_err(|source| DistributionError::Damaged { name: name(), source })?;
    if histogram.count() != stored.count {
        let (held, stated) = (histogram.count(), stored.count);
        return Err(DistributionError::Count { name: name(), held, stated });
    }
    Ok((!histogram.is_empty()).then_some(histogram))
}
