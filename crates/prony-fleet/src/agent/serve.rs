//! An agent as a process: what [`Agent`] decides is done here, with files, threads and the bus.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use prony_model::RunPlan;

use super::{Action, Agent, Identity, Input, Journal, Load, Spool, SpoolError, Spooled};
use crate::bus::{Bus, BusEvent};
use crate::clock::now_ns;
use crate::protocol::{
    Envelope, Heartbeat, Live, Part, Report, ResultKind, RunName, Subject, Task, V_MINOR, WirePlan, Work,
};

/// How often time is looked at.
const TICK: Duration = Duration::from_millis(50);
/// Between heartbeats.
const HEARTBEAT: Duration = Duration::from_secs(1);
/// Between reports of how far a load is.
const LIVE_NS: u64 = 1_000_000_000;
/// An agent for one load ends when the broker has been gone for so long: whoever leads has ended, too.
const ORPHANED_NS: u64 = 60_000_000_000;
/// Events that wait for the agent: it handles each in microseconds, or a write to disk.
pub const EVENTS_MAX: usize = 4_096;

/// What reaches an agent from its threads.
#[derive(Debug)]
pub enum Line {
    /// From the bus.
    Bus(BusEvent),
    /// A plan was checked.
    Prepared(Box<Result<Assignment, String>>),
    /// A load goes on.
    Live(Live),
    /// A load is over.
    Ended(Result<Vec<u8>, String>),
    /// The process is to end.
    Drain,
}

/// What an agent was given to do, checked.
#[derive(Debug, Clone)]
pub struct Assignment {
    task: Task,
    plan: RunPlan,
}

/// An agent.
#[derive(Debug)]
pub struct AgentSettings {
    /// Who it is.
    pub identity: Identity,
    /// Where its journal and its spool are; no other agent's.
    pub state: PathBuf,
    /// Whether it ends after its first load.
    pub once: bool,
}

/// Why an agent ended.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Its folder.
    #[error("{path}: {source}")]
    State {
        /// The file or folder.
        path: String,
        /// The system's words.
        source: io::Error,
    },
    /// Another agent uses the same folder.
    #[error("{0} belongs to an agent that is running: each has a folder of its own")]
    Locked(String),
    /// Its spool.
    #[error(transparent)]
    Spool(#[from] SpoolError),
    /// The bus.
    #[error("{0}")]
    Bus(String),
    /// A load that does not end.
    #[error("{0}")]
    Abort(String),
    /// No thread.
    #[error("the system has no thread for it: {0}")]
    Thread(io::Error),
}

/// Serves until the process is to end. `events` gets what `sender` is given: by the bus, and by anyone who wants the agent
/// to end. `note` gets lines for people.
pub fn serve(
    settings: AgentSettings,
    load: &Arc<dyn Load>,
    bus: &Arc<dyn Bus>,
    sender: &SyncSender<Line>,
    events: &Receiver<Line>,
    note: &mut dyn FnMut(&str),
) -> Result<(), ServeError> {
    let folder = settings.state;
    let failed = |source| ServeError::State { path: folder.display().to_string(), source };
    fs::create_dir_all(&folder).map_err(failed)?;
    let _lock = lock(&folder)?;
    let (journal, entries) = Journal::open(&folder).map_err(failed)?;
    let (spool, spooled) = Spool::open(&folder)?;
    if !spooled.is_empty() {
        note(&format!(
            "{} results of earlier runs wait in {}",
            spooled.len(),
            folder.join("spool").display()
        ));
    }
    let identity = settings.identity;
    let agent = Agent::new(identity.clone(), entries, spooled);
    let pulse = Arc::new(Mutex::new((agent.heartbeat(), agent.epoch())));
    let _heart = Heart::start(&identity, &pulse, bus).map_err(ServeError::Thread)?;
    let mut once = settings.once.then(Once::default);
    let mut process = Process {
        identity,
        agent,
        journal,
        spool,
        load,
        bus,
        sender,
        plan: None,
        of: None,
        results: 0,
        problem: None,
        folder,
    };
    loop {
        let input = match events.recv_timeout(TICK) {
            Ok(line) => {
                if let (Some(once), Line::Bus(event)) = (&mut once, &line) {
                    once.note(event, now_ns());
                }
                process.input(line, note)?
            }
            Err(RecvTimeoutError::Timeout) => Some(Input::Tick),
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
        };
        let Some(input) = input else { continue };
        let is_tick = matches!(input, Input::Tick);
        let mut actions = process.agent.handle(input, now_ns());
        if !is_tick {
            // A busy bus must not keep the clock from being looked at.
            actions.extend(process.agent.handle(Input::Tick, now_ns()));
        }
        let heartbeat = process.agent.heartbeat();
        if once.as_mut().is_some_and(|once| once.is_over(&heartbeat, now_ns())) {
            once = None;
            note("ends: its one load is over, or nobody leads it any more");
            actions.extend(process.agent.handle(Input::Drain, now_ns()));
        }
        *pulse.lock().unwrap_or_else(PoisonError::into_inner) =
            (process.agent.heartbeat(), process.agent.epoch());
        for action in actions {
            if process.act(action, note)? {
                return Ok(());
            }
        }
    }
}

