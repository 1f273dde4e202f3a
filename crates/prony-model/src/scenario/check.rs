//! What can't be in a scenario, with its place: names that nothing sets, requests that no server would understand.

use std::collections::BTreeSet;

use super::{
    ExpectedValue, Extraction, ExtractionSource, Feed, FeedEnd, FeedOrder, Flow, Generated, PartContent,
    Scenario, Step, StepBody, Template,
};
use crate::{Problem, is_token, nearest};

/// What is wrong at one place of a scenario.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Misplaced {
    /// Where.
    pub place: Place,
    /// What, and what to try.
    pub problem: Problem,
}

/// A place in a scenario; indices are from 0. Keys are those of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// The scenario itself.
    Scenario(&'static str),
    /// A feed.
    Feed(usize, &'static str),
    /// A flow.
    Flow(usize, &'static str),
    /// A step of a flow.
    Step(usize, usize, &'static str),
}

/// Names that a session sets itself: nothing may be called so.
fn is_reserved(name: &str) -> bool {
    Generated::NAMES.contains(&name)
}

/// Whether `name` can stand in braces and in thresholds: letters, digits, - and _, beginning with a letter.
fn is_name(name: &str) -> bool {
    name.len() <= Scenario::NAME_BYTES_MAX
        && name.starts_with(|first: char| first.is_ascii_alphabetic())
        && name.chars().all(|character| character.is_ascii_alphanumeric() || "_-".contains(character))
}

fn not_a_name(what: &str, name: &str) -> Problem {
    Problem::new(
        format!("`{name}` can't be the name of {what}"),
        format!("use up to {} letters, digits, - and _, beginning with a letter", Scenario::NAME_BYTES_MAX),
    )
}

impl Scenario {
    /// Everything that is wrong, in the order of flows and steps; empty for a scenario that can be run. Regular
    /// expressions are compiled by others.
    pub fn problems(&self) -> Vec<Misplaced> {
        let mut found = Found::default();
        self.check_counts(&mut found);
        for (at, feed) in self.feeds.iter().enumerate() {
            self.check_feed(at, feed, &mut found);
        }
        let mut flows = BTreeSet::new();
        let mut steps = BTreeSet::new();
        for (at, flow) in self.flows.iter().enumerate() {
            if !is_name(&flow.name) {
                found.add(Place::Flow(at, "name"), not_a_name("a flow", &flow.name));
            } else if !flows.insert(flow.name.as_str()) {
                let what = format!("two flows are called `{}`", flow.name);
                found.add(Place::Flow(at, "name"), Problem::new(what, "call one of them otherwise"));
            }
            self.check_flow(at, flow, &mut steps, &mut found);
        }
        found.0
    }

    fn check_counts(&self, found: &mut Found) {
        let steps = self.steps().count();
        let mut limit = |key: &'static str, what: &str, count: usize, max: usize| {
            if count > max {
                let what = format!("{count} {what} are more than the {max} that one scenario can have");
                found.add(Place::Scenario(key), Problem::new(what, "use several scenarios"));
            }
        };
        limit("flow", "flows", self.flows.len(), Self::FLOWS_MAX);
        limit("flow", "steps", steps, Self::STEPS_MAX);
        limit("feeds", "feeds", self.feeds.len(), Self::FEEDS_MAX);
        if self.flows.is_empty() {
            let advice = "add [[flow]] with a name, and [[flow.step]] below it";
            found.add(Place::Scenario("flow"), Problem::new("this scenario has no flow", advice));
        }
    }

    fn check_feed(&self, at: usize, feed: &Feed, found: &mut Found) {
        let earlier = self.feeds[..at].iter().any(|other| other.name == feed.name);
        if !is_name(&feed.name) || is_reserved(&feed.name) || earlier {
            found.add(Place::Feed(at, "name"), not_a_name("a feed", &feed.name));
        }
        for (column, name) in feed.columns.iter().enumerate() {
            if !is_name(name) {
                found.add(Place::Feed(at, "file"), not_a_name("a column", name));
            } else if feed.columns[..column].contains(name) {
                let what = format!("two columns are called `{name}`");
                found.add(Place::Feed(at, "file"), Problem::new(what, "call one of them otherwise"));
            }
        }
        if feed.order == FeedOrder::Unique && feed.at_end == FeedEnd::Repeat {
            let what = "a feed that is unique can't begin again";
            found.add(Place::Feed(at, "at-end"), Problem::new(what, "write at-end = \"stop\""));
        }
        if feed.order == FeedOrder::Random && feed.at_end == FeedEnd::Stop {
            let what = "a feed in random order has no end";
            found.add(Place::Feed(at, "at-end"), Problem::new(what, "leave it out"));
        }
        if feed.rows == 0 {
            let what = format!("{} has no rows", feed.file);
            let advice = "add rows behind the line with the names of the columns";
            found.add(Place::Feed(at, "file"), Problem::new(what, advice));
        }
    }

    fn check_flow<'a>(&'a self, at: usize, flow: &'a Flow, steps: &mut BTreeSet<&'a str>, found: &mut Found) {
        if flow.weight == 0 || flow.weight > Self::WEIGHT_MAX {
            let what = format!("a weight of {} is no share of the sessions", flow.weight);
            let advice = format!("use 1 to {}, or leave the flow out", Self::WEIGHT_MAX);
            found.add(Place::Flow(at, "weight"), Problem::new(what, advice));
        }
        if flow.pacing > Self::THINK_MAX {
            let problem = Problem::new("a pacing over 24 hours is not supported", "use less");
            found.add(Place::Flow(at, "pacing"), problem);
        }
        if flow.steps.is_empty() {
            let what = format!("the flow `{}` has no step", flow.name);
            found.add(Place::Flow(at, "name"), Problem::new(what, "add [[flow.step]] below it"));
        }
        let mut scope = Scope::new(self);
        for (name, template) in &flow.variables {
            scope.uses(template, Place::Flow(at, "variables"), found);
            scope.sets(name, Place::Flow(at, "variables"), found);
        }
        for (index, step) in flow.steps.iter().enumerate() {
            let place = |key| Place::Step(at, index, key);
            if !is_name(&step.name) {
                found.add(place("name"), not_a_name("a step", &step.name));
            } else if !steps.insert(&step.name) {
                let what = format!("two steps are called `{}`", step.name);
                let advice = "call one of them otherwise: figures go by this name";
                found.add(place("name"), Problem::new(what, advice));
            }
            check_request(step, place, found);
            scope.step(step, place, found);
        }
    }
}

/// What is wrong with a request whatever is filled in.
fn check_request(step: &Step, place: impl Fn(&'static str) -> Place, found: &mut Found) {
    if !is_token(&step.method) {
        let what = format!("`{}` is not an HTTP method", step.method);
        found.add(place("method"), Problem::new(what, "write one word such as GET, POST or DELETE"));
    }
    if step.path.starts_with("http://") || step.path.starts_with("https://") {
        let what = "a step has no server of its own";
        let advice = "write the path alone; `base` and the command line name the server of all steps";
        found.add(place("path"), Problem::new(what, advice));
    } else if !step.path.starts_with(['/', '{']) || step.path.contains([' ', '#']) || has_control(&step.path)
    {
        let what = format!("`{}` is not a path", step.path);
        found.add(place("path"), Problem::new(what, "write it as /items?page=2, with %20 for a space"));
    }
    for (name, value) in &step.headers {
        if !is_token(name) || has_control(value) {
            let what = format!("`{name}: {value}` is not a header");
            let advice = "use a name without spaces, and a value on one line";
            found.add(place("headers"), Problem::new(what, advice));
        } else if ["content-length", "transfer-encoding"].contains(&name.to_ascii_lowercase().as_str()) {
            let what = format!("`{name}` follows from the body");
            found.add(place("headers"), Problem::new(what, "leave it out"));
        }
    }
    if step.redirects > Scenario::REDIRECTS_MAX {
        let what = format!("{} redirects are too many", step.redirects);
        let advice = format!("{} are the most", Scenario::REDIRECTS_MAX);
        found.add(place("redirects"), Problem::new(what, advice));
    }
    if step.think.longest() > Scenario::THINK_MAX * 10 {
        let problem = Problem::new("a think time over 24 hours is not supported", "use less");
        found.add(place("think"), problem);
    }
    for (pointer, _) in &step.checks.json {
        check_pointer(pointer, place("expect-json"), found);
    }
    for Extraction { from, .. } in &step.extract {
        match from {
            ExtractionSource::Json(pointer) => check_pointer(pointer, place("extract"), found),
            ExtractionSource::Header(name) | ExtractionSource::Cookie(name) if !is_token(name) => {
                let what = format!("`{name}` can't be the name of a header or a cookie");
                found.add(place("extract"), Problem::new(what, "write letters, digits, - and _"));
            }
            _ => {}
        }
    }
    if let StepBody::Multipart(parts) = &step.body {
        for part in parts {
            let texts = [Some(&part.name), part.file_name.as_ref(), part.content_type.as_ref()];
            if texts.into_iter().flatten().any(|text| has_control(text)) {
                let what = format!("`{}` can't be the name of a part", part.name);
                found.add(place("multipart"), Problem::new(what, "write its texts on one line"));
            }
        }
    }
}

fn check_pointer(pointer: &str, place: Place, found: &mut Found) {
    if !pointer.is_empty() && !pointer.starts_with('/') {
        let what = format!("`{pointer}` is not a JSON pointer");
        let advice = match pointer.strip_prefix("$.").unwrap_or(pointer) {
            path if path.contains(['[', '*', '?']) => "write it as /items/0/id (RFC 6901)".to_owned(),
            path => format!("write it as /{}", path.replace('.', "/")),
        };
        found.add(place, Problem::new(what, advice));
    }
}

fn has_control(text: &str) -> bool {
    text.chars().any(char::is_control)
}

/// Collects what is wrong.
#[derive(Default)]
struct Found(Vec<Misplaced>);

impl Found {
    fn add(&mut self, place: Place, problem: Problem) {
        self.0.push(Misplaced { place, problem });
    }
}

/// The names that a flow has set so far.
struct Scope<'a> {
    scenario: &'a Scenario,
    set: BTreeSet<&'a str>,
}

impl<'a> Scope<'a> {
    fn new(scenario: &'a Scenario) -> Self {
        Self { scenario, set: BTreeSet::new() }
    }

    /// What `step` uses and sets.
    fn step(&mut self, step: &'a Step, place: impl Fn(&'static str) -> Place, found: &mut Found) {
        self.uses(&step.path, place("path"), found);
        for (_, value) in &step.headers {
            self.uses(value, place("headers"), found);
        }
        match &step.body {
            StepBody::None | StepBody::File(_) => {}
            StepBody::Text(text) => self.uses(text, place("body"), found),
            StepBody::Json(text) => self.uses(text, place("json"), found),
            StepBody::Form(fields) => {
                for (_, value) in fields {
                    self.uses(value, place("form"), found);
                }
            }
            StepBody::Multipart(parts) => {
                for part in parts {
                    if let PartContent::Text(text) = &part.content {
                        self.uses(text, place("multipart"), found);
                    }
                }
            }
        }
        for (_, value) in &step.checks.headers {
            self.uses(value, place("expect-header"), found);
        }
        for text in &step.checks.contains {
            self.uses(text, place("expect-body-contains"), found);
        }
        for (_, value) in &step.checks.json {
            if let ExpectedValue::Text(text) = value {
                self.uses(text, place("expect-json"), found);
            }
        }
        for extraction in &step.extract {
            self.sets(&extraction.name, place("extract"), found);
        }
    }

    fn sets(&mut self, name: &'a str, place: Place, found: &mut Found) {
        if !is_name(name) || is_reserved(name) {
            found.add(place, not_a_name("a value", name));
        } else if self.set.insert(name) && self.set.len() > Scenario::VALUES_MAX {
            let what = format!("a session can hold {} values", Scenario::VALUES_MAX);
            found.add(place, Problem::new(what, "use several flows"));
        }
    }

    fn uses(&self, text: &str, place: Place, found: &mut Found) {
        let template = match Template::parse(text) {
            Ok(template) => template,
            Err(problem) => return found.add(place, problem),
        };
        for name in template.names() {
            if !self.has(name) {
                found.add(place.clone(), self.unknown(name));
            }
        }
    }

    fn has(&self, name: &str) -> bool {
        match name.split_once('.') {
            None => self.set.contains(name),
            Some((feed, column)) => self
                .scenario
                .feed(feed)
                .is_some_and(|(_, feed)| feed.columns.iter().any(|known| known == column)),
        }
    }

    fn unknown(&self, name: &str) -> Problem {
        let columns: Vec<String> = self
            .scenario
            .feeds
            .iter()
            .flat_map(|feed| feed.columns.iter().map(|column| format!("{}.{column}", feed.name)))
            .collect();
        let known =
            self.set.iter().copied().chain(columns.iter().map(String::as_str)).chain(Generated::NAMES);
        let later = self.scenario.steps().flat_map(|(_, step)| &step.extract).any(|later| later.name == name);
        let what = format!("nothing is called {{{name}}} here");
        match nearest(name, known) {
            Some(meant) => Problem::new(what, format!("did you mean {{{meant}}}?")),
            None if later => Problem::new(what, "a step can use what earlier steps of its flow extract"),
            None => Problem::new(
                what,
                format!("extract it in an earlier step, or write {{{{{name}}}}} for the braces"),
            ),
        }
    }
}
