//! The options of a load, on a command line or in a study file, and the plan that it means: every default filled
//! in, every contradiction refused.

mod error;

use std::net::IpAddr;
use std::time::Duration;

pub use self::error::OptionsError;
use crate::{
    Arrivals, Body, BodyCheck, Checks, DriverChoice, End, ExecPlan, ExecRuns, KernelClock, Load, PlanError,
    ProbePlan, Rate, RecordedArrivals, Replay, RequestPlan, RetryOptions, RunPlan, Scenario, Stages,
    StatusSet, Target, Timeouts, TraceOptions, Version,
};

/// Connections in a closed loop, when no number is given.
const CONNECTIONS: u32 = 50;
/// Connections at most in an open loop: enough for 1000 requests per second that take a second each.
pub const OPEN_CONNECTIONS: u32 = 1000;
const DURATION: Duration = Duration::from_secs(10);
const WARMUP: Duration = Duration::from_secs(1);
/// Executions of each command at least, as with hyperfine: their median is known to a few percent.
const LEAST_RUNS: u32 = 10;
/// Time for each command on average, as with hyperfine.
const LEAST_TIME: Duration = Duration::from_secs(3);
/// An execution that takes longer hangs more probably than not.
const EXEC_TIMEOUT: Duration = Duration::from_hours(1);

/// A load as it was asked for: `None` where nothing was given.
#[derive(Debug, Clone, Default, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag or a key of its own")]
pub struct RunOptions {
    /// Connections; in an open loop, connections at most.
    pub connections: Option<u32>,
    /// Length of the measured part.
    pub duration: Option<Duration>,
    /// Requests of the measured part.
    pub requests: Option<u64>,
    /// Requests per second: an open loop.
    pub rate: Option<Rate>,
    /// A rate that changes: an open loop as long as its stages.
    pub stages: Option<Stages>,
    /// Exponential gaps.
    pub poisson: bool,
    /// How due times are spread; as `poisson` says, if absent.
    pub arrivals: Option<Arrivals>,
    /// When requests are due, from a file: an open loop, too.
    pub recorded: Option<Box<RecordedArrivals>>,
    /// Which requests those are; they need the scenario that was made with them.
    pub replay: Option<Box<Replay>>,
    /// Worker threads.
    pub threads: Option<u32>,
    /// Load before the measured part.
    pub warmup: Option<Duration>,
    /// The request.
    pub request: RequestOptions,
    /// Wait for the last responses.
    pub drain: Option<Duration>,
    /// Requests in flight on a connection of HTTP/1.1.
    pub pipeline: Option<u32>,
    /// Requests in flight on a connection of HTTP/2.
    pub streams: Option<u32>,
    /// How the kernel is asked.
    pub driver: DriverChoice,
    /// Whether the kernel's time stamps are used.
    pub kernel_clock: KernelClock,
    /// What a body must be.
    pub expect_body: Option<BodyCheck>,
    /// Every body must be as long as the first one.
    pub expect_same_length: bool,
    /// Whether every request is reported one by one.
    pub samples: bool,
    /// Whether responses are streams of events.
    pub events: bool,
    /// Sessions, instead of the request.
    pub scenario: Option<Box<Scenario>>,
    /// Which failed requests are sent again.
    pub retries: RetryOptions,
    /// A `traceparent` header on each request.
    pub trace: TraceOptions,
}

/// The request of a load or a probe as it was asked for.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RequestOptions {
    /// GET, or POST with a body, when none is given.
    pub method: Option<String>,
    /// Headers beyond those that Prony writes itself.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Option<Vec<u8>>,
    /// Wait for a response.
    pub timeout: Option<Duration>,
    /// Wait for a connection.
    pub connect_timeout: Option<Duration>,
    /// A new connection for each request.
    pub no_keepalive: bool,
    /// Speak HTTP/1.0.
    pub http10: bool,
    /// Speak HTTP/2.
    pub http2: Http2Choice,
    /// Local addresses, used in turn.
    pub sources: Vec<IpAddr>,
    /// Good status codes.
    pub expect_status: Option<StatusSet>,
}

/// Whether HTTP/2 is spoken, and how both sides come to it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Http2Choice {
    /// It is not.
    #[default]
    Off,
    /// Chosen in the TLS handshake, so that an `https://` URL is needed.
    Negotiated,
    /// Without TLS, which needs an `http://` URL.
    PriorKnowledge,
    /// As the URL needs it.
    ByUrl,
}

/// How often a command is executed, and for how long, as it was asked for: `None` where nothing was given.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ExecOptions {
    /// Executions before those that count.
    pub warmup: Option<u32>,
    /// Exactly so many executions.
    pub runs: Option<u32>,
    /// At least so many.
    pub min_runs: Option<u32>,
    /// At most so many.
    pub max_runs: Option<u32>,
    /// Go on for this long, for each command on average.
    pub min_time: Option<Duration>,
    /// End an execution that takes longer.
    pub timeout: Option<Duration>,
}

