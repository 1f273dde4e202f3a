//! `prony replay`: what a server gets of a log, and what the report says of it.

use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};

use prony_model::{FindingCode, RunResult, StatusPair};

use crate::binary::prony_in;
use crate::folder::Folder;
use crate::http2::folder as peer_folder;
use crate::peer::{Peer, free_port};
use crate::server::Server;

const DOCUMENT: &str = include_str!("../../../../docs/replay.md");

/// A server that keeps the first line of each request, and answers `/missing` with 404, `/broken` with 500.
fn server() -> (String, Arc<Mutex<Vec<String>>>) {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&seen);
    let url = Server::replying(move |head, _| {
        let line = head.lines().next().unwrap_or_default().to_owned();
        let status = match line.split(['?', ' ']).nth(1) {
            Some("/missing") => "404 Not Found",
            Some("/broken") => "500 Internal Server Error",
            _ => "200 OK",
        };
        kept.lock().expect("no test panics with it").push(line);
        (status, "ok".to_owned())
    });
    (url, seen)
}

fn result(path: &Path) -> RunResult {
    prony_model::from_json(&fs::read_to_string(path).expect("it was written")).expect("a result")
}

/// A line of the combined log format.
fn line(at: &str, request: &str, status: u16) -> String {
    format!("127.0.0.1 - - [{at} +0000] \"{request} HTTP/1.1\" {status} 5 \"-\" \"test\"\n")
}

#[test]
fn a_server_gets_what_the_log_has() {
    let folder = Folder::new("replay");
    let log = [
        line("10/Oct/2000:10:00:00", "GET /a?token=hunter2", 200),
        line("10/Oct/2000:10:00:00", "HEAD /a", 200),
        "not a line\n".to_owned(),
        line("10/Oct/2000:10:00:01", "POST /a", 200),
        line("10/Oct/2000:10:00:01", "GET /missing", 404),
        line("10/Oct/2000:10:00:00", "GET /broken", 200),
        line("10/Oct/2000:10:00:01", "GET /users/17", 200),
    ]
    .concat();
    fs::write(folder.0.join("access.log"), log).expect("the folder can be written");
    let (url, seen) = server();
    let to = ["replay", "access.log", "--to", &url, "--speed", "10", "--threads", "2", "--seed", "5"];
    let output = prony_in(&folder.0, &[&to[..], &["--json", "result.json"]].concat());
    // One of five has failed, which may make the run invalid.
    assert!(matches!(output.code, Some(0 | 3)), "{output:?}");
    let mut seen = seen.lock().expect("no test panics with it").clone();
    seen.sort();
    let expected = [
        "GET /a?token=hunter2 HTTP/1.1",
        "GET /broken HTTP/1.1",
        "GET /missing HTTP/1.1",
        "GET /users/17 HTTP/1.1",
        "HEAD /a HTTP/1.1",
    ];
    // The first connection of a run may be a trial without a request.
    assert_eq!(seen, expected);
    for text in
        ["5 of 7 lines (combined)", "1 method POST", "1 not in the format (line 3)", "sorted: 1 stamp"]
    {
        let words = output.out.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains(text), "{text}: {}", output.out);
    }
    let result = result(&folder.0.join("result.json"));
    assert_eq!((result.requests.intended, result.requests.sent, result.requests.done), (5, 5, 4));
    let replay = result.replay.as_ref().expect("it is one");
    let pair =
        |recorded, answered, count| StatusPair { recorded: Some(recorded), answered: Some(answered), count };
    let mut pairs = replay.statuses.clone();
    pairs.sort_by_key(|pair| (pair.recorded, pair.answered));
    assert_eq!(pairs, [pair(200, 200, 3), pair(200, 500, 1), pair(404, 404, 1)]);
    assert_eq!(replay.lateness.count, 5);
    assert_eq!(replay.due_per_second.iter().sum::<u64>(), 5);
    assert!(result.findings.iter().any(|finding| finding.code == FindingCode::ReplayOrder));
    let ended: u64 = result.scenario.iter().flat_map(|found| &found.steps).map(|step| step.ended).sum();
    assert_eq!(ended, 5, "each request has a route");
    let stored = fs::read_to_string(folder.0.join("result.json")).expect("it was written");
    assert!(
        !stored.contains("hunter2") && !format!("{output:?}").contains("hunter2"),
        "no value of a query is kept"
    );
    let report = prony_in(&folder.0, &["report", "result.json", "-o", "markdown"]);
    assert!(report.code == Some(0) && report.out.contains("- lateness: sent after it was due"), "{report:?}");
}

#[test]
fn moments_from_a_file_are_the_load() {
    let folder = Folder::new("arrivals");
    fs::write(folder.0.join("times.txt"), "0\n0.1\n0.1\n0.05\n").expect("the folder can be written");
    let (url, seen) = server();
    let output = prony_in(&folder.0, &["run", &url, "--arrivals-file", "times.txt", "--json", "result.json"]);
    assert!(matches!(output.code, Some(0 | 3)), "{output:?}");
    assert_eq!(seen.lock().expect("no test panics with it").len(), 4);
    let found = result(&folder.0.join("result.json"));
    assert_eq!((found.requests.intended, found.requests.done), (4, 4));
    let both = prony_in(&folder.0, &["run", &url, "--arrivals-file", "times.txt", "--rate", "5"]);
    assert!(both.code == Some(2) && both.err.contains("both say when requests are due"), "{both:?}");
}

