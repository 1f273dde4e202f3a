//! How much a server carries: what `prony capacity` tried, and what follows from it.

mod bounds;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{
    Environment, ErrorKind, EvaluatedThreshold, Finding, FindingCode, FormatError, Limiter, LimiterKind,
    RunPlan, Verdict, format,
};

pub use bounds::CapacityBounds;

/// The value of `format` in every stored search for a capacity.
pub const CAPACITY_FORMAT: &str = "prony.capacity";
/// The version of [`CapacityResult`] that this crate writes; it reads this one only.
pub const CAPACITY_VERSION: u32 = 1;

/// A search for a server's capacity, whole: every trial, and the bounds that follow from them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CapacityResult {
    /// Always `prony.capacity`.
    pub format: String,
    /// Version of this format.
    pub version: u32,
    /// Whether the outcome can be defended.
    pub verdict: Verdict,
    /// Start of the first load, RFC 3339 in UTC.
    pub started_at: String,
    /// From then to the end of the last load, seconds.
    pub elapsed_s: f64,
    /// Ended by hand before its time.
    pub interrupted: bool,
    /// What each trial was asked to do, but for its load and its length.
    pub plan: RunPlan,
    /// The agents that put the load on the server together, as they were at the beginning; empty where this machine did. The
    /// threads of `plan` are each agent's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<String>,
    /// The addresses that the target's name stood for.
    pub addresses: Vec<String>,
    /// The driver that did it.
    pub driver: String,
    /// What is required of every trial, in the language of thresholds; empty where users were varied.
    pub objectives: Vec<String>,
    /// Share of the requests (0..1) that may fail, time out or never be sent.
    pub errors_max: f64,
    /// The load that is planned for, per second.
    #[serde(default)]
    pub peak_per_s: Option<f64>,
    /// How it was searched.
    pub method: CapacityMethod,
    /// One request alone, before any load, milliseconds: the median of a few.
    pub alone_ms: Option<f64>,
    /// What came of it.
    pub outcome: CapacityOutcome,
    /// Every trial, in the order of time.
    pub trials: Vec<CapacityTrial>,
    /// How the rate grows with the number of users, where users were varied.
    #[serde(default)]
    pub scaling: Option<Scaling>,
    /// What else is to be known of it, a sentence each.
    pub notes: Vec<String>,
    /// Reasons to doubt, the worst first.
    pub findings: Vec<Finding>,
    /// The machine, as the first load found it.
    pub environment: Environment,
}

/// How a capacity was searched.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CapacityMethod {
    /// What was varied.
    pub varied: Varied,
    /// Least measured part of a trial, seconds.
    pub trial_s: f64,
    /// Warm-up of a trial, as a share of its measured part.
    pub warmup_share: f64,
    /// Time of trials at one load that decides on it, in lengths of a trial (RFC 9971: goal duration sum).
    pub trials_per_load: u32,
    /// Share of that time in which a load may fail and still count as carried (RFC 9971: goal exceed ratio).
    pub exceed_ratio: f64,
    /// Ratio of the bounds, less one, down to which single trials decide.
    pub coarse: f64,
    /// Ratio of the bounds, less one, at which the search ends (RFC 9971: goal width).
    pub precision: f64,
    /// Length of the confirming trial, in lengths of a trial.
    pub confirm_trials: u32,
    /// Its load, as a share of the lower bound.
    pub confirm_share: f64,
    /// Limit on the time of the whole search, seconds.
    pub time_s: f64,
    /// No lower load was to be tried.
    pub from_per_s: Option<f64>,
    /// No higher load was to be tried.
    pub to_per_s: Option<f64>,
}

/// What was varied from trial to trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Varied {
    /// The rate of an open loop: requests or sessions per second.
    Rate,
    /// The connections of a closed loop.
    Users,
}

/// What came of a search.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum CapacityOutcome {
    /// The capacity lies between two loads.
    Between {
        /// Per second: where a trial is as likely to be carried as not, by all trials.
        estimate_per_s: f64,
        /// Per second: the lower end.
        lower_per_s: f64,
        /// Per second: the upper end.
        upper_per_s: f64,
        /// The greatest load that was carried, below the least that was not.
        carried_per_s: f64,
        /// The least load that was not carried.
        exceeded_per_s: f64,
        /// Whether both of these were decided by as many trials as the method asks for.
        is_decided: bool,
        /// Whether a long trial a little below carried.
        confirmation: Confirmation,
    },
    /// The server carries at least this much; more could not be tried.
    AtLeast {
        /// Per second.
        lower_per_s: f64,
        /// Whether it was decided by as many trials as the method asks for.
        is_decided: bool,
        /// What more was limited by.
        limit: CapacityLimit,
        /// The same in words.
        reason: String,
        /// Whether a long trial a little below carried.
        confirmation: Confirmation,
    },
    /// Not even the least load that was tried was carried; or none of those that were tried for long.
    Below {
        /// Per second.
        upper_per_s: f64,
    },
    /// Nothing is known.
    Unknown {
        /// Why.
        reason: String,
    },
    /// Users were varied: see [`CapacityResult::scaling`].
    Users,
}

