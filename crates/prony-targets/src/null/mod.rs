//! `null`: the same small answer to every request, as fast as the machine can.
//!
//! It is what a client is calibrated against: the rate a client reaches here is the client's own limit, or the
//! machine's. So nothing is done that framing doesn't need: no routes, no Date field, no access log; a request
//! is its head (see `head`) plus as many body bytes as Content-Length announces, and its answer was built
//! beforehand. Keep-alive, pipelining, HTTP/1.0 and HEAD are honoured, because clients use them.
//!
//! Each worker is one thread with its own listening socket (SO_REUSEPORT) and its own connections, and shares
//! nothing but counters. An idle connection costs 24 bytes here (and its session, with TLS), whatever it costs the kernel.

mod answers;
mod connection;
mod worker;

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use crate::StartError;
use crate::counters::Counters;
use crate::listen::{self, DEFAULT_BACKLOG};
use crate::running::Running;
use crate::stop::Stop;
use crate::tls::Tls;

/// More threads than this is a slip of the keyboard.
const WORKER_LIMIT: usize = 1024;
/// The longest body that can be asked for. It is kept in memory once per worker and variant of the answer.
const ANSWER_LIMIT_BYTES: usize = 64 * 1024 * 1024;

/// How to serve.
#[derive(Debug, Clone)]
pub struct Config {
    /// Where to listen; port 0 is any free one. Default 127.0.0.1:0.
    pub listen: SocketAddr,
    /// Threads. Default 1.
    pub workers: usize,
    /// The length of the answer's body. Default 12, that of `Hello World!`.
    pub body_bytes: usize,
    /// The queue of connections not accepted yet; the kernel bounds it too. Default 65,535.
    pub backlog: u32,
    /// Serve addresses that other machines can reach. Default false.
    pub allow_remote: bool,
    /// Serve HTTPS. Default none: HTTP.
    pub tls: Option<Tls>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            workers: 1,
            body_bytes: 12,
            backlog: DEFAULT_BACKLOG,
            allow_remote: false,
            tls: None,
        }
    }
}

/// Starts the server.
///
/// A stop closes idle connections at once and gives those in the middle of a request [`DRAIN_LIMIT`](crate::DRAIN_LIMIT).
pub fn start(config: Config) -> Result<Running, StartError> {
    let Config { listen: address, workers, body_bytes, backlog, allow_remote, tls } = config;
    if !(1..=WORKER_LIMIT).contains(&workers) {
        return Err(StartError::Setting { setting: "workers", reason: "choose from 1 to 1024 threads" });
    }
    if body_bytes > ANSWER_LIMIT_BYTES {
        return Err(StartError::Setting { setting: "body_bytes", reason: "choose at most 64 MiB" });
    }
    let options = listen::Options { address, backlog, allow_remote, tls };
    let (listeners, local_addr) = listen::many(&options, workers)?;
    let counters = Arc::new(Counters::default());
    let stop = Arc::new(Stop::new()?);
    let mut running = Running::new(local_addr, Arc::clone(&counters), Arc::clone(&stop));
    let answers = Arc::new(answers::Answers::new(body_bytes));
    for listener in listeners {
        let (answers, counters, stop) = (Arc::clone(&answers), Arc::clone(&counters), Arc::clone(&stop));
        let worker = worker::Worker::new(listener, answers, counters, stop)?;
        running.spawn("null", move || worker.run())?;
    }
    Ok(running)
}
