//! From a plan's scenario to what workers go through: every text compiled, every name a number.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use prony_http::{Request, RequestKind, h2};
use prony_model::{
    BodyCheck, ExpectedValue, Extraction, ExtractionSource, FeedEnd, FeedOrder, FeedRows, Flow, ReplayRows,
    RunPlan, Scenario, SessionConnections, Step, Think, Version,
};
use regex::bytes::{CaptureLocations, Regex};

use super::json::Pointer;
use super::request::StepRequest;
use super::text::{Goes, Source, Text};
use super::turns::Turns;
use crate::RunError;
use crate::clock::{Nanos, span};

/// A scenario as each worker has it; what is large is shared.
#[derive(Clone)]
#[expect(clippy::struct_excessive_bools, reason = "each is a setting of its own")]
pub(crate) struct Compiled {
    pub(super) flows: Box<[CompiledFlow]>,
    /// Of all flows.
    pub(super) weights: u64,
    pub(super) cookies: bool,
    /// Whether those that a response sets count only when its request is not sent again.
    pub(super) holds_cookies: bool,
    /// Whether requests of HTTP/1.1 are kept, to be sent again.
    pub(super) keeps_lines: bool,
    /// Whether requests are those of HTTP/2.
    pub(super) is_http2: bool,
    /// Whether a session has a connection of its own.
    pub(super) keeps_connections: bool,
    /// The host of the server, for cookies.
    pub(super) host: Box<str>,
    /// Scheme and authority, for redirects.
    pub(super) origin: Box<str>,
    pub(super) is_secure: bool,
    pub(super) seed: u64,
    pub(super) shared: Arc<Shared>,
    /// What each session of a replay sends, and what its flow is.
    pub(super) replay: Option<Arc<ReplayRows>>,
    /// How long the measured part is, where that is known.
    pub(crate) measured: Option<Nanos>,
    /// How many extractions each step has.
    pub(crate) extractions: Box<[usize]>,
}

/// What all threads share.
#[derive(Default)]
pub(super) struct Shared {
    pub(super) feeds: Box<[SharedFeed]>,
    /// How often `{counter}` was filled in.
    pub(super) counter: Turns,
    /// Requests of sessions that are in flight.
    pub(super) in_flight: AtomicU64,
}

/// A feed.
pub(super) struct SharedFeed {
    pub(super) data: Arc<FeedRows>,
    pub(super) order: FeedOrder,
    pub(super) at_end: FeedEnd,
    /// Rows that were taken.
    pub(super) taken: Turns,
}

#[derive(Clone)]
pub(super) struct CompiledFlow {
    pub(super) weight: u64,
    pub(super) pacing: Nanos,
    /// The number of the value, and what it is.
    pub(super) variables: Box<[(usize, Text)]>,
    /// Feeds of which its sessions take a row.
    pub(super) feeds: Box<[usize]>,
    pub(super) steps: Box<[CompiledStep]>,
}

#[derive(Clone)]
pub(super) struct CompiledStep {
    /// Its number among all steps.
    pub(super) number: usize,
    pub(super) request: StepRequest,
    pub(super) kind: RequestKind,
    pub(super) redirects: u32,
    pub(super) go_on: bool,
    pub(super) think: Think,
    /// Whether a status is good, by status code.
    pub(super) good: Box<[bool; 600]>,
    pub(super) headers: Box<[(Box<str>, Text)]>,
    pub(super) body: Option<BodyMatch>,
    pub(super) contains: Box<[Text]>,
    pub(super) json: Box<[(Pointer, Expected)]>,
    pub(super) extractions: Box<[CompiledExtraction]>,
    /// Whether its response's body is read.
    pub(super) reads_body: bool,
}

#[derive(Clone)]
pub(super) enum BodyMatch {
    Exact(Arc<[u8]>),
    Regex(Regex),
}

#[derive(Clone)]
pub(super) enum Expected {
    Logical(bool),
    Number(f64),
    Text(Text),
}

#[derive(Clone)]
pub(super) struct CompiledExtraction {
    /// The number of the value that it sets.
    pub(super) value: usize,
    pub(super) from: From,
    pub(super) default: Option<Box<[u8]>>,
}

#[derive(Clone)]
pub(super) enum From {
    Json(Pointer),
    Regex { regex: Regex, group: usize, places: CaptureLocations },
    Header(Box<str>),
    Cookie(Box<[u8]>),
}

impl From {
    /// Whether it reads the body.
    pub(super) fn reads_body(&self) -> bool {
        matches!(self, Self::Json(_) | Self::Regex { .. })
    }
}

/// The names of a flow, and the numbers of their values.
struct Names<'a> {
    scenario: &'a Scenario,
    values: Vec<&'a str>,
}

