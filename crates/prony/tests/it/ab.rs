//! `prony ab` beside ab: the same report, line for line.

use std::io::Write as _;
use std::net::TcpStream;
use std::thread;

use prony_targets::null;

use crate::server::{Server, read_request};
use crate::shape::check;

fn null_server() -> (prony_targets::Running, String) {
    let server = null::start(null::Config::default()).expect("a free port");
    let url = format!("http://{}/a?b=c", server.local_addr());
    (server, url)
}

/// One answer on each connection, as HTTP/1.0 has it.
fn closing(answer: impl Fn(u64) -> &'static str + Send + 'static) -> String {
    let mut number = 0;
    Server::accepting(move |mut stream: TcpStream| {
        let answer = answer(number);
        number += 1;
        thread::spawn(move || {
            if read_request(&mut stream) {
                // The client may be gone.
                let _ = stream.write_all(answer.as_bytes());
            }
        });
    })
}

#[test]
fn a_plain_report() {
    let (_server, url) = null_server();
    check("ab-plain", "ab", &["-n", "50", "-c", "5", &url]);
}

#[test]
fn one_request() {
    let (_server, url) = null_server();
    check("ab-one", "ab", &[&url]);
}

#[test]
fn with_progress_and_keep_alive() {
    let (_server, url) = null_server();
    check("ab-keep-alive", "ab", &["-kc", "4", "-n400", &url]);
}

#[test]
fn without_this_and_that() {
    let (_server, url) = null_server();
    check("ab-no-percentiles", "ab", &["-d", "-n", "20", &url]);
    check("ab-no-confidence", "ab", &["-S", "-q", "-n", "200", &url]);
    check("ab-variable", "ab", &["-l", "-n", "20", &url]);
    check("ab-head", "ab", &["-i", "-n", "20", &url]);
}

#[test]
fn a_post() {
    let (_server, url) = null_server();
    let body = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    check("ab-post", "ab", &["-p", body, "-T", "text/plain", "-n", "20", "-c", "2", &url]);
}

#[test]
fn html() {
    let (_server, url) = null_server();
    check("ab-html", "ab", &["-w", "-n", "20", &url]);
    let attributes = ["-x", "border=1", "-y", "align=left", "-z", "bgcolor=red", "-k", "-n", "20"];
    check("ab-html-attributes", "ab", &[&attributes[..], &[&url]].concat());
}

#[test]
fn answers_that_are_not_2xx() {
    let url =
        closing(|_| "HTTP/1.1 404 Not Found\r\nServer: Golden/1.0 (here)\r\nContent-Length: 4\r\n\r\nnone");
    check("ab-non-2xx", "ab", &["-n", "20", "-c", "2", &url]);
}

#[test]
fn bodies_of_different_length() {
    let url = closing(|number| {
        if number.is_multiple_of(2) {
            "HTTP/1.0 200 OK\r\nContent-Length: 4\r\n\r\nfour"
        } else {
            "HTTP/1.0 200 OK\r\nContent-Length: 6\r\n\r\nlonger"
        }
    });
    check("ab-lengths", "ab", &["-n", "20", &url]);
    check("ab-lengths-html", "ab", &["-w", "-n", "20", &url]);
    check("ab-lengths-variable", "ab", &["-l", "-n", "20", &url]);
}

#[test]
fn a_proxy() {
    let proxy = closing(|_| "HTTP/1.0 200 OK\r\nContent-Length: 4\r\n\r\nfour");
    let proxy = proxy.trim_start_matches("http://").trim_end_matches('/').to_owned();
    check("ab-proxy", "ab", &["-X", &proxy, "-n", "5", "http://example.invalid:8080/a"]);
}
