//! `prony serve`: the reference servers, until Ctrl-C.

use std::fs::File;
use std::io::Write as _;
use std::net::SocketAddr;
use std::os::fd::AsFd as _;
use std::sync::mpsc::sync_channel;

use prony_report::count;
use prony_targets::tls::{Handshakes, Tls};
use prony_targets::{Running, StartError, StopReport, bottleneck, dashboard, kv, null, queue, rudy, truth};

use super::express;
use super::serve_tls::ServingTls;
use crate::args::{
    BottleneckArgs, DashboardArgs, KvArgs, ListenArgs, LogTo, Model, NullArgs, QueueArgs, RudyArgs,
    ServeArgs, Served, TruthArgs, WhenFull,
};
use crate::cli_error::CliError;
use crate::exit::Exit;
use crate::{output, signals};

/// Starts the server that `args` name, prints where it listens, and at the end what it did.
pub(crate) fn serve(args: &ServeArgs) -> Result<Exit, CliError> {
    let (stop, stopped) = sync_channel(1);
    signals::on_interrupt(move || {
        // The receiver is gone only when the server has ended already.
        let _ = stop.try_send(());
    })?;
    let serving = args.listen().map(|listen| ServingTls::new(&listen.tls, listen.listen)).transpose()?;
    let serving = serving.unwrap_or_default();
    let tls = serving.tls();
    let running = match &args.server {
        Served::Postgres(args) => {
            // It ends with this thread, which has nothing else to do.
            let postgres = super::postgres::start(*args)?;
            let url = postgres.network_url().expect("invariant: it was given a port");
            output::print(&format!("listening on {url}\n"))?;
            stopped.recv().map_err(|_| CliError::internal("nobody listens for Ctrl-C any more"))?;
            return Ok(Exit::Good);
        }
        Served::Lab(args) => {
            return super::lab::example(*args, || {
                stopped.recv().map_err(|_| CliError::internal("nobody listens for Ctrl-C any more"))
            });
        }
        Served::Null(args) => start_null(args, tls),
        Served::Rudy(args) => start_rudy(args, tls),
        Served::Bottleneck(args) => start_bottleneck(args, tls),
        Served::Queue(args) => start_queue(args, tls),
        Served::Dashboard(args) => start_dashboard(args, log(&args.access_log)?, tls),
        Served::Kv(args) => {
            let log_to = if args.log_connections { LogTo::Stdout } else { LogTo::Off };
            start_kv(args, log(&log_to)?, tls)
        }
        Served::Express(args) => express::start(args, express::database(args)?, tls),
        Served::Truth(args) => start_truth(args, tls),
    }
    .map_err(|error| cli_error(&error))?;
    // A script waits for the first line, and takes the port from it.
    output::print(&format!(
        "listening on {}://{}/\n{}",
        serving.scheme(),
        running.local_addr(),
        serving.trusted_with()
    ))?;
    stopped.recv().map_err(|_| CliError::internal("nobody listens for Ctrl-C any more"))?;
    let is_queue = matches!(args.server, Served::Queue(_));
    print_stop_report(&running.stop(), is_queue, serving.handshakes());
    Ok(Exit::Good)
}

fn start_null(args: &NullArgs, tls: Option<Tls>) -> Result<Running, StartError> {
    null::start(null::Config {
        listen: address(&args.listen),
        workers: args.workers as usize,
        body_bytes: usize::try_from(args.body_bytes).unwrap_or(usize::MAX),
        allow_remote: args.listen.allow_remote,
        tls,
        ..null::Config::default()
    })
}

fn start_rudy(args: &RudyArgs, tls: Option<Tls>) -> Result<Running, StartError> {
    let model = match args.model {
        Model::Sequential => rudy::Model::Sequential,
        Model::Thread => rudy::Model::Thread,
        Model::Async => rudy::Model::Async,
        Model::Pool => rudy::Model::Pool {
            workers: args.workers as usize,
            when_full: match args.when_full {
                WhenFull::Hold => rudy::WhenFull::Hold,
                WhenFull::Refuse => rudy::WhenFull::Refuse,
            },
        },
    };
    rudy::start(rudy::Config {
        listen: address(&args.listen),
        model,
        delay: args.delay,
        keep_alive: args.keepalive,
        files: args.files.clone(),
        backlog: args.backlog,
        accept_every: args.accept_every,
        leak_bytes: usize::try_from(args.leak).unwrap_or(usize::MAX),
        allow_remote: args.listen.allow_remote,
        tls,
        ..rudy::Config::default()
    })
}

fn start_bottleneck(args: &BottleneckArgs, tls: Option<Tls>) -> Result<Running, StartError> {
    bottleneck::start(bottleneck::Config {
        listen: address(&args.listen),
        workers: args.workers as usize,
        busy: args.busy.map(|busy| busy as usize),
        burn: args.burn,
        hold: args.hold,
        allow_remote: args.listen.allow_remote,
        tls,
    })
}

fn start_queue(args: &QueueArgs, tls: Option<Tls>) -> Result<Running, StartError> {
    queue::start(queue::Config {
        listen: address(&args.listen),
        workers: args.workers as usize,
        service: args.service,
        exponential: args.exponential,
        seed: args.seed,
        limit: args.limit.map(|limit| limit as usize),
        shed_after: args.shed_after,
        log: args.log.clone(),
        allow_remote: args.listen.allow_remote,
        tls,
    })
}

