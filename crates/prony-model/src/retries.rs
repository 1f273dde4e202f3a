//! Retries: which failures a client sends again, after which wait, how many it can afford, and what came of it.

mod error;

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use self::error::RetryError;
use crate::{LatencySummary, PlanError, Problem, StatusSet, Timeouts, parse_duration};

/// How long a first retry waits at most, and any retry, when nothing is given.
const BACKOFF: Backoff = Backoff { first: Duration::from_millis(100), max: Duration::from_secs(2) };

/// The retries of a run: its clients send a request again that failed in one of these ways.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RetryPlan {
    /// Retries of one request at most.
    pub retries: u32,
    /// What is retried.
    pub on: RetryOn,
    /// How long a retry waits.
    pub backoff: Backoff,
    /// Retries as a share of the requests (0.2 is 20 %) that they may make at most, beyond
    /// [`Self::BUDGET_FLOOR`]; null for no such bound.
    pub budget: Option<f64>,
    /// For a complete response to one attempt, from when it was sent; seconds. The request timeout is that of the whole
    /// request, with its retries and their waits.
    #[serde(rename = "attempt_timeout_s", with = "crate::duration")]
    #[cfg_attr(test, schemars(with = "f64"))]
    pub attempt_timeout: Duration,
}

impl RetryPlan {
    /// Retries of one request: with the longest waits of common clients they take half an hour.
    pub const RETRIES_MAX: u32 = 100;
    /// Retries of a run that a budget grants whatever its share, so that a few requests can have any.
    pub const BUDGET_FLOOR: u32 = 10;
    /// A budget that is no bound any more: ten retries for each request.
    pub const BUDGET_MAX: f64 = 10.0;

    /// Finds what contradicts itself.
    pub(crate) fn check(&self, timeouts: &Timeouts, pipeline: u32) -> Result<(), PlanError> {
        if self.attempt_timeout.is_zero() {
            return Err(PlanError::NoTimeout { what: "attempt", setting: "attempt-timeout" });
        }
        let error = if !(1..=Self::RETRIES_MAX).contains(&self.retries) {
            RetryError::TooMany { asked: self.retries, max: Self::RETRIES_MAX }
        } else if self.on.is_empty() {
            RetryError::OnNothing { retries: self.retries }
        } else if self.attempt_timeout > timeouts.request {
            RetryError::AttemptTimeout { attempt: self.attempt_timeout, request: timeouts.request }
        } else if self.budget.is_some_and(|budget| !(0.0..=Self::BUDGET_MAX).contains(&budget)) {
            RetryError::Budget
        } else if pipeline > 1 {
            RetryError::Pipeline
        } else {
            return Ok(());
        };
        Err(error.into())
    }
}

/// Which failures are retried.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RetryOn {
    /// No connection: refused, out of reach, not in time, no TLS. The server has not seen the request.
    pub connect: bool,
    /// The connection ended before the response was complete.
    pub reset: bool,
    /// No complete response within the attempt's timeout.
    pub timeout: bool,
    /// A complete response with one of these status codes, where it is not a good one.
    pub statuses: StatusSet,
}

impl RetryOn {
    /// Reads `connect,reset,timeout,503,5xx,500-504`, or some of it.
    pub fn parse(text: &str) -> Result<Self, Problem> {
        let mut on = Self { connect: false, reset: false, timeout: false, statuses: StatusSet(Vec::new()) };
        for word in text.split(',').map(str::trim) {
            match word {
                "connect" => on.connect = true,
                "reset" => on.reset = true,
                "timeout" => on.timeout = true,
                word => {
                    let statuses = StatusSet::parse(word).map_err(|_| {
                        Problem::new(
                            format!("`{word}` is no failure that can be retried"),
                            "write connect, reset, timeout or status codes, with commas between: \
                             connect,timeout,503,5xx",
                        )
                    })?;
                    on.statuses.0.extend(statuses.0);
                }
            }
        }
        Ok(on)
    }

    /// Whether nothing is retried.
    pub fn is_empty(&self) -> bool {
        !self.connect && !self.reset && !self.timeout && self.statuses.0.is_empty()
    }

    /// Whether a request may be sent again that the server has seen.
    pub fn repeats_work(&self) -> bool {
        self.reset || self.timeout || !self.statuses.0.is_empty()
    }
}

