//! The keys of loads: the long flags of `prony run`, `prony probe`, `prony exec` and `prony capacity`.

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;

use crate::file::agents::AgentsKey;
use crate::file::scalar::{
    ArrivalsArg, BackoffArg, Count, CountU32, DurationArg, ErrorsArg, Failures, PerSecond, Scalar, Share,
    StagesArg, Statuses,
};

/// The keys of all kinds of load together: which of them a load may have depends on its `kind`.
#[derive(Debug)]
pub(in crate::file) struct LoadKeys;

impl JsonSchema for LoadKeys {
    fn schema_name() -> Cow<'static, str> {
        "Load".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut properties = serde_json::Map::new();
        for mut of_kind in [
            RunKeys::json_schema(generator),
            ProbeKeys::json_schema(generator),
            ExecKeys::json_schema(generator),
            CapacityKeys::json_schema(generator),
        ] {
            if let Some(serde_json::Value::Object(of_kind)) = of_kind.remove("properties") {
                for (key, value) in of_kind {
                    properties.entry(key).or_insert(value);
                }
            }
        }
        json_schema!({
            "description": "What is done to a target: the long flags of `prony run`, `prony probe`, `prony exec` or `prony capacity`, by its kind.",
            "type": "object",
            "properties": properties,
            "additionalProperties": false
        })
    }
}

/// What a load is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(in crate::file) enum KindKey {
    /// As of `prony run`.
    Run,
    /// As of `prony probe`.
    Probe,
    /// As of `prony exec`.
    Exec,
    /// As of `prony capacity`.
    Capacity,
}

/// A load as of `prony run`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "each is a key of its own")]
pub(in crate::file) struct RunKeys {
    /// What it is; run if absent.
    #[expect(dead_code, reason = "it has chosen these keys")]
    kind: Option<KindKey>,
    /// A scenario file, relative to the study: sessions instead of one request.
    pub(in crate::file) scenario: Option<String>,
    /// Path and query; / if absent.
    pub(in crate::file) path: Option<String>,
    /// GET, or POST with a body, if absent.
    pub(in crate::file) method: Option<String>,
    /// Headers: a text for each name, or a list of them.
    #[serde(default)]
    pub(in crate::file) headers: BTreeMap<String, HeaderText>,
    /// The request's body.
    pub(in crate::file) body: Option<String>,
    /// The request's body, from a file, relative to the study file.
    pub(in crate::file) body_file: Option<String>,
    /// Connections; at most so many with a rate. 50, or 1000 with a rate, if absent.
    pub(in crate::file) connections: Option<CountU32>,
    /// Measure this long; 10s if absent.
    pub(in crate::file) duration: Option<DurationArg>,
    /// Measure this many requests.
    pub(in crate::file) requests: Option<Count>,
    /// Open loop: requests per second.
    pub(in crate::file) rate: Option<PerSecond>,
    /// Open loop whose rate changes along the run: 100/s:30s,100..1000/s:60s,1000/s:30s.
    pub(in crate::file) stages: Option<StagesArg>,
    /// How the requests of a rate arrive: constant, poisson, bursty, bursty:10x,500ms.
    pub(in crate::file) arrivals: Option<ArrivalsArg>,
    /// Open loop with exponential gaps.
    #[serde(default)]
    pub(in crate::file) poisson: bool,
    /// Worker threads; 1 if absent.
    pub(in crate::file) threads: Option<CountU32>,
    /// Load before, not counted; 1s, or 0 with `requests`, if absent. For exec: a number of executions.
    pub(in crate::file) warmup: Option<DurationArg>,
    /// Wait this long for a response, or for a command.
    pub(in crate::file) timeout: Option<DurationArg>,
    /// Wait this long for a connection; 5s if absent.
    pub(in crate::file) connect_timeout: Option<DurationArg>,
    /// Wait this long for the last responses; 1s if absent.
    pub(in crate::file) drain: Option<DurationArg>,
    /// Whether a connection carries more than one request; true if absent.
    pub(in crate::file) keepalive: Option<bool>,
    /// Requests in flight on one connection; 1 if absent.
    pub(in crate::file) pipeline: Option<CountU32>,
    /// Speak HTTP/1.0.
    #[serde(default)]
    pub(in crate::file) http10: bool,
    /// Speak HTTP/2: chosen in the TLS handshake with an https target, else with prior knowledge.
    #[serde(default)]
    pub(in crate::file) http2: bool,
    /// Requests in flight on one connection of HTTP/2; 1 if absent.
    pub(in crate::file) streams: Option<CountU32>,
    /// Connect from this local address, or a range: 127.0.0.2-127.0.0.9; or a list of them, in turn.
    pub(in crate::file) source: Option<OneOrMore>,
    /// How the kernel is asked.
    #[serde(default)]
    pub(in crate::file) driver: DriverKey,
    /// Whether the kernel's own time stamps are used.
    #[serde(default)]
    pub(in crate::file) kernel_clock: KernelClockKey,
    /// Good status codes; 200-399 if absent.
    pub(in crate::file) expect_status: Option<Statuses>,
    /// Good is a body of exactly this text.
    pub(in crate::file) expect_body: Option<String>,
    /// Good is a body that this regular expression matches somewhere.
    pub(in crate::file) expect_body_regex: Option<String>,
    /// Good is a body as long as the first one.
    pub(in crate::file) expect_length: Option<BodyLength>,
    /// Whether responses are streams of events (server-sent events, JSON lines), each of which is measured
    #[serde(default)]
    pub(in crate::file) events: bool,
    /// Send a failed request again, up to so many times; 0 if absent
    pub(in crate::file) retries: Option<CountU32>,
    /// What is retried: connect, reset, timeout, status codes as 503 or 5xx, with commas between
    pub(in crate::file) retry_on: Option<Failures>,
    /// Longest waits before a first retry and before any; 100ms..2s if absent
    pub(in crate::file) retry_backoff: Option<BackoffArg>,
    /// Retries as a share of the requests, beyond ten that are always granted; no limit if absent
    pub(in crate::file) retry_budget: Option<Share>,
    /// Wait this long for the response to one attempt; as `timeout` if absent, which is for the request and its retries
    pub(in crate::file) attempt_timeout: Option<DurationArg>,
    /// Send each request with a `traceparent` header (W3C Trace Context)
    #[serde(default)]
    pub(in crate::file) trace: bool,
    /// The share of the requests that the server is asked to record; 1 % if absent
    pub(in crate::file) trace_share: Option<Share>,
    /// Where a trace is shown, with `{trace_id}` in it
    pub(in crate::file) trace_url: Option<String>,
    /// Whether the result is set against what `prony calibrate` measured; true if absent.
    pub(in crate::file) calibration: Option<bool>,
    /// Agents that share the load: how many, or their names; 0 is none, the load of this process.
    pub(in crate::file) agents: Option<AgentsKey>,
}

