//! The agents that this lab leads: machines that put a load on a server together. Decision 026 has the reasons.
//!
//! The lab itself is their controller, with one key, one epoch for each start, and one connection to the broker. SQL has
//! what was asked of whom and what came of it (`prony-lab-store/src/agent_runs.rs`); what is in memory here (who is heard,
//! what is led now) may get lost.
//!
//! `arrivals.rs` sorts what the bus has, `lead.rs` leads one load, `late.rs` takes results that come when nobody leads
//! their load any more, `merge.rs` makes one result of all.

mod arrivals;
mod late;
mod lead;
mod merge;
#[cfg(test)]
mod tests;
mod words;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use prony_fleet::bus::{Bus, BusError, Sink};
use prony_fleet::clock::{Offset, now_ns};
use prony_fleet::controller::{About, Line, Presence, Roster, Signer};
use prony_fleet::protocol::{AgentName, Command, ControllerKey, RunName, Subject};
use prony_lab_model::{AgentClock, AgentRow, Agents, AgentsStop, clock};
use prony_lab_store::background::Background;
use prony_lab_store::{Store, StoreError, agent_runs};
use prony_model::ClockOffset;

use late::Orphan;
pub use lead::{Led, LoadOrder};
pub use merge::merged_files;
pub use words::describe;

/// Parts of results that nobody waits for any more, until they are taken: at most 64 MiB.
const LATE_MAX: usize = 64;
/// Between two looks at what has to be sent again.
const TICK: Duration = Duration::from_millis(500);

/// Connects to a broker; what that has goes to the sink.
pub type Connect = Box<dyn FnOnce(Sink) -> Result<Arc<dyn Bus>, BusError>>;

/// What a lab needs to lead agents.
pub struct FleetOptions {
    /// What signs its commands. Nobody else may use it as long as the lab runs.
    pub key: Arc<ControllerKey>,
    /// Prony's version and commit: that of the agents, too.
    pub version: String,
    /// Above every epoch in which the key has signed, as far as its owner knows.
    pub least_epoch: u64,
    /// The way to the broker.
    pub connect: Connect,
}

/// Why a lab can't lead agents.
#[derive(Debug, thiserror::Error)]
pub enum FleetError {
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The broker.
    #[error("{0}")]
    Bus(#[from] BusError),
    /// No thread.
    #[error("the system has no thread for it: {0}")]
    Thread(std::io::Error),
}

/// The agents of a lab. Cheap to clone.
#[derive(Clone)]
pub struct Fleet {
    shared: Arc<Shared>,
}

/// The threads of a fleet, until it is dropped.
pub struct FleetThreads {
    _ticks: Background,
    _late: Background,
}

struct Shared {
    store: Store,
    signer: Arc<Signer>,
    version: String,
    bus: OnceLock<Arc<dyn Bus>>,
    state: Mutex<State>,
    /// Commands that were sent beside those of a run.
    commands: AtomicU64,
}

#[derive(Default)]
struct State {
    roster: Roster,
    /// How clocks stood, and when that was found out.
    clocks: BTreeMap<AgentName, (Offset, u64)>,
    leading: Option<Leading>,
    stopped: Option<AgentsStop>,
    /// Agents that take no loads until they are resumed.
    drained: BTreeSet<String>,
    is_connected: bool,
    problem: Option<String>,
    orphans: Vec<Orphan>,
}

/// The run that is led now.
struct Leading {
    run: RunName,
    line: SyncSender<Line>,
}

impl Fleet {
    /// Leads agents from now on; the epoch of this lab is committed when this returns. Loads that an earlier lab led are
    /// over: their agents are told to stop, and what they measured is collected.
    pub fn start(store: &Store, options: FleetOptions) -> Result<(Self, FleetThreads), FleetError> {
        let least = options.least_epoch;
        let now = clock::wall();
        let (epoch, stopped, drained, left) = store.write_blocking(move |tx| {
            let left = agent_runs::left_open(tx)?;
            for run in &left {
                agent_runs::end(tx, &run.name, Some(late::LEFT), &[], now)?;
            }
            let epoch = agent_runs::next_epoch(tx, least)?;
            Ok((epoch, agent_runs::stop(tx)?, agent_runs::drained(tx)?, left))
        })?;
        let orphans = left.iter().flat_map(|run| late::orphans(run, now_ns())).collect();
        let shared = Arc::new(Shared {
            store: store.clone(),
            signer: Arc::new(Signer::new(options.key, epoch)),
            version: options.version,
            bus: OnceLock::new(),
            state: Mutex::new(State { stopped, drained, orphans, ..State::default() }),
            commands: AtomicU64::new(0),
        });
        let (sender, results) = sync_channel(LATE_MAX);
        let sink = Arc::clone(&shared);
        let bus = (options.connect)(Box::new(move |event| sink.arrived(event, &sender)))?;
        // Nobody else sets it.
        let _ = shared.bus.set(bus);
        let ticks = Arc::clone(&shared);
        let ticks = Background::start("lab-agents", move || ticks.tick()).map_err(FleetError::Thread)?;
        let mut collecting = late::Collecting::new(Arc::clone(&shared), results);
        let late = Background::start("lab-results", move || collecting.turn()).map_err(FleetError::Thread)?;
        Ok((Self { shared }, FleetThreads { _ticks: ticks, _late: late }))
    }

    /// The epoch of its commands.
    pub fn epoch(&self) -> u64 {
        self.shared.signer.epoch()
    }

