//! What is meant: the plan behind what was typed, with every default filled in and every contradiction refused.

use std::io::Read as _;
use std::path::Path;
use std::time::Duration;

use prony_model::{
    Arrivals, Body, BodyCheck, Checks, Clock, DriverChoice, End, KernelClock, Load, RequestPlan, RunPlan,
    Target, Timeouts, Version, source_addresses,
};

use crate::args::{
    BodyLength, CheckArgs, ConnectionArgs, Driver, Format, KernelStamps, RequestArgs, RunArgs,
};
use crate::complaint::Complaint;
use crate::output::Destination;

pub(crate) mod ab;
pub(crate) mod compare;
mod exec;
mod outputs;
mod parameters;
pub(crate) mod probe;
mod program;
pub(crate) mod wrk;

pub(crate) use exec::{Export, MeantExec, meant_exec};
pub(crate) use program::start_ups;

/// Connections in a closed loop, when nobody says how many.
const CONNECTIONS: u32 = 50;
/// Connections at most in an open loop: enough for 1000 requests per second that take a second each.
const OPEN_CONNECTIONS: u32 = 1000;
const DURATION_S: u64 = 10;
const WARMUP_S: u64 = 1;
/// A commit, a version or a variant has a name that people can read.
const MAX_TARGET_COMMIT_BYTES: usize = 200;
/// A body is held in memory and stored in every result.
pub(crate) const MAX_BODY_BYTES: u64 = 64 << 20;

/// A run, and what to do with its result.
#[derive(Debug)]
pub(crate) struct Meant {
    pub(crate) plan: RunPlan,
    /// What the target is, in the words of the person at the keyboard.
    pub(crate) target_commit: Option<String>,
    pub(crate) format: Format,
    /// The distribution for formats of one.
    pub(crate) clock: Clock,
    pub(crate) destination: Option<Destination>,
    pub(crate) samples: Option<Destination>,
    pub(crate) quiet: bool,
}

/// What `args` mean. `seed` stands in for one that was not typed.
pub(crate) fn meant(args: &RunArgs, seed: u64) -> Result<Meant, Complaint> {
    let target_commit = args.target_commit.as_deref().map(target_commit).transpose()?;
    let plan = plan(args, seed)?;
    let (format, file) = outputs::outputs(args.json.as_deref(), "--output", args.output)?;
    let clock = clock(args.clock, format)?;
    if let (Some(path), true) = (&args.samples, args.samples.is_some() && args.samples.as_deref() == file) {
        return Err(Complaint::usage(format!("--json and --samples both want {}", path.display()))
            .hint("give each a file of its own"));
    }
    let destination = file.map(|path| Destination::prepare("--json", path, args.force)).transpose()?;
    let prepare = |path: &Path| Destination::prepare("--samples", path, args.force);
    let samples = args.samples.as_deref().map(prepare).transpose()?;
    Ok(Meant { plan, target_commit, format, clock, destination, samples, quiet: args.quiet })
}

fn plan(args: &RunArgs, seed: u64) -> Result<RunPlan, Complaint> {
    let target = target(&args.url, args.unix.as_deref())?;
    let end = end(args)?;
    let plan = RunPlan {
        target,
        load: load(args, end)?,
        end,
        warmup: args.warmup.unwrap_or(match end {
            // People who ask for a number of requests count them at the server, too.
            End::Requests(_) | End::First { .. } => Duration::ZERO,
            End::Duration(_) => Duration::from_secs(WARMUP_S),
        }),
        threads: args.load.threads.unwrap_or(1),
        timeouts: timeouts(&args.request, args.drain),
        checks: checks(&args.checks)?,
        sources: source_addresses(&args.sources).map_err(|error| Complaint::from_words(&error))?,
        driver: driver(args.means.driver),
        kernel_clock: match args.means.kernel_clock {
            KernelStamps::Auto => KernelClock::Auto,
            KernelStamps::Off => KernelClock::Off,
        },
        samples: args.samples.is_some(),
        seed: args.means.seed.unwrap_or(seed),
        // Last, because it may read stdin: everything that can be refused without it is.
        request: request(&args.request, args.connection)?,
    };
    plan.check().map_err(|error| Complaint::from_words(&error))?;
    Ok(plan)
}

fn target(url: &str, unix: Option<&Path>) -> Result<Target, Complaint> {
    let target = Target::parse(url).map_err(|error| Complaint::from_words(&error))?;
    Ok(Target { unix: unix.map(Path::to_owned), ..target })
}

fn timeouts(args: &RequestArgs, drain: Option<Duration>) -> Timeouts {
    let default = Timeouts::default();
    Timeouts {
        connect: args.connect_timeout.unwrap_or(default.connect),
        request: args.timeout.unwrap_or(default.request),
        drain: drain.unwrap_or(default.drain),
    }
}

/// The driver that is meant by `typed`.
pub(crate) fn driver(typed: Driver) -> DriverChoice {
    match typed {
        Driver::Auto => DriverChoice::Auto,
        Driver::Epoll => DriverChoice::Epoll,
        Driver::IoUring => DriverChoice::IoUring,
    }
}

fn end(args: &RunArgs) -> Result<End, Complaint> {
    match (args.duration, args.requests) {
        (Some(_), Some(_)) => Err(Complaint::usage("--duration and --requests both say when the run ends")
            .hint("leave out one of them")),
        (duration, None) => Ok(End::Duration(duration.unwrap_or(Duration::from_secs(DURATION_S)))),
        (None, Some(requests)) => Ok(End::Requests(requests)),
    }
}

