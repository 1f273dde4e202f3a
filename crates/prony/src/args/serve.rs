//! The flags of `prony serve`.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Subcommand, ValueEnum};
use prony_model::{Problem, parse_bytes, parse_count_u32, parse_duration};
use prony_targets::dashboard::{Site, SiteError};

use super::{ExpressArgs, PostgresArgs, TruthArgs};

/// `prony serve`, as typed.
#[derive(Debug, clap::Args)]
#[command(
    subcommand_value_name = "NAME",
    subcommand_help_heading = "Servers",
    after_help = "Examples:\n  prony serve null --tls\n  prony serve rudy --model pool --workers 4 --delay 10ms\n  prony serve kv --port 3000 --durable data"
)]
pub(crate) struct ServeArgs {
    #[command(subcommand)]
    pub(crate) server: Served,
}

impl ServeArgs {
    /// Where the server listens, if it is one that speaks HTTP and can speak HTTPS.
    pub(crate) fn listen(&self) -> Option<&ListenArgs> {
        Some(match &self.server {
            Served::Null(args) => &args.listen,
            Served::Rudy(args) => &args.listen,
            Served::Bottleneck(args) => &args.listen,
            Served::Queue(args) => &args.listen,
            Served::Dashboard(args) => &args.listen,
            Served::Kv(args) => &args.listen,
            Served::Express(args) => &args.listen,
            Served::Truth(args) => &args.listen,
            Served::Lab(_) | Served::Postgres(_) => return None,
        })
    }
}

/// The reference servers.
#[derive(Debug, Subcommand)]
pub(crate) enum Served {
    /// Answers as fast as it can: what the client itself can do
    Null(NullArgs),
    /// A small server that takes 40 ms for each request, in four ways to handle many
    Rudy(RudyArgs),
    /// A server with a known limit: all cores, one thread, or a lock
    Bottleneck(BottleneckArgs),
    /// Workers of a known service time behind a queue: what overload does to it
    Queue(QueueArgs),
    /// A status dashboard: pages, reports as JSON, and an uptime monitor
    Dashboard(DashboardArgs),
    /// A key-value store: GET, PUT, POST and DELETE /KEY, and events for changes
    Kv(KvArgs),
    /// An application with a PostgreSQL: a connection for each request, or a pool
    Express(ExpressArgs),
    /// A lab with made-up builds: to look at, and to measure its pages
    Lab(ExampleLabArgs),
    /// A private PostgreSQL, for servers that need one
    Postgres(PostgresArgs),
    /// Takes exactly as long as requested, and logs what it did: to check a measurement
    Truth(TruthArgs),
}

/// Where to listen.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct ListenArgs {
    /// Port; 0 takes a free one
    #[arg(short, long, value_name = "PORT", default_value_t = 3000)]
    pub(crate) port: u16,
    /// Address to listen on
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    pub(crate) listen: IpAddr,
    /// Let other machines connect; needed for any address that is not loopback
    #[arg(long)]
    pub(crate) allow_remote: bool,
    #[command(flatten)]
    pub(crate) tls: ServeTlsArgs,
}

/// Whether and how to serve HTTPS.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct ServeTlsArgs {
    /// Serve HTTPS, with a certificate made for localhost
    #[arg(long)]
    pub(crate) tls: bool,
    /// Serve HTTPS with this certificate chain, PEM
    #[arg(long, value_name = "FILE", requires = "tls_key", hide_short_help = true)]
    pub(crate) tls_cert: Option<PathBuf>,
    /// The private key of --tls-cert, PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert", hide_short_help = true)]
    pub(crate) tls_key: Option<PathBuf>,
    /// Write the authority of the certificate that is made to this file [default: a temporary file]
    #[arg(long, value_name = "FILE", requires = "tls", conflicts_with = "tls_cert", hide_short_help = true)]
    pub(crate) tls_ca: Option<PathBuf>,
}

/// `prony serve null`
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct NullArgs {
    #[command(flatten)]
    pub(crate) listen: ListenArgs,
    /// Threads
    #[arg(long, value_name = "N", default_value = "1", value_parser = parse_count_u32)]
    pub(crate) workers: u32,
    /// Length of the answer's body
    #[arg(long, value_name = "BYTES", default_value = "12", value_parser = parse_bytes)]
    pub(crate) body_bytes: u64,
}

