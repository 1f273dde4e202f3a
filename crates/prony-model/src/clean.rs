//! The clean parts of a run: the stretches in which nobody else took the cores that client and target needed.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{HistogramData, LatencySummary, RateSummary, Requests, RunResult};

/// Less than this share of the measured time, and no figure comes from the clean parts: what is left is then as much an
/// exception as what was cut.
pub const CLEAN_SHARE_MIN: f64 = 0.5;

/// What is left of a run without the stretches that the machine spoiled. Which ones those are is decided by signals of
/// the machine only, never by what was measured in them: a server that stalls keeps its stalls.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CleanParts {
    /// Length of the clean parts as a share of the measured part (0..1).
    pub share: f64,
    /// Their length, seconds.
    pub clean_s: f64,
    /// Slices of the measured part, of all worker threads.
    pub slices: u64,
    /// Those of them that are clean.
    pub clean_slices: u64,
    /// Slices that were cut, by reason; each counts for one reason only.
    pub cut: BTreeMap<CutReason, u64>,
    /// CPU time that was taken within the measured part, seconds; null where the system does not say.
    #[serde(default)]
    pub taken_s: Option<f64>,
    /// Where the requests went that ended in clean parts: `intended = done + failed + censored + never_sent`. Those
    /// that had not ended at the end of the run are all here, whenever they were due.
    pub requests: Requests,
    /// Throughput over the clean parts.
    pub rate: RateSummary,
    /// Response times of the good responses that ended in clean parts.
    pub response: LatencySummary,
    /// Their service times.
    pub service: LatencySummary,
    /// The client's own lateness in clean parts.
    pub lag: LatencySummary,
    /// Greatest share of the clean time that a worker thread waited for a core; null where the kernel does not say.
    #[serde(default)]
    pub run_queue_wait_share: Option<f64>,
    /// The distribution of the response time.
    pub response_histogram: HistogramData,
    /// The distribution of the service time.
    pub service_histogram: HistogramData,
}

/// Why a slice is not clean.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum CutReason {
    /// The hypervisor gave a core of this machine to others.
    Steal,
    /// The control group's CPU quota ran out.
    Throttled,
    /// It followed one of the above: what was held up then is answered now.
    Aftermath,
}

impl CutReason {
    /// In words, to follow "because".
    pub fn describe(self) -> &'static str {
        match self {
            Self::Steal => "the hypervisor took a core",
            Self::Throttled => "the CPU quota ran out",
            Self::Aftermath => "they came right after",
        }
    }
}

/// The figures that stand for a run.
#[derive(Debug, Clone, Copy)]
pub struct Figures<'a> {
    /// Throughput.
    pub rate: &'a RateSummary,
    /// Response time.
    pub response: &'a LatencySummary,
    /// Service time.
    pub service: &'a LatencySummary,
    /// The client's own lateness.
    pub lag: &'a LatencySummary,
    /// Where the requests behind them went.
    pub requests: &'a Requests,
    /// The distribution of the response time.
    pub response_histogram: &'a HistogramData,
    /// The distribution of the service time.
    pub service_histogram: &'a HistogramData,
    /// Share of the measured time that they come from, where some of it was cut.
    pub clean_share: Option<f64>,
}

impl CleanParts {
    /// Whether the figures of the run come from here: something was cut, and at least half is left.
    pub fn is_used(&self) -> bool {
        self.clean_slices < self.slices && self.share >= CLEAN_SHARE_MIN
    }
}

impl RunResult {
    /// The figures that stand for this run: those of its clean parts where some of it was cut, else those of all of it.
    pub fn figures(&self) -> Figures<'_> {
        match self.clean.as_ref().filter(|clean| clean.is_used()) {
            Some(clean) => Figures {
                rate: &clean.rate,
                response: &clean.response,
                service: &clean.service,
                lag: &clean.lag,
                requests: &clean.requests,
                response_histogram: &clean.response_histogram,
                service_histogram: &clean.service_histogram,
                clean_share: Some(clean.share),
            },
            None => Figures {
                rate: &self.rate,
                response: &self.latency.response,
                service: &self.latency.service,
                lag: &self.latency.lag,
                requests: &self.requests,
                response_histogram: &self.histograms.response,
                service_histogram: &self.histograms.service,
                clean_share: None,
            },
        }
    }
}
