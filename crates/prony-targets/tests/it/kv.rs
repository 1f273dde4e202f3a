//! `kv`: its routes and limits, its events, its durable store.

use std::collections::HashMap;
use std::fs::File;
use std::path::PathBuf;

use prony_targets::kv::{Config, KEY_LIMIT_BYTES, WATCHER_LIMIT, start};
use prony_targets::{Running, StartError};
use proptest::prelude::*;

use crate::client::{Client, Reply, ask, many};

fn started() -> Running {
    start(Config::default()).unwrap()
}

impl Client {
    fn put(&mut self, key: &str, value: &str) -> Reply {
        let length = value.len();
        self.send(format!("PUT /{key} HTTP/1.1\r\nContent-Length: {length}\r\n\r\n{value}")).reply()
    }

    fn get(&mut self, key: &str) -> Reply {
        self.send(format!("GET /{key} HTTP/1.1\r\n\r\n")).reply()
    }

    fn delete(&mut self, key: &str) -> Reply {
        self.send(format!("DELETE /{key} HTTP/1.1\r\n\r\n")).reply()
    }
}

fn client_of(server: &Running) -> Client {
    Client::connect(server.local_addr())
}

fn watch(server: &Running, key: &str) -> Client {
    let mut client = client_of(server);
    client.send(format!("GET /{key} HTTP/1.1\r\nAccept: text/event-stream\r\n\r\n"));
    let head = client.head();
    assert_eq!((head.status, head.field("Content-Type")), (200, Some("text/event-stream")));
    assert!(head.field("Server-Timing").is_some());
    client
}

#[test]
fn values_are_kept_replaced_and_deleted() {
    let server = started();
    let mut client = client_of(&server);
    let missing = client.get("a");
    assert_eq!((missing.status, missing.text()), (404, "no such key\n"));
    assert_eq!(client.delete("a").status, 404);
    let reply = client.put("a", "one");
    assert_eq!((reply.status, reply.text()), (201, "stored\n"));
    let value = client.get("a");
    assert_eq!((value.status, value.text(), value.field("Content-Type")), (200, "one", Some("text/plain")));
    let post = "POST /a HTTP/1.1\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n3\r\ntwo\r\n0\r\n\r\n";
    assert_eq!(client.send(post).reply().status, 200);
    assert_eq!(client.get("a").text(), "two");
    let head = client.send("HEAD /a HTTP/1.1\r\n\r\n").head();
    assert_eq!((head.status, head.field("Content-Length")), (200, Some("3")));
    let reply = client.delete("a");
    assert_eq!((reply.status, reply.text()), (200, "deleted\n"));
    assert_eq!(client.get("a").status, 404);
    let reply = client.send("PATCH /a HTTP/1.1\r\n\r\n").reply();
    assert_eq!((reply.status, reply.field("Allow")), (405, Some("GET, HEAD, PUT, POST, DELETE")));
}

#[test]
fn keys_are_taken_byte_for_byte() {
    let server = started();
    let mut client = client_of(&server);
    let keys = ["test2", "/test2", "asd;lfkwk;lef", "a%20b", "a+b", "a?b=c", "a/../b", "x://y"];
    for key in keys {
        assert_eq!(client.put(key, key).status, 201, "{key}");
    }
    for key in keys {
        assert_eq!(client.get(key).text(), key);
    }
    assert_eq!(client.send("GET http://host/a+b HTTP/1.1\r\n\r\n").reply().text(), "a+b");
    assert_eq!(client.get("").status, 404);
    assert_eq!(client.put("", "x").status, 404);
    assert_eq!(client.send("OPTIONS * HTTP/1.1\r\n\r\n").reply().status, 400);
    assert_eq!(client.put(&"k".repeat(KEY_LIMIT_BYTES), "x").status, 201);
    assert_eq!(client.put(&"k".repeat(KEY_LIMIT_BYTES + 1), "x").status, 414);
}

