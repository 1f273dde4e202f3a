//! Metrics while a run is on, by the binary: what a receiver got last is what the stored result has.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;

use prony_model::{FindingCode, RunResult};
use rustix::process::Signal;

use crate::binary::{ProgramOutput, command, program_output, prony};
use crate::folder::Folder;
use crate::server::Server;
use crate::servers::Served;

const PUSHES_MAX: usize = 10_000;

/// A receiver of OTLP that answers with `status`; each message is the body of a push.
fn receiver(status: &'static str) -> (String, Receiver<Vec<u8>>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let (sender, bodies) = sync_channel(PUSHES_MAX);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let sender = sender.clone();
            thread::spawn(move || {
                let mut stream = stream;
                let mut reader = BufReader::new(stream.try_clone().expect("a descriptor"));
                while let Some(body) = read_body(&mut reader) {
                    // The test may be over.
                    let _ = sender.try_send(body);
                    let answer = format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n");
                    if stream.write_all(answer.as_bytes()).is_err() {
                        return;
                    }
                }
            });
        }
    });
    (url, bodies)
}

fn read_body(reader: &mut BufReader<TcpStream>) -> Option<Vec<u8>> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
        if line.trim().is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(body)
}

/// The fields of a message of protocol buffers that have a length or eight bytes.
fn fields(mut bytes: &[u8]) -> Vec<(u64, &[u8])> {
    let mut found = Vec::new();
    while !bytes.is_empty() {
        let key = varint(&mut bytes);
        let length = match key % 8 {
            0 => {
                varint(&mut bytes);
                continue;
            }
            1 => 8,
            _ => usize::try_from(varint(&mut bytes)).expect("a length"),
        };
        let (field, rest) = bytes.split_at(length);
        found.push((key / 8, field));
        bytes = rest;
    }
    found
}

fn varint(bytes: &mut &[u8]) -> u64 {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = bytes.split_first().expect("a byte");
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            break;
        }
    }
    value
}

fn within(bytes: &[u8], number: u64) -> impl Iterator<Item = &[u8]> {
    fields(bytes).into_iter().filter(move |(known, _)| *known == number).map(|(_, field)| field)
}

/// The points of all counters in an `ExportMetricsServiceRequest`, summed up by metric.
fn counters(body: &[u8]) -> BTreeMap<String, f64> {
    let mut found = BTreeMap::new();
    let scopes = within(body, 1).flat_map(|resource| within(resource, 2).collect::<Vec<_>>());
    for metric in scopes.flat_map(|scope| within(scope, 2).collect::<Vec<_>>()) {
        let name = within(metric, 1).next().map(String::from_utf8_lossy).expect("a name").into_owned();
        for point in within(metric, 7).flat_map(|sum| within(sum, 1).collect::<Vec<_>>()) {
            let value = within(point, 4).next().expect("a value");
            *found.entry(name.clone()).or_insert(0.0) +=
                f64::from_le_bytes(value.try_into().expect("eight bytes"));
        }
    }
    found
}

fn stored(folder: &Folder) -> RunResult {
    let text = fs::read_to_string(folder.0.join("r.json")).expect("a stored result");
    prony_model::from_json(&text).expect("a result")
}

fn pushed(url: &str, folder: &Folder, words: &[&str]) -> ProgramOutput {
    let file = folder.0.join("r.json");
    let file = file.to_str().expect("UTF-8");
    prony(&[&[url, "-c", "4", "--json", file][..], words].concat())
}

#[test]
fn the_last_push_is_the_stored_result() {
    let served = Served::start(&["rudy", "--model", "async", "--delay", "5ms", "--keepalive"]);
    let folder = Folder::new("push-last");
    let (otlp, bodies) = receiver("200 OK");
    let words = ["--rate", "200", "-d", "2s", "--push-every", "200ms", "--otlp", &otlp, "--label", "a=b"];
    let output = pushed(&served.url, &folder, &words);
    assert!(matches!(output.code, Some(0 | 3)), "{output:?}");
    let result = stored(&folder);
    let is_lost = |finding: &prony_model::Finding| finding.code == FindingCode::MetricsNotPushed;
    if result.findings.iter().any(is_lost) {
        // The machine was so busy that a push took too long: then the warning says so.
        assert!(output.err.contains("warning: OTLP to "), "{output:?}");
        return;
    }
    let all: Vec<_> = bodies.try_iter().map(|body| counters(&body)).collect();
    for (earlier, later) in all.iter().zip(&all[1..]) {
        for (name, value) in earlier {
            assert!(
                later.get(name).is_some_and(|later| later >= value),
                "{name} only grows: {earlier:?} {later:?}"
            );
        }
    }
    let last = all.last().expect("the final one");
    let requests = &result.requests;
    for (name, expected) in [
        ("prony.requests.intended", requests.intended),
        ("prony.requests.sent", requests.sent),
        ("prony.requests.answered", requests.answered),
        ("prony.requests.done", requests.done),
        ("prony.requests.failed", requests.failed),
        ("prony.responses", result.statuses.values().sum()),
        ("prony.sent", result.bytes.sent),
        ("prony.received", result.bytes.received),
    ] {
        assert!((last[name] - expected as f64).abs() < 1e-9, "{name}: {last:?}, {expected}");
    }
    served.end(Signal::TERM);
}

