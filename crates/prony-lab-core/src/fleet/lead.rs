//! One load that agents make, from the search for them to the merged result.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use prony_fleet::clock::now_ns;
use prony_fleet::controller::{
    Arrived, EVENTS_MAX, Event, Line, Outcome, RunSettings, UNATTENDED, Wanted, agent_outcome, deadline,
    drive, milliseconds,
};
use prony_fleet::protocol::{AgentName, RunName, WirePlan};
use prony_lab_model::{BuildId, clock};
use prony_lab_store::StoreError;
use prony_lab_store::agent_runs::{self, AgentRun, KeptResult};
use prony_model::{AgentChoice, FleetResult, RunPlan, split};

use super::{Fleet, Leading, late, merge};

/// A server in the open is not loaded for longer than this without the lab.
const UNATTENDED_PUBLIC: Duration = Duration::from_secs(10);
/// How soon a load ends that is cancelled, or stopped.
const CANCEL_POLL: Duration = Duration::from_millis(100);

/// A load that agents are to make.
#[derive(Debug)]
pub struct LoadOrder {
    /// For which build,
    pub build: BuildId,
    /// and how often that was begun.
    pub attempt: u32,
    /// The load as one agent would make it, with the addresses that it goes to.
    pub plan: RunPlan,
    /// Who makes it.
    pub agents: AgentChoice,
    /// Whether one of the addresses is public.
    pub is_public: bool,
}

/// What came of it.
#[derive(Debug)]
pub struct Led {
    /// As the agents and the store know it.
    pub run: String,
    /// Results of agents that are committed.
    pub received: u32,
    /// What they measured together; nothing where no load began.
    pub result: Option<Box<FleetResult>>,
    /// Why it was given up.
    pub failure: Option<String>,
    /// Whether it was ended by hand.
    pub is_interrupted: bool,
}

impl Fleet {
    /// Leads a load to its end. What agents measured is committed to the store before they may delete it, also where the
    /// load fails. `is_cancelled` is asked again and again; `show` gets lines for people.
    pub fn lead(
        &self,
        order: &LoadOrder,
        is_cancelled: &(dyn Fn() -> bool + Sync),
        show: &mut dyn FnMut(&str),
    ) -> Result<Led, String> {
        let failed = |error: StoreError| format!("failed to {error}");
        let count = order.agents.count();
        let plan = &order.plan;
        let parts = split(plan, &vec![plan.threads; count]).map_err(|error| error.to_string())?;
        let of = plan.threads.saturating_mul(u32::try_from(count).unwrap_or(u32::MAX));
        let whole = RunPlan { threads: of, ..plan.clone() };
        let deadline = deadline(plan).ok_or("a load needs a known end")?;
        let shared = &self.shared;
        let run = run_name(order, self.epoch());
        let unattended = if order.is_public { UNATTENDED_PUBLIC } else { UNATTENDED };
        let drained = shared.state().drained.iter().filter_map(|name| AgentName::new(name)).collect();
        let settings = RunSettings {
            run: run.clone(),
            signer: std::sync::Arc::clone(&shared.signer),
            wanted: Wanted::of(&order.agents).ok_or("a name is none of an agent")?,
            drained,
            plans: parts.into_iter().map(WirePlan::pack).collect(),
            observer: None,
            version: shared.version.clone(),
            deadline_ms: milliseconds(deadline),
            max_unattended_ms: milliseconds(unattended),
        };
        let text = serde_json::to_string(&whole).map_err(|error| error.to_string())?;
        let (name, build) = (run.as_str().to_owned(), order.build);
        shared
            .store
            .write_blocking(move |tx| agent_runs::begin(tx, &name, build, &text, clock::wall()))
            .map_err(failed)?;
        let led = self.drive(settings, &run, is_cancelled, show);
        let outcome = match led {
            Ok(outcome) => outcome,
            Err(why) => {
                self.end(&run, Some(&why), Vec::new()).map_err(failed)?;
                return Err(why);
            }
        };
        let failures = outcome.agents.iter().map(|agent| agent.failure.clone()).collect();
        self.end(&run, outcome.failure.as_deref(), failures).map_err(failed)?;
        let kept = shared.store.read_blocking(|tx| {
            let Some(kept) = agent_runs::one(tx, run.as_str())? else { return Ok(None) };
            let results = agent_runs::results(tx, &kept)?;
            Ok(Some((kept, results)))
        });
        let kept = kept.map_err(failed)?;
        // An agent that was not heard any more may load still: it is told to stop as soon as it is heard.
        let missing = kept.iter().flat_map(|(kept, _)| late::orphans(kept, now_ns()));
        shared.state().orphans.extend(missing);
        Ok(Led {
            received: kept.as_ref().map_or(0, |(kept, _)| kept.received),
            result: kept.and_then(|(kept, results)| merged(&whole, &outcome, &kept, &results)).map(Box::new),
            failure: outcome.failure,
            is_interrupted: outcome.interrupted,
            run: run.into(),
        })
    }

