//! Messages as version 1.0 writes them: what is in `tests/golden/` is read for as long as subjects say `v1`.
//!
//! After an addition: `PRONY_WRITE_GOLDEN=1 cargo nextest run -p prony-fleet golden`, and read the difference. It may have
//! new files and nothing else.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use prony_fleet::protocol::{
    Answer, Command, Envelope, Heartbeat, Live, Offer, Part, Refusals, Report, ResultKind, Task, V_MINOR,
    WirePlan, Work,
};
use prony_model::{Feed, FeedEnd, FeedOrder, FeedRows, RunPlan, Scenario, SessionConnections};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::fixture::{command, plan, run, wire_plan};

fn check<M: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug>(name: &str, envelope: &Envelope<M>) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(format!("{name}.json"));
    if std::env::var_os("PRONY_WRITE_GOLDEN").is_some() {
        let value: serde_json::Value = serde_json::from_slice(&envelope.encode()).expect("JSON");
        fs::write(&path, serde_json::to_string_pretty(&value).expect("JSON") + "\n")
            .expect("it can be written");
    }
    let golden = fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let read: Envelope<M> = Envelope::decode(&golden).unwrap_or_else(|error| panic!("{name}: {error}"));
    assert_eq!(&read, envelope, "{name}");
    let written: serde_json::Value = serde_json::from_slice(&envelope.encode()).expect("JSON");
    let golden: serde_json::Value = serde_json::from_slice(&golden).expect("JSON");
    assert_eq!(written, golden, "{name} is written otherwise than before");
}

fn report(message: Report) -> Envelope<Report> {
    Envelope {
        v_minor: V_MINOR,
        msg_id: "i-1".to_owned(),
        lab_epoch: 5,
        run: Some(run("r1")),
        slice: 1,
        attempt: 1,
        seq: 9,
        sent_mono_ns: 1_000,
        message,
    }
}

#[test]
fn commands_are_read_and_written_as_ever() {
    // The plan's own format has a version of its own, so the offer's golden file has none.
    for (name, message) in [
        ("arm", Command::Arm),
        ("start", Command::Start { at_ns: 123 }),
        ("stop", Command::Stop { reason: "ended by hand".to_owned() }),
        ("beat", Command::Beat),
        ("pong", Command::Pong { ping: 3, at_ns: 77 }),
        ("received", Command::Received { result: "i-1".to_owned(), next: 4 }),
        ("committed", Command::Committed { result: "i-1".to_owned() }),
    ] {
        check(name, &command(5, 8, message));
    }
}

#[test]
fn reports_are_read_and_written_as_ever() {
    let part = Part {
        result: "i-1".to_owned(),
        is: ResultKind::Finished,
        index: 0,
        bytes: 2,
        sha256: "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a".to_owned(),
        part_sha256: "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a".to_owned(),
        data: "e30=".to_owned(),
    };
    let heartbeat = Heartbeat {
        instance: "i".to_owned(),
        version: "0.1.0".to_owned(),
        work: Work::Busy,
        cores: 2,
        spooled: 1,
        refused: Refusals { forged: 1, stale: 2, replayed: 3, unreadable: 4 },
    };
    let live = Live { phase: "measure".to_owned(), elapsed_ms: 1_500, done: 10, failed: 1, rate_per_s: 6.5 };
    let reply = |answer| Report::Reply { to: "r1-1".to_owned(), answer };
    for (name, message) in [
        ("heartbeat", Report::Heartbeat(heartbeat)),
        ("ping", Report::Ping { ping: 3 }),
        ("reply-accepted", reply(Answer::Accepted)),
        ("reply-ready", reply(Answer::Ready { offset_ns: -5, bound_ns: 6, rtt_ns: 12 })),
        ("reply-scheduled", reply(Answer::Scheduled)),
        ("reply-stopping", reply(Answer::Stopping { result: true })),
        ("reply-refused", reply(Answer::Refused { why: "busy".to_owned() })),
        ("live", Report::Live(live)),
        ("part", Report::Part(part)),
    ] {
        check(name, &report(message));
    }
}

