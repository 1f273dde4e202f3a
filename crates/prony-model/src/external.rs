//! What another tool reported, as far as its report goes.

use serde::{Deserialize, Serialize};

use crate::format::{self, FormatError};

/// The value of `format` in every stored report of another tool.
pub const EXTERNAL_FORMAT: &str = "prony.external";
/// The version of [`ExternalResult`] that this crate writes.
pub const EXTERNAL_VERSION: u32 = 1;

/// A report of another tool: the figures that it printed, and nothing that it did not.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ExternalResult {
    /// Always `prony.external`.
    pub format: String,
    /// Version of this format.
    pub version: u32,
    /// Who measured.
    pub tool: ExternalTool,
    /// What was measured, in the order of the report; at least one.
    pub series: Vec<ExternalSeries>,
    /// What the report can't say, a sentence each.
    pub unknown: Vec<String>,
}

impl ExternalResult {
    /// A report of `tool` on `series`, with what such a report can't say.
    pub fn new(tool: ExternalTool, series: Vec<ExternalSeries>) -> Self {
        Self {
            format: EXTERNAL_FORMAT.to_owned(),
            version: EXTERNAL_VERSION,
            tool,
            series,
            unknown: tool.unknown().iter().map(|&sentence| sentence.to_owned()).collect(),
        }
    }
}

/// A tool whose reports are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ExternalTool {
    /// ApacheBench.
    Ab,
    /// wrk.
    Wrk,
    /// wrk2.
    Wrk2,
    /// oha.
    Oha,
    /// hey.
    Hey,
    /// vegeta.
    Vegeta,
    /// k6.
    K6,
    /// h2load of nghttp2.
    H2load,
    /// autocannon.
    Autocannon,
    /// hyperfine.
    Hyperfine,
    /// Locust.
    Locust,
    /// Prony itself, beside another tool.
    Prony,
}

impl ExternalTool {
    /// All tools that are read.
    pub const ALL: [Self; 12] = [
        Self::Ab,
        Self::Wrk,
        Self::Wrk2,
        Self::Oha,
        Self::Hey,
        Self::Vegeta,
        Self::K6,
        Self::H2load,
        Self::Autocannon,
        Self::Hyperfine,
        Self::Locust,
        Self::Prony,
    ];

    /// As it calls itself.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ab => "ab",
            Self::Wrk => "wrk",
            Self::Wrk2 => "wrk2",
            Self::Oha => "oha",
            Self::Hey => "hey",
            Self::Vegeta => "vegeta",
            Self::K6 => "k6",
            Self::H2load => "h2load",
            Self::Autocannon => "autocannon",
            Self::Hyperfine => "hyperfine",
            Self::Locust => "Locust",
            Self::Prony => "prony",
        }
    }

    /// What its times begin with.
    pub fn clock(self) -> ExternalClock {
        match self {
            Self::Wrk2 => ExternalClock::Response,
            Self::Vegeta => ExternalClock::Pickup,
            Self::Hyperfine => ExternalClock::Command,
            Self::Ab
            | Self::Wrk
            | Self::Oha
            | Self::Hey
            | Self::K6
            | Self::H2load
            | Self::Autocannon
            | Self::Locust
            | Self::Prony => ExternalClock::Service,
        }
    }

    /// What a report of the tool can't say, a sentence each.
    fn unknown(self) -> &'static [&'static str] {
        const CLIENT: &str = "whether the client was the limit: nothing of it was measured";
        const WAIT: &str = "how long a user would have waited: a slow response delays the next request, and that delay is \
                            in no time";
        match self {
            Self::Ab => &[
                WAIT,
                CLIENT,
                "times below 1 ms: percentiles are whole milliseconds",
                "whether responses of another length were wrong: ab counts them as failed",
            ],
            Self::Wrk => &[
                WAIT,
                CLIENT,
                "which times were measured: wrk adds times that it computes from its own mean to the distribution",
                "requests open at the end: they are in no count",
            ],
            Self::Wrk2 => &[CLIENT, "requests that were due and never sent: they are in no count"],
            Self::Oha => &[WAIT, CLIENT],
            Self::Hey => &[
                WAIT,
                CLIENT,
                "times beyond the first million: they are in no percentile",
                "times below 0.1 ms: four decimals of a second are printed",
            ],
            Self::Vegeta => {
                &["how late requests were sent: times begin when a worker picks a request up", CLIENT]
            }
            Self::K6 => &[
                "how late iterations began: dropped ones are counted, and late ones are not timed",
                CLIENT,
                "quantiles that were not asked for: `--summary-trend-stats` chooses them",
            ],
            Self::H2load => {
                &[WAIT, CLIENT, "quantiles: the report has least, greatest, mean and standard deviation"]
            }
            Self::Autocannon => &[WAIT, CLIENT, "times below 1 ms: they are whole milliseconds"],
            Self::Hyperfine => &["whether one is faster: it compares means, without a test"],
            Self::Locust => {
                &[WAIT, CLIENT, "exact quantiles: times over 100 ms are rounded to two digits first"]
            }
            Self::Prony => &[],
        }
    }
}

