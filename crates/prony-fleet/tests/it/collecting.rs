//! What a controller left behind: results in its folder, and those that agents still hold.

use std::collections::BTreeMap;
use std::sync::Arc;

use prony_fleet::agent::{self, Agent, Identity, Spooled};
use prony_fleet::controller::{
    About, Arrived, CollectAction, CollectInput, CollectSettings, Collection, Reported, RunFolder, Signer,
};
use prony_fleet::protocol::{
    Command, ControllerKey, Envelope, Heartbeat, PART_BYTES, Part, Refusals, Report, ResultKind, Subject,
    Work,
};

use crate::fixture::{agent as name, key, run, sha256};

const SECOND_NS: u64 = 1_000_000_000;

fn arrived(agent: &str, id: &str, bytes: &[u8]) -> Arrived {
    let (agent, run) = (name(agent), run("r1"));
    Arrived { agent, run, slice: 0, id: id.to_owned(), is: ResultKind::Finished, bytes: bytes.to_vec() }
}

fn spooled(id: &str, bytes: &[u8]) -> Spooled {
    Spooled {
        id: id.to_owned(),
        run: run("r1"),
        epoch: 3,
        slice: 1,
        attempt: 1,
        is: ResultKind::Finished,
        bytes: bytes.len() as u64,
        sha256: sha256(bytes),
    }
}

fn envelope(message: Report) -> Vec<u8> {
    let envelope = Envelope {
        v_minor: 0,
        msg_id: "m".to_owned(),
        lab_epoch: 3,
        run: None,
        slice: 1,
        attempt: 1,
        seq: 1,
        sent_mono_ns: 1,
        message,
    };
    envelope.encode()
}

fn collection(key: Arc<ControllerKey>) -> Collection {
    Collection::new(CollectSettings { run: run("c9"), signer: Arc::new(Signer::new(key, 9)) }, 0)
}

fn part(spooled: &Spooled, bytes: &[u8], index: u32) -> Vec<u8> {
    use base64::Engine as _;
    let from = index as usize * PART_BYTES;
    let data = &bytes[from..bytes.len().min(from + PART_BYTES)];
    envelope(Report::Part(Part {
        result: spooled.id.clone(),
        is: spooled.is,
        index,
        bytes: spooled.bytes,
        sha256: spooled.sha256.clone(),
        part_sha256: sha256(data),
        data: base64::engine::general_purpose::STANDARD.encode(data),
    }))
}

#[test]
fn what_an_agent_holds_is_stored_once_and_then_deleted() {
    let key = Arc::new(key());
    let bytes = b"{\"a\":1}";
    let mut held = BTreeMap::from([
        ("one".to_owned(), spooled("one", bytes)),
        ("two".to_owned(), spooled("two", bytes)),
    ]);
    let mut agent = Agent::new(identity(&key), Vec::new(), held.values().cloned().collect());
    let mut collection = collection(key);
    let (mut stored, mut left) = (Vec::new(), None);
    let mut to_collection = Vec::new();
    for tick in 0..2_000_u64 {
        let now_ns = tick * SECOND_NS / 20;
        if tick % 20 == 0 {
            let beat = envelope(Report::Heartbeat(agent.heartbeat()));
            to_collection.push((Subject::Heartbeat(name("a")), beat));
        }
        let mut inputs: Vec<CollectInput> = std::mem::take(&mut to_collection)
            .into_iter()
            .map(|(subject, bytes)| CollectInput::Message { subject, bytes })
            .collect();
        inputs.push(CollectInput::Tick);
        let mut to_agent = vec![agent::Input::Tick];
        while let Some(input) = inputs.pop() {
            for action in collection.handle(input, now_ns) {
                match action {
                    CollectAction::Publish(subject, bytes) => {
                        to_agent.push(agent::Input::Message { subject, bytes });
                    }
                    CollectAction::Store(arrived) => {
                        inputs.push(CollectInput::Stored(arrived.agent.clone(), arrived.id.clone()));
                        stored.push(arrived);
                    }
                    CollectAction::Done(held) => left = Some(held),
                }
            }
        }
        if left.is_some() {
            break;
        }
        for input in to_agent {
            for action in agent.handle(input, now_ns) {
                match action {
                    agent::Action::Publish(subject, bytes) => to_collection.push((subject, bytes)),
                    agent::Action::SendPart(spooled, 0) => {
                        // Twice, as a bus may.
                        for _ in 0..2 {
                            let subject = Subject::Result(name("a"), spooled.run.clone());
                            to_collection.push((subject, part(&spooled, bytes, 0)));
                        }
                    }
                    agent::Action::Delete(spooled) => {
                        assert!(stored.iter().any(|arrived: &Arrived| arrived.id == spooled.id));
                        held.remove(&spooled.id).expect("it is deleted once");
                    }
                    other => panic!("{other:?}"),
                }
            }
        }
    }
    assert_eq!(left, Some(BTreeMap::new()), "it ends when nothing is held");
    assert!(held.is_empty());
    let mut ids: Vec<&str> = stored.iter().map(|arrived| arrived.id.as_str()).collect();
    ids.sort_unstable();
    assert_eq!(ids, ["one", "two"]);
    assert!(stored.iter().all(|arrived| arrived.bytes == bytes && arrived.slice == 1));
}

