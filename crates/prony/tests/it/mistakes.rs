//! The mistakes of published measurements, each made again, and answered by the finding that names it. Anyone who
//! makes one here reads the answer beside the number.

use std::net::{Ipv4Addr, TcpListener};
use std::thread;
use std::time::Duration;

use prony_model::FindingCode;
use prony_targets::{express, postgres};

use crate::binary::prony;
use crate::folder::Folder;
use crate::server::Server;

const HELLO: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\nHello World!";

/// All that is printed, on one line: reports break lines where they are full.
fn all_output(words: &[&str]) -> String {
    let output = prony(words);
    format!("{} {}", output.out, output.err).split_whitespace().collect::<Vec<_>>().join(" ")
}

#[track_caller]
fn check(words: &[&str], expected: &[&str]) {
    let output = all_output(words);
    for part in expected {
        assert!(output.contains(part), "`{part}` is not in the output of {words:?}: {output}");
    }
}

/// A client program around each request: most of what is timed is the program's start.
#[test]
fn a_request_timed_with_its_program() {
    let server = Server::good();
    let program = env!("CARGO_BIN_EXE_prony");
    let command = format!("{program} {} -n 1 -c 1", server.url);
    let start = format!("{program} --version");
    check(
        &["exec", "-N", "--runs", "10", "-i", "--startup", &start, &command],
        &["start-up", "prony explain start-up-share"],
    );
}

/// ab's second "time per request" read as the time of a request; a set-up of a connection in each; whole
/// milliseconds.
#[test]
fn the_reciprocal_of_throughput_taken_for_a_time() {
    let server = Server::good();
    check(
        &["ab", "-n", "500", "-c", "20", &server.url],
        &[
            "is 1 / throughput: no request took that long",
            "with 20 connections the response time follows from the rate",
            "prony explain closed-loop",
        ],
    );
    let output = all_output(&["ab", "-n", "500", "-c", "1", &server.url]);
    let (_, rest) = output.split_once("Time per request: ").expect("ab's words");
    let mean_ms: f64 = rest.split(' ').next().and_then(|number| number.parse().ok()).expect("a number");
    // Rounded to whole milliseconds, a time below 5 ms can be wrong by a tenth; a busy machine may take longer.
    assert!(mean_ms > 5.0 || output.contains("prony explain resolution"), "{output}");
}

/// A server that takes its time to accept makes the set-up of connections a good part of each request.
#[test]
fn a_connection_for_each_request() {
    let url = Server::accepting(|mut stream| {
        if crate::server::read_request(&mut stream) {
            // Anyone who has left needs no answer.
            let _ = std::io::Write::write_all(&mut stream, b"HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n");
        }
    });
    let words = [&url, "-n", "500", "-c", "1", "--no-keepalive", "--http1.0", "-o", "json"];
    let result = prony_model::from_json(&prony(&words).out).expect("a result");
    let mean_ms = |clock: &prony_model::LatencySummary| clock.mean_ms.expect("there were some");
    let share = mean_ms(&result.latency.connect) / mean_ms(&result.latency.response);
    let is_found = result.findings.iter().any(|found| found.code == FindingCode::ConnectionPerRequest);
    assert_eq!(is_found, share > 0.20, "connecting is {share} of a response");
}

/// A rate of errors called throughput.
#[test]
fn errors_called_throughput() {
    let server = Server::not_found();
    check(
        &["wrk", "-t", "2", "-c", "8", "-d", "1s", &server.url],
        &["Non-2xx or 3xx responses:", "SUCCESS 0 %", "goodput 0 /s", "404 Not Found"],
    );
}

/// Most of the connections that were asked for never came to be: the server does not accept them, and its queue is
/// short.
#[test]
fn connections_that_were_never_there() {
    let listener = listener_with_a_short_queue().expect("a free port");
    let url = format!("http://{}/", listener.local_addr().expect("an address"));
    check(&["wrk", "-t", "1", "-c", "40", "-d", "1s", &url], &["prony explain connections-not-reached"]);
}

/// Its queue takes one connection, or two, as the kernel counts.
fn listener_with_a_short_queue() -> std::io::Result<TcpListener> {
    use rustix::net::{AddressFamily, SocketType, bind, listen, socket};
    let socket = socket(AddressFamily::INET, SocketType::STREAM, None)?;
    bind(&socket, &std::net::SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))?;
    listen(&socket, 0)?;
    Ok(socket.into())
}

/// Latencies near the length of the run: the slower half is not among them.
#[test]
fn a_run_as_long_as_its_latencies() {
    let server = Server::answering(|stream, _| {
        thread::sleep(Duration::from_millis(800));
        std::io::Write::write_all(stream, HELLO)
    });
    check(
        &["wrk", "-t", "1", "-c", "4", "-d", "1s", &server.url],
        &["prony explain latency-near-run-length"],
    );
}