/// Whether a long trial a little below the lower bound carried.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Confirmation {
    /// It did.
    Confirmed {
        /// Its load.
        rate_per_s: f64,
        /// Its length, seconds.
        measured_s: f64,
    },
    /// No long trial was clean, or there was no time for one.
    Missing,
}

/// Why no higher load could be tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum CapacityLimit {
    /// The client can't put more load on the server.
    Client,
    /// The network can't carry more.
    Network,
    /// The machine was too busy with other things.
    Machine,
    /// Agents were lost.
    Agents,
    /// The server was gone.
    Server,
    /// No higher load was asked for.
    Asked,
    /// The time was over.
    Time,
}

impl CapacityLimit {
    /// The stable name, as in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Network => "network",
            Self::Machine => "machine",
            Self::Agents => "agents",
            Self::Server => "server",
            Self::Asked => "asked",
            Self::Time => "time",
        }
    }
}

/// One load on the server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CapacityTrial {
    /// What it was for.
    pub purpose: TrialPurpose,
    /// The rate that was offered, per second; of users, what they came to.
    pub rate_per_s: f64,
    /// How many users there were, where those were varied.
    #[serde(default)]
    pub users: Option<u32>,
    /// The agents whose results it is; empty where this machine put the load on the server.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<String>,
    /// Start of the load, RFC 3339 in UTC.
    pub started_at: String,
    /// The planned measured part, seconds: its weight in the decision.
    pub planned_s: f64,
    /// The measured part, seconds.
    pub measured_s: f64,
    /// What came of it.
    pub outcome: TrialOutcome,
    /// Why, in words.
    pub reason: String,
    /// What was required, and what was measured of it.
    pub objectives: Vec<EvaluatedThreshold>,
    /// Requests that were due.
    pub requests: u64,
    /// Those of them that failed.
    pub failed: u64,
    /// `failed` by kind; kinds that did not occur are absent.
    pub failed_by_kind: BTreeMap<ErrorKind, u64>,
    /// Those without an answer when the drain ended, or never sent.
    pub unanswered: u64,
    /// Good responses per second, less what a growing queue hides: those that began in the measured part and that a queue
    /// of the length of its beginning would have let through.
    pub delivered_per_s: f64,
    /// From the moment a request was due.
    pub response: TrialTimes,
    /// From the moment it was sent.
    pub service: TrialTimes,
    /// Whether the numbers can be defended.
    pub verdict: Verdict,
    /// What makes the trial invalid by itself.
    pub invalid: Vec<FindingCode>,
    /// What limited it.
    pub limiter: Option<Limiter>,
    /// Greatest share of a core that a worker thread of the client used (0..1).
    pub client_cpu_share: f64,
    /// After a load that was not carried: seconds until single requests took as long as before any load; absent where
    /// nothing was waited for.
    #[serde(default)]
    pub recovered_after_s: Option<f64>,
}

/// Times of one trial, milliseconds; null where a number is withheld.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TrialTimes {
    /// Good responses.
    pub count: u64,
    /// Median.
    pub p50_ms: Option<f64>,
    /// 99th percentile.
    pub p99_ms: Option<f64>,
    /// The greatest.
    pub max_ms: Option<f64>,
}

/// What a trial was for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum TrialPurpose {
    /// To find the range in which the capacity lies.
    Coarse,
    /// To decide on a bound.
    Bound,
    /// To confirm the lower bound.
    Confirm,
    /// To see the rate of so many users.
    Users,
}

impl TrialPurpose {
    /// The stable name, as in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Coarse => "coarse",
            Self::Bound => "bound",
            Self::Confirm => "confirm",
            Self::Users => "users",
        }
    }
}

/// What came of a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum TrialOutcome {
    /// The server carried the load.
    Passed,
    /// It did not.
    Failed,
    /// The trial says nothing about the server.
    Void,
}

impl TrialOutcome {
    /// The stable name, as in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::Void => "void",
        }
    }
}

