//! Servers that don't do what they should, and limits of the client: every one gets a name and an exit code.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::net::{TcpListener, TcpStream};

use prony_model::{ErrorKind, RunResult};

use crate::binary::{command, program_output, prony};
use crate::server::Server;

const NEVER: std::io::ErrorKind = std::io::ErrorKind::Other;

/// Three requests on one connection at a time, half a second for each.
fn load(url: &str) -> (Option<i32>, RunResult) {
    let output = prony(&[url, "-n", "3", "-c", "1", "--timeout", "500ms", "-o", "json"]);
    let result = prony_model::from_json(&output.out).unwrap_or_else(|error| panic!("{error}: {output:?}"));
    (output.code, result)
}

/// Nothing but failures of one of `kinds`.
fn all_fail(url: &str, kinds: &[ErrorKind]) {
    let (code, result) = load(url);
    assert_eq!((code, result.requests.done), (Some(4), 0), "{:?}", result.errors);
    let seen: BTreeMap<ErrorKind, u64> = result.requests.failed_by_kind.clone();
    assert_eq!(seen.values().sum::<u64>(), 3, "{seen:?}");
    assert!(seen.keys().all(|kind| kinds.contains(kind)), "{seen:?}");
    assert!(result.errors.iter().all(|error| !error.first_example.is_empty()), "{:?}", result.errors);
}

#[test]
fn a_port_where_nobody_listens() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("an address");
    drop(listener);
    let output = prony(&[&format!("http://{address}/"), "-d", "1s"]);
    assert_eq!((output.code, output.out.as_str()), (Some(4), ""), "{output:?}");
    assert!(output.err.starts_with(&format!("error: nothing answers at {address} (")), "{output:?}");
    assert!(output.err.contains(&format!("`prony serve rudy --port {}` starts one to try", address.port())));
}

#[test]
fn a_host_that_does_not_resolve() {
    let output = prony(&["http://no-such-host.invalid/", "-d", "1s"]);
    assert_eq!((output.code, output.out.as_str()), (Some(4), ""), "{output:?}");
    assert!(output.err.starts_with("error: no address for the host `no-such-host.invalid` ("), "{output:?}");
    assert!(output.err.contains("is the name spelled right?"), "{output:?}");
}

#[test]
fn a_server_that_is_not_http() {
    let server = Server::answering(|stream, _| stream.write_all(b"SSH-2.0-OpenSSH_9.6\r\n"));
    all_fail(&server.url, &[ErrorKind::Protocol]);
}

#[test]
fn a_server_that_closes_at_once() {
    all_fail(&Server::accepting(drop), &[ErrorKind::ClosedEarly, ErrorKind::Reset]);
}

#[test]
fn a_server_that_closes_after_the_request() {
    let server = Server::answering(|_, _| Err(NEVER.into()));
    all_fail(&server.url, &[ErrorKind::ClosedEarly, ErrorKind::Reset]);
}

#[test]
fn a_server_that_never_answers() {
    let server = Server::answering(|_, _| Ok(()));
    all_fail(&server.url, &[ErrorKind::RequestTimeout]);
}

#[test]
fn an_endless_head() {
    let server = Server::answering(|stream, _| {
        stream.write_all(b"HTTP/1.1 200 OK\r\n")?;
        endless(stream, b"X-Filler: and more and more and more and more\r\n")
    });
    all_fail(&server.url, &[ErrorKind::Protocol]);
}

#[test]
fn an_endless_body() {
    let server = Server::answering(|stream, _| {
        stream.write_all(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")?;
        endless(stream, &[b'x'; 4096])
    });
    all_fail(&server.url, &[ErrorKind::RequestTimeout, ErrorKind::Protocol]);
}

/// Until the client leaves.
fn endless(stream: &mut TcpStream, bytes: &[u8]) -> std::io::Result<()> {
    loop {
        stream.write_all(bytes)?;
    }
}

#[test]
fn garbage_between_good_answers() {
    let server = Server::answering(|stream, number| match number {
        0 => stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"),
        _ => stream.write_all(b"\0\xff garbage \r\n\r\n"),
    });
    let (_, result) = load(&server.url);
    assert!(result.requests.done >= 1, "{:?}", result.requests);
    assert_eq!(result.requests.failed_by_kind.keys().collect::<Vec<_>>(), [&ErrorKind::Protocol]);
}

#[test]
fn too_few_descriptors() {
    let server = Server::good();
    let script = format!("ulimit -n 64; exec \"$0\" {} -c 200 -d 1s", server.url);
    let mut shell = std::process::Command::new("sh");
    let output =
        program_output(shell.args(["-c", &script, env!("CARGO_BIN_EXE_prony")]).output().expect("a shell"));
    assert_eq!((output.code, output.out.as_str()), (Some(2), ""), "{output:?}");
    assert!(output.err.contains("200 connections need") && output.err.contains("ulimit -n"), "{output:?}");
}

#[test]
fn a_body_that_is_not_the_expected_one() {
    let server = Server::good();
    let words = [&server.url, "-n", "3", "-c", "1", "--expect-body", "Hello Prony!", "-o", "json"];
    let output = program_output(command().args(words).output().expect("the binary was built"));
    assert_eq!(output.code, Some(4), "{output:?}");
    let result = prony_model::from_json(&output.out).expect("a result");
    assert_eq!(result.requests.failed_by_kind, BTreeMap::from([(ErrorKind::CheckFailed, 3)]));
}