/// Errors with status 200: the rate of a server that fails.
#[test]
fn errors_with_status_200() {
    let server = Server::answering(|stream, number| {
        let error = b"HTTP/1.1 200 OK\r\nContent-Length: 21\r\n\r\nerror: too many users";
        std::io::Write::write_all(stream, if number % 3 == 2 { error } else { HELLO })
    });
    check(
        &[&server.url, "-n", "600", "-c", "2"],
        &["of 600 good responses had a length that differed from the first", "prony explain mixed-lengths"],
    );
    check(
        &[&server.url, "-n", "600", "-c", "2", "--expect-body-regex", "^Hello"],
        &[" check failed", "prony explain error-share"],
    );
}

/// A figure that is not of the published code: its query sleeps 0.1 s on a connection of a pool of 10.
#[test]
fn a_rate_beyond_what_the_pool_allows() {
    // 10 queries at a time, 0.1 s each; and Little's law for 16 connections.
    const PER_S_MAX: f64 = 10.0 / 0.1;
    const LEAST_MEAN_MS: f64 = 16.0 / PER_S_MAX * 1e3;
    // From the write-up.
    const PUBLISHED_PER_S: f64 = 3167.72;
    const PUBLISHED_MEAN_MS: f64 = 5.051;
    const { assert!(PUBLISHED_PER_S > 30.0 * PER_S_MAX && LEAST_MEAN_MS > 30.0 * PUBLISHED_MEAN_MS) };
    let options = postgres::Options { programs: Vec::new(), temporary: std::env::temp_dir(), port: None };
    let server = express::start(express::Config {
        database: Some(express::Database::Private(options)),
        pool: 10,
        pg_sleep: Duration::from_millis(100),
        ..express::Config::default()
    })
    .expect("PostgreSQL is installed: ./test dependencies");
    let url = format!("http://{}/pg2", server.local_addr());
    let words = [&url, "-n", "60", "-c", "16", "--warmup", "0s", "-o", "json"];
    let result = prony_model::from_json(&prony(&words).out).expect("a result");
    assert_eq!(result.requests.done, 60, "{:?}", result.errors);
    let rate = result.rate.done_per_s;
    assert!(rate <= PER_S_MAX, "{rate} per s");
    // The run itself reports that rate and time belong together, and from which the other follows.
    let finding =
        result.findings.iter().find(|found| found.code == FindingCode::ClosedLoop).expect("a closed loop");
    let implied =
        finding.evidence.iter().find(|number| number.name == "implied_mean").expect("its evidence").value;
    assert!(implied >= LEAST_MEAN_MS, "{finding:?}");
    let least_ms = result.latency.response.min_ms.expect("there were some");
    assert!(least_ms >= 100.0, "no answer comes before the database has slept: {least_ms} ms");
}

/// One run of each variant, and the better one named.
#[test]
fn one_run_each() {
    let (folder, server) = (Folder::new("one-run-each"), Server::good());
    let files = ["before", "after"].map(|name| folder.0.join(name).display().to_string());
    for (file, commit) in files.iter().zip(["v1", "v2"]) {
        prony(&[&server.url, "-n", "100", "-c", "1", "--target-commit", commit, "--json", file]);
    }
    check(&["report", &files[0], &files[1]], &["n = 1 for each of 2 variants", "prony explain single-run"]);
}

/// A hundred requests, one after the other, and a total time.
#[test]
fn a_hundred_requests() {
    let server = Server::good();
    check(
        &[&server.url, "-n", "100", "-c", "1"],
        &["100 good responses support quantiles up to p90", "prony explain few-samples"],
    );
}

/// Two clients started by hand, and their rates added.
#[test]
fn two_clients_started_by_hand() {
    let (folder, server) = (Folder::new("two-clients"), Server::good());
    let files = ["one", "other"].map(|name| folder.0.join(name).display().to_string());
    let run = |file: &str, time: &str| {
        let words = [&server.url, "-d", time, "--warmup", "0s", "-c", "1", "--json", file].map(str::to_owned);
        thread::spawn(move || prony(&words))
    };
    let first = run(&files[0], "2s");
    // The second one starts when the first is under way: its first requests have been read.
    for _ in 0..10 {
        server.requests.recv().expect("the server lives");
    }
    let second = run(&files[1], "500ms");
    for client in [first, second] {
        client.join().expect("no panic");
    }
    check(&["report", &files[0], &files[1]], &["overlapped", "prony explain overlap"]);
}
