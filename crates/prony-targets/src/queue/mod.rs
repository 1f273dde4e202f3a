//! `queue`: workers of a known service time behind a queue, to check what a measurement reports about capacity and
//! overload.
//!
//! The capacity is workers / service time, whatever the machine does: requests are served by sleeping, and a worker that
//! wakes up late counts its next request from when the last one should have ended.
//!
//! | settings | beyond its capacity |
//! |---|---|
//! | neither | the queue grows, and requests are served whose clients have left: with clients that retry it stays down after a pulse |
//! | `limit` | a request that finds so many waiting gets a 503 at once: it recovers as soon as the load falls |
//! | `shed_after` | a request that has waited for longer gets a 503 instead of service: it recovers as soon as the load falls |

mod line;
mod worker;

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::StartError;
use crate::clock::wake_exactly;
use crate::counters::{Counters, count};
use crate::lines::Lines;
use crate::listen::{self, DEFAULT_BACKLOG};
use crate::running::Running;
use crate::service::{self, Mailbox, Options, Owed, Request, Service, Then, Worker};
use crate::stop::Stop;
use crate::tls::Tls;
use line::{Ended, Entered, Line};

/// How long a head may take to come, before it is answered 408.
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);
/// The longest service time.
const SERVICE_MAX: Duration = Duration::from_mins(1);

/// How to serve.
#[derive(Debug, Clone)]
pub struct Config {
    /// Where to listen; port 0 is any free one. Default 127.0.0.1:0.
    pub listen: SocketAddr,
    /// Requests served at the same time. Default 1.
    pub workers: usize,
    /// How long each takes; above 0, at most a minute. Default 10 ms.
    pub service: Duration,
    /// Whether service times are exponentially distributed, with `service` as their mean. Default false: all are equal.
    pub exponential: bool,
    /// Seed of the service times. Default 1.
    pub seed: u64,
    /// Requests that may wait; the next one gets a 503. Default none: up to [`QUEUE_MAX`] wait.
    pub limit: Option<usize>,
    /// A request that has waited for longer than this when a worker takes it gets a 503. Default none.
    pub shed_after: Option<Duration>,
    /// A CSV file with a line for each request: `arrived_ns,began_ns,ended_ns,outcome`, all on `CLOCK_MONOTONIC`. Outcomes
    /// are `served`, `shed` and `refused`. Default none.
    pub log: Option<PathBuf>,
    /// Serve addresses that other machines can reach. Default false.
    pub allow_remote: bool,
    /// Serve HTTPS. Default none: HTTP.
    pub tls: Option<Tls>,
}

pub use line::QUEUE_MAX;

impl Default for Config {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            workers: 1,
            service: Duration::from_millis(10),
            exponential: false,
            seed: 1,
            limit: None,
            shed_after: None,
            log: None,
            allow_remote: false,
            tls: None,
        }
    }
}

/// Starts the server. A stop gives requests that wait or are served [`DRAIN_LIMIT`](crate::DRAIN_LIMIT).
pub fn start(config: Config) -> Result<Running, StartError> {
    service::check(config.workers, HEAD_TIMEOUT)?;
    let fail = |setting, reason| Err(StartError::Setting { setting, reason });
    if config.service.is_zero() || config.service > SERVICE_MAX {
        return fail("service", "choose a time from 1 us to a minute");
    }
    let config = Arc::new(config);
    let options = listen::Options {
        address: config.listen,
        backlog: DEFAULT_BACKLOG,
        allow_remote: config.allow_remote,
        tls: config.tls.clone(),
    };
    let (listeners, local_addr) = listen::many(&options, 1)?;
    let counters = Arc::new(Counters::default());
    let stop = Arc::new(Stop::new()?);
    let log = match &config.log {
        Some(path) => Some(log(path, &counters)?),
        None => None,
    };
    let mailbox = Arc::new(Mailbox::new()?);
    let line = Arc::new(Line::new(config.limit.unwrap_or(QUEUE_MAX), log));
    let mut running = Running::new(local_addr, Arc::clone(&counters), Arc::clone(&stop));
    for listener in listeners {
        let service = Queue { line: Arc::clone(&line), counters: Arc::clone(&counters) };
        let options = Options { keep_alive: true, head_timeout: HEAD_TIMEOUT, leave_with_client: true };
        let mailbox = Some(Arc::clone(&mailbox));
        let worker =
            Worker::new(service, options, listener, mailbox, Arc::clone(&counters), Arc::clone(&stop))?;
        running.spawn("queue", move || worker.run())?;
    }
    for _ in 0..config.workers {
        let worker = worker::ServiceThread {
            line: Arc::clone(&line),
            mailbox: Arc::clone(&mailbox),
            counters: Arc::clone(&counters),
            stop: Arc::clone(&stop),
            config: Arc::clone(&config),
        };
        running.spawn("service", move || {
            wake_exactly();
            worker.run();
        })?;
    }
    Ok(running)
}

fn log(path: &std::path::Path, counters: &Arc<Counters>) -> Result<Lines, StartError> {
    let failed = |source| StartError::Log { path: path.to_owned(), source };
    let mut file = std::fs::File::create(path).map_err(failed)?;
    std::io::Write::write_all(&mut file, line::HEADER.as_bytes()).map_err(failed)?;
    Ok(Lines::new(Arc::new(Mutex::new(Some(file))), Arc::clone(counters)))
}

/// What becomes of a request at the door.
#[derive(Debug)]
struct Queue {
    line: Arc<Line>,
    counters: Arc<Counters>,
}

impl Service for Queue {
    type Outcome = Ended;
    type Stream = std::convert::Infallible;

    fn answer(&mut self, request: &Request<'_>, out: &mut Vec<u8>) -> Then<Self::Stream> {
        match self.line.enter(request.from, request.owed.read_ns) {
            Entered::Waits => Then::Later,
            Entered::Refused => {
                count(&self.counters.refused);
                unavailable(request.owed, out);
                Then::Next
            }
        }
    }

    fn conclude(&mut self, outcome: Ended, owed: Owed, out: &mut Vec<u8>) {
        match outcome {
            Ended::Served => owed.reply("200 OK", b"done\n").write(out),
            Ended::Shed => unavailable(owed, out),
        }
    }

    fn pause(&mut self) {
        self.line.write_log();
    }
}

impl Drop for Queue {
    /// Nobody is left who could be answered.
    fn drop(&mut self) {
        self.line.close();
    }
}

fn unavailable(owed: Owed, out: &mut Vec<u8>) {
    owed.reply("503 Service Unavailable", b"overloaded\n").write(out);
}
