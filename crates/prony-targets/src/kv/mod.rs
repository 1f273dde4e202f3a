//! `kv`: a key-value store over HTTP, after a server in Erlang whose author kept a journal of its speed.
//!
//! | request | answer |
//! |---|---|
//! | GET `/KEY` | the value, `text/plain`; 404 without one |
//! | POST or PUT `/KEY` | keeps the body: 201 for a new key, 200 for another value |
//! | DELETE `/KEY` | 200; 404 without a value |
//! | GET `/KEY`, Accept: text/event-stream | an event for each change, from the present value on: see `watch` |
//!
//! A key is what follows the first slash, to the end of the query, byte for byte: nothing is decoded, so `;` is as
//! good as any, and `//test2` is the key `/test2`, as in the original. Keys have 1 to [`KEY_LIMIT_BYTES`] bytes
//! (404 or 414), values at most 1 MiB (413), all together as many as the memory bound allows (507).
//!
//! With a durable store every write is on disk before it is answered, and seen by others; writes that come while
//! one is under way go to disk together. Two switches bring back what the journal's author took out: a formatted
//! line for each connection, and values that are copied before they are sent.

mod durable;
mod routes;
mod store;
mod watch;

use std::fs::File;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

pub use store::KEY_LIMIT_BYTES;
pub use watch::WATCHER_LIMIT;

use crate::StartError;
use crate::counters::Counters;
use crate::lines::{Lines, Sink};
use crate::listen::{self, DEFAULT_BACKLOG};
use crate::running::Running;
use crate::service::{self, Mailbox, Options, Worker};
use crate::stop::Stop;
use crate::tls::Tls;
use durable::Durable;
use routes::KeyValue;
use store::Store;

/// How to serve.
#[derive(Debug)]
pub struct Config {
    /// Where to listen; port 0 is any free one. Default 127.0.0.1:0.
    pub listen: SocketAddr,
    /// Threads. Default 1.
    pub workers: usize,
    /// Keys and values together, with 100 bytes more for each. Default 256 MiB.
    pub memory_limit_bytes: u64,
    /// Keep everything in this folder, too, which is made if it is not there. Default: in memory alone.
    pub durable: Option<PathBuf>,
    /// Copy each value before it is sent. Default false.
    pub copy_values: bool,
    /// Write a line for each connection here, at once. Default: nowhere.
    pub connection_log: Option<File>,
    /// Serve more than one request on a connection to a client that asks for it. Default true.
    pub keep_alive: bool,
    /// How long a head may take to come, before it is answered 408. Default 10 s.
    pub head_timeout: Duration,
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
            memory_limit_bytes: 256 * 1024 * 1024,
            durable: None,
            copy_values: false,
            connection_log: None,
            keep_alive: true,
            head_timeout: Duration::from_secs(10),
            backlog: DEFAULT_BACKLOG,
            allow_remote: false,
            tls: None,
        }
    }
}

/// Starts the server, with what the durable store holds.
///
/// A stop closes idle connections at once, ends the streams of events, gives requests that have begun
/// [`DRAIN_LIMIT`](crate::DRAIN_LIMIT), and then closes the durable store.
pub fn start(config: Config) -> Result<Running, StartError> {
    let Config { listen: address, workers, backlog, allow_remote, tls, head_timeout, keep_alive, .. } =
        config;
    service::check(workers, head_timeout)?;
    let (listeners, local_addr) =
        listen::many(&listen::Options { address, backlog, allow_remote, tls }, workers)?;
    let counters = Arc::new(Counters::default());
    let stop = Arc::new(Stop::new()?);
    let store = Arc::new(Store::new(config.memory_limit_bytes));
    let durable = config.durable.map(|folder| Durable::open(&folder, Arc::clone(&store))).transpose()?;
    let sink: Option<Sink> = config.connection_log.map(|file| Arc::new(Mutex::new(Some(file))));
    let mut running = Running::new(local_addr, Arc::clone(&counters), Arc::clone(&stop));
    let (jobs, committer) = durable.map(Durable::split).unzip();
    for listener in listeners {
        let mailbox = Arc::new(Mailbox::new()?);
        let service = KeyValue {
            store: Arc::clone(&store),
            jobs: jobs.clone(),
            mailbox: Arc::clone(&mailbox),
            copy_values: config.copy_values,
            connection_log: sink.clone().map(|sink| Lines::new(sink, Arc::clone(&counters))),
        };
        let options = Options { keep_alive, head_timeout, leave_with_client: false };
        let (counters, stop) = (Arc::clone(&counters), Arc::clone(&stop));
        let worker = Worker::new(service, options, listener, Some(mailbox), counters, stop)?;
        running.spawn("kv", move || worker.run())?;
    }
    // The committer ends when the last worker has, because nobody can send it a job then.
    drop(jobs);
    if let Some(committer) = committer {
        running.spawn("kv-commit", move || committer.run())?;
    }
    Ok(running)
}
