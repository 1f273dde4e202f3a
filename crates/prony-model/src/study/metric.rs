//! What a study can speak of.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::LoadKind;

/// What a study can speak of, over all kinds of load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum StudyMetric {
    /// Good responses per second.
    #[serde(rename = "rate")]
    Rate,
    /// Share of the due requests with a good response, 0..1.
    #[serde(rename = "success")]
    Success,
    /// Mean response time, ms.
    #[serde(rename = "mean")]
    Mean,
    /// Least response time, ms.
    #[serde(rename = "min")]
    Min,
    /// Median response time, ms.
    #[serde(rename = "p50")]
    P50,
    /// 90th percentile, ms.
    #[serde(rename = "p90")]
    P90,
    /// 95th percentile, ms.
    #[serde(rename = "p95")]
    P95,
    /// 99th percentile, ms.
    #[serde(rename = "p99")]
    P99,
    /// 99th percentile by the kernel's clock, without the client's own delays, ms.
    #[serde(rename = "p99-kernel")]
    P99Kernel,
    /// 99.9th percentile, ms.
    #[serde(rename = "p99.9")]
    P999,
    /// Greatest response time, ms.
    #[serde(rename = "max")]
    Max,
    /// Median time for a connection, ms.
    #[serde(rename = "connect")]
    Connect,
    /// Length of the measured part of a run, s: the time that N requests take.
    #[serde(rename = "total")]
    Total,
    /// CPU time of the server for each request, µs.
    #[serde(rename = "cpu-per-request")]
    CpuPerRequest,
    /// Peak memory of the server, MiB.
    #[serde(rename = "server-memory")]
    ServerMemory,
    /// Mean wall-clock time of a command, ms.
    #[serde(rename = "wall-mean")]
    WallMean,
    /// Median wall-clock time of a command, ms.
    #[serde(rename = "wall")]
    Wall,
    /// Mean time of a command in user mode, ms.
    #[serde(rename = "user")]
    User,
    /// Mean time of a command in the kernel, ms.
    #[serde(rename = "system")]
    System,
    /// Share of a command's time that is its start, 0..1.
    #[serde(rename = "start-up")]
    StartUp,
    /// Median peak memory of a command, MiB.
    #[serde(rename = "memory")]
    Memory,
    /// Median time of a probe's look-up, ms.
    #[serde(rename = "dns")]
    Dns,
    /// Median time of a probe's TCP connection, ms.
    #[serde(rename = "tcp")]
    Tcp,
    /// Median time from a probe's request to the first byte of its answer, ms.
    #[serde(rename = "server")]
    Server,
    /// Median time of a probe's transfer, ms.
    #[serde(rename = "transfer")]
    Transfer,
    /// Median time of a whole probe, ms.
    #[serde(rename = "probe")]
    Probe,
    /// The rate that a server carries while every objective is met, by a search; per second.
    #[serde(rename = "capacity")]
    Capacity,
}

impl StudyMetric {
    /// Every metric, in the order of reports.
    pub const ALL: [Self; 27] = [
        Self::Rate,
        Self::Success,
        Self::Mean,
        Self::Min,
        Self::P50,
        Self::P90,
        Self::P95,
        Self::P99,
        Self::P99Kernel,
        Self::P999,
        Self::Max,
        Self::Connect,
        Self::Total,
        Self::CpuPerRequest,
        Self::ServerMemory,
        Self::WallMean,
        Self::Wall,
        Self::User,
        Self::System,
        Self::StartUp,
        Self::Memory,
        Self::Dns,
        Self::Tcp,
        Self::Server,
        Self::Transfer,
        Self::Probe,
        Self::Capacity,
    ];

    /// The stable name, as in JSON and in study files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rate => "rate",
            Self::Success => "success",
            Self::Mean => "mean",
            Self::Min => "min",
            Self::P50 => "p50",
            Self::P90 => "p90",
            Self::P95 => "p95",
            Self::P99 => "p99",
            Self::P99Kernel => "p99-kernel",
            Self::P999 => "p99.9",
            Self::Max => "max",
            Self::Connect => "connect",
            Self::Total => "total",
            Self::CpuPerRequest => "cpu-per-request",
            Self::ServerMemory => "server-memory",
            Self::WallMean => "wall-mean",
            Self::Wall => "wall",
            Self::User => "user",
            Self::System => "system",
            Self::StartUp => "start-up",
            Self::Memory => "memory",
            Self::Dns => "dns",
            Self::Tcp => "tcp",
            Self::Server => "server",
            Self::Transfer => "transfer",
            Self::Probe => "probe",
            Self::Capacity => "capacity",
        }
    }

    /// The unit of its values: `per_s`, `ms`, `µs`, `s`, `share` (0..1) or `MiB`.
    pub fn unit(self) -> &'static str {
        match self {
            Self::Rate | Self::Capacity => "per_s",
            Self::Success | Self::StartUp => "share",
            Self::Total => "s",
            Self::CpuPerRequest => "µs",
            Self::Memory | Self::ServerMemory => "MiB",
            _ => "ms",
        }
    }

    /// Whether more of it is better.
    pub fn is_better_high(self) -> bool {
        matches!(self, Self::Rate | Self::Success | Self::Capacity)
    }

    /// Whether it is what the server used, which others on its cores hardly change.
    pub fn is_of_server(self) -> bool {
        matches!(self, Self::CpuPerRequest | Self::ServerMemory)
    }

    /// The kind of load that it is of.
    pub fn kind(self) -> LoadKind {
        match self {
            Self::WallMean | Self::Wall | Self::User | Self::System | Self::StartUp | Self::Memory => {
                LoadKind::Exec
            }
            Self::Dns | Self::Tcp | Self::Server | Self::Transfer | Self::Probe => LoadKind::Probe,
            Self::Capacity => LoadKind::Capacity,
            _ => LoadKind::Run,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_json() {
        for metric in StudyMetric::ALL {
            assert_eq!(serde_json::to_value(metric).expect("a metric is a string"), metric.name());
        }
    }
}
