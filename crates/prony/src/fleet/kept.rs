//! What agents measured in a run, on this machine's disk: from before they hear that it is committed until it is in a
//! report. Where this process is killed meanwhile, `prony agent results` makes the report.

use std::io;
use std::path::PathBuf;

use prony_fleet::controller::{AboutAgent, AboutRun, Arrived, Event, Outcome, RunFolder};
use prony_fleet::protocol::{AgentName, RunName};
use prony_model::{FleetResult, RunPlan};

use super::merge::{Part, merged};
use crate::cli_error::CliError;
use crate::output;
use crate::user_folder::UserFolder;

/// Where runs have their folders until they are reported.
pub(crate) fn runs_folder() -> io::Result<PathBuf> {
    let folder = UserFolder::State.path().map(|folder| folder.join("runs"));
    folder.ok_or_else(|| io::Error::other("set HOME or XDG_STATE_HOME"))
}

/// Keeps a result, if the disk can; the agent has it otherwise.
pub(crate) fn store(folder: &RunFolder, arrived: &Arrived) -> bool {
    let stored = folder.store(arrived);
    if let Err(error) = &stored {
        output::write_stderr(&format!(
            "error: the result of the agent {} can't be kept in {} ({error}); the agent has it: prony agent results\n",
            arrived.agent,
            folder.path().display()
        ));
    }
    stored.is_ok()
}

/// The results of a run.
pub(super) struct KeptRun {
    pub(super) folder: RunFolder,
    pub(super) notes: Notes,
    /// Whose results are here.
    agents: Vec<AgentName>,
}

/// What a merge will need.
pub(super) struct Notes(AboutRun);

impl KeptRun {
    /// A folder for `run` of the load `whole`.
    pub(super) fn new(run: &RunName, whole: &RunPlan) -> Result<Self, CliError> {
        let opened = runs_folder().and_then(|runs| RunFolder::open(&runs, run)).and_then(|folder| {
            folder.ok_or_else(|| io::Error::other(format!("another process uses that of the run {run}")))
        });
        let folder = opened.map_err(|error| {
            CliError::usage(format!("there is no folder for the results of agents ({error})"))
        })?;
        let about = AboutRun {
            prony: env!("PRONY_VERSION").to_owned(),
            plan: whole.clone(),
            start_ns: 0,
            agents: Vec::new(),
            observer: None,
        };
        Ok(Self { folder, notes: Notes(about), agents: Vec::new() })
    }

    /// What came of the run together, where at least one agent has measured.
    pub(super) fn merge(&mut self, outcome: &Outcome) -> Option<FleetResult> {
        let with_result =
            outcome.agents.iter().chain(&outcome.observer).filter(|agent| agent.result.is_some());
        self.agents = with_result.map(|agent| agent.name.clone()).collect();
        let has_loaded = outcome.agents.iter().any(|agent| agent.result.is_some());
        let start_ns = outcome.start_ns.filter(|_| has_loaded)?;
        let part = |agent: &prony_fleet::controller::AgentResult| Part {
            name: agent.name.clone(),
            clock: agent.offset.map(|offset| offset.of_agent()),
            absence: agent.absence(outcome.failure.as_deref()),
        };
        let parts: Vec<Part> = outcome.agents.iter().map(part).collect();
        let observer = outcome.observer.as_ref().map(part);
        Some(merged(&self.notes.0.plan, start_ns, &parts, observer.as_ref(), &self.folder))
    }

    /// Whether it has any.
    pub(super) fn is_empty(&self) -> bool {
        self.agents.is_empty()
    }

    /// Deletes it: what it has is in a report.
    pub(super) fn remove(self) {
        let path = self.folder.path().to_owned();
        if let Err(error) = self.folder.remove(&self.agents) {
            output::write_stderr(&format!("error: {}: {error}\n", path.display()));
        }
    }
}

impl Notes {
    /// Takes what `event` has; on the disk of `folder` before the load begins.
    pub(super) fn take(&mut self, event: &Event, folder: &RunFolder) {
        let about = &mut self.0;
        match event {
            Event::Chosen { agents, observer } => {
                let agent = |name: &AgentName| AboutAgent { name: name.clone(), clock: None };
                about.agents = agents.iter().map(agent).collect();
                about.observer = observer.as_ref().map(agent);
            }
            Event::Ready(name, offset) => {
                let mut all = about.agents.iter_mut().chain(&mut about.observer);
                if let Some(agent) = all.find(|agent| agent.name == *name) {
                    agent.clock = Some(offset.of_agent());
                }
            }
            Event::Starting { at_ns, .. } => {
                about.start_ns = *at_ns;
                if let Err(error) = folder.begin(about) {
                    output::write_stderr(&format!("error: {}: {error}\n", folder.path().display()));
                }
            }
            _ => {}
        }
    }
}
