//! Names of steps and stages in thresholds, compared with those of a plan before any load.

use super::{Figure, Threshold};
use crate::{Problem, RunPlan};

impl Threshold {
    /// Refuses a threshold on a step or a stage that `plan` does not have: no run of it could decide it. Routes of recorded
    /// requests are known only to the run.
    pub fn refuse_unknown_names(&self, plan: &RunPlan) -> Result<(), Problem> {
        let (kind, whose, name, names) = match self.figure {
            Figure::Step(name, _) if plan.replay.is_none() => ("step", "a scenario", name, steps(plan)),
            Figure::Stage(name, _) => ("stage", "--stages", name, stages(plan, name.as_str())),
            _ => return Ok(()),
        };
        if names.iter().any(|known| known == name.as_str()) {
            return Ok(());
        }
        let what = format!("`{self}` is about a {kind} that the load does not have");
        let advice = if names.is_empty() {
            format!("{kind}s are those of {whose}")
        } else {
            format!("its {kind}s are {}", names.join(", "))
        };
        Err(Problem::new(what, advice))
    }
}

fn steps(plan: &RunPlan) -> Vec<String> {
    let flows = plan.scenario.iter().flat_map(|scenario| &scenario.flows);
    flows.flat_map(|flow| &flow.steps).map(|step| step.name.clone()).collect()
}

/// The names of the stages; in place of its name the number of the one that `wanted` numbers.
fn stages(plan: &RunPlan, wanted: &str) -> Vec<String> {
    let stages = plan.stages.iter().flat_map(|stages| &stages.0);
    let name = |(place, stage): (usize, &crate::Stage)| {
        let number = (place + 1).to_string();
        if number == wanted { number } else { stage.name.clone().unwrap_or(number) }
    };
    stages.enumerate().map(name).collect()
}