#[test]
fn values_are_as_long_as_a_body_and_memory_is_bounded() {
    let server = start(Config { memory_limit_bytes: 3 * 1024 * 1024, ..Config::default() }).unwrap();
    let mut client = client_of(&server);
    let longest = "x".repeat(1024 * 1024);
    assert_eq!(client.put("a", &longest).status, 201);
    assert_eq!(client.put("b", &longest).status, 201);
    let reply = client.put("c", &longest);
    assert_eq!((reply.status, reply.text()), (507, "the memory for values is used up\n"));
    assert_eq!(client.get("b").text(), longest);
    assert_eq!(client.delete("a").status, 200);
    assert_eq!(client.put("c", &longest).status, 201);
    // Replies that fit into no socket buffer: the server must hold back and go on later.
    client.send("GET /c HTTP/1.1\r\n\r\n".repeat(50));
    for _ in 0..50 {
        assert_eq!(client.reply().body.len(), longest.len());
    }
}

#[test]
fn copied_values_are_the_same_values() {
    let server = start(Config { copy_values: true, ..Config::default() }).unwrap();
    let mut client = client_of(&server);
    client.put("a", "This is a test of the broadcasting system.");
    assert_eq!(client.get("a").text(), "This is a test of the broadcasting system.");
    assert_eq!(client.get("b").status, 404);
}

#[test]
fn each_connection_gets_a_line_where_that_is_wanted() {
    let folder = Folder::new("lines");
    std::fs::create_dir_all(&folder.0).unwrap();
    let path = folder.0.join("log");
    let log = Some(File::create(&path).unwrap());
    let server = start(Config { connection_log: log, keep_alive: false, ..Config::default() }).unwrap();
    for _ in 0..2 {
        let mut client = client_of(&server);
        assert_eq!(client.get("a").field("Connection"), Some("close"));
        assert!(client.ended());
    }
    server.stop();
    let log = std::fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = log.lines().collect();
    assert!(lines.len() == 2 && lines[1].starts_with("connection 1 from 127.0.0.1:"), "{log}");
}

#[test]
fn many_clients_write_and_read_their_own() {
    let server = start(Config { workers: 2, ..Config::default() }).unwrap();
    many(server.local_addr(), 50, 100, |number, client| {
        assert!(matches!(client.put(&number.to_string(), "mine").status, 200 | 201));
        assert_eq!(client.get(&number.to_string()).text(), "mine");
    });
    assert_eq!(server.stop().counts.requests, 10_000);
}

#[derive(Debug, Clone)]
enum Step {
    Put(String, String),
    Delete(String),
    Get(String),
}

fn step() -> impl Strategy<Value = Step> {
    let key = || "[/;a-b]{1,2}";
    prop_oneof![
        (key(), "[ -~\r\n]{0,9}").prop_map(|(key, value)| Step::Put(key, value)),
        key().prop_map(Step::Delete),
        key().prop_map(Step::Get),
    ]
}

