//! What a run is asked to do. Every choice stands here, also those that nobody made by hand, so that a
//! result can be repeated from its plan.

mod arrivals;
mod error;
mod plain;
mod share;
mod stages;

use std::net::IpAddr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use self::arrivals::Arrivals;
pub use self::error::PlanError;
pub use self::share::{AGENTS_MAX, Share, split};
pub use self::stages::{Stage, Stages};
use crate::{Problem, Rate, RecordedArrivals, Replay, RetryPlan, Scenario, Target, TracePlan};

/// One run: what, how much, how long, how evaluated.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RunPlan {
    /// The server.
    pub target: Target,
    /// The request that is repeated.
    pub request: RequestPlan,
    /// Sessions of several requests, instead of `request`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scenario: Option<Box<Scenario>>,
    /// Closed or open loop; of sessions, where there is a scenario.
    pub load: Load,
    /// How the rate of an open loop changes along the measured part; absent where it stays the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stages: Option<Stages>,
    /// When requests are due, where that comes from a file ([`Arrivals::Recorded`]).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recorded: Option<Box<RecordedArrivals>>,
    /// Recorded requests, one for each moment of `recorded`, which the scenario sends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replay: Option<Box<Replay>>,
    /// When the measured part ends.
    pub end: End,
    /// Load before the measured part, in seconds; what happens in it is not counted.
    #[serde(rename = "warmup_s", with = "crate::duration")]
    #[cfg_attr(test, schemars(with = "f64"))]
    pub warmup: Duration,
    /// Worker threads.
    pub threads: u32,
    /// Where these are some of the threads of a load that several agents share; absent for all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<Share>,
    /// How long to wait for what.
    pub timeouts: Timeouts,
    /// What makes a response good.
    pub checks: Checks,
    /// Local addresses to connect from, used in turn; empty lets the system choose.
    #[serde(default)]
    pub sources: Vec<IpAddr>,
    /// How the kernel is asked.
    pub driver: DriverChoice,
    /// Whether the kernel's own time stamps are asked for.
    #[serde(default)]
    pub kernel_clock: KernelClock,
    /// Whether every request is also reported one by one ([`crate::RunEvent::Samples`]).
    #[serde(default)]
    pub samples: bool,
    /// Whether responses are streams of events, whose moments are measured, too ([`crate::EventStreams`]).
    #[serde(default)]
    pub events: bool,
    /// Which failed requests are sent again; absent for none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retries: Option<RetryPlan>,
    /// A `traceparent` header on each request; absent for none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<TracePlan>,
    /// Seed of everything random in the run (PCG-64, one stream per thread).
    pub seed: u64,
}

/// The request that is repeated, the same bytes each time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RequestPlan {
    /// `GET`, `POST`, …
    pub method: String,
    /// Headers beyond those that Prony writes itself; the values of secret ones are stored as `[redacted]`.
    #[serde(serialize_with = "crate::redact::headers")]
    pub headers: Vec<(String, String)>,
    /// Whether `headers` are all there are: Prony adds none of its own but the length that a body needs.
    #[serde(default)]
    pub verbatim: bool,
    /// The body.
    pub body: Body,
    /// Protocol version.
    pub version: Version,
    /// Whether a connection carries more than one request.
    pub keep_alive: bool,
    /// Requests in flight on one connection; 1 is no pipelining. With HTTP/2 its streams, of which the server may allow
    /// fewer.
    pub pipeline: u32,
}

/// A request body; stored in results by its size and checksum only where it is large.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Body {
    /// The bytes, base64.
    #[serde(with = "crate::format::base64_bytes")]
    #[cfg_attr(test, schemars(with = "String"))]
    pub bytes: Vec<u8>,
}

