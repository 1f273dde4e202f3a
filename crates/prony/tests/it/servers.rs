//! `prony serve`: a line to wait for, a port to take, an end that counts.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, ChildStdout, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::binary::{command, prony};

/// `prony serve` on a free port.
pub(crate) struct Served {
    process: Child,
    pub(crate) url: String,
    /// What comes behind the line that it is ready.
    out: BufReader<ChildStdout>,
}

impl Served {
    pub(crate) fn start(words: &[&str]) -> Self {
        Self::start_with(words, &[])
    }

    /// With more in its environment.
    fn start_with(words: &[&str], environment: &[(&str, &str)]) -> Self {
        let mut process = command()
            .envs(environment.iter().copied())
            .arg("serve")
            .args(words)
            .args(["--port", "0"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary was built");
        let mut line = String::new();
        let mut out = BufReader::new(process.stdout.take().expect("it is piped"));
        out.read_line(&mut line).expect("a line");
        let url = line.strip_prefix("listening on ").expect("the ready line").trim_end().to_owned();
        let scheme = if words.iter().any(|word| word.starts_with("--tls")) { "https" } else { "http" };
        assert!(url.starts_with(&format!("{scheme}://127.0.0.1:")) && url.ends_with('/'), "{line}");
        Self { process, url, out }
    }

    /// Its process.
    pub(crate) fn pid(&self) -> u32 {
        self.process.id()
    }

    /// The next line that it prints.
    pub(crate) fn line(&mut self) -> String {
        let mut line = String::new();
        self.out.read_line(&mut line).expect("a line");
        line
    }

    fn connect(&self) -> TcpStream {
        let address = self.url.strip_prefix("http://").and_then(|rest| rest.strip_suffix('/'));
        TcpStream::connect(address.expect("it is a URL of ours")).expect("it listens")
    }

    /// What it answers; the request must end the connection.
    fn ask(&self, request: &str) -> String {
        let mut stream = self.connect();
        stream.write_all(request.as_bytes()).expect("it reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it answers with text");
        answer
    }

    /// Ends it with `signal`: what it printed on stdout and on stderr, and its exit code.
    pub(crate) fn end(mut self, signal: Signal) -> (String, String, Option<i32>) {
        kill_process(Pid::from_child(&self.process), signal).expect("the server lives");
        let (mut out, mut err) = (String::new(), String::new());
        self.out.read_to_string(&mut out).expect("text");
        self.process.stderr.take().expect("it is piped").read_to_string(&mut err).expect("text");
        (out, err, self.process.wait().expect("it ends").code())
    }
}

impl Drop for Served {
    /// A test that is about something else leaves no server.
    fn drop(&mut self) {
        // Of one that has ended nothing is left to do.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn it_prints_where_it_listens_and_at_the_end_what_it_did() {
    for words in [
        &["null"][..],
        &["rudy", "--delay", "0"],
        &["rudy", "--model", "pool", "--keepalive"],
        &["rudy", "--model", "thread", "--delay", "0", "--backlog", "4", "--accept-every", "2ms"],
        &["bottleneck", "--burn", "20us", "--workers", "4", "--busy", "1"],
        &["bottleneck", "--hold", "20us", "--workers", "2"],
        &["queue", "--service", "1ms", "--limit", "9"],
        &["dashboard"],
        &["dashboard", "--workers", "2"],
        &["express"],
    ] {
        let server = Served::start(words);
        let load = prony(&[&server.url, "-n", "7", "-c", "1"]);
        assert!(load.is_measured() && load.out.contains("SUCCESS   100 %     7 of 7 requests"), "{load:?}");
        let (_, err, code) = server.end(Signal::TERM);
        assert!(err.starts_with("7 requests answered on "), "{words:?}: {err}");
        assert_eq!(code, Some(0), "{words:?}");
    }
}

#[test]
fn the_dashboard_logs_to_stdout_or_to_a_file() {
    let file = std::env::temp_dir().join(format!("prony-access-{}.log", std::process::id()));
    for place in ["stdout", file.to_str().expect("the folder for temporary files has a plain name")] {
        let server = Served::start(&["dashboard", "--access-log", place, "--check", "http://127.0.0.1:9/"]);
        let answer = server.ask("GET /status HTTP/1.0\r\n\r\n");
        assert!(answer.contains("\n- http://127.0.0.1:9/: "), "{answer}");
        let (out, _, _) = server.end(Signal::TERM);
        let log = if place == "stdout" { out } else { std::fs::read_to_string(&file).expect("a log") };
        assert!(log.starts_with("GET /status processed in ") && log.ends_with(" ms\n"), "{log}");
    }
    std::fs::remove_file(&file).expect("it was there");
}

#[test]
fn the_kv_server_prints_connections_on_request() {
    let server = Served::start(&["kv", "--log-connections", "--no-keepalive", "--copy-values"]);
    assert!(
        server.ask("POST /a HTTP/1.1\r\nContent-Length: 1\r\n\r\nx").starts_with("HTTP/1.1 201 Created\r\n")
    );
    assert!(server.ask("GET /a HTTP/1.1\r\n\r\n").ends_with("\r\n\r\nx"));
    let (out, _, _) = server.end(Signal::TERM);
    let lines: Vec<&str> = out.lines().collect();
    assert!(lines.len() == 2 && lines[0].starts_with("connection 0 from 127.0.0.1:"), "{out}");
}

/// Writers that each wait for an answer before they send the next value; the server is killed under them.
#[test]
fn a_kill_loses_no_acknowledged_write() {
    const WRITERS: usize = 4;
    const ACKNOWLEDGED: usize = 25;
    let folder = std::env::temp_dir().join(format!("prony-durable-{}", std::process::id()));
    let words =
        ["kv", "--durable", folder.to_str().expect("the folder for temporary files has a plain name")];
    let server = Served::start(&words);
    let streams: Vec<TcpStream> = (0..WRITERS).map(|_| server.connect()).collect();
    let (acknowledge, acknowledged) = std::sync::mpsc::sync_channel(WRITERS * ACKNOWLEDGED);
    let writers: Vec<_> = streams
        .into_iter()
        .enumerate()
        .map(|(writer, stream)| {
            let acknowledge = acknowledge.clone();
            std::thread::spawn(move || write_until_cut_off(writer, stream, &acknowledge))
        })
        .collect();
    for _ in 0..WRITERS * ACKNOWLEDGED {
        acknowledged.recv().expect("the server answers until it is killed");
    }
    assert_eq!(server.end(Signal::KILL).2, None, "killed, not ended");
    drop(acknowledged);
    let last: Vec<usize> = writers.into_iter().map(|writer| writer.join().expect("no panic")).collect();

    let server = Served::start(&words);
    for (writer, last) in last.into_iter().enumerate() {
        for number in 0..=last {
            let answer = server.ask(&format!("GET /{writer}/{number} HTTP/1.0\r\n\r\n"));
            assert!(answer.ends_with(&format!("\r\n\r\n{number}")), "{writer}/{number} of {last}: {answer}");
        }
    }
    server.end(Signal::TERM);
    std::fs::remove_dir_all(&folder).expect("it was there");
}

/// The last number whose write was acknowledged.
fn write_until_cut_off(
    writer: usize,
    mut stream: TcpStream,
    acknowledge: &std::sync::mpsc::SyncSender<()>,
) -> usize {
    let mut last = None;
    for number in 0_usize.. {
        let text = number.to_string();
        let length = text.len();
        let request = format!("PUT /{writer}/{number} HTTP/1.1\r\nContent-Length: {length}\r\n\r\n{text}");
        let mut answer = Vec::new();
        let mut byte = [0];
        if stream.write_all(request.as_bytes()).is_err() {
            break;
        }
        while !answer.ends_with(b"\r\n\r\nstored\n") && matches!(stream.read(&mut byte), Ok(1)) {
            answer.push(byte[0]);
        }
        if !answer.starts_with(b"HTTP/1.1 201 ") || !answer.ends_with(b"stored\n") {
            break;
        }
        last = Some(number);
        // The test stops to listen when it has had enough.
        let _ = acknowledge.try_send(());
    }
    last.expect("the first write is acknowledged before the server is killed")
}

#[test]
fn a_store_in_use_and_a_site_that_cannot_be_checked() {
    let folder = std::env::temp_dir().join(format!("prony-in-use-{}", std::process::id()));
    let words = ["serve", "kv", "--port", "0", "--durable", folder.to_str().expect("a plain name")];
    let server = Served::start(&["kv", "--durable", words[5]]);
    let output = prony(&words);
    assert_eq!((output.code, output.out.as_str()), (Some(2), ""), "{output:?}");
    assert!(output.err.contains("no other server uses it"), "{output:?}");
    server.end(Signal::TERM);
    std::fs::remove_dir_all(&folder).expect("it was there");
    let output = prony(&["serve", "dashboard", "--check", "https://127.0.0.1/"]);
    assert_eq!(output.code, Some(2), "{output:?}");
    assert!(output.err.contains("only http:// can be checked"), "{output:?}");
}

/// A folder for temporary files that the user who runs PostgreSQL can reach, too.
fn temporary(name: &str) -> String {
    let folder = std::env::temp_dir().join(format!("prony-{name}-{}", std::process::id()));
    std::fs::create_dir(&folder).expect("the folder for temporary files can be written");
    std::fs::set_permissions(&folder, std::os::unix::fs::PermissionsExt::from_mode(0o711))
        .expect("it is ours");
    folder.to_str().expect("the folder for temporary files has a plain name").to_owned()
}

/// Asks for a page on a connection of its own.
fn page(server: &Served, path: &str) -> String {
    server.ask(&format!("GET {path} HTTP/1.0\r\n\r\n"))
}

/// The first process of the PostgreSQL in `folder`.
fn postgres_in(folder: &str) -> Pid {
    let data = std::fs::read_dir(folder).expect("it is there").next().expect("a folder for PostgreSQL");
    let file = data.expect("a name").path().join("data/postmaster.pid");
    let text = std::fs::read_to_string(file).expect("PostgreSQL runs");
    let number = text.lines().next().and_then(|line| line.parse().ok()).and_then(Pid::from_raw);
    number.expect("the file begins with the number")
}

fn is_empty(folder: &str) -> bool {
    std::fs::read_dir(folder).expect("it is there").next().is_none()
}

/// It has no time to clean up: the kernel ends PostgreSQL, and the next start removes the folder.
#[test]
fn a_killed_server_leaves_no_postgres() {
    let folder = temporary("killed");
    let words = ["express", "--postgres", "auto", "--pg-sleep", "1ms", "--errors-500"];
    let environment = [("TMPDIR", folder.as_str()), ("DATABASE_URL", "not even a URL")];
    let server = Served::start_with(&words, &environment);
    let answer = page(&server, "/pg2");
    assert!(answer.contains(" 200 OK\r\n") && answer.contains("\r\n\r\n\"20"), "{answer}");
    let postgres = postgres_in(&folder);
    assert_eq!(server.end(Signal::KILL).2, None, "killed, not ended");
    let stat = format!("/proc/{}/stat", postgres.as_raw_nonzero());
    // Gone, or dead and waited for by nobody.
    while std::fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z ")) {
        std::thread::yield_now();
    }
    assert!(!is_empty(&folder));
    let server = Served::start_with(&words, &environment);
    assert_ne!(postgres_in(&folder), postgres, "the only one there");
    // Two at once do not disturb each other.
    let other = Served::start_with(&words, &environment);
    for server in [&server, &other] {
        assert!(page(server, "/pg1").ends_with("\r\n\r\nHello world!"));
    }
    server.end(Signal::TERM);
    assert_eq!(other.end(Signal::INT).2, Some(0));
    assert!(is_empty(&folder));
    std::fs::remove_dir(&folder).expect("it is empty");
}

#[test]
fn the_database_is_named_by_a_flag_or_by_the_environment() {
    let folder = temporary("named");
    let private = Served::start_with(&["express", "--postgres", "auto"], &[("TMPDIR", &folder)]);
    let socket = std::fs::read_dir(&folder).expect("it is there").next().expect("a folder").expect("a name");
    let url = format!("host={} user=prony dbname=postgres", socket.path().display());
    let by_flag = Served::start_with(&["express", "--database", &url], &[("DATABASE_URL", "nonsense")]);
    let by_environment = Served::start_with(&["express"], &[("DATABASE_URL", &url)]);
    for server in [&private, &by_flag, &by_environment] {
        assert!(page(server, "/pg1").ends_with("\r\n\r\nHello world!"));
    }
    let none = Served::start_with(&["express"], &[("DATABASE_URL", "")]);
    let answer = page(&none, "/pg1");
    assert!(answer.contains(" 200 OK\r\n") && answer.contains("--postgres auto"), "{answer}");
    for server in [by_flag, by_environment, none, private] {
        assert_eq!(server.end(Signal::TERM).2, Some(0));
    }
    std::fs::remove_dir(&folder).expect("it is empty");
}

#[test]
fn a_database_that_cannot_be_used() {
    let refused = |words: &[&str], environment: (&str, &str), expected: &str| {
        let all = [&["serve", "express", "--port", "0"], words].concat();
        let output = command().env(environment.0, environment.1).args(all).output();
        let output = crate::binary::program_output(output.expect("the binary was built"));
        assert_eq!((output.code, output.out.as_str()), (Some(2), ""), "{output:?}");
        assert!(output.err.contains(expected), "{expected}: {output:?}");
    };
    let none = ("DATABASE_URL", "");
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    let url = format!("postgresql://me:secret@{}/shop", nobody.expect("a free port"));
    refused(&["--database", &url], none, "check that it is running");
    refused(&[], ("DATABASE_URL", &url), "or start a private one: --postgres auto");
    refused(&[], ("DATABASE_URL", "mysql://a/b"), "DATABASE_URL: this names no database");
    refused(&["--database", "shop"], none, "write postgresql://user:password@host:5432/name");
    refused(&["--database", &url, "--postgres", "auto"], none, "--postgres");
    refused(&["--postgres", "auto"], ("TMPDIR", "/no/such/folder"), "or name another: TMPDIR=/tmp");
    refused(&["--pool", "0"], none, "--pool");
}

#[test]
fn other_machines_are_kept_out() {
    let output = prony(&["serve", "null", "--listen", "0.0.0.0", "--port", "0"]);
    assert_eq!((output.code, output.out.as_str()), (Some(2), ""), "{output:?}");
    assert!(output.err.contains("--allow-remote"), "{output:?}");
}

#[test]
fn a_taken_port() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("an address").port().to_string();
    let output = prony(&["serve", "rudy", "--port", &port]);
    assert_eq!((output.code, output.out.as_str()), (Some(2), ""), "{output:?}");
    assert!(
        output.err.contains("is in use\n       stop the other server, or take a free port: --port 0"),
        "{output:?}"
    );
}

/// The numbers of the lesson come from the two runs.
#[test]
fn the_demonstration_ends_with_its_lesson() {
    let output = prony(&["demo", "--duration", "1s", "--connections", "4"]);
    assert!(output.is_measured(), "{output:?}");
    assert_eq!(output.out.matches("\nSUCCESS").count(), 2, "{output:?}");
    let lesson = output.out.split("What this shows\n").nth(1).expect("a lesson");
    for part in ["4 clients", "One at a time: ", "All at once: ", "use --rate."] {
        assert!(lesson.contains(part), "{part}: {lesson}");
    }
    assert!(output.out.lines().all(|line| line.chars().count() <= 80), "{output:?}");
}

/// Whether the times are good depends on the machine; whether the numbers are right does not.
#[test]
fn the_self_test_finds_that_all_is_right() {
    let output = prony(&["self-test", "--duration", "300ms"]);
    assert!(output.is_measured(), "{output:?}");
    assert_eq!(output.out.matches("  right").count(), 8, "{output:?}");
    assert!(output.out.contains("\nAll numbers are right."), "{output:?}");
    assert!(output.out.lines().all(|line| line.chars().count() <= 80), "{output:?}");
}
