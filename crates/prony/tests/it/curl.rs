//! `prony run --curl`: the request is the one that the real curl sends.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;

use crate::binary::{command, program_output, prony};

/// One request as a server got it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Received {
    line: String,
    /// Names in small letters and values, in order of name; without what each client says of itself.
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

/// Headers in which clients differ: names of their own, connections of their own.
const OF_THE_CLIENT: [&str; 3] = ["user-agent", "accept", "connection"];

/// Requests that a server keeps for a test.
const REQUESTS_MAX: usize = 16;

/// A server that answers each request with 200 and hands it on.
fn server() -> (SocketAddr, Receiver<Received>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let (sender, receiver) = sync_channel(REQUESTS_MAX);
    thread::spawn(move || {
        for stream in listener.incoming() {
            let sender = sender.clone();
            thread::spawn(move || {
                let mut stream = stream.expect("a connection");
                while let Some(request) = read(&mut stream) {
                    let request_is_head = request.line.starts_with("HEAD ");
                    // Handed on first: it is there when the client has its answer.
                    let taken = sender.send(request);
                    let body = if request_is_head { "" } else { "ok" };
                    let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{body}");
                    let answered = stream.write_all(answer.as_bytes());
                    if taken.is_err() || answered.is_err() {
                        return;
                    }
                }
            });
        }
    });
    (address, receiver)
}

/// The next request; `None` at the end of the connection.
fn read(stream: &mut TcpStream) -> Option<Received> {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    let end = loop {
        if let Some(at) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break at + 4;
        }
        let count = stream.read(&mut buffer).ok().filter(|count| *count > 0)?;
        bytes.extend_from_slice(&buffer[..count]);
    };
    let head = String::from_utf8(bytes[..end].to_vec()).expect("a head of text");
    let mut lines = head.trim_end().split("\r\n");
    let line = lines.next().expect("a request line").to_owned();
    let mut headers: Vec<(String, String)> = lines
        .map(|line| line.split_once(':').expect("a header"))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let length: usize = length.map_or(0, |(_, value)| value.parse().expect("a length"));
    let mut body = bytes[end..].to_vec();
    while body.len() < length {
        let count = stream.read(&mut buffer).ok().filter(|count| *count > 0)?;
        body.extend_from_slice(&buffer[..count]);
    }
    headers.retain(|(name, _)| !OF_THE_CLIENT.contains(&name.as_str()));
    headers.sort();
    Some(Received { line, headers, body })
}

/// What curl's `words` send, and what `prony run --curl` makes of the same text.
fn check(words: &str) {
    let (address, requests) = server();
    let text = format!("curl {}", words.replace("HOST", &address.to_string()));
    let curl = Command::new("bash").args(["-c", &text]).stdout(Stdio::null()).stderr(Stdio::null()).status();
    assert!(curl.expect("bash").success(), "{text}");
    let expected = requests.try_recv().expect("curl sends a request");
    let output = prony(&["run", "--curl", &text, "-n", "1", "-c", "1"]);
    assert!(matches!(output.code, Some(0 | 3)), "{text}: {output:?}");
    assert_eq!(requests.try_recv().expect("prony sends a request"), expected, "{text}");
}

#[test]
fn requests_are_those_of_curl() {
    if Command::new("curl").arg("--version").output().is_err() {
        return prony_testing::skip_without("curl", "requests of --curl compared with those of curl");
    }
    check("http://HOST/");
    check("'http://HOST/a?b=c&d=%20' -H 'X-One: 1' -H 'X-Empty;' -e http://from/");
    check("http://HOST/x -X DELETE -u kim:secret -b 'a=1; b=2'");
    check(
        "http://HOST/ --data-raw $'{\"it\\'s\": \"\\u00e4\\n\"}' -H 'content-type: application/json' --compressed",
    );
    check("http://HOST/ -d a=1 --data-urlencode 'b=c d/&' -d c");
    check("-G http://HOST/p?q=1 -d a=1 --data-urlencode 'b=c d'");
    check("--json '{\"a\":1}' http://HOST/");
    check("-XPUT \\\n  -d \"a \\\"b\\\" c\" \\\n  http://HOST/put");
    check("-I http://HOST/head");
    check("-0 http://HOST/old");
}

#[test]
fn a_command_from_stdin_and_flags_that_win() {
    let (address, requests) = server();
    let mut prony = command();
    prony.args(["run", "--curl", "-", "-H", "x-a: typed", "-b", "typed", "-n", "1", "-c", "1"]);
    let mut child =
        prony.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("prony");
    let text = format!("curl -L 'http://{address}/' \\\n -H 'X-A: of curl' -H 'X-B: kept' -d body\n");
    child.stdin.take().expect("a pipe").write_all(text.as_bytes()).expect("prony reads");
    let output = program_output(child.wait_with_output().expect("an end"));
    assert!(output.err.contains("--curl: line 1: -L left out: redirects are not followed"), "{output:?}");
    let request = requests.try_recv().expect("a request");
    assert_eq!((request.line.as_str(), request.body.as_slice()), ("POST / HTTP/1.1", b"typed".as_slice()));
    let value =
        |name: &str| request.headers.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str());
    assert_eq!((value("x-a"), value("x-b")), (Some("typed"), Some("kept")));
}

#[test]
fn what_is_no_request_is_refused() {
    let check = |words: &[&str], err: &str| {
        let output = prony(words);
        assert_eq!((output.code, output.out.as_str(), output.err.as_str()), (Some(2), "", err), "{words:?}");
    };
    check(
        &["run", "--curl", "curl http://h/ | jq ."],
        "error: --curl: line 1: `|` outside of quotes ends the command for a shell\n       \
         leave out what stands behind the request, and quote the URL: 'http://…?a=1&b=2'\n",
    );
    check(
        &["run", "http://h/", "--curl", "curl http://i/"],
        "error: --curl and http://h/ are two servers for one run\n       leave out the URL: the curl command has its own\n",
    );
}
