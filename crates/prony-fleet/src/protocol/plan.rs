//! A plan on its way to an agent. Stored plans have no secrets ([`RunPlan`] replaces them when it is written) and no rows of
//! feeds, an agent needs them: so they go beside the plan, as does what is in files of the controller's machine.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use prony_model::{Body, Checks, Feed, FeedRows, RequestPlan, RunPlan, Target};
use serde::{Deserialize, Serialize};

use super::ProtocolError;

/// What an agent does with a plan.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Task {
    /// Puts its share of the load on the server.
    #[default]
    Load,
    /// Measures the server, on the server's host, and sends it nothing.
    Observe,
}

/// A plan with all that an agent needs. Never stored.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct WirePlan {
    #[serde(default, skip_serializing_if = "is_load")]
    task: Task,
    plan: RunPlan,
    headers: Vec<(String, String)>,
    /// Of each step of each flow of a scenario, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    step_headers: Vec<Vec<(String, String)>>,
    /// The certificates in `plan.target.tls.ca_files`, PEM: the files are on the controller's machine.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    authorities: Vec<String>,
    /// The rows of each feed of a scenario, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    feeds: Vec<WireFeed>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_load(task: &Task) -> bool {
    *task == Task::Load
}

/// The rows of a feed.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
struct WireFeed {
    /// All values, one behind the other, base64.
    bytes: String,
    /// How long each is.
    lengths: Vec<u32>,
}

impl WireFeed {
    fn pack(rows: &FeedRows) -> Self {
        Self { bytes: STANDARD.encode(rows.bytes()), lengths: rows.lengths().collect() }
    }

    /// The rows of `feed`, if they can be.
    fn unpack(self, feed: &Feed) -> Option<FeedRows> {
        let bytes = STANDARD.decode(self.bytes).ok()?;
        let rows = FeedRows::from_parts(feed.columns.len(), bytes, &self.lengths)?;
        (rows.len() as u64 == feed.rows).then_some(rows)
    }
}

impl std::fmt::Debug for WirePlan {
    /// Without the headers, which may be secret.
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(to, "WirePlan({})", self.plan.target.url)
    }
}

impl WirePlan {
    /// Packs `plan`.
    pub fn pack(plan: RunPlan) -> Self {
        let headers = plan.request.headers.clone();
        let steps = plan.scenario.iter().flat_map(|scenario| &scenario.flows).flat_map(|flow| &flow.steps);
        let step_headers = steps.map(|step| step.headers.clone()).collect();
        let feeds = plan.scenario.iter().flat_map(|scenario| &scenario.feeds);
        let feeds = feeds.map(|feed| WireFeed::pack(&feed.data)).collect();
        Self { task: Task::Load, plan, headers, step_headers, authorities: Vec::new(), feeds }
    }

    /// Packs what is needed to measure the server of `plan`: no request is described, nor anything secret.
    pub fn observing(plan: RunPlan) -> Self {
        let target = Target { tls: None, ..plan.target };
        let request = RequestPlan { headers: Vec::new(), body: Body::default(), ..plan.request };
        let plan = RunPlan {
            target,
            request,
            scenario: None,
            share: None,
            checks: Checks::default(),
            sources: Vec::new(),
            ..plan
        };
        Self { task: Task::Observe, ..Self::pack(plan) }
    }

    /// What it is for.
    pub fn task(&self) -> Task {
        self.task
    }

    /// With what is in the files of authorities that the plan names, in their order.
    #[must_use]
    pub fn with_authorities(self, authorities: Vec<String>) -> Self {
        Self { authorities, ..self }
    }

    /// What is in those files.
    pub fn authorities(&self) -> &[String] {
        &self.authorities
    }

    /// How long it is when it is sent.
    pub fn bytes(&self) -> usize {
        serde_json::to_vec(self).map_or(usize::MAX, |json| json.len())
    }

    /// The plan, as it was packed.
    pub fn unpack(self) -> Result<RunPlan, ProtocolError> {
        let Self { task: _, mut plan, headers, step_headers, authorities: _, feeds: rows } = self;
        plan.request = RequestPlan { headers, ..plan.request };
        let flows = plan.scenario.iter_mut().flat_map(|scenario| &mut scenario.flows);
        let mut steps: Vec<_> = flows.flat_map(|flow| &mut flow.steps).collect();
        if steps.len() != step_headers.len() {
            return Err(ProtocolError::Bounds("number of steps"));
        }
        for (step, headers) in steps.iter_mut().zip(step_headers) {
            step.headers = headers;
        }
        let feeds: Vec<&mut Feed> =
            plan.scenario.iter_mut().flat_map(|scenario| &mut scenario.feeds).collect();
        if feeds.len() != rows.len() {
            return Err(ProtocolError::Bounds("number of feeds"));
        }
        for (feed, rows) in feeds.into_iter().zip(rows) {
            feed.data = Arc::new(rows.unpack(feed).ok_or(ProtocolError::Bounds("rows of a feed"))?);
        }
        Ok(plan)
    }
}
