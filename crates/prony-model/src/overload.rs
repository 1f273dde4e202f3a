//! What too much load does to a server: what `prony overload` did, and what follows from it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{
    Environment, ErrorKind, Finding, FindingCode, FormatError, RetryPlan, RunPlan, TrialTimes, Verdict,
    format,
};

/// The value of `format` in every stored overload.
pub const OVERLOAD_FORMAT: &str = "prony.overload";
/// The version of [`OverloadResult`] that this crate writes; it reads this one only.
pub const OVERLOAD_VERSION: u32 = 1;

/// A pulse of more load than a server carries, once for each kind of clients.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct OverloadResult {
    /// Always `prony.overload`.
    pub format: String,
    /// Version of this format.
    pub version: u32,
    /// Whether the outcomes can be defended.
    pub verdict: Verdict,
    /// Start of the first load, RFC 3339 in UTC.
    pub started_at: String,
    /// From then to the end of the last load, seconds.
    pub elapsed_s: f64,
    /// Ended by hand before its time.
    pub interrupted: bool,
    /// What each run was asked to do; their retries are in [`OverloadRun::retries`].
    pub plan: RunPlan,
    /// The addresses that the target's name stood for.
    pub addresses: Vec<String>,
    /// The driver that did it.
    pub driver: String,
    /// The load, and when a request is good.
    pub method: OverloadMethod,
    /// One request alone, before any load, milliseconds: the median of a few.
    pub alone_ms: Option<f64>,
    /// The runs, in the order of time.
    pub runs: Vec<OverloadRun>,
    /// What else is to be known of it, a sentence each.
    pub notes: Vec<String>,
    /// Reasons to doubt, the worst first.
    pub findings: Vec<Finding>,
    /// The machine, as the first load found it.
    pub environment: Environment,
}

/// The load of every run, and when a request is good.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct OverloadMethod {
    /// Requests per second before and after the pulse.
    pub base_per_s: f64,
    /// Requests per second in the pulse.
    pub pulse_per_s: f64,
    /// The server's capacity, where it was given; per second.
    #[serde(default)]
    pub capacity_per_s: Option<f64>,
    /// Length of the load before the pulse, seconds.
    pub before_s: f64,
    /// Length of the pulse, seconds.
    pub pulse_s: f64,
    /// Length of the load after the pulse, seconds.
    pub after_s: f64,
    /// A request is good if its good response came within this time of when it was due, milliseconds.
    pub good_within_ms: f64,
    /// Length of the parts that the course is cut into, seconds: what a recovery is known to.
    pub part_s: f64,
    /// Share of the requests (0..1) that must be good from a recovery on, as a share of what was good before the pulse.
    pub recovered_share: f64,
    /// How many times the pulse a server must stay down to be called metastable.
    pub metastable_pulses: f64,
}

/// One run: base load, pulse, base load, without a gap.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct OverloadRun {
    /// What its clients sent again; absent where they sent nothing again.
    pub retries: Option<RetryPlan>,
    /// Start of the load, RFC 3339 in UTC.
    pub started_at: String,
    /// What became of the server.
    pub outcome: OverloadOutcome,
    /// Before, during and after the pulse; fewer where the run was stopped.
    pub phases: Vec<OverloadPhase>,
    /// The course of the run.
    pub course: Vec<OverloadPart>,
    /// Attempts and what they were, where there were retries.
    #[serde(default)]
    pub attempts: Option<OverloadAttempts>,
    /// Most memory that the server held, bytes; absent where it is not visible.
    #[serde(default)]
    pub server_memory_max_bytes: Option<u64>,
    /// How much more memory it held at the end than at the beginning of the run, bytes.
    #[serde(default)]
    pub server_memory_growth_bytes: Option<i64>,
    /// After the run: seconds until single requests took as long as before any load; absent where nothing was waited for, or
    /// in vain.
    #[serde(default)]
    pub drained_after_s: Option<f64>,
    /// Whether the client's numbers can be defended.
    pub verdict: Verdict,
    /// What makes the run invalid by itself, errors of the server aside.
    pub invalid: Vec<FindingCode>,
    /// Greatest share of a core that a worker thread of the client used (0..1).
    pub client_cpu_share: f64,
}

