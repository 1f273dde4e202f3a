//! `truth`: what it does is what it drew, and what it logs is what it did.

use std::fs::OpenOptions;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::Duration;

use prony_targets::truth::log::{LogError, Outcome, Record, read};
use prony_targets::truth::{Config, Delay, Ending, SlowBody, draw, start};
use prony_targets::{Running, StartError};

use crate::client::{Client, ask, wait_until_asked};

const MS: Duration = Duration::from_millis(1);

/// A server whose records are kept, and where they come out.
fn recorded(config: Config) -> (Running, Receiver<Record>) {
    let (give, take) = sync_channel(10_000);
    (start(Config { records: Some(give), ..config }).unwrap(), take)
}

/// The records when the server has stopped, in the order of their ids.
fn records_of(server: Running, take: &Receiver<Record>) -> Vec<Record> {
    let report = server.stop();
    let mut records: Vec<_> = take.try_iter().collect();
    assert_eq!((report.counts.records_lost, report.abandoned), (0, 0));
    records.sort_by_key(|record| record.id);
    records
}

fn ns(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap()
}

#[test]
fn the_log_says_what_was_drawn_and_done() {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("drawn.truth");
    let delay = Delay::Exponential { mean: MS / 5 };
    let (seed, error_share, reset_share) = (42, 0.2, 0.1);
    let config =
        Config { delay, seed, error_share, reset_share, log: Some(path.clone()), ..Config::default() };
    let (server, take) = recorded(config);
    let mut client = Client::connect(server.local_addr());
    let drawn = |id| draw(seed, id, delay, error_share, reset_share);
    // Backwards, because the order must make no difference.
    for id in (0..300).rev() {
        client.send(format!("GET / HTTP/1.1\r\nX-Request-Id: {id}\r\n\r\n"));
        let status = match drawn(id).ending {
            Ending::Success => 200,
            Ending::Error => 500,
            Ending::Reset => {
                assert!(client.was_reset());
                client = Client::connect(server.local_addr());
                continue;
            }
        };
        let reply = client.reply();
        assert_eq!((reply.status, reply.field("X-Request-Id")), (status, Some(&*id.to_string())));
    }
    let records = records_of(server, &take);
    assert_eq!(records.len(), 300);
    for (id, record) in (0..).zip(&records) {
        let drawn = drawn(id);
        assert_eq!((record.id, record.delay_ns), (id, ns(drawn.service)));
        let outcome = match drawn.ending {
            Ending::Success => Outcome::Success,
            Ending::Error => Outcome::Error,
            Ending::Reset => Outcome::Reset,
        };
        assert_eq!(record.outcome, outcome, "{record:?}");
        assert!(record.stamped && record.arrival_ns <= record.read_ns, "{record:?}");
        assert_eq!(record.start_ns, record.arrival_ns);
        assert!(record.residence_ns() >= record.delay_ns, "never early: {record:?}");
    }
    let log = read(&path).unwrap();
    assert_eq!((log.seed, log.lost, log.len()), (seed, 0, 300));
    let mut logged: Vec<_> = log.collect();
    logged.sort_by_key(|record| record.id);
    assert_eq!(logged, records);
}

#[test]
fn a_log_cut_short_is_an_error_that_says_how_much_is_there() {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("short.truth");
    let server = start(Config { log: Some(path.clone()), ..Config::default() }).unwrap();
    for _ in 0..5 {
        ask(server.local_addr(), "GET / HTTP/1.1\r\n\r\n");
    }
    server.stop();
    assert_eq!(read(&path).unwrap().len(), 5);
    let file = OpenOptions::new().write(true).open(&path).unwrap();
    // The header, three records and part of a fourth.
    file.set_len(40 + 3 * 72 + 50).unwrap();
    let error = read(&path).unwrap_err();
    assert!(matches!(error, LogError::Truncated { whole: 3, .. }), "{error}");
    assert!(error.to_string().contains("after 3 whole records"), "{error}");
}

#[test]
fn ids_come_from_field_query_or_count() {
    let (server, take) = recorded(Config::default());
    let mut client = Client::connect(server.local_addr());
    for head in
        ["GET / HTTP/1.1", "GET /?id=77 HTTP/1.1", "GET / HTTP/1.1\r\nx-request-id: 88", "GET / HTTP/1.1"]
    {
        client.send(format!("{head}\r\n\r\n")).reply();
    }
    let ids: Vec<_> = records_of(server, &take).iter().map(|record| record.id).collect();
    assert_eq!(ids, [0, 1, 77, 88]);
}

