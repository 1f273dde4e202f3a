//! Collects results whose controller has ended: agents keep them until somebody says that they are stored.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::collector::{Collector, IDLE_NS, Next};
use super::signer::{About, Signer};
use super::{Arrived, DISCOVER_MIN_NS, LOST_NS, SEEN_MAX};
use crate::protocol::{AgentName, Command, Envelope, Heartbeat, Part, Report, RunName, Subject, Work};

/// Results of one agent; its spool holds no more.
const RESULTS_MAX: usize = 64;
/// Without any progress for so long, the rest stays where it is: longer than a silent agent keeps others waiting.
const STALLED_NS: u64 = IDLE_NS + 10_000_000_000;

/// Who collects.
#[derive(Debug)]
pub struct CollectSettings {
    /// Begins the ids of its commands; never used before.
    pub run: RunName,
    /// What signs the commands.
    pub signer: Arc<Signer>,
}

/// What happened.
#[derive(Debug)]
pub enum CollectInput {
    /// A message arrived.
    Message {
        /// Where.
        subject: Subject,
        /// As it is.
        bytes: Vec<u8>,
    },
    /// This result of this agent is stored where it will be found again.
    Stored(AgentName, String),
    /// It is not, and stays with the agent.
    NotStored(AgentName, String),
    /// Time has passed.
    Tick,
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq)]
pub enum CollectAction {
    /// Send this; it may get lost.
    Publish(Subject, Vec<u8>),
    /// Store this result, then say whether it is stored.
    Store(Arrived),
    /// No more results come. What agents still hold, by name.
    Done(BTreeMap<AgentName, u32>),
}

/// An agent, as its last heartbeat says.
#[derive(Debug, Default)]
struct Heard {
    spooled: u32,
    busy: bool,
    at_ns: u64,
    /// Its results that are stored.
    stored: usize,
    /// Those that can't be stored.
    refused: BTreeSet<String>,
}

/// Collects until no agent holds a result.
#[derive(Debug)]
pub struct Collection {
    settings: CollectSettings,
    agents: BTreeMap<AgentName, Heard>,
    collector: Collector,
    commands: u64,
    since_ns: u64,
    progress_ns: u64,
}

impl Collection {
    /// One that listens from now on.
    pub fn new(settings: CollectSettings, now_ns: u64) -> Self {
        Self {
            settings,
            agents: BTreeMap::new(),
            collector: Collector::default(),
            commands: 0,
            since_ns: now_ns,
            progress_ns: now_ns,
        }
    }

    /// What follows from `input`.
    pub fn handle(&mut self, input: CollectInput, now_ns: u64) -> Vec<CollectAction> {
        let mut actions = Vec::new();
        match input {
            CollectInput::Message { subject, bytes } => {
                // What can't be read is nobody's: an agent sends it again.
                if let (Some(name), Ok(envelope)) = (subject.agent(), Envelope::<Report>::decode(&bytes)) {
                    self.message(&subject, name, envelope, now_ns, &mut actions);
                }
            }
            CollectInput::Stored(name, result) => self.stored(&name, result, now_ns, &mut actions),
            CollectInput::NotStored(name, result) => {
                if let Some(heard) = self.agents.get_mut(&name) {
                    heard.refused.insert(result);
                }
            }
            CollectInput::Tick => {}
        }
        if let Some(held) = self.left(now_ns) {
            actions.push(CollectAction::Done(held));
        }
        actions
    }

    fn message(
        &mut self,
        subject: &Subject,
        name: &AgentName,
        envelope: Envelope<Report>,
        now_ns: u64,
        actions: &mut Vec<CollectAction>,
    ) {
        match (subject, envelope.message) {
            (Subject::Heartbeat(_), Report::Heartbeat(heartbeat)) => {
                self.heartbeat(name, &heartbeat, now_ns, actions);
            }
            (Subject::Result(_, run), Report::Part(part)) => {
                self.part(name, run, envelope.slice, &part, now_ns, actions);
            }
            _ => {}
        }
    }

    fn heartbeat(
        &mut self,
        name: &AgentName,
        heartbeat: &Heartbeat,
        now_ns: u64,
        actions: &mut Vec<CollectAction>,
    ) {
        if self.agents.len() >= SEEN_MAX && !self.agents.contains_key(name) {
            return;
        }
        let heard = self.agents.entry(name.clone()).or_default();
        heard.spooled = heartbeat.spooled;
        heard.busy = heartbeat.work == Work::Busy;
        heard.at_ns = now_ns;
        if heard.spooled > 0 && !heard.busy {
            // A controller that is heard is a reason to send what nobody has fetched for long.
            self.send(name, Command::Beat, now_ns, actions);
        }
    }

    fn part(
        &mut self,
        name: &AgentName,
        run: &RunName,
        slice: u32,
        part: &Part,
        now_ns: u64,
        actions: &mut Vec<CollectAction>,
    ) {
        let Some(heard) = self.agents.get_mut(name) else { return };
        // A command of ours would make those of the run that an agent is busy with stale.
        if heard.busy || heard.refused.contains(&part.result) {
            return;
        }
        match self.collector.take(name, run, slice, part, now_ns) {
            Next::Nothing => {}
            Next::Answer(command) => {
                self.progress_ns = now_ns;
                self.send(name, command, now_ns, actions);
            }
            Next::Store(arrived) => {
                self.progress_ns = now_ns;
                if heard.stored + heard.refused.len() < RESULTS_MAX {
                    actions.push(CollectAction::Store(*arrived));
                }
            }
        }
    }

    fn stored(&mut self, name: &AgentName, result: String, now_ns: u64, actions: &mut Vec<CollectAction>) {
        if let Some(heard) = self.agents.get_mut(name) {
            heard.stored += 1;
            self.progress_ns = now_ns;
            let command = self.collector.stored((name.clone(), result));
            self.send(name, command, now_ns, actions);
        }
    }

    /// What agents still hold, if nothing more comes.
    fn left(&self, now_ns: u64) -> Option<BTreeMap<AgentName, u32>> {
        let holders = || self.agents.iter().filter(|(_, heard)| heard.spooled > 0);
        let waits = holders().any(|(_, heard)| {
            let is_there = !heard.busy && now_ns.saturating_sub(heard.at_ns) < LOST_NS;
            is_there && heard.spooled as usize > heard.refused.len()
        });
        let stalled = now_ns.saturating_sub(self.progress_ns) >= STALLED_NS;
        let listened = now_ns.saturating_sub(self.since_ns) >= DISCOVER_MIN_NS;
        (listened && (!waits || stalled))
            .then(|| holders().map(|(name, heard)| (name.clone(), heard.spooled)).collect())
    }

    fn send(&mut self, name: &AgentName, command: Command, now_ns: u64, actions: &mut Vec<CollectAction>) {
        self.commands += 1;
        let run = &self.settings.run;
        let about =
            About { id: format!("{run}-{}", self.commands), run: Some(run.clone()), slice: 0, attempt: 0 };
        let subject = Subject::Command(name.clone());
        let bytes = self.settings.signer.seal(&subject, about, command, now_ns);
        actions.push(CollectAction::Publish(subject, bytes));
    }
}
