//! Loads that agents put on a server while this process leads: one connection to the broker, one key and one controller,
//! for a run, or for all runs of a study or a comparison one after the other. What agents measured is on disk before they
//! may delete it, and until it is reported (`kept.rs`).

mod broker;
mod kept;
mod merge;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TryRecvError, sync_channel};
use std::time::Duration;

use prony_fleet::bus::{Bus, BusEvent, NatsBus};
use prony_fleet::controller::{
    AGENTS_MAX, AgentResult, Arrived, EVENTS_MAX, Event, Line, Observer, Outcome, RunSettings, Signer,
    SliceState, UNATTENDED, Wanted, deadline, drive, find, milliseconds,
};
use prony_fleet::protocol::{AgentName, ControllerKey, PAYLOAD_MAX, RunName, Subject, WirePlan};
use prony_model::{AgentChoice, End, RunAgents, RunPlan, split};
use prony_study::Led;

use crate::args::LeadArgs;
use crate::cli_error::CliError;
use crate::{lab_key, output};

pub(crate) use broker::broker;
use kept::KeptRun;
pub(crate) use kept::{runs_folder, store};
pub(crate) use merge::{Part, merged};

/// Bytes of a plan at most: one message, less what is around it.
const PLAN_BYTES_MAX: usize = PAYLOAD_MAX - (16 << 10);
/// A number of requests has no length of its own, and no agent loads without an end: it has at most this long.
const REQUESTS_WITHIN: Duration = Duration::from_mins(10);
/// Between runs the broker may be restarted: a run waits so long for a connection.
const CONNECTION_WAIT: Duration = Duration::from_secs(10);
/// How often somebody who wants the work to end is looked for.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Leads agents.
pub(crate) struct Leader {
    key: Arc<ControllerKey>,
    epoch: lab_key::Epoch,
    bus: Arc<dyn Bus>,
    events: Receiver<Line>,
    gate: Arc<Gate>,
    interrupts: SyncSender<Line>,
    /// The processes that took part in runs before, by who was asked for.
    known: BTreeMap<RunAgents, Vec<(AgentName, String)>>,
    /// Runs whose results are in no report.
    kept: Vec<KeptRun>,
    /// Why there will be no connection any more.
    fatal: Option<String>,
}

/// What the threads around a leader share.
#[derive(Default)]
struct Gate {
    /// Whether a run is on: between runs nobody reads what agents send.
    open: AtomicBool,
    up: AtomicBool,
    stopped: AtomicBool,
}

impl Leader {
    /// Connects to the broker of `args`, as `name`.
    pub(crate) fn connect(args: &LeadArgs, name: &str) -> Result<Self, CliError> {
        let (key, path) = lab_key::private(args.lab_key.as_deref())?;
        let epoch = lab_key::Epoch::next(&path)?;
        let options = broker(&args.broker, name.to_owned(), false)?;
        let (interrupts, events) = sync_channel(EVENTS_MAX);
        let gate = Arc::new(Gate::default());
        let (arrived, at) = (interrupts.clone(), Arc::clone(&gate));
        let sink = move |event| {
            match event {
                BusEvent::Message { .. } if !at.open.load(Ordering::Acquire) => return,
                BusEvent::Up => at.up.store(true, Ordering::Release),
                BusEvent::Down => at.up.store(false, Ordering::Release),
                _ => {}
            }
            // What finds no room is sent again by the agents.
            drop(arrived.try_send(Line::Bus(event)));
        };
        let patterns = Subject::OF_CONTROLLER.map(str::to_owned);
        let bus = NatsBus::connect(options, &patterns, Box::new(sink))
            .map_err(|error| CliError::target_failed(error.to_string()))?;
        Ok(Self {
            key: Arc::new(key),
            epoch,
            bus,
            events,
            gate,
            interrupts,
            known: BTreeMap::new(),
            kept: Vec::new(),
            fatal: None,
        })
    }

    /// What ends the run that is on, and keeps others from beginning; for a thread that waits for signals.
    pub(crate) fn stopper(&self) -> impl Fn() + Send + use<> {
        let (gate, interrupts) = (Arc::clone(&self.gate), self.interrupts.clone());
        move || {
            gate.stopped.store(true, Ordering::Release);
            // Without room the flag is seen before the next run.
            drop(interrupts.try_send(Line::Interrupt));
        }
    }

