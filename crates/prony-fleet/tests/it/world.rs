//! A simulated world: a controller, agents with clocks and disks of their own, and a network that loses, repeats,
//! delays and reorders messages. Everything follows from a seed. In one file, because the parts of the world exist for each
//! other alone.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use prony_fleet::agent::{self, Agent, Entry, Identity, Spooled};
use prony_fleet::controller::{self, Controller, Observer, Outcome, RunSettings, Signer, Wanted};
use prony_fleet::protocol::{
    AgentName, Envelope, Live, PART_BYTES, Part, PublicKey, Report, ResultKind, RunName, Subject, Task,
    WirePlan,
};
use rand::{RngExt as _, SeedableRng as _};
use rand_pcg::Pcg64;

use crate::fixture::{agent as name, key, plan as run_plan, run, sha256, wire_plan};

const MS: u64 = 1_000_000;
const TICK_NS: u64 = 50 * MS;
/// Every run of the simulation is over by then.
const LIMIT_NS: u64 = 600_000 * MS;
pub(crate) const DEADLINE_MS: u64 = 20_000;
pub(crate) const UNATTENDED_MS: u64 = 8_000;

/// What can go wrong.
#[derive(Debug, Clone, Default)]
pub(crate) struct Faults {
    /// Of messages, in percent.
    pub(crate) lost: u32,
    pub(crate) repeated: u32,
    /// The longest way of a message, milliseconds.
    pub(crate) delay_ms: u64,
    /// The agent at this place crashes at this moment, and is started again so much later.
    pub(crate) crash: Option<(usize, u64, Option<u64>)>,
    /// Nobody hears anybody between these moments.
    pub(crate) silence: Option<(u64, u64)>,
    /// The controller is gone from this moment on.
    pub(crate) orphaned: Option<u64>,
    /// How long loads take, milliseconds.
    pub(crate) load_ms: u64,
    /// The agent at this place hears nobody and is not heard between these moments.
    pub(crate) cut: Option<(usize, u64, u64)>,
    /// The clock of the agent at this place jumps ahead at this moment, by so much: its machine was suspended, or stood still.
    pub(crate) jump: Option<(usize, u64, u64)>,
    /// The agent at this place handles what it gets only so often; its heartbeats go on.
    pub(crate) slow: Option<(usize, u64)>,
    /// The agent at this place holds so many results of runs that nobody collected.
    pub(crate) held: Option<(usize, usize)>,
    /// Another controller with the same key, from this moment on and with this epoch. That of the first is [`EPOCH`].
    pub(crate) rival: Option<(u64, u64)>,
    /// Of commands, in percent: one that was sent before arrives once more, at any agent.
    pub(crate) replayed: u32,
    /// Of messages, in percent: a byte is another one when it arrives.
    pub(crate) damaged: u32,
    /// The last agent measures the server, for so many milliseconds at most.
    pub(crate) observes_ms: Option<u64>,
}

/// The epoch of the first controller.
pub(crate) const EPOCH: u64 = 5;

/// A load that is on.
struct Loading {
    of: (RunName, u64, u32, u32),
    start_ns: u64,
    end_ns: u64,
}

struct SimAgent {
    name: AgentName,
    /// Its clock is the world's plus this.
    skew_ns: u64,
    starts: u32,
    agent: Option<Agent>,
    journal: Vec<Entry>,
    spool: BTreeMap<String, (Spooled, Vec<u8>)>,
    loading: Option<Loading>,
    beat_ns: u64,
    epoch: u64,
    /// Every result that a load of this agent had.
    made: BTreeMap<String, Vec<u8>>,
}

/// What is on its way: arrival and number, and the message.
type Row = ((u64, u64), (Way, Subject, Vec<u8>));

/// A message on its way.
enum Way {
    ToAgent(usize),
    ToControllers,
}

/// A controller and what came of it.
struct Leader {
    controller: Option<Controller>,
    /// What it has stored, by place.
    stored: BTreeMap<usize, Vec<u8>>,
    outcome: Option<Outcome>,
}

impl Leader {
    fn is_over(&self) -> bool {
        self.outcome.is_some() || self.controller.is_none()
    }
}

