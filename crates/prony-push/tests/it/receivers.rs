//! Receivers that refuse, stall, answer nonsense or aren't there: the run goes on, and every push is accounted for.

use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use prony_push::{Delivery, Endpoint, Header, HistogramForm, Labels, Protocol, Pusher, QUEUE_MAX};

use crate::fixture::result;
use crate::receiver::{Reaction, TestReceiver};

/// Long enough for a busy machine.
const WAIT: Duration = Duration::from_secs(30);

fn pusher(protocol: Protocol, url: &str, headers: Vec<Header>) -> Pusher {
    let endpoint = Endpoint::new(protocol, url, headers).expect("an endpoint");
    Pusher::start(endpoint, Labels::default(), HistogramForm::Native).expect("a thread")
}

fn finish(pusher: Pusher, wait: Duration) -> Delivery {
    pusher.finish(Arc::new(result(9.0)), wait)
}

#[test]
fn a_receiver_that_never_answers_costs_pushes_and_nothing_else() {
    const PUSHES: u64 = 1_000;
    let receiver = TestReceiver::start(|_| Reaction::Silence);
    let pusher = pusher(Protocol::Otlp, &receiver.url, Vec::new());
    let pushed = Arc::new(result(1.0));
    // None of these waits: with the time that a push may take, they would last longer than any test may.
    for _ in 0..PUSHES {
        pusher.push(Arc::clone(&pushed));
    }
    let warning = pusher.take_warning().expect("a warning");
    assert!(warning.contains("slower than the pushes come"), "{warning}");
    assert_eq!(pusher.take_warning(), None, "one is enough");
    let delivery = finish(pusher, Duration::from_millis(100));
    assert_eq!((delivery.arrived, delivery.is_complete), (0, false));
    assert_eq!(delivery.failed + delivery.dropped, PUSHES + 1, "{delivery:?}");
    assert!(delivery.dropped >= PUSHES - QUEUE_MAX as u64, "{delivery:?}");
}

#[test]
fn what_is_refused_for_good_is_not_sent_again() {
    for status in ["400 Bad Request", "401 Unauthorized", "404 Not Found", "302 Found"] {
        let receiver = TestReceiver::start(move |_| Reaction::Answer(status, b"no: out of\norder"));
        let delivery = finish(pusher(Protocol::RemoteWrite, &receiver.url, Vec::new()), WAIT);
        assert_eq!((delivery.arrived, delivery.failed, delivery.is_complete), (0, 1, false), "{status}");
        assert_eq!(delivery.last_failure.as_deref(), Some(format!("{status}: no: out of order").as_str()));
        assert_eq!(receiver.all().len(), 1, "{status}");
    }
}

#[test]
fn the_final_values_are_tried_until_they_arrive() {
    let receiver = TestReceiver::start(|number| match number {
        0..=2 => Reaction::Answer("503 Service Unavailable", b""),
        _ => Reaction::Answer("204 No Content", b""),
    });
    let pusher = pusher(Protocol::RemoteWrite, &receiver.url, Vec::new());
    pusher.push(Arc::new(result(1.0)));
    receiver.next();
    let delivery = finish(pusher, WAIT);
    assert_eq!((delivery.arrived, delivery.failed, delivery.is_complete), (1, 1, true), "{delivery:?}");
    assert_eq!(delivery.last_failure.as_deref(), Some("503 Service Unavailable"));
    let last = receiver.all();
    assert_eq!(last.len(), 3);
    assert!(last.iter().all(|pushed| pushed.body == last[0].body), "the same values each time");
}

#[test]
fn nothing_listens() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let url = format!("http://{}/", listener.local_addr().expect("an address"));
    drop(listener);
    let delivery = finish(pusher(Protocol::Otlp, &url, Vec::new()), Duration::from_millis(600));
    assert_eq!((delivery.arrived, delivery.failed, delivery.is_complete), (0, 1, false));
    assert_eq!(delivery.last_failure.as_deref(), Some("connection refused"));
}

/// A collector answers 200 and says in the body that it took nothing.
#[test]
fn points_that_are_rejected_have_not_arrived() {
    const REJECTED: &[u8] = b"\x0a\x0b\x08\x05\x12\x07too old";
    let receiver = TestReceiver::start(|_| Reaction::Answer("200 OK", REJECTED));
    let delivery = finish(pusher(Protocol::Otlp, &receiver.url, Vec::new()), WAIT);
    assert_eq!((delivery.arrived, delivery.is_complete), (0, false));
    assert_eq!(delivery.last_failure.as_deref(), Some("5 points were rejected: too old"));
    // Remote write has no such answer.
    let receiver = TestReceiver::start(|_| Reaction::Answer("200 OK", REJECTED));
    assert!(finish(pusher(Protocol::RemoteWrite, &receiver.url, Vec::new()), WAIT).is_complete);
}

#[test]
fn answers_without_end_and_nonsense_are_survived() {
    let receiver = TestReceiver::start(|_| Reaction::Answer("200 OK", &[0x41; 65_536]));
    assert!(finish(pusher(Protocol::Otlp, &receiver.url, Vec::new()), WAIT).is_complete);
    let receiver = TestReceiver::start(|_| Reaction::Answer("nonsense", b""));
    let delivery = finish(pusher(Protocol::Otlp, &receiver.url, Vec::new()), Duration::from_millis(600));
    assert_eq!((delivery.arrived, delivery.is_complete), (0, false));
}

#[test]
fn credentials_reach_the_receiver_and_nobody_else() {
    let receiver = TestReceiver::start(|_| Reaction::Answer("403 Forbidden", b"who are you?"));
    let headers = Header::lines("Authorization: Bearer geheim\nX-Scope-OrgID: team").expect("headers");
    assert!(!format!("{headers:?}").contains("geheim"));
    let delivery = finish(pusher(Protocol::Otlp, &format!("{}x?key=geheim", receiver.url), headers), WAIT);
    let pushed = receiver.next();
    assert_eq!(pushed.header("authorization"), Some("Bearer geheim"));
    assert_eq!(pushed.header("x-scope-orgid"), Some("team"));
    assert_eq!(pushed.head[0], "POST /x?key=geheim HTTP/1.1");
    assert!(!String::from_utf8_lossy(&pushed.body).contains("geheim"), "the target's query is a secret, too");
    assert!(!format!("{delivery:?}").contains("geheim"), "{delivery:?}");
}
