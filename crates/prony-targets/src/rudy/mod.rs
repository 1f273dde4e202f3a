//! `rudy`: the little server of a course in distributed systems (KTH ID2201), and the improvements asked for.
//!
//! As the students wrote it, it takes one connection after another, reads one request, sleeps for a while (the
//! artificial delay, 40 ms), answers with a page that names the path, or with a file, and closes. With [`Model`] it does so with
//! a thread per connection, with a pool of handlers, or with one thread and many timers. Unlike the original it
//! also understands requests that come in pieces or with a body, has limits, stops cleanly, and says in
//! `Server-Timing` what each reply took from the end of the request on.
//!
//! The delay is a point in time, not a pause: the reply is due at the end of the request plus the delay.

mod asynchronous;
mod blocking;
mod files;
mod gate;
mod handler;
mod page;
mod refused;

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::StartError;
use crate::counters::Counters;
use crate::listen::{self, DEFAULT_BACKLOG};
use crate::running::Running;
use crate::stop::Stop;
use crate::tls::Tls;

/// The most threads, for a thread per connection and for a pool. Past it the model `Thread` lets connections
/// wait in the listen queue.
pub const THREAD_LIMIT: usize = 4096;

/// Who handles a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Model {
    /// The one thread there is, one connection after the other. The original.
    Sequential,
    /// A new thread for each, up to [`THREAD_LIMIT`].
    Thread,
    /// One of so many threads.
    Pool {
        /// How many.
        workers: usize,
        /// What happens to a connection that comes when all are busy.
        when_full: WhenFull,
    },
    /// One thread that handles all at once.
    Async,
}

/// What a pool does when all its workers are busy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhenFull {
    /// The connection waits in the listen queue, which the backlog bounds.
    Hold,
    /// It is answered 503 at once.
    Refuse,
}

/// How to serve.
#[derive(Debug, Clone)]
pub struct Config {
    /// Where to listen; port 0 is any free one. Default 127.0.0.1:0.
    pub listen: SocketAddr,
    /// Who handles a connection. Default [`Model::Sequential`].
    pub model: Model,
    /// From the end of a request to its reply. Default 40 ms.
    pub delay: Duration,
    /// Serve more than one request on a connection to a client that asks for it. Default false, as the original.
    pub keep_alive: bool,
    /// Answer with the files in this folder, as they are at the start, in place of the page; 404 for other paths.
    /// Default none.
    pub files: Option<PathBuf>,
    /// How long a request may take to come, before it is answered 408. Default 10 s.
    pub request_timeout: Duration,
    /// Bytes that each request takes from the heap and never gives back: a leak, to be found. Default 0.
    pub leak_bytes: usize,
    /// The queue of connections not accepted yet; the kernel bounds it too. Default 65,535. The original's was
    /// 5, Erlang's default.
    pub backlog: u32,
    /// Look for new connections only this often: each time, all that wait are accepted one after the other. Zero, the
    /// default, accepts at once. With a short backlog the listen queue overflows. Not for [`Model::Async`].
    pub accept_every: Duration,
    /// Serve addresses that other machines can reach. Default false.
    pub allow_remote: bool,
    /// Serve HTTPS. Default none: HTTP.
    pub tls: Option<Tls>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            model: Model::Sequential,
            delay: Duration::from_millis(40),
            keep_alive: false,
            files: None,
            request_timeout: Duration::from_secs(10),
            leak_bytes: 0,
            backlog: DEFAULT_BACKLOG,
            accept_every: Duration::ZERO,
            allow_remote: false,
            tls: None,
        }
    }
}

/// Starts the server.
///
/// A stop lets requests that have begun finish, up to [`DRAIN_LIMIT`](crate::DRAIN_LIMIT); connections that no
/// handler has taken yet are reset by the kernel.
#[expect(clippy::needless_pass_by_value, reason = "as every server's: the caller is done with it")]
pub fn start(config: Config) -> Result<Running, StartError> {
    let Config { listen: address, model, backlog, allow_remote, .. } = config;
    let tls = config.tls.clone();
    let files = config.files.as_deref().map(files::Files::read).transpose()?;
    let pages = Arc::new(page::Pages { files, leak_bytes: config.leak_bytes, ..page::Pages::default() });
    if let Model::Pool { workers, .. } = model
        && !(1..=THREAD_LIMIT).contains(&workers)
    {
        return Err(StartError::Setting { setting: "workers", reason: "choose from 1 to 4096 for the pool" });
    }
    if config.request_timeout.is_zero() {
        return Err(StartError::Setting {
            setting: "request_timeout",
            reason: "no request comes in no time; 10 s is usual",
        });
    }
    if model == Model::Async && !config.accept_every.is_zero() {
        return Err(StartError::Setting {
            setting: "accept_every",
            reason: "the model `async` accepts at once; choose another model",
        });
    }
    let (listener, local_addr) = listen::one(&listen::Options { address, backlog, allow_remote, tls })?;
    let counters = Arc::new(Counters::default());
    let stop = Arc::new(Stop::new()?);
    let mut running = Running::new(local_addr, Arc::clone(&counters), Arc::clone(&stop));
    let handler = Arc::new(handler::Handler::new(
        &config,
        Arc::clone(&pages),
        Arc::clone(&counters),
        Arc::clone(&stop),
    ));
    match model {
        Model::Sequential => blocking::spawn_holding(&mut running, listener, &handler, 1)?,
        Model::Thread => blocking::spawn_per_connection(&mut running, listener, handler)?,
        Model::Pool { workers, when_full: WhenFull::Hold } => {
            blocking::spawn_holding(&mut running, listener, &handler, workers)?;
        }
        Model::Pool { workers, when_full: WhenFull::Refuse } => {
            blocking::spawn_refusing(&mut running, listener, &handler, workers)?;
        }
        Model::Async => asynchronous::spawn(&mut running, listener, &config, pages, counters, stop)?,
    }
    Ok(running)
}