/// HTTP's version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum Version {
    /// HTTP/1.0
    #[serde(rename = "HTTP/1.0")]
    Http10,
    /// HTTP/1.1
    #[serde(rename = "HTTP/1.1")]
    Http11,
    /// HTTP/2: chosen in the TLS handshake (ALPN) with an `https://` URL, else with prior knowledge.
    #[serde(rename = "HTTP/2")]
    Http2,
}

impl Version {
    /// As it is written: `HTTP/1.1`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Http10 => "HTTP/1.0",
            Self::Http11 => "HTTP/1.1",
            Self::Http2 => "HTTP/2",
        }
    }

    /// The plain name of the setting for requests in flight on a connection: `streams` of HTTP/2, else `pipeline`.
    pub fn in_flight_setting(self) -> &'static str {
        match self {
            Self::Http10 | Self::Http11 => "pipeline",
            Self::Http2 => "streams",
        }
    }
}

/// What decides when a request is sent.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "mode", rename_all = "kebab-case")]
pub enum Load {
    /// Each connection sends its next request when the last one is answered: the server sets the pace.
    Closed {
        /// Connections over all threads.
        connections: u32,
    },
    /// Requests are due at times of their own: the clock sets the pace.
    Open {
        /// Requests per second over all threads; the highest, where [`RunPlan::stages`] change it.
        rate_per_s: Rate,
        /// How the due times are spread.
        arrivals: Arrivals,
        /// Connections over all threads at most; opened as they are needed.
        max_connections: u32,
    },
}

impl Load {
    /// Connections, or the most connections, over all threads.
    pub fn connections(&self) -> u32 {
        match *self {
            Self::Closed { connections } => connections,
            Self::Open { max_connections, .. } => max_connections,
        }
    }

    /// The highest rate at any moment, in an open loop: that of the bursts, where it has some.
    pub fn peak_per_s(&self) -> Option<f64> {
        match *self {
            Self::Open { rate_per_s, arrivals: Arrivals::Bursty { factor, .. }, .. } => {
                Some(rate_per_s.as_per_second() * factor)
            }
            Self::Open { .. } | Self::Closed { .. } => self.rate().map(Rate::as_per_second),
        }
    }

    /// The asked rate, in an open loop.
    pub fn rate(&self) -> Option<Rate> {
        match *self {
            Self::Closed { .. } => None,
            Self::Open { rate_per_s, .. } => Some(rate_per_s),
        }
    }
}

/// When the measured part ends.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum End {
    /// After this long, in seconds.
    #[serde(rename = "duration_s")]
    Duration(
        #[serde(with = "crate::duration")]
        #[cfg_attr(test, schemars(with = "f64"))]
        Duration,
    ),
    /// When this many requests have ended.
    #[serde(rename = "requests")]
    Requests(u64),
    /// Whichever of the two comes first.
    First {
        /// After this long, in seconds.
        #[serde(rename = "duration_s", with = "crate::duration")]
        #[cfg_attr(test, schemars(with = "f64"))]
        duration: Duration,
        /// When this many requests have ended.
        requests: u64,
    },
}

impl End {
    /// How long the measured part is at most.
    pub fn duration(&self) -> Option<Duration> {
        match *self {
            Self::Duration(duration) | Self::First { duration, .. } => Some(duration),
            Self::Requests(_) => None,
        }
    }

    /// How many requests end it.
    pub fn requests(&self) -> Option<u64> {
        match *self {
            Self::Requests(requests) | Self::First { requests, .. } => Some(requests),
            Self::Duration(_) => None,
        }
    }
}

/// How long to wait, in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Timeouts {
    /// For a connection.
    #[serde(rename = "connect_s", with = "crate::duration")]
    #[cfg_attr(test, schemars(with = "f64"))]
    pub connect: Duration,
    /// For a complete response, from when the request was sent; where it is sent again, from when it was sent first.
    #[serde(rename = "request_s", with = "crate::duration")]
    #[cfg_attr(test, schemars(with = "f64"))]
    pub request: Duration,
    /// For responses still outstanding when the run is over; what comes later is censored.
    #[serde(rename = "drain_s", with = "crate::duration")]
    #[cfg_attr(test, schemars(with = "f64"))]
    pub drain: Duration,
}

