//! A plan on its way to an agent. Stored plans have no secrets ([`RunPlan`] replaces them when it is written), an agent
//! needs them: so the headers go beside the plan.

use prony_model::{RequestPlan, RunPlan};
use serde::{Deserialize, Serialize};

use super::ProtocolError;

/// A plan and its headers. Never stored.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct WirePlan {
    plan: RunPlan,
    headers: Vec<(String, String)>,
    /// Of each step of each flow of a scenario, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    step_headers: Vec<Vec<(String, String)>>,
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
        Self { plan, headers, step_headers }
    }

    /// How long it is when it is sent.
    pub fn bytes(&self) -> usize {
        serde_json::to_vec(self).map_or(usize::MAX, |json| json.len())
    }

    /// The plan, as it was packed.
    pub fn unpack(self) -> Result<RunPlan, ProtocolError> {
        let Self { mut plan, headers, step_headers } = self;
        plan.request = RequestPlan { headers, ..plan.request };
        let flows = plan.scenario.iter_mut().flat_map(|scenario| &mut scenario.flows);
        let mut steps: Vec<_> = flows.flat_map(|flow| &mut flow.steps).collect();
        if steps.len() != step_headers.len() {
            return Err(ProtocolError::Bounds("number of steps"));
        }
        for (step, headers) in steps.iter_mut().zip(step_headers) {
            step.headers = headers;
        }
        Ok(plan)
    }
}
