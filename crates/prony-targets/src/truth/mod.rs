//! `truth`: a server that knows what it did.
//!
//! For each request it draws a delay ([`Delay`]) and an ending from a seed and the request's id, answers when
//! the kernel's time of arrival plus that delay has come, not some time after it got round to it, and writes
//! down when it did ([`log`]). What a load generator claims to have measured can then be held against it,
//! request by request: what the client saw must be at least [`log::Record::residence_ns`], and hardly more.
//!
//! # How exact
//! The deadline is absolute, so that what the server takes to notice a request does not add to the delay, as
//! long as it is shorter than that. It is met by `epoll_pwait2` with a timer slack of 1 ns, and by watching the
//! clock for the last moments before it ([`Config::spin`]), for a tenth of the time at most. It runs without
//! real-time priority on purpose: the kernel would throttle it for 50 ms in each second that it is busy.
//!
//! # Ids
//! A request's id is the number in its field `X-Request-Id`, or `id` in its query; requests with neither are
//! counted from 0. [`draw`] returns what any id gets.
//!
//! Requests on one connection are served one after another. A pipelined one is due by its own arrival all the
//! same, but not answered before the one ahead of it.
//!
//! # HTTP/2
//! With [`Config::http2`] requests on one connection are served side by side. Their header fields are not decoded: each is
//! counted as one without an id, and HEAD is answered as GET. A reset is one of the stream.

mod delay;
pub mod log;
mod record;
mod recorder;
mod schedule;
mod script;

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::atomic::AtomicU64;
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex};
use std::time::Duration;

pub use delay::{Delay, Ending, ServiceDraw, draw};

use crate::StartError;
use crate::clock::clocks;
use crate::counters::Counters;
use crate::listen::{self, DEFAULT_BACKLOG};
use crate::running::Running;
use crate::stop::Stop;
use crate::timed::{Http2Worker, Options, Worker, wait_until_stamped};
use crate::tls::Tls;
use recorder::Sinks;
use schedule::Schedule;
use script::{Shared, Truth};

/// More threads than this is a slip of the keyboard.
const WORKER_LIMIT: usize = 1024;
/// The longest body that can be asked for: each connection holds a copy while it is answered.
const BODY_LIMIT_BYTES: usize = 1024 * 1024;
/// The most pieces a slow body can have.
const PIECES_LIMIT: u32 = 10_000;
/// The longest time to watch the clock before a deadline.
const SPIN_LIMIT: Duration = Duration::from_millis(1);

/// A body that trickles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SlowBody {
    /// In how many pieces. The first goes with the head.
    pub pieces: u32,
    /// How long after the first piece the last one goes.
    pub over: Duration,
}

/// How to serve.
#[derive(Debug, Clone)]
pub struct Config {
    /// Where to listen; port 0 is any free one. Default 127.0.0.1:0.
    pub listen: SocketAddr,
    /// Threads. Default 1.
    pub workers: usize,
    /// The delays. Default: 1 ms, always.
    pub delay: Delay,
    /// What they are drawn with. Default 1.
    pub seed: u64,
    /// The share of all requests that are answered 500. Default 0.
    pub error_share: f64,
    /// The share of all requests that are reset instead of answered. Default 0.
    pub reset_share: f64,
    /// Answers trickle. Default none.
    pub slow_body: Option<SlowBody>,
    /// The length of the body. Default 12.
    pub body_bytes: usize,
    /// Keep connections open where the client asks for it. Default true.
    pub keep_alive: bool,
    /// How long before a deadline to watch the clock instead of sleeping; zero: never. Default 50 µs, which is
    /// what waking up takes.
    pub spin: Duration,
    /// Where to write the log. Default: nowhere.
    pub log: Option<PathBuf>,
    /// Who gets each record too, within 20 ms. A record that finds it full is lost, and counted. Default none.
    pub records: Option<SyncSender<log::Record>>,
    /// How long a request may take to come, before it is answered 408. Default 10 s.
    pub request_timeout: Duration,
    /// The queue of connections not accepted yet; the kernel bounds it too. Default 65,535.
    pub backlog: u32,
    /// Serve addresses that other machines can reach. Default false.
    pub allow_remote: bool,
    /// Serve HTTPS. Default none: HTTP.
    pub tls: Option<Tls>,
    /// Speak HTTP/2 and nothing else, without TLS from the first byte on. Default false: HTTP/1.
    pub http2: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            workers: 1,
            delay: Delay::Const(Duration::from_millis(1)),
            seed: 1,
            error_share: 0.0,
            reset_share: 0.0,
            slow_body: None,
            body_bytes: 12,
            keep_alive: true,
            spin: Duration::from_micros(50),
            log: None,
            records: None,
            request_timeout: Duration::from_secs(10),
            backlog: DEFAULT_BACKLOG,
            allow_remote: false,
            tls: None,
            http2: false,
        }
    }
}