fn start_dashboard(
    args: &DashboardArgs,
    access_log: Option<File>,
    tls: Option<Tls>,
) -> Result<Running, StartError> {
    dashboard::start(dashboard::Config {
        listen: address(&args.listen),
        workers: args.workers as usize,
        access_log,
        sites: args.checks.clone(),
        check_every: args.check_every,
        allow_remote: args.listen.allow_remote,
        tls,
        ..dashboard::Config::default()
    })
}

fn start_kv(args: &KvArgs, connection_log: Option<File>, tls: Option<Tls>) -> Result<Running, StartError> {
    kv::start(kv::Config {
        listen: address(&args.listen),
        workers: args.workers as usize,
        memory_limit_bytes: args.memory,
        durable: args.durable.clone(),
        copy_values: args.copy_values,
        connection_log,
        keep_alive: !args.no_keepalive,
        allow_remote: args.listen.allow_remote,
        tls,
        ..kv::Config::default()
    })
}

/// Where a server writes its log. Lines are added to a file that is there.
fn log(to: &LogTo) -> Result<Option<File>, CliError> {
    let opened = match to {
        LogTo::Off => return Ok(None),
        LogTo::Stdout => std::io::stdout().as_fd().try_clone_to_owned().map(File::from),
        LogTo::File(path) => File::options().append(true).create(true).open(path),
    };
    let name = match to {
        LogTo::File(path) => path.display().to_string(),
        LogTo::Off | LogTo::Stdout => "stdout".to_owned(),
    };
    let failed = |error| {
        CliError::usage(format!("can't write the log {name} ({error})"))
            .hint("check that the folder exists and has room")
    };
    opened.map(Some).map_err(failed)
}

fn start_truth(args: &TruthArgs, tls: Option<Tls>) -> Result<Running, StartError> {
    truth::start(truth::Config {
        listen: address(&args.listen),
        workers: args.workers as usize,
        delay: args.delay,
        seed: args.seed,
        error_share: args.error_share,
        reset_share: args.reset_share,
        slow_body: args.slow_body,
        body_bytes: usize::try_from(args.body_bytes).unwrap_or(usize::MAX),
        keep_alive: !args.close,
        http2: args.http2,
        spin: args.spin,
        log: args.log.clone(),
        allow_remote: args.listen.allow_remote,
        tls,
        ..truth::Config::default()
    })
}

pub(super) fn address(args: &ListenArgs) -> SocketAddr {
    SocketAddr::new(args.listen, args.port)
}

/// Why a server did not start, with the flag that helps.
pub(crate) fn cli_error(error: &StartError) -> CliError {
    match error {
        StartError::NotLoopback { address } => {
            CliError::usage(format!("other machines could reach a server on {address}"))
                .hint("listen on 127.0.0.1, or add --allow-remote if that is what you want")
        }
        StartError::PortTaken { address } => CliError::usage(format!("{address} is in use"))
            .hint("stop the other server, or take a free port: --port 0"),
        StartError::PortForbidden { address } => {
            CliError::usage(format!("this user may not listen on port {}", address.port()))
                .hint("choose one from 1024 up: --port 3000")
        }
        StartError::NoSuchAddress { address } => {
            CliError::usage(format!("this machine does not have the address {}", address.ip()))
                .hint("`ip address` shows those that it has")
        }
        StartError::Setting { setting, reason } => {
            CliError::usage(format!("--{}: {reason}", setting.replace('_', "-")))
        }
        StartError::NoSuchHost { url, source } => {
            CliError::usage(format!("the host of {url} has no address ({source})"))
                .hint("check the spelling, or name the address: --check http://127.0.0.1:3000/")
        }
        StartError::Store { path, source } => {
            CliError::usage(format!("can't use the store {} ({source})", path.display()))
                .hint("check that the folder may be written and that no other server uses it")
        }
        StartError::TlsFile { path, reason } => {
            CliError::usage(format!("can't use {}", path.display())).hint(*reason)
        }
        StartError::TlsFileUnreadable { path, source } => {
            CliError::usage(format!("can't read {} ({source})", path.display()))
                .hint("name a file that this user may read, or leave --tls-cert and --tls-key out")
        }
        StartError::Postgres(error) => express::no_postgres(error),
        StartError::Database(error) => express::no_database(error),
        other => match std::error::Error::source(other) {
            Some(source) => CliError::internal(format!("failed to {other} ({source})")),
            None => CliError::internal(format!("failed to {other}")),
        },
    }
}

/// What the server did, on stderr, in one line.
fn print_stop_report(report: &StopReport, is_queue: bool, handshakes: Option<Handshakes>) {
    let counts = report.counts;
    let mut line =
        format!("{} requests answered on {} connections", count(counts.requests), count(counts.connections));
    // The null server does not count them: it would cost time.
    if counts.max_in_flight > 0 {
        line = format!("{line}, at most {} at once", count(counts.max_in_flight));
    }
    let rest = [
        (counts.rejected, "rejected as bad requests"),
        (counts.refused, if is_queue { "refused" } else { "connections refused" }),
        (counts.in_vain, "served after their client had left"),
        (counts.broken, "broken off by clients"),
        (report.abandoned, "given up at the stop"),
        (counts.records_lost, "lines or records of the log lost"),
    ];
    for (number, what) in rest {
        if number > 0 {
            line = format!("{line}; {} {what}", count(number));
        }
    }
    if let Some(Handshakes { full, resumed, failed, .. }) = handshakes {
        line = format!("{line}; {} TLS handshakes in full, {} resumed", count(full), count(resumed));
        if failed > 0 {
            line = format!("{line}, {} failed", count(failed));
        }
    }
    // stderr is closed: nobody reads it.
    let _ = std::io::stderr().write_all(format!("{line}\n").as_bytes());
}
