//! W3C Trace Context: a `traceparent` header on each request, so that slow requests of a report are found in the server's
//! tracing system.

mod error;

use serde::{Deserialize, Serialize};

pub use self::error::TraceError;
use crate::{PlanError, RequestPlan, Scenario, SlowRequest};

/// The header that carries it.
pub const TRACEPARENT: &str = "traceparent";

/// The traces of a run: each request has one of its own, and the server is asked to record a share of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TracePlan {
    /// The share of the requests that are sampled: 0.01 is 1 %. Chosen at random, by the seed of the run.
    pub share: f64,
    /// Where a trace is shown, with `{trace_id}` in it; absent for no links.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

impl TracePlan {
    /// The share when none is given: a server at 1,000 requests per second records ten traces each second.
    pub const SHARE: f64 = 0.01;
    /// Where `url` has the id of a trace.
    pub const PLACE: &str = "{trace_id}";
    /// Bytes of `url`.
    pub const URL_MAX_BYTES: usize = 2048;

    /// Finds what can't be.
    pub(crate) fn check(
        &self,
        request: &RequestPlan,
        scenario: Option<&Scenario>,
        is_replay: bool,
    ) -> Result<(), PlanError> {
        if !(self.share > 0.0 && self.share <= 1.0) {
            return Err(TraceError::Share.into());
        }
        if let Some(url) = &self.url {
            check_url(url)?;
        }
        let is_given = |headers: &[(String, String)]| headers.iter().any(|(name, _)| is_traceparent(name));
        if is_given(&request.headers) {
            return Err(TraceError::HeaderTwice { step: None }.into());
        }
        // Recorded ones belong to traces that are over: they are replaced.
        let step = scenario.filter(|_| !is_replay).and_then(|scenario| {
            scenario.steps().find(|(_, step)| is_given(&step.headers)).map(|(_, step)| step.name.clone())
        });
        match step {
            Some(step) => Err(TraceError::HeaderTwice { step: Some(step) }.into()),
            None => Ok(()),
        }
    }

    /// Where the trace with this id is shown; none for what is no id, and no URL, as a file may have it.
    pub fn link(&self, trace_id: &str) -> Option<String> {
        let url = self.url.as_ref().filter(|url| check_url(url).is_ok())?;
        is_trace_id(trace_id).then(|| url.replace(Self::PLACE, trace_id))
    }
}

/// Traces as they were asked for.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TraceOptions {
    /// Whether there are any.
    pub on: bool,
    /// The share of the requests that are sampled; [`TracePlan::SHARE`] if absent.
    pub share: Option<f64>,
    /// Where a trace is shown.
    pub url: Option<String>,
}

impl TraceOptions {
    /// The plan that they mean.
    pub(crate) fn plan(&self) -> Result<Option<TracePlan>, PlanError> {
        let given = [("trace-share", self.share.is_some()), ("trace-url", self.url.is_some())];
        match given.into_iter().find(|(_, is_given)| *is_given && !self.on) {
            Some((setting, _)) => Err(TraceError::WithoutTraces(setting).into()),
            None => Ok(self
                .on
                .then(|| TracePlan { share: self.share.unwrap_or(TracePlan::SHARE), url: self.url.clone() })),
        }
    }
}

/// Whether `name` is the header that carries the context of a trace.
pub fn is_traceparent(name: &str) -> bool {
    name.eq_ignore_ascii_case(TRACEPARENT)
}

/// 32 hexadecimal digits in lower case, not all of them 0 (section 3.2.2.3 of the standard).
fn is_trace_id(text: &str) -> bool {
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    text.len() == 32 && text.bytes().all(is_digit) && text.bytes().any(|byte| byte != b'0')
}

/// Finds what keeps `url` from showing a trace.
fn check_url(url: &str) -> Result<(), TraceError> {
    let is_web = url.starts_with("http://") || url.starts_with("https://");
    let behind_scheme = url.split_once("://").map_or("", |(_, rest)| rest);
    let authority = behind_scheme.split(['/', '?', '#']).next().unwrap_or_default();
    let wrong = if url.len() > TracePlan::URL_MAX_BYTES {
        "is longer than 2 KiB"
    } else if !is_web {
        "doesn't begin with http:// or https://"
    } else if url.chars().any(|character| character.is_whitespace() || character.is_control()) {
        "has white space or a control character"
    } else if url.contains(['<', '>', '"', '`', '|']) {
        "has a character that has to be percent-encoded"
    } else if authority.is_empty() {
        "has no host"
    } else if authority.contains('@') {
        "has a user name or password, which every reader of the report would see"
    } else if !url.contains(TracePlan::PLACE) {
        "has no {trace_id}"
    } else {
        return Ok(());
    };
    Err(TraceError::Url(wrong))
}

/// What came of the traces of a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Traces {
    /// Requests of the measured part that were sent with a `traceparent` and have ended, or were cut off by the end.
    pub requests: u64,
    /// Those of them that the server was asked to record.
    pub sampled: u64,
    /// The slowest of those, by response time: [`SlowRequest::LISTED_MAX`] at most, the slowest first.
    pub slowest: Vec<SlowRequest>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_of_tracing_systems() {
        let check = |url: &str, wrong: Option<&'static str>| {
            assert_eq!(check_url(url), wrong.map_or(Ok(()), |wrong| Err(TraceError::Url(wrong))), "{url}");
        };
        check("http://127.0.0.1:16686/trace/{trace_id}", None);
        check("https://grafana/explore?id={trace_id}&x=a@b", None);
        check(
            "https://grafana/?left={\"a\":1}&{trace_id}",
            Some("has a character that has to be percent-encoded"),
        );
        check("javascript:alert('{trace_id}')", Some("doesn't begin with http:// or https://"));
        check("http://host/trace/", Some("has no {trace_id}"));
        check("http:///{trace_id}", Some("has no host"));
        check(
            "http://me:secret@host/{trace_id}",
            Some("has a user name or password, which every reader of the report would see"),
        );
        check("http://host/{trace_id}\n", Some("has white space or a control character"));
        let long = "x".repeat(TracePlan::URL_MAX_BYTES);
        check(&format!("http://host/{{trace_id}}{long}"), Some("is longer than 2 KiB"));
    }

    #[test]
    fn links_are_of_ids_and_urls_only() {
        let of = |url: &str| TracePlan { share: 0.1, url: Some(url.to_owned()) };
        let id = "0af7651916cd43dd8448eb211c80319c";
        let jaeger = of("http://host/trace/{trace_id}");
        assert_eq!(jaeger.link(id), Some(format!("http://host/trace/{id}")));
        for other in ["", "0af7", &"0".repeat(32), "<script>alert(12345678901)</scrip", &id.to_uppercase()] {
            assert_eq!(jaeger.link(other), None, "{other}");
        }
        assert_eq!(of("javascript:alert({trace_id})").link(id), None);
        assert_eq!(TracePlan { share: 0.1, url: None }.link(id), None);
    }
}