/// `prony serve lab`
#[derive(Debug, Clone, Copy, clap::Args)]
pub(crate) struct ExampleLabArgs {
    /// Port; 0 takes a free one
    #[arg(short, long, value_name = "PORT", default_value_t = 3000)]
    pub(crate) port: u16,
    /// Builds that it has
    #[arg(long, value_name = "N", default_value = "200", value_parser = parse_count_u32)]
    pub(crate) builds: u32,
}

/// `prony serve rudy`
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct RudyArgs {
    #[command(flatten)]
    pub(crate) listen: ListenArgs,
    /// How it handles many clients
    #[arg(long, value_name = "MODEL", value_enum, default_value = "sequential")]
    pub(crate) model: Model,
    /// Sleep this long in each reply
    #[arg(long, value_name = "TIME", default_value = "40ms", value_parser = parse_duration)]
    pub(crate) delay: Duration,
    /// Workers of the pool
    #[arg(long, value_name = "N", default_value = "8", value_parser = parse_count_u32)]
    pub(crate) workers: u32,
    /// What the pool does with a connection when every worker is busy
    #[arg(long, value_name = "WHAT", value_enum, default_value = "hold")]
    pub(crate) when_full: WhenFull,
    /// Carry more than one request on a connection
    #[arg(long)]
    pub(crate) keepalive: bool,
    /// Answer with the files in this folder
    #[arg(long, value_name = "FOLDER")]
    pub(crate) files: Option<PathBuf>,
    /// Connections that may wait to be accepted
    #[arg(long, value_name = "N", default_value = "65535", value_parser = parse_count_u32)]
    pub(crate) backlog: u32,
    /// Accept connections only this often: with a short backlog the listen queue overflows
    #[arg(long, value_name = "TIME", default_value = "0", value_parser = parse_duration)]
    pub(crate) accept_every: Duration,
    /// Allocate this much memory for each request and never free it
    #[arg(long, value_name = "BYTES", default_value = "0", value_parser = parse_bytes)]
    pub(crate) leak: u64,
}

/// `prony serve bottleneck`
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = "Examples:\n  \
    prony serve bottleneck --burn 500us --workers 2            # all of two cores\n  \
    prony serve bottleneck --burn 500us --workers 4 --busy 1   # one thread of four\n  \
    prony serve bottleneck --hold 2ms --workers 4              # a lock: one request at a time")]
pub(crate) struct BottleneckArgs {
    #[command(flatten)]
    pub(crate) listen: ListenArgs,
    /// Threads
    #[arg(long, value_name = "N", default_value = "1", value_parser = parse_count_u32)]
    pub(crate) workers: u32,
    /// Threads that take connections; the others stay idle [default: all]
    #[arg(long, value_name = "N", value_parser = parse_count_u32)]
    pub(crate) busy: Option<u32>,
    /// CPU time that each request burns
    #[arg(long, value_name = "TIME", default_value = "0", value_parser = parse_duration)]
    pub(crate) burn: Duration,
    /// Time for which each request holds a lock that all threads share
    #[arg(long, value_name = "TIME", default_value = "0", value_parser = parse_duration)]
    pub(crate) hold: Duration,
}

/// `prony serve queue`
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = "Examples:\n  \
    prony serve queue --workers 4 --service 20ms             # 200 /s; stays down with clients that retry\n  \
    prony serve queue --workers 4 --service 20ms --limit 20  # a 503 where 20 wait\n  \
    prony serve queue --service 5ms --shed-after 100ms       # a 503 for who waited longer")]