/// When an agent for one load has had it.
#[derive(Default)]
struct Once {
    was_busy: bool,
    /// Since when there is no connection to the broker, after there was one.
    lost_since_ns: Option<u64>,
}

impl Once {
    fn note(&mut self, event: &BusEvent, now_ns: u64) {
        match event {
            BusEvent::Up => self.lost_since_ns = None,
            BusEvent::Down => self.lost_since_ns = Some(now_ns),
            _ => {}
        }
    }

    /// Whether a load was begun or given up and its result is committed, or the broker is gone for good.
    fn is_over(&mut self, heartbeat: &Heartbeat, now_ns: u64) -> bool {
        if heartbeat.work == Work::Busy {
            self.was_busy = true;
            return false;
        }
        let is_orphaned =
            self.lost_since_ns.is_some_and(|since_ns| now_ns.saturating_sub(since_ns) >= ORPHANED_NS);
        (self.was_busy && heartbeat.spooled == 0) || is_orphaned
    }
}

/// Keeps other agents out of `folder` until it is dropped.
fn lock(folder: &Path) -> Result<File, ServeError> {
    let path = folder.join("lock");
    let failed = |source| ServeError::State { path: path.display().to_string(), source };
    let file = File::options().create(true).truncate(false).write(true).open(&path).map_err(failed)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(fs::TryLockError::WouldBlock) => Err(ServeError::Locked(folder.display().to_string())),
        Err(fs::TryLockError::Error(source)) => Err(failed(source)),
    }
}

struct Process<'a> {
    identity: Identity,
    agent: Agent,
    journal: Journal,
    spool: Spool,
    load: &'a Arc<dyn Load>,
    bus: &'a Arc<dyn Bus>,
    sender: &'a SyncSender<Line>,
    /// What the agent was offered.
    plan: Option<Assignment>,
    /// Run, epoch, slice and attempt of the load that is on.
    of: Option<(RunName, u64, u32, u32)>,
    /// Results since the start.
    results: u32,
    /// The last line that was printed about the bus.
    problem: Option<String>,
    folder: PathBuf,
}

