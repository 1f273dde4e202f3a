//! `express`: an application with a database, after a Node.js one (Express, node-postgres, Sequelize) whose author
//! published how fast it is.
//!
//! | route | what it does | answer |
//! |---|---|---|
//! | `/` | nothing | `Hello World!` |
//! | `/pg1` | a new connection, `SELECT $1::text AS message` | `Hello world!` |
//! | `/pg2` | a connection of the pool, `SELECT NOW()` | the moment as JSON, 26 bytes |
//! | `/pg3` | ten of those at once | their results as JSON |
//! | `/seq1` | a connection of a pool of 4, as in the original, `SELECT` of the table `users` | its rows as JSON |
//! | `/seq2` | ten of those at once | ten times its rows |
//! | `/promise` | 51 timers of 1 ms, one after the other | `promise: true` |
//!
//! Paths, tags, dates, 304 and 404 are those of Express 4. As in the original an error of the database is answered
//! with status 200 and the error as JSON; that can be switched off. The published code of `/pg2` sleeps 0.1 s in the
//! database, which its published figure can't have; that can be switched on. That code's `/pg3` lacks a parenthesis
//! in its SQL and answers nothing but errors; this one has it.
//!
//! `Server-Timing` reports how long a reply took (`app`), of that the wait for a connection of the pool (`pool`) or for
//! a new one to be made (`connect`), and of that the query (`db`); of ten at once the longest.
//!
//! One thread has all connections to the database; the workers hand it what they can't answer themselves.

mod cached;
mod calendar;
mod database;
mod error;
mod pool;
mod queries;
mod reply;
mod routes;

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::time::Duration;

pub use error::DatabaseError;

use crate::StartError;
use crate::counters::Counters;
use crate::listen::{self, DEFAULT_BACKLOG};
use crate::postgres::{self, DatabaseUrl};
use crate::running::Running;
use crate::service::{self, Mailbox, Options, Worker};
use crate::stop::Stop;
use crate::tls::Tls;
use reply::Replies;
use routes::Express;

/// More connections than this are more than a database has (PostgreSQL: 100 by default).
const POOL_LIMIT: usize = 1000;
/// Requests on their way to the thread of the database. It takes them as fast as they come, unless as many as it
/// handles are under way.
const HANDOVER_LIMIT: usize = 1024;

/// How to serve.
#[derive(Debug)]
pub struct Config {
    /// Where to listen; port 0 is any free one. Default 127.0.0.1:0.
    pub listen: SocketAddr,
    /// Threads, beside the one of the database. Default 1.
    pub workers: usize,
    /// Default none: then the routes that need one answer with an error.
    pub database: Option<Database>,
    /// Connections kept for `/pg2` and `/pg3`. Default 10, as node-postgres has them.
    pub pool: usize,
    /// How long a request waits for a connection of a pool. Default 30 s.
    pub pool_timeout: Duration,
    /// How long making a connection may take. Default 5 s.
    pub connect_timeout: Duration,
    /// How long a query may take. Default 30 s.
    pub statement_timeout: Duration,
    /// How long `/pg2` sleeps in the database; 0 for not at all. Default 0; the published code has 100 ms.
    pub pg_sleep: Duration,
    /// Answer errors with the status 500 or 503 instead of 200. Default false.
    pub errors_500: bool,
    /// How long a head may take to come, before it is answered 408. Default 10 s.
    pub head_timeout: Duration,
    /// The queue of connections not accepted yet; the kernel bounds it too. Default 65,535.
    pub backlog: u32,
    /// Serve addresses that other machines can reach. Default false.
    pub allow_remote: bool,
    /// Serve HTTPS. Default none: HTTP.
    pub tls: Option<Tls>,
}

/// The database behind the server. A table `users` with ten rows is made in it, if it has none.
#[derive(Debug)]
pub enum Database {
    /// One that runs.
    Url(DatabaseUrl),
    /// One of our own, that ends with the server.
    Private(postgres::Options),
}

impl Default for Config {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            workers: 1,
            database: None,
            pool: 10,
            pool_timeout: Duration::from_secs(30),
            connect_timeout: Duration::from_secs(5),
            statement_timeout: Duration::from_secs(30),
            pg_sleep: Duration::ZERO,
            errors_500: false,
            head_timeout: Duration::from_secs(10),
            backlog: DEFAULT_BACKLOG,
            allow_remote: false,
            tls: None,
        }
    }
}

/// Starts the server. The database has been reached when this returns.
///
/// A stop closes idle connections at once, gives requests that have begun
/// [`DRAIN_LIMIT`](crate::DRAIN_LIMIT), and then ends a private database.
pub fn start(config: Config) -> Result<Running, StartError> {
    check(&config)?;
    let Config { listen: address, workers, backlog, allow_remote, head_timeout, errors_500, .. } = config;
    let tls = config.tls.clone();
    let (listeners, local_addr) =
        listen::many(&listen::Options { address, backlog, allow_remote, tls }, workers)?;
    let counters = Arc::new(Counters::default());
    let stop = Arc::new(Stop::new()?);
    let mut running = Running::new(local_addr, Arc::clone(&counters), Arc::clone(&stop));
    // Behind `running`, so that it is dropped before: the thread of the database ends when nobody can ask it.
    let (jobs, queue) = tokio::sync::mpsc::channel(HANDOVER_LIMIT);
    let (sender, started) = sync_channel(1);
    running.spawn("express-db", move || database::run(config, queue, &sender))?;
    started.recv().expect("invariant: the thread says how it began")?;
    for listener in listeners {
        let mailbox = Arc::new(Mailbox::new()?);
        let (jobs, own) = (jobs.clone(), Arc::clone(&mailbox));
        let service = Express { jobs, mailbox: own, replies: Replies::default(), errors_500 };
        let options = Options { keep_alive: true, head_timeout, leave_with_client: false };
        let (counters, stop) = (Arc::clone(&counters), Arc::clone(&stop));
        let worker = Worker::new(service, options, listener, Some(mailbox), counters, stop)?;
        running.spawn("express", move || worker.run())?;
    }
    Ok(running)
}

fn check(config: &Config) -> Result<(), StartError> {
    service::check(config.workers, config.head_timeout)?;
    let fail = |setting, reason| Err(StartError::Setting { setting, reason });
    if !(1..=POOL_LIMIT).contains(&config.pool) {
        return fail("pool", "choose from 1 to 1000 connections; 10 is usual");
    }
    let limits = [
        ("pool_timeout", config.pool_timeout),
        ("connect_timeout", config.connect_timeout),
        ("statement_timeout", config.statement_timeout),
    ];
    // PostgreSQL counts in milliseconds, and takes 0 for no limit.
    let too_short = limits.iter().find(|(_, limit)| *limit < Duration::from_millis(1));
    too_short.map_or(Ok(()), |(setting, _)| fail(setting, "choose 1 ms or more"))
}
