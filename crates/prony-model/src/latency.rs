//! Latencies of a run: their quantiles, and the distributions behind them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::Interval;

/// The clocks. Response time runs from the moment a request was due, service time from the moment it was sent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Latencies {
    /// done − intended, with the censored requests in mind.
    pub response: LatencySummary,
    /// Response time by the kernel's clock, without the client's own delays: the wait for a connection, plus the time
    /// from the kernel's sending to the kernel's receiving. Of the good responses that were picked for stamps;
    /// withheld where fewer than 99 % of them have both.
    #[serde(default)]
    pub kernel_response: LatencySummary,
    /// done − sent.
    pub service: LatencySummary,
    /// first byte − sent.
    pub first_byte: LatencySummary,
    /// Of every connection of the run, warm-up included; without the TLS handshake, which [`TlsUse`](crate::TlsUse)
    /// has.
    pub connect: LatencySummary,
    /// sent − the moment from which it could have been sent: the client's own lateness.
    pub lag: LatencySummary,
    /// Wait for a free connection; empty in a closed loop.
    pub blocked: LatencySummary,
    /// The kernel sent it − it was handed to the kernel.
    #[serde(default)]
    pub departure: LatencySummary,
    /// The kernel received the last of the answer − the kernel sent the request: network and server alone.
    #[serde(default)]
    pub network: LatencySummary,
    /// Done − the kernel received the last of the answer: the client's own delay in looking.
    #[serde(default)]
    pub arrival: LatencySummary,
}

/// One distribution, in milliseconds; `min_ms <= every quantile <= max_ms`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LatencySummary {
    /// Samples.
    pub count: u64,
    /// The least, exact.
    pub min_ms: Option<f64>,
    /// From the exact sum.
    pub mean_ms: Option<f64>,
    /// Standard deviation.
    pub stddev_ms: Option<f64>,
    /// The greatest, exact.
    pub max_ms: Option<f64>,
    /// By quantile ("0.5", "0.99", …); null where a number is withheld.
    pub quantiles_ms: BTreeMap<String, Option<f64>>,
    /// 95 % intervals of those quantiles that have one.
    #[serde(default)]
    pub intervals_ms: BTreeMap<String, Interval>,
    /// Why a quantile is null.
    #[serde(default)]
    pub withheld: BTreeMap<String, QuantileNote>,
}

/// Why a quantile is withheld.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct QuantileNote {
    /// In words.
    pub reason: String,
    /// The quantile is greater than this, where that much is known.
    pub above_ms: Option<f64>,
}

/// The quantiles of every [`LatencySummary`]: key and value.
pub const QUANTILES: [(&str, f64); 7] = [
    ("0.5", 0.5),
    ("0.75", 0.75),
    ("0.9", 0.9),
    ("0.95", 0.95),
    ("0.99", 0.99),
    ("0.999", 0.999),
    ("0.9999", 0.9999),
];

/// Distributions for other tools: HdrHistogram V2, deflated, base64; values in nanoseconds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct HistogramData {
    /// Always `hdrhistogram-v2-deflate-base64`.
    pub encoding: String,
    /// Always `ns`.
    pub unit: String,
    /// Samples.
    pub count: u64,
    /// The text.
    pub data: String,
}

/// The distributions of [`Latencies`].
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Histograms {
    /// done − intended.
    pub response: HistogramData,
    /// The wait for a connection, plus the time from the kernel's sending to the kernel's receiving.
    #[serde(default)]
    pub kernel_response: HistogramData,
    /// done − sent.
    pub service: HistogramData,
    /// first byte − sent.
    pub first_byte: HistogramData,
    /// Connecting.
    pub connect: HistogramData,
    /// The client's own lateness.
    pub lag: HistogramData,
    /// Wait for a free connection.
    pub blocked: HistogramData,
    /// Waiting times of the requests that were cut off: each is less than the true latency.
    pub censored: HistogramData,
    /// From being handed to the kernel to being sent by it.
    #[serde(default)]
    pub departure: HistogramData,
    /// From the kernel's sending to the kernel's receiving.
    #[serde(default)]
    pub network: HistogramData,
    /// From the kernel's receiving to the client's looking.
    #[serde(default)]
    pub arrival: HistogramData,
}