#[test]
fn a_single_worker_serves_one_after_the_other() {
    let delay = Delay::SingleWorker { service: MS };
    let (server, take) = recorded(Config { delay, ..Config::default() });
    let mut clients: Vec<_> = (0..20).map(|_| Client::connect(server.local_addr())).collect();
    for client in &mut clients {
        client.send("GET / HTTP/1.1\r\n\r\n");
    }
    for client in &mut clients {
        assert_eq!(client.reply().status, 200);
    }
    let mut free_ns = 0;
    for record in records_of(server, &take) {
        assert_eq!(record.start_ns, record.arrival_ns.max(free_ns), "{record:?}");
        free_ns = record.start_ns + ns(MS);
        assert_eq!(record.arrival_ns + record.delay_ns, free_ns, "{record:?}");
        assert!(record.first_ns >= free_ns, "{record:?}");
    }
}

#[test]
fn a_batch_is_answered_together() {
    let delay = Delay::Batch { base: MS / 10, every: 10 * MS };
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("batch.truth");
    let server = start(Config { delay, log: Some(path.clone()), ..Config::default() }).unwrap();
    let mut clients: Vec<_> = (0..8).map(|_| Client::connect(server.local_addr())).collect();
    for _ in 0..5 {
        for client in &mut clients {
            client.send("GET / HTTP/1.1\r\n\r\n");
        }
        for client in &mut clients {
            client.reply();
        }
    }
    server.stop();
    let log = read(&path).unwrap();
    let began_ns = log.began_ns;
    for record in log {
        let due_ns = record.arrival_ns + record.delay_ns;
        assert_eq!((due_ns - began_ns) % ns(10 * MS), 0, "{record:?}");
        assert!(record.delay_ns >= ns(MS / 10) && record.first_ns >= due_ns, "{record:?}");
    }
}

#[test]
fn without_keep_alive_each_connection_has_one_answer() {
    let (server, take) = recorded(Config { keep_alive: false, ..Config::default() });
    for _ in 0..3 {
        let mut client = Client::connect(server.local_addr());
        assert_eq!(client.send("GET / HTTP/1.1\r\n\r\n").reply().field("Connection"), Some("close"));
    }
    let connections: Vec<_> = records_of(server, &take).iter().map(|record| record.connection).collect();
    assert_eq!(connections, [0, 1, 2]);
}

#[test]
fn nothing_is_answered_in_a_freeze() {
    let (every, stall) = (10 * MS, 5 * MS);
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("freeze.truth");
    let delay = Delay::Freeze { base: MS / 10, every, stall };
    let server = start(Config { delay, log: Some(path.clone()), ..Config::default() }).unwrap();
    let mut client = Client::connect(server.local_addr());
    for _ in 0..50 {
        client.send("GET / HTTP/1.1\r\n\r\n").reply();
    }
    server.stop();
    let log = read(&path).unwrap();
    let began_ns = log.began_ns;
    let due: Vec<_> = log.map(|record| record.arrival_ns + record.delay_ns - began_ns).collect();
    assert!(due.iter().all(|due_ns| due_ns % ns(every) < ns(every) - ns(stall)), "{due:?}");
}

#[test]
fn a_slow_body_takes_its_time() {
    let slow_body = Some(SlowBody { pieces: 5, over: 20 * MS });
    let (server, take) = recorded(Config { slow_body, body_bytes: 1000, ..Config::default() });
    let mut client = Client::connect(server.local_addr());
    let request = "GET / HTTP/1.1\r\n\r\n";
    assert_eq!(client.send(request).reply().body.len(), 1000);
    client.send("HEAD / HTTP/1.1\r\n\r\n").head();
    assert_eq!(client.send(request).reply().body.len(), 1000, "the connection is in step");
    let records = records_of(server, &take);
    assert!(records[0].last_ns - records[0].first_ns >= ns(20 * MS), "{:?}", records[0]);
    assert_eq!(records[1].last_ns, records[1].first_ns);
}