/// A default number of connections bows to a small number of requests; a typed one is refused by the plan.
fn load(args: &RunArgs, end: End) -> Result<Load, Complaint> {
    if let Some(rate_per_s) = args.load.rate {
        let arrivals = if args.load.poisson { Arrivals::Poisson } else { Arrivals::Constant };
        let max_connections = args.connections.unwrap_or(OPEN_CONNECTIONS);
        return Ok(Load::Open { rate_per_s, arrivals, max_connections });
    }
    if args.load.poisson {
        return Err(Complaint::usage("--poisson spreads the requests of a rate, and there is no rate")
            .hint("add one: --rate 500 --poisson"));
    }
    let connections = args.connections.unwrap_or_else(|| match end {
        End::Requests(requests) | End::First { requests, .. } => {
            CONNECTIONS.min(u32::try_from(requests).unwrap_or(CONNECTIONS)).max(1)
        }
        End::Duration(_) => CONNECTIONS,
    });
    Ok(Load::Closed { connections })
}

fn request(args: &RequestArgs, connection: ConnectionArgs) -> Result<RequestPlan, Complaint> {
    let headers = args.headers.iter().map(|header| self::header(header)).collect::<Result<Vec<_>, _>>()?;
    let bytes = body(args)?;
    let method = match &args.method {
        Some(method) if is_token(method) => method.clone(),
        Some(method) => {
            return Err(Complaint::usage(format!("`{method}` is not an HTTP method"))
                .hint("write one word such as GET, POST or DELETE"));
        }
        None if bytes.is_some() => "POST".to_owned(),
        None => "GET".to_owned(),
    };
    Ok(RequestPlan {
        method,
        headers,
        verbatim: false,
        body: Body { bytes: bytes.unwrap_or_default() },
        version: if connection.http10 { Version::Http10 } else { Version::Http11 },
        keep_alive: !connection.no_keepalive,
        pipeline: connection.pipeline.unwrap_or(1),
    })
}

fn header(typed: &str) -> Result<(String, String), Complaint> {
    let wrong = || {
        Complaint::usage(format!("`{typed}` is not a header"))
            .hint("write a name, a colon and a value: -H 'Accept: text/html'")
    };
    let (name, value) = typed.split_once(':').ok_or_else(wrong)?;
    let value = value.trim();
    if !is_token(name) || value.chars().any(char::is_control) {
        return Err(wrong());
    }
    Ok((name.to_owned(), value.to_owned()))
}

/// RFC 9110, section 5.6.2.
fn is_token(text: &str) -> bool {
    let is_token_character = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(is_token_character)
}

fn body(args: &RequestArgs) -> Result<Option<Vec<u8>>, Complaint> {
    match (&args.body, &args.body_file) {
        (Some(_), Some(_)) => Err(Complaint::usage("--body and --body-file are two bodies for one request")
            .hint("leave out one of them")),
        (Some(text), None) => Ok(Some(text.clone().into_bytes())),
        (None, Some(path)) => read(path).map(Some),
        (None, None) => Ok(None),
    }
}

/// The content of `path`, or of stdin for `-`; bounded, for it is held in memory.
fn read(path: &Path) -> Result<Vec<u8>, Complaint> {
    let unreadable = |error: &std::io::Error| {
        Complaint::usage(format!("can't read the body from {} ({error})", path.display()))
            .hint("nothing was sent: name a file that can be read, or - for stdin")
    };
    let source: Box<dyn std::io::Read> = if path == Path::new("-") {
        Box::new(std::io::stdin().lock())
    } else {
        Box::new(std::fs::File::open(path).map_err(|error| unreadable(&error))?)
    };
    let mut bytes = Vec::new();
    source.take(MAX_BODY_BYTES + 1).read_to_end(&mut bytes).map_err(|error| unreadable(&error))?;
    if bytes.len() as u64 > MAX_BODY_BYTES {
        return Err(Complaint::usage(format!("{} is larger than 64 MiB", path.display()))
            .hint("a body is kept in memory and in the result: use a smaller one"));
    }
    Ok(bytes)
}

fn checks(args: &CheckArgs) -> Result<Checks, Complaint> {
    let body = match (&args.expect_body, &args.expect_body_regex) {
        (Some(_), Some(_)) => {
            return Err(Complaint::usage(
                "--expect-body and --expect-body-regex both say what the body must be",
            )
            .hint("leave out one of them"));
        }
        (Some(text), None) => Some(BodyCheck::Exact(text.clone())),
        (None, pattern) => pattern.clone().map(BodyCheck::Regex),
    };
    let same_length = matches!(args.expect_length, Some(BodyLength::Same));
    Ok(Checks { status: args.expect_status.clone().unwrap_or_default(), body, same_length })
}

fn target_commit(typed: &str) -> Result<String, Complaint> {
    let text = typed.trim();
    if text.is_empty() || text.len() > MAX_TARGET_COMMIT_BYTES || text.chars().any(char::is_control) {
        return Err(Complaint::usage(format!("`{typed}` does not name what is loaded")).hint(format!(
            "write a commit, a version or a variant on one line of at most {MAX_TARGET_COMMIT_BYTES} bytes"
        )));
    }
    Ok(text.to_owned())
}

/// The distribution that was chosen, where one can be.
pub(crate) fn clock(typed: Option<Clock>, format: Format) -> Result<Clock, Complaint> {
    if typed.is_some() && format != Format::Hgrm {
        return Err(Complaint::usage("--clock chooses the distribution of -o hgrm")
            .hint("add -o hgrm, or leave out --clock: the other formats have every clock"));
    }
    Ok(typed.unwrap_or_default())
}

#[cfg(test)]
mod tests;
