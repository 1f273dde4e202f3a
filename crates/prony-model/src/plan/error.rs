//! Plans that contradict themselves.

use std::time::Duration;

use crate::problem::shown_as_problem;
use crate::{Problem, RetryError, Spelling, TraceError};

/// A plan that contradicts itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlanError {
    /// No connection at all.
    NoConnections,
    /// More connections than [`crate::RunPlan::CONNECTIONS_MAX`].
    TooManyConnections {
        /// What was asked.
        asked: u32,
        /// The bound.
        max: u32,
    },
    /// No request at all.
    NoRequests,
    /// Fewer requests than connections.
    FewerRequestsThanConnections {
        /// Requests asked for.
        requests: u64,
        /// Connections asked for.
        connections: u32,
    },
    /// No time at all.
    NoDuration,
    /// Longer than [`crate::RunPlan::DURATION_MAX`].
    TooLong {
        /// The bound.
        max: Duration,
    },
    /// A timeout of zero.
    NoTimeout {
        /// Which timeout.
        what: &'static str,
        /// The plain name of the setting.
        setting: &'static str,
    },
    /// No thread at all, or more than [`crate::RunPlan::THREADS_MAX`].
    Threads {
        /// What was asked.
        asked: u32,
        /// The bound.
        max: u32,
    },
    /// More threads than connections.
    MoreThreadsThanConnections {
        /// Threads asked for.
        threads: u32,
        /// Connections asked for.
        connections: u32,
    },
    /// Requests in flight on a connection outside their bounds.
    Pipeline {
        /// The plain name of the setting.
        setting: &'static str,
        /// What was asked.
        asked: u32,
        /// The bound.
        max: u32,
    },
    /// Several requests in flight on connections that carry one request each.
    PipelineWithoutKeepAlive {
        /// The plain name of the setting.
        setting: &'static str,
    },
    /// More requests than [`crate::ProbePlan::COUNT_MAX`], or none.
    ProbeCount {
        /// What was asked.
        asked: u32,
        /// The bound.
        max: u32,
    },
    /// Source addresses with a Unix socket.
    SourceWithUnixSocket,
    /// Addresses to connect to with a Unix socket.
    ConnectToWithUnixSocket,
    /// Retries that can't be.
    Retry(RetryError),
    /// Traces that can't be.
    Trace(TraceError),
    /// No agent to share a load, or more than [`crate::AGENTS_MAX`].
    Agents {
        /// What was asked.
        asked: usize,
        /// The bound.
        max: usize,
    },
    /// A share of a load that was to be split again.
    SplitTwice,
    /// Threads that the load doesn't have.
    ShareOutside {
        /// The number of the first thread.
        first: u32,
        /// Threads of the share.
        threads: u32,
        /// Threads of the whole load.
        of: u32,
    },
    /// Fewer requests than threads of all agents.
    FewerRequestsThanThreads {
        /// Requests asked for.
        requests: u64,
        /// Threads of all agents.
        threads: u32,
    },
    /// Bursts of no more than the rate, or of more than [`crate::Arrivals::BURST_FACTOR_MAX`] times it.
    BurstFactor {
        /// The bound.
        max: String,
    },
    /// Bursts below [`crate::Arrivals::BURST_MIN`].
    BurstTooShort {
        /// The bound.
        min: Duration,
    },
    /// Bursts that hold less than a request.
    BurstWithoutRequests,
    /// No stage, or more than [`crate::Stages::COUNT_MAX`].
    Stages {
        /// What was asked.
        asked: usize,
        /// The bound.
        max: usize,
    },
    /// A stage that takes no time.
    StageWithoutDuration {
        /// Its name, or its number.
        stage: String,
    },
    /// A stage with a rate that is none.
    StageRate {
        /// Its name, or its number.
        stage: String,
        /// Requests per second.
        rate: String,
    },
    /// A name that thresholds can't write.
    StageName {
        /// As it was given.
        name: String,
        /// Bytes at most.
        max: usize,
    },
    /// Two stages of one name.
    StageNamedTwice {
        /// The name.
        name: String,
    },
    /// Stages that send nothing.
    StagesWithoutRate,
    /// Stages without a rate to change.
    StagesInClosedLoop,
    /// A length or a rate beside stages, which have their own.
    StagesContradicted,
    /// Moments from a file that are not in the plan: results don't hold them.
    NoMoments {
        /// The file.
        file: String,
    },
    /// Moments from a file, for several agents.
    RecordedForAgents,
    /// A rate of which a thread's part is below [`crate::Rate::MIN_PER_SECOND`].
    RateTooLowToShare {
        /// Threads of all agents.
        threads: u32,
    },
}

