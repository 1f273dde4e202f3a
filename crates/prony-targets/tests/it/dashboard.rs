//! `dashboard`: its routes and texts, its bounds, its log, and the monitor.

use std::fs::File;
use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

use prony_targets::dashboard::{Config, NAME_LIMIT, Site, TEXT_LIMIT_BYTES, start};
use prony_targets::{Running, StartError};

use crate::client::{Client, Reply, ask};

fn started() -> Running {
    start(Config::default()).unwrap()
}

fn report(address: SocketAddr, body: &str) -> Reply {
    ask(address, &format!("POST /report HTTP/1.1\r\nContent-Length: {}\r\n\r\n{body}", body.len()))
}

fn status(address: SocketAddr) -> String {
    let reply = ask(address, "GET /status HTTP/1.1\r\n\r\n");
    assert_eq!(reply.status, 200);
    reply.text().to_owned()
}

#[test]
fn the_routes_of_the_original() {
    let server = started();
    let cases = [
        ("GET / HTTP/1.1", 200, "Welcome to the Status Dashboard!"),
        ("GET /?a=b HTTP/1.1", 200, "Welcome to the Status Dashboard!"),
        ("GET http://a:80/ HTTP/1.1", 200, "Welcome to the Status Dashboard!"),
        ("GET http://a HTTP/1.1", 200, "Welcome to the Status Dashboard!"),
        ("DELETE / HTTP/1.1", 200, "Welcome to the Status Dashboard!"),
        ("GET /status HTTP/1.1", 200, "Current Service Status:\n- No reports available."),
        ("GET /report HTTP/1.1", 405, "Method Not Allowed"),
        ("GET /reports HTTP/1.1", 404, "Page not found."),
        ("GET //  HTTP/1.1", 400, "400 Bad Request\n"),
    ];
    for (line, status, text) in cases {
        let reply = ask(server.local_addr(), &format!("{line}\r\n\r\n"));
        assert_eq!((reply.status, reply.text()), (status, text), "{line}");
    }
    let reply = ask(server.local_addr(), "GET / HTTP/1.1\r\n\r\n");
    assert_eq!(reply.field("Content-Length"), Some("32"));
    let reply = ask(server.local_addr(), "PUT /report HTTP/1.1\r\n\r\n");
    assert_eq!(reply.field("Allow"), Some("POST"));
}