impl<'a> Names<'a> {
    fn new(scenario: &'a Scenario, flow: &'a Flow) -> Self {
        let mut values = Vec::new();
        let extracted = flow.steps.iter().flat_map(|step| step.extract.iter().map(|one| one.name.as_str()));
        for name in flow.variables.iter().map(|(name, _)| name.as_str()).chain(extracted) {
            if !values.contains(&name) {
                values.push(name);
            }
        }
        Self { scenario, values }
    }

    fn number(&self, name: &str) -> Option<usize> {
        self.values.iter().position(|known| *known == name)
    }

    fn source(&self, name: &str) -> Option<Source> {
        let Some((feed, column)) = name.split_once('.') else { return self.number(name).map(Source::Value) };
        let (feed, found) = self.scenario.feed(feed)?;
        let column = found.columns.iter().position(|known| known == column)?;
        Some(Source::Feed { feed, column })
    }

    fn text(&self, text: &str, goes: Goes) -> Result<Text, RunError> {
        let unknown = || RunError::Request(format!("a name in `{text}` is not known"));
        Text::new(text, goes, &|name| self.source(name)).ok_or_else(unknown)
    }
}

impl Shared {
    /// A request is sent. Returns whether no other is in flight, in any thread.
    pub(super) fn begin_request(&self) -> bool {
        self.in_flight.fetch_add(1, Ordering::Relaxed) == 0
    }

