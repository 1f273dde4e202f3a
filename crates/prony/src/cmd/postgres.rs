//! `prony serve postgres`: a private PostgreSQL for servers that need one, until Ctrl-C.

use std::net::{Ipv4Addr, TcpListener};

use prony_targets::postgres::{Options, Postgres};

use super::express::no_postgres;
use crate::args::PostgresArgs;
use crate::cli_error::CliError;

/// Starts it, ready to be used.
pub(super) fn start(args: PostgresArgs) -> Result<Postgres, CliError> {
    let port = free(args.port)?;
    Postgres::start(&options(Some(port))).map_err(|error| no_postgres(&error))
}

/// What is installed, in a temporary folder.
pub(super) fn options(port: Option<u16>) -> Options {
    let path = std::env::var_os("PATH").unwrap_or_default();
    Options { programs: std::env::split_paths(&path).collect(), temporary: std::env::temp_dir(), port }
}

/// `port`, or one that is free now: PostgreSQL takes none by itself.
fn free(port: u16) -> Result<u16, CliError> {
    let bound = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).and_then(|listener| listener.local_addr());
    bound.map(|address| address.port()).map_err(|error| {
        CliError::usage(format!("can't listen on 127.0.0.1:{port} ({error})"))
            .hint("name another port, or none: then a free one is taken")
    })
}
