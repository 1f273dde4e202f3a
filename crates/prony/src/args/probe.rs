//! The flags of `prony probe`; those that `prony run` has too mean the same.

use std::net::SocketAddr;
use std::path::PathBuf;

use prony_model::{StatusSet, parse_count_u32};

use super::run::PageFormat;
use super::shared::{Http2Args, RequestArgs, TlsArgs};

/// `prony probe`, as typed: `None` where nothing was.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(mut_arg("connect_timeout", |flag| {
    flag.help("Wait this long for a connection to each address [default: 5s]")
}))]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag that is there or not: nothing is inferred here"
)]
pub(crate) struct ProbeArgs {
    /// The server; `http://` may be left out
    #[arg(value_name = "URL")]
    pub(crate) url: String,
    /// Send so many requests, one by one [default: 1]
    #[arg(long, value_name = "N", value_parser = parse_count_u32)]
    pub(crate) count: Option<u32>,
    /// With --count: reuse the connection if the server allows
    #[arg(long)]
    pub(crate) reuse: bool,
    #[command(flatten)]
    pub(crate) request: RequestArgs,
    /// Use HTTP/1.0
    #[arg(long = "http1.0", hide_short_help = true)]
    pub(crate) http10: bool,
    #[command(flatten)]
    pub(crate) http2: Http2Args,
    /// Connect to this Unix socket; the URL still names host and path
    #[arg(long, value_name = "PATH", hide_short_help = true)]
    pub(crate) unix: Option<PathBuf>,
    /// Connect to this address, `ADDRESS:PORT`, or to several, with commas; the URL still names host and path
    #[arg(long, value_name = "ADDRESS", value_delimiter = ',', hide_short_help = true)]
    pub(crate) connect_to: Vec<SocketAddr>,
    /// Connect from these local addresses in turn: `127.0.0.2`, lists with commas, `127.0.0.2-127.0.0.9`
    #[arg(long = "source", value_name = "ADDRESS", value_delimiter = ',', hide_short_help = true)]
    pub(crate) sources: Vec<String>,
    #[command(flatten)]
    pub(crate) tls: TlsArgs,
    /// Accept these status codes: `200`, `2xx`, `200-299`, lists with commas [default: 200-399]
    #[arg(long, value_name = "STATUS", value_parser = StatusSet::parse, hide_short_help = true)]
    pub(crate) expect_status: Option<StatusSet>,
    /// Keep the body of the first response in this file, up to 64 MiB; `-` is stdout, and the report goes to
    /// stderr
    #[arg(long, value_name = "FILE")]
    pub(crate) save_body: Option<PathBuf>,
    /// Write the whole result to this file; `-` is stdout
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Overwrite existing files of --json and --save-body
    #[arg(long, hide_short_help = true)]
    pub(crate) force: bool,
    /// What to print [default: text]
    #[arg(short, long, value_name = "FORMAT", value_enum)]
    pub(crate) output: Option<PageFormat>,
    /// No progress line
    #[arg(short, long)]
    pub(crate) quiet: bool,
}
