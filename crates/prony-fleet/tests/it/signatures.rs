//! Commands that nobody has signed, for somebody else, twice, late or cut.

use prony_fleet::agent::{Action, Agent, Identity, Input};
use prony_fleet::protocol::{
    Command, ControllerKey, Offer, PAYLOAD_MAX, ProtocolError, PublicKey, Refusals, Subject, open, seal,
};
use proptest::prelude::*;

use crate::fixture::{agent, command, key, to, wire_plan};

fn listening(key: &ControllerKey) -> Agent {
    let identity = Identity {
        name: agent("a"),
        instance: "i".to_owned(),
        version: "1".to_owned(),
        cores: 1,
        controller: key.public(),
    };
    Agent::new(identity, Vec::new(), Vec::new())
}

fn offer() -> Command {
    Command::Offer(Box::new(Offer {
        instance: "i".to_owned(),
        plan: wire_plan(),
        deadline_ms: 1_000,
        max_unattended_ms: 1_000,
    }))
}

fn hears(agent: &mut Agent, subject: &Subject, bytes: Vec<u8>) -> Vec<Action> {
    agent.handle(Input::Message { subject: subject.clone(), bytes }, 1_000)
}

#[test]
fn only_the_controllers_commands_are_followed() {
    let (key, other) = (key(), key());
    let good = seal(&key, &to("a"), &command(5, 1, offer()));
    assert!(open(&key.public(), &to("a"), &good).is_ok());
    let mut agent = listening(&key);
    // Somebody else's, for somebody else, for everybody.
    for (bytes, subject) in [
        (seal(&other, &to("a"), &command(5, 1, offer())), to("a")),
        (seal(&key, &to("b"), &command(5, 1, offer())), to("a")),
        (good.clone(), Subject::StopAll),
        (command(5, 1, offer()).encode(), to("a")),
        (Vec::new(), to("a")),
    ] {
        let actions = hears(&mut agent, &subject, bytes);
        assert!(
            !actions.iter().any(|action| matches!(action, Action::Prepare(_) | Action::Publish(..))),
            "{actions:?}"
        );
    }
    assert_eq!(agent.heartbeat().refused, Refusals { forged: 5, ..Refusals::default() });
    let actions = hears(&mut agent, &to("a"), good.clone());
    assert!(actions.iter().any(|action| matches!(action, Action::Prepare(_))), "{actions:?}");
    // The same again, and one of an epoch that is over.
    assert_eq!(hears(&mut agent, &to("a"), good).len(), 1, "a note and nothing else");
    hears(&mut agent, &to("a"), seal(&key, &to("a"), &command(4, 9, offer())));
    assert_eq!(agent.heartbeat().refused, Refusals { forged: 5, replayed: 1, stale: 1, unreadable: 0 });
    assert_eq!(agent.epoch(), 5);
}

#[test]
fn a_long_message_is_not_decoded() {
    let key = key();
    let long = vec![b' '; PAYLOAD_MAX + 1];
    let error = open(&key.public(), &to("a"), &long).expect_err("too long");
    assert_eq!(error, ProtocolError::TooLong { bytes: PAYLOAD_MAX + 1, max: PAYLOAD_MAX });
}

#[test]
fn a_signed_message_that_makes_no_sense_is_counted() {
    let key = key();
    let mut agent = listening(&key);
    let mut nameless = command(5, 1, Command::Beat);
    nameless.msg_id = String::new();
    hears(&mut agent, &to("a"), seal(&key, &to("a"), &nameless));
    assert_eq!(agent.heartbeat().refused.unreadable, 1);
}

#[test]
fn keys_are_read_as_they_are_printed() {
    let text = ControllerKey::generate().expect("random numbers");
    let key = ControllerKey::read(&format!("{text}\n")).expect("a key");
    assert_eq!(PublicKey::read(&format!(" {}\n", key.public())), Ok(key.public()));
    assert!(!format!("{key:?}").contains(&text[..20]));
    for bad in ["", "x", &text] {
        assert!(PublicKey::read(bad).is_err(), "{bad}");
    }
    assert!(ControllerKey::read(&key.public().to_string()).is_err());
}

proptest! {
    /// One bit of difference anywhere is a forgery.
    #[test]
    fn every_bit_is_signed(place: prop::sample::Index, bit in 0_u8..8) {
        let key = key();
        let mut bytes = seal(&key, &to("a"), &command(5, 1, Command::Beat));
        let place = place.index(bytes.len());
        bytes[place] ^= 1 << bit;
        prop_assert_eq!(open(&key.public(), &to("a"), &bytes), Err(ProtocolError::Forged));
    }
}