#[test]
fn reports_are_taken_and_shown() {
    let server = started();
    let address = server.local_addr();
    let cases = [
        (r#"{"name": "Database", "status": "up"}"#, 200, "Report received."),
        (r#"{"name": "Cache", "status": "down", "more": [1, {}]}"#, 200, "Report received."),
        ("", 400, "Invalid JSON."),
        ("{", 400, "Invalid JSON."),
        ("\u{0}", 400, "Invalid JSON."),
        ("{}", 400, "Missing 'name' field."),
        ("[1]", 400, "Missing 'name' field."),
        (r#"{"status": "up"}"#, 400, "Missing 'name' field."),
        (r#"{"name": 1, "status": "up"}"#, 400, "Missing 'name' field."),
        (r#"{"name": "a"}"#, 400, "Missing 'status' field."),
        (r#"{"name": "a", "status": null}"#, 400, "Missing 'status' field."),
    ];
    for (body, status, text) in cases {
        let reply = report(address, body);
        assert_eq!((reply.status, reply.text()), (status, text), "{body}");
    }
    assert_eq!(status(address), "Current Service Status:\n- Cache: down\n- Database: up\n");
    report(address, r#"{"name": "Cache", "status": "up\n- Forged: up"}"#);
    let page = "Current Service Status:\n- Cache: up\u{fffd}- Forged: up\n- Database: up\n";
    assert_eq!(status(address), page);
}

#[test]
fn reports_are_bounded() {
    let server = started();
    let address = server.local_addr();
    let long = "x".repeat(TEXT_LIMIT_BYTES + 1);
    for body in
        [format!(r#"{{"name":"{long}","status":"up"}}"#), format!(r#"{{"name":"a","status":"{long}"}}"#)]
    {
        let reply = report(address, &body);
        assert_eq!((reply.status, reply.text()), (413, "Name or status too long."));
    }
    let deep = "[".repeat(1_000_000);
    assert_eq!(report(address, &deep).text(), "Invalid JSON.");
    let mut client = Client::connect(address);
    for number in 0..=NAME_LIMIT {
        let body = format!(r#"{{"name":"{number}","status":"up"}}"#);
        client.send(format!("POST /report HTTP/1.1\r\nContent-Length: {}\r\n\r\n{body}", body.len()));
        let expected = if number < NAME_LIMIT { (200, "Report received.") } else { (507, "Too many names.") };
        let reply = client.reply();
        assert_eq!((reply.status, reply.text()), expected, "{number}");
    }
}

#[test]
fn the_access_log_is_the_originals() {
    let path = std::env::temp_dir().join(format!("prony-dashboard-{}.log", std::process::id()));
    let server =
        start(Config { access_log: Some(File::create(&path).unwrap()), ..Config::default() }).unwrap();
    let address = server.local_addr();
    report(address, r#"{"name": "a", "status": "up"}"#);
    ask(address, "GET /x?y HTTP/1.1\r\n\r\n");
    assert_eq!(server.stop().counts.records_lost, 0);
    let log = std::fs::read_to_string(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    let lines: Vec<&str> = log.lines().collect();
    assert_eq!(lines.len(), 3, "{log}");
    assert_eq!(lines[0], "Received report: a is up");
    for (line, start) in [(lines[1], "POST /report processed in "), (lines[2], "GET /x processed in ")] {
        let took = line.strip_prefix(start).and_then(|rest| rest.strip_suffix(" ms")).unwrap();
        assert!(took.parse::<u64>().is_ok(), "{line}");
    }
}

fn watching(sites: &[String]) -> Running {
    let sites = sites.iter().map(|site| site.parse::<Site>().unwrap()).collect();
    start(Config { sites, check_every: Duration::from_millis(20), ..Config::default() }).unwrap()
}

/// The page once it holds every one of `parts`.
fn status_with(address: SocketAddr, parts: &[&str]) -> String {
    loop {
        let page = status(address);
        if parts.iter().all(|part| page.contains(part)) {
            return page;
        }
        std::thread::yield_now();
    }
}

#[test]
fn sites_are_checked_again_and_again() {
    let site = started();
    let up = format!("http://{}/", site.local_addr());
    let missing = format!("http://{}/no", site.local_addr());
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let refused = format!("http://{nobody}/");
    let server = watching(&[up.clone(), missing.clone(), refused.clone()]);
    let address = server.local_addr();
    let parts = [
        &format!("- {up}: up (200 in "),
        &format!("- {missing}: down (404 in "),
        &format!("- {refused}: down (connection refused)\n"),
    ];
    let page = status_with(address, &parts.map(String::as_str));
    assert!(!page.contains("No reports"), "{page}");
    report(address, r#"{"name": "a", "status": "up"}"#);
    assert!(status(address).starts_with("Current Service Status:\n- a: up\n- http://"));
    site.stop();
    status_with(address, &[&format!("- {up}: down (connection refused)\n")]);
}

#[test]
fn five_sites_are_asked_at_once_and_a_stop_does_not_wait_for_them() {
    // They accept in the kernel and never answer.
    let silent: Vec<TcpListener> = (0..6).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
    let sites: Vec<String> =
        silent.iter().map(|listener| format!("http://{}/", listener.local_addr().unwrap())).collect();
    let server = watching(&sites);
    let held: Vec<_> = silent[..5].iter().map(|listener| listener.accept().unwrap()).collect();
    // The sixth has to wait: nothing is there to be accepted.
    silent[5].set_nonblocking(true).unwrap();
    assert!(silent[5].accept().is_err());
    assert!(status(server.local_addr()).contains("not checked yet"));
    assert_eq!(server.stop().abandoned, 0);
    drop(held);
}

#[test]
fn what_is_no_http_is_down() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let server = watching(std::slice::from_ref(&url));
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            drop(std::io::Write::write_all(&mut stream.unwrap(), b"SSH-2.0-OpenSSH_9.9\r\n"));
        }
    });
    status_with(server.local_addr(), &[&format!("- {url}: down (no HTTP answer)\n")]);
}

#[test]
fn a_site_that_has_no_address_is_named() {
    let sites = vec!["http://no-such-host.invalid/".parse().unwrap()];
    let error = start(Config { sites, ..Config::default() }).unwrap_err();
    assert!(matches!(&error, StartError::NoSuchHost { url, .. } if url.contains("no-such-host")), "{error}");
}