impl RunOptions {
    /// The plan that they mean for `target`.
    pub fn plan(&self, target: Target, seed: u64) -> Result<RunPlan, OptionsError> {
        self.check_scenario()?;
        self.check_recorded()?;
        let timeouts = self.request.timeouts();
        let end = self.end(&timeouts)?;
        let version = self.request.version(&target)?;
        let plan = RunPlan {
            load: self.load(end)?,
            stages: self.stages.clone(),
            end,
            warmup: self.warmup.unwrap_or(match end {
                // People who ask for a number of requests count them at the server, too.
                End::Requests(_) | End::First { .. } => Duration::ZERO,
                End::Duration(_) => WARMUP,
            }),
            threads: self.threads.unwrap_or(1),
            share: None,
            timeouts: Timeouts { drain: self.drain.unwrap_or(timeouts.drain), ..timeouts },
            checks: Checks {
                status: self.request.expect_status.clone().unwrap_or_default(),
                body: self.expect_body.clone(),
                same_length: self.expect_same_length,
            },
            sources: self.request.sources.clone(),
            driver: self.driver,
            kernel_clock: self.kernel_clock,
            samples: self.samples,
            events: self.events,
            retries: self.retries.plan(&timeouts)?,
            trace: self.trace.plan()?,
            seed,
            request: self.request.plan(version, self.in_flight(version)?)?,
            target,
            scenario: self.scenario.clone(),
            recorded: self.recorded.clone(),
            replay: self.replay.clone(),
        };
        plan.check()?;
        Ok(plan)
    }

    /// Requests in flight on a connection.
    fn in_flight(&self, version: Version) -> Result<u32, OptionsError> {
        match (version, self.pipeline, self.streams) {
            (Version::Http2, Some(_), _) => Err(OptionsError::PipelineInHttp2),
            (Version::Http2, None, streams) => Ok(streams.unwrap_or(1)),
            (_, _, Some(_)) => Err(OptionsError::StreamsWithoutHttp2),
            (_, pipeline, None) => Ok(pipeline.unwrap_or(1)),
        }
    }

    /// A scenario has requests and checks of its own.
    fn check_scenario(&self) -> Result<(), OptionsError> {
        let Some(scenario) = &self.scenario else { return Ok(()) };
        let given = [
            ("method", self.request.method.is_some()),
            ("header", !self.request.headers.is_empty()),
            ("body", self.request.body.is_some()),
            ("expect-status", self.request.expect_status.is_some()),
            ("expect-body", self.expect_body.is_some()),
            ("expect-length", self.expect_same_length),
            ("pipeline", self.pipeline.is_some_and(|depth| depth > 1)),
            ("http1.0", self.request.http10),
            ("events", self.events),
        ];
        if let Some((setting, _)) = given.into_iter().find(|(_, is_given)| *is_given) {
            return Err(OptionsError::WithScenario(setting));
        }
        let paced = scenario.flows.iter().find(|flow| !flow.pacing.is_zero());
        let is_open = self.rate.is_some() || self.stages.is_some() || self.recorded.is_some();
        match paced.filter(|_| is_open) {
            Some(flow) => Err(OptionsError::PacingWithRate(flow.name.clone())),
            None => Ok(()),
        }
    }

    /// Moments from a file are the whole load.
    fn check_recorded(&self) -> Result<(), OptionsError> {
        let given = [
            ("rate", self.rate.is_some()),
            ("stages", self.stages.is_some()),
            ("arrivals", self.arrivals.is_some()),
            ("poisson", self.poisson),
            ("duration", self.duration.is_some()),
            ("requests", self.requests.is_some()),
            ("warmup", self.warmup.is_some_and(|warmup| !warmup.is_zero())),
        ];
        match given.into_iter().find(|(_, is_given)| *is_given && self.recorded.is_some()) {
            Some((setting, _)) => Err(OptionsError::WithRecorded(setting)),
            None => Ok(()),
        }
    }

    fn end(&self, timeouts: &Timeouts) -> Result<End, OptionsError> {
        if let Some(recorded) = &self.recorded {
            // The last request is waited for as long as any.
            let duration = Duration::from_nanos(recorded.last_ns()) + timeouts.connect + timeouts.request;
            return Ok(End::First { duration, requests: recorded.count });
        }
        if let Some(stages) = &self.stages {
            let given = [
                ("duration", self.duration.is_some()),
                ("requests", self.requests.is_some()),
                ("rate", self.rate.is_some()),
            ];
            return match given.into_iter().find(|(_, is_given)| *is_given) {
                Some((setting, _)) => Err(OptionsError::WithStages(setting)),
                None => Ok(End::Duration(stages.duration())),
            };
        }
        match (self.duration, self.requests) {
            (Some(_), Some(_)) => Err(OptionsError::TwoEnds),
            (duration, None) => Ok(End::Duration(duration.unwrap_or(DURATION))),
            (None, Some(requests)) => Ok(End::Requests(requests)),
        }
    }