impl PlanError {
    /// What is wrong, and what to try.
    pub fn problem(&self, spelled: Spelling) -> Problem {
        Problem::new(self.what(spelled), self.advice(spelled)).about(self.setting())
    }

    fn what(&self, spelled: Spelling) -> String {
        match self {
            Self::NoConnections => "0 connections can't carry a request".to_owned(),
            Self::TooManyConnections { asked, max } => {
                format!("{asked} connections are more than the {max} that one run can hold")
            }
            Self::NoRequests => "0 requests are no load".to_owned(),
            Self::FewerRequestsThanConnections { requests, connections } => {
                format!("{requests} requests can't use {connections} connections")
            }
            Self::NoDuration => "a duration of 0 measures nothing".to_owned(),
            Self::TooLong { max } => {
                format!("a duration over {} hours is not supported", max.as_secs() / 3600)
            }
            Self::NoTimeout { what, .. } => format!("a {what} timeout of 0 fails every request"),
            Self::Threads { asked, .. } => format!("{asked} threads"),
            Self::MoreThreadsThanConnections { threads, connections } => {
                format!("{threads} threads can't share {connections} connections")
            }
            Self::Pipeline { setting: "streams", asked, .. } => format!("{asked} streams on a connection"),
            Self::Pipeline { asked, .. } => format!("a pipeline depth of {asked}"),
            Self::PipelineWithoutKeepAlive { setting } => {
                format!("{} needs connections that stay open", spelled(setting))
            }
            Self::ProbeCount { asked, .. } => format!("{asked} requests are not a probe"),
            Self::SourceWithUnixSocket => {
                format!("{} names a network address, which a Unix socket doesn't have", spelled("source"))
            }
            Self::ConnectToWithUnixSocket => {
                format!("{} and {} both say where to connect to", spelled("connect-to"), spelled("unix"))
            }
            Self::Retry(error) => error.what(spelled),
            Self::Trace(error) => error.what(spelled),
            Self::Agents { asked, .. } => format!("{asked} agents can't share a load"),
            Self::SplitTwice => "a part of a load can't be split again".to_owned(),
            Self::ShareOutside { first, threads, of } => {
                format!("a load of {of} threads has no {threads} threads from thread {first} on")
            }
            Self::FewerRequestsThanThreads { requests, threads } => {
                format!("{requests} requests can't be shared by the {threads} threads of all agents")
            }
            Self::BurstFactor { .. } => "bursts must be above the rate, and not without a bound".to_owned(),
            Self::BurstTooShort { min } => format!("bursts below {} ms are none", min.as_millis()),
            Self::BurstWithoutRequests => "a burst this short holds less than one request".to_owned(),
            Self::Stages { asked, .. } => format!("{asked} stages"),
            Self::StageWithoutDuration { stage } => format!("stage {stage} has a duration of 0"),
            Self::StageRate { stage, rate } => {
                format!("{rate} requests per second of stage {stage} are no rate")
            }
            Self::StageName { name, .. } => format!("`{name}` can't name a stage"),
            Self::StageNamedTwice { name } => format!("two stages are named `{name}`"),
            Self::StagesWithoutRate => "stages that are all at a rate of 0 send nothing".to_owned(),
            Self::StagesInClosedLoop => {
                format!("{} are of a rate, and a closed loop has none", spelled("stages"))
            }
            Self::StagesContradicted => {
                format!("the plan's length or rate is not that of its {}", spelled("stages"))
            }
            Self::NoMoments { file } => format!("the moments of {file} are in that file, not in the plan"),
            Self::RecordedForAgents => "a load from a file can't be shared by agents".to_owned(),
            Self::RateTooLowToShare { threads } => {
                format!("a rate this low can't be shared by {threads} threads")
            }
        }
    }

