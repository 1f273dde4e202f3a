//! What an agent runs: the engine, within the policy of this machine.

use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use prony_engine::{Control, RunExtras};
use prony_fleet::agent::Load;
use prony_fleet::protocol::Live;
use prony_lab::model::Role;
use prony_lab::policy::{Kind, Policy, agent_policy, kind};
use prony_model::{Phase, RunEvent, RunPlan, ServerHint};

use super::read;
use crate::cli_error::CliError;
use crate::{calibration, commit};

/// The engine and its policy.
pub(super) struct Engine {
    policy: Policy,
    /// Of the load that was prepared last.
    control: Mutex<Control>,
}

impl Engine {
    /// With the policy in the file at `path`.
    pub(super) fn new(path: Option<&Path>) -> Result<Self, CliError> {
        let text = path.map(read).transpose()?;
        let named = |why: String| match path {
            Some(path) => CliError::usage(format!("{}: {why}", path.display())),
            None => CliError::usage(why),
        };
        let policy = agent_policy(text.as_deref()).map_err(named)?;
        Ok(Self { policy, control: Mutex::default() })
    }

    /// `plan` with the addresses that its load goes to, each of which the policy allows.
    fn pinned(&self, mut plan: RunPlan) -> Result<RunPlan, String> {
        let target = &mut plan.target;
        // Agents act for nobody but the person who wrote their policy: public servers must be named in it.
        let role = Role::Runner;
        let addresses = if target.connect_to.is_empty() {
            self.policy.resolve_host(role, &target.host, target.port)
        } else {
            let checked =
                target.connect_to.iter().map(|address| self.policy.check(role, *address).map(|()| *address));
            checked.collect()
        };
        let addresses = addresses.map_err(|refusal| format!("its policy: {refusal}"))?;
        let public = addresses.iter().any(|address| kind(address.ip()) == Kind::Public);
        target.connect_to = addresses;
        // What this machine is to do is its share of the whole load.
        let own = RunPlan { load: plan.own_load(), share: None, ..plan.clone() };
        self.policy.check_plan(&own, public).map_err(|refusal| format!("its policy: {refusal}"))?;
        Ok(plan)
    }
}

impl Load for Engine {
    fn prepare(&self, plan: RunPlan) -> Result<RunPlan, String> {
        if plan.target.unix.is_some() {
            return Err("a Unix socket is on one machine only".to_owned());
        }
        plan.check().map_err(|error| CliError::from(error).in_a_line())?;
        let plan = self.pinned(plan)?;
        *self.control.lock().unwrap_or_else(PoisonError::into_inner) = Control::default();
        Ok(plan)
    }

    fn run(&self, plan: &RunPlan, at_ns: u64, live: &mut dyn FnMut(Live)) -> Result<Vec<u8>, String> {
        let control = self.control.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let start_at = Some(Duration::from_nanos(at_ns));
        let extras = RunExtras { server: ServerHint::default(), so_far: None, start_at };
        let mut phase = Phase::Warmup;
        let result = prony_engine::run_with(plan, &extras, &control, &mut |event| match event {
            RunEvent::Phase(next) => phase = next,
            RunEvent::Progress(progress) => live(Live {
                phase: match phase {
                    Phase::Warmup => "warmup",
                    Phase::Measure => "measure",
                    Phase::Drain => "drain",
                }
                .to_owned(),
                elapsed_ms: u64::try_from(progress.elapsed.as_millis()).unwrap_or(u64::MAX),
                done: progress.done,
                failed: progress.failed,
                rate_per_s: progress.rate_per_s,
            }),
            _ => {}
        });
        let mut result = result.map_err(|error| CliError::from(error).in_a_line())?;
        commit::note(&mut result.environment);
        calibration::compare(&mut result);
        Ok(prony_model::to_json(&result).into_bytes())
    }

    fn stop(&self, reason: &str) {
        self.control.lock().unwrap_or_else(PoisonError::into_inner).stop_because(|| reason.to_owned());
    }
}
