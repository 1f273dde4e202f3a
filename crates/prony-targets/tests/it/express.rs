//! `express`: its routes as Express answers them, its connections to the database, and its errors without one.

use std::fs;
use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

use prony_targets::express::{Config, Database, DatabaseError, start};
use prony_targets::postgres::{Postgres, PostgresError};
use prony_targets::{Running, StartError};

use crate::client::{Client, Reply, ask, many, wait_until_asked};
use crate::door::{Door, ask_as, options, postgres, sql, wait_for_a_sleeper};

const HELLO_TAG: &str = "W/\"c-Lve95gjOVATpfV8EL5X4nxwjKHE\"";
const HTML: &str = "text/html; charset=utf-8";
const JSON: &str = "application/json; charset=utf-8";

fn private() -> Config {
    Config { database: Some(Database::Private(options())), ..Config::default() }
}

fn open(address: SocketAddr, path: &str) -> Reply {
    ask(address, &format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n"))
}

/// What a part of the request took, in ms, if the reply reports it.
fn took_ms(reply: &Reply, part: &str) -> Option<f64> {
    let lines = reply.head.lines().filter_map(|line| line.strip_prefix("Server-Timing: "));
    let mut metrics = lines.flat_map(|line| line.split(", "));
    let found = metrics.find_map(|metric| metric.strip_prefix(part)?.strip_prefix(";dur="));
    found.map(|number| number.parse().unwrap())
}

#[test]
fn the_routes_of_the_original_have_their_sizes_and_headers() {
    let server = start(Config { workers: 2, ..private() }).unwrap();
    let cases = [
        ("/", HTML, Some(12), None),
        ("/pg1", HTML, Some(12), Some("connect")),
        ("/pg2", JSON, Some(26), Some("pool")),
        ("/PG2/?a=b", JSON, Some(26), Some("pool")),
        ("/pg3", HTML, None, Some("pool")),
        ("/seq1", HTML, None, Some("pool")),
        ("/seq2", HTML, None, Some("pool")),
        ("/promise", HTML, Some(13), None),
    ];
    for (path, content_type, bytes, waits_for) in cases {
        let reply = open(server.local_addr(), path);
        assert_eq!(
            (reply.status, reply.field("Content-Type")),
            (200, Some(content_type)),
            "{path}: {reply:?}"
        );
        assert_eq!(reply.field("X-Powered-By"), Some("Express"), "{path}");
        let tag = format!("W/\"{:x}-", reply.body.len());
        assert!(reply.field("ETag").is_some_and(|found| found.starts_with(&tag)), "{path}: {reply:?}");
        assert!(reply.field("Date").is_some_and(|date| date.ends_with(" GMT") && date.len() == 29), "{path}");
        assert!(bytes.is_none_or(|bytes| bytes == reply.body.len()), "{path}: {reply:?}");
        let waited_ms = waits_for.map_or(Some(0.0), |part| took_ms(&reply, part));
        let db_ms = if waits_for.is_some() { took_ms(&reply, "db") } else { Some(0.0) };
        let parts_ms = waited_ms.zip(db_ms).map(|(waited, db)| waited.max(db));
        assert!(parts_ms.is_some_and(|parts| parts <= took_ms(&reply, "app").unwrap()), "{path}: {reply:?}");
    }
    let text = |path| open(server.local_addr(), path).text().to_owned();
    assert_eq!((text("/").as_str(), text("/pg1").as_str()), ("Hello World!", "Hello world!"));
    assert_eq!(text("/promise"), "promise: true");
    assert_eq!(open(server.local_addr(), "/").field("ETag"), Some(HELLO_TAG));
    let now = text("/pg2");
    assert!(now.starts_with("\"20") && now.ends_with("Z\""), "{now}");
    let results = text("/pg3");
    assert_eq!(
        results.matches(r#"{"command":"SELECT","rowCount":1,"oid":null,"rows":[{"now":"20"#).count(),
        10
    );
    let users = text("/seq1");
    assert!(
        users.starts_with(r#"[{"id":1,"username":"user1","birthday":"1980-07-21T00:00:00.000Z","#),
        "{users}"
    );
    assert_eq!(users.matches("\"id\":").count(), 10);
    assert_eq!(text("/seq2"), format!("[{}]", vec![users; 10].join(",")));
    assert_eq!(server.stop().abandoned, 0);
}

#[test]
fn what_is_no_route_is_answered_as_express_does() {
    let server = start(Config::default()).unwrap();
    let address = server.local_addr();
    let reply = open(address, "/no/\u{e9}?a");
    assert_eq!((reply.status, reply.field("Content-Type")), (404, Some(HTML)));
    assert_eq!(reply.field("Content-Security-Policy"), Some("default-src 'none'"));
    assert_eq!((reply.field("X-Content-Type-Options"), reply.field("ETag")), (Some("nosniff"), None));
    assert!(reply.text().contains("<pre>Cannot GET /no/%C3%A9</pre>"), "{}", reply.text());
    let reply = ask(address, "POST / HTTP/1.1\r\nContent-Length: 2\r\n\r\nab");
    assert_eq!((reply.status, reply.body.len()), (404, 140));
    let reply = ask(address, "OPTIONS /pg1 HTTP/1.1\r\n\r\n");
    assert_eq!((reply.status, reply.field("Allow"), reply.text()), (200, Some("GET,HEAD"), "GET,HEAD"));
    let reply = Client::connect(address).send("HEAD / HTTP/1.1\r\n\r\n").head();
    assert_eq!((reply.status, reply.field("Content-Length")), (200, Some("12")));
}

#[test]
fn what_the_client_has_is_not_sent_again() {
    let server = start(private()).unwrap();
    let mut client = Client::connect(server.local_addr());
    for (path, tag) in [("/", HELLO_TAG), ("/pg1", "W/\"c-00hq6RNueFa8QiEjhep5cJRHWAI\"")] {
        let with = |fields: &str| format!("GET {path} HTTP/1.1\r\n{fields}\r\n");
        let reply = client.send(with(&format!("If-None-Match: {tag}\r\n"))).reply();
        assert_eq!((reply.status, reply.field("ETag")), (304, Some(tag)), "{reply:?}");
        assert_eq!((reply.field("Content-Length"), reply.field("Content-Type")), (None, None));
        let fresh = format!("If-None-Match: {tag}\r\nCache-Control: no-cache\r\n");
        assert_eq!(client.send(with(&fresh)).reply().status, 200);
        assert_eq!(client.send(with("If-None-Match: \"x\"\r\n")).reply().status, 200);
    }
}

#[test]
fn a_connection_for_each_request_and_one_that_is_kept() {
    let postgres = postgres();
    let door = Door::before(&postgres);
    let server = start(Config { database: Some(door.database()), ..Config::default() }).unwrap();
    let before = door.came();
    let mut client = Client::connect(server.local_addr());
    let mut ask = |path: &str| client.send(format!("GET {path} HTTP/1.1\r\n\r\n")).reply().body.len();
    for _ in 0..5 {
        assert_eq!(ask("/pg1"), 12);
    }
    assert_eq!(door.came(), before + 5, "one for each");
    for _ in 0..5 {
        assert_eq!(ask("/pg2"), 26);
    }
    assert_eq!(door.came(), before + 6, "one for all");
    let backends = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'";
    // The pooled one, and the one that asks; those of /pg1 may be on their way out.
    while sql(&postgres, backends) != ["2"] {
        std::thread::yield_now();
    }
}

#[test]
fn fifty_requests_at_once_share_the_pool() {
    const POOL: usize = 3;
    let postgres = postgres();
    let door = Door::before(&postgres);
    let pg_sleep = Duration::from_millis(5);
    let config =
        Config { database: Some(door.database()), pool: POOL, pg_sleep, workers: 2, ..Config::default() };
    let server = start(config).unwrap();
    let before = door.came();
    many(server.local_addr(), 50, 4, |number, client| {
        let path = ["/pg2", "/pg2", "/pg3"][number % 3];
        let reply = client.send(format!("GET {path} HTTP/1.1\r\n\r\n")).reply();
        assert_eq!(
            (reply.status, reply.body.starts_with(b"[{") || reply.body.len() == 26),
            (200, true),
            "{reply:?}"
        );
    });
    assert!(door.came() <= before + POOL, "{} connections", door.came() - before);
    let report = server.stop();
    assert_eq!((report.counts.requests, report.abandoned), (200, 0));
}

#[test]
fn a_query_takes_as_long_as_it_sleeps_and_no_longer_than_it_may() {
    let postgres = postgres();
    let door = Door::before(&postgres);
    let asleep = |pg_sleep_ms, statement_timeout_ms, errors_500| {
        start(Config {
            database: Some(door.database()),
            pool: 1,
            pool_timeout: Duration::from_millis(1),
            pg_sleep: Duration::from_millis(pg_sleep_ms),
            statement_timeout: Duration::from_millis(statement_timeout_ms),
            errors_500,
            ..Config::default()
        })
        .unwrap()
    };
    let reply = open(asleep(100, 60_000, false).local_addr(), "/pg2");
    assert!(took_ms(&reply, "db").unwrap() >= 100.0 && reply.body.len() == 26, "{reply:?}");
    for (errors_500, status) in [(false, 200), (true, 500)] {
        let server = asleep(60_000, 20, errors_500);
        let reply = open(server.local_addr(), "/pg2");
        assert_eq!((reply.status, reply.field("Content-Type")), (status, Some(JSON)));
        let text =
            r#"{"name":"error","code":"57014","message":"canceling statement due to statement timeout"}"#;
        assert_eq!(reply.text(), text);
    }
    let server = asleep(60_000, 60_000, true);
    let mut first = Client::connect(server.local_addr());
    first.send("GET /pg2 HTTP/1.1\r\n\r\n");
    wait_for_a_sleeper(&postgres);
    let reply = open(server.local_addr(), "/pg2");
    let text = r#"{"name":"error","message":"no connection of the pool became free in 1ms"}"#;
    assert_eq!((reply.status, reply.text()), (503, text));
    // A request that can't be waited for is given up, and its query with it.
    assert_eq!(server.stop_within(Duration::ZERO).abandoned, 1);
}

#[test]
fn errors_look_like_answers_until_the_database_is_back() {
    let postgres = postgres();
    let door = Door::before(&postgres);
    let served = |errors_500| {
        start(Config { database: Some(door.database()), errors_500, ..Config::default() }).unwrap()
    };
    let (original, honest) = (served(false), served(true));
    let both = [(original.local_addr(), 200), (honest.local_addr(), 503)];
    let paths = ["/pg1", "/pg2", "/pg3", "/seq1", "/seq2"];
    for (address, _) in both {
        assert_eq!(open(address, "/pg2").body.len(), 26);
    }
    door.shut();
    for (address, status) in both {
        for path in paths {
            let reply = open(address, path);
            assert_eq!(
                (reply.status, reply.field("Content-Type")),
                (status, Some(JSON)),
                "{path}: {reply:?}"
            );
            assert!(reply.text().starts_with(r#"{"name":"error","message":""#), "{path}: {reply:?}");
        }
        assert_eq!(open(address, "/").text(), "Hello World!");
    }
    door.open();
    for (address, _) in both {
        for path in paths {
            let reply = open(address, path);
            assert!(
                reply.status == 200 && !reply.text().starts_with("{\"name\":\"error\""),
                "{path}: {reply:?}"
            );
        }
    }
    // An error of SQL is about the query alone.
    sql(&postgres, "ALTER TABLE users RENAME TO others");
    for (address, status) in [(original.local_addr(), 200), (honest.local_addr(), 500)] {
        let reply = open(address, "/seq1");
        assert_eq!(reply.status, status);
        assert!(
            reply.text().starts_with(r#"{"name":"error","code":"42P01","message":"relation "#),
            "{reply:?}"
        );
    }
}

#[test]
fn without_a_database_there_is_a_page_and_an_advice() {
    for (errors_500, status) in [(false, 200), (true, 503)] {
        let server = start(Config { errors_500, ..Config::default() }).unwrap();
        assert_eq!(open(server.local_addr(), "/").text(), "Hello World!");
        let reply = open(server.local_addr(), "/pg2");
        assert_eq!(reply.status, status);
        assert!(reply.text().contains("--postgres auto, or with --database URL"), "{reply:?}");
    }
}

#[test]
fn a_database_that_cannot_be_used_is_named() {
    let refused = |database: &str| {
        let database = Some(Database::Url(database.parse().unwrap()));
        match start(Config { database, ..Config::default() }) {
            Err(StartError::Database(error)) => Err(error),
            Err(other) => panic!("{other}"),
            Ok(running) => Ok(running),
        }
    };
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let error = refused(&format!("postgresql://me:secret@{nobody}/shop")).unwrap_err();
    let words = error.to_string();
    assert!(matches!(error, DatabaseError::Unreachable { .. }), "{words}");
    assert!(words.contains(&format!("shop at {nobody}")) && words.contains("refused"), "{words}");
    assert!(!words.contains("secret"), "{words}");

    let postgres = postgres();
    let folder = postgres.socket_folder().display();
    let error = refused(&format!("host={folder} user=prony dbname=no_such")).unwrap_err();
    assert!(matches!(error, DatabaseError::Missing { .. }), "{error}");
    sql(&postgres, "CREATE ROLE guest LOGIN PASSWORD 'right'");
    let error = refused(&format!("host={folder} user=guest dbname=postgres")).unwrap_err();
    assert!(
        matches!(&error, DatabaseError::Table { message, .. } if message.contains("permission")),
        "{error}"
    );
    ask_for_a_password(&postgres);
    for wrong in ["", "password=wrong"] {
        let error = refused(&format!("host={folder} user=guest dbname=postgres {wrong}")).unwrap_err();
        assert!(matches!(error, DatabaseError::Login { .. }), "{wrong}: {error}");
    }
    sql(&postgres, "GRANT CREATE ON SCHEMA public TO guest");
    let server = refused(&format!("host={folder} user=guest dbname=postgres password=right")).unwrap();
    assert_eq!(open(server.local_addr(), "/seq1").text().matches("\"id\":").count(), 10);
}

/// From now on `guest` needs the password.
fn ask_for_a_password(postgres: &Postgres) {
    let rules = "local all prony trust\nlocal all all scram-sha-256\n";
    fs::write(postgres.socket_folder().join("data/pg_hba.conf"), rules).unwrap();
    sql(postgres, "SELECT pg_reload_conf()");
    // The database reads it when it comes to it.
    while ask_as(postgres, "guest", "SELECT 1").is_ok() {
        std::thread::yield_now();
    }
}

#[test]
fn a_private_database_is_alone_and_leaves_nothing() {
    let (one, other) = (postgres(), postgres());
    assert_ne!(one.socket_folder(), other.socket_folder());
    sql(&one, "CREATE TABLE mine ()");
    let tables = "SELECT count(*) FROM pg_tables WHERE tablename = 'mine'";
    assert_eq!((sql(&one, tables), sql(&other, tables)), (vec!["1".into()], vec!["0".into()]));
    assert_eq!(sql(&one, "SHOW listen_addresses"), [""]);
    assert_eq!(sql(&one, "SHOW fsync"), ["on"]);
    let (folder, process) = (one.socket_folder().to_owned(), one.process_id());
    drop(one);
    assert!(!folder.exists() && !fs::exists(format!("/proc/{process}")).unwrap());
    assert_eq!(sql(&other, "SELECT 1"), ["1"]);
}

/// The same end as that of a process that is killed: nobody has the time to stop the database.
#[test]
fn a_private_database_ends_with_the_thread_that_started_it() {
    let left = std::thread::spawn(postgres).join().unwrap();
    let stat = format!("/proc/{}/stat", left.process_id());
    // It stays a zombie until it is waited for.
    while !fs::read_to_string(&stat).unwrap().contains(") Z ") {
        std::thread::yield_now();
    }
    assert!(!left.socket_folder().join("data/postmaster.pid").exists(), "it ended in good order");
}

#[test]
fn a_place_that_cannot_be_used_is_named() {
    let elsewhere = prony_targets::postgres::Options { temporary: "/no/such/folder".into(), ..options() };
    let error = Postgres::start(&elsewhere).unwrap_err();
    assert!(matches!(&error, PostgresError::Folder { path, .. } if path.ends_with("folder")), "{error}");
}

#[test]
fn a_stop_waits_for_a_query_under_way() {
    let server = start(Config { pg_sleep: Duration::from_millis(100), ..private() }).unwrap();
    let mut late = Client::connect(server.local_addr());
    late.send("GET /pg2 HTTP/1.1\r\n\r\n");
    wait_until_asked(&server);
    let stopping = std::thread::spawn(move || server.stop());
    let reply = late.reply();
    assert_eq!((reply.status, reply.body.len()), (200, 26), "{reply:?}");
    assert!(late.ended());
    assert_eq!(stopping.join().unwrap().abandoned, 0);
}

#[test]
fn unsupported_requests_are_rejected() {
    let refused = |config: Config| match start(config) {
        Err(StartError::Setting { setting, .. }) => setting,
        other => panic!("{:?}", other.map(|running: Running| running.local_addr())),
    };
    assert_eq!(refused(Config { pool: 0, ..Config::default() }), "pool");
    assert_eq!(refused(Config { pool: 1001, ..Config::default() }), "pool");
    let short = Duration::from_micros(999);
    assert_eq!(refused(Config { pool_timeout: short, ..Config::default() }), "pool_timeout");
    assert_eq!(refused(Config { connect_timeout: short, ..Config::default() }), "connect_timeout");
    assert_eq!(refused(Config { statement_timeout: short, ..Config::default() }), "statement_timeout");
}
