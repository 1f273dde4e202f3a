//! `prony agent results`: collects what agents measured for runs whose controller has ended, and reports those runs.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;

use prony_fleet::bus::NatsBus;
use prony_fleet::controller::{
    AboutAgent, AboutRun, Arrived, CollectSettings, EVENTS_MAX, Event, Line, Reported, RunFolder, Signer,
    collect,
};
use prony_fleet::protocol::{AgentName, ResultKind, RunName, Subject};
use prony_model::words::plural;
use prony_model::{Absence, AbsenceKind};

use crate::args::ResultsArgs;
use crate::cli_error::CliError;
use crate::exit::Exit;
use crate::fleet::{Part, broker, merged, runs_folder, store};
use crate::{lab_key, output, signals};

/// Collects, and says what there is.
pub(super) fn results(args: &ResultsArgs) -> Result<Exit, CliError> {
    let runs = runs_folder().map_err(|error| CliError::usage(error.to_string()))?;
    let (key, path) = lab_key::private(args.lab_key.as_deref())?;
    let epoch = lab_key::Epoch::next(&path)?;
    let options = broker(&args.broker, "prony agent results".to_owned(), false)?;
    let (sender, events) = sync_channel(EVENTS_MAX);
    let arrived = sender.clone();
    let sink = move |event| {
        // What finds no room is sent again by the agents.
        drop(arrived.try_send(Line::Bus(event)));
    };
    let patterns = Subject::OF_CONTROLLER.map(str::to_owned);
    let bus = NatsBus::connect(options, &patterns, Box::new(sink))
        .map_err(|error| CliError::target_failed(error.to_string()))?;
    signals::on_interrupt(move || drop(sender.send(Line::Interrupt)))?;
    let settings = CollectSettings {
        run: RunName::new(&format!("c{}", epoch.number)).expect("invariant: digits make a name"),
        signer: Arc::new(Signer::new(Arc::new(key), epoch.number)),
    };
    let reported =
        Reported::read(&runs).map_err(|error| CliError::internal(format!("{}: {error}", runs.display())))?;
    let mut folders = Folders { runs: &runs, reported, open: BTreeMap::new() };
    let held = collect(settings, &bus, &events, &mut |arrived| folders.store(arrived), &mut |event| {
        if let Event::Connection(what) = event {
            output::write_stderr(&format!("{}\n", prony_report::clean(&what)));
        }
    });
    let collected = folders.open.len();
    drop(folders);
    let reported =
        report_all(&runs).map_err(|error| CliError::internal(format!("{}: {error}", runs.display())))?;
    if reported == 0 && collected == 0 && held.is_empty() {
        output::print("no agent holds a result, and no run was left without a report\n")?;
    }
    for (name, count) in &held {
        output::write_stderr(&format!(
            "the agent {name} still holds {}: of a run that is on (try again after that), of one that can't be kept here, or of \
             a lab's, which collects it when it starts\n",
            plural(u64::from(*count), "result")
        ));
    }
    Ok(if held.is_empty() { Exit::Good } else { Exit::Invalid })
}

/// The folders of the runs of which results arrive.
struct Folders<'a> {
    runs: &'a Path,
    reported: Reported,
    open: BTreeMap<RunName, RunFolder>,
}

impl Folders<'_> {
    /// Whether a result is kept.
    fn store(&mut self, arrived: &Arrived) -> bool {
        // A lab, which has other names for its loads, collects its own.
        if !arrived.run.as_str().starts_with('r') {
            return false;
        }
        if self.reported.has(&arrived.run, &arrived.agent) {
            // Only the agent's copy is left.
            return true;
        }
        if !self.open.contains_key(&arrived.run) {
            match RunFolder::open(self.runs, &arrived.run) {
                Ok(Some(folder)) => {
                    self.open.insert(arrived.run.clone(), folder);
                }
                // Its controller is there.
                Ok(None) => return false,
                Err(error) => {
                    output::write_stderr(&format!("error: {}: {error}\n", self.runs.display()));
                    return false;
                }
            }
        }
        store(&self.open[&arrived.run], arrived)
    }
}

/// Reports every run that was left; how many there were.
fn report_all(runs: &Path) -> io::Result<usize> {
    let mut count = 0;
    for run in RunFolder::all(runs)? {
        let Some(folder) = RunFolder::open(runs, &run)? else { continue };
        match folder.about()? {
            Some(about) => {
                report(&run, &about, &folder)?;
                count += 1;
            }
            None => count += usize::from(list(&run, folder)?),
        }
    }
    Ok(count)
}

/// Merges what there is of a run.
fn report(run: &RunName, about: &AboutRun, folder: &RunFolder) -> io::Result<()> {
    let absence = |name: &AgentName| match folder.result(name) {
        Ok(Some((ResultKind::Failed, why))) => {
            let reason = prony_report::clean(&String::from_utf8_lossy(&why));
            Absence { kind: AbsenceKind::Failed, reason }
        }
        _ => Absence {
            kind: AbsenceKind::Lost,
            reason: "its result was not collected: its controller ended before".to_owned(),
        },
    };
    let part = |agent: &AboutAgent| Part {
        name: agent.name.clone(),
        clock: agent.clock,
        absence: absence(&agent.name),
    };
    let parts: Vec<Part> = about.agents.iter().map(part).collect();
    let mut there = 0;
    for part in &parts {
        there += usize::from(folder.result(&part.name)?.is_some());
    }
    if there == 0 {
        output::write_stderr(&format!("{run}: no result yet of {} agents\n", parts.len()));
        return Ok(());
    }
    let observer = about.observer.as_ref().map(part);
    let fleet = merged(&about.plan, about.start_ns, &parts, observer.as_ref(), folder);
    let path = folder.finish(prony_model::fleet_to_json(&fleet).as_bytes(), there == parts.len())?;
    let line = format!("{run}: {there} of {} results: prony report {}\n", parts.len(), path.display());
    output::print(&line).map_err(|error| io::Error::other(error.text()))
}

/// Says where the results of a run are that this machine knows no plan of; whether there are any. Drops the folder of a run
/// that never began.
fn list(run: &RunName, folder: RunFolder) -> io::Result<bool> {
    let results = folder.path().join("results");
    if folder.path().join("fleet.json").exists() || !results.exists() {
        return Ok(false);
    }
    let count = std::fs::read_dir(&results)?.count();
    if count > 0 {
        let line = format!(
            "{run}: {} without the plan of the whole load, which was led from elsewhere: {}\n",
            plural(count as u64, "result"),
            results.display()
        );
        output::print(&line).map_err(|error| io::Error::other(error.text()))?;
    }
    if count == 0 {
        folder.remove(&[])?;
    }
    Ok(count > 0)
}
