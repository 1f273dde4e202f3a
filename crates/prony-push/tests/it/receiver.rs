//! A receiver that answers by a script.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;
use std::time::Duration;

/// More than any test sends.
const REQUESTS_MAX: usize = 1_000;
/// Far beyond what a push takes.
const PATIENCE: Duration = Duration::from_mins(1);

/// One request.
#[derive(Debug)]
pub(crate) struct Pushed {
    /// The request line and the header lines.
    pub(crate) head: Vec<String>,
    pub(crate) body: Vec<u8>,
}

impl Pushed {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.iter().find_map(|line| {
            let (found, value) = line.split_once(':')?;
            found.eq_ignore_ascii_case(name).then_some(value.trim())
        })
    }
}

/// What a receiver does with a request.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Reaction {
    /// Answers with this status line and body.
    Answer(&'static str, &'static [u8]),
    /// Reads, and never answers.
    Silence,
}

/// A receiver that lives as long as the test process.
pub(crate) struct TestReceiver {
    pub(crate) url: String,
    requests: Receiver<Pushed>,
}

impl TestReceiver {
    /// One that reacts to request number `n` as `script` says.
    pub(crate) fn start(script: impl Fn(usize) -> Reaction + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let url = format!("http://{}/", listener.local_addr().expect("an address"));
        let (sender, requests) = sync_channel(REQUESTS_MAX);
        thread::spawn(move || {
            let mut number = 0;
            let mut silent = Vec::new();
            for stream in listener.incoming().flatten() {
                let mut reader = BufReader::new(stream.try_clone().expect("a descriptor"));
                let mut stream = stream;
                while let Some(pushed) = read(&mut reader) {
                    let reaction = script(number);
                    number += 1;
                    // The test may be over.
                    let _ = sender.send(pushed);
                    match reaction {
                        Reaction::Answer(status, body) => answer(&mut stream, status, body),
                        Reaction::Silence => {
                            silent.push(stream);
                            break;
                        }
                    }
                }
            }
        });
        Self { url, requests }
    }

    pub(crate) fn next(&self) -> Pushed {
        self.requests.recv_timeout(PATIENCE).expect("a push")
    }

    /// All requests that came until now.
    pub(crate) fn all(&self) -> Vec<Pushed> {
        self.requests.try_iter().collect()
    }
}

fn answer(stream: &mut TcpStream, status: &str, body: &[u8]) {
    let head = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n", body.len());
    let _ = stream.write_all(&[head.as_bytes(), body].concat());
}

fn read(reader: &mut BufReader<TcpStream>) -> Option<Pushed> {
    let mut head = Vec::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        if line.trim().is_empty() {
            break;
        }
        head.push(line.trim().to_owned());
    }
    let mut pushed = Pushed { head, body: Vec::new() };
    let length = pushed.header("content-length")?.parse().ok()?;
    pushed.body = vec![0; length];
    reader.read_exact(&mut pushed.body).ok()?;
    Some(pushed)
}
