//! What an agent runs: the engine, within the policy of this machine.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use prony_engine::{Control, RunExtras};
use prony_fleet::agent::Load;
use prony_fleet::protocol::Live;
use prony_lab::model::Role;
use prony_lab::policy::{AgentPolicy, Kind, agent_policy, kind};
use prony_model::{Phase, RunEvent, RunPlan};

use super::read;
use crate::cli_error::CliError;
use crate::{calibration, commit};

/// The engine and its policy.
pub(super) struct Engine {
    policy: AgentPolicy,
    /// Of what was prepared last.
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

    fn control(&self) -> Control {
        self.control.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What ended an earlier run does not end the next one.
    fn renew_control(&self) {
        *self.control.lock().unwrap_or_else(PoisonError::into_inner) = Control::default();
    }

    /// `plan` with the addresses that its load goes to, each of which the policy allows.
    fn pinned(&self, mut plan: RunPlan) -> Result<RunPlan, String> {
        let target = &mut plan.target;
        // Agents act for nobody but the person who wrote their policy: public servers must be named in it.
        let role = Role::Runner;
        let addresses = if target.connect_to.is_empty() {
            self.policy.load.resolve_host(role, &target.host, target.port)
        } else {
            let checked = target
                .connect_to
                .iter()
                .map(|address| self.policy.load.check(role, *address).map(|()| *address));
            checked.collect()
        };
        let addresses = addresses.map_err(|refusal| format!("its policy: {refusal}"))?;
        let public = addresses.iter().any(|address| kind(address.ip()) == Kind::Public);
        target.connect_to = addresses;
        // What this machine is to do is its share of the whole load.
        let own = RunPlan { load: plan.own_load(), share: None, ..plan.clone() };
        self.policy.load.check_plan(&own, public).map_err(|refusal| format!("its policy: {refusal}"))?;
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
        self.renew_control();
        Ok(plan)
    }

    fn prepare_observation(&self, plan: RunPlan) -> Result<RunPlan, String> {
        if plan.target.unix.is_some() {
            return Err("a Unix socket is on one machine only".to_owned());
        }
        let length = plan.end.duration().map(|measured| plan.warmup.saturating_add(measured));
        if length.is_none_or(|length| length > RunPlan::DURATION_MAX) {
            return Err("the measured part has no end, or is too long".to_owned());
        }
        let target = &plan.target;
        let ports: BTreeSet<u16> = match target.connect_to.as_slice() {
            [] => BTreeSet::from([target.port]),
            addresses => addresses.iter().map(SocketAddr::port).collect(),
        };
        for port in ports {
            self.policy.check_measured(port)?;
        }
        prony_engine::find_server(&plan).map_err(|error| CliError::from(error).in_a_line())?;
        self.renew_control();
        Ok(plan)
    }

    fn observe(&self, plan: &RunPlan, at_ns: u64) -> Result<Vec<u8>, String> {
        let found = prony_engine::observe_server(plan, Duration::from_nanos(at_ns), &self.control());
        let mut found = found.map_err(|error| CliError::from(error).in_a_line())?;
        commit::note(&mut found.environment);
        serde_json::to_vec(&found).map_err(|error| error.to_string())
    }

    fn run(&self, plan: &RunPlan, at_ns: u64, live: &mut dyn FnMut(Live)) -> Result<Vec<u8>, String> {
        let control = self.control();
        let start_at = Some(Duration::from_nanos(at_ns));
        let extras = RunExtras { start_at, ..RunExtras::default() };
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
        self.control().stop_because(|| reason.to_owned());
    }
}
