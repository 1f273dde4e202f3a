//! The controller as a state machine: something happened in, actions out. No I/O, no clock.

mod phases;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::assembly::Taken;
use super::discovery::Discovery;
pub use super::discovery::Wanted;
use super::outcome::{Arrived, Outcome};
use super::signer::{About, Signer};
use super::slot::{Pending, SliceState, Slot};
use super::{ANSWER_LIMIT_NS, BEAT_NS, LOST_NS, RESEND_NS, SUSPECT_NS};
use crate::clock::Offset;
use crate::protocol::{
    AgentName, Answer, Command, Envelope, Heartbeat, Live, Part, Report, ResultKind, RunName, Subject,
    WirePlan,
};

/// A run.
#[derive(Debug)]
pub struct RunSettings {
    /// Its name, never used before.
    pub run: RunName,
    /// What signs the commands.
    pub signer: Arc<Signer>,
    /// Which agents.
    pub wanted: Wanted,
    /// Agents that are to take no load, whoever asks for them.
    pub drained: BTreeSet<AgentName>,
    /// A part of the load for each.
    pub plans: Vec<WirePlan>,
    /// The agent that measures the server on its own host.
    pub observer: Option<Observer>,
    /// Prony's version and commit: that of the agents, too.
    pub version: String,
    /// The load of each agent ends this long after its start, whatever happens, in milliseconds.
    pub deadline_ms: u64,
    /// And this long after the controller was last heard, in milliseconds.
    pub max_unattended_ms: u64,
}

/// The agent that measures the server on its own host: it takes part in the start and the end of the run, and its loss does
/// not fail it.
#[derive(Debug, Clone)]
pub struct Observer {
    /// Its name.
    pub agent: AgentName,
    /// What it measures ([`WirePlan::observing`]).
    pub plan: WirePlan,
}

/// What happened.
#[derive(Debug)]
pub enum Input {
    /// A message arrived.
    Message {
        /// Where.
        subject: Subject,
        /// As it is.
        bytes: Vec<u8>,
    },
    /// The result of the agent at this place is stored where it will be found again.
    Stored(usize),
    /// There is a connection to the bus (again).
    Connected,
    /// There is none.
    Disconnected,
    /// The run is to end early.
    Interrupt,
    /// Time has passed. At least ten times a second.
    Tick,
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Send this; it may get lost.
    Publish(Subject, Vec<u8>),
    /// Store this result of the agent at this place, then say so.
    Store(usize, Arrived),
    /// Show this.
    Show(Event),
    /// The run is over.
    Done(Box<Outcome>),
}

/// What people may want to know while it happens.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// These agents take part.
    Chosen {
        /// Those that load, in the order of their shares.
        agents: Vec<AgentName>,
        /// The one that measures the server.
        observer: Option<AgentName>,
    },
    /// An agent's clock was compared.
    Ready(AgentName, Offset),
    /// The load will begin.
    Starting {
        /// When, on the controller's monotonic clock, nanoseconds.
        at_ns: u64,
        /// After so many nanoseconds.
        in_ns: u64,
    },
    /// How far an agent is.
    Live(AgentName, Live),
    /// An agent is not heard.
    Suspect(AgentName),
    /// It is heard again.
    Back(AgentName),
    /// An agent's result arrived.
    Result(AgentName),
    /// The agent that measures the server has no figures; the run goes on.
    ObserverLost(String),
    /// The run is given up.
    GivenUp(String),
    /// Something about the connection to the bus.
    Connection(String),
}

/// How far the run is.
#[derive(Debug)]
enum Phase {
    Discovering(Discovery),
    Offering,
    Arming,
    Starting,
    /// Until this moment at most.
    Running(u64),
    Stopping(u64),
    Lingering(u64),
    Done,
}