#[test]
fn mistakes_are_found_before_any_load() {
    let folder = Folder::new("replay-mistakes");
    let write =
        |name: &str, text: &str| fs::write(folder.0.join(name), text).expect("the folder can be written");
    write("log", "what is this ?key=hunter2\n");
    write("empty", "");
    write("half.har", "{\"log\": {\"entries\": [");
    let (url, seen) = server();
    for (words, expected) in [
        (&["log"][..], "line 1 of log is in no known format: what is this ?key=…"),
        (&["empty"], "empty has no lines"),
        (&["missing"], "can't read missing"),
        (&["half.har"], "half.har ends too early"),
        (&["log", "--format", "$status"], "the log_format lacks $time_local"),
        (&["log", "--speed", "0"], "in no known format"),
        (&["log", "--methods", "a b"], "`a b` is not an HTTP method"),
        (&["log", "--since", "noon"], "`noon` is not a moment"),
    ] {
        let output = prony_in(&folder.0, &[&["replay", "--to", &url], words].concat());
        assert!(output.code == Some(2) && output.err.contains(expected), "{words:?}: {output:?}");
        assert!(!output.err.contains("hunter2"), "{output:?}");
    }
    assert!(seen.lock().expect("no test panics with it").is_empty(), "nothing was sent");
}

/// The log of nginx is replayed to the same nginx: its second log has the same requests.
#[test]
fn nginx_logs_the_same_requests_again() {
    let folder = peer_folder(true);
    let log = |name: &str| folder.path().join(name).to_str().expect("a plain name").to_owned();
    let port = free_port();
    let format = "$remote_addr [$time_local] \"$request\" $status $msec $request_time";
    let directives = format!(
        "log_format timed '{format}';\nserver {{\nlisten 127.0.0.1:{port};\nlocation / {{\nreturn 200 ok;\n}}\n\
         location /missing {{\nreturn 404;\n}}\naccess_log {} timed if=$http_x_first;\n\
         access_log {} timed if=$http_x_second;\n}}\n",
        log("first.log"),
        log("second.log"),
    );
    let (first, second) = (log("first.log"), log("second.log"));
    let Some(peer) = Peer::nginx("a replay of nginx's own log", folder, &directives, port) else { return };
    let url = format!("http://127.0.0.1:{}/", peer.port);
    let out = Folder::new("replay-nginx");
    let scenario = "[[flow]]\nname = \"f\"\n[[flow.step]]\nname = \"a\"\npath = \"/a?n={counter}\"\n\
                    headers = { X-First = \"1\" }\n[[flow.step]]\nname = \"b\"\nmethod = \"HEAD\"\n\
                    path = \"/b/{random(1,9)}\"\nheaders = { X-First = \"1\" }\n[[flow.step]]\nname = \"c\"\n\
                    path = \"/missing\"\nexpect-status = 404\nheaders = { X-First = \"1\" }\n";
    fs::write(out.0.join("s.toml"), scenario).expect("the folder can be written");
    let recorded =
        prony_in(&out.0, &["run", "s.toml", "--base", url.trim_end_matches('/'), "-c", "2", "-n", "20"]);
    assert!(matches!(recorded.code, Some(0 | 3)), "{recorded:?}");
    let words = [
        "replay",
        &first,
        "--format",
        format,
        "--to",
        &url,
        "-H",
        "X-Second: 1",
        "--speed",
        "2",
        "--json",
        "result.json",
    ];
    let output = prony_in(&out.0, &words);
    assert!(matches!(output.code, Some(0 | 3)), "{output:?}");
    let requests = |path: &str| {
        let text = fs::read_to_string(path).expect("nginx has written it");
        let mut requests: Vec<String> =
            text.lines().map(|line| line.split('"').nth(1).expect("a request").to_owned()).collect();
        requests.sort();
        requests
    };
    assert_eq!(requests(&first).len(), 60);
    assert_eq!(requests(&second), requests(&first));
    let found = result(&out.0.join("result.json"));
    let pairs = found.replay.expect("it is one").statuses;
    let pair = |status, count| StatusPair { recorded: Some(status), answered: Some(status), count };
    assert_eq!(pairs, [pair(200, 40), pair(404, 20)]);
    assert!(!found.findings.iter().any(|finding| finding.code == FindingCode::ReplayOrder), "it has $msec");
}

/// What docs/replay.md shows works.
#[test]
fn the_examples_of_the_document_run() {
    let block = |name: &str| {
        let (_, rest) = DOCUMENT.split_once(name).expect("the block is there");
        rest.split("\n```").next().expect("a block ends").trim_start_matches('\n')
    };
    let folder = Folder::new("replay-document");
    fs::write(folder.0.join("access.log"), block("```text access.log")).expect("the folder can be written");
    fs::write(folder.0.join("times.txt"), block("```text times.txt")).expect("the folder can be written");
    fs::write(folder.0.join("session.har"), block("```json session.har")).expect("the folder can be written");
    let (url, _) = server();
    let commands: Vec<&str> = DOCUMENT.lines().filter(|line| line.starts_with("prony ")).collect();
    assert!(commands.len() >= 5, "{commands:?}");
    for typed in commands {
        let words = shell_words::split(typed).expect("words");
        let words: Vec<String> = words[1..]
            .iter()
            .map(|word| word.replace("http://127.0.0.1:3000", url.trim_end_matches('/')))
            .collect();
        let output = prony_in(&folder.0, &words.iter().map(String::as_str).collect::<Vec<_>>());
        assert!(matches!(output.code, Some(0 | 3)), "{typed}: {output:?}");
    }
}