/// Starts the server.
///
/// A stop lets requests in flight be answered when they are due, up to [`DRAIN_LIMIT`](crate::DRAIN_LIMIT), and
/// then ends the log.
pub fn start(config: Config) -> Result<Running, StartError> {
    check(&config)?;
    let Config { listen: address, workers, backlog, allow_remote, tls, seed, http2, .. } = config;
    let tls = if http2 { tls.map(|tls| tls.with_http2()) } else { tls };
    let (listeners, local_addr) =
        listen::many(&listen::Options { address, backlog, allow_remote, tls }, workers)?;
    let counters = Arc::new(Counters::default());
    let stop = Arc::new(Stop::new()?);
    let began = clocks();
    let sinks = Sinks::open(config.log, config.records, seed, began, &counters)?;
    let shared = Arc::new(Shared {
        seed,
        delay: config.delay,
        error_share: config.error_share,
        reset_share: config.reset_share,
        slow_body: config.slow_body,
        body: b"Hello World!".iter().copied().cycle().take(config.body_bytes).collect(),
        next_id: AtomicU64::new(0),
        schedule: Mutex::new(Schedule::new(config.delay, began.monotonic_ns)),
    });
    let options = Options {
        keep_alive: config.keep_alive,
        request_timeout: config.request_timeout,
        spin: config.spin,
        kernel_stamps: true,
    };
    let mut running = Running::new(local_addr, Arc::clone(&counters), Arc::clone(&stop));
    let records = sinks.map(|sinks| sinks.spawn(&mut running)).transpose()?;
    let mut ready: Vec<Box<dyn FnOnce() + Send>> = Vec::new();
    for listener in listeners {
        let (shared, counters, stop) = (Arc::clone(&shared), Arc::clone(&counters), Arc::clone(&stop));
        let script = Truth { shared, records: records.clone(), counters: Arc::clone(&counters) };
        if http2 {
            let worker = Http2Worker::new(script, options, listener, counters, stop)?;
            ready.push(Box::new(|| worker.run()));
        } else {
            let worker = Worker::new(script, options, listener, counters, stop)?;
            ready.push(Box::new(|| worker.run()));
        }
    }
    drop(records);
    wait_until_stamped();
    for run in ready {
        running.spawn("truth", run)?;
    }
    Ok(running)
}

fn check(config: &Config) -> Result<(), StartError> {
    let fail = |setting, reason| Err(StartError::Setting { setting, reason });
    let is_share = |share: f64| (0.0..=1.0).contains(&share);
    if !(1..=WORKER_LIMIT).contains(&config.workers) {
        return fail("workers", "choose from 1 to 1024 threads");
    }
    if let Some(reason) = config.delay.fault() {
        return fail("delay", reason);
    }
    if !is_share(config.error_share) {
        return fail("error_share", "a share lies in 0..1");
    }
    if !is_share(config.reset_share) || config.error_share + config.reset_share > 1.0 {
        return fail("reset_share", "a share lies in 0..1, and errors and resets together in 0..1 too");
    }
    if config.slow_body.is_some_and(|slow| !(1..=PIECES_LIMIT).contains(&slow.pieces)) {
        return fail("slow_body", "choose from 1 to 10,000 pieces");
    }
    if config.body_bytes > BODY_LIMIT_BYTES {
        return fail("body_bytes", "choose at most 1 MiB");
    }
    if config.http2 && !config.keep_alive {
        return fail("http2", "its connections stay open; close them at the client (--no-keepalive)");
    }
    if config.spin > SPIN_LIMIT {
        return fail("spin", "choose at most 1 ms; 50 µs is usual");
    }
    if config.request_timeout.is_zero() {
        return fail("request_timeout", "no request comes in no time; 10 s is usual");
    }
    Ok(())
}