#[test]
fn a_body_too_long_for_the_socket_is_sent_in_the_end() {
    let (server, take) = recorded(Config { body_bytes: 1024 * 1024, ..Config::default() });
    let mut clients: Vec<_> = (0..20).map(|_| Client::connect(server.local_addr())).collect();
    for client in &mut clients {
        client.send("GET / HTTP/1.1\r\n\r\n".repeat(3));
    }
    for client in &mut clients {
        for _ in 0..3 {
            assert_eq!(client.reply().body.len(), 1024 * 1024);
        }
    }
    assert_eq!(records_of(server, &take).len(), 60);
}

#[test]
fn several_workers_count_and_log_together() {
    let (server, take) = recorded(Config { workers: 3, ..Config::default() });
    for _ in 0..30 {
        assert_eq!(ask(server.local_addr(), "GET / HTTP/1.0\r\n\r\n").status, 200);
    }
    let ids: Vec<_> = records_of(server, &take).iter().map(|record| record.id).collect();
    assert_eq!(ids, (0..30).collect::<Vec<_>>());
}

#[test]
fn a_stop_answers_requests_in_flight_when_they_are_due() {
    let (server, take) = recorded(Config { delay: Delay::Const(40 * MS), ..Config::default() });
    let mut client = Client::connect(server.local_addr());
    client.send("GET / HTTP/1.1\r\n\r\n");
    wait_until_asked(&server);
    let records = records_of(server, &take);
    assert_eq!(records[0].outcome, Outcome::Success);
    assert!(records[0].residence_ns() >= ns(40 * MS));
    assert_eq!(client.reply().status, 200);
}

#[test]
fn what_a_stop_gives_up_is_logged_as_unfinished() {
    let (server, take) = recorded(Config { delay: Delay::Const(3_600_000 * MS), ..Config::default() });
    let mut client = Client::connect(server.local_addr());
    client.send("GET / HTTP/1.1\r\n\r\n");
    wait_until_asked(&server);
    assert_eq!(server.stop_within(Duration::ZERO).abandoned, 1);
    let record = take.recv().unwrap();
    assert_eq!((record.outcome, record.first_ns, record.residence_ns()), (Outcome::Unfinished, 0, 0));
}

#[test]
fn a_pipelined_request_is_due_by_its_own_arrival() {
    let (server, take) = recorded(Config { delay: Delay::Const(5 * MS), ..Config::default() });
    let mut client = Client::connect(server.local_addr());
    client.send("GET / HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\n\r\n");
    client.reply();
    client.reply();
    let records = records_of(server, &take);
    assert_eq!(records[0].arrival_ns, records[1].arrival_ns, "they came in one segment");
    assert_eq!(records[0].delay_ns, records[1].delay_ns);
}

#[test]
fn who_leaves_early_is_logged_as_unfinished() {
    let (server, take) = recorded(Config { body_bytes: 1024 * 1024, ..Config::default() });
    // 20 MiB of replies fit into no socket's buffers, and nobody reads them.
    Client::connect(server.local_addr()).send("GET / HTTP/1.1\r\n\r\n".repeat(20));
    assert!(take.iter().any(|record| record.outcome == Outcome::Unfinished));
    assert_eq!(server.stop().counts.broken, 1);
}

#[test]
fn unsupported_requests_are_rejected() {
    let refused = |config: Config, wanted: &str| {
        let error = start(config).unwrap_err();
        assert!(matches!(error, StartError::Setting { setting, .. } if setting == wanted), "{error}");
    };
    refused(Config { workers: 0, ..Config::default() }, "workers");
    refused(Config { delay: Delay::Bimodal { a: MS, b: MS, p: 2.0 }, ..Config::default() }, "delay");
    refused(Config { error_share: -0.1, ..Config::default() }, "error_share");
    refused(Config { error_share: 0.6, reset_share: 0.6, ..Config::default() }, "reset_share");
    refused(Config { slow_body: Some(SlowBody { pieces: 0, over: MS }), ..Config::default() }, "slow_body");
    refused(Config { spin: 2 * MS, ..Config::default() }, "spin");
    let nowhere = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("no-such-folder/x.truth");
    let error = start(Config { log: Some(nowhere), ..Config::default() }).unwrap_err();
    assert!(matches!(error, StartError::Log { .. }), "{error}");
    assert!(matches!(read("no-such-file"), Err(LogError::Read { .. })));
}
