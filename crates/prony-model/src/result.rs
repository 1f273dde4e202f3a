//! What a run found out: the numbers of every report, and what is stored.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{
    CleanParts, Environment, ErrorKind, EvaluatedThreshold, EventStreams, Finding, HistogramData, Histograms,
    Http2Use, Latencies, LatencySummary, Limiter, ReplayResult, RetryUse, RunPlan, ScenarioResult, ServerUse,
    SlowRequest, SoloRequests, StageResult, TlsUse, Traces, Traffic, Verdict,
};

/// One run, whole: enough to print any report of it again and to evaluate it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RunResult {
    /// Always `prony.run`.
    pub format: String,
    /// Version of this format.
    pub version: u32,
    /// Whether the numbers can be defended.
    pub verdict: Verdict,
    /// What was asked.
    pub plan: RunPlan,
    /// What was loaded, in the words of the user: a commit, a version, a variant.
    #[serde(default)]
    pub target_commit: Option<String>,
    /// The addresses that the target's name stood for.
    pub addresses: Vec<String>,
    /// The driver that did it.
    pub driver: DriverUsed,
    /// Which of the kernel's time stamps were used, and why those.
    #[serde(default)]
    pub kernel_clock: KernelClockUse,
    /// When, and for how long.
    pub timing: Timing,
    /// Where the requests went: `intended = done + failed + censored + never_sent`.
    pub requests: Requests,
    /// What was sent in all, for a server's log; absent in results of older versions.
    #[serde(default)]
    pub traffic: Option<Traffic>,
    /// TLS, for an `https://` server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<TlsUse>,
    /// HTTP/2, where it was spoken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http2: Option<Http2Use>,
    /// When events of the responses came, where the plan asks for it.
    #[serde(default)]
    pub events: Option<EventStreams>,
    /// Sessions, flows and steps, where the plan has a scenario.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scenario: Option<ScenarioResult>,
    /// How well recorded requests were replayed, where the plan has any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replay: Option<ReplayResult>,
    /// What came of retries, where the plan asks for them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retries: Option<RetryUse>,
    /// The slowest requests of the measured part, by response time, the slowest first: [`SlowRequest::LISTED_MAX`] at most,
    /// whatever came of them; absent in results of older versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub slowest: Vec<SlowRequest>,
    /// The slowest requests that the server was asked to trace, where the plan asks for that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traces: Option<Traces>,
    /// Each stage that was begun, where the plan has stages.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stages: Vec<StageResult>,
    /// Throughput over the measured part.
    pub rate: RateSummary,
    /// Bytes on the wire, headers included, over the measured part.
    pub bytes: Bytes,
    /// What happened to connections, over the whole run.
    pub connections: Connections,
    /// Latencies of the good responses.
    pub latency: Latencies,
    /// Counts and latencies of every outcome that occurred.
    pub outcomes: Vec<OutcomeSummary>,
    /// Good and bad responses by status code.
    pub statuses: BTreeMap<u16, u64>,
    /// Every kind of failure that occurred, with its first example.
    pub errors: Vec<ErrorSummary>,
    /// One point per second of the measured part.
    pub series: Vec<SecondPoint>,
    /// The first complete response.
    #[serde(default)]
    pub first_response: Option<FirstResponse>,
    /// What the client itself used.
    pub client: Client,
    /// What the server used, where it runs on the client's machine.
    #[serde(default)]
    pub server: Option<ServerUse>,
    /// Why that is not known.
    #[serde(default)]
    pub server_unknown_because: Option<String>,
    /// What the machine did meanwhile, beside the client.
    #[serde(default)]
    pub machine: MachineUse,
    /// The run without the stretches that the machine spoiled; `rate` and `latency` are of all of it.
    #[serde(default)]
    pub clean: Option<CleanParts>,
    /// Requests of the warm-up that were sent one at a time: what the server takes without a queue.
    #[serde(default)]
    pub solo: Option<SoloRequests>,
    /// What limited the run: what would have to change for twice the rate.
    #[serde(default)]
    pub limiter: Option<Limiter>,
    /// What this client can do at most, as measured by `prony calibrate`.
    #[serde(default)]
    pub calibration: Option<CalibrationUse>,
    /// Reasons to doubt, the worst first.
    pub findings: Vec<Finding>,
    /// What was required of the run, and what became of it.
    #[serde(default)]
    pub thresholds: Vec<EvaluatedThreshold>,
    /// The machine.
    pub environment: Environment,
    /// The distributions behind `latency`.
    pub histograms: Histograms,
    /// How the response time drifted, where the run is a soak: five minutes or more at one rate, in parts that are alike
    /// enough to be compared.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub drift: Vec<LatencyDrift>,
    /// The measured part in pieces, where the plan is a share: intervals of the whole load are made of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pieces: Option<TimePieces>,
}