    /// Who is there, and what is led.
    pub fn agents(&self) -> Agents {
        let now = now_ns();
        let state = self.shared.state();
        let rows = state.roster.list(now).into_iter().map(|listed| {
            let refused = listed.heartbeat.refused;
            AgentRow {
                state: listed.presence.name().to_owned(),
                is_drained: state.drained.contains(listed.name.as_str()),
                is_same_version: listed.heartbeat.version == self.shared.version,
                version: shown(&listed.heartbeat.version),
                cores: listed.heartbeat.cores,
                clock: state.clocks.get(&listed.name).map(|(offset, at_ns)| {
                    let ClockOffset { offset_ns, bound_ns } = offset.of_agent();
                    AgentClock { offset_ns, bound_ns, age_ms: now.saturating_sub(*at_ns) / 1_000_000 }
                }),
                silence_ms: listed.silence_ns / 1_000_000,
                spooled: listed.heartbeat.spooled,
                refused: refused
                    .forged
                    .saturating_add(refused.stale)
                    .saturating_add(refused.replayed)
                    .saturating_add(refused.unreadable),
                name: listed.name.into(),
            }
        });
        Agents {
            has_broker: true,
            agents: rows.collect(),
            is_connected: state.is_connected,
            problem: state.problem.clone(),
            stopped: state.stopped.clone(),
            run: state.leading.as_ref().map(|leading| leading.run.to_string()),
        }
    }

    /// The names among `names` that were not heard in the last day.
    pub fn unknown<'a>(&self, names: &'a [String]) -> Vec<&'a str> {
        let (now, state) = (now_ns(), self.shared.state());
        let is_known = |name: &str| AgentName::new(name).is_some_and(|name| state.roster.knows(&name, now));
        names.iter().map(String::as_str).filter(|name| !is_known(name)).collect()
    }

    /// Who stopped all loads of agents, where nobody has lifted that.
    pub fn stopped(&self) -> Option<AgentsStop> {
        self.shared.state().stopped.clone()
    }

    /// Which agents take no loads: those that have one end it as planned.
    pub fn set_drained(&self, drained: BTreeSet<String>) {
        self.shared.state().drained = drained;
    }

    /// The names among `names` that take no loads.
    pub fn drained<'a>(&self, names: &'a [String]) -> Vec<&'a str> {
        let state = self.shared.state();
        names.iter().map(String::as_str).filter(|name| state.drained.contains(*name)).collect()
    }

    /// Ends all loads on all agents, and refuses new ones until [`Self::lift`]. Waits for nothing, the store least of all:
    /// who calls it writes it down afterwards. How many agents had a load.
    pub fn stop(&self, stop: AgentsStop) -> usize {
        let mut state = self.shared.state();
        let now = now_ns();
        let busy = state.roster.list(now).iter().filter(|listed| listed.presence == Presence::Busy).count();
        state.stopped = Some(stop);
        if let Some(leading) = &state.leading {
            // Where there is no room, the thread that leads the run sees it within a tenth of a second.
            drop(leading.line.try_send(Line::Interrupt));
        }
        drop(state);
        self.shared.broadcast_stop(now);
        busy
    }

    /// Takes loads again.
    pub fn lift(&self) {
        self.shared.state().stopped = None;
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        // Each change of it is whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends again what nobody has answered.
    fn tick(&self) -> Duration {
        let now = now_ns();
        let mut state = self.state();
        let is_busy = |roster: &Roster| {
            roster
                .list(now)
                .iter()
                .any(|listed| matches!(listed.presence, Presence::Busy | Presence::Suspect))
        };
        let is_stopping = state.stopped.is_some() && is_busy(&state.roster);
        state.orphans.retain(|orphan| orphan.until_ns > now);
        let orphans = state.orphans.clone();
        drop(state);
        if is_stopping {
            self.broadcast_stop(now);
        }
        for orphan in orphans {
            let stop = Command::Stop { reason: late::OVER.to_owned() };
            self.send(&orphan.agent, &orphan.run, orphan.slice, orphan.command, stop);
        }
        TICK
    }

    /// Tells every agent to end its load, whatever run that is of.
    fn broadcast_stop(&self, now_ns: u64) {
        let command = Command::Stop { reason: "all loads on agents are stopped".to_owned() };
        let about = About { id: self.next_id(), run: None, slice: 0, attempt: 1 };
        self.publish(&Subject::StopAll, about, command, now_ns);
    }

    /// Sends a command about a part of a run; `id` where it was sent before.
    fn send(&self, agent: &AgentName, run: &RunName, slice: u32, id: Option<String>, command: Command) {
        let id = id.unwrap_or_else(|| self.next_id());
        let about = About { id, run: Some(run.clone()), slice, attempt: 1 };
        self.publish(&Subject::Command(agent.clone()), about, command, now_ns());
    }

    fn publish(&self, subject: &Subject, about: About, command: Command, now_ns: u64) {
        if let Some(bus) = self.bus.get() {
            // What gets lost is sent again.
            drop(bus.publish(subject, self.signer.seal(subject, about, command, now_ns)));
        }
    }

    /// The id of a command that no other has.
    fn next_id(&self) -> String {
        let number = self.commands.fetch_add(1, Ordering::Relaxed);
        format!("lab-{}-{number}", self.signer.epoch())
    }
}

/// Foreign text, short and on one line.
fn shown(text: &str) -> String {
    text.chars().filter(|character| !character.is_control()).take(80).collect()
}
