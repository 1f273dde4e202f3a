//! Flags that several commands have, and that mean the same in each.

use std::path::PathBuf;
use std::time::Duration;

use clap::ValueEnum;
use prony_model::{
    Arrivals, Backoff, Http2Choice, Rate, RetryOn, RetryOptions, StatusSet, TlsChoices, TlsVersions,
    TraceOptions, parse_count_u32, parse_duration, parse_percent,
};

/// What is sent to a server, how, and what makes an answer good: of every command that puts a load on a URL.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct HttpArgs {
    #[command(flatten)]
    pub(crate) request: RequestArgs,
    #[command(flatten)]
    pub(crate) retries: RetryArgs,
    #[command(flatten)]
    pub(crate) connection: ConnectionArgs,
    #[command(flatten)]
    pub(crate) wire: WireArgs,
    #[command(flatten)]
    pub(crate) checks: CheckArgs,
}

/// How requests travel, and by what means they are sent: also where the requests come from a file.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct WireArgs {
    #[command(flatten)]
    pub(crate) http2: Http2Args,
    /// Requests in flight on one connection of HTTP/2 [default: 1]
    #[arg(long, value_name = "N", value_parser = parse_count_u32, hide_short_help = true)]
    pub(crate) streams: Option<u32>,
    /// Connect from these local addresses in turn: `127.0.0.2`, lists with commas, `127.0.0.2-127.0.0.9`
    #[arg(long = "source", value_name = "ADDRESS", value_delimiter = ',', hide_short_help = true)]
    pub(crate) sources: Vec<String>,
    #[command(flatten)]
    pub(crate) tls: TlsArgs,
    #[command(flatten)]
    pub(crate) means: MeansArgs,
}

/// What is sent, and how long it may take.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct RequestArgs {
    /// Method [default: GET; POST with a body]
    #[arg(short, long, value_name = "METHOD")]
    pub(crate) method: Option<String>,
    /// A header, `Name: value`; may be repeated
    #[arg(short = 'H', long = "header", value_name = "HEADER")]
    pub(crate) headers: Vec<String>,
    /// The request's body
    #[arg(short, long, value_name = "TEXT")]
    pub(crate) body: Option<String>,
    /// The request's body, from a file; `-` is stdin
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub(crate) body_file: Option<PathBuf>,
    /// Wait this long for a response [default: 30s]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub(crate) timeout: Option<Duration>,
    /// Wait this long for a connection [default: 5s]
    #[arg(long, value_name = "TIME", value_parser = parse_duration, hide_short_help = true)]
    pub(crate) connect_timeout: Option<Duration>,
}

/// How an https server is reached.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct TlsArgs {
    /// Trust the certificates in this PEM file instead of the system's; may be repeated
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub(crate) cacert: Vec<PathBuf>,
    /// Client certificate, PEM
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub(crate) cert: Option<PathBuf>,
    /// Its key, PEM [default: in the file of --cert]
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub(crate) key: Option<PathBuf>,
    /// Accept any certificate: every report says so
    #[arg(short = 'k', long, hide_short_help = true)]
    pub(crate) insecure: bool,
    /// Ask for this name and verify it, instead of the URL's host
    #[arg(long, value_name = "NAME", hide_short_help = true)]
    pub(crate) sni: Option<String>,
    /// Offer this version of TLS only [default: both]
    #[arg(long, value_name = "VERSION", value_enum, hide_short_help = true)]
    pub(crate) tls: Option<Tls>,
    /// A full TLS handshake for every connection
    #[arg(long, hide_short_help = true)]
    pub(crate) no_resumption: bool,
}

impl TlsArgs {
    /// What was asked for.
    pub(crate) fn choices(&self) -> TlsChoices {
        TlsChoices {
            ca_files: self.cacert.clone(),
            certificate: self.cert.clone(),
            key: self.key.clone(),
            insecure: self.insecure,
            server_name: self.sni.clone(),
            versions: self.tls.map_or(TlsVersions::Any, |version| match version {
                Tls::V12 => TlsVersions::Tls12,
                Tls::V13 => TlsVersions::Tls13,
            }),
            no_resumption: self.no_resumption,
        }
    }
}