pub(crate) struct QueueArgs {
    #[command(flatten)]
    pub(crate) listen: ListenArgs,
    /// Requests served at the same time
    #[arg(long, value_name = "N", default_value = "1", value_parser = parse_count_u32)]
    pub(crate) workers: u32,
    /// How long each takes; nothing is computed, so the capacity is workers / service time
    #[arg(long, value_name = "TIME", default_value = "10ms", value_parser = parse_duration)]
    pub(crate) service: Duration,
    /// Draw service times from an exponential distribution with that mean
    #[arg(long)]
    pub(crate) exponential: bool,
    /// Seed of the service times
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Answer 503 where so many wait [default: a million]
    #[arg(long, value_name = "N", value_parser = parse_count_u32)]
    pub(crate) limit: Option<u32>,
    /// Answer 503 to who has waited for longer
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub(crate) shed_after: Option<Duration>,
    /// Write when each request came, began and ended to this file, CSV
    #[arg(long, value_name = "FILE")]
    pub(crate) log: Option<PathBuf>,
}

/// `prony serve dashboard`
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = "Examples:\n  \
    prony serve dashboard --port 8080 --access-log stdout\n  \
    prony serve dashboard --check http://127.0.0.1:3000/ --check-every 10s")]
pub(crate) struct DashboardArgs {
    #[command(flatten)]
    pub(crate) listen: ListenArgs,
    /// Threads
    #[arg(long, value_name = "N", default_value = "1", value_parser = parse_count_u32)]
    pub(crate) workers: u32,
    /// Write a line for each request: `off`, `stdout` or a file
    #[arg(long, value_name = "WHERE", default_value = "off", value_parser = log_to)]
    pub(crate) access_log: LogTo,
    /// Show under /status whether this URL answers; may be repeated
    #[arg(long = "check", value_name = "URL", num_args = 1.., value_parser = site)]
    pub(crate) checks: Vec<Site>,
    /// From one round of checks to the next
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = parse_duration)]
    pub(crate) check_every: Duration,
}

/// `prony serve kv`
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = "Examples:\n  \
    prony serve kv --port 8080\n  \
    prony serve kv --durable data --workers 2\n  \
    curl -X POST -d 'a value' http://127.0.0.1:3000/key\n  \
    curl -N -H 'Accept: text/event-stream' http://127.0.0.1:3000/key")]
pub(crate) struct KvArgs {
    #[command(flatten)]
    pub(crate) listen: ListenArgs,
    /// Threads
    #[arg(long, value_name = "N", default_value = "1", value_parser = parse_count_u32)]
    pub(crate) workers: u32,
    /// Memory for keys and values
    #[arg(long, value_name = "SIZE", default_value = "256MiB", value_parser = parse_bytes)]
    pub(crate) memory: u64,
    /// Keep everything in this folder, too: a write is on disk before it is answered
    #[arg(long, value_name = "FOLDER")]
    pub(crate) durable: Option<PathBuf>,
    /// One request on each connection
    #[arg(long)]
    pub(crate) no_keepalive: bool,
    /// Print a line for each connection, to see what that costs
    #[arg(long)]
    pub(crate) log_connections: bool,
    /// Copy each value before it is sent, to see what that costs
    #[arg(long)]
    pub(crate) copy_values: bool,
}

/// Where a log goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum LogTo {
    Off,
    Stdout,
    File(PathBuf),
}

fn site(text: &str) -> Result<Site, Problem> {
    text.parse::<Site>().map_err(|error| match error {
        SiteError::NotAUrl(why) => {
            Problem::new("this is not a URL", format!("{why}; write http://host:port/path"))
        }
        SiteError::NotHttp => Problem::new("only http:// can be checked", "leave this site out"),
        other => Problem::without_advice(other.to_string()),
    })
}

#[expect(clippy::unnecessary_wraps, reason = "clap wants a parser that could fail")]
fn log_to(text: &str) -> Result<LogTo, std::convert::Infallible> {
    Ok(match text {
        "off" => LogTo::Off,
        "stdout" | "-" => LogTo::Stdout,
        file => LogTo::File(file.into()),
    })
}

/// How many clients are handled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Model {
    /// One request after the other.
    Sequential,
    /// A thread for each connection.
    Thread,
    /// A fixed number of threads.
    Pool,
    /// One thread, many connections.
    Async,
}

/// What becomes of a connection that finds every worker busy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum WhenFull {
    /// It waits.
    Hold,
    /// It gets 503.
    Refuse,
}
