//! Scenarios: sessions of several requests, as a load beside the single request that is repeated. Decision 022 has the
//! reasons, docs/scenarios.md the file that people write.
//!
//! A [`Scenario`] is a weighted list of [`Flow`]s, and a flow a list of [`Step`]s. A session picks a flow by its weight and
//! goes through its steps; what it has learned (variables, cookies) ends with it. Texts are templates
//! ([`Template`]): what stands in braces is filled in for each request.
//!
//! In reading order: this file, `step.rs`, `template.rs`, `feed.rs` (rows of values), `check.rs` (what can't be).

mod check;
mod feed;
mod result;
mod step;
mod template;

use std::collections::BTreeSet;
use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use self::check::{Misplaced, Place};
pub use self::feed::{Feed, FeedEnd, FeedOrder, FeedRows, FeedRowsError};
pub use self::result::{Decoding, FlowResult, ScenarioResult, SessionCounts, StepPoint, StepResult};
pub use self::step::{
    ExpectedValue, Extraction, ExtractionSource, Part, PartContent, Step, StepBody, StepChecks, StepFile,
    Think,
};
pub use self::template::{Escape, Generated, Piece, Template, Value};

/// Sessions of requests, each of one of its flows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Scenario {
    /// What reports call it.
    pub name: String,
    /// Whether a session keeps the cookies that it is given and sends them with its later steps.
    pub cookies: bool,
    /// Whose connections its requests go over.
    #[serde(default)]
    pub connections: SessionConnections,
    /// Rows of values, of which each session takes one.
    pub feeds: Vec<Feed>,
    /// What a session can be; one at least.
    pub flows: Vec<Flow>,
}

/// Whose connections the requests of a session go over.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum SessionConnections {
    /// Whichever is free: the pool of the load.
    #[default]
    Shared,
    /// One of its own: opened for its first step, kept while it thinks, and closed at its end. One that the server closes is
    /// opened again for the next step.
    Session,
}

/// One kind of session: its steps, one after the other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Flow {
    /// Its name, unlike those of the other flows.
    pub name: String,
    /// Its share of the sessions is this part of all weights.
    pub weight: u32,
    /// In a closed loop, a user begins the next session at the earliest this long after the last one began, in seconds;
    /// 0 is at once.
    #[serde(rename = "pacing_s", with = "crate::duration")]
    #[cfg_attr(test, schemars(with = "f64"))]
    pub pacing: Duration,
    /// Values that are made once, when the session begins, in this order: name and template.
    pub variables: Vec<(String, String)>,
    /// What it does; one at least.
    pub steps: Vec<Step>,
}

impl Flow {
    /// The names that its templates use.
    pub fn names_used(&self) -> BTreeSet<String> {
        let variables = self.variables.iter().map(|(_, text)| text.as_str());
        let texts = variables.chain(self.steps.iter().flat_map(Step::templates));
        let names = texts.filter_map(|text| Template::parse(text).ok());
        names.flat_map(|template| template.names().map(str::to_owned).collect::<Vec<_>>()).collect()
    }
}

impl Scenario {
    /// Flows of one scenario.
    pub const FLOWS_MAX: usize = 256;
    /// Steps of all flows: each has histograms of its own in every worker.
    pub const STEPS_MAX: usize = 256;
    /// Feeds of one scenario.
    pub const FEEDS_MAX: usize = 16;
    /// Variables and extracted values that one session holds at most.
    pub const VALUES_MAX: usize = 64;
    /// Redirects that one step follows at most.
    pub const REDIRECTS_MAX: u32 = 20;
    /// Bytes of one name.
    pub const NAME_BYTES_MAX: usize = 64;
    /// The greatest weight of a flow.
    pub const WEIGHT_MAX: u32 = 1_000_000;
    /// The longest think time and pacing.
    pub const THINK_MAX: Duration = Duration::from_hours(24);

    /// Its steps, in the order of flows and steps, with the flow of each: what tables and indices of steps go by.
    pub fn steps(&self) -> impl Iterator<Item = (&Flow, &Step)> {
        self.flows.iter().flat_map(|flow| flow.steps.iter().map(move |step| (flow, step)))
    }

    /// Whether no session has more than one request: a plain weighted mix.
    pub fn is_mix(&self) -> bool {
        self.flows.iter().all(|flow| flow.steps.len() == 1)
    }

    /// Whether sessions wait of their own accord, so that how many there are in a time is not up to the server alone.
    pub fn thinks(&self) -> bool {
        let is_paced = self.flows.iter().any(|flow| !flow.pacing.is_zero());
        is_paced || self.steps().any(|(_, step)| step.think != Think::None)
    }

    /// The feed of this name and its place in the list.
    pub fn feed(&self, name: &str) -> Option<(usize, &Feed)> {
        self.feeds.iter().enumerate().find(|(_, feed)| feed.name == name)
    }
}