/// How a quantile of the response time drifted over a soak, by Theil and Sen's slope.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LatencyDrift {
    /// Which quantile: `p50` or `p99`.
    pub quantile: String,
    /// Its slope, milliseconds per hour.
    pub per_hour_ms: f64,
    /// 95 % interval of that; it accounts for slow swings.
    pub interval: Interval,
    /// Change over the whole soak, as a share of the median of its parts.
    pub change: f64,
    /// Kendall's tau: parts that rise minus parts that fall, over all pairs.
    pub tau: f64,
    /// The probability of such a tau where nothing drifts, with these slow swings.
    pub p: f64,
    /// How much of a part's distance from the slope the next one keeps (0..1): the slow swings.
    pub correlation: f64,
    /// Parts of the run that it rests on.
    pub parts: u64,
    /// Whether it went one way all along, beyond its swings and by enough to matter.
    pub is_drift: bool,
}

/// The measured part in pieces of equal length, from its beginning; whole ones only.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TimePieces {
    /// Length of a piece, nanoseconds: 50 ms times a power of two.
    pub length_ns: u64,
    /// Good responses that came in each piece.
    pub done: Vec<u64>,
    /// Response times of those: HdrHistogram V2, deflated, base64; values in nanoseconds. Empty for none.
    pub response: Vec<String>,
    /// Service times of those.
    pub service: Vec<String>,
}

/// Which driver was used, and why that one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DriverUsed {
    /// `io_uring` or `epoll`.
    pub name: String,
    /// Why: asked for, or what the probe of the kernel found.
    pub reason: String,
}

/// Which of the kernel's time stamps were used.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct KernelClockUse {
    /// Whether the kernel stamped when answers arrived.
    pub arrivals: bool,
    /// One connection of so many was asked when its answers arrived; 0 for none.
    #[serde(default)]
    pub arrivals_one_in: u32,
    /// One request of so many was asked when it left; 0 for none.
    pub departures_one_in: u32,
    /// Why: asked for, or what the probe of the kernel found.
    pub reason: String,
    /// Answers whose arrival the kernel stamped.
    pub arrivals_stamped: u64,
    /// Requests whose departure the kernel stamped.
    pub departures_stamped: u64,
    /// Stamped requests that were left out, because the wall clock, which the kernel stamps with, was moved.
    pub discarded: u64,
    /// Good responses whose requests were picked for stamps before they were sent.
    #[serde(default)]
    pub responses_asked: u64,
    /// Those of them that have both stamps: the sample of `latency.kernel_response`.
    #[serde(default)]
    pub responses_stamped: u64,
}

/// The first complete response.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FirstResponse {
    /// Its status code.
    pub status: u16,
    /// Its `Server` field, at most 128 bytes of it.
    pub server: Option<String>,
    /// Length of its body.
    pub body_bytes: u64,
}

/// When, and for how long; seconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Timing {
    /// Start of the load, warm-up included: RFC 3339 in UTC, to the millisecond.
    pub started_at: String,
    /// Time that resolving the target's name took, before the load.
    pub resolve_s: f64,
    /// Load that was not counted.
    pub warmup_s: f64,
    /// The measured part: rates are per this.
    pub measured_s: f64,
    /// Waiting for what was outstanding afterwards.
    pub drain_s: f64,
    /// Ended before its time.
    pub interrupted: bool,
    /// Why, where it was not by hand.
    #[serde(default)]
    pub ended_early_because: Option<String>,
    /// The start to the nanosecond; absent in results of older versions.
    #[serde(default)]
    pub start: Option<Start>,
}

