//! The agents that `prony lab` leads, and `prony lab stop-all`.

use std::sync::Arc;

use prony_fleet::bus::NatsBus;
use prony_fleet::protocol::Subject;
use prony_lab::{FleetError, FleetOptions, FleetThreads, Lab, LogEntry, LogLevel, StoreError, lead_agents};

use super::cli_error;
use super::local_admin::{done, open};
use crate::args::{BrokerArgs, LabAgentsArgs, LabStopAllArgs};
use crate::cli_error::CliError;
use crate::exit::Exit;
use crate::fleet::broker;
use crate::{lab_key, output};

/// The agents of a lab that runs, led until this is dropped. Nobody else leads any with the same key meanwhile.
pub(super) struct LedAgents {
    _threads: FleetThreads,
    _epoch: lab_key::Epoch,
}

/// Leads agents from now on, if `args` name a broker. A broker that is not there yet is tried again and again.
pub(super) fn lead(lab: &Lab, args: &LabAgentsArgs) -> Result<Option<LedAgents>, CliError> {
    let Some(nats) = &args.nats else { return Ok(None) };
    let (key, path) = lab_key::private(args.lab_key.as_deref())?;
    let mut epoch = lab_key::Epoch::next(&path)?;
    let public = key.public();
    let args = BrokerArgs {
        nats: Some(nats.clone()),
        nkey: args.nkey.clone(),
        nats_cacert: args.nats_cacert.clone(),
    };
    let options = broker(&args, "prony lab".to_owned(), true)?;
    let options = FleetOptions {
        key: Arc::new(key),
        version: env!("PRONY_VERSION").to_owned(),
        least_epoch: epoch.number,
        connect: Box::new(move |sink| {
            NatsBus::connect(options, &Subject::OF_CONTROLLER.map(str::to_owned), sink)
        }),
    };
    let threads = match lead_agents(lab, options) {
        Err(FleetError::Store(StoreError::Full)) => {
            let message = "this lab leads no agents: the disk was full when it started";
            lab.log().add(LogEntry::new(LogLevel::Warning, "agents.none", message));
            return Ok(None);
        }
        Err(FleetError::Store(error)) => return Err(cli_error(&error.into())),
        Err(error) => return Err(CliError::usage(error.to_string())),
        Ok(threads) => threads,
    };
    if let Some(fleet) = lab.fleet.get() {
        // The store may know of a higher one, of another machine.
        epoch.raise(fleet.epoch())?;
        let message = format!("leads agents through {nats}; they follow the key {public}");
        let entry = LogEntry::new(LogLevel::Info, "agents.led", message)
            .with("broker", nats.as_str())
            .with("key", public.to_string())
            .with("epoch", fleet.epoch());
        lab.log().add(entry);
    }
    Ok(Some(LedAgents { _threads: threads, _epoch: epoch }))
}

/// Ends all loads on all agents, or lets them go on.
pub(super) fn stop_all(args: &LabStopAllArgs) -> Result<Exit, CliError> {
    let admin = open(&args.place)?;
    if args.lift {
        let was_stopped = done(admin.lift_agents())?;
        output::write_stderr(if was_stopped { "agents take loads again\n" } else { "nothing was stopped\n" });
    } else {
        done(admin.stop_agents())?;
        output::write_stderr(
            "all loads on agents are stopped, and new ones refused until `prony lab stop-all --lift`\n",
        );
    }
    Ok(Exit::Good)
}