    /// Has the run led by this thread.
    fn drive(
        &self,
        settings: RunSettings,
        run: &RunName,
        is_cancelled: &(dyn Fn() -> bool + Sync),
        show: &mut dyn FnMut(&str),
    ) -> Result<Outcome, String> {
        let shared = &self.shared;
        let (line, events) = sync_channel(EVENTS_MAX);
        {
            let mut state = shared.state();
            if let Some(stop) = &state.stopped {
                return Err(stop.sentence());
            }
            if !state.is_connected {
                let why = state.problem.as_ref().map_or_else(String::new, |why| format!(" ({why})"));
                return Err(format!("the lab has no connection to the broker{why}: is nats-server running?"));
            }
            state.leading = Some(Leading { run: run.clone(), line: line.clone() });
        }
        let bus = shared.bus.get().ok_or("the lab has no connection to the broker")?;
        let mut notes = Notes { fleet: self, run, line: line.clone(), clocks: Vec::new(), error: None };
        let store = &shared.store;
        let mut keep = |arrived: &Arrived| {
            // What can't be committed now is sent again.
            let kept = late::keep(store, arrived.clone());
            matches!(kept, Ok(KeptResult::New | KeptResult::Known))
        };
        let is_over = AtomicBool::new(false);
        let mut outcome = thread::scope(|scope| {
            let over = Over(&is_over);
            scope.spawn(|| {
                while !is_over.load(Ordering::Acquire) {
                    if is_cancelled() || self.stopped().is_some() {
                        // It is gone only when the run has ended.
                        drop(line.send(Line::Interrupt));
                        return;
                    }
                    thread::sleep(CANCEL_POLL);
                }
            });
            let outcome = drive(settings, bus, &events, &mut keep, &mut |event| {
                show(&super::describe(&event));
                notes.take(&event);
            });
            // So that nobody waits for room in it.
            drop(events);
            drop(over);
            outcome
        });
        shared.state().leading = None;
        if let Some(error) = notes.error {
            outcome.failure.get_or_insert(format!("the lab failed to {error}"));
        }
        Ok(outcome)
    }

    /// Notes that a run is over, whatever came of it.
    fn end(
        &self,
        run: &RunName,
        failure: Option<&str>,
        failures: Vec<Option<String>>,
    ) -> Result<(), StoreError> {
        let (run, failure) = (run.as_str().to_owned(), failure.map(str::to_owned));
        self.shared
            .store
            .write_blocking(move |tx| agent_runs::end(tx, &run, failure.as_deref(), &failures, clock::wall()))
    }
}

/// Ends what waits for the end of a run, however that ends.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

/// Keeps what must be known where the lab is killed in mid-run.
struct Notes<'a> {
    fleet: &'a Fleet,
    run: &'a RunName,
    line: SyncSender<Line>,
    /// Names and clocks of the agents, in the order of their parts.
    clocks: Vec<(AgentName, Option<(i64, u64)>)>,
    /// Why something of it could not be kept.
    error: Option<StoreError>,
}

impl Notes<'_> {
    fn take(&mut self, event: &Event) {
        let run = self.run.as_str().to_owned();
        let store = &self.fleet.shared.store;
        let written = match event {
            Event::Chosen { agents: names, .. } => {
                self.clocks = names.iter().map(|name| (name.clone(), None)).collect();
                let names: Vec<String> = names.iter().map(|name| name.as_str().to_owned()).collect();
                // Before any of them is asked: no load begins that the store doesn't know.
                store.write_blocking(move |tx| agent_runs::assign(tx, &run, &names))
            }
            Event::Ready(name, offset) => {
                self.fleet.shared.state().clocks.insert(name.clone(), (*offset, now_ns()));
                for (known, clock) in &mut self.clocks {
                    if known == name {
                        *clock = Some((offset.offset_ns, offset.bound_ns));
                    }
                }
                Ok(())
            }
            Event::Starting { at_ns, .. } => {
                let at_ns = *at_ns;
                let clocks: Vec<_> = self.clocks.iter().map(|(_, clock)| *clock).collect();
                store.write_blocking(move |tx| agent_runs::start(tx, &run, at_ns, &clocks))
            }
            _ => Ok(()),
        };
        if let Err(error) = written {
            self.error.get_or_insert(error);
            // Called by the thread that empties it: it has room, or the run sees the same at its end.
            drop(self.line.try_send(Line::Interrupt));
        }
    }
}

/// What the agents measured together: `results` are those that the store has of `kept`.
fn merged(
    whole: &RunPlan,
    outcome: &Outcome,
    kept: &AgentRun,
    results: &[Option<Vec<u8>>],
) -> Option<FleetResult> {
    let start_ns = outcome.start_ns?;
    if results.iter().all(Option::is_none) {
        return None;
    }
    let failure = outcome.failure.as_deref();
    let agents = outcome
        .agents
        .iter()
        .zip(merge::results(kept, results))
        .map(|(agent, (_, result))| {
            let clock = agent.offset.map(|offset| offset.of_agent());
            agent_outcome(agent.name.as_str(), clock, result, agent.absence(failure))
        })
        .collect();
    Some(prony_summary::merge(whole, start_ns, agents))
}

/// A name that no run had before: no lab has this epoch.
fn run_name(order: &LoadOrder, epoch: u64) -> RunName {
    let name = format!("b{}-{}-e{epoch}", order.build, order.attempt);
    RunName::new(&name).expect("invariant: digits make a name")
}