/// A run's controller.
#[derive(Debug)]
pub struct Controller {
    settings: RunSettings,
    slots: Vec<Slot>,
    /// Where each agent is in `slots`.
    places: BTreeMap<AgentName, usize>,
    phase: Phase,
    commands: u64,
    beat_ns: u64,
    start_ns: Option<u64>,
    connected: bool,
    failure: Option<String>,
    interrupted: bool,
}

impl Controller {
    /// One that looks for its agents from now on.
    pub fn new(mut settings: RunSettings, now_ns: u64) -> Self {
        let discovery = Discovery::new(std::mem::take(&mut settings.drained), now_ns);
        Self {
            settings,
            slots: Vec::new(),
            places: BTreeMap::new(),
            phase: Phase::Discovering(discovery),
            commands: 0,
            beat_ns: now_ns,
            start_ns: None,
            connected: true,
            failure: None,
            interrupted: false,
        }
    }

    /// What follows from `input`.
    pub fn handle(&mut self, input: Input, now_ns: u64) -> Vec<Action> {
        let mut actions = Vec::new();
        match input {
            Input::Message { subject, bytes } => self.message(&subject, &bytes, now_ns, &mut actions),
            Input::Stored(place) => self.stored(place, now_ns, &mut actions),
            Input::Connected => {
                self.connected = true;
                // The silence was ours.
                self.slots.iter_mut().for_each(|slot| slot.heard_ns = now_ns);
            }
            Input::Disconnected => self.connected = false,
            Input::Interrupt => {
                self.interrupted = true;
                self.stop("ended by hand", now_ns, &mut actions);
            }
            Input::Tick => self.tick(now_ns, &mut actions),
        }
        self.advance(now_ns, &mut actions);
        actions
    }

    fn message(&mut self, subject: &Subject, bytes: &[u8], now_ns: u64, actions: &mut Vec<Action>) {
        // What can't be read is nobody's: an agent sends it again, or is lost.
        let (Some(name), Ok(envelope)) = (subject.agent(), Envelope::<Report>::decode(bytes)) else { return };
        if let (Phase::Discovering(discovery), Report::Heartbeat(heartbeat)) =
            (&mut self.phase, &envelope.message)
        {
            discovery.heard(name, heartbeat.clone());
            return;
        }
        let Some(place) = self.places.get(name).copied() else { return };
        match (subject, envelope.message) {
            (Subject::Heartbeat(_), Report::Heartbeat(heartbeat)) => {
                self.heartbeat(place, &heartbeat, now_ns, actions);
            }
            (Subject::Clock(_), Report::Ping { ping }) => {
                self.send(place, &Command::Pong { ping, at_ns: now_ns }, now_ns, actions);
            }
            (Subject::Event(_, run), Report::Reply { to, answer }) if *run == self.settings.run => {
                self.reply(place, &to, answer, now_ns, actions);
            }
            (Subject::Live(_, run), Report::Live(live)) if *run == self.settings.run => {
                actions.push(Action::Show(Event::Live(name.clone(), live)));
            }
            (Subject::Result(_, run), Report::Part(part)) if *run == self.settings.run => {
                self.part(place, &part, now_ns, actions);
            }
            _ => {}
        }
    }

    fn heartbeat(&mut self, place: usize, heartbeat: &Heartbeat, now_ns: u64, actions: &mut Vec<Action>) {
        let slot = &mut self.slots[place];
        if heartbeat.instance == slot.instance {
            slot.heard_ns = now_ns;
            if std::mem::take(&mut slot.suspect) {
                actions.push(Action::Show(Event::Back(slot.name.clone())));
            }
            slot.settled = slot.committed.is_some() && heartbeat.spooled == 0;
        } else if !slot.state.is_over() {
            let why = format!("the agent {} was restarted during the run", slot.name);
            self.lose(place, why, now_ns, actions);
        }
    }

