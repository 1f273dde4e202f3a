//! Results that arrive when nobody leads their load any more: the lab was killed in mid-run, or it had given an agent up.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use prony_fleet::clock::now_ns;
use prony_fleet::controller::{Arrived, Collector, Next, UNATTENDED};
use prony_fleet::protocol::{AgentName, Envelope, Part, Report, ResultKind, RunName};
use prony_lab_model::clock;
use prony_lab_store::agent_runs::{self, AgentResultKind, AgentRun, KeptResult};
use prony_lab_store::{Store, StoreError};

use super::arrivals::LatePart;
use super::{Shared, merge};

/// Why a load failed that an earlier lab led.
pub(super) const LEFT: &str = "the lab was stopped while it led the load";
/// Why an agent is told to stop whose load nobody leads any more.
pub(super) const OVER: &str = "the load is over for the lab";
/// Beyond the time after which agents end a load that nobody watches, there is none to be ended.
const ORPHAN_MARGIN: Duration = Duration::from_secs(15);
/// Between two looks for results that are not merged.
const MERGE_EVERY: Duration = Duration::from_secs(1);
/// Results of one load arrive together: after the last one, others are waited for so long.
const MERGE_AFTER: Duration = Duration::from_secs(10);

/// The part of an agent in a load that nobody leads any more, without a result: it is told to stop until it answers.
#[derive(Debug, Clone)]
pub(super) struct Orphan {
    pub(super) agent: AgentName,
    pub(super) run: RunName,
    pub(super) slice: u32,
    /// The id of the command, so that it has one effect and one answer.
    pub(super) command: Option<String>,
    pub(super) until_ns: u64,
}

/// The agents of `run` whose results are not here.
pub(super) fn orphans(run: &AgentRun, now_ns: u64) -> Vec<Orphan> {
    let Some(name) = RunName::new(&run.name) else { return Vec::new() };
    let wait = u64::try_from((UNATTENDED + ORPHAN_MARGIN).as_nanos()).unwrap_or(u64::MAX);
    let missing = (0_u32..).zip(&run.slices).filter(|(_, slice)| slice.result.is_none());
    let orphans = missing.filter_map(|(place, slice)| {
        Some(Orphan {
            agent: AgentName::new(&slice.agent)?,
            run: name.clone(),
            slice: place,
            command: Some(format!("{}-left-{place}", run.name)),
            until_ns: now_ns.saturating_add(wait),
        })
    });
    orphans.collect()
}

/// Collects them.
pub(super) struct Collecting {
    shared: Arc<Shared>,
    arrived: Receiver<LatePart>,
    collector: Collector,
    merge_at: Duration,
}

impl Collecting {
    pub(super) fn new(shared: Arc<Shared>, arrived: Receiver<LatePart>) -> Self {
        Self { shared, arrived, collector: Collector::default(), merge_at: Duration::ZERO }
    }

    /// Takes a message, if there is one, and merges what has arrived; how long to wait after that.
    pub(super) fn turn(&mut self) -> Duration {
        let pause = match self.arrived.recv_timeout(super::TICK) {
            Ok(part) => {
                self.take(&part);
                Duration::ZERO
            }
            Err(RecvTimeoutError::Timeout) => Duration::ZERO,
            // The bus is gone; what has arrived is merged still.
            Err(RecvTimeoutError::Disconnected) => super::TICK,
        };
        if clock::steady() >= self.merge_at {
            self.merge_at = clock::steady() + MERGE_EVERY;
            // What the store can't do now is done the next time.
            let _ = merge_late(&self.shared.store);
        }
        pause
    }

    fn take(&mut self, part: &LatePart) {
        let LatePart { agent, run, payload } = part;
        let Ok(envelope) = Envelope::<Report>::decode(payload) else { return };
        let (slice, Report::Part(part)) = (envelope.slice, envelope.message) else { return };
        // Results of loads that this lab never led are somebody else's, and an agent speaks for its own part only.
        let asked = self.shared.store.read_blocking(|tx| agent_runs::agent_of(tx, run.as_str(), slice));
        if asked.is_ok_and(|asked| asked.as_deref() == Some(agent.as_str())) {
            self.part(agent, run, slice, &part);
        }
    }

    fn part(&mut self, agent: &AgentName, run: &RunName, slice: u32, part: &Part) {
        let answer = match self.collector.take(agent, run, slice, part, now_ns()) {
            Next::Nothing => return,
            Next::Answer(command) => command,
            Next::Store(arrived) => {
                let key = (arrived.agent.clone(), arrived.id.clone());
                match keep(&self.shared.store, *arrived) {
                    Ok(KeptResult::New | KeptResult::Known) => self.collector.stored(key),
                    // It stays in the agent's spool.
                    Ok(KeptResult::Foreign) | Err(_) => return,
                }
            }
        };
        self.shared.send(agent, run, slice, None, answer);
    }
}

/// Commits a result; only after that its agent may delete it.
pub(super) fn keep(store: &Store, arrived: Arrived) -> Result<KeptResult, StoreError> {
    let Arrived { run, slice, bytes, .. } = arrived;
    let is = match arrived.is {
        ResultKind::Finished => AgentResultKind::Finished,
        ResultKind::Failed => AgentResultKind::Failed,
    };
    store.write_blocking(move |tx| agent_runs::keep(tx, run.as_str(), slice, is, &bytes, clock::wall()))
}

/// Merges what has arrived of loads whose builds are over.
pub(super) fn merge_late(store: &Store) -> Result<(), StoreError> {
    for run in store.read_blocking(agent_runs::unmerged)? {
        let last = run.slices.iter().filter_map(|slice| slice.received_at).max();
        let is_whole = run.slices.iter().all(|slice| slice.result.is_some());
        let is_quiet = last.is_none_or(|last| last < clock::wall().before(MERGE_AFTER));
        if is_whole || is_quiet {
            merge::revise(store, &run)?;
        }
    }
    Ok(())
}