pub(crate) struct World {
    rng: Pcg64,
    faults: Faults,
    now_ns: u64,
    public: PublicKey,
    agents: Vec<SimAgent>,
    /// The first is the one whose run it is about.
    leaders: Vec<Leader>,
    rival: Option<RunSettings>,
    /// Every command that was sent, for those that are replayed.
    commands: Vec<(Subject, Vec<u8>)>,
    /// By arrival and number.
    on_the_way: BTreeMap<(u64, u64), (Way, Subject, Vec<u8>)>,
    sent: u64,
    /// Loads that were begun: agent, run, slice, attempt.
    begun: BTreeSet<(usize, RunName, u32, u32)>,
    /// World time of each begin.
    pub(crate) starts_ns: Vec<u64>,
}

/// What a world has seen in the end.
pub(crate) struct Seen {
    pub(crate) outcome: Option<Outcome>,
    pub(crate) starts_ns: Vec<u64>,
    pub(crate) stored: BTreeMap<usize, Vec<u8>>,
    pub(crate) now_ns: u64,
    /// What came of the other controller.
    pub(crate) rival: Option<Outcome>,
    /// Results that agents still hold.
    pub(crate) held: usize,
    /// Results that loads had.
    pub(crate) made: usize,
}

impl World {
    pub(crate) fn new(seed: u64, agents: usize, faults: Faults) -> Self {
        let mut rng = Pcg64::seed_from_u64(seed);
        let key = key();
        let public = key.public();
        let names: Vec<AgentName> = (0..agents).map(|place| name(&format!("a{place}"))).collect();
        let key = Arc::new(key);
        let (loading, observer) = match (faults.observes_ms, names.split_last()) {
            (Some(_), Some((observer, loading))) => (loading, Some(observer)),
            _ => (names.as_slice(), None),
        };
        let observer =
            observer.map(|agent| Observer { agent: agent.clone(), plan: WirePlan::observing(run_plan()) });
        let settings = |name: &str, epoch| RunSettings {
            run: run(name),
            signer: Arc::new(Signer::new(Arc::clone(&key), epoch)),
            wanted: Wanted::Names(loading.to_vec()),
            drained: BTreeSet::new(),
            plans: vec![wire_plan(); loading.len()],
            observer: observer.clone(),
            version: "1".to_owned(),
            deadline_ms: DEADLINE_MS,
            max_unattended_ms: UNATTENDED_MS,
        };
        let controller = Controller::new(settings("r1", EPOCH), 0);
        let rival = faults.rival.map(|(_, epoch)| settings("r2", epoch));
        let agents = names.into_iter().map(|name| SimAgent {
            name,
            skew_ns: rng.random_range(0..1_000_000 * MS),
            starts: 0,
            agent: None,
            journal: Vec::new(),
            spool: BTreeMap::new(),
            loading: None,
            beat_ns: rng.random_range(0..1_000 * MS),
            epoch: 0,
            made: BTreeMap::new(),
        });
        let mut world = Self {
            agents: agents.collect(),
            leaders: vec![Leader { controller: Some(controller), stored: BTreeMap::new(), outcome: None }],
            rival,
            commands: Vec::new(),
            rng,
            faults,
            now_ns: 0,
            public,
            on_the_way: BTreeMap::new(),
            sent: 0,
            begun: BTreeSet::new(),
            starts_ns: Vec::new(),
        };
        if let Some((place, count)) = world.faults.held {
            world.hold(place, count);
        }
        for place in 0..world.agents.len() {
            world.boot(place);
        }
        world
    }

    /// Goes on until the run is over (or the controller gone) and no load is on.
    pub(crate) fn live(mut self) -> Seen {
        while self.now_ns < LIMIT_NS {
            let next_tick = self.now_ns + TICK_NS;
            while let Some(((at_ns, _), (way, subject, bytes))) = self.due(next_tick) {
                self.now_ns = at_ns;
                self.arrive(&way, subject, bytes);
            }
            self.now_ns = next_tick;
            self.happen();
            let over = self.rival.is_none() && self.leaders.iter().all(Leader::is_over);
            if over && self.agents.iter().all(|agent| agent.loading.is_none()) {
                break;
            }
        }
        let loading = self.agents.iter().filter(|agent| agent.loading.is_some()).count();
        assert_eq!(loading, 0, "no load goes on for ever");
        let rival = if self.leaders.len() > 1 { self.leaders.pop() } else { None };
        let first = self.leaders.pop().expect("there is one");
        let made: usize = self.agents.iter().map(|agent| agent.made.len()).sum();
        for agent in &self.agents {
            for (id, bytes) in &agent.made {
                let stored =
                    first.stored.values().chain(rival.iter().flat_map(|rival| rival.stored.values()));
                assert!(
                    agent.spool.contains_key(id) || stored.into_iter().any(|stored| stored == bytes),
                    "what a load had is stored, or still in the spool"
                );
            }
        }
        Seen {
            outcome: first.outcome,
            starts_ns: self.starts_ns,
            stored: first.stored,
            now_ns: self.now_ns,
            rival: rival.and_then(|rival| rival.outcome),
            held: self.agents.iter().map(|agent| agent.spool.len()).sum(),
            made,
        }
    }