    fn advice(&self, spelled: Spelling) -> String {
        let setting = spelled(self.setting());
        match self {
            Self::NoConnections => format!("use {setting} 1 or more"),
            Self::TooManyConnections { .. } => "use fewer".to_owned(),
            Self::NoRequests => format!("use {setting} 1 or more, or {}", spelled("duration")),
            Self::FewerRequestsThanConnections { requests, .. } => {
                format!("use {setting} {requests} or fewer")
            }
            Self::NoDuration => format!("use {setting} 10s"),
            Self::TooLong { .. } => "use several runs".to_owned(),
            Self::NoTimeout { .. } => format!("use {setting} 5s or leave it out"),
            Self::Threads { max, .. } | Self::Pipeline { max, .. } => format!("use 1 to {max}"),
            Self::MoreThreadsThanConnections { connections, .. } => {
                format!("use {setting} {connections} or fewer")
            }
            Self::PipelineWithoutKeepAlive { setting: "streams" } => {
                format!("leave out {}", spelled("no-keepalive"))
            }
            Self::PipelineWithoutKeepAlive { .. } => {
                format!("leave out {} (and {})", spelled("no-keepalive"), spelled("http1.0"))
            }
            Self::ProbeCount { max, .. } => {
                format!("use {setting} 1 to {max}, or put a load on it with prony run")
            }
            Self::SourceWithUnixSocket | Self::ConnectToWithUnixSocket => "leave out one of them".to_owned(),
            Self::Retry(error) => error.advice(spelled),
            Self::Trace(error) => error.advice(spelled),
            Self::Agents { max, .. } => format!("use {setting} with 1 to {max} agents"),
            Self::SplitTwice => "split the plan of the whole load".to_owned(),
            Self::ShareOutside { .. } => "make shares with the function that splits a plan".to_owned(),
            Self::FewerRequestsThanThreads { threads, .. } => {
                format!("use {setting} {threads} or more, or fewer agents")
            }
            Self::BurstFactor { max } => {
                format!("use {setting} bursty:5x,1s, with more than 1x and at most {max}x")
            }
            Self::BurstTooShort { .. } => format!("use {setting} bursty:5x,1s, or poisson"),
            Self::BurstWithoutRequests => {
                format!("use longer bursts, {setting} bursty:5x,10s, or a higher rate")
            }
            Self::Stages { max, .. } => format!("use 1 to {max}"),
            Self::StageWithoutDuration { .. } => {
                "give it a time above 0, 100/s:30s; a jump needs none".to_owned()
            }
            Self::StageRate { .. } => {
                format!(
                    "use 0, or {} to {} per second",
                    crate::Rate::MIN_PER_SECOND,
                    crate::Rate::PER_SECOND_MAX
                )
            }
            Self::StageName { max, .. } => {
                format!("use a letter, and then letters, digits, `-` and `_`; {max} bytes at most")
            }
            Self::StageNamedTwice { .. } => "give each a name of its own".to_owned(),
            Self::StagesWithoutRate => "give one of them a rate above 0".to_owned(),
            Self::StagesInClosedLoop | Self::StagesContradicted => {
                "take length and rate from the stages".to_owned()
            }
            Self::NoMoments { .. } => "run it again from the file".to_owned(),
            Self::RecordedForAgents => format!("leave out {setting}: one machine replays it"),
            Self::RateTooLowToShare { .. } => format!("use a higher {setting}, or fewer agents"),
        }
    }

    /// The plain name of the setting that it is about.
    fn setting(&self) -> &'static str {
        match self {
            Self::NoConnections
            | Self::TooManyConnections { .. }
            | Self::FewerRequestsThanConnections { .. } => "connections",
            Self::NoRequests | Self::FewerRequestsThanThreads { .. } => "requests",
            Self::NoDuration | Self::TooLong { .. } => "duration",
            Self::NoTimeout { setting, .. }
            | Self::Pipeline { setting, .. }
            | Self::PipelineWithoutKeepAlive { setting } => setting,
            Self::Threads { .. } | Self::MoreThreadsThanConnections { .. } => "threads",
            Self::ProbeCount { .. } => "count",
            Self::SourceWithUnixSocket => "source",
            Self::ConnectToWithUnixSocket => "connect-to",
            Self::Retry(error) => error.setting(),
            Self::Trace(error) => error.setting(),
            Self::Agents { .. } | Self::SplitTwice | Self::ShareOutside { .. } | Self::RecordedForAgents => {
                "agents"
            }
            Self::NoMoments { .. } => "arrivals-file",
            Self::RateTooLowToShare { .. } => "rate",
            Self::BurstFactor { .. } | Self::BurstTooShort { .. } | Self::BurstWithoutRequests => "arrivals",
            Self::Stages { .. }
            | Self::StageWithoutDuration { .. }
            | Self::StageRate { .. }
            | Self::StageName { .. }
            | Self::StageNamedTwice { .. }
            | Self::StagesWithoutRate
            | Self::StagesInClosedLoop
            | Self::StagesContradicted => "stages",
        }
    }
}

shown_as_problem!(PlanError);