impl Process<'_> {
    fn input(&mut self, line: Line, note: &mut dyn FnMut(&str)) -> Result<Option<Input>, ServeError> {
        Ok(Some(match line {
            Line::Bus(BusEvent::Message { subject, payload }) => Input::Message { subject, bytes: payload },
            Line::Bus(BusEvent::Up) => {
                note("connected");
                Input::Connected
            }
            Line::Bus(BusEvent::Down) => {
                note("the connection is lost; connects again");
                return Ok(None);
            }
            Line::Bus(BusEvent::Problem(what)) => {
                // The same one comes with every heartbeat.
                if self.problem.as_ref() != Some(&what) {
                    note(&what);
                    self.problem = Some(what);
                }
                return Ok(None);
            }
            Line::Bus(BusEvent::Fatal(what)) => return Err(ServeError::Bus(what)),
            Line::Prepared(outcome) => Input::Prepared(match *outcome {
                Ok(assignment) => {
                    let url = &assignment.plan.target.url;
                    note(&match assignment.task {
                        Task::Load => format!("accepts a load on {url}"),
                        Task::Observe => format!("will measure the server of {url}"),
                    });
                    self.plan = Some(assignment);
                    Ok(())
                }
                Err(why) => {
                    note(&format!("refuses a run: {why}"));
                    Err(why)
                }
            }),
            Line::Live(live) => Input::Live(live),
            Line::Ended(outcome) => {
                self.plan = None;
                note(match &outcome {
                    Ok(_) => "the run is over",
                    Err(why) => why,
                });
                Input::Ended(self.keep(outcome)?)
            }
            Line::Drain => {
                note("ends");
                Input::Drain
            }
        }))
    }

    /// Puts what came of a load into the spool.
    fn keep(&mut self, outcome: Result<Vec<u8>, String>) -> Result<Spooled, ServeError> {
        let (run, epoch, slice, attempt) = self.of.take().expect("invariant: a load that ends has begun");
        self.results += 1;
        let id = format!("{}-{}", self.identity.instance, self.results);
        let about = |is| Spooled { id, run, epoch, slice, attempt, is, bytes: 0, sha256: String::new() };
        Ok(match outcome {
            Ok(json) => self.spool.put(about(ResultKind::Finished), &json)?,
            Err(why) => self.spool.put(about(ResultKind::Failed), why.as_bytes())?,
        })
    }

    /// Does `action`; whether it was the last one.
    fn act(&mut self, action: Action, note: &mut dyn FnMut(&str)) -> Result<bool, ServeError> {
        match action {
            // What gets lost here is sent again by anyone who waits for it.
            Action::Publish(subject, bytes) => drop(self.bus.publish(&subject, bytes)),
            Action::Journal(entry) => {
                let agent = &self.agent;
                let failed = |source| ServeError::State { path: self.folder.display().to_string(), source };
                self.journal.append(&entry, || agent.answers().cloned().collect()).map_err(failed)?;
            }
            Action::Prepare(plan) => {
                let (load, sender) = (Arc::clone(self.load), self.sender.clone());
                let folder = self.folder.join("authorities");
                spawn("prepare", move || {
                    let task = plan.task();
                    let prepared = place(*plan, &folder).and_then(|plan| match task {
                        Task::Load => load.prepare(plan),
                        Task::Observe => load.prepare_observation(plan),
                    });
                    let prepared = prepared.map(|plan| Assignment { task, plan });
                    // Nobody is there any more: the process ends.
                    drop(sender.send(Line::Prepared(Box::new(prepared))));
                })?;
            }
            Action::Release => self.plan = None,
            Action::Start(at_ns, run, epoch, slice, attempt) => {
                let Assignment { task, plan } =
                    self.plan.clone().expect("invariant: what was accepted is kept");
                self.of = Some((run, epoch, slice, attempt));
                let (load, sender) = (Arc::clone(self.load), self.sender.clone());
                note(&format!("begins in {:.1} s", at_ns.saturating_sub(now_ns()) as f64 / 1e9));
                spawn("load", move || {
                    let mut next_ns = 0;
                    let mut live = |live| {
                        let now_ns = now_ns();
                        if now_ns >= next_ns {
                            next_ns = now_ns + LIVE_NS;
                            // A view that is late is of no use later.
                            drop(sender.try_send(Line::Live(live)));
                        }
                    };
                    let outcome = match task {
                        Task::Load => load.run(&plan, at_ns, &mut live),
                        Task::Observe => load.observe(&plan, at_ns),
                    };
                    drop(sender.send(Line::Ended(outcome)));
                })?;
            }
            Action::StopLoad(reason) => self.load.stop(&reason),
            Action::SendPart(spooled, index) => self.send_part(&spooled, index)?,
            Action::Delete(spooled) => {
                note(&format!("the result of {} is committed", spooled.run));
                self.spool.delete(&spooled)?;
            }
            Action::Note(line) => note(&line),
            Action::Exit => return Ok(true),
            Action::Abort(why) => return Err(ServeError::Abort(why)),
        }
        Ok(false)
    }

    fn send_part(&mut self, spooled: &Spooled, index: u32) -> Result<(), ServeError> {
        use base64::Engine as _;
        let bytes = self.spool.part(spooled, index)?;
        let part = Part {
            result: spooled.id.clone(),
            is: spooled.is,
            index,
            bytes: spooled.bytes,
            sha256: spooled.sha256.clone(),
            part_sha256: super::spool::sha256(&bytes),
            data: base64::engine::general_purpose::STANDARD.encode(&bytes),
        };
        let envelope = Envelope {
            v_minor: V_MINOR,
            msg_id: format!("{}-{index}", spooled.id),
            lab_epoch: spooled.epoch,
            run: Some(spooled.run.clone()),
            slice: spooled.slice,
            attempt: spooled.attempt,
            seq: u64::from(index),
            sent_mono_ns: now_ns(),
            message: Report::Part(part),
        };
        let subject = Subject::Result(self.identity.name.clone(), spooled.run.clone());
        drop(self.bus.publish(&subject, envelope.encode()));
        Ok(())
    }
}

