//! `prony wrk` beside wrk: the same report, line for line; and its wrong command lines.

use std::io::{Error, Write as _};

use prony_targets::null;

use crate::binary::prony;
use crate::server::Server;
use crate::shape::check;

#[test]
fn a_report() {
    let server = null::start(null::Config::default()).expect("a free port");
    let url = format!("http://{}/", server.local_addr());
    check("wrk-plain", "wrk", &["-t2", "-c4", "-d1s", &url]);
    check("wrk-latency", "wrk", &["--latency", "-t", "1", "-c", "2", "-d", "1", &url]);
}

#[test]
fn answers_that_are_not_2xx() {
    let server = Server::not_found();
    check("wrk-not-found", "wrk", &["-t1", "-c2", "-d1s", "--latency", &server.url]);
}

/// Every tenth answer is not one.
#[test]
fn broken_answers() {
    let server = Server::answering(|stream, number| {
        if number % 10 == 9 {
            stream.write_all(b"not HTTP at all\r\n\r\n")?;
            return Err(Error::other("enough"));
        }
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
    });
    check("wrk-broken", "wrk", &["-t1", "-c2", "-d1s", &server.url]);
}

/// The verdict is on stderr. Scripts that call wrk get 0, unless they ask for more.
#[test]
fn a_verdict_beside_the_report() {
    let server = Server::not_found();
    let strict = prony(&["wrk", "--strict", "-t1", "-c1", "-d1s", &server.url]);
    assert_eq!(strict.code, Some(4), "{strict:?}");
    let output = prony(&["wrk", "-t1", "-c1", "-d1s", &server.url]);
    assert_eq!(output.code, Some(0), "{output:?}");
    assert!(
        output.err.contains("(prony explain no-success)\n") && output.err.contains("\nSUCCESS   0 % "),
        "{output:?}"
    );
    assert!(output.out.ends_with("B\n") && !output.out.contains("SUCCESS"), "{output:?}");
}

fn refused(words: &[&str], what: &str) {
    let output = prony(&[&["wrk"], words].concat());
    assert_eq!((output.code, output.out.as_str()), (Some(2), ""), "{words:?} {output:?}");
    assert!(output.err.starts_with(&format!("error: {what}\n       ")), "{words:?} {output:?}");
}

#[test]
fn what_is_refused() {
    refused(&["-s", "post.lua", "h:1"], "-s post.lua: prony has no Lua");
    refused(&["-c1", "-t2", "h:1"], "-c 1 is less than -t 2");
    refused(&["-c0", "h:1"], "-c `0` is not a count above 0");
    refused(&["-d", "0", "h:1"], "-d `0` is not a time above 0");
    refused(&["-d", "1.5s", "h:1"], "-d `1.5s` is not a time above 0");
    refused(&["--time", "2x", "h:1"], "--timeout `2x` is not a time above 0");
    refused(&["-k", "h:1"], "--insecure is for https, and http://h:1/ is not");
    refused(&["-j", "h:1"], "there is no flag -j");
    refused(&["-H", "no colon", "h:1"], "`no colon` is not a header");
    refused(&[], "<URL> is missing");
}

#[test]
fn the_version() {
    let output = prony(&["wrk", "-v"]);
    assert_eq!((output.code, output.err.as_str()), (Some(0), ""));
    assert!(output.out.starts_with("wrk 4."), "{output:?}");
}
