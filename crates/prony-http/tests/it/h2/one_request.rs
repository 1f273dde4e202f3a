//! Requests that differ from one another on one connection.

use std::collections::BTreeMap;
use std::sync::Arc;

use prony_http::h2::{Http2Error, OneRequest, Stream, plain_fields};
use prony_http::{Request, RequestKind};
use proptest::collection::vec;
use proptest::prelude::*;

use super::peer::*;
use super::transcript::Seen;

/// The block of a request with this `method` for `path`.
fn head(method: &str, path: &str) -> Vec<u8> {
    let mut block = Vec::new();
    for (name, value) in [(":method", method), (":scheme", "http"), (":authority", "a"), (":path", path)] {
        plain_fields::write_field(&mut block, name, value.as_bytes());
    }
    block
}

fn send(client: &mut Client, block: &[u8], body: Option<&Arc<[u8]>>, kind: RequestKind) -> Stream {
    let request = OneRequest { block, body, kind };
    client.connection.send_one(&client.shared, request, &mut client.out).unwrap()
}

/// What came of each stream: its fields, its body and whether it has ended.
type Requests = BTreeMap<u32, (Vec<(Vec<u8>, Vec<u8>)>, Vec<u8>, bool)>;

fn take(client: &mut Client, requests: &mut Requests) {
    for sent in client.sent() {
        match sent.kind {
            HEADERS => {
                let fields = client.fields(&sent);
                requests.insert(sent.stream, (fields, Vec::new(), sent.flags & END_STREAM != 0));
            }
            DATA => {
                let (_, body, ended) = requests.get_mut(&sent.stream).unwrap();
                body.extend(sent.payload);
                *ended = sent.flags & END_STREAM != 0;
            }
            _ => {}
        }
    }
}

proptest! {
    /// Bodies of any lengths, begun whenever and continued as windows open, come as they were given.
    #[test]
    fn each_stream_has_the_body_of_its_own_request(
        lengths in vec(prop_oneof![Just(0_usize), 1..100_usize, 60_000..150_000_usize], 1..8),
        window in 1..90_000_u32,
    ) {
        let mut client = Client::with_requests(0);
        let mut requests = Requests::new();
        let mut expected = BTreeMap::new();
        client.read(&settings(&[(4, window)]));
        for (number, length) in lengths.iter().enumerate() {
            let path = format!("/{number}");
            let body: Option<Arc<[u8]>> =
                (*length > 0).then(|| (0..*length).map(|at| u8::try_from((at + number) % 251).unwrap()).collect());
            let stream = send(&mut client, &head("POST", &path), body.as_ref(), RequestKind::Normal);
            expected.insert(stream.id, (path, body.unwrap_or_default()));
            take(&mut client, &mut requests);
        }
        for _ in 0..200 {
            if requests.values().all(|(_, _, ended)| *ended) {
                break;
            }
            let open: Vec<u32> = requests.iter().filter(|(_, sent)| !sent.2).map(|(id, _)| *id).collect();
            client.read(&number(WINDOW_UPDATE, 0, 70_000));
            for stream in open {
                client.read(&number(WINDOW_UPDATE, stream, 16_000));
            }
            while client.connection.has_more() {
                client.connection.send_more(&client.shared, &mut client.out);
                take(&mut client, &mut requests);
            }
            take(&mut client, &mut requests);
        }
        prop_assert_eq!(requests.len(), expected.len());
        for (id, (path, body)) in expected {
            let (fields, sent, ended) = &requests[&id];
            prop_assert!(*ended && sent[..] == body[..], "{path}: {} of {} bytes", sent.len(), body.len());
            prop_assert_eq!(&fields[3], &(b":path".to_vec(), path.into_bytes()));
        }
    }
}

#[test]
fn the_same_head_means_no_body_to_one_request_and_a_missing_one_to_another() {
    let mut client = Client::with_requests(0);
    let [get, first_head, second_head] =
        [("GET", RequestKind::Normal), ("HEAD", RequestKind::Head), ("HEAD", RequestKind::Head)]
            .map(|(method, kind)| send(&mut client, &head(method, "/"), None, kind));
    let fields = [(":status", "200"), ("content-length", "5")];
    let mut ended = |stream: Stream| client.read(&headers(stream.id, &fields, END_STREAM)).pop().unwrap();
    assert!(matches!(ended(first_head), Seen::End { .. }));
    assert!(matches!(ended(get), Seen::Malformed(_, Http2Error::BodyShort { missing_bytes: 5 })));
    assert!(matches!(ended(second_head), Seen::End { .. }));
}

#[test]
fn a_table_that_shrinks_is_acknowledged_before_the_fields() {
    let mut client = Client::new(&Request::get("a", "/"), prony_http::h2::Limits::default());
    client.read(&settings(&[(1, 0)]));
    client.sent();
    let block = head("GET", "/x");
    for expected in [[&[0x20][..], &block].concat(), block.clone()] {
        send(&mut client, &block, None, RequestKind::Normal);
        assert_eq!(client.sent()[0].payload, expected);
    }
}