/// From when to when a time of another tool runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ExternalClock {
    /// From sending a request to its response.
    Service,
    /// From when a request was due to its response.
    Response,
    /// From when a worker took a request up, perhaps after it was due, to its response.
    Pickup,
    /// A command's wall-clock time.
    Command,
}

impl ExternalClock {
    /// In words, as a report explains it.
    pub fn words(self) -> &'static str {
        match self {
            Self::Service => "service time: from sending to the response",
            Self::Response => "response time: from when a request was due to the response",
            Self::Pickup => "from when a worker took the request up, perhaps late, to the response",
            Self::Command => "wall-clock time of a command",
        }
    }
}

/// One thing that a tool measured. What it did not report is absent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ExternalSeries {
    /// A URL, a command, or what the tool calls it.
    pub name: String,
    /// Requests that got a response, or runs of a command.
    pub done: Option<u64>,
    /// Those that failed, as the tool counts.
    pub failed: Option<u64>,
    /// Connections, or users.
    pub connections: Option<u64>,
    /// Length, seconds.
    pub duration_s: Option<f64>,
    /// Responses per second.
    pub rate_per_s: Option<f64>,
    /// Least time, ms.
    pub min_ms: Option<f64>,
    /// Mean time, ms.
    pub mean_ms: Option<f64>,
    /// Standard deviation of the times, ms.
    pub sd_ms: Option<f64>,
    /// Greatest time, ms.
    pub max_ms: Option<f64>,
    /// Quantiles in increasing order: of which share of the times, 0..1, and milliseconds.
    pub quantiles: Vec<ExternalQuantile>,
}

impl ExternalSeries {
    /// The quantile `q`, 0..1, if it was reported; ms.
    pub fn quantile(&self, q: f64) -> Option<f64> {
        /// Tools write shares as percentages.
        const SAME: f64 = 1e-9;
        self.quantiles.iter().find(|quantile| (quantile.q - q).abs() < SAME).map(|quantile| quantile.ms)
    }
}

/// A quantile that a tool reported.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ExternalQuantile {
    /// Share of the times that are not greater, 0..1.
    pub q: f64,
    /// The time, ms.
    pub ms: f64,
}

/// `result` as JSON text, with a line feed at the end.
pub fn external_to_json(result: &ExternalResult) -> String {
    format::write(result)
}

/// Reads what [`external_to_json`] wrote.
pub fn external_from_json(text: &str) -> Result<ExternalResult, FormatError> {
    format::read(text, EXTERNAL_FORMAT, EXTERNAL_VERSION, FormatError::ForeignExternal)
}

/// The JSON Schema of a stored report of another tool, as in docs/schema/external-v1.json.
#[cfg(test)]
fn external_json_schema() -> String {
    format::write(&schemars::schema_for!(ExternalResult))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// After a change of the model: `PRONY_WRITE_SCHEMA=1 cargo test -p prony-model`, and read the difference.
    #[test]
    fn the_published_schema_is_the_one_of_the_code() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/schema/external-v1.json");
        if std::env::var_os("PRONY_WRITE_SCHEMA").is_some() {
            std::fs::write(path, external_json_schema()).expect("docs/schema can be written");
        }
        let published = std::fs::read_to_string(path).expect("docs/schema/external-v1.json can be read");
        assert!(
            published == external_json_schema(),
            "docs/schema/external-v1.json is out of date: see this test"
        );
    }

    #[test]
    fn what_is_written_is_read() {
        let series = ExternalSeries {
            name: "http://127.0.0.1/".to_owned(),
            done: Some(7),
            quantiles: vec![ExternalQuantile { q: 0.5, ms: 1.25 }],
            ..ExternalSeries::default()
        };
        for tool in ExternalTool::ALL {
            let result = ExternalResult::new(tool, vec![series.clone()]);
            assert_eq!(external_from_json(&external_to_json(&result)).expect("it is read"), result);
            assert_eq!(result.unknown.is_empty(), tool == ExternalTool::Prony);
        }
        let other = "{\"format\": \"prony.run\", \"version\": 1}";
        assert!(matches!(external_from_json(other), Err(FormatError::ForeignExternal)));
    }
}