    /// Looks for the agents of all runs to come, so that a missing one is known before any load.
    pub(crate) fn find(&mut self, choices: &[&RunAgents]) -> Result<(), CliError> {
        self.gate.open.store(true, Ordering::Release);
        let wanted: Vec<_> = choices.iter().map(|choice| (wanted(&choice.load), observer(choice))).collect();
        let found = self
            .listen()
            .and_then(|()| find(&wanted, env!("PRONY_VERSION"), &self.events).map_err(CliError::usage));
        self.gate.open.store(false, Ordering::Release);
        let choices = choices.iter().map(|&choice| choice.clone());
        self.known.extend(choices.zip(found?));
        Ok(())
    }

    /// The names of `agents`, which were found: where any so many would do, those that were taken.
    pub(crate) fn names(&self, agents: &RunAgents) -> Vec<String> {
        let found = self.known.get(agents).into_iter().flatten();
        found.take(agents.load.count()).map(|(name, _)| name.to_string()).collect()
    }

    /// Has `agents` put the load of `plan` on its server together. `threads` of the plan are each agent's; all else is
    /// that of the whole load.
    ///
    /// # Errors
    /// What is wrong with the plan or the connection, before any load.
    pub(crate) fn lead(
        &mut self,
        plan: &RunPlan,
        agents: &RunAgents,
        show: &mut dyn FnMut(Event),
    ) -> Result<Led, CliError> {
        let (plans, whole) = shares(plan, &agents.load)?;
        let deadline = deadline(&whole).expect("invariant: shares have an end by time");
        let plans = packed(plans)?;
        let observer =
            observer(agents).map(|agent| Observer { agent, plan: WirePlan::observing(whole.clone()) });
        self.gate.open.store(true, Ordering::Release);
        let led = self.listen().and_then(|()| {
            if self.gate.stopped.load(Ordering::Acquire) {
                return Ok(Led { fleet: None, failure: None, interrupted: true, lost: Vec::new() });
            }
            let epoch = self.epoch.advance()?;
            let wanted = match self.known.get(agents) {
                Some(processes) => Wanted::Known(processes.clone()),
                None => wanted(&agents.load),
            };
            let run = RunName::new(&format!("r{epoch}")).expect("invariant: digits make a name");
            let mut kept = KeptRun::new(&run, &whole)?;
            let settings = RunSettings {
                run,
                signer: Arc::new(Signer::new(Arc::clone(&self.key), epoch)),
                wanted,
                drained: BTreeSet::new(),
                plans,
                observer,
                version: env!("PRONY_VERSION").to_owned(),
                deadline_ms: milliseconds(deadline),
                max_unattended_ms: milliseconds(UNATTENDED),
            };
            let (folder, notes) = (&kept.folder, &mut kept.notes);
            let mut keep = |arrived: &Arrived| store(folder, arrived);
            let outcome = drive(settings, &self.bus, &self.events, &mut keep, &mut |event| {
                notes.take(&event, folder);
                show(event);
            });
            self.note(agents, &outcome);
            let fleet = kept.merge(&outcome);
            if kept.is_empty() {
                kept.remove();
            } else {
                self.kept.push(kept);
            }
            let is_lost = |agent: &&AgentResult| agent.state == SliceState::Lost;
            let lost = outcome.agents.iter().filter(is_lost).map(|agent| agent.name.to_string()).collect();
            Ok(Led { fleet, failure: outcome.failure, interrupted: outcome.interrupted, lost })
        });
        self.gate.open.store(false, Ordering::Release);
        led
    }

    /// What came of all runs so far is in a report, or in a file for one: its results need not be kept here.
    pub(crate) fn reported(&mut self) {
        self.kept.drain(..).for_each(KeptRun::remove);
    }

    /// Remembers who took part, so that the next run need not look for them; after a failure it does.
    fn note(&mut self, agents: &RunAgents, outcome: &Outcome) {
        let is_lost = outcome.observer.as_ref().is_some_and(|observer| observer.result.is_none());
        if outcome.failure.is_some() || is_lost {
            self.known.clear();
        } else {
            let all = outcome.agents.iter().chain(&outcome.observer);
            let processes = all.map(|agent| (agent.name.clone(), agent.instance.clone()));
            self.known.insert(agents.clone(), processes.collect());
        }
    }