    /// Puts results into a spool that are of no run of this world.
    fn hold(&mut self, place: usize, count: usize) {
        let agent = &mut self.agents[place];
        for number in 0..count {
            let id = format!("old-{number}");
            let bytes = b"{}".to_vec();
            let spooled = Spooled {
                id: id.clone(),
                run: run("r0"),
                epoch: 1,
                slice: 0,
                attempt: 1,
                is: ResultKind::Finished,
                bytes: 2,
                sha256: sha256(&bytes),
            };
            agent.spool.insert(id, (spooled, bytes));
        }
    }

    fn due(&mut self, until_ns: u64) -> Option<Row> {
        let first = self.on_the_way.first_entry()?;
        (first.key().0 < until_ns).then(|| first.remove_entry())
    }

    fn arrive(&mut self, way: &Way, subject: Subject, bytes: Vec<u8>) {
        match way {
            Way::ToAgent(place) => self.feed(*place, agent::Input::Message { subject, bytes }),
            Way::ToControllers => {
                for leader in 0..self.leaders.len() {
                    let (subject, bytes) = (subject.clone(), bytes.clone());
                    self.lead(leader, controller::Input::Message { subject, bytes });
                }
            }
        }
    }

    /// What time does: crashes, loads that end, heartbeats, timers.
    fn happen(&mut self) {
        if self.faults.orphaned.is_some_and(|at_ms| self.now_ns >= at_ms * MS) {
            self.leaders[0].controller = None;
        }
        if self.faults.rival.is_some_and(|(at_ms, _)| self.now_ns >= at_ms * MS)
            && let Some(settings) = self.rival.take()
        {
            let controller = Some(Controller::new(settings, self.now_ns));
            self.leaders.push(Leader { controller, stored: BTreeMap::new(), outcome: None });
        }
        if let Some((place, _, by_ms)) = self.faults.jump.take_if(|(_, at_ms, _)| self.now_ns >= *at_ms * MS)
        {
            self.agents[place].skew_ns += by_ms * MS;
        }
        if let Some((place, crash_ms, back_ms)) = self.faults.crash {
            if self.now_ns >= crash_ms * MS && self.agents[place].starts == 1 {
                self.agents[place].agent = None;
                self.agents[place].loading = None;
                self.agents[place].starts = 2;
            }
            let back = back_ms.is_some_and(|back_ms| self.now_ns >= (crash_ms + back_ms) * MS);
            if back && self.agents[place].starts == 2 {
                self.boot(place);
            }
        }
        for place in 0..self.agents.len() {
            self.end_load(place);
            let agent = &mut self.agents[place];
            if agent.agent.is_some() && self.now_ns >= agent.beat_ns {
                agent.beat_ns = self.now_ns + 1_000 * MS;
                self.beat(place);
            }
            if self.handles(place) {
                self.feed(place, agent::Input::Tick);
            }
        }
        for leader in 0..self.leaders.len() {
            self.lead(leader, controller::Input::Tick);
        }
    }

    /// Whether the agent at this place looks at what it got, and at the time.
    fn handles(&self, place: usize) -> bool {
        let every_ms =
            self.faults.slow.filter(|(slow, _)| *slow == place).map_or(1, |(_, every_ms)| every_ms);
        (self.now_ns / MS) % every_ms < TICK_NS / MS
    }

    fn boot(&mut self, place: usize) {
        let agent = &mut self.agents[place];
        agent.starts += 1;
        let identity = Identity {
            name: agent.name.clone(),
            instance: format!("i{place}x{}", agent.starts),
            version: "1".to_owned(),
            cores: 1,
            controller: self.public,
        };
        let spooled = agent.spool.values().map(|(spooled, _)| spooled.clone()).collect();
        agent.agent = Some(Agent::new(identity, agent.journal.clone(), spooled));
    }

