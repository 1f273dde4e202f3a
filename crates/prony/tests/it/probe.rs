//! `prony probe`: the report, the files, the exit codes.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::process::Stdio;

use prony_model::{ProbePhase, ProbeResult};

use crate::binary::{command, program_output, prony};
use crate::folder::Folder;
use crate::server::Server;

/// What a server answers that reports where its time went.
const TIMED: &[u8] = b"HTTP/1.1 200 OK\r\nServer-Timing: db;dur=0.0001, cache;desc=\"hit\"\r\n\
    X-Evil: \x1b[2J\xe2\x80\xae\r\nContent-Length: 12\r\n\r\nHello World!";

fn timed() -> Server {
    // A control character in a head is refused; the mark that turns the writing round is none.
    let answer = String::from_utf8_lossy(TIMED).replace('\u{1b}', "");
    Server::answering(move |stream, _| stream.write_all(answer.as_bytes()))
}

fn result(text: &str) -> ProbeResult {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn one_request_with_its_phases() {
    let server = timed();
    let output = prony(&["probe", &server.url]);
    assert_eq!((output.code, output.err.as_str()), (Some(0), ""), "{output:?}");
    assert_eq!(server.requests.try_iter().count(), 1);
    for part in [
        "SUCCESS   200 OK\n",
        "head      HTTP/1.1 200 OK\n",
        "X-Evil: [2J\\u{202e}\n",
        "│ DNS lookup │ TCP connect │",
        "namelookup ",
        "of which the server says db <0.001 ms",
        "without a time: cache “hit”",
        "round trip ",
    ] {
        assert!(output.out.contains(part), "{part}: {}", output.out);
    }
    assert!(output.out.lines().all(|line| line.chars().count() <= 80), "{}", output.out);
    let narrow = command().args(["probe", &server.url]).env("COLUMNS", "50").output().expect("it was built");
    let narrow = crate::binary::program_output(narrow);
    assert!(!narrow.out.contains('┌') && narrow.out.contains("\ntransfer "), "{}", narrow.out);
    let ascii = command().args(["probe", &server.url]).env("LANG", "C").output().expect("it was built");
    assert!(ascii.stdout.is_ascii() && String::from_utf8_lossy(&ascii.stdout).contains("| DNS lookup |"));
}

#[test]
fn several_requests() {
    let server = Server::good();
    let output = prony(&["probe", &server.url, "--count", "5", "--reuse"]);
    assert_eq!((output.code, output.err.as_str()), (Some(0), ""), "{output:?}");
    assert_eq!(server.requests.try_iter().count(), 5);
    assert!(output.out.contains("SUCCESS   100 %     5 of 5 requests"), "{}", output.out);
    assert!(output.out.contains("the good requests after the first"), "{}", output.out);
    let last = output.out.lines().last().expect("a table");
    assert!(last.starts_with("total ") && last.ends_with(" 4"), "{}", output.out);
}

#[test]
fn every_format() {
    let server = Server::good();
    let url = server.url.as_str();
    for words in [&["probe", url, "-o", "json"][..], &["probe", url, "--json", "-"]] {
        let output = prony(words);
        assert_eq!((output.code, output.err.as_str()), (Some(0), ""), "{output:?}");
        let result = result(&output.out);
        assert_eq!((result.format.as_str(), result.version, result.requests.len()), ("prony.probe", 1, 1));
    }
    let output = prony(&["probe", url, "-o", "markdown"]);
    assert_eq!((output.code, output.err.as_str()), (Some(0), ""), "{output:?}");
    assert!(
        output.out.contains("**SUCCESS** 200 OK") && output.out.contains("| until then |"),
        "{}",
        output.out
    );
}

#[test]
fn everything_that_can_be_sent() {
    let (sender, received) = std::sync::mpsc::sync_channel(1);
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let url = format!("http://{}/key", listener.local_addr().expect("an address"));
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a connection");
        let mut request = Vec::new();
        let mut piece = [0; 1024];
        while !request.ends_with(b"value") {
            let count = stream.read(&mut piece).expect("a request");
            request.extend_from_slice(&piece[..count]);
        }
        stream.write_all(b"HTTP/1.0 201 Created\r\n\r\n").expect("the client waits");
        sender.send(String::from_utf8(request).expect("ASCII")).expect("the test waits");
    });
    let output = prony(&[
        "probe",
        &url,
        "-m",
        "PUT",
        "-b",
        "value",
        "-H",
        "X-Name: text",
        "--http1.0",
        "--source",
        "127.0.0.1",
        "--expect-status",
        "201",
        "--timeout",
        "20s",
        "--connect-timeout",
        "10s",
        "-q",
    ]);
    assert_eq!((output.code, output.err.as_str()), (Some(0), ""), "{output:?}");
    let request = received.recv().expect("a request");
    assert!(request.starts_with("PUT /key HTTP/1.0\r\n"), "{request}");
    assert!(request.contains("\r\nX-Name: text\r\n") && !request.contains("Connection:"), "{request}");
}

