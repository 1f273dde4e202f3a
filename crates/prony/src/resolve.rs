//! What is resolved: the plan behind what was typed, with every default filled in and every contradiction refused.

use std::io::Read as _;
use std::net::SocketAddr;
use std::path::Path;

use prony_model::{
    BodyCheck, Clock, DriverChoice, KernelClock, OPEN_CONNECTIONS, RequestOptions, RunOptions, RunPlan,
    Scenario, StatusSet, Target, TargetError, is_token, source_addresses,
};

use crate::args::{
    BodyLength, CheckArgs, ConnectionArgs, Driver, Format, Http2Args, HttpArgs, KernelStamps, RequestArgs,
    RunArgs, TlsArgs,
};
use crate::cli_error::CliError;
use crate::output::Destination;
use crate::push::{self, Push};
use crate::resolve::curl::{WithCurl, with_curl};
use crate::step_summary::StepSummary;

pub(crate) mod ab;
pub(crate) mod capacity;
pub(crate) mod compare;
mod curl;
mod exec;
mod one_machine;
mod outputs;
pub(crate) mod overload;
mod parameters;
pub(crate) mod probe;
mod program;
pub(crate) mod replay;
mod scenario;
pub(crate) mod wrk;

pub(crate) use exec::{Export, ResolvedExec, resolve_exec};
pub(crate) use one_machine::{refuse_local_flags, refuse_local_means};
pub(crate) use program::start_ups;

/// A commit, a version or a variant has a name that people can read.
const TARGET_COMMIT_BYTES_MAX: usize = 200;
/// A body is held in memory and stored in every result.
pub(crate) const BODY_BYTES_MAX: u64 = 64 << 20;

/// A run, and what to do with its result.
#[derive(Debug)]
pub(crate) struct ResolvedArgs {
    pub(crate) plan: RunPlan,
    /// What the target is, in the words of the person at the keyboard.
    pub(crate) target_commit: Option<String>,
    pub(crate) format: Format,
    /// The distribution for formats of one.
    pub(crate) clock: Clock,
    pub(crate) destination: Option<Destination>,
    pub(crate) samples: Option<Destination>,
    /// Where the report goes as Markdown, too.
    pub(crate) step_summary: Option<StepSummary>,
    /// Metrics while the run is on.
    pub(crate) push: Option<Push>,
    pub(crate) quiet: bool,
    /// What the user should know before the load.
    pub(crate) notes: Vec<String>,
}

/// What `args` mean. `seed` stands in for one that was not typed.
pub(crate) fn resolve(args: &RunArgs, seed: u64) -> Result<ResolvedArgs, CliError> {
    // Before anything else is read.
    args.target_commit.as_deref().map(target_commit).transpose()?;
    let WithCurl { args, body, notes } = with_curl(args)?;
    refuse_abort_for_nothing(&args)?;
    let (args, scenario) = scenario::with_scenario(args)?;
    let plan = plan(&args, body, scenario, seed)?;
    for threshold in args.thresholds.all() {
        threshold.refuse_unknown_names(&plan).map_err(|problem| problem.after("--threshold "))?;
    }
    let notes = notes.into_iter().chain(repeated_work(&plan)).collect();
    resolved(&args, plan, notes)
}

/// `plan`, and what `args` say about its result.
fn resolved(args: &RunArgs, plan: RunPlan, notes: Vec<String>) -> Result<ResolvedArgs, CliError> {
    let target_commit = args.target_commit.as_deref().map(target_commit).transpose()?;
    let (format, file) = outputs::outputs(args.json.as_deref(), "--output", args.output)?;
    let clock = clock(args.clock, format)?;
    let variable = |name: &str| std::env::var(name).ok().filter(|text| !text.is_empty());
    let push = push::resolve(&args.push, variable)?;
    let step_summary = args.github_summary.then(|| StepSummary::find(variable)).transpose()?;
    if let (Some(path), true) = (&args.samples, args.samples.is_some() && args.samples.as_deref() == file) {
        return Err(CliError::usage(format!("--json and --samples both want {}", path.display()))
            .hint("give each a file of its own"));
    }
    let destination = file.map(|path| Destination::prepare("--json", path, args.force)).transpose()?;
    let prepare = |path: &Path| Destination::prepare("--samples", path, args.force);
    let samples = args.samples.as_deref().map(prepare).transpose()?;
    let quiet = args.quiet;
    Ok(ResolvedArgs {
        plan,
        target_commit,
        format,
        clock,
        destination,
        samples,
        step_summary,
        push,
        quiet,
        notes,
    })
}