/// The plan as this machine can run it: the authorities that it trusts are in files of `folder`.
///
/// # Errors
/// Says what is wrong with the plan, or with the folder.
pub fn place(plan: WirePlan, folder: &Path) -> Result<RunPlan, String> {
    let authorities = plan.authorities().to_vec();
    let mut plan = plan.unpack().map_err(|error| error.to_string())?;
    let Some(tls) = &mut plan.target.tls else { return Ok(plan) };
    if tls.ca_files.len() != authorities.len() || tls.client_certificate.is_some() {
        return Err("the plan names files of another machine".to_owned());
    }
    let failed = |error: io::Error| format!("{}: {error}", folder.display());
    if !authorities.is_empty() {
        fs::create_dir_all(folder).map_err(failed)?;
    }
    for (number, text) in authorities.iter().enumerate() {
        let file = folder.join(format!("{number}.pem"));
        fs::write(&file, text).map_err(failed)?;
        tls.ca_files[number] = file;
    }
    Ok(plan)
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> Result<(), ServeError> {
    thread::Builder::new().name(name.to_owned()).spawn(work).map(drop).map_err(ServeError::Thread)
}

/// Reports once a second that the agent is there: from a thread of its own, so that no load and no disk makes a living
/// agent look dead.
struct Heart {
    /// Dropped, it ends the thread.
    _stop: SyncSender<()>,
}

impl Heart {
    fn start(
        identity: &Identity,
        pulse: &Arc<Mutex<(Heartbeat, u64)>>,
        bus: &Arc<dyn Bus>,
    ) -> io::Result<Self> {
        let (stop, stopped) = std::sync::mpsc::sync_channel::<()>(1);
        let (identity, pulse, bus) = (identity.clone(), Arc::clone(pulse), Arc::clone(bus));
        let beat = move || {
            let subject = Subject::Heartbeat(identity.name.clone());
            for seq in 0_u64.. {
                let (heartbeat, lab_epoch) = pulse.lock().unwrap_or_else(PoisonError::into_inner).clone();
                let envelope = Envelope {
                    v_minor: V_MINOR,
                    msg_id: format!("{}-h{seq}", identity.instance),
                    lab_epoch,
                    run: None,
                    slice: 0,
                    attempt: 0,
                    seq,
                    sent_mono_ns: now_ns(),
                    message: Report::Heartbeat(heartbeat),
                };
                drop(bus.publish(&subject, envelope.encode()));
                if stopped.recv_timeout(HEARTBEAT) == Err(RecvTimeoutError::Disconnected) {
                    return;
                }
            }
        };
        thread::Builder::new().name("heartbeat".to_owned()).spawn(beat)?;
        Ok(Self { _stop: stop })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::Refusals;

    fn heartbeat(work: Work, spooled: u32) -> Heartbeat {
        let (instance, version) = ("1".to_owned(), "1.0".to_owned());
        Heartbeat { instance, version, work, cores: 1, spooled, refused: Refusals::default() }
    }

    #[test]
    fn an_agent_for_one_load_ends_after_it_and_not_before() {
        let mut once = Once::default();
        assert!(!once.is_over(&heartbeat(Work::Idle, 0), 0), "nothing has begun");
        assert!(!once.is_over(&heartbeat(Work::Busy, 0), 1));
        assert!(!once.is_over(&heartbeat(Work::Idle, 1), 2), "its result is not committed");
        assert!(once.is_over(&heartbeat(Work::Idle, 0), 3));
    }

    #[test]
    fn an_agent_for_one_load_ends_when_the_broker_is_gone_for_good() {
        let mut once = Once::default();
        once.note(&BusEvent::Up, 0);
        once.note(&BusEvent::Down, 10);
        assert!(!once.is_over(&heartbeat(Work::Idle, 0), ORPHANED_NS));
        assert!(once.is_over(&heartbeat(Work::Idle, 1), ORPHANED_NS + 10));
        // A load that is on has its own rule.
        assert!(!once.is_over(&heartbeat(Work::Busy, 0), ORPHANED_NS + 10));
        // A broker that is back is no reason.
        once.note(&BusEvent::Up, ORPHANED_NS);
        assert!(!Once { was_busy: false, ..once }.is_over(&heartbeat(Work::Idle, 0), 2 * ORPHANED_NS));
    }
}
