//! Recorded traffic in the place of a request: the file, and the load that it is.

use std::path::Path;

use prony_import::replay::{self, FormatChoice, Recording, ReplayError, ReplayOptions, Selection};
use prony_model::{RecordedArrivals, RunOptions, RunPlan, is_token};

use super::scenario::check_base;
use super::{ResolvedArgs, fewer_connections, header, options, resolved, target};
use crate::args::{ConnectionArgs, HttpArgs, LoadArgs, PaceArgs, ReplayArgs, RequestArgs, RunArgs};
use crate::cli_error::CliError;

/// What `args` mean. `seed` stands in for one that was not typed.
pub(crate) fn resolve_replay(args: &ReplayArgs, seed: u64) -> Result<(RunArgs, ResolvedArgs), CliError> {
    check_base(&args.to)?;
    let selection = selection(args)?;
    let headers = args.headers.iter().map(|typed| header(typed)).collect::<Result<Vec<_>, _>>()?;
    let run = run_args(args);
    // What can be refused without the file is refused before it is read.
    let target = target(&args.to, &args.wire.tls, run.unix.as_deref(), &run.connect_to)?;
    let without_file = options(&run)?;
    let seed = args.wire.means.seed.unwrap_or(seed);
    let (recording, sha256) = read(args, &selection).map_err(|error| CliError::from(error.problem()))?;
    let speed = args.speed.unwrap_or(1.0);
    let file = args.file.display().to_string();
    let planned = recording.plan(&ReplayOptions { file, sha256, speed, seed, headers })?;
    let options = RunOptions {
        connections: args.connections.or_else(|| fewer_connections(args.threads)),
        scenario: Some(Box::new(planned.scenario)),
        recorded: Some(Box::new(planned.recorded)),
        replay: Some(Box::new(planned.replay)),
        ..without_file
    };
    let plan: RunPlan = options.plan(target, seed)?;
    let notes = vec![prony_report::replayed(&plan).unwrap_or_default()];
    let resolved = resolved(&run, plan, notes)?;
    Ok((run, resolved))
}

/// The moments in `path`.
pub(super) fn arrivals(path: &Path) -> Result<RecordedArrivals, CliError> {
    let read = replay::open(path).and_then(|mut opened| replay::arrivals::read(&mut opened));
    read.map_err(|error| CliError::from(error.problem()))
}

fn read(args: &ReplayArgs, selection: &Selection) -> Result<(Recording, String), ReplayError> {
    let mut opened = replay::open(&args.file)?;
    let recording = match &args.format {
        Some(FormatChoice::Log(format)) => replay::log::read(&mut opened, Some(format), selection)?,
        Some(FormatChoice::Har) => replay::har::read(&mut opened, selection)?,
        Some(FormatChoice::Guess) | None => {
            if replay::har::is_archive(&mut opened)? {
                replay::har::read(&mut opened, selection)?
            } else {
                replay::log::read(&mut opened, None, selection)?
            }
        }
    };
    Ok((recording, opened.sha256()))
}

fn selection(args: &ReplayArgs) -> Result<Selection, CliError> {
    if let (Some(since), Some(until)) = (args.since, args.until)
        && since >= until
    {
        return Err(CliError::usage("--since is not before --until").hint("exchange them"));
    }
    if let Some(wrong) = args.methods.iter().find(|method| !is_token(method)) {
        return Err(CliError::usage(format!("`{wrong}` is not an HTTP method"))
            .hint("write them with commas, --methods GET,HEAD,POST, or all"));
    }
    let upper = |method: &String| method.to_ascii_uppercase();
    let methods = match args.methods.as_slice() {
        [] => Selection::default().methods,
        methods if methods.iter().any(|method| method.eq_ignore_ascii_case("all")) => Vec::new(),
        methods => methods.iter().map(upper).collect(),
    };
    Ok(Selection {
        methods,
        since: args.since,
        until: args.until,
        length: args.length,
        hosts: args.hosts.clone(),
    })
}

/// The same as flags of `prony run`.
fn run_args(args: &ReplayArgs) -> RunArgs {
    RunArgs {
        url: Some(args.to.clone()),
        connections: args.connections,
        load: LoadArgs { pace: PaceArgs { threads: args.threads, ..PaceArgs::default() }, rate: None },
        http: HttpArgs {
            request: RequestArgs {
                timeout: args.timeout,
                connect_timeout: args.connect_timeout,
                ..RequestArgs::default()
            },
            connection: ConnectionArgs { no_keepalive: args.no_keepalive, ..ConnectionArgs::default() },
            wire: args.wire.clone(),
            ..HttpArgs::default()
        },
        trace: args.trace.clone(),
        unix: args.unix.clone(),
        connect_to: args.connect_to.clone(),
        server: args.server.clone(),
        no_calibration: args.no_calibration,
        target_commit: args.target_commit.clone(),
        thresholds: args.thresholds.clone(),
        json: args.json.clone(),
        force: args.force,
        samples: args.samples.clone(),
        output: args.output,
        clock: args.clock,
        live: args.live,
        quiet: args.quiet,
        ..RunArgs::default()
    }
}