/// Single requests as of `prony probe`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(in crate::file) struct ProbeKeys {
    #[expect(dead_code, reason = "it has chosen these keys")]
    kind: Option<KindKey>,
    pub(in crate::file) path: Option<String>,
    pub(in crate::file) method: Option<String>,
    #[serde(default)]
    pub(in crate::file) headers: BTreeMap<String, HeaderText>,
    pub(in crate::file) body: Option<String>,
    pub(in crate::file) body_file: Option<String>,
    /// How many requests; 1 if absent.
    pub(in crate::file) count: Option<CountU32>,
    /// All on one connection.
    #[serde(default)]
    pub(in crate::file) reuse: bool,
    pub(in crate::file) timeout: Option<DurationArg>,
    pub(in crate::file) connect_timeout: Option<DurationArg>,
    #[serde(default)]
    pub(in crate::file) http10: bool,
    #[serde(default)]
    pub(in crate::file) http2: bool,
    pub(in crate::file) source: Option<OneOrMore>,
    pub(in crate::file) expect_status: Option<Statuses>,
}

/// A command as of `prony exec`, but without a shell unless one is named.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(in crate::file) struct ExecKeys {
    #[expect(dead_code, reason = "it has chosen these keys")]
    kind: Option<KindKey>,
    /// The command that is timed; relative programs begin at the study file.
    pub(in crate::file) command: Option<String>,
    /// Exactly so many executions.
    pub(in crate::file) runs: Option<CountU32>,
    /// At least so many; 10 if absent.
    pub(in crate::file) min_runs: Option<CountU32>,
    /// At most so many.
    pub(in crate::file) max_runs: Option<CountU32>,
    /// Go on for this long; 3s if absent.
    pub(in crate::file) min_time: Option<DurationArg>,
    /// Executions before those that count.
    pub(in crate::file) warmup: Option<CountU32>,
    /// End an execution that takes longer; 1h if absent.
    pub(in crate::file) timeout: Option<DurationArg>,
    /// Run once before the first execution.
    pub(in crate::file) setup: Option<String>,
    /// Run before each execution.
    pub(in crate::file) prepare: Option<String>,
    /// Run after each execution.
    pub(in crate::file) conclude: Option<String>,
    /// Run once after the last execution.
    pub(in crate::file) cleanup: Option<String>,
    /// The shell with its flags; none if absent.
    pub(in crate::file) shell: Option<String>,
    /// Time this as the program's start; `none` leaves it out. By the program itself if absent.
    pub(in crate::file) startup: Option<String>,
    /// Exit codes that are good beside 0; or true: go on whatever fails.
    pub(in crate::file) ignore_failure: Option<IgnoredFailures>,
    /// The file that the command reads, relative to the study file.
    pub(in crate::file) input: Option<String>,
    /// Where its output goes: null or pipe.
    #[serde(default)]
    pub(in crate::file) output: OutputKey,
}