    fn reply(&mut self, place: usize, to: &str, answer: Answer, now_ns: u64, actions: &mut Vec<Action>) {
        let slot = &mut self.slots[place];
        if slot.pending.as_ref().is_none_or(|pending| pending.id != to) {
            return;
        }
        slot.pending = None;
        match (answer, slot.state) {
            (Answer::Accepted, SliceState::Offered) => slot.state = SliceState::Accepted,
            (Answer::Ready { offset_ns, bound_ns, rtt_ns }, SliceState::Accepted) => {
                let offset = Offset { offset_ns, bound_ns, rtt_ns };
                slot.state = SliceState::Ready;
                slot.offset = Some(offset);
                actions.push(Action::Show(Event::Ready(slot.name.clone(), offset)));
            }
            (Answer::Scheduled, SliceState::Ready) | (Answer::Stopping { result: true }, _) => {
                slot.state = SliceState::Running;
            }
            (Answer::Stopping { result: false }, _) => slot.state = SliceState::Aborted,
            (Answer::Refused { why }, SliceState::Offered | SliceState::Accepted | SliceState::Ready) => {
                let why = format!("the agent {} refused: {}", slot.name, shown(&why));
                slot.state = SliceState::Refused;
                slot.failure = Some(why.clone());
                self.fail(place, why, now_ns, actions);
            }
            _ => {}
        }
    }

    fn part(&mut self, place: usize, part: &Part, now_ns: u64, actions: &mut Vec<Action>) {
        let slot = &mut self.slots[place];
        let result = part.result.clone();
        let command = match slot.assembly.take(part) {
            Taken::More(next) => Command::Received { result, next },
            Taken::Whole(is, bytes) => {
                // A load ran whose start was never confirmed: the answer was lost.
                if !slot.state.is_over() {
                    slot.state = SliceState::Running;
                }
                slot.committed = None;
                slot.assembly_id = Some(result.clone());
                slot.arrived = Some((is, bytes));
                self.store(place, actions);
                let slot = &self.slots[place];
                Command::Received { result, next: slot.assembly.next() }
            }
            Taken::Again if slot.committed.as_ref() == Some(&result) => Command::Committed { result },
            Taken::Again => {
                // It could not be stored when it arrived.
                self.store(place, actions);
                let slot = &self.slots[place];
                Command::Received { result, next: slot.assembly.next() }
            }
            Taken::Bad(_) => return,
        };
        self.send(place, &command, now_ns, actions);
    }

    /// Has what arrived from the agent at `place` stored.
    fn store(&self, place: usize, actions: &mut Vec<Action>) {
        let slot = &self.slots[place];
        let (Some((is, bytes)), Some(id)) = (slot.arrived.clone(), slot.assembly_id.clone()) else { return };
        let (agent, run) = (slot.name.clone(), self.settings.run.clone());
        actions.push(Action::Store(place, Arrived { agent, run, slice: slice_of(place), id, is, bytes }));
    }

    fn stored(&mut self, place: usize, now_ns: u64, actions: &mut Vec<Action>) {
        let slot = &mut self.slots[place];
        // From now on its bytes are where they were stored.
        let (Some(result), Some((is, bytes))) = (slot.assembly_id.clone(), slot.arrived.take()) else {
            return;
        };
        slot.result = Some(is);
        slot.committed = Some(result.clone());
        slot.pending = None;
        // A result of an agent that was given up is kept, but the verdict stands.
        let mut failed = None;
        if slot.state != SliceState::Lost {
            slot.state = SliceState::Committed;
            if is == ResultKind::Failed {
                let why =
                    format!("the agent {} failed: {}", slot.name, shown(&String::from_utf8_lossy(&bytes)));
                slot.failure = Some(why.clone());
                failed = Some(why);
            }
        }
        actions.push(Action::Show(Event::Result(slot.name.clone())));
        self.send(place, &Command::Committed { result }, now_ns, actions);
        if let Some(why) = failed {
            self.fail(place, why, now_ns, actions);
        }
    }