    fn beat(&mut self, place: usize) {
        let agent = &self.agents[place];
        let Some(heartbeat) = agent.agent.as_ref().map(Agent::heartbeat) else { return };
        let subject = Subject::Heartbeat(agent.name.clone());
        let bytes = self.report(place, Report::Heartbeat(heartbeat));
        self.send(&subject, &bytes);
    }

    fn report(&self, place: usize, message: Report) -> Vec<u8> {
        let envelope = Envelope {
            v_minor: 0,
            msg_id: "m".to_owned(),
            lab_epoch: EPOCH,
            run: Some(run("r1")),
            slice: u32::try_from(place).expect("few"),
            attempt: 1,
            seq: self.sent,
            sent_mono_ns: self.now_ns,
            message,
        };
        envelope.encode()
    }

    fn end_load(&mut self, place: usize) {
        let now_ns = self.now_ns;
        let agent = &mut self.agents[place];
        let Some(loading) = agent.loading.take_if(|loading| now_ns >= loading.end_ns) else { return };
        let took_ms = loading.end_ns.saturating_sub(loading.start_ns) / MS;
        assert!(took_ms <= DEADLINE_MS + 2 * TICK_NS / MS, "no load after its deadline: {took_ms} ms");
        let (run, epoch, slice, attempt) = loading.of;
        let size = if self.rng.random_range(0..20) == 0 { 2 * PART_BYTES + 7 } else { 100 };
        let filler = "x".repeat(size);
        let bytes = format!("{{\"agent\":\"{}\",\"filler\":\"{filler}\"}}", agent.name).into_bytes();
        // It may have had a load of the other controller before.
        let id = format!("i{place}x{}-{}", agent.starts, agent.made.len());
        let sha256 = sha256(&bytes);
        let spooled = Spooled {
            id: id.clone(),
            run,
            epoch,
            slice,
            attempt,
            is: ResultKind::Finished,
            bytes: bytes.len() as u64,
            sha256,
        };
        agent.made.insert(id.clone(), bytes.clone());
        agent.spool.insert(id, (spooled.clone(), bytes));
        self.feed(place, agent::Input::Ended(spooled));
    }

    fn feed(&mut self, place: usize, input: agent::Input) {
        let agent = &mut self.agents[place];
        let local_ns = self.now_ns + agent.skew_ns;
        let Some(machine) = &mut agent.agent else { return };
        let actions = machine.handle(input, local_ns);
        assert!(machine.epoch() >= agent.epoch, "an epoch never decreases");
        agent.epoch = machine.epoch();
        for action in actions {
            self.act(place, action);
        }
    }

    fn act(&mut self, place: usize, action: agent::Action) {
        let now_ns = self.now_ns;
        let is_observer = self.faults.observes_ms.is_some() && place + 1 == self.agents.len();
        let agent = &mut self.agents[place];
        match action {
            agent::Action::Publish(subject, bytes) => self.send(&subject, &bytes),
            agent::Action::Journal(entry) => agent.journal.push(entry),
            agent::Action::Prepare(plan) => {
                assert_eq!(plan.task() == Task::Observe, is_observer);
                plan.unpack().expect("a plan");
                self.feed(place, agent::Input::Prepared(Ok(())));
            }
            agent::Action::Start(local_ns, run, epoch, slice, attempt) => {
                let start_ns = local_ns.checked_sub(agent.skew_ns).expect("after the beginning of the world");
                assert!(start_ns > now_ns, "a load begins later than its command");
                assert!(agent.loading.is_none(), "an agent has one load at a time");
                let new = self.begun.insert((place, run.clone(), slice, attempt));
                assert!(new, "a slice is begun once");
                self.starts_ns.push(start_ns);
                let observes_ms = self.faults.observes_ms.filter(|_| is_observer);
                let end_ns = start_ns + observes_ms.unwrap_or(self.faults.load_ms) * MS;
                agent.loading = Some(Loading { of: (run, epoch, slice, attempt), start_ns, end_ns });
                let live =
                    Live { phase: "measure".to_owned(), elapsed_ms: 0, done: 0, failed: 0, rate_per_s: 0.0 };
                self.feed(place, agent::Input::Live(live));
            }
            agent::Action::StopLoad(_) => {
                if let Some(loading) = &mut agent.loading {
                    loading.end_ns = loading.end_ns.min(now_ns);
                }
            }
            agent::Action::SendPart(spooled, index) => {
                let Some((_, bytes)) = agent.spool.get(&spooled.id) else { panic!("it was deleted") };
                let from = index as usize * PART_BYTES;
                let data = &bytes[from..bytes.len().min(from + PART_BYTES)];
                let part = part(&spooled, index, data);
                let subject = Subject::Result(agent.name.clone(), spooled.run);
                let bytes = self.report(place, Report::Part(part));
                self.send(&subject, &bytes);
            }
            agent::Action::Delete(spooled) => {
                let (_, bytes) = agent.spool.remove(&spooled.id).expect("a result is deleted once");
                let stored = self.leaders.iter().any(|leader| leader.stored.get(&place) == Some(&bytes));
                assert!(stored, "only what is committed is deleted");
            }
            agent::Action::Release | agent::Action::Note(_) => {}
            agent::Action::Exit | agent::Action::Abort(_) => panic!("nobody asked for that: {action:?}"),
        }
    }