fn identity(key: &ControllerKey) -> Identity {
    Identity {
        name: name("a"),
        instance: "i1".to_owned(),
        version: "1".to_owned(),
        cores: 1,
        controller: key.public(),
    }
}

/// A controller was killed when it had two of three parts: the next one gets all three.
#[test]
fn a_result_that_had_arrived_in_part_is_sent_from_the_start() {
    let key = Arc::new(key());
    let bytes = vec![b'7'; 2 * PART_BYTES + 5];
    let spooled = spooled("one", &bytes);
    let mut agent = Agent::new(identity(&key), Vec::new(), vec![spooled.clone()]);
    let first = Signer::new(Arc::clone(&key), 8);
    let received = |next| {
        let about = About { id: format!("m{next}"), run: Some(run("r1")), slice: 1, attempt: 1 };
        let command = Command::Received { result: "one".to_owned(), next };
        let subject = Subject::Command(name("a"));
        agent::Input::Message { bytes: first.seal(&subject, about, command, 1), subject }
    };
    agent.handle(agent::Input::Tick, 1);
    agent.handle(received(1), 2);
    agent.handle(received(2), 3);
    let mut collection = collection(key);
    let (mut stored, mut is_done) = (None, false);
    let mut to_collection = Vec::new();
    for tick in 1..2_000_u64 {
        let now_ns = tick * SECOND_NS / 20;
        if tick % 20 == 0 {
            to_collection
                .push((Subject::Heartbeat(name("a")), envelope(Report::Heartbeat(agent.heartbeat()))));
        }
        let mut inputs: Vec<CollectInput> = std::mem::take(&mut to_collection)
            .into_iter()
            .map(|(subject, bytes)| CollectInput::Message { subject, bytes })
            .collect();
        inputs.push(CollectInput::Tick);
        let mut to_agent = vec![agent::Input::Tick];
        for input in inputs {
            for action in collection.handle(input, now_ns) {
                match action {
                    CollectAction::Publish(subject, bytes) => {
                        to_agent.push(agent::Input::Message { subject, bytes });
                    }
                    CollectAction::Store(arrived) => {
                        let input = CollectInput::Stored(arrived.agent.clone(), arrived.id.clone());
                        stored = Some(arrived.bytes);
                        for action in collection.handle(input, now_ns) {
                            if let CollectAction::Publish(subject, bytes) = action {
                                to_agent.push(agent::Input::Message { subject, bytes });
                            }
                        }
                    }
                    CollectAction::Done(held) => {
                        assert_eq!(held, BTreeMap::new());
                        is_done = true;
                    }
                }
            }
        }
        if is_done {
            break;
        }
        for input in to_agent {
            for action in agent.handle(input, now_ns) {
                match action {
                    agent::Action::Publish(subject, bytes) => to_collection.push((subject, bytes)),
                    agent::Action::SendPart(sent, index) => {
                        let subject = Subject::Result(name("a"), sent.run.clone());
                        to_collection.push((subject, part(&sent, &bytes, index)));
                    }
                    agent::Action::Delete(_) => assert!(stored.is_some(), "deleted before it was stored"),
                    other => panic!("{other:?}"),
                }
            }
        }
    }
    assert!(is_done, "it ends");
    assert!(stored.is_some_and(|stored| stored == bytes));
}