impl fmt::Display for RetryOn {
    /// `connect, timeout, 503, 500–599`
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kinds = [("connect", self.connect), ("reset", self.reset), ("timeout", self.timeout)];
        let kinds = kinds.into_iter().filter(|(_, is_on)| *is_on).map(|(name, _)| name.to_owned());
        let statuses = self.statuses.0.iter();
        let statuses =
            statuses.map(|(low, high)| if low == high { low.to_string() } else { format!("{low}–{high}") });
        formatter.write_str(&kinds.chain(statuses).collect::<Vec<_>>().join(", "))
    }
}

/// How long a retry waits: a random part of a length that doubles with each retry of a request, up to a bound
/// (exponential backoff with full jitter).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Backoff {
    /// The longest wait of a first retry, seconds.
    #[serde(rename = "first_s", with = "crate::duration")]
    #[cfg_attr(test, schemars(with = "f64"))]
    pub first: Duration,
    /// The longest wait of any, seconds.
    #[serde(rename = "max_s", with = "crate::duration")]
    #[cfg_attr(test, schemars(with = "f64"))]
    pub max: Duration,
}

impl Default for Backoff {
    /// What a retry waits where nothing is asked for: up to 100 ms, doubled up to 2 s.
    fn default() -> Self {
        BACKOFF
    }
}

impl Backoff {
    /// Reads `100ms..2s`; `100ms` alone never doubles, `0` never waits.
    pub fn parse(text: &str) -> Result<Self, Problem> {
        let wrong = || {
            let what = format!("`{text}` is no backoff");
            Problem::new(what, "write the longest wait of the first retry and of any: 100ms..2s")
        };
        let (first, max) = text.split_once("..").unwrap_or((text, text));
        let [first, max] = [first, max].map(|length| parse_duration(length.trim()).map_err(|_| wrong()));
        let backoff = Self { first: first?, max: max? };
        if backoff.first > backoff.max { Err(wrong()) } else { Ok(backoff) }
    }
}

/// Retries as they were asked for: `None` where nothing was given.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RetryOptions {
    /// Retries of one request at most; 0 for none.
    pub retries: Option<u32>,
    /// What is retried.
    pub on: Option<RetryOn>,
    /// How long a retry waits.
    pub backoff: Option<Backoff>,
    /// Retries as a share of the requests.
    pub budget: Option<f64>,
    /// For a response to one attempt.
    pub attempt_timeout: Option<Duration>,
}

impl RetryOptions {
    /// These, and those of `others` where nothing was given.
    #[must_use]
    pub fn or(self, others: Self) -> Self {
        Self {
            retries: self.retries.or(others.retries),
            on: self.on.or(others.on),
            backoff: self.backoff.or(others.backoff),
            budget: self.budget.or(others.budget),
            attempt_timeout: self.attempt_timeout.or(others.attempt_timeout),
        }
    }

    /// The plan that they mean beside these timeouts.
    pub(crate) fn plan(&self, timeouts: &Timeouts) -> Result<Option<RetryPlan>, PlanError> {
        let Some(retries) = self.retries else {
            let given = [
                ("retry-on", self.on.is_some()),
                ("retry-backoff", self.backoff.is_some()),
                ("retry-budget", self.budget.is_some()),
                ("attempt-timeout", self.attempt_timeout.is_some()),
            ];
            return match given.into_iter().find(|(_, is_given)| *is_given) {
                Some((setting, _)) => Err(RetryError::WithoutRetries { setting }.into()),
                None => Ok(None),
            };
        };
        if retries == 0 {
            return Ok(None);
        }
        Ok(Some(RetryPlan {
            retries,
            on: self.on.clone().ok_or(RetryError::OnNothing { retries })?,
            backoff: self.backoff.unwrap_or(BACKOFF),
            budget: self.budget,
            attempt_timeout: self.attempt_timeout.unwrap_or(timeouts.request),
        }))
    }
}

