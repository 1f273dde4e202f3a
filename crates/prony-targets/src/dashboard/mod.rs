//! `dashboard`: the status dashboard of the nim-chronos tutorial, and the uptime monitor of its sister tutorial.
//!
//! | route | answer |
//! |---|---|
//! | `/` | `Welcome to the Status Dashboard!` |
//! | `/status` | `Current Service Status:` and a line `- name: status` for each report, by name, then one for each site that is checked; `- No reports available.` if there is neither |
//! | POST `/report` | JSON with the texts `name` and `status`: `Report received.`, or 400 `Invalid JSON.`, `Missing 'name' field.`, `Missing 'status' field.`; other methods get 405 `Method Not Allowed` |
//! | any other | 404 `Page not found.` |
//!
//! As in the original every method is good for `/` and `/status`, and a query makes no difference. Unlike the
//! original, a name or status that is not a text is missing, and there are bounds: [`TEXT_LIMIT_BYTES`] for a name
//! and for a status (413), [`NAME_LIMIT`] names (507). Reports are kept in memory alone.

mod check;
mod monitor;
mod reports;
mod routes;

use std::fs::File;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

pub use monitor::{Site, SiteError};
pub use reports::{NAME_LIMIT, TEXT_LIMIT_BYTES};

use crate::StartError;
use crate::counters::Counters;
use crate::lines::{Lines, Sink};
use crate::listen::{self, DEFAULT_BACKLOG};
use crate::running::Running;
use crate::service::{self, Options, Worker};
use crate::stop::Stop;
use crate::tls::Tls;
use monitor::Monitor;
use reports::Reports;
use routes::Dashboard;

/// More sites than this want a monitor of their own.
const SITE_LIMIT: usize = 100;

/// How to serve.
#[derive(Debug)]
pub struct Config {
    /// Where to listen; port 0 is any free one. Default 127.0.0.1:0.
    pub listen: SocketAddr,
    /// Threads. Default 1.
    pub workers: usize,
    /// Where to write a line `METHOD /path processed in N ms` for each request and `Received report: NAME is STATUS`
    /// for each report. Default: nowhere.
    pub access_log: Option<File>,
    /// Sites to check, 100 at most. Default none.
    pub sites: Vec<Site>,
    /// From the beginning of one round of checks to that of the next. Default 30 s.
    pub check_every: Duration,
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
            access_log: None,
            sites: Vec::new(),
            check_every: Duration::from_secs(30),
            head_timeout: Duration::from_secs(10),
            backlog: DEFAULT_BACKLOG,
            allow_remote: false,
            tls: None,
        }
    }
}

/// What all workers of a server share.
#[derive(Debug)]
struct Board {
    reports: Reports,
    monitor: Monitor,
}

/// Starts the server. The addresses of the sites are looked up now, and not again.
///
/// A stop closes idle connections at once, gives requests that have begun
/// [`DRAIN_LIMIT`](crate::DRAIN_LIMIT), and breaks off checks.
pub fn start(config: Config) -> Result<Running, StartError> {
    let Config { listen: address, workers, backlog, allow_remote, tls, head_timeout, check_every, .. } =
        config;
    service::check(workers, head_timeout)?;
    if check_every.is_zero() {
        let reason = "leave some time between two rounds; 30 s is usual";
        return Err(StartError::Setting { setting: "check_every", reason });
    }
    if config.sites.len() > SITE_LIMIT {
        return Err(StartError::Setting { setting: "check", reason: "choose at most 100 sites" });
    }
    let monitor = Monitor::new(&config.sites)?;
    let (listeners, local_addr) =
        listen::many(&listen::Options { address, backlog, allow_remote, tls }, workers)?;
    let counters = Arc::new(Counters::default());
    let stop = Arc::new(Stop::new()?);
    let board = Arc::new(Board { reports: Reports::default(), monitor });
    let sink: Option<Sink> = config.access_log.map(|file| Arc::new(Mutex::new(Some(file))));
    let mut running = Running::new(local_addr, Arc::clone(&counters), Arc::clone(&stop));
    for listener in listeners {
        let log = sink.clone().map(|sink| Lines::new(sink, Arc::clone(&counters)));
        let dashboard = Dashboard { board: Arc::clone(&board), log };
        let options = Options { keep_alive: true, head_timeout, leave_with_client: false };
        let (counters, stop) = (Arc::clone(&counters), Arc::clone(&stop));
        let worker = Worker::new(dashboard, options, listener, None, counters, stop)?;
        running.spawn("dashboard", move || worker.run())?;
    }
    if board.monitor.has_sites() {
        running.spawn("monitor", move || board.monitor.run(check_every, &stop))?;
    }
    Ok(running)
}