    /// It is in flight no more.
    pub(super) fn end_request(&self) {
        self.in_flight.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Compiled {
    /// Compiles the scenario of `plan`, if it has one.
    pub(crate) fn of(plan: &RunPlan) -> Result<Option<Self>, RunError> {
        let Some(scenario) = &plan.scenario else { return Ok(None) };
        if let Some(wrong) = scenario.problems().into_iter().next() {
            return Err(RunError::Request(wrong.problem.sentence()));
        }
        if let Some(feed) = scenario.feeds.iter().find(|feed| feed.data.len() as u64 != feed.rows) {
            let why = format!("the rows of the feed {} are in {}, not in the plan", feed.name, feed.file);
            return Err(RunError::Request(why));
        }
        let keeps_connections = scenario.connections == SessionConnections::Session;
        if keeps_connections && plan.request.version == Version::Http2 {
            let why = "connections = \"session\" is for HTTP/1.1: leave it out, or HTTP/2".to_owned();
            return Err(RunError::Request(why));
        }
        let mut number = 0;
        let mut flows = Vec::new();
        for flow in &scenario.flows {
            let names = Names::new(scenario, flow);
            let mut steps = Vec::new();
            for step in &flow.steps {
                steps.push(compiled_step(plan, step, number, &names)?);
                number += 1;
            }
            let variable = |(name, text): &(String, String)| {
                let number = names.number(name).expect("invariant: every variable has a number");
                Ok((number, names.text(text, Goes::Plain)?))
            };
            flows.push(CompiledFlow {
                weight: flow.weight.into(),
                pacing: span(flow.pacing),
                variables: flow.variables.iter().map(variable).collect::<Result<_, RunError>>()?,
                feeds: feeds_of(scenario, flow),
                steps: steps.into(),
            });
        }
        let target = &plan.target;
        let scheme = if target.tls.is_some() { "https" } else { "http" };
        let feeds = scenario.feeds.iter().map(|feed| SharedFeed {
            data: Arc::clone(&feed.data),
            order: feed.order,
            at_end: feed.at_end,
            taken: Turns::of(plan),
        });
        Ok(Some(Self {
            weights: flows.iter().map(|flow| flow.weight).sum(),
            flows: flows.into(),
            cookies: scenario.cookies,
            holds_cookies: plan.retries.is_some(),
            keeps_lines: plan.retries.is_some() && plan.request.version != Version::Http2,
            is_http2: plan.request.version == Version::Http2,
            keeps_connections,
            host: host(&target.authority).into(),
            origin: format!("{scheme}://{}", target.authority).into(),
            is_secure: target.tls.is_some(),
            seed: plan.seed,
            shared: Arc::new(Shared {
                feeds: feeds.collect(),
                counter: Turns::of(plan),
                in_flight: AtomicU64::new(0),
            }),
            replay: plan.replay.as_ref().map(|replay| Arc::clone(&replay.rows)),
            measured: plan.end.duration().map(span),
            extractions: scenario.steps().map(|(_, step)| step.extract.len()).collect(),
        }))
    }

    /// Whether each session is a recorded request.
    pub(crate) fn is_replay(&self) -> bool {
        self.replay.is_some()
    }

    /// How many flows there are.
    pub(crate) fn flows(&self) -> usize {
        self.flows.len()
    }

    /// The bytes of the longest request that is known before the run.
    pub(crate) fn longest_known(&self) -> usize {
        let steps = self.flows.iter().flat_map(|flow| &flow.steps);
        steps.map(|step| step.request.known_bytes()).max().unwrap_or_default()
    }
}

/// The host of an authority, without its port.
fn host(authority: &str) -> &str {
    match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => authority,
    }
}

/// The feeds whose columns stand in the texts of `flow`.
fn feeds_of(scenario: &Scenario, flow: &Flow) -> Box<[usize]> {
    let used = flow.names_used();
    let is_used =
        |name: &str| used.iter().any(|used| used.split_once('.').is_some_and(|(feed, _)| feed == name));
    let feeds = scenario.feeds.iter().enumerate().filter(|(_, feed)| is_used(&feed.name));
    feeds.map(|(at, _)| at).collect()
}

/// Refuses fields that the version of HTTP does not allow, whatever is filled in.
fn check_headers(plan: &RunPlan, step: &Step) -> Result<(), RunError> {
    let checked = |(name, value): &(String, String)| {
        let value = if name.eq_ignore_ascii_case("te") { value } else { "x" };
        (name.clone(), value.to_owned())
    };
    let request = Request {
        headers: step.headers.iter().map(checked).collect(),
        ..Request::get(plan.target.authority.clone(), "/")
    };
    let encoded = match plan.request.version {
        Version::Http2 => h2::EncodedRequest::new(&request, h2::Scheme::Http).map(drop),
        Version::Http10 | Version::Http11 => request.encode().map(drop),
    };
    encoded.map_err(|error| RunError::Request(format!("{}: {error}", step.name)))
}

fn compiled_step(
    plan: &RunPlan,
    step: &Step,
    number: usize,
    names: &Names<'_>,
) -> Result<CompiledStep, RunError> {
    let text = |text: &str, goes| names.text(text, goes);
    let request = StepRequest::new(plan, step, number, &text)?;
    check_headers(plan, step)?;
    let mut good = Box::new([false; 600]);
    for (status, good) in good.iter_mut().enumerate() {
        *good = u16::try_from(status).is_ok_and(|status| step.checks.status.contains(status));
    }
    let regex = |pattern: &str| {
        let why = |error: regex::Error| {
            let text = error.to_string();
            RunError::Check(text.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned())
        };
        Regex::new(pattern).map_err(why)
    };
    let body = match &step.checks.body {
        None => None,
        Some(BodyCheck::Exact(text)) => Some(BodyMatch::Exact(text.as_bytes().into())),
        Some(BodyCheck::Regex(pattern)) => Some(BodyMatch::Regex(regex(pattern)?)),
    };
    let header =
        |(name, value): &(String, String)| Ok((name.as_str().into(), names.text(value, Goes::Plain)?));
    let json = |(pointer, value): &(String, ExpectedValue)| {
        let expected = match value {
            ExpectedValue::Logical(value) => Expected::Logical(*value),
            ExpectedValue::Number(value) => Expected::Number(*value),
            ExpectedValue::Text(value) => Expected::Text(names.text(value, Goes::Plain)?),
        };
        Ok((Pointer::new(pointer), expected))
    };
    let extraction = |extraction: &Extraction| {
        let from = match &extraction.from {
            ExtractionSource::Json(pointer) => From::Json(Pointer::new(pointer)),
            ExtractionSource::Regex { pattern, group } => {
                let regex = regex(pattern)?;
                From::Regex { places: regex.capture_locations(), regex, group: *group as usize }
            }
            ExtractionSource::Header(name) => From::Header(name.as_str().into()),
            ExtractionSource::Cookie(name) => From::Cookie(name.as_bytes().into()),
        };
        let value = names.number(&extraction.name).expect("invariant: every extraction has a number");
        let default = extraction.default.as_ref().map(|default| default.as_bytes().into());
        Ok(CompiledExtraction { value, from, default })
    };
    Ok(CompiledStep {
        number,
        kind: if step.method == "HEAD" { RequestKind::Head } else { RequestKind::Normal },
        request,
        redirects: step.redirects,
        go_on: step.go_on,
        think: step.think,
        good,
        headers: step.checks.headers.iter().map(header).collect::<Result<_, RunError>>()?,
        body,
        contains: step
            .checks
            .contains
            .iter()
            .map(|text| names.text(text, Goes::Plain))
            .collect::<Result<_, RunError>>()?,
        json: step.checks.json.iter().map(json).collect::<Result<_, RunError>>()?,
        extractions: step.extract.iter().map(extraction).collect::<Result<_, RunError>>()?,
        reads_body: step.checks.reads_body() || step.extract.iter().any(|one| one.from.reads_body()),
    })
}
