//! A foreign agent's parts: the controller assembles what is whole and nothing else. Through the machine, as it arrives.

use std::collections::BTreeSet;
use std::sync::Arc;

use prony_fleet::controller::{Action, Controller, Input, RunSettings, Signer, Wanted};
use prony_fleet::protocol::{
    Command, Envelope, Heartbeat, PART_BYTES, Part, PublicKey, RESULT_BYTES_MAX, Refusals, Report,
    ResultKind, Subject, Work, open,
};

use crate::fixture::{agent, key, run, sha256, wire_plan};

struct Run {
    controller: Controller,
    public: PublicKey,
    now: u64,
}

impl Run {
    fn new() -> Self {
        let key = key();
        let public = key.public();
        let settings = RunSettings {
            run: run("r1"),
            signer: Arc::new(Signer::new(Arc::new(key), 5)),
            wanted: Wanted::Any(1),
            drained: BTreeSet::new(),
            plans: vec![wire_plan()],
            observer: None,
            version: "1".to_owned(),
            deadline_ms: 1_000,
            max_unattended_ms: 1_000,
        };
        let mut run = Self { controller: Controller::new(settings, 0), public, now: 0 };
        for _ in 0..3 {
            run.now += 1_000_000_000;
            let heartbeat = Heartbeat {
                instance: "i".to_owned(),
                version: "1".to_owned(),
                work: Work::Idle,
                cores: 1,
                spooled: 0,
                refused: Refusals::default(),
            };
            run.hears(&Subject::Heartbeat(agent("a")), Report::Heartbeat(heartbeat));
        }
        run
    }

    fn hears(&mut self, subject: &Subject, message: Report) -> Vec<Action> {
        let envelope = Envelope {
            v_minor: 0,
            msg_id: "m".to_owned(),
            lab_epoch: 5,
            run: Some(run("r1")),
            slice: 0,
            attempt: 1,
            seq: 1,
            sent_mono_ns: 0,
            message,
        };
        self.controller
            .handle(Input::Message { subject: subject.clone(), bytes: envelope.encode() }, self.now)
    }

    /// What a part leads to: the number of the next one, whether the result is to be stored.
    fn part(&mut self, part: &Part) -> (Option<u32>, Option<Vec<u8>>) {
        let actions = self.hears(&Subject::Result(agent("a"), run("r1")), Report::Part(part.clone()));
        let mut led = (None, None);
        for action in actions {
            match action {
                Action::Publish(subject, bytes) => {
                    let command = open(&self.public, &subject, &bytes).expect("it is signed").message;
                    if let Command::Received { next, .. } = command {
                        led.0 = Some(next);
                    }
                }
                Action::Store(_, arrived) => led.1 = Some(arrived.bytes),
                _ => {}
            }
        }
        led
    }
}

fn parts(bytes: &[u8]) -> Vec<Part> {
    use base64::Engine as _;
    let part = |(index, data): (usize, &[u8])| Part {
        result: "x".to_owned(),
        is: ResultKind::Finished,
        index: u32::try_from(index).expect("few"),
        bytes: bytes.len() as u64,
        sha256: sha256(bytes),
        part_sha256: sha256(data),
        data: base64::engine::general_purpose::STANDARD.encode(data),
    };
    bytes.chunks(PART_BYTES).enumerate().map(part).collect()
}

#[test]
fn parts_are_put_together_whatever_their_order() {
    let bytes: Vec<u8> = (0..3 * PART_BYTES / 2).map(|number| b"0123456789"[number % 10]).collect();
    let parts = parts(&bytes);
    let mut run = Run::new();
    assert_eq!(run.part(&parts[1]), (Some(0), None), "the first one is missing");
    assert_eq!(run.part(&parts[0]), (Some(1), None));
    assert_eq!(run.part(&parts[0]), (Some(1), None), "once more");
    assert!(run.part(&parts[1]) == (Some(2), Some(bytes.clone())), "it is whole");
    assert!(run.part(&parts[1]) == (Some(2), Some(bytes)), "it could not be stored: once more");
    run.controller.handle(Input::Stored(0), run.now);
    assert_eq!(run.part(&parts[1]), (None, None), "it is stored once");
}

#[test]
fn damaged_parts_are_not_taken() {
    let good = parts(b"{}").remove(0);
    let mut run = Run::new();
    for bad in [
        Part { data: "e31=".to_owned(), ..good.clone() },
        Part { data: "e3=".to_owned(), ..good.clone() },
        Part { bytes: 3, ..good.clone() },
        Part { bytes: RESULT_BYTES_MAX + 1, ..good.clone() },
        Part { part_sha256: sha256(b"[]"), ..good.clone() },
        Part { sha256: sha256(b"[]"), ..good.clone() },
        Part { index: u32::MAX, ..good.clone() },
    ] {
        let (_, stored) = run.part(&bad);
        assert_eq!(stored, None, "{bad:?}");
    }
    assert_eq!(run.part(&good).1.as_deref(), Some(&b"{}"[..]));
    let second = Part { result: "y".to_owned(), ..good };
    assert_eq!(run.part(&second), (None, None), "one slice has one result");
}