/// A version of TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Tls {
    /// TLS 1.2.
    #[value(name = "1.2")]
    V12,
    /// TLS 1.3.
    #[value(name = "1.3")]
    V13,
}

/// Which failed requests are sent again.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct RetryArgs {
    /// Send a failed request again, up to N times
    #[arg(long, value_name = "N", value_parser = parse_count_u32, hide_short_help = true)]
    pub(crate) retries: Option<u32>,
    /// What to retry: `connect`, `reset`, `timeout`, status codes as `503` or `5xx`; lists with commas
    #[arg(long, value_name = "FAILURES", value_parser = RetryOn::parse, hide_short_help = true)]
    pub(crate) retry_on: Option<RetryOn>,
    /// Wait a random time before a retry, at most the first of these, doubled for each, up to the second [default:
    /// 100ms..2s]
    #[arg(long, value_name = "TIMES", value_parser = Backoff::parse, hide_short_help = true)]
    pub(crate) retry_backoff: Option<Backoff>,
    /// Retry this share of the requests at most, and ten more [default: no limit]
    #[arg(long, value_name = "PERCENT", value_parser = parse_percent, hide_short_help = true)]
    pub(crate) retry_budget: Option<f64>,
    /// Wait this long for the response to one attempt; `--timeout` is for the request and its retries [default:
    /// `--timeout`]
    #[arg(long, value_name = "TIME", value_parser = parse_duration, hide_short_help = true)]
    pub(crate) attempt_timeout: Option<Duration>,
}

impl RetryArgs {
    /// What was asked for.
    pub(crate) fn options(&self) -> RetryOptions {
        RetryOptions {
            retries: self.retries,
            on: self.retry_on.clone(),
            backoff: self.retry_backoff,
            budget: self.retry_budget,
            attempt_timeout: self.attempt_timeout,
        }
    }

    /// What was asked for, and `others` where nothing was.
    pub(crate) fn or(&self, others: RetryOptions) -> Self {
        let RetryOptions { retries, on, backoff, budget, attempt_timeout } = self.options().or(others);
        Self { retries, retry_on: on, retry_backoff: backoff, retry_budget: budget, attempt_timeout }
    }
}

/// Which requests the server is asked to trace.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct TraceArgs {
    /// Send each request with a `traceparent` header (W3C Trace Context), and list the slowest traces
    #[arg(long, hide_short_help = true)]
    pub(crate) trace: bool,
    /// Ask the server to record this share of the requests [default: 1%]
    #[arg(long, value_name = "PERCENT", value_parser = parse_percent, hide_short_help = true)]
    pub(crate) trace_share: Option<f64>,
    /// Where a trace is shown: `http://127.0.0.1:16686/trace/{trace_id}`
    #[arg(long, value_name = "URL", hide_short_help = true)]
    pub(crate) trace_url: Option<String>,
}

impl TraceArgs {
    /// What was asked for.
    pub(crate) fn options(&self) -> TraceOptions {
        TraceOptions { on: self.trace, share: self.trace_share, url: self.trace_url.clone() }
    }
}

/// How much load, and by how many threads; the number of connections has another default in each command.
#[derive(Debug, Clone, Copy, Default, clap::Args)]
pub(crate) struct LoadArgs {
    /// Open loop: requests per second, regardless of answers
    #[arg(short, long, value_name = "RATE")]
    pub(crate) rate: Option<Rate>,
    #[command(flatten)]
    pub(crate) pace: PaceArgs,
}

