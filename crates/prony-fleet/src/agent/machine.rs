//! The agent as a state machine: something happened in, actions out, to be done in their order. No I/O, no clock.

mod follow;

use std::collections::VecDeque;

use super::journal::Entry;
use super::slice::{Overdue, Slice, State};
use super::spool::Spooled;
use super::upload::Upload;
use super::{ANSWERS_MAX, DRAIN_LIMIT_NS};
use crate::protocol::{
    AgentName, Answer, Envelope, Heartbeat, Live, ProtocolError, PublicKey, Refusals, ReplayWindow, Report,
    RunName, Subject, V_MINOR, WirePlan, Work, open,
};

/// Who an agent is.
#[derive(Debug, Clone)]
pub struct Identity {
    /// Its name.
    pub name: AgentName,
    /// Random, new at each start.
    pub instance: String,
    /// Prony's version and commit.
    pub version: String,
    /// Cores that it may use.
    pub cores: u32,
    /// Whose commands it follows.
    pub controller: PublicKey,
}

/// What happened.
#[derive(Debug)]
pub enum Input {
    /// A message arrived at this moment.
    Message {
        /// Where.
        subject: Subject,
        /// As it is.
        bytes: Vec<u8>,
    },
    /// The plan of the offer was checked; `Err` has what is wrong with it.
    Prepared(Result<(), String>),
    /// The load goes on.
    Live(Live),
    /// The load is over, and what came of it is in the spool.
    Ended(Spooled),
    /// The connection to the bus is there again.
    Connected,
    /// The agent is to end.
    Drain,
    /// Time has passed. At least ten times a second.
    Tick,
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Send this; it may get lost.
    Publish(Subject, Vec<u8>),
    /// Write this to disk before any later action.
    Journal(Entry),
    /// Check this plan, and keep it.
    Prepare(Box<WirePlan>),
    /// Forget the plan.
    Release,
    /// Begin the load at this moment of the agent's clock, whose result is of this run, epoch, slice and attempt.
    Start(u64, RunName, u64, u32, u32),
    /// End the load.
    StopLoad(String),
    /// Send these parts of a result.
    SendPart(Spooled, u32),
    /// Delete a result.
    Delete(Spooled),
    /// Something for people to read.
    Note(String),
    /// End the process: all is done.
    Exit,
    /// End the process at once: a load that should be over isn't.
    Abort(String),
}

/// An agent.
#[derive(Debug)]
pub struct Agent {
    identity: Identity,
    window: ReplayWindow,
    refused: Refusals,
    answers: VecDeque<Entry>,
    /// Runs that a process before this one took part in: they are not taken up again.
    earlier: Vec<RunName>,
    slice: Option<Slice>,
    /// Whether a plan is being checked, for this slice or one that was given up.
    preparing: bool,
    uploads: VecDeque<Upload>,
    draining_since: Option<u64>,
    seq: u64,
}

impl Agent {
    /// An agent that has answered `entries` and holds results in its spool.
    pub fn new(identity: Identity, entries: Vec<Entry>, spooled: Vec<Spooled>) -> Self {
        let highest = entries.iter().map(|entry| (entry.epoch, entry.counter)).max();
        let window = highest
            .map_or_else(ReplayWindow::default, |(epoch, counter)| ReplayWindow::after(epoch, counter));
        let mut earlier: Vec<RunName> = entries.iter().map(|entry| entry.run.clone()).collect();
        earlier.sort();
        earlier.dedup();
        Self {
            identity,
            window,
            refused: Refusals::default(),
            answers: entries.into(),
            earlier,
            slice: None,
            preparing: false,
            uploads: spooled.into_iter().map(Upload::new).collect(),
            draining_since: None,
            seq: 0,
        }
    }

    /// What it reports once a second.
    pub fn heartbeat(&self) -> Heartbeat {
        let work = match (&self.slice, self.draining_since) {
            (_, Some(_)) => Work::Draining,
            (Some(_), None) => Work::Busy,
            (None, None) => Work::Idle,
        };
        Heartbeat {
            instance: self.identity.instance.clone(),
            version: self.identity.version.clone(),
            work,
            cores: self.identity.cores,
            spooled: u32::try_from(self.uploads.len()).unwrap_or(u32::MAX),
            refused: self.refused,
        }
    }

    /// The epoch that it follows.
    pub fn epoch(&self) -> u64 {
        self.window.epoch()
    }

    /// Answers that are to be kept when the journal is rewritten, the oldest first.
    pub fn answers(&self) -> impl Iterator<Item = &Entry> {
        self.answers.iter()
    }

    /// What follows from `input`.
    pub fn handle(&mut self, input: Input, now_ns: u64) -> Vec<Action> {
        let mut actions = Vec::new();
        match input {
            Input::Message { subject, bytes } => self.message(&subject, &bytes, now_ns, &mut actions),
            Input::Prepared(outcome) => self.prepared(outcome, &mut actions, now_ns),
            Input::Live(live) => self.live(live, now_ns, &mut actions),
            Input::Ended(spooled) => {
                self.slice = None;
                self.uploads.push_back(Upload::new(spooled));
            }
            Input::Connected => self.uploads.iter_mut().for_each(Upload::hurry),
            Input::Drain => self.drain(now_ns, &mut actions),
            Input::Tick => self.tick(now_ns, &mut actions),
        }
        self.upload(now_ns, &mut actions);
        actions
    }

