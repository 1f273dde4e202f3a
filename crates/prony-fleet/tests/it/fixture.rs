//! What several tests need.

use prony_fleet::protocol::{AgentName, Command, ControllerKey, Envelope, RunName, Subject, WirePlan};
use prony_model::{RunOptions, RunPlan, Target};

/// A controller.
pub(crate) fn key() -> ControllerKey {
    ControllerKey::read(&ControllerKey::generate().expect("random numbers")).expect("a key")
}

pub(crate) fn agent(name: &str) -> AgentName {
    AgentName::new(name).expect("a name")
}

pub(crate) fn run(name: &str) -> RunName {
    RunName::new(name).expect("a name")
}

/// A plan with a secret header.
pub(crate) fn plan() -> RunPlan {
    let options = RunOptions {
        request: prony_model::RequestOptions {
            headers: vec![("Authorization".to_owned(), "Bearer secret".to_owned())],
            ..Default::default()
        },
        duration: Some(std::time::Duration::from_secs(1)),
        ..RunOptions::default()
    };
    options.plan(Target::parse("http://127.0.0.1:3000/x").expect("a URL"), 7).expect("a plan")
}

pub(crate) fn wire_plan() -> WirePlan {
    WirePlan::pack(plan())
}

/// A command in an envelope.
pub(crate) fn command(epoch: u64, seq: u64, message: Command) -> Envelope<Command> {
    Envelope {
        v_minor: 0,
        msg_id: format!("r1-{seq}"),
        lab_epoch: epoch,
        run: Some(run("r1")),
        slice: 0,
        attempt: 1,
        seq,
        sent_mono_ns: 1,
        message,
    }
}

pub(crate) fn to(name: &str) -> Subject {
    Subject::Command(agent(name))
}

/// SHA-256 in hexadecimal digits.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    let digest = ring::digest::digest(&ring::digest::SHA256, bytes);
    digest.as_ref().iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("a string");
        text
    })
}