/// What became of the server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum OverloadOutcome {
    /// The pulse was no overload: the share of good requests did not fall.
    Carried,
    /// Requests are good again.
    Recovered {
        /// From the end of the pulse, seconds: the first part from which on requests were as good as before.
        after_s: f64,
        /// The time is known to this, seconds.
        within_s: f64,
    },
    /// It stays down without the cause: not good again within ten times the pulse.
    Metastable {
        /// How long it was watched after the pulse, seconds.
        watched_s: f64,
    },
    /// Not good again for as long as it was watched, which is too short to call it metastable.
    NotRecovered {
        /// How long it was watched after the pulse, seconds.
        watched_s: f64,
    },
    /// It did not carry the load before the pulse.
    BaseNotCarried {
        /// Share of the requests (0..1) that were good before the pulse.
        good_share: f64,
    },
    /// Nothing listens at its address any more.
    Died,
    /// Nothing is known.
    Unknown {
        /// Why.
        reason: String,
    },
}

/// The requests that were due in a phase.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct OverloadPhase {
    /// Which.
    pub phase: LoadPhase,
    /// From the start of the measured part, seconds.
    pub from_s: f64,
    /// Its length, seconds.
    pub length_s: f64,
    /// Requests that were due.
    pub offered: u64,
    /// Those that were good.
    pub good: u64,
    /// Good responses that came too late to be good.
    pub late: u64,
    /// Those that failed, by kind; kinds that did not occur are absent.
    pub failed_by_kind: BTreeMap<ErrorKind, u64>,
    /// Those without an end when the run ended.
    pub unanswered: u64,
    /// Response times of the good and the late.
    pub response: TrialTimes,
    /// Requests under way when the phase began, by the client's count: due, and not ended.
    pub outstanding_begin: u64,
    /// When it ended.
    pub outstanding_end: u64,
    /// The most at the end of any part of it.
    pub outstanding_max: u64,
}

/// Parts of the load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum LoadPhase {
    /// The base load before the pulse.
    Before,
    /// The pulse.
    During,
    /// The base load after it.
    After,
}

impl LoadPhase {
    /// The phases in order.
    pub const ALL: [Self; 3] = [Self::Before, Self::During, Self::After];

    /// The stable name, as in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Before => "before",
            Self::During => "during",
            Self::After => "after",
        }
    }
}

/// A part of the course, by when its requests were due.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct OverloadPart {
    /// From the start of the measured part, seconds.
    pub from_s: f64,
    /// Requests that were due.
    pub offered: u64,
    /// Those that were good.
    pub good: u64,
    /// Requests under way at its end: due, and not ended.
    pub outstanding: u64,
    /// Median response time of all good responses, milliseconds; null where there was none.
    pub p50_ms: Option<f64>,
    /// The greatest.
    pub max_ms: Option<f64>,
}

/// What retries added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct OverloadAttempts {
    /// First attempts and retries, over the whole run.
    pub attempts: u64,
    /// Those that were not the first of their request.
    pub retries: u64,
    /// Requests that were good only after a retry, however late.
    pub recovered: u64,
}

impl OverloadPhase {
    /// Good requests per second.
    pub fn goodput_per_s(&self) -> f64 {
        per_second(self.good, self.length_s)
    }

    /// Requests that were due per second.
    pub fn offered_per_s(&self) -> f64 {
        per_second(self.offered, self.length_s)
    }

    /// Share of the requests (0..1) that were good; `None` where none was due.
    pub fn good_share(&self) -> Option<f64> {
        (self.offered > 0).then(|| self.good as f64 / self.offered as f64)
    }
}

fn per_second(count: u64, length_s: f64) -> f64 {
    if length_s > 0.0 { count as f64 / length_s } else { 0.0 }
}

/// `result` as JSON text, with a line feed at the end.
pub fn overload_to_json(result: &OverloadResult) -> String {
    format::write(result)
}

/// Reads what [`overload_to_json`] wrote.
pub fn overload_from_json(text: &str) -> Result<OverloadResult, FormatError> {
    format::read(text, OVERLOAD_FORMAT, OVERLOAD_VERSION, FormatError::ForeignOverload)
}

/// The JSON Schema of a stored overload, as in docs/schema/overload-v1.json.
#[cfg(test)]
fn overload_json_schema() -> String {
    format::write(&schemars::schema_for!(OverloadResult))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// After a change of the model: `PRONY_WRITE_SCHEMA=1 cargo test -p prony-model`, and read the difference.
    #[test]
    fn the_published_schema_is_the_one_of_the_code() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/schema/overload-v1.json");
        if std::env::var_os("PRONY_WRITE_SCHEMA").is_some() {
            std::fs::write(path, overload_json_schema()).expect("docs/schema can be written");
        }
        let published = std::fs::read_to_string(path).expect("docs/schema/overload-v1.json can be read");
        assert!(
            published == overload_json_schema(),
            "docs/schema/overload-v1.json is out of date: see this test"
        );
    }
}
