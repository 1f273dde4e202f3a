//! Retries from the command line and in study files, and the examples of docs/retries.md.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use serde_json::Value;

use crate::binary::prony;
use crate::servers::Served;

/// A server that answers 503 to every second request, for as long as the tests last; and how many it got.
fn flaky() -> (String, Arc<AtomicU64>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/", listener.local_addr().expect("an address"));
    let requests = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&requests);
    thread::spawn(move || {
        for stream in listener.incoming() {
            let counted = Arc::clone(&counted);
            thread::spawn(move || serve(stream.expect("a connection"), &counted));
        }
    });
    (url, requests)
}

fn serve(mut stream: TcpStream, requests: &AtomicU64) {
    let (mut head, mut buffer) = (Vec::new(), [0; 4096]);
    while let Ok(count @ 1..) = stream.read(&mut buffer) {
        head.extend_from_slice(&buffer[..count]);
        if !head.windows(4).any(|window| window == b"\r\n\r\n") {
            continue;
        }
        head.clear();
        let status =
            if requests.fetch_add(1, Ordering::SeqCst).is_multiple_of(2) { "503 Busy" } else { "200 OK" };
        let answer = format!("HTTP/1.1 {status}\r\nContent-Length: 2\r\n\r\nok");
        if stream.write_all(answer.as_bytes()).is_err() {
            return;
        }
    }
}

/// `text` without its line breaks and columns.
fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

const RETRIES: [&str; 6] = ["--retries", "2", "--retry-on", "503", "--retry-backoff", "1ms..2ms"];

#[test]
fn every_report_says_what_retries_did() {
    let (url, requests) = flaky();
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("run.json");
    let json = file.to_str().expect("a plain name");
    let load = [&["run", &url, "-n", "30", "-c", "1", "--json", json], &RETRIES[..]].concat();
    let output = prony(&[&load[..], &["--threshold", "retries <= 100%"]].concat());
    assert!(output.is_measured(), "{output:?}");
    assert_eq!(requests.load(Ordering::SeqCst), 60);
    for part in [
        "up to 2 retries on 503, after up to 1 ms doubled to 2 ms",
        "SUCCESS 100 % 30 of 30 requests",
        "retries 30 retries of 30 requests, load × 2.00 30 after 503 30 requests (100 %) succeeded only after a retry",
        "recovered",
        "prony explain retry-storm",
    ] {
        assert!(flat(&output.out).contains(part), "`{part}`: {}", output.out);
    }
    let markdown = prony(&["report", json, "-o", "markdown"]);
    assert!(markdown.out.contains("- retries: 30 retries of 30 requests"), "{markdown:?}");
    let result: Value = serde_json::from_str(&fs::read_to_string(&file).expect("a result")).expect("JSON");
    let retries = &result["retries"];
    assert_eq!((&retries["attempts"], &retries["by_reason"]["503"]), (&60.into(), &30.into()), "{retries}");
    assert_eq!(result["traffic"]["measured"]["sent"], 60);
    assert_eq!(result["plan"]["retries"]["backoff"]["max_s"], 0.002);
    // A run that was stored is read again, as it is.
    let again = prony(&["report", json]);
    assert!(flat(&again.out).contains("load × 2.00"), "{again:?}");
}

#[test]
fn a_comparison_and_a_study_retry_too() {
    let (url, requests) = flaky();
    let words = ["compare", &url, &url, "--pairs", "6", "--block", "20ms", "--warmup", "0", "-c", "1"];
    let output = prony(&[&words[..], &RETRIES].concat());
    assert!(matches!(output.code, Some(0 | 3)), "{output:?}");
    requests.store(0, Ordering::SeqCst);
    let folder = tempfile::tempdir().expect("a folder");
    let study = folder.path().join("retries.toml");
    let text = format!(
        "name = \"retries\"\nretries = 0\n\
         [targets.flaky]\nurl = \"{url}\"\n\
         [loads.retrying]\nconnections = 1\nrequests = 10\nretry-on = \"503,timeout\"\nretry-backoff = \"1ms\"\n\
         retry-budget = 1.0\nattempt-timeout = \"20s\"\n\
         [matrix]\nretries = [0, 2]\n"
    );
    fs::write(&study, text).expect("a file");
    let out = folder.path().join("out");
    let words = ["study", study.to_str().expect("a name"), "--output", out.to_str().expect("a name")];
    let output = prony(&words);
    assert!(matches!(output.code, Some(0 | 3)), "{output:?}");
    let mut found = Vec::new();
    for entry in fs::read_dir(out.join("runs")).expect("results") {
        let text = fs::read_to_string(entry.expect("a name").path()).expect("a result");
        let result: Value = serde_json::from_str(&text).expect("JSON");
        found.push((result["retries"]["retries"].as_u64(), result["requests"]["done"].as_u64()));
    }
    found.sort_unstable();
    assert_eq!(found, [(None, Some(5)), (Some(10), Some(10))]);
    assert_eq!(requests.load(Ordering::SeqCst), 30);
    let page = fs::read_to_string(out.join("report.html")).expect("a page");
    assert!(page.contains("up to 2 retries on timeout, 503"), "the load is described with its retries");
}