#[test]
fn a_receiver_that_refuses_is_a_warning_and_a_note() {
    let server = Server::good();
    let folder = Folder::new("push-refused");
    let (otlp, _bodies) = receiver("403 Forbidden");
    let output = pushed(&server.url, &folder, &["-n", "200", "--otlp", &otlp]);
    let result = stored(&folder);
    assert_eq!(result.requests.intended, 200, "the load went on");
    let lost = result.findings.iter().find(|finding| finding.code == FindingCode::MetricsNotPushed);
    let lost = lost.expect("a finding");
    assert!(lost.message.contains("did not arrive (403 Forbidden); nor did the final values"), "{lost:?}");
    assert!(output.out.contains("prony explain metrics-not-pushed"), "{output:?}");
    let evidence: f64 = lost.evidence.iter().map(|evidence| evidence.value).sum();
    assert!(evidence >= 1.0, "{lost:?}");
}

#[test]
fn credentials_come_from_files_and_variables_only() {
    let folder = Folder::new("push-secrets");
    let file = folder.0.join("headers");
    fs::write(&file, "Authorization: Bearer geheim\n").expect("written");
    let file = file.to_str().expect("UTF-8");
    let check = |words: &[&str], expected: &str| {
        let output = prony(&[&["127.0.0.1:1", "-n", "1"][..], words].concat());
        assert_eq!((output.code, output.out.as_str()), (Some(2), ""), "{output:?}");
        assert!(output.err.contains(expected) && !output.err.contains("geheim"), "{words:?}: {output:?}");
    };
    check(
        &["--otlp", "http://c.example", "--push-headers", file],
        "the header `authorization` would go to c.example",
    );
    check(&["--prometheus-rw", "http://me:geheim@127.0.0.1:9"], "a user name or a password in it");
    check(&["--push-every", "5s"], "--push-every has no receiver of metrics");
    check(&["--prometheus-rw", "http://127.0.0.1:9", "--label", "run=x"], "the label `run` is Prony's own");
    check(&["--github-summary"], "GITHUB_STEP_SUMMARY is not set");
    check(&["--agents", "2", "--otlp", "env"], "--otlp does not work with --agents");
}

#[test]
fn the_summary_of_a_step_is_appended() {
    let server = Server::good();
    let folder = Folder::new("push-summary");
    let file = folder.0.join("summary.md");
    fs::write(&file, "# before\n").expect("written");
    let call = command()
        .env("GITHUB_STEP_SUMMARY", &file)
        .args([&server.url, "-n", "50", "-c", "2", "--github-summary"])
        .output();
    let output = program_output(call.expect("the binary was built"));
    let summary = fs::read_to_string(&file).expect("text");
    assert!(summary.starts_with("# before\n") && summary.contains(&server.url), "{output:?} {summary}");
    assert!(output.out.contains(" · HTTP/1.1"), "people get their report all the same: {output:?}");
}

/// The documented commands, in order, against a server and receivers that are what they want.
#[test]
fn the_documented_commands_work() {
    const DOCUMENT: &str = include_str!("../../../../docs/outputs.md");
    let server = Server::good();
    let folder = Folder::new("push-docs");
    let (to, bodies) = receiver("200 OK");
    let stored = folder.0.join("result.json");
    fs::write(&stored, include_str!("stored.json")).expect("written");
    let blocks =
        DOCUMENT.split("```sh\n").skip(1).map(|rest| rest.split("```").next().expect("a block ends"));
    let mut commands = 0;
    for line in blocks.flat_map(str::lines) {
        let line = line.replace("http://127.0.0.1:3000/", &server.url);
        let line = line.replace("http://127.0.0.1:9090", &to).replace("http://127.0.0.1:4318", &to);
        let words = shell_words::split(&line).expect("words of a shell");
        assert_eq!(words[0], "prony", "{line}");
        let mut call = command();
        call.env("OTEL_EXPORTER_OTLP_ENDPOINT", &to).current_dir(&folder.0);
        let output = program_output(call.args(&words[1..]).output().expect("the binary was built"));
        assert!(matches!(output.code, Some(0 | 3)), "{line}: {output:?}");
        assert!(!output.out.is_empty(), "{line}: {output:?}");
        commands += 1;
    }
    assert_eq!(commands, 6);
    assert!(bodies.try_iter().count() >= 3, "the final values of three runs");
}
