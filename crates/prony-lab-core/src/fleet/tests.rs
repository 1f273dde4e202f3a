//! A lab that leads agents in its own process, over the bus in memory.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use prony_fleet::agent::{self, AgentSettings, Identity, Load, Spool, Spooled, serve};
use prony_fleet::bus::Hub;
use prony_fleet::protocol::{Live, PublicKey, ResultKind, Subject};
use prony_lab_model::clock::Moment;
use prony_lab_model::options::StoreAddress;
use prony_lab_model::{AdHocLoad, BuildKind, BuildState, NewBuild, Priority, TaskKind};
use prony_lab_store::{builds, files};

use super::*;
use crate::actions::requests::load_plan;
use prony_lab_model::BuildId;
use prony_model::{AgentChoice, RunPlan};

/// Anything is waited for as long as this; nothing is measured by it.
const PATIENCE: Duration = Duration::from_mins(1);

/// A load that goes on until it is stopped, or as long as nobody holds it.
#[derive(Default)]
struct Held {
    waits: AtomicBool,
    stopped: Mutex<Vec<String>>,
    plans: Mutex<Vec<RunPlan>>,
}

impl Load for Held {
    fn prepare(&self, plan: RunPlan) -> Result<RunPlan, String> {
        self.plans.lock().expect("no panic").push(plan.clone());
        Ok(plan)
    }

    fn run(&self, _: &RunPlan, _: u64, live: &mut dyn FnMut(Live)) -> Result<Vec<u8>, String> {
        let before = self.stopped.lock().expect("no panic").len();
        live(Live { phase: "measure".to_owned(), elapsed_ms: 0, done: 1, failed: 0, rate_per_s: 1.0 });
        while self.waits.load(Ordering::Relaxed) && self.stopped.lock().expect("no panic").len() == before {
            thread::sleep(Duration::from_millis(5));
        }
        Ok(b"{}".to_vec())
    }

    fn prepare_observation(&self, _: RunPlan) -> Result<RunPlan, String> {
        Err("there is no server".to_owned())
    }

    fn observe(&self, _: &RunPlan, _: u64) -> Result<Vec<u8>, String> {
        unreachable!("it was not prepared")
    }

    fn stop(&self, reason: &str) {
        self.stopped.lock().expect("no panic").push(reason.to_owned());
    }
}

struct Agent {
    load: Arc<Held>,
    end: SyncSender<agent::Line>,
    thread: Option<JoinHandle<()>>,
}

impl Agent {
    fn start(hub: &Hub, name: &str, controller: PublicKey, state: &Path) -> Self {
        let agent_name = AgentName::new(name).expect("a name");
        let (sender, events) = sync_channel(agent::EVENTS_MAX);
        let arrived = sender.clone();
        let sink = move |event| drop(arrived.try_send(agent::Line::Bus(event)));
        let bus = hub.connect(&Subject::of_agent(&agent_name), Box::new(sink));
        let identity = Identity {
            name: agent_name,
            instance: format!("i-{name}"),
            version: "1".to_owned(),
            cores: 2,
            controller,
        };
        let settings = AgentSettings { identity, state: state.join(name), once: false };
        let load = Arc::new(Held::default());
        let (end, own) = (sender.clone(), Arc::clone(&load) as Arc<dyn Load>);
        let thread = thread::spawn(move || {
            serve(settings, &own, &bus, &sender, &events, &mut |_| ()).expect("the agent ends well");
        });
        Self { load, end, thread: Some(thread) }
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        self.load.waits.store(false, Ordering::Relaxed);
        // Where it has ended already, the test failed before.
        let _ = self.end.send(agent::Line::Drain);
        let joined = self.thread.take().map(JoinHandle::join);
        assert!(thread::panicking() || joined.is_none_or(|joined| joined.is_ok()));
    }
}

/// A store, a bus and a key.
struct World {
    folder: tempfile::TempDir,
    store: Store,
    hub: Hub,
    key: String,
}