    fn lead(&mut self, leader: usize, input: controller::Input) {
        if self.leaders[leader].outcome.is_some() {
            return;
        }
        let now_ns = self.now_ns;
        let Some(controller) = &mut self.leaders[leader].controller else { return };
        for action in controller.handle(input, now_ns) {
            match action {
                controller::Action::Publish(subject, bytes) => {
                    self.send(&subject, &bytes);
                    self.commands.push((subject, bytes));
                    self.replay();
                }
                controller::Action::Store(place, controller::Arrived { is, bytes, .. }) => {
                    assert_eq!(is, ResultKind::Finished);
                    assert!(
                        self.agents[place].made.values().any(|made| *made == bytes),
                        "what is stored was made"
                    );
                    let again = self.leaders[leader].stored.insert(place, bytes);
                    assert!(again.is_none(), "a result is stored once");
                    self.lead(leader, controller::Input::Stored(place));
                }
                controller::Action::Show(_) => {}
                controller::Action::Done(outcome) => self.leaders[leader].outcome = Some(*outcome),
            }
        }
    }

    /// Sends a command once more, to any agent.
    fn replay(&mut self) {
        if self.rng.random_range(0..100) < self.faults.replayed {
            let (_, bytes) = self.commands[self.rng.random_range(0..self.commands.len())].clone();
            let place = self.rng.random_range(0..self.agents.len());
            let subject = Subject::Command(self.agents[place].name.clone());
            self.send(&subject, &bytes);
        }
    }

    /// Puts a message on its way, as far as the network is up to it.
    fn send(&mut self, subject: &Subject, bytes: &[u8]) {
        let silent =
            self.faults.silence.is_some_and(|(from, to)| (from * MS..to * MS).contains(&self.now_ns));
        let copies = 1 + u32::from(self.rng.random_range(0..100) < self.faults.repeated);
        for _ in 0..copies {
            if silent || self.rng.random_range(0..100) < self.faults.lost {
                continue;
            }
            let way = match subject {
                Subject::Command(name) => Way::ToAgent(
                    self.agents.iter().position(|agent| agent.name == *name).expect("it is there"),
                ),
                _ => Way::ToControllers,
            };
            let end =
                subject.agent().and_then(|name| self.agents.iter().position(|agent| agent.name == *name));
            if self.faults.cut.is_some_and(|(place, from, to)| {
                end == Some(place) && (from * MS..to * MS).contains(&self.now_ns)
            }) {
                continue;
            }
            let mut bytes = bytes.to_vec();
            if self.rng.random_range(0..100) < self.faults.damaged {
                let at = self.rng.random_range(0..bytes.len());
                bytes[at] = self.rng.random();
            }
            let delay_ns = self.rng.random_range(MS / 10..=(self.faults.delay_ms * MS).max(MS / 10));
            self.sent += 1;
            let mut at_ns = self.now_ns + delay_ns;
            if let (Way::ToAgent(place), Some((slow, every_ms))) = (&way, self.faults.slow)
                && *place == slow
            {
                at_ns = at_ns.next_multiple_of(every_ms * MS);
            }
            self.on_the_way.insert((at_ns, self.sent), (way, subject.clone(), bytes));
        }
    }
}

fn part(spooled: &Spooled, index: u32, data: &[u8]) -> Part {
    use base64::Engine as _;
    Part {
        result: spooled.id.clone(),
        is: spooled.is,
        index,
        bytes: spooled.bytes,
        sha256: spooled.sha256.clone(),
        part_sha256: sha256(data),
        data: base64::engine::general_purpose::STANDARD.encode(data),
    }
}