    fn message(&mut self, subject: &Subject, bytes: &[u8], now_ns: u64, actions: &mut Vec<Action>) {
        let before = self.window.epoch();
        let accepted = open(&self.identity.controller, subject, bytes).and_then(|envelope| {
            self.window.accept(envelope.lab_epoch, envelope.seq)?;
            Ok(envelope)
        });
        if self.window.epoch() > before {
            // Another controller is there: it may take what the one before left.
            self.uploads.iter_mut().for_each(Upload::hurry);
        }
        match accepted {
            Ok(envelope) => self.command(envelope, now_ns, actions),
            Err(error) => {
                let count = match &error {
                    ProtocolError::Forged => &mut self.refused.forged,
                    ProtocolError::StaleEpoch { .. } => &mut self.refused.stale,
                    ProtocolError::Replayed(_) => &mut self.refused.replayed,
                    ProtocolError::TooLong { .. }
                    | ProtocolError::Unreadable(_)
                    | ProtocolError::Bounds(_) => &mut self.refused.unreadable,
                };
                *count += 1;
                // Anyone who can send can send many: the first of a kind is reported, the rest is counted.
                if *count == 1 {
                    actions.push(Action::Note(format!("refused {error}")));
                }
            }
        }
    }

    fn live(&mut self, live: Live, now_ns: u64, actions: &mut Vec<Action>) {
        if let Some(slice) = &self.slice {
            let subject = Subject::Live(self.identity.name.clone(), slice.run.clone());
            self.publish(subject, Report::Live(live), now_ns, actions);
        }
    }

    fn committed(&mut self, result: &str, now_ns: u64, actions: &mut Vec<Action>) {
        if let Some(place) = self.uploads.iter().position(|upload| upload.spooled.id == result) {
            let upload = self.uploads.remove(place).expect("invariant: it was found there");
            actions.push(Action::Delete(upload.spooled));
            // So that the controller need not wait for the next second to see that it can end.
            let report = Report::Heartbeat(self.heartbeat());
            self.publish(Subject::Heartbeat(self.identity.name.clone()), report, now_ns, actions);
        }
    }

    fn drain(&mut self, now_ns: u64, actions: &mut Vec<Action>) {
        if self.draining_since.is_none() {
            self.draining_since = Some(now_ns);
            self.stop("the agent is about to end", now_ns, actions);
        }
    }

    fn tick(&mut self, now_ns: u64, actions: &mut Vec<Action>) {
        let overdue = self.slice.as_ref().map_or(Overdue::No, |slice| slice.overdue(now_ns));
        match overdue {
            Overdue::No => {}
            Overdue::Ping => self.ping(now_ns, actions),
            Overdue::NoPongs => self.no_pongs(now_ns, actions),
            Overdue::Forgotten => {
                actions.push(Action::Note("gave up a load that was never started".to_owned()));
                self.stop("", now_ns, actions);
            }
            Overdue::Stop(reason) => {
                actions.push(Action::Note(format!("stops its load: {reason}")));
                self.stop(&reason, now_ns, actions);
            }
            Overdue::Abort => actions.push(Action::Abort("a load that was stopped does not end".to_owned())),
        }
        if let Some(since_ns) = self.draining_since
            && self.slice.is_none()
            && (self.uploads.is_empty() || now_ns.saturating_sub(since_ns) >= DRAIN_LIMIT_NS)
        {
            actions.push(Action::Exit);
        }
    }

    fn no_pongs(&mut self, now_ns: u64, actions: &mut Vec<Action>) {
        let Some(slice) = &mut self.slice else { return };
        let State::Arming { command, .. } = &slice.state else { return };
        let (command, run, epoch) = (command.clone(), slice.run.clone(), slice.epoch);
        slice.state = State::Accepted;
        let counter = self.counter_of(epoch);
        let answer = refused("too few answers to its clock pings: is the network up?");
        self.answer(Entry { command, run, epoch, counter, answer }, now_ns, actions);
    }

    /// The slice of this run and attempt.
    fn slice_of(&mut self, run: Option<&RunName>, attempt: u32) -> Option<&mut Slice> {
        self.slice.as_mut().filter(|slice| Some(&slice.run) == run && slice.attempt == attempt)
    }

    /// Notes the answer, on disk first, and sends it.
    fn answer(&mut self, entry: Entry, now_ns: u64, actions: &mut Vec<Action>) {
        self.answers.push_back(entry.clone());
        if self.answers.len() > ANSWERS_MAX {
            self.answers.pop_front();
        }
        actions.push(Action::Journal(entry.clone()));
        let report = Report::Reply { to: entry.command, answer: entry.answer };
        self.publish(Subject::Event(self.identity.name.clone(), entry.run), report, now_ns, actions);
    }

    /// Parts of results that are due.
    fn upload(&mut self, now_ns: u64, actions: &mut Vec<Action>) {
        // Those that nobody fetches must not keep back those that somebody waits for.
        for upload in &mut self.uploads {
            let due = upload.due(now_ns);
            let spooled = upload.spooled.clone();
            actions.extend(due.map(|index| Action::SendPart(spooled.clone(), index)));
        }
    }

    fn publish(&mut self, subject: Subject, report: Report, now_ns: u64, actions: &mut Vec<Action>) {
        self.seq += 1;
        let slice = self.slice.as_ref();
        let run = match &subject {
            Subject::Event(_, run) | Subject::Live(_, run) | Subject::Result(_, run) => Some(run.clone()),
            _ => slice.map(|slice| slice.run.clone()),
        };
        let envelope = Envelope {
            v_minor: V_MINOR,
            msg_id: format!("{}-{}", self.identity.instance, self.seq),
            lab_epoch: self.window.epoch(),
            run,
            slice: slice.map_or(0, |slice| slice.place),
            attempt: slice.map_or(0, |slice| slice.attempt),
            seq: self.seq,
            sent_mono_ns: now_ns,
            message: report,
        };
        actions.push(Action::Publish(subject, envelope.encode()));
    }
}

fn refused(why: impl Into<String>) -> Answer {
    Answer::Refused { why: why.into() }
}
