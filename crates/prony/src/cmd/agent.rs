//! `prony agent`: an agent until SIGTERM or Ctrl-C; and what is done for agents beside that.

mod engine;
pub(super) mod nats_config;
mod results;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::sync_channel;

use prony_fleet::agent::{AgentSettings, EVENTS_MAX, Identity, Line, Load, ServeError, serve};
use prony_fleet::bus::NatsBus;
use prony_fleet::protocol::{AgentName, Subject};

use crate::args::{AgentAction, AgentArgs, AgentServeArgs};
use crate::cli_error::CliError;
use crate::exit::Exit;
use crate::fleet::broker;
use crate::user_folder::UserFolder;
use crate::{lab_key, output, signals};
use engine::Engine;

/// Runs the command of `args`.
pub(crate) fn agent(args: &AgentArgs) -> Result<Exit, CliError> {
    match &args.action {
        None => start(&args.serve),
        Some(AgentAction::NatsConfig(args)) => nats_config::nats_config(args),
        Some(AgentAction::Results(args)) => results::results(args),
        Some(AgentAction::LabKey(args)) => {
            let (key, _) = lab_key::private(args.lab_key.as_deref())?;
            output::print(&format!("{}\n", key.public()))?;
            Ok(Exit::Good)
        }
    }
}

fn start(args: &AgentServeArgs) -> Result<Exit, CliError> {
    let name = args.name.clone().map_or_else(machine_name, Ok)?;
    let controller = lab_key::public(args.lab_key.as_deref())?;
    let load: Arc<dyn Load> = Arc::new(Engine::new(args.policy.as_deref())?);
    let state = args.state.clone().map_or_else(|| state_folder(&name), Ok)?;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let identity = Identity {
        name: name.clone(),
        instance: instance()?,
        version: env!("PRONY_VERSION").to_owned(),
        cores: u32::try_from(cores).unwrap_or(u32::MAX),
        controller,
    };
    let options = broker(&args.broker, format!("prony agent {name}"), !args.check)?;
    let (sender, events) = sync_channel(EVENTS_MAX);
    let (arrived, ended) = (sender.clone(), sender.clone());
    let sink = move |event| {
        // What finds no room is sent again by the controller.
        drop(arrived.try_send(Line::Bus(event)));
    };
    let bus = NatsBus::connect(options, &Subject::of_agent(&name), Box::new(sink))
        .map_err(|error| CliError::target_failed(error.to_string()))?;
    if args.check {
        output::print(&format!("{name}: its key, policy and broker are good; it follows {controller}\n"))?;
        return Ok(Exit::Good);
    }
    signals::on_interrupt(move || {
        // The agent is gone only when it has ended already.
        drop(ended.send(Line::Drain));
    })?;
    output::print(&format!("{name}: prony {}, follows {controller}\n", identity.version))?;
    let mut note = |line: &str| {
        // Anyone who read the lines may have left; the agent goes on.
        drop(output::print(&format!("{name}: {}\n", prony_report::clean(line))));
    };
    serve(AgentSettings { identity, state, once: args.once }, &load, &bus, &sender, &events, &mut note)
        .map_err(|error| match error {
            ServeError::Bus(_) => CliError::target_failed(error.to_string()),
            ServeError::Locked(_) => {
                CliError::usage(error.to_string()).hint("give each agent a --name, or a --state, of its own")
            }
            _ => CliError::internal(error.to_string()),
        })?;
    Ok(Exit::Good)
}

/// A name that no other process has.
fn instance() -> Result<String, CliError> {
    let numbers = [super::run::seed()?, super::run::seed()?];
    Ok(format!("{:08x}{:08x}", numbers[0], numbers[1]))
}

/// The machine's name, as far as it can be one of an agent.
fn machine_name() -> Result<AgentName, CliError> {
    let uname = rustix::system::uname();
    let name = uname.nodename().to_string_lossy().replace('.', "-");
    AgentName::new(&name)
        .ok_or_else(|| CliError::usage("the agent has no name").hint("give it one: --name a"))
}

fn state_folder(name: &AgentName) -> Result<PathBuf, CliError> {
    let folder = UserFolder::State.path().map(|folder| folder.join("agents").join(name.as_str()));
    folder.ok_or_else(|| {
        CliError::usage("there is no folder for the agent's state")
            .hint("set HOME, or name one: --state FOLDER")
    })
}

/// Reads a file of settings.
fn read(path: &Path) -> Result<String, CliError> {
    std::fs::read_to_string(path).map_err(|error| CliError::usage(format!("{}: {error}", path.display())))
}