    /// A default number of connections bows to a small number of requests; a given one is refused by the plan.
    fn load(&self, end: End) -> Result<Load, OptionsError> {
        if let Some(recorded) = &self.recorded {
            let max_connections = self.connections.unwrap_or(OPEN_CONNECTIONS);
            let rate_per_s = recorded.mean_rate();
            return Ok(Load::Open { rate_per_s, arrivals: Arrivals::Recorded, max_connections });
        }
        let rate = match &self.stages {
            Some(stages) => Some(stages.highest().ok_or(PlanError::StagesWithoutRate)?),
            None => self.rate,
        };
        if let Some(rate_per_s) = rate {
            let arrivals = match self.arrivals {
                Some(_) if self.poisson => return Err(OptionsError::TwoArrivals),
                Some(arrivals) => arrivals,
                None if self.poisson || self.scenario.is_some() => Arrivals::Poisson,
                None => Arrivals::Constant,
            };
            let max_connections = self.connections.unwrap_or(OPEN_CONNECTIONS);
            return Ok(Load::Open { rate_per_s, arrivals, max_connections });
        }
        if self.poisson {
            return Err(OptionsError::PoissonWithoutRate);
        }
        if self.arrivals.is_some() {
            return Err(OptionsError::ArrivalsWithoutRate);
        }
        let connections = self.connections.unwrap_or_else(|| match end {
            End::Requests(requests) | End::First { requests, .. } => {
                CONNECTIONS.min(u32::try_from(requests).unwrap_or(CONNECTIONS)).max(1)
            }
            End::Duration(_) => CONNECTIONS,
        });
        Ok(Load::Closed { connections })
    }
}

impl RequestOptions {
    /// The plan of a probe of `target`: `count` requests, on one connection each or all on one.
    pub fn probe(&self, target: Target, count: u32, reuse: bool) -> Result<ProbePlan, OptionsError> {
        let version = self.version(&target)?;
        let plan = ProbePlan {
            target,
            request: self.plan(version, 1)?,
            count,
            reuse,
            timeouts: self.timeouts(),
            expected: self.expect_status.clone().unwrap_or_default(),
            sources: self.sources.clone(),
        };
        plan.check()?;
        Ok(plan)
    }

    fn timeouts(&self) -> Timeouts {
        let default = Timeouts::default();
        Timeouts {
            connect: self.connect_timeout.unwrap_or(default.connect),
            request: self.timeout.unwrap_or(default.request),
            ..default
        }
    }

    /// The version of HTTP to speak with `target`.
    fn version(&self, target: &Target) -> Result<Version, OptionsError> {
        let (is_tls, url) = (target.tls.is_some(), || target.url.clone());
        let setting = match self.http2 {
            Http2Choice::Off if self.http10 => return Ok(Version::Http10),
            Http2Choice::Off => return Ok(Version::Http11),
            Http2Choice::Negotiated if !is_tls => return Err(OptionsError::Http2WithoutTls { url: url() }),
            Http2Choice::PriorKnowledge if is_tls => {
                return Err(OptionsError::PriorKnowledgeOverTls { url: url() });
            }
            Http2Choice::PriorKnowledge => "http2-prior-knowledge",
            Http2Choice::Negotiated | Http2Choice::ByUrl => "http2",
        };
        if self.http10 {
            return Err(OptionsError::TwoVersions { settings: [setting, "http1.0"] });
        }
        Ok(Version::Http2)
    }

    fn plan(&self, version: Version, pipeline: u32) -> Result<RequestPlan, OptionsError> {
        for (name, value) in &self.headers {
            if !is_token(name) || value.chars().any(char::is_control) {
                return Err(OptionsError::Header(format!("{name}: {value}")));
            }
        }
        let method = match &self.method {
            Some(method) if is_token(method) => method.clone(),
            Some(method) => return Err(OptionsError::Method(method.clone())),
            None if self.body.is_some() => "POST".to_owned(),
            None => "GET".to_owned(),
        };
        Ok(RequestPlan {
            method,
            headers: self.headers.clone(),
            verbatim: false,
            body: Body { bytes: self.body.clone().unwrap_or_default() },
            version,
            keep_alive: !self.no_keepalive,
            pipeline,
        })
    }
}

impl ExecOptions {
    /// A given value overrides a default; given values that contradict each other are refused by the plan.
    pub fn runs(&self) -> ExecRuns {
        let warmup = self.warmup.unwrap_or_default();
        if let Some(runs) = self.runs {
            return ExecRuns { warmup, least: runs, most: runs, least_time: Duration::ZERO };
        }
        let least = self.min_runs.unwrap_or_else(|| self.max_runs.unwrap_or(LEAST_RUNS).min(LEAST_RUNS));
        ExecRuns {
            warmup,
            least,
            most: self.max_runs.unwrap_or(ExecPlan::RUNS_MAX),
            least_time: self.min_time.unwrap_or(LEAST_TIME),
        }
    }

    /// When an execution is ended.
    pub fn timeout(&self) -> Duration {
        self.timeout.unwrap_or(EXEC_TIMEOUT)
    }
}

/// Whether `text` may be a method or the name of a header: a token (RFC 9110, section 5.6.2).
pub fn is_token(text: &str) -> bool {
    let is_token_character = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(is_token_character)
}

#[cfg(test)]
mod tests;