/// How the requests of a rate arrive, and how many threads send them.
#[derive(Debug, Clone, Copy, Default, clap::Args)]
pub(crate) struct PaceArgs {
    /// Open loop with Poisson arrivals, as from many independent users
    #[arg(long, hide_short_help = true)]
    pub(crate) poisson: bool,
    /// How the requests of a rate arrive: `constant`, `poisson`, `bursty`, `bursty:10x,500ms` [default: constant]
    #[arg(long, value_name = "HOW", value_parser = Arrivals::parse, hide_short_help = true)]
    pub(crate) arrivals: Option<Arrivals>,
    /// Worker threads [default: 1]
    #[arg(short, long, value_name = "N", value_parser = parse_count_u32)]
    pub(crate) threads: Option<u32>,
}

/// How connections are used.
#[derive(Debug, Clone, Copy, Default, clap::Args)]
pub(crate) struct ConnectionArgs {
    /// A new connection for each request
    #[arg(long)]
    pub(crate) no_keepalive: bool,
    /// Requests in flight on one connection [default: 1]
    #[arg(long, value_name = "N", value_parser = parse_count_u32, hide_short_help = true)]
    pub(crate) pipeline: Option<u32>,
    /// Use HTTP/1.0
    #[arg(long = "http1.0", hide_short_help = true)]
    pub(crate) http10: bool,
}

/// Whether HTTP/2 is used.
#[derive(Debug, Clone, Copy, Default, clap::Args)]
pub(crate) struct Http2Args {
    /// HTTP/2, which the server must choose (https)
    #[arg(long, conflicts_with = "http2_prior_knowledge")]
    pub(crate) http2: bool,
    /// Use HTTP/2 without TLS, for an http URL
    #[arg(long, hide_short_help = true)]
    pub(crate) http2_prior_knowledge: bool,
}

impl Http2Args {
    /// What was asked for.
    pub(crate) fn choice(self) -> Http2Choice {
        match (self.http2, self.http2_prior_knowledge) {
            (true, _) => Http2Choice::Negotiated,
            (false, true) => Http2Choice::PriorKnowledge,
            (false, false) => Http2Choice::Off,
        }
    }
}

/// By what means prony loads and looks.
#[derive(Debug, Clone, Copy, Default, clap::Args)]
pub(crate) struct MeansArgs {
    /// I/O backend
    #[arg(long, value_name = "DRIVER", value_enum, default_value = "auto", hide_short_help = true)]
    pub(crate) driver: Driver,
    /// Kernel time stamps: they tell the client's delays from the server's
    #[arg(long, value_name = "CLOCK", value_enum, default_value = "auto", hide_short_help = true)]
    pub(crate) kernel_clock: KernelStamps,
    /// Seed of everything random [default: from the system, and stored]
    #[arg(long, value_name = "N", hide_short_help = true)]
    pub(crate) seed: Option<u64>,
}

/// What makes a response good.
#[derive(Debug, Clone, Default, clap::Args)]
#[expect(clippy::struct_field_names, reason = "each is named as its flag")]
pub(crate) struct CheckArgs {
    /// Accept these status codes: `200`, `2xx`, `200-299`, lists with commas [default: 200-399]
    #[arg(long, value_name = "STATUS", value_parser = StatusSet::parse, hide_short_help = true)]
    pub(crate) expect_status: Option<StatusSet>,
    /// Accept only bodies of exactly this text
    #[arg(long, value_name = "TEXT", hide_short_help = true)]
    pub(crate) expect_body: Option<String>,
    /// Accept only bodies that match this regular expression
    #[arg(long, value_name = "REGEX", hide_short_help = true)]
    pub(crate) expect_body_regex: Option<String>,
    /// Accept only bodies as long as the first one
    #[arg(long, value_name = "LENGTH", value_enum, hide_short_help = true)]
    pub(crate) expect_length: Option<BodyLength>,
}

/// How the kernel is asked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Driver {
    /// io_uring where the kernel has it, else epoll.
    #[default]
    Auto,
    /// Readiness.
    Epoll,
    /// Completions.
    #[value(name = "io_uring")]
    IoUring,
}

/// Whether the kernel's own time stamps are used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum KernelStamps {
    /// Use them where the kernel has them.
    #[default]
    Auto,
    /// Don't use them.
    Off,
}

/// What can be expected of a body's length.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum BodyLength {
    /// That of the first one.
    Same,
}