#[test]
fn later_minors_are_read() {
    let text = br#"{"v_minor":7,"msg_id":"x","lab_epoch":1,"seq":2,"sent_mono_ns":3,"new":[1],
        "kind":"ping","body":{"ping":4,"colour":"red"}}"#;
    let read: Envelope<Report> = Envelope::decode(text).expect("unknown fields are no fault");
    assert_eq!(read.message, Report::Ping { ping: 4 });
    let text =
        br#"{"v_minor":7,"msg_id":"x","lab_epoch":1,"seq":2,"sent_mono_ns":3,"kind":"sing","body":{}}"#;
    assert!(Envelope::<Report>::decode(text).is_err(), "an unknown kind is dropped");
}

#[test]
fn an_offer_has_the_secrets_and_a_stored_plan_has_not() {
    let offer = Offer { instance: "i".to_owned(), plan: wire_plan(), deadline_ms: 1, max_unattended_ms: 2 };
    let sent = command(5, 8, Command::Offer(Box::new(offer))).encode();
    let Command::Offer(read) = Envelope::<Command>::decode(&sent).expect("an offer").message else {
        panic!("another kind");
    };
    assert_eq!(read.plan.clone().unpack().expect("a plan"), plan());
    assert!(!format!("{read:?}").contains("secret"), "{read:?}");
}

#[test]
fn an_agent_that_measures_the_server_learns_no_secret() {
    let wire = WirePlan::observing(plan());
    let sent = serde_json::to_string(&wire).expect("JSON");
    assert!(!sent.contains("secret") && sent.contains("\"task\":\"observe\""), "{sent}");
    let read: WirePlan = serde_json::from_str(&sent).expect("what was sent");
    assert_eq!((read.task(), WirePlan::pack(plan()).task()), (Task::Observe, Task::Load));
    let read = read.unpack().expect("a plan");
    let window = |plan: &RunPlan| (plan.target.url.clone(), plan.warmup, plan.end);
    assert_eq!(window(&read), window(&plan()));
    assert_eq!((read.request.headers, read.share), (Vec::new(), None));
}

#[test]
fn rows_of_feeds_and_authorities_go_with_an_offer() {
    let mut rows = FeedRows::new(2);
    rows.push(&[&b"ann"[..], &b"\xff\x00secret"[..]]).expect("two values");
    rows.push(&[&b""[..], &b"x"[..]]).expect("two values");
    let feed = Feed {
        name: "users".to_owned(),
        file: "users.csv".to_owned(),
        sha256: String::new(),
        rows: 2,
        columns: vec!["name".to_owned(), "password".to_owned()],
        order: FeedOrder::Unique,
        at_end: FeedEnd::Stop,
        data: Arc::new(rows),
    };
    let scenario = Scenario {
        name: "visit".to_owned(),
        cookies: false,
        connections: SessionConnections::Shared,
        feeds: vec![feed],
        flows: Vec::new(),
    };
    let plan = RunPlan { scenario: Some(Box::new(scenario)), ..plan() };
    let wire = WirePlan::pack(plan.clone()).with_authorities(vec!["PEM".to_owned()]);
    let sent = serde_json::to_string(&wire).expect("JSON");
    let read: WirePlan = serde_json::from_str(&sent).expect("what was sent");
    assert_eq!(read.authorities(), ["PEM"]);
    assert_eq!(read.unpack().expect("a plan"), plan);
    // Rows that don't fit the feed are refused, not taken for others.
    for (from, to) in [
        ("\"rows\":2", "\"rows\":3"),
        ("\"lengths\":[3,", "\"lengths\":[4,"),
        ("\"feeds\":[{\"bytes\"", "\"feeds_\":[{\"bytes\""),
    ] {
        let damaged = sent.replacen(from, to, 1);
        assert_ne!(damaged, sent, "{from}");
        let read: WirePlan = serde_json::from_str(&damaged).expect("JSON");
        assert!(read.unpack().is_err(), "{to}");
    }
}
