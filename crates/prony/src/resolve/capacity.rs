//! What is meant by `prony capacity`.

use std::time::Duration;

use prony_model::{Load, Rate, RunPlan};
use prony_study::{CapacityOptions, LiveCapacity, LiveScaling};

use super::outputs::{OnStdout, outputs};
use super::plan as run_plan;
use super::scenario::{check_base, read as read_scenario};
use crate::args::{CapacityArgs, CapacityFormat, LoadArgs, RunArgs};
use crate::cli_error::{CliError, flag};
use crate::output::Destination;

/// Any rate does for a plan whose load is varied.
const ANY_PER_S: f64 = 1.0;

/// A search, and what to do with its result.
#[derive(Debug)]
pub(crate) struct ResolvedArgs {
    pub(crate) what: What,
    /// Whether trials are compared with what is known of this machine.
    pub(crate) calibrated: bool,
    pub(crate) format: CapacityFormat,
    pub(crate) destination: Option<Destination>,
    pub(crate) quiet: bool,
}

/// What is varied.
#[derive(Debug)]
pub(crate) enum What {
    /// The rate, until an objective is missed.
    Rate(Box<LiveCapacity>),
    /// The number of users.
    Users(Box<LiveScaling>),
}

impl OnStdout for CapacityFormat {
    const TEXT: Self = Self::Text;
    const JSON: Self = Self::Json;
}

/// What `args` mean. `seed` stands in for one that was not typed.
pub(crate) fn resolve(args: &CapacityArgs, seed: u64) -> Result<ResolvedArgs, CliError> {
    let options = options(args);
    let (time, _) = options.lengths(flag)?;
    let what = if args.users.is_empty() { rate(args, &options, seed)? } else { users(args, time, seed)? };
    let (format, file) = outputs(args.json.as_deref(), "--output", args.output)?;
    let destination = file.map(|path| Destination::prepare("--json", path, args.force)).transpose()?;
    Ok(ResolvedArgs { what, calibrated: !args.no_calibration, format, destination, quiet: args.quiet })
}

fn options(args: &CapacityArgs) -> CapacityOptions {
    CapacityOptions {
        objectives: args.objectives.clone(),
        errors: args.errors,
        from: args.from,
        to: args.to,
        peak: args.peak,
        trial: args.trial,
        time: args.time,
    }
}

fn rate(args: &CapacityArgs, options: &CapacityOptions, seed: u64) -> Result<What, CliError> {
    if args.objectives.is_empty() {
        return Err(CliError::usage("a capacity needs an objective")
            .hint("say what every request must get: --slo 'response.p99 < 50ms'")
            .hint("or measure how the rate grows with users: --users 1,2,4,8,16,32"));
    }
    let rate = args.from.or(Rate::per_second(ANY_PER_S));
    let load = LoadArgs { rate, pace: args.pace };
    let plan = plan(args, load, args.connections, seed)?;
    Ok(What::Rate(Box::new(options.search(plan, flag)?)))
}

fn users(args: &CapacityArgs, time: Duration, seed: u64) -> Result<What, CliError> {
    let load = LoadArgs { rate: None, pace: args.pace };
    let scaling = LiveScaling {
        plan: plan(args, load, args.users.last().copied(), seed)?,
        users: args.users.clone(),
        peak_per_s: args.peak.map(Rate::as_per_second),
        trial: args.trial,
        time,
    };
    scaling.check().map_err(|problem| CliError::from(problem.after("--users: ")))?;
    Ok(What::Users(Box::new(scaling)))
}

/// The plan of a trial, but for its load and its length.
fn plan(
    args: &CapacityArgs,
    load: LoadArgs,
    connections: Option<u32>,
    seed: u64,
) -> Result<RunPlan, CliError> {
    let scenario = args.scenario.as_deref().map(|file| {
        check_base(&args.url)?;
        Ok::<_, CliError>(Box::new(read_scenario(file, &[])?.scenario))
    });
    let run = RunArgs {
        url: Some(args.url.clone()),
        connections,
        load,
        http: args.http.clone(),
        drain: args.drain,
        ..RunArgs::default()
    };
    let plan = run_plan(&run, None, scenario.transpose()?, seed)?;
    debug_assert!(matches!(plan.load, Load::Open { .. }) == load.rate.is_some());
    Ok(plan)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(objective: &str) -> CapacityArgs {
        let objectives = vec![objective.parse().expect("a threshold")];
        CapacityArgs { url: "http://127.0.0.1:3000/".to_owned(), objectives, ..CapacityArgs::default() }
    }

    fn refused(args: &CapacityArgs, expected: &str) {
        let text = resolve(args, 7).expect_err("it can't be done").text();
        assert!(text.contains(expected), "{text}");
    }

    #[test]
    fn what_is_typed_is_searched() {
        let per_s = |rate| Rate::per_second(rate);
        let typed =
            CapacityArgs { from: per_s(100.0), to: per_s(5000.0), peak: per_s(700.0), ..args("p99 < 50ms") };
        let resolved = resolve(&typed, 7).expect("a search");
        let What::Rate(live) = resolved.what else { panic!("a rate") };
        assert_eq!(
            (live.from_per_s, live.to_per_s, live.peak_per_s),
            (Some(100.0), Some(5000.0), Some(700.0))
        );
        assert_eq!((live.time, live.plan.seed), (Duration::from_mins(10), 7));
        assert_eq!(live.objectives.thresholds[0].to_string(), "response.p99 < 50ms");
    }

    #[test]
    fn users_are_varied_instead() {
        let users = vec![1, 2, 4, 8, 16, 32];
        let typed = CapacityArgs { users, objectives: Vec::new(), ..args("p99 < 1s") };
        let What::Users(scaling) = resolve(&typed, 7).expect("a search").what else { panic!("users") };
        assert!(matches!(scaling.plan.load, Load::Closed { connections: 32 }));
        refused(&CapacityArgs { users: vec![1, 2, 4], ..typed.clone() }, "--users 1,2,4,8,16,32");
        refused(&CapacityArgs { users: vec![1, 2, 4, 4, 8, 16], ..typed.clone() }, "must grow");
        refused(&CapacityArgs { users: vec![0, 1, 2, 4, 8, 16], ..typed }, "must grow");
    }

    #[test]
    fn contradictions() {
        let rate = |rate| Rate::per_second(rate);
        refused(&CapacityArgs { objectives: Vec::new(), ..args("p99 < 1s") }, "needs an objective");
        refused(
            &CapacityArgs { from: rate(10.0), to: rate(10.0), ..args("p99 < 1s") },
            "--from is not below --to",
        );
        refused(&CapacityArgs { time: Some(Duration::from_secs(1)), ..args("p99 < 1s") }, "--time must be");
        refused(
            &CapacityArgs { trial: Some(Duration::from_hours(1)), ..args("p99 < 1s") },
            "--trial must be",
        );
        for wrong in
            ["response.p99 > 50ms", "rate > 100", "verdict == valid", "requests < 5", "success < 99%"]
        {
            refused(&args(wrong), "does not bound what grows worse with the load");
        }
        for good in
            ["service.max < 1s", "errors < 1%", "success > 99%", "server.cpu < 80%", "status.5xx < 1%"]
        {
            assert!(resolve(&args(good), 7).is_ok(), "{good}");
        }
        refused(&CapacityArgs { url: "ftp://x/".to_owned(), ..args("p99 < 1s") }, "ftp");
        refused(
            &CapacityArgs { scenario: Some("missing.toml".to_owned()), ..args("p99 < 1s") },
            "can't read the scenario missing.toml",
        );
    }
}
