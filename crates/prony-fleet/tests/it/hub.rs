//! An agent and a controller as threads of one process, over the bus in memory.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use prony_fleet::agent::{self, AgentSettings, Identity, Load, serve};
use prony_fleet::bus::Hub;
use prony_fleet::controller::{self, RunSettings, Signer, Wanted, drive};
use prony_fleet::protocol::{Live, ResultKind, Subject};
use prony_model::RunPlan;

use crate::fixture::{agent as name, key, plan, run, wire_plan};

/// A load that takes as long as it is let.
#[derive(Default)]
struct Sleeper {
    stopped: AtomicBool,
    begun_at: Mutex<Option<u64>>,
}

impl Load for Sleeper {
    fn prepare(&self, offered: RunPlan) -> Result<RunPlan, String> {
        assert_eq!(offered, plan(), "with its secrets");
        Ok(offered)
    }

    fn run(&self, _: &RunPlan, at_ns: u64, live: &mut dyn FnMut(Live)) -> Result<Vec<u8>, String> {
        while prony_fleet::clock::now_ns() < at_ns && !self.stopped.load(Ordering::Relaxed) {
            thread::sleep(Duration::from_millis(1));
        }
        *self.begun_at.lock().expect("no panic") = Some(prony_fleet::clock::now_ns());
        live(Live { phase: "measure".to_owned(), elapsed_ms: 0, done: 1, failed: 0, rate_per_s: 1.0 });
        Ok(b"{}".to_vec())
    }

    fn prepare_observation(&self, _: RunPlan) -> Result<RunPlan, String> {
        Err("there is no server".to_owned())
    }

    fn observe(&self, _: &RunPlan, _: u64) -> Result<Vec<u8>, String> {
        unreachable!("it was not prepared")
    }

    fn stop(&self, _: &str) {
        self.stopped.store(true, Ordering::Relaxed);
    }
}

#[test]
fn a_run_from_end_to_end() {
    let (hub, key) = (Hub::default(), key());
    let folders = [tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder")];
    let mut ends = Vec::new();
    let mut agents = Vec::new();
    let loads = [Arc::new(Sleeper::default()), Arc::new(Sleeper::default())];
    for ((place, folder), load) in folders.iter().enumerate().zip(&loads) {
        let agent_name = name(&format!("a{place}"));
        let (sender, events) = sync_channel(agent::EVENTS_MAX);
        let arrived = sender.clone();
        let sink = move |event| drop(arrived.try_send(agent::Line::Bus(event)));
        let bus = hub.connect(&Subject::of_agent(&agent_name), Box::new(sink));
        ends.push(sender.clone());
        let identity = Identity {
            name: agent_name,
            instance: format!("i{place}"),
            version: "1".to_owned(),
            cores: 1,
            controller: key.public(),
        };
        let settings = AgentSettings { identity, state: folder.path().to_owned(), once: false };
        let load: Arc<dyn Load> = Arc::clone(load) as Arc<dyn Load>;
        agents.push(thread::spawn(move || serve(settings, &load, &bus, &sender, &events, &mut |_| ())));
    }
    let (sender, events) = sync_channel(controller::EVENTS_MAX);
    let sink = move |event| drop(sender.try_send(controller::Line::Bus(event)));
    let bus = hub.connect(&Subject::OF_CONTROLLER.map(str::to_owned), Box::new(sink));
    let settings = RunSettings {
        run: run("r1"),
        signer: Arc::new(Signer::new(Arc::new(key), 5)),
        wanted: Wanted::Any(2),
        drained: BTreeSet::new(),
        plans: vec![wire_plan(); 2],
        observer: None,
        version: "1".to_owned(),
        deadline_ms: 10_000,
        max_unattended_ms: 10_000,
    };
    let outcome = drive(settings, &bus, &events, &mut |arrived| arrived.bytes == b"{}", &mut |_| ());
    assert_eq!(outcome.failure, None);
    assert_eq!(outcome.agents.len(), 2);
    for agent in &outcome.agents {
        assert_eq!(agent.result, Some(ResultKind::Finished));
        // The same clock for all of them, so the comparison must find no offset.
        let offset = agent.offset.expect("clocks were compared");
        assert!(offset.offset_ns.unsigned_abs() <= offset.bound_ns + 1, "{offset:?}");
    }
    for load in &loads {
        let begun = load.begun_at.lock().expect("no panic").expect("it began");
        assert!(begun >= outcome.start_ns.expect("a start") - 50_000_000);
    }
    for end in ends {
        end.send(agent::Line::Drain).expect("the agent is there");
    }
    for agent in agents {
        agent.join().expect("no panic").expect("the agent ended well");
    }
    for folder in &folders {
        let left = std::fs::read_dir(folder.path().join("spool")).expect("a spool").count();
        assert_eq!(left, 0, "what is committed is deleted");
    }
}