#[test]
fn statuses_and_where_redirects_point_to() {
    let server = Server::not_found();
    let output = prony(&["probe", &server.url]);
    assert_eq!((output.code, output.err.as_str()), (Some(4), ""), "{output:?}");
    assert!(output.out.contains("FAILED    404 Not Found for GET /\n"), "{}", output.out);
    assert!(output.out.contains("--expect-status 404"), "{}", output.out);
    assert_eq!(prony(&["probe", &server.url, "--expect-status", "4xx"]).code, Some(0));

    let server = Server::answering(|stream, _| {
        stream.write_all(b"HTTP/1.1 302 Found\r\nLocation: /login\r\nContent-Length: 0\r\n\r\n")
    });
    let output = prony(&["probe", &server.url]);
    assert_eq!(output.code, Some(0), "{output:?}");
    // Where the line breaks depends on the length of the port.
    let words = output.out.split_whitespace().collect::<Vec<_>>().join(" ");
    let expected = format!("redirect 302 to {0}login: prony probe {0}login", server.url);
    assert!(words.ends_with(&expected), "{}", output.out);
}

#[test]
fn failures_are_reported_with_what_is_known() {
    let server = Server::answering(|_, _| Ok(()));
    let output = prony(&["probe", &server.url, "--timeout", "200ms"]);
    assert_eq!((output.code, output.err.as_str()), (Some(4), ""), "{output:?}");
    assert!(output.out.contains("FAILED    no response came within 0.2 s (phase server,"), "{}", output.out);
    assert!(output.out.contains("to wait longer: --timeout 0.8s"), "{}", output.out);
    let json = prony(&["probe", &server.url, "--timeout", "200ms", "-o", "json"]);
    let request = &result(&json.out).requests[0];
    assert_eq!(request.failure.as_ref().and_then(|failure| failure.phase), Some(ProbePhase::Server));
}

#[test]
fn nothing_answers() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("an address");
    drop(listener);
    let output = prony(&["probe", &format!("http://{address}/")]);
    assert_eq!((output.code, output.out.as_str()), (Some(4), ""), "{output:?}");
    assert_eq!(
        output.err,
        format!(
            "error: nothing answers at {address} (connection refused)\n       \
             is the server running? `prony serve rudy --port {}` starts one to try\n",
            address.port()
        )
    );
}

#[test]
fn what_is_refused() {
    let check = |words: &[&str], err: &str| {
        let output = prony(words);
        assert_eq!((output.code, output.out.as_str()), (Some(2), ""), "{output:?}");
        assert!(output.err.starts_with(err), "{output:?}");
    };
    check(
        &["probe", "h:1", "--count", "0"],
        "error: 0 requests are not a probe\n       use --count 1 to 1000",
    );
    check(&["probe", "h:1", "-b", "x", "--body-file", "y"], "error: --body and --body-file are two bodies");
    check(&["probe", "h:1", "--json", "-", "--save-body", "-"], "error: --json and --save-body both want");
    check(&["probe"], "error: <URL> is missing");
}