/// The rate of N users by the universal scalability law: X(N) = γN / (1 + α(N−1) + βN(N−1)).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Scaling {
    /// The fitted law; absent where the trials don't support one.
    pub fit: Option<ScalingFit>,
    /// Why there is none.
    pub missing_because: Option<String>,
    /// The most users that were tried.
    pub users_max: u32,
}

/// A fitted law, with 95 % intervals by bootstrap.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ScalingFit {
    /// γ: responses per second of one user.
    pub gamma: ScalingFigure,
    /// α: the serial share of the work (contention).
    pub alpha: ScalingFigure,
    /// β: the cost of users waiting for each other (coherency).
    pub beta: ScalingFigure,
    /// The users at which the rate is greatest; absent where the law has no peak within twice the users that were tried.
    pub peak_users: Option<ScalingFigure>,
    /// The rate there.
    pub peak_per_s: Option<ScalingFigure>,
    /// Trials it rests on.
    pub trials: u64,
    /// Greatest relative distance of a number of users' mean rate from the law.
    pub misfit: f64,
    /// The rate by the law and its interval, for drawing.
    pub curve: Vec<ScalingPoint>,
}

/// A number of a fitted law with its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ScalingFigure {
    /// The estimate.
    pub value: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// The rate by a fitted law.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ScalingPoint {
    /// Of so many users.
    pub users: f64,
    /// Responses per second.
    pub rate: ScalingFigure,
}

impl CapacityResult {
    /// The trial that says what limits the server: the last one that was not carried at the least such load.
    pub fn limiting_trial(&self) -> Option<&CapacityTrial> {
        let failed = || self.trials.iter().filter(|trial| trial.outcome == TrialOutcome::Failed);
        let least = failed().map(|trial| trial.rate_per_s).min_by(f64::total_cmp)?;
        let bound = match self.outcome {
            CapacityOutcome::Between { exceeded_per_s, .. } => exceeded_per_s,
            _ => least,
        };
        let distance = |trial: &&CapacityTrial| (trial.rate_per_s - bound).abs();
        failed().rev().min_by(|a, b| distance(a).total_cmp(&distance(b)))
    }

    /// What limits the server beyond its capacity, where that trial says.
    pub fn limiter(&self) -> Option<&Limiter> {
        // A load that was answered late, but whole, says nothing about what limits the server.
        let says_nothing = [LimiterKind::ChosenRate, LimiterKind::Unknown];
        let limiter = self.limiting_trial()?.limiter.as_ref();
        limiter.filter(|limiter| !says_nothing.contains(&limiter.kind))
    }
}

/// `result` as JSON text, with a line feed at the end.
pub fn capacity_to_json(result: &CapacityResult) -> String {
    format::write(result)
}

/// Reads what [`capacity_to_json`] wrote.
pub fn capacity_from_json(text: &str) -> Result<CapacityResult, FormatError> {
    format::read(text, CAPACITY_FORMAT, CAPACITY_VERSION, FormatError::ForeignCapacity)
}

/// The JSON Schema of a stored search, as in docs/schema/capacity-v1.json.
#[cfg(test)]
fn capacity_json_schema() -> String {
    format::write(&schemars::schema_for!(CapacityResult))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// After a change of the model: `PRONY_WRITE_SCHEMA=1 cargo test -p prony-model`, and read the difference.
    #[test]
    fn the_published_schema_is_the_one_of_the_code() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/schema/capacity-v1.json");
        if std::env::var_os("PRONY_WRITE_SCHEMA").is_some() {
            std::fs::write(path, capacity_json_schema()).expect("docs/schema can be written");
        }
        let published = std::fs::read_to_string(path).expect("docs/schema/capacity-v1.json can be read");
        assert!(
            published == capacity_json_schema(),
            "docs/schema/capacity-v1.json is out of date: see this test"
        );
    }

    #[test]
    fn names_are_those_of_json() {
        fn check(value: impl Serialize, name: &str) {
            assert_eq!(serde_json::to_value(value).expect("it is a string"), name);
        }
        for purpose in [TrialPurpose::Coarse, TrialPurpose::Bound, TrialPurpose::Confirm, TrialPurpose::Users]
        {
            check(purpose, purpose.name());
        }
        for outcome in [TrialOutcome::Passed, TrialOutcome::Failed, TrialOutcome::Void] {
            check(outcome, outcome.name());
        }
        for limit in [
            CapacityLimit::Client,
            CapacityLimit::Network,
            CapacityLimit::Machine,
            CapacityLimit::Agents,
            CapacityLimit::Server,
            CapacityLimit::Asked,
            CapacityLimit::Time,
        ] {
            check(limit, limit.name());
        }
    }
}