impl Timeouts {
    /// Finds one that no request could keep.
    pub(crate) fn check(&self) -> Result<(), PlanError> {
        if self.connect.is_zero() {
            Err(PlanError::NoTimeout { what: "connect", setting: "connect-timeout" })
        } else if self.request.is_zero() {
            Err(PlanError::NoTimeout { what: "request", setting: "timeout" })
        } else {
            Ok(())
        }
    }
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(5),
            request: Duration::from_secs(30),
            drain: Duration::from_secs(1),
        }
    }
}

/// What makes a response good, beyond being complete.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Checks {
    /// Status codes that count as success.
    #[serde(default)]
    pub status: StatusSet,
    /// What the body must be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<BodyCheck>,
    /// Every body must be as long as the first one.
    #[serde(default)]
    pub same_length: bool,
}

/// A set of status codes, as closed ranges.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct StatusSet(pub Vec<(u16, u16)>);

impl Default for StatusSet {
    /// 200–399: what a browser would show without an error.
    fn default() -> Self {
        Self(vec![(200, 399)])
    }
}

impl StatusSet {
    /// Whether `status` is in the set.
    pub fn contains(&self, status: u16) -> bool {
        self.0.iter().any(|&(low, high)| (low..=high).contains(&status))
    }

    /// Reads `200`, `2xx`, `200-299`, and lists of them with commas.
    pub fn parse(text: &str) -> Result<Self, Problem> {
        let ranges = text.split(',').map(|part| range(part.trim())).collect::<Option<Vec<_>>>();
        ranges.map(Self).ok_or_else(|| {
            let what = format!("`{text}` is not a set of status codes");
            Problem::new(what, "write 200, 2xx, 200-299 or 200,404")
        })
    }
}

/// One part of a status set.
fn range(part: &str) -> Option<(u16, u16)> {
    let code = |text: &str| text.parse().ok().filter(|code| (100..=599).contains(code));
    if let Some(class) = part.strip_suffix("xx") {
        let class: u16 = class.parse().ok().filter(|class| (1..=5).contains(class))?;
        return Some((class * 100, class * 100 + 99));
    }
    match part.split_once('-') {
        Some((low, high)) => Some((code(low)?, code(high)?)).filter(|(low, high)| low <= high),
        None => code(part).map(|code| (code, code)),
    }
}

/// What a response body must be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum BodyCheck {
    /// Exactly these characters.
    Exact(String),
    /// A match of this regular expression somewhere.
    Regex(String),
}

/// Whether the kernel says when requests left and answers came (SO_TIMESTAMPING).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum KernelClock {
    /// Where the kernel can: arrivals always, departures as often as they cost little.
    #[default]
    Auto,
    /// Not at all.
    Off,
}

/// How the kernel is asked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum DriverChoice {
    /// io_uring where the kernel has it, else epoll.
    #[default]
    Auto,
    /// Readiness: epoll.
    Epoll,
    /// Completions: io_uring.
    IoUring,
}

impl RunPlan {
    /// Requests per second that were asked for, of this share of the load; the highest, where stages change it. None of a
    /// scenario: its rate is one of sessions, whose later requests follow from answers. None of recorded moments either,
    /// which have no constant one.
    pub fn request_rate(&self) -> Option<Rate> {
        self.own_load().rate().filter(|_| self.scenario.is_none() && self.recorded.is_none())
    }

    /// Connections that one run can hold: slots are numbered with 20 bits.
    pub const CONNECTIONS_MAX: u32 = 1 << 20;
    /// Worker threads that one run can have.
    pub const THREADS_MAX: u32 = 256;
    /// Requests in flight on one connection.
    pub const PIPELINE_MAX: u32 = 1024;
    /// Seven days: a longer run would outgrow the per-second series.
    pub const DURATION_MAX: Duration = Duration::from_hours(7 * 24);