    fn tick(&mut self, now_ns: u64, actions: &mut Vec<Action>) {
        if now_ns.saturating_sub(self.beat_ns) >= BEAT_NS {
            self.beat_ns = now_ns;
            for place in 0..self.slots.len() {
                if !self.slots[place].state.is_over() {
                    self.send(place, &Command::Beat, now_ns, actions);
                }
            }
        }
        for place in 0..self.slots.len() {
            self.look_after(place, now_ns, actions);
        }
    }

    /// Sends again what has no answer, and gives up an agent that is not heard.
    fn look_after(&mut self, place: usize, now_ns: u64, actions: &mut Vec<Action>) {
        let connected = self.connected;
        let slot = &mut self.slots[place];
        if slot.state.is_over() || !connected {
            return;
        }
        let silence_ns = now_ns.saturating_sub(slot.heard_ns);
        if silence_ns >= LOST_NS {
            let why = format!("the agent {} is lost: not heard for {} s", slot.name, LOST_NS / 1_000_000_000);
            self.lose(place, why, now_ns, actions);
            return;
        }
        if silence_ns >= SUSPECT_NS && !slot.suspect {
            slot.suspect = true;
            actions.push(Action::Show(Event::Suspect(slot.name.clone())));
        }
        let Some(pending) = &mut slot.pending else { return };
        if now_ns.saturating_sub(pending.first_ns) >= ANSWER_LIMIT_NS {
            let why = format!(
                "the agent {} does not answer: has it the right --lab-key, and the broker's permissions?",
                slot.name
            );
            self.lose(place, why, now_ns, actions);
        } else if now_ns.saturating_sub(pending.last_ns) >= RESEND_NS {
            pending.last_ns = now_ns;
            let (id, command) = (pending.id.clone(), pending.command.clone());
            self.send_as(place, id, &command, now_ns, actions);
        }
    }

    fn lose(&mut self, place: usize, why: String, now_ns: u64, actions: &mut Vec<Action>) {
        let slot = &mut self.slots[place];
        slot.state = SliceState::Lost;
        slot.pending = None;
        slot.failure = Some(why.clone());
        self.fail(place, why, now_ns, actions);
    }

    /// The agent at `place` has failed, and the run with it; but once the load is on, not with the one that measures the
    /// server.
    fn fail(&mut self, place: usize, why: String, now_ns: u64, actions: &mut Vec<Action>) {
        if !self.slots[place].observes || self.is_before_load() {
            self.give_up(why, now_ns, actions);
        } else {
            actions.push(Action::Show(Event::ObserverLost(why)));
        }
    }

    /// Sends a command until it is answered.
    fn order(&mut self, place: usize, command: Command, now_ns: u64, actions: &mut Vec<Action>) {
        self.commands += 1;
        let id = format!("{}-{}", self.settings.run, self.commands);
        self.send_as(place, id.clone(), &command, now_ns, actions);
        self.slots[place].pending = Some(Pending { id, command, first_ns: now_ns, last_ns: now_ns });
    }

    /// Sends a command once.
    fn send(&mut self, place: usize, command: &Command, now_ns: u64, actions: &mut Vec<Action>) {
        self.commands += 1;
        let id = format!("{}-{}", self.settings.run, self.commands);
        self.send_as(place, id, command, now_ns, actions);
    }

    fn send_as(
        &mut self,
        place: usize,
        msg_id: String,
        command: &Command,
        now_ns: u64,
        actions: &mut Vec<Action>,
    ) {
        let about =
            About { id: msg_id, run: Some(self.settings.run.clone()), slice: slice_of(place), attempt: 1 };
        let subject = Subject::Command(self.slots[place].name.clone());
        let bytes = self.settings.signer.seal(&subject, about, command.clone(), now_ns);
        actions.push(Action::Publish(subject, bytes));
    }
}

/// The part of the load of the agent at `place`.
fn slice_of(place: usize) -> u32 {
    u32::try_from(place).unwrap_or(u32::MAX)
}

/// Foreign text, short and on one line.
fn shown(text: &str) -> String {
    text.chars().map(|character| if character.is_control() { ' ' } else { character }).take(500).collect()
}