/// When a load was to start, and when it did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Start {
    /// The planned start on this machine's monotonic clock (CLOCK_MONOTONIC), nanoseconds.
    pub planned_ns: u64,
    /// From then until the last thread was ready for its first request, nanoseconds.
    pub ready_ns: u64,
    /// From the planned start until the first request was sent, nanoseconds; absent where none was. It may have been due
    /// later than the start.
    pub first_sent_ns: Option<u64>,
}

/// Where the requests of the measured part went.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Requests {
    /// Due within the measured part.
    pub intended: u64,
    /// Handed to the kernel, or failed in the attempt to connect; retries are counted apart ([`RetryUse`]).
    pub sent: u64,
    /// Complete responses of any status.
    pub answered: u64,
    /// Complete responses that passed every check: the numerator of every rate.
    pub done: u64,
    /// Without a complete response, or with one that failed a check.
    pub failed: u64,
    /// Still outstanding when the drain ended.
    pub censored: u64,
    /// Due, but never sent, because no connection was free until the end.
    pub never_sent: u64,
    /// `failed` by kind; kinds that did not occur are absent.
    pub failed_by_kind: BTreeMap<ErrorKind, u64>,
}

/// Throughput over the measured part; requests per second. Answers that came in the drain are part of none of them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RateSummary {
    /// What was asked, in an open loop.
    pub asked_per_s: Option<f64>,
    /// Requests sent.
    pub sent_per_s: f64,
    /// Complete responses of any status.
    pub answered_per_s: f64,
    /// Good responses: the goodput.
    pub done_per_s: f64,
    /// 95 % interval of `done_per_s` over ten parts of the run; null where the run is too short for one.
    pub interval_per_s: Option<Interval>,
    /// The same as `done_per_s` without the steps of a count, from whole rounds: good requests in progress (mean
    /// over the measured part) over the mean response time of those that began in it. Closed loops only.
    #[serde(default)]
    pub whole_rounds_per_s: Option<f64>,
}

/// An interval that covers the true value in 95 of 100 runs like this one.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// True where the sample supports only a hint.
    pub indicative: bool,
}

/// Bytes over the measured part.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Bytes {
    /// Requests, with their heads.
    pub sent: u64,
    /// Responses, with their heads.
    pub received: u64,
    /// Bodies of complete responses.
    pub body_received: u64,
}

/// What happened to connections over the whole run, warm-up included.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Connections {
    /// Asked for (closed loop), or allowed at most (open loop).
    pub asked: u64,
    /// Most that were open at one moment.
    pub reached: u64,
    /// Attempts to connect.
    pub attempted: u64,
    /// Attempts that succeeded.
    pub opened: u64,
    /// Requests sent on a connection that had carried one before.
    pub reused: u64,
    /// Closed by the server between two requests.
    pub closed_by_server: u64,
}

/// Count and latencies of one outcome.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct OutcomeSummary {
    /// `2xx`, `unexpected-4xx`, `refused`, …
    pub outcome: String,
    /// How many.
    pub count: u64,
    /// From the moment the request was due.
    pub response: LatencySummary,
    /// From the moment it was sent.
    pub service: LatencySummary,
    /// The distribution of the response time.
    pub response_histogram: HistogramData,
    /// The distribution of the service time.
    pub service_histogram: HistogramData,
}

/// One kind of failure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ErrorSummary {
    /// Which kind.
    pub kind: ErrorKind,
    /// How many.
    pub count: u64,
    /// The first one, in words.
    pub first_example: String,
    /// When it came, seconds into the measured part.
    pub first_at_s: f64,
}

/// One second of the measured part.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SecondPoint {
    /// From the start of the measured part, seconds.
    pub second: u64,
    /// How much of this second was measured; less than 1 in the last one.
    pub covered_s: f64,
    /// Requests sent.
    pub sent: u64,
    /// Complete responses of any status; absent in results of older versions.
    #[serde(default)]
    pub answered: Option<u64>,
    /// Good responses.
    pub done: u64,
    /// Failures.
    pub failed: u64,
    /// Bytes received.
    pub received_bytes: u64,
    /// Median response time of the good ones.
    pub p50_ms: Option<f64>,
    /// 99th percentile, where at least 1000 support it.
    pub p99_ms: Option<f64>,
    /// The greatest.
    pub max_ms: Option<f64>,
    /// Median service time of the good ones.
    #[serde(default)]
    pub service_p50_ms: Option<f64>,
    /// 99th percentile of the service time, where at least 1000 support it.
    #[serde(default)]
    pub service_p99_ms: Option<f64>,
    /// The greatest service time.
    #[serde(default)]
    pub service_max_ms: Option<f64>,
}