    /// Drops what arrived between runs, and waits for a connection that was lost meanwhile.
    fn listen(&mut self) -> Result<(), CliError> {
        loop {
            match self.events.try_recv() {
                Ok(Line::Bus(BusEvent::Fatal(why))) => self.fatal = Some(why),
                Ok(_) => {}
                Err(TryRecvError::Empty | TryRecvError::Disconnected) => break,
            }
        }
        let mut waited = Duration::ZERO;
        while self.fatal.is_none() && !self.gate.up.load(Ordering::Acquire) {
            if self.gate.stopped.load(Ordering::Acquire) || waited >= CONNECTION_WAIT {
                break;
            }
            match self.events.recv_timeout(POLL_INTERVAL) {
                Ok(Line::Bus(BusEvent::Fatal(why))) => self.fatal = Some(why),
                Ok(_) => {}
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => waited += POLL_INTERVAL,
            }
        }
        match &self.fatal {
            Some(why) => Err(CliError::target_failed(why.clone())),
            None if self.gate.up.load(Ordering::Acquire) || self.gate.stopped.load(Ordering::Acquire) => {
                Ok(())
            }
            None => Err(CliError::target_failed("the connection to the broker is lost")
                .hint("is nats-server still running?")),
        }
    }
}

impl Drop for Leader {
    fn drop(&mut self) {
        let folder = match self.kept.as_slice() {
            [] => return,
            [kept] => kept.folder.path(),
            [kept, ..] => kept.folder.path().parent().unwrap_or(kept.folder.path()),
        };
        output::write_stderr(&format!(
            "the results of the agents are in {}; prony agent results makes a report of them\n",
            folder.display()
        ));
    }
}

/// The shares of `plan`, and the plan of the whole load as a merged result has it.
pub(crate) fn shares(plan: &RunPlan, agents: &AgentChoice) -> Result<(Vec<RunPlan>, RunPlan), CliError> {
    let count = agents.count();
    if count > AGENTS_MAX {
        return Err(CliError::usage(format!("a run has 1 to {AGENTS_MAX} agents, and {count} are wanted")));
    }
    let end = match plan.end {
        End::Requests(requests) => End::First { duration: REQUESTS_WITHIN, requests },
        end => end,
    };
    let plan = RunPlan { end, ..plan.clone() };
    // `threads` is about a machine, here about each.
    let plans = split(&plan, &vec![plan.threads; count])?;
    let of = plan.threads.saturating_mul(u32::try_from(count).unwrap_or(u32::MAX));
    Ok((plans, RunPlan { threads: of, ..plan }))
}

/// Plans as they are sent, with the files that they name.
pub(crate) fn packed(plans: Vec<RunPlan>) -> Result<Vec<WirePlan>, CliError> {
    let tls = plans.first().and_then(|plan| plan.target.tls.as_ref());
    if tls.is_some_and(|tls| tls.client_certificate.is_some()) {
        return Err(CliError::usage("a client's certificate and its key are not sent to agents")
            .hint("leave out the agents, or the certificate"));
    }
    let files = tls.map(|tls| tls.ca_files.as_slice()).unwrap_or_default();
    let authorities = files.iter().map(|file| authority(file)).collect::<Result<Vec<_>, _>>()?;
    let pack = |plan| WirePlan::pack(plan).with_authorities(authorities.clone());
    let packed: Vec<WirePlan> = plans.into_iter().map(pack).collect();
    match packed.iter().map(WirePlan::bytes).max() {
        Some(bytes) if bytes > PLAN_BYTES_MAX => Err(CliError::usage(format!(
            "the load takes {bytes} bytes to describe, and agents are sent {PLAN_BYTES_MAX} at most"
        ))
        .hint("is the body, or a feed of the scenario, that long?")),
        _ => Ok(packed),
    }
}

/// The certificates in a file.
fn authority(file: &Path) -> Result<String, CliError> {
    let failed = |error| CliError::usage(format!("can't read {} ({error})", file.display()));
    let mut text = String::new();
    let bytes_max = PLAN_BYTES_MAX as u64;
    File::open(file).map_err(failed)?.take(bytes_max).read_to_string(&mut text).map_err(failed)?;
    Ok(text)
}

fn wanted(agents: &AgentChoice) -> Wanted {
    Wanted::of(agents).expect("invariant: choices have checked names")
}

/// The agent that measures the server.
fn observer(agents: &RunAgents) -> Option<AgentName> {
    let name = agents.server.as_ref()?;
    Some(AgentName::new(name).expect("invariant: choices have checked names"))
}