/// What a retry may do twice. It is done all the same: the user asked for it.
fn repeated_work(plan: &RunPlan) -> Option<String> {
    // RFC 9110, section 9.2.2.
    const IDEMPOTENT: [&str; 6] = ["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"];
    if !plan.retries.as_ref().is_some_and(|retries| retries.on.repeats_work()) {
        return None;
    }
    let of_steps = plan.scenario.iter().flat_map(|scenario| scenario.steps()).map(|(_, step)| &step.method);
    let of_run = plan.scenario.is_none().then_some(&plan.request.method);
    let method = of_steps.chain(of_run).find(|method| !IDEMPOTENT.contains(&method.as_str()));
    method.map(|method| {
        format!(
            "{method} is not idempotent: a retry may do again what an attempt before it has done \
             (only --retry-on connect never does)"
        )
    })
}

/// A run can end early only for what can be certain before its end.
fn refuse_abort_for_nothing(args: &RunArgs) -> Result<(), CliError> {
    if args.abort_early && !args.thresholds.all().any(|threshold| threshold.can_be_lost()) {
        let what = "--abort-early has no threshold that can be missed before the end of the run";
        let advice = "add one of errors, checks, success, status.5xx, requests.failed or response.max: \
                      --threshold 'errors == 0'";
        return Err(CliError::usage(what).hint(advice));
    }
    Ok(())
}

/// The plan of `args`, with `curl_body` where no body was typed.
fn plan(
    args: &RunArgs,
    curl_body: Option<Vec<u8>>,
    scenario: Option<Box<Scenario>>,
    seed: u64,
) -> Result<RunPlan, CliError> {
    let url = args.url.as_deref().unwrap_or_default();
    let target = target(url, &args.http.wire.tls, args.unix.as_deref(), &args.connect_to)?;
    let seed = args.http.wire.means.seed.unwrap_or(seed);
    let without_body = RunOptions { scenario, ..options(args)? };
    let plan = |options: &RunOptions| options.plan(target.clone(), seed).map_err(CliError::from);
    // The body comes last, because it may be read from stdin: everything that can be refused without it is.
    plan(&without_body)?;
    let body = body(&args.http.request)?.or(curl_body);
    let request = RequestOptions { body, ..without_body.request };
    plan(&RunOptions { request, ..without_body })
}

/// What an open loop gets where the limit on open files is below what it has by default.
fn fewer_connections(threads: Option<u32>) -> Option<u32> {
    let allowed = u32::try_from(prony_engine::connections_allowed(threads.unwrap_or(1))).unwrap_or(u32::MAX);
    (1..OPEN_CONNECTIONS).contains(&allowed).then_some(allowed)
}

/// All that was typed but the body.
fn options(args: &RunArgs) -> Result<RunOptions, CliError> {
    let HttpArgs { request, retries, connection, wire, checks } = &args.http;
    Ok(RunOptions {
        connections: args.connections.or_else(|| {
            let is_open = args.load.rate.is_some() || args.stages.is_some() || args.arrivals_file.is_some();
            is_open.then(|| fewer_connections(args.load.pace.threads)).flatten()
        }),
        duration: args.duration,
        requests: args.requests,
        rate: args.load.rate,
        stages: args.stages.clone(),
        poisson: args.load.pace.poisson,
        arrivals: args.load.pace.arrivals,
        recorded: args.arrivals_file.as_deref().map(replay::arrivals).transpose()?.map(Box::new),
        replay: None,
        threads: args.load.pace.threads,
        warmup: args.warmup,
        request: self::request(
            request,
            *connection,
            wire.http2,
            &wire.sources,
            checks.expect_status.as_ref(),
        )?,
        drain: args.drain,
        pipeline: connection.pipeline,
        streams: wire.streams,
        driver: driver(wire.means.driver),
        kernel_clock: match wire.means.kernel_clock {
            KernelStamps::Auto => KernelClock::Auto,
            KernelStamps::Off => KernelClock::Off,
        },
        expect_body: expected_body(checks)?,
        expect_same_length: matches!(checks.expect_length, Some(BodyLength::Same)),
        samples: args.samples.is_some(),
        events: args.events,
        scenario: None,
        retries: retries.options(),
        trace: args.trace.options(),
    })
}

fn target(
    url: &str,
    tls: &TlsArgs,
    unix: Option<&Path>,
    connect_to: &[SocketAddr],
) -> Result<Target, CliError> {
    let target = tls.choices().applied_to(Target::parse(url)?)?;
    let mut addresses: Vec<SocketAddr> = Vec::new();
    for address in connect_to {
        if address.port() == 0 {
            return Err(TargetError::PortZero.into());
        }
        if !addresses.contains(address) {
            addresses.push(*address);
        }
    }
    Ok(Target { unix: unix.map(Path::to_owned), connect_to: addresses, ..target })
}

