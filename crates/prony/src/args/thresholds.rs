//! The flags for what is required of a run; `prony explain thresholds` lists what can be.

use prony_model::{Problem, Threshold};

/// What is required, as typed.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct ThresholdArgs {
    /// Exit code 1 unless this is met: 'response.p99 < 50ms', 'checks > 99.9%'; may be repeated
    #[arg(long = "threshold", value_name = "THRESHOLD", value_parser = threshold, hide_short_help = true)]
    thresholds: Vec<Threshold>,
    /// Exit code 1 if this holds: 'p99 > 50ms', 'errors > 0.1%', 'rate < 5k'; may be repeated
    #[arg(long, value_name = "CONDITION", value_parser = condition, hide_short_help = true)]
    fail_if: Vec<Threshold>,
    /// Exit code 0, not 3, where a threshold is neither met nor missed
    #[arg(long, hide_short_help = true)]
    pub(crate) allow_undecided: bool,
}

impl ThresholdArgs {
    /// All of them; a condition to fail is the opposite of a threshold.
    pub(crate) fn all(&self) -> impl Iterator<Item = Threshold> {
        self.thresholds.iter().chain(&self.fail_if).copied()
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.thresholds.is_empty() && self.fail_if.is_empty()
    }
}

fn threshold(text: &str) -> Result<Threshold, Problem> {
    text.parse().map_err(|error: prony_model::ThresholdError| error.located(text))
}

fn condition(text: &str) -> Result<Threshold, Problem> {
    threshold(text).map(Threshold::inverted)
}
