//! Loads: the keys of a load, with the values of one point of the matrix, as what is done in its cell.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use prony_model::{
    BodyCheck, DriverChoice, Http2Choice, KernelClock, LoadKind, Problem, RequestOptions, RetryOptions,
    RunOptions, RunPlan, Target, TraceOptions, source_addresses,
};
use schemars::{JsonSchema, SchemaGenerator};
use toml::Spanned;
use toml::de::{DeString, DeTable};

use super::keys::{
    BodyLength, DriverKey, ExecKeys, HeaderText, KernelClockKey, OneOrMore, ProbeKeys, RunKeys,
};
use super::matrix::Point;
use super::mistake::Mistakes;
use super::target::Context;
use super::template::{Placeholder, filled, placeholders, plain};
use super::tree::Section;
use super::{agents, body, capacity, exec, format, scenario};
use crate::study::{CellLoad, Template};

/// A load of the file.
#[derive(Debug)]
pub(super) struct Load<'a> {
    pub(super) name: &'a str,
    pub(super) section: Section<'a>,
    pub(super) kind: LoadKind,
    pub(super) placeholders: Vec<Placeholder>,
    keys: BTreeSet<String>,
}

/// What is done in a cell, and its description.
pub(super) type Done = (CellLoad, String);

/// The loads of the file, in its order.
pub(super) fn loads<'a>(root: &Section<'a>, mistakes: &mut Mistakes) -> Vec<Load<'a>> {
    let kinds = LoadKind::ALL.map(|kind| (kind, keys_of(kind)));
    let mut loads = Vec::new();
    for (name, section) in root.tables("loads", mistakes) {
        let Some(kind) = kind_of(&section, mistakes) else { continue };
        let has =
            |kind: LoadKind, key: &str| kinds.iter().any(|(own, keys)| *own == kind && keys.contains(key));
        for key in section.table.keys() {
            let others = kinds.iter().filter(|(_, keys)| keys.contains(key.get_ref().as_ref()));
            let others: Vec<&str> = others.map(|(kind, _)| kind.name()).collect();
            if !has(kind, key.get_ref()) && !others.is_empty() {
                let message = format!("a load of kind {} has no `{}`", kind.name(), key.get_ref());
                let help = format!("leave it out, or write kind = \"{}\"", others.join("\" or \""));
                mistakes.add(key.span(), message, help);
            }
        }
        let keys = kinds.iter().filter(|(own, _)| *own == kind).flat_map(|(_, keys)| keys.clone()).collect();
        loads.push(Load { name, section, kind, placeholders: placeholders(section.table), keys });
    }
    loads
}

fn kind_of(section: &Section<'_>, mistakes: &mut Mistakes) -> Option<LoadKind> {
    let Some(value) = section.table.get("kind") else { return Some(LoadKind::Run) };
    let found = LoadKind::ALL.into_iter().find(|kind| value.get_ref().as_str() == Some(kind.name()));
    if found.is_none() {
        let help = "write \"run\", \"probe\", \"exec\" or \"capacity\"";
        mistakes.add(value.span(), "there is no such kind of load", help);
    }
    found
}

/// The keys that a load of this kind has; an axis can set each but its kind.
fn keys_of(kind: LoadKind) -> BTreeSet<String> {
    match kind {
        LoadKind::Run => keys_in::<RunKeys>(),
        LoadKind::Probe => keys_in::<ProbeKeys>(),
        LoadKind::Exec => keys_in::<ExecKeys>(),
        LoadKind::Capacity => capacity::keys(),
    }
}

/// The keys that `K` has.
pub(super) fn keys_in<K: JsonSchema>() -> BTreeSet<String> {
    let schema = K::json_schema(&mut SchemaGenerator::default());
    let properties = schema.get("properties").and_then(serde_json::Value::as_object);
    properties.into_iter().flat_map(|properties| properties.keys().cloned()).collect()
}

impl<'a> Load<'a> {
    /// Whether an axis of this name changes it.
    pub(super) fn uses(&self, axis: &str) -> bool {
        self.sets(axis) || self.placeholders.iter().any(|used| used.name == axis)
    }

    fn sets(&self, axis: &str) -> bool {
        axis != "kind" && self.keys.contains(axis)
    }