/// What the client itself used.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Client {
    /// CPU time of all worker threads over the measured part, seconds.
    pub cpu_s: f64,
    /// Answers and failures per second of that CPU time; null where the time is too short to tell.
    pub requests_per_cpu_s: Option<f64>,
    /// Peak resident memory of the process, bytes.
    pub peak_rss_bytes: Option<u64>,
    /// Each worker thread.
    pub threads: Vec<ThreadUse>,
}

/// What one worker thread used over the measured part.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ThreadUse {
    /// From 0.
    pub thread: u32,
    /// CPU time, seconds.
    pub cpu_s: f64,
    /// Greatest share of a core within a second, 0..1.
    pub cpu_share_peak: f64,
    /// Time spent waiting for a core, seconds; null where the kernel does not say.
    pub run_queue_wait_s: Option<f64>,
    /// Longest time between two looks at the sockets, milliseconds.
    pub loop_gap_max_ms: f64,
    /// Number of times that the gap was over a millisecond.
    pub loop_gaps_over_1ms: u64,
    /// Looks at the sockets.
    pub polls: u64,
}

/// What the machine did while the run was on, beside the client. `None`: the system does not say.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct MachineUse {
    /// Share of all CPU time that the hypervisor gave to others (0..1).
    pub steal_share: Option<f64>,
    /// Share of all CPU time spent in soft interrupts (0..1).
    pub softirq_share: Option<f64>,
    /// Share of all CPU time that was used at all (0..1).
    pub busy_share: Option<f64>,
    /// Share of the time in which some task waited for a CPU (pressure stall information, 0..1).
    pub pressure_share: Option<f64>,
    /// Share of the time in which some task waited for a disk (pressure stall information, 0..1).
    #[serde(default)]
    pub io_pressure_share: Option<f64>,
    /// Times that the control group was held back, for want of quota.
    pub throttled: Option<u64>,
    /// TCP segments sent again on this machine.
    pub retransmitted: Option<u64>,
    /// TCP segments sent on this machine.
    pub segments_sent: Option<u64>,
    /// Connection requests sent again on this machine.
    pub syn_retransmitted: Option<u64>,
    /// Connections that found a listen queue of this machine full.
    pub listen_overflows: Option<u64>,
    /// Connection requests that listeners of this machine dropped.
    pub listen_drops: Option<u64>,
    /// Packets that the network stack of this machine dropped for want of time.
    pub softnet_dropped: Option<u64>,
    /// Greatest drift of the CPU frequency from its mean (0..1).
    pub frequency_drift: Option<f64>,
    /// The clock source at the end, if it is not the one of the beginning.
    pub clock_source_became: Option<String>,
}

/// What this client can do at most, and how near to it the run was.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CalibrationUse {
    /// When it was measured, RFC 3339 in UTC.
    pub measured_at: String,
    /// How long ago that was when the measured part ended, seconds.
    pub age_s: f64,
    /// The prony that measured it.
    #[serde(default)]
    pub prony_version: String,
    /// Connections and threads of the calibration that was compared with.
    pub connections: u32,
    /// Its worker threads.
    pub threads: u32,
    /// Responses per second that this client gets from the null server.
    pub null_rate_per_s: f64,
    /// Responses per second that this client can get: `null_rate_per_s`, or more where the null server was the
    /// limit of that, by the client's use of CPU.
    #[serde(default)]
    pub capacity_per_s: f64,
    /// Response time's median against the null server at little load, milliseconds.
    pub floor_p50_ms: Option<f64>,
    /// Its p99.
    pub floor_p99_ms: Option<f64>,
    /// The run's rate as a share of `capacity_per_s` (0..1, or more).
    pub share: f64,
}