impl World {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let store = Store::open(&StoreAddress::Sqlite(folder.path().join("lab.sqlite"))).expect("a store");
        let key = ControllerKey::generate().expect("random numbers");
        Self { folder, store, hub: Hub::default(), key }
    }

    fn key(&self) -> ControllerKey {
        ControllerKey::read(&self.key).expect("a key")
    }

    fn fleet(&self, least_epoch: u64) -> (Fleet, FleetThreads) {
        let hub = self.hub.clone();
        let options = FleetOptions {
            key: Arc::new(self.key()),
            version: "1".to_owned(),
            least_epoch,
            connect: Box::new(move |sink| Ok(hub.connect(&Subject::OF_CONTROLLER.map(str::to_owned), sink))),
        };
        Fleet::start(&self.store, options).expect("it starts")
    }

    fn agent(&self, name: &str) -> Agent {
        Agent::start(&self.hub, name, self.key().public(), self.folder.path())
    }

    /// Results in the spool of an agent.
    fn spooled(&self, name: &str) -> usize {
        Spool::open(&self.folder.path().join(name)).expect("a spool").1.len()
    }

    fn build(&self) -> BuildId {
        let load = load();
        let new = NewBuild {
            kind: BuildKind::Load,
            project: None,
            reference: load.url.clone(),
            base: None,
            variant: None,
            tasks: vec![("load".to_owned(), TaskKind::Load, String::new())],
            load: Some(load),
            email: None,
            priority: Priority::Normal,
            requested_by: "kim".to_owned(),
            requested_at: Moment(1),
            expires_at: Moment(1_000),
        };
        self.store.write_blocking(move |tx| builds::accept(tx, &new)).expect("accepted")
    }

    fn order(&self) -> LoadOrder {
        LoadOrder {
            build: self.build(),
            attempt: 1,
            plan: load_plan(&load()).expect("a plan"),
            agents: AgentChoice::Any(2),
            is_public: false,
        }
    }

    fn file(&self, build: BuildId, name: &str) -> Option<Vec<u8>> {
        self.store.read_blocking(|tx| files::one(tx, build, name)).expect("read").map(|(_, bytes)| bytes)
    }
}

fn load() -> AdHocLoad {
    AdHocLoad {
        url: "http://127.0.0.1:1/".to_owned(),
        connections: 7,
        rate_per_s: Some(100.0),
        duration_s: 30.0,
        agents: None,
    }
}

fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let until = clock::steady() + PATIENCE;
    while !is_so() {
        assert!(clock::steady() < until, "{what}");
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn what_agents_measured_is_in_the_store_before_they_delete_it() {
    let world = World::new();
    let (fleet, _threads) = world.fleet(5);
    let agents = [world.agent("a"), world.agent("b")];
    let mut lines = Vec::new();
    let order = world.order();
    let led = fleet.lead(&order, &|| false, &mut |line| lines.push(line.to_owned())).expect("it is led");
    assert_eq!((led.received, led.failure.as_deref(), led.is_interrupted), (2, None, false));
    assert!(lines.iter().any(|line| line == "agents: a, b"), "{lines:?}");
    for name in ["agents/a.json", "agents/b.json"] {
        assert_eq!(world.file(order.build, name).as_deref(), Some(&b"{}"[..]), "{name}");
    }
    let listed = fleet.agents();
    assert_eq!((listed.agents.len(), listed.run.clone(), listed.is_connected), (2, None, true));
    assert!(listed.agents.iter().all(|row| row.clock.is_some() && row.is_same_version), "{listed:?}");
    // The caps of a policy are checked on the whole load; agents get no more than that together.
    let connections: u32 = agents
        .iter()
        .map(|agent| agent.load.plans.lock().expect("no panic")[0].own_load().connections())
        .sum();
    assert_eq!(connections, load().connections);
    let run = led.run.clone();
    let kept = world.store.read_blocking(move |tx| agent_runs::one(tx, &run)).expect("read").expect("there");
    assert!(kept.ended_at.is_some() && kept.start_ns.is_some(), "{kept:?}");
    drop(agents);
    assert_eq!((world.spooled("a"), world.spooled("b")), (0, 0));
}

#[test]
fn stop_ends_every_load_and_refuses_new_ones_until_it_is_lifted() {
    let world = World::new();
    let (fleet, _threads) = world.fleet(5);
    let agents = [world.agent("a"), world.agent("b")];
    for agent in &agents {
        agent.load.waits.store(true, Ordering::Relaxed);
    }
    let (order, leader) = (world.order(), fleet.clone());
    let build = order.build;
    let leading = thread::spawn(move || leader.lead(&order, &|| false, &mut |_| ()));
    wait_until("both load", || {
        let is_on = |agent: &Agent| !agent.load.plans.lock().expect("no panic").is_empty();
        agents.iter().all(is_on) && fleet.agents().count("busy") == 2
    });
    let mark = AgentsStop { by: "kim".to_owned(), at: Moment(7) };
    // The store is busy: its only writer waits for this test.
    let (go, wait) = sync_channel::<()>(0);
    let store = world.store.clone();
    let writer = thread::spawn(move || {
        store.write_blocking(move |_| {
            // It ends when the test lets go.
            let _ = wait.recv();
            Ok(())
        })
    });
    fleet.stop(mark.clone());
    wait_until("both loads end while the store is busy", || fleet.agents().count("idle") == 2);
    drop(go);
    writer.join().expect("no panic").expect("written");
    let led = leading.join().expect("no panic");
    // The load may not have begun; where it had, what was measured is kept.
    if let Ok(led) = &led {
        assert!(led.is_interrupted, "{led:?}");
        let kept = [world.file(build, "agents/a.json"), world.file(build, "agents/b.json")];
        assert_eq!(kept.iter().flatten().count(), led.received as usize);
    }
    let refused = fleet.lead(&world.order(), &|| false, &mut |_| ()).expect_err("it is stopped");
    assert!(refused.contains("stopped by kim"), "{refused}");
    fleet.lift();
    assert_eq!(fleet.stopped(), None);
}

#[test]
fn a_lab_that_was_killed_has_its_loads_stopped_and_their_results_collected() {
    let world = World::new();
    let build = world.build();
    // An earlier lab led this load and was killed; one agent has the result in its spool.
    world
        .store
        .write_blocking(move |tx| {
            agent_runs::next_epoch(tx, 100)?;
            agent_runs::begin(tx, "b1-1-e100", build, "{}", Moment(2))?;
            agent_runs::assign(tx, "b1-1-e100", &["a".to_owned(), "b".to_owned()])?;
            builds::advance(tx, build, BuildState::Queued, BuildState::Cancelled, None, Moment(3))
        })
        .expect("written");
    let spool = |name: &str, id: &str, run: &str, slice: u32| {
        let about = Spooled {
            id: id.to_owned(),
            run: RunName::new(run).expect("a name"),
            epoch: 100,
            slice,
            attempt: 1,
            is: ResultKind::Finished,
            bytes: 0,
            sha256: String::new(),
        };
        let (spool, _) = Spool::open(&world.folder.path().join(name)).expect("a spool");
        spool.put(about, b"{\"of\":1}").expect("written");
    };
    spool("a", "x-1", "b1-1-e100", 0);
    // Of a run that this lab never led, and of a part that is another agent's.
    spool("a", "x-2", "r77", 0);
    spool("b", "y-1", "b1-1-e100", 0);
    let (fleet, threads) = world.fleet(5);
    assert_eq!(fleet.epoch(), 101, "above that of every lab before");
    let agents = [world.agent("a"), world.agent("b")];
    wait_until("the result is collected", || world.file(build, "agents/a.json").is_some());
    wait_until("it is merged", || world.store.read_blocking(agent_runs::unmerged).expect("read").is_empty());
    let kept =
        world.store.read_blocking(|tx| agent_runs::one(tx, "b1-1-e100")).expect("read").expect("there");
    assert_eq!((kept.received, kept.failure.as_deref()), (1, Some(late::LEFT)));
    wait_until("its agents have answered that they stop", || fleet.shared.state().orphans.is_empty());
    wait_until("the agent has deleted it", || {
        fleet.agents().agents.iter().any(|row| row.name == "a" && row.spooled == 1)
    });
    drop(agents);
    drop(threads);
    assert_eq!((world.spooled("a"), world.spooled("b")), (1, 1), "what is somebody else's stays");
}

#[test]
fn a_drained_agent_ends_its_load_and_gets_no_other() {
    let world = World::new();
    let (fleet, _threads) = world.fleet(5);
    let agents = [world.agent("a"), world.agent("b")];
    for agent in &agents {
        agent.load.waits.store(true, Ordering::Relaxed);
    }
    let (order, leader) = (world.order(), fleet.clone());
    let leading = thread::spawn(move || leader.lead(&order, &|| false, &mut |_| ()));
    wait_until("both load", || fleet.agents().count("busy") == 2);
    fleet.set_drained(BTreeSet::from(["b".to_owned()]));
    assert_eq!(fleet.drained(&["a".to_owned(), "b".to_owned()]), ["b"]);
    for agent in &agents {
        agent.load.waits.store(false, Ordering::Relaxed);
    }
    let led = leading.join().expect("no panic").expect("it was led");
    assert_eq!((led.failure, led.received), (None, 2), "what is on ends as planned");
    let why = fleet.lead(&world.order(), &|| false, &mut |_| ()).expect("it was tried").failure;
    assert!(why.as_deref().is_some_and(|why| why.contains("2 agents are wanted, and 1 is idle")), "{why:?}");
    let one = LoadOrder { agents: AgentChoice::Names(vec!["b".to_owned()]), ..world.order() };
    let why = fleet.lead(&one, &|| false, &mut |_| ()).expect("it was tried").failure;
    assert!(why.as_deref().is_some_and(|why| why.contains("the agent b takes no loads")), "{why:?}");
    fleet.set_drained(BTreeSet::new());
    let led = fleet.lead(&world.order(), &|| false, &mut |_| ()).expect("it was led");
    assert_eq!((led.failure, led.received), (None, 2));
}

#[test]
fn a_load_is_not_led_without_a_broker_or_its_agents() {
    let world = World::new();
    let (fleet, _threads) = world.fleet(5);
    let why = fleet.lead(&world.order(), &|| false, &mut |_| ()).expect("it was tried").failure;
    assert!(why.as_deref().is_some_and(|why| why.contains("2 agents are wanted, and 0 are idle")), "{why:?}");
    assert_eq!(fleet.unknown(&["a".to_owned()]), ["a"]);
    fleet.shared.state().is_connected = false;
    let why = fleet.lead(&world.order(), &|| false, &mut |_| ()).expect_err("there is no broker");
    assert!(why.contains("no connection to the broker"), "{why}");
    let open = world.store.read_blocking(agent_runs::left_open).expect("read");
    assert!(open.is_empty(), "every load that began is over: {open:?}");
}