#[test]
fn a_saved_body() {
    let folder = Folder::new("probe-body");
    let file = folder.0.join("page.txt");
    let path = file.display().to_string();
    let server = Server::good();
    let saved = prony(&["probe", &server.url, "--save-body", &path]);
    assert_eq!((saved.code, saved.err.as_str()), (Some(0), ""), "{saved:?}");
    assert_eq!(fs::read_to_string(&file).expect("it is there"), "Hello World!");

    fs::write(&file, "precious").expect("a file");
    let again = prony(&["probe", &server.url, "--save-body", &path]);
    assert_eq!((again.code, again.out.as_str()), (Some(2), ""), "{again:?}");
    assert!(again.err.starts_with(&format!("error: {path} exists\n       nothing was started")), "{again:?}");
    assert_eq!(fs::read_to_string(&file).expect("it is there"), "precious");
    assert_eq!(server.requests.try_iter().count(), 1, "only the first call sent anything");

    assert_eq!(prony(&["probe", &server.url, "--save-body", &path, "--force"]).code, Some(0));
    assert_eq!(fs::read_to_string(&file).expect("it is there"), "Hello World!");
    assert_eq!(folder.names(), ["page.txt"]);
}

#[test]
fn a_body_on_stdout() {
    let server = Server::good();
    let output = prony(&["probe", &server.url, "--save-body", "-"]);
    assert_eq!((output.code, output.out.as_str()), (Some(0), "Hello World!"), "{output:?}");
    assert!(output.err.contains("SUCCESS   200 OK\n"), "{output:?}");
}

#[test]
fn half_a_body_is_not_saved() {
    let folder = Folder::new("probe-half");
    let path = folder.0.join("page.txt").display().to_string();
    let server = Server::answering(|stream, _| {
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\nHello")?;
        Err(std::io::ErrorKind::Other.into())
    });
    let output = prony(&["probe", &server.url, "--save-body", &path]);
    assert_eq!(output.code, Some(4), "{output:?}");
    assert!(output.out.contains("FAILED    "), "the report comes first: {output:?}");
    assert_eq!(output.err, "error: the body was not saved: the response is not complete\n");
    assert_eq!(folder.names(), Vec::<String>::new());
}

#[test]
fn a_body_that_is_too_large_to_keep() {
    let folder = Folder::new("probe-large");
    let path = folder.0.join("page.txt").display().to_string();
    let server = Server::answering(|stream, _| {
        let bytes = (64 << 20) + 1;
        stream.write_all(format!("HTTP/1.1 200 OK\r\nContent-Length: {bytes}\r\n\r\n").as_bytes())?;
        stream.write_all(&vec![b'x'; bytes])
    });
    let output = prony(&["probe", &server.url, "--save-body", &path]);
    assert_eq!(output.code, Some(2), "{output:?}");
    assert!(output.out.contains("SUCCESS   200 OK\n") && output.out.contains("body 64.0 MiB"), "{output:?}");
    assert!(
        output
            .err
            .starts_with("error: the body was not saved: the body has 67108865 bytes and at most 67108864"),
        "{output:?}"
    );
    assert_eq!(folder.names(), Vec::<String>::new());
}

/// Ctrl-C prints what is known of the request that was under way.
#[test]
fn stopped_by_hand() {
    let server = Server::answering(|_, _| Ok(()));
    let child = command()
        .args(["probe", &server.url])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary was built");
    server.requests.recv().expect("a request");
    let id = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(id, rustix::process::Signal::INT).expect("it lives");
    let output = program_output(child.wait_with_output().expect("it ends"));
    assert_eq!((output.code, output.err.as_str()), (Some(130), ""), "{output:?}");
    assert!(output.out.contains("STOPPED   stopped by hand before the response began"), "{}", output.out);
}