    /// Finds what contradicts itself, before anything is opened.
    pub fn check(&self) -> Result<(), PlanError> {
        let connections = self.load.connections();
        let closed = matches!(self.load, Load::Closed { .. });
        if connections == 0 {
            return Err(PlanError::NoConnections);
        }
        let own = self.own_load().connections();
        if own > Self::CONNECTIONS_MAX {
            return Err(PlanError::TooManyConnections { asked: own, max: Self::CONNECTIONS_MAX });
        }
        match self.end.requests() {
            Some(0) => return Err(PlanError::NoRequests),
            Some(requests) if closed && requests < u64::from(connections) => {
                return Err(PlanError::FewerRequestsThanConnections { requests, connections });
            }
            Some(_) | None => {}
        }
        match self.end.duration() {
            Some(Duration::ZERO) => return Err(PlanError::NoDuration),
            Some(duration) if duration > Self::DURATION_MAX => {
                return Err(PlanError::TooLong { max: Self::DURATION_MAX });
            }
            Some(_) | None => {}
        }
        if self.threads == 0 || self.threads > Self::THREADS_MAX {
            return Err(PlanError::Threads { asked: self.threads, max: Self::THREADS_MAX });
        }
        if self.threads > connections {
            return Err(PlanError::MoreThreadsThanConnections { threads: self.threads, connections });
        }
        self.check_arrivals()?;
        self.check_stages()?;
        self.check_share()?;
        self.check_recorded()?;
        self.check_connection_use()
    }

    /// The part of [`Self::check`] about loads from a file.
    fn check_recorded(&self) -> Result<(), PlanError> {
        let is_recorded = matches!(self.load, Load::Open { arrivals: Arrivals::Recorded, .. });
        let Some(recorded) = &self.recorded else {
            return if is_recorded { Err(PlanError::NoMoments { file: String::new() }) } else { Ok(()) };
        };
        if self.share.is_some() {
            return Err(PlanError::RecordedForAgents);
        }
        let moments = recorded.moments.as_slice().len();
        let rows = self.replay.as_ref().map_or(moments, |replay| replay.rows.requests.len());
        if !is_recorded || moments == 0 || rows != moments {
            return Err(PlanError::NoMoments { file: recorded.file.clone() });
        }
        Ok(())
    }

    /// The part of [`Self::check`] about how connections are used.
    fn check_connection_use(&self) -> Result<(), PlanError> {
        self.timeouts.check()?;
        let pipeline = self.request.pipeline;
        if !(1..=Self::PIPELINE_MAX).contains(&pipeline) {
            let setting = self.request.version.in_flight_setting();
            return Err(PlanError::Pipeline { setting, asked: pipeline, max: Self::PIPELINE_MAX });
        }
        if pipeline > 1 && !self.request.keep_alive {
            let setting = self.request.version.in_flight_setting();
            return Err(PlanError::PipelineWithoutKeepAlive { setting });
        }
        if let Some(retries) = &self.retries {
            // Streams fail one by one.
            let pipeline = if self.request.version == Version::Http2 { 1 } else { pipeline };
            retries.check(&self.timeouts, pipeline)?;
        }
        if let Some(trace) = &self.trace {
            trace.check(&self.request, self.scenario.as_deref(), self.replay.is_some())?;
        }
        check_unix(&self.target, &self.sources)
    }
}

/// Finds what can't be together with a Unix socket.
pub(crate) fn check_unix(target: &Target, sources: &[IpAddr]) -> Result<(), PlanError> {
    match &target.unix {
        Some(_) if !sources.is_empty() => Err(PlanError::SourceWithUnixSocket),
        Some(_) if !target.connect_to.is_empty() => Err(PlanError::ConnectToWithUnixSocket),
        _ => Ok(()),
    }
}