#[test]
fn what_cannot_be_stored_stays_with_the_agent_and_is_not_waited_for() {
    let key = Arc::new(key());
    let mut collection = collection(Arc::clone(&key));
    let heartbeat = Heartbeat {
        instance: "i1".to_owned(),
        version: "1".to_owned(),
        work: Work::Idle,
        cores: 1,
        spooled: 1,
        refused: Refusals::default(),
    };
    let message = |subject, bytes| CollectInput::Message { subject, bytes };
    let beat = envelope(Report::Heartbeat(heartbeat));
    collection.handle(message(Subject::Heartbeat(name("a")), beat), 3 * SECOND_NS);
    let arrives = || {
        let bytes = part(&spooled("one", b"{}"), b"{}", 0);
        message(Subject::Result(name("a"), run("r1")), bytes)
    };
    let actions = collection.handle(arrives(), 3 * SECOND_NS);
    assert!(matches!(actions.as_slice(), [CollectAction::Store(_)]), "{actions:?}");
    let done = [CollectAction::Done(BTreeMap::from([(name("a"), 1)]))];
    assert_eq!(collection.handle(CollectInput::NotStored(name("a"), "one".to_owned()), 3 * SECOND_NS), done);
    assert_eq!(collection.handle(arrives(), 3 * SECOND_NS), done, "nothing is promised");
}

#[test]
fn a_busy_agent_is_left_alone() {
    let mut collection = collection(Arc::new(key()));
    let heartbeat = Heartbeat {
        instance: "i1".to_owned(),
        version: "1".to_owned(),
        work: Work::Busy,
        cores: 1,
        spooled: 2,
        refused: Refusals::default(),
    };
    let bytes = envelope(Report::Heartbeat(heartbeat));
    let subject = Subject::Heartbeat(name("a"));
    assert_eq!(collection.handle(CollectInput::Message { subject, bytes }, 1), []);
    let bytes = part(&spooled("one", b"{}"), b"{}", 0);
    let subject = Subject::Result(name("a"), run("r1"));
    assert_eq!(collection.handle(CollectInput::Message { subject, bytes }, 2), []);
    let held = BTreeMap::from([(name("a"), 2)]);
    assert_eq!(collection.handle(CollectInput::Tick, 4 * SECOND_NS), [CollectAction::Done(held)]);
}

#[test]
fn the_folder_of_a_run_keeps_what_was_committed_and_counts_nothing_twice() {
    let runs = tempfile::tempdir().expect("a folder");
    let open = || RunFolder::open(runs.path(), &run("r1")).expect("a disk");
    let folder = open().expect("nobody has it");
    assert!(open().is_none(), "it is locked");
    for _ in 0..2 {
        folder.store(&arrived("a", "one", b"{}")).expect("a disk");
    }
    // Of the same run, and no result of the same load.
    folder.store(&arrived("a", "two", b"[]")).expect("a disk");
    assert!(folder.store(&arrived("b", "../b", b"{}")).is_err(), "an id that is no name");
    assert_eq!(folder.result(&name("a")).expect("a disk"), Some((ResultKind::Finished, b"{}".to_vec())));
    assert_eq!(folder.result(&name("b")).expect("a disk"), None);
    assert_eq!(RunFolder::all(runs.path()).expect("a disk"), [run("r1")]);
    folder.remove(&[name("a")]).expect("a disk");
    assert_eq!(RunFolder::all(runs.path()).expect("a disk"), []);
    let reported = Reported::read(runs.path()).expect("a disk");
    let has = |run_name: &str, agent: &str| reported.has(&run(run_name), &name(agent));
    assert_eq!((has("r1", "a"), has("r1", "b"), has("r2", "a")), (true, false, false));
}