/// Puts `steps` to a server, all at once, and to a map, one by one.
fn compare(client: &mut Client, steps: &[Step]) {
    let mut map = HashMap::new();
    let requests = steps.iter().map(|step| match step {
        Step::Put(key, value) => {
            format!("PUT /{key} HTTP/1.1\r\nContent-Length: {}\r\n\r\n{value}", value.len())
        }
        Step::Delete(key) => format!("DELETE /{key} HTTP/1.1\r\n\r\n"),
        Step::Get(key) => format!("GET /{key} HTTP/1.1\r\n\r\n"),
    });
    client.send(requests.collect::<String>());
    for step in steps {
        let reply = client.reply();
        match step {
            Step::Put(key, value) => {
                let status = if map.insert(key, value).is_some() { 200 } else { 201 };
                assert_eq!(reply.status, status, "{step:?}");
            }
            Step::Delete(key) => {
                let status = if map.remove(key).is_some() { 200 } else { 404 };
                assert_eq!(reply.status, status, "{step:?}");
            }
            Step::Get(key) => match map.get(key) {
                Some(value) => assert_eq!(reply.text(), *value, "{step:?}"),
                None => assert_eq!(reply.status, 404, "{step:?}"),
            },
        }
    }
    for key in map.keys() {
        assert_eq!(client.delete(key).status, 200);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn it_is_a_map_in_memory_and_on_disk(steps in proptest::collection::vec(step(), 0..60)) {
        let folder = Folder::new("map");
        compare(&mut client_of(&started()), &steps);
        compare(&mut client_of(&durable(&folder)), &steps);
    }
}

#[test]
fn a_watcher_sees_the_value_and_every_change() {
    let server = start(Config { workers: 2, ..Config::default() }).unwrap();
    let mut client = client_of(&server);
    let mut early = watch(&server, "a");
    client.put("b", "another key");
    client.put("a", "one");
    assert_eq!(early.event().unwrap(), "event: set\ndata: one");
    let mut late = watch(&server, "a");
    assert_eq!(late.event().unwrap(), "event: set\ndata: one");
    client.put("a", "two\nlines");
    client.delete("a");
    client.delete("a");
    client.put("a", "");
    for watcher in [&mut early, &mut late] {
        assert_eq!(watcher.event().unwrap(), "event: set\ndata: two\ndata: lines");
        assert_eq!(watcher.event().unwrap(), "event: deleted\ndata");
        assert_eq!(watcher.event().unwrap(), "event: set\ndata: ");
    }
    assert_eq!(server.stop().abandoned, 0);
    assert_eq!((early.event(), late.event()), (None, None), "a stop ends streams");
}

#[test]
fn a_watcher_that_is_too_slow_is_dropped_and_notified() {
    let server = started();
    let mut watcher = watch(&server, "a");
    let mut client = client_of(&server);
    // 64 MiB fit into no two socket buffers and the queue between them.
    let value = "x".repeat(64 * 1024);
    for _ in 0..1024 {
        client.put("a", &value);
    }
    let mut last = None;
    let mut events = 0;
    while let Some(event) = watcher.event() {
        events += 1;
        last = Some(event);
    }
    assert_eq!(last.unwrap(), "event: dropped\ndata: too many events were waiting; start over");
    assert!((2..1024).contains(&events), "{events}");
}

#[test]
fn watchers_are_bounded_and_counted_off_when_they_leave() {
    let server = started();
    let watchers: Vec<Client> =
        (0..WATCHER_LIMIT).map(|number| watch(&server, &number.to_string())).collect();
    let one_more = "GET /a HTTP/1.1\r\nAccept: text/event-stream\r\nConnection: close\r\n\r\n";
    let refused = ask(server.local_addr(), one_more);
    assert_eq!((refused.status, refused.text()), (503, "too many watch already\n"));
    drop(watchers);
    loop {
        let mut client = client_of(&server);
        if client.send(one_more).head().status == 200 {
            break;
        }
        std::thread::yield_now();
    }
}

/// A folder for one test, gone with it.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("prony-kv-{name}-{}", std::process::id()));
        // What an earlier process of this number left.
        let _ = std::fs::remove_dir_all(&path);
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn durable(folder: &Folder) -> Running {
    start(Config { workers: 2, durable: Some(folder.0.clone()), ..Config::default() }).unwrap()
}

#[test]
fn a_durable_store_is_there_again() {
    let folder = Folder::new("again");
    let server = durable(&folder);
    let mut client = client_of(&server);
    let mut watcher = watch(&server, "a");
    assert_eq!(client.put("a", "one").status, 201);
    assert_eq!(client.put("a", "two").status, 200);
    assert_eq!(client.put("b;/", "three").status, 201);
    assert_eq!(client.delete("b;/").status, 200);
    assert_eq!(client.delete("b;/").status, 404);
    assert_eq!(client.put("c", "").status, 201);
    assert_eq!(watcher.event().unwrap(), "event: set\ndata: one");
    assert_eq!(watcher.event().unwrap(), "event: set\ndata: two");
    let error = start(Config { durable: Some(folder.0.clone()), ..Config::default() }).unwrap_err();
    assert!(matches!(error, StartError::Store { .. }), "two servers on one store: {error}");
    let report = server.stop();
    assert_eq!((report.abandoned, report.counts.max_in_flight), (0, 1));

    let server = durable(&folder);
    let mut client = client_of(&server);
    assert_eq!((client.get("a").text(), client.get("b;/").status, client.get("c").text()), ("two", 404, ""));
    server.stop();
    let config = Config { durable: Some(folder.0.clone()), memory_limit_bytes: 100, ..Config::default() };
    let error = start(config).unwrap_err();
    assert!(matches!(error, StartError::Store { .. }), "more on disk than memory is for: {error}");
}

#[test]
fn many_durable_writes_share_the_disk() {
    let folder = Folder::new("many");
    let server = durable(&folder);
    many(server.local_addr(), 20, 20, |number, client| {
        assert!(matches!(client.put(&number.to_string(), "mine").status, 200 | 201));
        assert_eq!(client.get(&number.to_string()).text(), "mine");
    });
    assert_eq!(server.stop().counts.requests, 800);
}