    /// What it is at `point`; `None` where that can't be, which is reported.
    pub(super) fn at(
        &self,
        point: &Point<'a>,
        context: &Context<'_>,
        mistakes: &mut Mistakes,
    ) -> Option<Done> {
        // Keys of other kinds are reported already.
        let own = |(key, _): &(Spanned<DeString<'a>>, _)| self.keys.contains(key.get_ref().as_ref());
        let mut table: DeTable<'a> =
            filled(self.section.table, &point.key()).into_iter().filter(own).collect();
        for (axis, value) in &point.values {
            if let Some(written) = value.written.filter(|_| self.sets(axis)) {
                let key = Spanned::new(written.span(), DeString::Owned(axis.clone()));
                table.insert(key, written.clone());
            }
        }
        let section = Section::new(&table, &self.section.at());
        match self.kind {
            LoadKind::Run => run(&section, context, mistakes),
            LoadKind::Probe => probe(&section, context.folder, mistakes),
            LoadKind::Exec => exec::exec(&section, context.folder, context.host, mistakes),
            LoadKind::Capacity => capacity::capacity(&section, context, mistakes),
        }
    }
}

/// A load as of `prony run`, checked.
pub(super) struct RunLoad {
    pub(super) path: String,
    pub(super) url: Template,
    pub(super) options: RunOptions,
    /// On a target that stands for the one that will run.
    pub(super) plan: RunPlan,
    pub(super) calibration: bool,
}

fn run(section: &Section<'_>, context: &Context<'_>, mistakes: &mut Mistakes) -> Option<Done> {
    let keys: RunKeys = section.read(mistakes)?;
    let own_agents = keys.agents.clone();
    let RunLoad { path, url, options, plan, calibration } = run_load(section, keys, context, mistakes)?;
    let agents = agents::of_load(section, own_agents, &plan, context, mistakes)?;
    let words = agents::described(format::of_run(&plain(&path), &plan), agents.as_ref());
    Some((CellLoad::Run { url, options: Box::new(options), calibration, agents }, words))
}

/// The load of `keys`, which were read from `section`.
pub(super) fn run_load(
    section: &Section<'_>,
    keys: RunKeys,
    context: &Context<'_>,
    mistakes: &mut Mistakes,
) -> Option<RunLoad> {
    let folder = context.folder;
    let (scenario, of_scenario) = match &keys.scenario {
        Some(file) => {
            let file = scenario::of_load(section, &plain(file), folder, mistakes)?;
            (Some(Box::new(file.scenario)), file.retries)
        }
        None => (None, RetryOptions::default()),
    };
    if scenario.is_some() && keys.path.is_some() {
        let help = "leave it out: the steps of the scenario have theirs, below the path of the target's URL";
        mistakes.add(section.span("path"), "a load with a scenario has no path", help);
        return None;
    }
    let path = path(section, keys.path.as_deref().or(scenario.as_ref().map(|_| "")), mistakes)?;
    let options = RunOptions {
        connections: keys.connections.map(|count| count.0),
        duration: keys.duration.map(|length| length.0),
        requests: keys.requests.map(|count| count.0),
        rate: keys.rate.map(|rate| rate.0),
        stages: keys.stages.map(|stages| stages.0),
        poisson: keys.poisson,
        arrivals: keys.arrivals.map(|arrivals| arrivals.0),
        threads: keys.threads.map(|count| count.0),
        warmup: keys.warmup.map(|length| length.0),
        request: RequestOptions {
            method: keys.method,
            headers: headers(keys.headers),
            body: body::body(section, keys.body, keys.body_file, folder, mistakes)?,
            timeout: keys.timeout.map(|length| length.0),
            connect_timeout: keys.connect_timeout.map(|length| length.0),
            no_keepalive: !keys.keepalive.unwrap_or(true),
            http10: keys.http10,
            http2: http2(keys.http2),
            sources: sources(section, keys.source, mistakes)?,
            expect_status: keys.expect_status.map(|statuses| statuses.0),
        },
        drain: keys.drain.map(|length| length.0),
        pipeline: keys.pipeline.map(|count| count.0),
        streams: keys.streams.map(|count| count.0),
        driver: match keys.driver {
            DriverKey::Auto => DriverChoice::Auto,
            DriverKey::Epoll => DriverChoice::Epoll,
            DriverKey::IoUring => DriverChoice::IoUring,
        },
        kernel_clock: match keys.kernel_clock {
            KernelClockKey::Auto => KernelClock::Auto,
            KernelClockKey::Off => KernelClock::Off,
        },
        expect_body: body_check(section, keys.expect_body, keys.expect_body_regex, mistakes)?,
        expect_same_length: matches!(keys.expect_length, Some(BodyLength::Same)),
        samples: false,
        events: keys.events,
        scenario,
        recorded: None,
        replay: None,
        retries: RetryOptions {
            retries: keys.retries.map(|count| count.0),
            on: keys.retry_on.map(|failures| failures.0),
            backoff: keys.retry_backoff.map(|backoff| backoff.0),
            budget: keys.retry_budget.map(|share| share.0),
            attempt_timeout: keys.attempt_timeout.map(|length| length.0),
        }
        .or(of_scenario),
        trace: TraceOptions {
            on: keys.trace,
            share: keys.trace_share.map(|share| share.0),
            url: keys.trace_url,
        },
    };
    let plan = match options.plan(somewhere(&path)?, 0) {
        Ok(plan) => plan,
        Err(error) => return refused(section, error.problem(format::spelled), mistakes),
    };
    let url = Template(format!("{{url}}{path}"));
    let calibration = keys.calibration.unwrap_or(true);
    Some(RunLoad { path, url, options, plan, calibration })
}

fn probe(section: &Section<'_>, folder: &Path, mistakes: &mut Mistakes) -> Option<Done> {
    let keys: ProbeKeys = section.read(mistakes)?;
    let path = path(section, keys.path.as_deref(), mistakes)?;
    let count = keys.count.map_or(1, |count| count.0);
    let options = RequestOptions {
        method: keys.method,
        headers: headers(keys.headers),
        body: body::body(section, keys.body, keys.body_file, folder, mistakes)?,
        timeout: keys.timeout.map(|length| length.0),
        connect_timeout: keys.connect_timeout.map(|length| length.0),
        // As browsers and curl do, HTTP/1.1 is spoken as if another request might come.
        no_keepalive: keys.http10 && !keys.reuse,
        http10: keys.http10,
        http2: http2(keys.http2),
        sources: sources(section, keys.source, mistakes)?,
        expect_status: keys.expect_status.map(|statuses| statuses.0),
    };
    let plan = match options.probe(somewhere(&path)?, count, keys.reuse) {
        Ok(plan) => plan,
        Err(error) => return refused(section, error.problem(format::spelled), mistakes),
    };
    let url = Template(format!("{{url}}{path}"));
    let words = format::of_probe(&plain(&path), &plan);
    Some((CellLoad::Probe { url, options: Box::new(options), count, reuse: keys.reuse }, words))
}

/// The scheme of the target's URL decides how both sides come to it.
fn http2(key: bool) -> Http2Choice {
    if key { Http2Choice::ByUrl } else { Http2Choice::Off }
}

/// A target that stands for those that will run, to check the rest of a plan.
fn somewhere(path: &str) -> Option<Target> {
    Target::parse(&format!("http://127.0.0.1{}", plain(path))).ok()
}

fn path(section: &Section<'_>, path: Option<&str>, mistakes: &mut Mistakes) -> Option<String> {
    let path = path.unwrap_or("/");
    if !path.is_empty() && !path.starts_with('/')
        || somewhere(path).is_none()
        || path.chars().any(char::is_control)
    {
        mistakes.add(
            section.span("path"),
            format!("`{path}` is not a path"),
            "write it as /test?a=b; the target says where",
        );
        return None;
    }
    Some(path.to_owned())
}

/// Headers as names and values; a list is one line for each of its items.
pub(super) fn headers(keys: BTreeMap<String, HeaderText>) -> Vec<(String, String)> {
    let lines = |(name, text): (String, HeaderText)| {
        let values = match text {
            HeaderText::One(value) => vec![value],
            HeaderText::More(values) => values,
        };
        values.into_iter().map(move |value| (name.clone(), plain(&value.to_string()))).collect::<Vec<_>>()
    };
    keys.into_iter().flat_map(lines).collect()
}

fn sources(
    section: &Section<'_>,
    keys: Option<OneOrMore>,
    mistakes: &mut Mistakes,
) -> Option<Vec<std::net::IpAddr>> {
    let typed = keys.map(OneOrMore::into_list).unwrap_or_default();
    match source_addresses(&typed) {
        Ok(addresses) => Some(addresses),
        Err(error) => refused(section, error.problem(format::spelled), mistakes),
    }
}

#[expect(clippy::option_option, reason = "a check that can't be is something else than no check")]
fn body_check(
    section: &Section<'_>,
    exact: Option<String>,
    pattern: Option<String>,
    mistakes: &mut Mistakes,
) -> Option<Option<BodyCheck>> {
    match (exact, pattern) {
        (Some(_), Some(_)) => {
            let message = "`expect-body` and `expect-body-regex` both say what the body must be";
            mistakes.add(section.span("expect-body-regex"), message, "leave out one of them");
            None
        }
        (Some(text), None) => Some(Some(BodyCheck::Exact(plain(&text)))),
        (None, Some(pattern)) => {
            let pattern = plain(&pattern);
            if let Err(error) = regex::bytes::Regex::new(&pattern) {
                // Its first lines draw the place with a caret of their own.
                let why = error
                    .to_string()
                    .lines()
                    .last()
                    .unwrap_or_default()
                    .trim_start_matches("error: ")
                    .to_owned();
                mistakes.add(
                    section.span("expect-body-regex"),
                    format!("this is not a regular expression ({why})"),
                    "",
                );
                return None;
            }
            Some(Some(BodyCheck::Regex(pattern)))
        }
        (None, None) => Some(None),
    }
}

/// Reports what is wrong with a plan, at the key that it is about.
pub(super) fn refused<T>(section: &Section<'_>, problem: Problem, mistakes: &mut Mistakes) -> Option<T> {
    let key = problem.field.as_deref().map(format::key);
    mistakes.add_problem(key.map_or_else(|| section.at(), |key| section.span(key)), problem);
    None
}