/// What came of the retries of the measured part's requests.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RetryUse {
    /// First attempts and retries.
    pub attempts: u64,
    /// Attempts for each request that was sent: how many times the load is what was asked for.
    pub amplification: f64,
    /// Attempts that were not the first of their request.
    pub retries: u64,
    /// The same by what had failed before: `connect`, `reset`, `timeout`, or a status code.
    pub by_reason: BTreeMap<String, u64>,
    /// Requests that were sent again at least once.
    pub retried: u64,
    /// Those of them that got a good response.
    pub recovered: u64,
    /// Requests that failed after as many retries as they may have.
    pub exhausted: u64,
    /// Requests that failed without a further retry, because the budget was used up.
    pub refused_by_budget: u64,
    /// Requests that failed without a further retry, because it would have come after the request's timeout.
    pub refused_by_timeout: u64,
    /// Requests that failed without a further retry, because too many waited already.
    pub refused_for_room: u64,
    /// Requests that still waited for a retry when the run ended: among the censored ones.
    pub waiting_at_end: u64,
    /// Complete responses that were not the last of their request: no outcome, but part of the traffic.
    pub answers_retried: u64,
    /// Requests that have ended, by the number of their attempts.
    pub by_attempts: BTreeMap<u32, u64>,
    /// Response time of the recovered ones: from when the request was due, failed attempts and waits included.
    pub recovered_response: LatencySummary,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_retried_is_read_and_shown() {
        let check = |text: &str, shown: &str, repeats: bool| {
            let on = RetryOn::parse(text).expect("failures");
            assert_eq!((on.to_string().as_str(), on.repeats_work()), (shown, repeats), "{text}");
            assert!(!on.is_empty());
        };
        check("connect", "connect", false);
        check("timeout, reset,connect", "connect, reset, timeout", true);
        check("5xx,429,500-504", "500–599, 429, 500–504", true);
        for text in ["", "connect,", "conect", "600", "retry", "5xx;429"] {
            let problem = RetryOn::parse(text).expect_err(text);
            assert!(problem.to_string().contains("connect,timeout,503"), "{text}: {problem}");
        }
    }

    #[test]
    fn backoffs() {
        let check = |text: &str, expected: Option<(u64, u64)>| {
            let read = Backoff::parse(text).ok();
            let ms = |length: Duration| u64::try_from(length.as_millis()).expect("short");
            assert_eq!(read.map(|backoff| (ms(backoff.first), ms(backoff.max))), expected, "{text}");
        };
        check("100ms..2s", Some((100, 2000)));
        check("25ms .. 250ms", Some((25, 250)));
        check("1s", Some((1000, 1000)));
        check("0", Some((0, 0)));
        check("0..1s", Some((0, 1000)));
        for text in ["", "100", "2s..1s", "1s..", "..1s", "1s...2s", "-1s"] {
            check(text, None);
        }
    }

    fn options() -> RetryOptions {
        let on = Some(RetryOn::parse("connect,503").expect("failures"));
        RetryOptions { retries: Some(3), on, ..RetryOptions::default() }
    }

    #[test]
    fn every_default_is_filled_in() {
        let timeouts = Timeouts::default();
        let plan = options().plan(&timeouts).expect("a plan").expect("retries");
        assert_eq!((plan.backoff, plan.budget, plan.attempt_timeout), (BACKOFF, None, timeouts.request));
        assert_eq!(plan.check(&timeouts, 1), Ok(()));
        assert_eq!(RetryOptions::default().plan(&timeouts), Ok(None));
        let none = RetryOptions { retries: Some(0), ..options() };
        assert_eq!(none.plan(&timeouts), Ok(None), "an axis can turn them off");
    }

    #[test]
    fn what_can_not_be() {
        let timeouts = Timeouts::default();
        let check = |options: RetryOptions, pipeline: u32, what: &str| {
            let plan = options.plan(&timeouts);
            let checked = plan.and_then(|plan| plan.map_or(Ok(()), |plan| plan.check(&timeouts, pipeline)));
            let error = checked.expect_err(what).to_string();
            assert!(error.contains(what), "{error}");
        };
        check(RetryOptions { retries: Some(101), ..options() }, 1, "101 retries");
        check(RetryOptions { on: None, ..options() }, 1, "what is retried");
        check(RetryOptions { retries: None, ..options() }, 1, "`retry-on` is about retries");
        check(RetryOptions { budget: Some(f64::NAN), ..options() }, 1, "budget");
        check(RetryOptions { attempt_timeout: Some(Duration::ZERO), ..options() }, 1, "attempt timeout of 0");
        check(RetryOptions { attempt_timeout: Some(Duration::from_secs(31)), ..options() }, 1, "31 s");
        check(options(), 2, "pipeline");
    }
}