#[test]
fn what_may_be_done_twice_is_noted() {
    let server = Served::start(&["null"]);
    let noted = |words: &[&str]| {
        let load = [&["run", &server.url, "-n", "5", "-c", "1"], words].concat();
        let output = prony(&load);
        assert!(matches!(output.code, Some(0 | 3)), "{output:?}");
        output.err.contains("is not idempotent")
    };
    assert!(noted(&[&["-b", "x"], &RETRIES[..]].concat()));
    assert!(!noted(&RETRIES));
    assert!(!noted(&[&["-m", "PUT", "-b", "x"], &RETRIES[..]].concat()));
    assert!(!noted(&["-b", "x", "--retries", "1", "--retry-on", "connect"]));
    assert!(!noted(&["-b", "x"]));
}

#[test]
fn what_can_not_be_is_refused() {
    let check = |words: &[&str], what: &str, advice: &str| {
        let output = prony(&[&["run", "http://127.0.0.1:9/"], words].concat());
        assert_eq!((output.code, output.out.as_str()), (Some(2), ""), "{words:?} {output:?}");
        let err = flat(&output.err);
        assert!(err.contains(what) && err.contains(advice), "{words:?}: {err}");
    };
    check(
        &["--retries", "3"],
        "--retries doesn't say what is retried",
        "--retry-on connect,reset,timeout,503",
    );
    check(&["--retry-on", "503"], "--retry-on is about retries, and there are none", "add --retries 3");
    check(&["--attempt-timeout", "1s"], "--attempt-timeout is about retries", "add --retries 3");
    check(&["--retries", "101", "--retry-on", "5xx"], "101 retries", "use --retries 1 to 100");
    check(&["--retries", "1", "--retry-on", "fivexx"], "`fivexx` is no failure", "connect,timeout,503,5xx");
    check(&["--retries", "1", "--retry-on", "503", "--retry-backoff", "2s..1s"], "no backoff", "100ms..2s");
    let longer = ["--retries", "1", "--retry-on", "503", "--attempt-timeout", "31s"];
    check(&longer, "an attempt timeout of 31 s is longer than the 30 s", "a longer --timeout");
    let pipeline = ["--retries", "1", "--retry-on", "503", "--pipeline", "2"];
    check(&pipeline, "--retries and --pipeline", "leave out one of them");
    let budget = ["--retries", "1", "--retry-on", "503", "--retry-budget", "0"];
    check(&budget, "`0`", "percent");
}

/// The commands of docs/retries.md, with the server's own port.
#[test]
fn the_examples_of_the_documentation_run() {
    const URL: &str = "http://127.0.0.1:3000/";
    let text = fs::read_to_string(crate::repository::root().join("docs/retries.md")).expect("it is there");
    let example = text.split("```sh\n").nth(1).and_then(|rest| rest.split("```").next()).expect("an example");
    let mut commands = example.lines().map(|line| line.split(" #").next().unwrap_or_default());
    let serve: Vec<&str> = commands.next().expect("a server").split_whitespace().skip(2).collect();
    let server = Served::start(&serve);
    let mut run = 0;
    for command in commands {
        // One argument is quoted.
        let mut words = Vec::new();
        for (index, part) in command.split('\'').enumerate() {
            if index % 2 == 1 {
                words.push(part);
            } else {
                words.extend(part.split_whitespace());
            }
        }
        let words: Vec<&str> =
            words.into_iter().skip(1).map(|word| if word == URL { &server.url } else { word }).collect();
        let output = prony(&words);
        assert!(matches!(output.code, Some(0 | 3)), "{words:?} {output:?}");
        assert!(flat(&output.out).contains("retries none"), "{words:?} {output:?}");
        run += 1;
    }
    assert!(run >= 5, "{example}");
}