/// A search for the capacity as of `prony capacity`: these, and the keys of a run that say what is sent.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(in crate::file) struct CapacityKeys {
    #[expect(dead_code, reason = "it has chosen these keys")]
    kind: Option<KindKey>,
    /// What every trial must meet, as a threshold or a list of them: response.p99 < 50ms.
    pub(in crate::file) slo: Option<OneOrMore>,
    /// Share of requests that may have no good answer; 0.1% if absent.
    pub(in crate::file) errors: Option<ErrorsArg>,
    /// The rate that is planned for, to be shown against the capacity.
    pub(in crate::file) peak: Option<PerSecond>,
    /// Try no lower rate, and begin there.
    pub(in crate::file) from: Option<PerSecond>,
    /// Try no higher rate.
    pub(in crate::file) to: Option<PerSecond>,
    /// Time for all trials; 10m if absent.
    pub(in crate::file) time: Option<DurationArg>,
    /// Length of a trial; 10s, or less where the time is short, if absent.
    pub(in crate::file) trial: Option<DurationArg>,
}

/// A text, or a list of them.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "a text, or a list of texts")]
#[schemars(rename = "Texts")]
pub(in crate::file) enum OneOrMore {
    /// One.
    One(String),
    /// Several.
    More(Vec<String>),
}

impl OneOrMore {
    pub(in crate::file) fn into_list(self) -> Vec<String> {
        match self {
            Self::One(text) => vec![text],
            Self::More(list) => list,
        }
    }
}

/// What a header says, once or several times.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "the text of a header, or a list of texts")]
#[schemars(rename = "Header")]
pub(in crate::file) enum HeaderText {
    /// Once.
    One(Scalar),
    /// In so many lines.
    More(Vec<Scalar>),
}

/// Which failures of a command don't end the series.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "true, or a list of exit codes")]
#[schemars(rename = "Ignored")]
pub(in crate::file) enum IgnoredFailures {
    /// All, or none.
    All(bool),
    /// Those with these exit codes, which are as good as 0.
    Codes(Vec<u8>),
}

/// How the kernel is asked.
#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[schemars(rename = "Driver")]
pub(in crate::file) enum DriverKey {
    /// io_uring where the kernel has it, else epoll (the default).
    #[default]
    #[serde(rename = "auto")]
    Auto,
    /// Readiness.
    #[serde(rename = "epoll")]
    Epoll,
    /// Completions.
    #[serde(rename = "io_uring")]
    IoUring,
}

/// Whether the kernel's own time stamps are used.
#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "KernelClock")]
pub(in crate::file) enum KernelClockKey {
    /// Where the kernel has them (the default).
    #[default]
    Auto,
    /// Not at all.
    Off,
}

/// What can be expected of a body's length.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(in crate::file) enum BodyLength {
    /// That of the first one.
    Same,
}

/// Where a command's output goes.
#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "Output")]
pub(in crate::file) enum OutputKey {
    /// Away, through /dev/null (the default).
    #[default]
    Null,
    /// Away, through a pipe.
    Pipe,
}
