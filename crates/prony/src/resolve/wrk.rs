//! What the flags of `prony wrk` mean.

use std::time::Duration;

use prony_model::{End, Load, RequestPlan, RunPlan, Target, Timeouts};

use super::header;
use crate::args::WrkArgs;
use crate::cli_error::CliError;

const CONNECTIONS: u64 = 10;
const THREADS: u64 = 2;
const DURATION_S: u64 = 10;
/// wrk's patience with a response.
const TIMEOUT_S: u64 = 2;

/// A run, and how it is reported.
#[derive(Debug)]
pub(crate) struct Wrk {
    pub(crate) plan: RunPlan,
    /// As typed: wrk repeats it so.
    pub(crate) url: String,
    pub(crate) duration: Duration,
    pub(crate) connections: u32,
    pub(crate) latency: bool,
}

/// What `args` mean.
pub(crate) fn wrk(args: &WrkArgs, seed: u64) -> Result<Wrk, CliError> {
    if let Some(script) = &args.script {
        return Err(CliError::usage(format!("-s {script}: prony has no Lua"))
            .hint("a method, a body or headers need no script: prony run URL --method PUT --body … -H …")
            .hint("requests that differ from each other are not supported yet"));
    }
    let url = args.url.clone().unwrap_or_default();
    let target = args.tls.choices().applied_to(Target::parse(&url)?)?;
    let connections = number("-c", args.connections.as_deref(), CONNECTIONS)?;
    let threads = number("-t", args.threads.as_deref(), THREADS)?;
    if connections < threads {
        return Err(CliError::usage(format!("-c {connections} is less than -t {threads}"))
            .hint(format!("every thread needs a connection: use -t {connections} or fewer")));
    }
    let duration = time("-d", args.duration.as_deref(), DURATION_S)?;
    let timeout = time("--timeout", args.timeout.as_deref(), TIMEOUT_S)?;
    let plan = RunPlan {
        request: request(args, &target)?,
        threads,
        timeouts: Timeouts { connect: timeout, request: timeout, ..Timeouts::default() },
        ..RunPlan::new(target, Load::Closed { connections }, End::Duration(duration), seed)
    };
    plan.check()?;
    Ok(Wrk { plan, url, duration, connections, latency: args.latency })
}

/// The request that wrk sends, field for field.
fn request(args: &WrkArgs, target: &Target) -> Result<RequestPlan, CliError> {
    let mut headers = args.headers.iter().map(|typed| header(typed)).collect::<Result<Vec<_>, _>>()?;
    if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
        headers.insert(0, ("Host".to_owned(), target.authority.clone()));
    }
    Ok(RequestPlan { headers, verbatim: true, ..RequestPlan::get() })
}

/// A count above 0, as wrk writes them: `400`, `1k`, `2M`.
fn number(flag: &str, typed: Option<&str>, default: u64) -> Result<u32, CliError> {
    let Some(typed) = typed else { return Ok(u32::try_from(default).unwrap_or(u32::MAX)) };
    let units = [("k", 1_000), ("m", 1_000_000), ("g", 1_000_000_000), ("", 1)];
    scaled(typed, &units)
        .and_then(|number| u32::try_from(number).ok())
        .filter(|number| *number > 0)
        .ok_or_else(|| {
            CliError::usage(format!("{flag} `{typed}` is not a count above 0"))
                .hint(format!("write a whole number such as {flag} 400 or {flag} 1k"))
        })
}

/// A time above 0, as wrk writes them: `30s`, `2m`, `1h`, `30`.
fn time(flag: &str, typed: Option<&str>, default_s: u64) -> Result<Duration, CliError> {
    let units = [("s", 1), ("m", 60), ("h", 3_600), ("", 1)];
    let seconds = typed.map_or(Some(default_s), |typed| scaled(typed, &units));
    seconds.filter(|seconds| *seconds > 0).map(Duration::from_secs).ok_or_else(|| {
        let typed = typed.unwrap_or_default();
        CliError::usage(format!("{flag} `{typed}` is not a time above 0"))
            .hint(format!("write a whole number with a unit: {flag} 30s, {flag} 2m or {flag} 1h"))
    })
}

/// Digits and a unit, in letters of either case.
fn scaled(typed: &str, units: &[(&str, u64)]) -> Option<u64> {
    let typed = typed.trim().to_ascii_lowercase();
    let (digits, factor) =
        units.iter().find_map(|(unit, factor)| Some((typed.strip_suffix(unit)?, *factor)))?;
    digits.parse::<u64>().ok()?.checked_mul(factor)
}
