//! Messages between agents and their controller: nothing panics, nothing unsigned is followed, and what is read is written
//! the same.
#![no_main]

use std::collections::BTreeSet;
use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use prony_fleet::agent::{Action, Agent, Identity, Input};
use prony_fleet::controller::{self, Collector, Controller, Next, Roster, RunSettings, Signer, Wanted};
use prony_fleet::protocol::{AgentName, ControllerKey, Envelope, Report, RunName, Subject};

fuzz_target!(|bytes: &[u8]| {
    if let Ok(report) = Envelope::<Report>::decode(bytes) {
        let again = Envelope::<Report>::decode(&report.encode()).expect("what is written is read");
        assert_eq!(again.message, report.message);
    }
    let name = AgentName::new("a").expect("a name");
    match Envelope::<Report>::decode(bytes).map(|envelope| (envelope.slice, envelope.message)) {
        Ok((slice, Report::Part(part))) => {
            let run = RunName::new("r").expect("a name");
            let next = Collector::default().take(&name, &run, slice, &part, 1);
            assert!(!matches!(next, Next::Store(collected) if collected.bytes.len() as u64 != part.bytes));
        }
        Ok((_, Report::Heartbeat(heartbeat))) => {
            let mut roster = Roster::default();
            roster.heard(&name, heartbeat, 1);
            assert_eq!(roster.list(1).len(), 1);
        }
        _ => {}
    }
    let key = ControllerKey::generate().and_then(|text| ControllerKey::read(&text)).expect("a key");
    let identity = Identity {
        name: name.clone(),
        instance: "i".to_owned(),
        version: "1".to_owned(),
        cores: 1,
        controller: key.public(),
    };
    let mut agent = Agent::new(identity, Vec::new(), Vec::new());
    let subject = Subject::Command(name.clone());
    let actions = agent.handle(Input::Message { subject, bytes: bytes.to_vec() }, 1);
    assert!(actions.iter().all(|action| matches!(action, Action::Note(_))), "{actions:?}");
    let run = RunName::new("r").expect("a name");
    let settings = RunSettings {
        run: run.clone(),
        signer: Arc::new(Signer::new(Arc::new(key), 1)),
        wanted: Wanted::Any(1),
        drained: BTreeSet::new(),
        plans: Vec::new(),
        observer: None,
        version: "1".to_owned(),
        deadline_ms: 1,
        max_unattended_ms: 1,
    };
    let mut controller = Controller::new(settings, 0);
    for subject in [
        Subject::Heartbeat(name.clone()),
        Subject::Event(name.clone(), run.clone()),
        Subject::Result(name, run),
    ] {
        controller.handle(controller::Input::Message { subject, bytes: bytes.to_vec() }, 1);
    }
});