/// The driver that is meant by `typed`.
pub(crate) fn driver(typed: Driver) -> DriverChoice {
    match typed {
        Driver::Auto => DriverChoice::Auto,
        Driver::Epoll => DriverChoice::Epoll,
        Driver::IoUring => DriverChoice::IoUring,
    }
}

/// The request of a run or a probe, but its body.
fn request(
    args: &RequestArgs,
    connection: ConnectionArgs,
    http2: Http2Args,
    sources: &[String],
    statuses: Option<&StatusSet>,
) -> Result<RequestOptions, CliError> {
    Ok(RequestOptions {
        method: args.method.clone(),
        headers: args.headers.iter().map(|header| self::header(header)).collect::<Result<_, _>>()?,
        body: None,
        timeout: args.timeout,
        connect_timeout: args.connect_timeout,
        no_keepalive: connection.no_keepalive,
        http10: connection.http10,
        http2: http2.choice(),
        sources: source_addresses(sources)?,
        expect_status: statuses.cloned(),
    })
}

fn header(typed: &str) -> Result<(String, String), CliError> {
    let wrong = || {
        CliError::usage(format!("`{typed}` is not a header"))
            .hint("write a name, a colon and a value: -H 'Accept: text/html'")
    };
    let (name, value) = typed.split_once(':').ok_or_else(wrong)?;
    let value = value.trim();
    if !is_token(name) || value.chars().any(char::is_control) {
        return Err(wrong());
    }
    Ok((name.to_owned(), value.to_owned()))
}

fn body(args: &RequestArgs) -> Result<Option<Vec<u8>>, CliError> {
    match (&args.body, &args.body_file) {
        (Some(_), Some(_)) => Err(CliError::usage("--body and --body-file are two bodies for one request")
            .hint("leave out one of them")),
        (Some(text), None) => Ok(Some(text.clone().into_bytes())),
        (None, Some(path)) => read(path).map(Some),
        (None, None) => Ok(None),
    }
}

/// The content of `path`, or of stdin for `-`; bounded, for it is held in memory.
fn read(path: &Path) -> Result<Vec<u8>, CliError> {
    let unreadable = |error: &std::io::Error| {
        CliError::usage(format!("can't read the body from {} ({error})", path.display()))
            .hint("nothing was sent: name a file that can be read, or - for stdin")
    };
    let source: Box<dyn std::io::Read> = if path == Path::new("-") {
        Box::new(std::io::stdin().lock())
    } else {
        Box::new(std::fs::File::open(path).map_err(|error| unreadable(&error))?)
    };
    let mut bytes = Vec::new();
    source.take(BODY_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(|error| unreadable(&error))?;
    if bytes.len() as u64 > BODY_BYTES_MAX {
        return Err(CliError::usage(format!("{} is larger than 64 MiB", path.display()))
            .hint("a body is kept in memory and in the result: use a smaller one"));
    }
    Ok(bytes)
}

fn expected_body(args: &CheckArgs) -> Result<Option<BodyCheck>, CliError> {
    match (&args.expect_body, &args.expect_body_regex) {
        (Some(_), Some(_)) => {
            Err(CliError::usage("--expect-body and --expect-body-regex both say what the body must be")
                .hint("leave out one of them"))
        }
        (Some(text), None) => Ok(Some(BodyCheck::Exact(text.clone()))),
        (None, pattern) => Ok(pattern.clone().map(BodyCheck::Regex)),
    }
}

fn target_commit(typed: &str) -> Result<String, CliError> {
    let text = typed.trim();
    if text.is_empty() || text.len() > TARGET_COMMIT_BYTES_MAX || text.chars().any(char::is_control) {
        return Err(CliError::usage(format!("`{typed}` does not name what is loaded")).hint(format!(
            "write a commit, a version or a variant on one line of at most {TARGET_COMMIT_BYTES_MAX} bytes"
        )));
    }
    Ok(text.to_owned())
}

/// The distribution that was chosen, where one can be.
pub(crate) fn clock(typed: Option<Clock>, format: Format) -> Result<Clock, CliError> {
    if typed.is_some() && format != Format::Hgrm {
        return Err(CliError::usage("--clock chooses the distribution of -o hgrm")
            .hint("add -o hgrm, or leave out --clock: the other formats have every clock"));
    }
    Ok(typed.unwrap_or_default())
}

#[cfg(test)]
mod tests;
