//! What is meant by `prony compare`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use prony_model::{ExecPlan, Load, Metric, RunPlan, Target};
use prony_stats::{DEFAULT_MARGIN, DEFAULT_PAIRS, LEAST_PAIRS, Looks};
use prony_study::{ComparisonCondition, LiveComparison, ScenarioFile};

use super::one_machine::{refuse_given, refuse_local_means};
use super::outputs::outputs;
use super::scenario::{check_base, is_file, read as read_scenario};
use super::{plan as run_plan, resolve_exec, target};
use crate::args::{CompareArgs, ExecArgs, HttpArgs, PageFormat, RunArgs, TlsArgs, WireArgs};
use crate::cli_error::CliError;
use crate::output::Destination;

/// As many as a comparison in an hour can have; more would show less than a better experiment.
const PAIRS_MAX: u32 = 1000;
/// A longer block is a run.
const BLOCK_MAX: Duration = Duration::from_mins(1);
/// Shorter blocks measure their own beginning.
const LEAST_BLOCK: Duration = Duration::from_millis(10);

/// A comparison, and what to do with its result.
#[derive(Debug)]
pub(crate) struct ResolvedArgs {
    pub(crate) what: What,
    /// The metric that decides; `None` leaves it to the load.
    pub(crate) primary: Option<Metric>,
    /// 0.02 is 2 %.
    pub(crate) margin: f64,
    pub(crate) fail_if: Vec<ComparisonCondition>,
    pub(crate) format: PageFormat,
    pub(crate) destination: Option<Destination>,
    pub(crate) quiet: bool,
}

/// What is compared.
#[derive(Debug)]
pub(crate) enum What {
    /// Two servers, now.
    Live(Box<Live>),
    /// Results of A and of B.
    Stored { files: [Vec<PathBuf>; 2], force: bool },
    /// The studies in two folders.
    Studies { folders: [PathBuf; 2], force: bool },
    /// Two commands, now.
    Commands(Box<ExecPlan>),
}

/// Two servers that are measured in turn.
#[derive(Debug)]
pub(crate) struct Live {
    pub(crate) comparison: LiveComparison,
    /// Whether blocks are compared with what is known of this machine.
    pub(crate) calibrated: bool,
}

/// What `args` mean. `seed` stands in for one that was not typed.
pub(crate) fn resolve(args: &CompareArgs, seed: u64) -> Result<ResolvedArgs, CliError> {
    let condition = |text: &String| {
        ComparisonCondition::parse(text).map_err(|problem| CliError::from(problem.after("--fail-if ")))
    };
    let fail_if = args.fail_if.iter().map(condition).collect::<Result<Vec<_>, _>>()?;
    let what = what(args, seed)?;
    if args.fleet.agents.is_some() {
        check_agents(args, &what)?;
    }
    let (format, file) = outputs(args.json.as_deref(), "--output", args.output)?;
    let destination = file.map(|path| Destination::prepare("--json", path, args.force)).transpose()?;
    Ok(ResolvedArgs {
        what,
        primary: args.primary,
        margin: args.margin.unwrap_or(DEFAULT_MARGIN),
        fail_if,
        format,
        destination,
        quiet: args.quiet,
    })
}

fn what(args: &CompareArgs, seed: u64) -> Result<What, CliError> {
    let two = || {
        CliError::usage("a comparison needs two sides, A and B")
            .hint("for example: prony compare http://127.0.0.1:3000/ http://127.0.0.1:3001/")
    };
    let typed = [&args.a, &args.b].map(Option::as_deref);
    if let Some(file) = typed.into_iter().flatten().find(|text| is_scenario(text)) {
        return Err(CliError::usage(format!("{file} is a scenario, and two servers are compared"))
            .hint(format!("prony compare http://127.0.0.1:3000/ http://127.0.0.1:3001/ --scenario {file}")));
    }
    let listed = [&args.files_a, &args.files_b];
    let is_file = [0, 1].map(|side| !listed[side].is_empty() || typed[side].is_some_and(names_file));
    match (typed, is_file) {
        ([Some(a), Some(b)], [false, false]) if is_command(a) && is_command(b) => {
            commands(args, a, b, seed).map(|plan| What::Commands(Box::new(plan)))
        }
        ([Some(a), Some(b)], [false, false]) => live(args, a, b, seed).map(|live| What::Live(Box::new(live))),
        _ if args.scenario.is_some() => Err(CliError::usage("--scenario is for two servers, A and B").hint(
            "for example: prony compare http://127.0.0.1:3000/ http://127.0.0.1:3001/ --scenario shop.toml",
        )),
        ([Some(a), Some(b)], [true, true]) if is_study(a) || is_study(b) => {
            if !(is_study(a) && is_study(b)) {
                return Err(CliError::usage("one side is the folder of a study and the other one is not")
                    .hint("name two folders that `prony study` wrote, or results on both sides"));
            }
            Ok(What::Studies { folders: [a, b].map(PathBuf::from), force: args.force })
        }
        (_, [true, true]) => {
            let files = [0, 1].map(|side| match typed[side] {
                Some(file) => vec![PathBuf::from(file)],
                None => listed[side].clone(),
            });
            Ok(What::Stored { files, force: args.force })
        }
        ([Some(_), Some(_)], _) => Err(CliError::usage("one side is a URL and the other one stored results")
            .hint("what was measured at another time says little: name two URLs, or results on both sides")),
        _ => Err(two()),
    }
}

/// Whether `text` means stored results: it is there, or is called like a file or a folder of them.
fn names_file(text: &str) -> bool {
    let path = Path::new(text);
    let is_json = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("json"));
    // `before/` is no host: those have a dot, a port, or the one name that every machine has.
    let first = text.split('/').next().unwrap_or_default();
    let is_folder = text.ends_with('/') && !first.contains(['.', ':']) && first != "localhost";
    !text.contains("://") && (path.exists() || is_json || is_folder)
}

/// Whether `text` means a scenario: it is called like one.
fn is_scenario(text: &str) -> bool {
    let is =
        |wanted: &str| Path::new(text).extension().is_some_and(|found| found.eq_ignore_ascii_case(wanted));
    is_file(text) && !is_command(text) && (is("toml") || is("hurl"))
}

/// Whether `text` means a command: no URL has a space in it.
fn is_command(text: &str) -> bool {
    let first = text.split(' ').next().unwrap_or_default();
    text.contains(' ') && !first.contains("://")
}

/// Both commands as `prony exec` times them, B against A.
fn commands(args: &CompareArgs, a: &str, b: &str, seed: u64) -> Result<ExecPlan, CliError> {
    let loads = [
        ("--connections", args.connections.is_some()),
        ("--rate", args.load.rate.is_some()),
        ("--sequential", args.sequential),
        ("--block", args.block.is_some()),
        ("--scenario", args.scenario.is_some()),
    ];
    if let Some((flag, _)) = loads.into_iter().find(|(_, is_given)| *is_given) {
        return Err(CliError::usage(format!("{flag} is for servers, and these are commands"))
            .hint(format!("leave it out; to time commands: prony exec -- '{a}' '{b}'")));
    }
    let typed = ExecArgs {
        commands: vec![a.to_owned(), b.to_owned()],
        runs: args.pairs,
        reference: Some("1".to_owned()),
        ..ExecArgs::default()
    };
    Ok(resolve_exec(&typed, args.http.wire.means.seed.unwrap_or(seed))?.plan)
}

/// What agents compare is two servers, now, and what is asked for is not about one machine.
fn check_agents(args: &CompareArgs, what: &What) -> Result<(), CliError> {
    if !matches!(what, What::Live(_)) {
        return Err(CliError::usage("--agents load two servers, and these are none")
            .hint("leave it out, or compare two URLs"));
    }
    refuse_given(&[(args.live, "--live")])?;
    refuse_local_means(&args.http.wire)
}

/// Whether `text` is the folder of a study.
fn is_study(text: &str) -> bool {
    Path::new(text).join("schedule.json").is_file()
}

fn live(args: &CompareArgs, a: &str, b: &str, seed: u64) -> Result<Live, CliError> {
    for text in [a, b] {
        if is_command(text) {
            return Err(CliError::usage(format!("`{text}` is a command, and the other side is none"))
                .hint("name two commands, each in quotes, or two URLs"));
        }
    }
    let (other, tls) = sides(args, a, b)?;
    let seed = args.http.wire.means.seed.unwrap_or(seed);
    let scenario = args.scenario.as_deref().map(|file| scenario(file, [a, b])).transpose()?;
    let run = run_args(args, a);
    let of_file = scenario.as_ref().map(|file| file.retries.clone()).unwrap_or_default();
    let retries = run.http.retries.or(of_file);
    let wire = WireArgs { tls, ..run.http.wire };
    let http = HttpArgs { retries, wire, ..run.http };
    let scenario = scenario.map(|file| Box::new(file.scenario));
    let plan = run_plan(&RunArgs { http, ..run }, None, scenario, seed)?;
    if args.primary == Some(Metric::Rate) && matches!(plan.load, Load::Open { .. }) {
        return Err(CliError::usage("with --rate both sides have the same rate: it can't be what decides")
            .hint("name a response time, such as --primary p50, or leave out --rate"));
    }
    let pairs = args.pairs.unwrap_or_else(|| u32::try_from(DEFAULT_PAIRS).unwrap_or(PAIRS_MAX));
    if (pairs as usize) < LEAST_PAIRS || pairs > PAIRS_MAX {
        return Err(CliError::usage(format!("{pairs} pairs can't be compared"))
            .hint(format!("use --pairs {LEAST_PAIRS} to {PAIRS_MAX}: fewer can't exclude anything")));
    }
    if let Some(block) = args.block.filter(|block| !(LEAST_BLOCK..=BLOCK_MAX).contains(block)) {
        return Err(CliError::usage(format!("{} ms is no length for a block", block.as_millis()))
            .hint("use --block 200ms; 10 ms at least and 60 s at most"));
    }
    let second = RunPlan { target: other, ..plan.clone() };
    let comparison = LiveComparison {
        plans: [plan, second],
        pairs: if args.sequential {
            prony_stats::LOOKS[prony_stats::LOOKS.len() - 1]
        } else {
            pairs as usize
        },
        looks: if args.sequential { Looks::Sequential } else { Looks::Once },
        block: args.block,
        is_drain_given: args.drain.is_some(),
        seed,
    };
    Ok(Live { comparison, calibrated: !args.no_calibration })
}

/// The sessions of `file`, on the servers at both `bases`.
fn scenario(file: &str, bases: [&str; 2]) -> Result<ScenarioFile, CliError> {
    bases.into_iter().try_for_each(check_base)?;
    read_scenario(file, &[])
}

/// The candidate, and TLS of the baseline: what was asked for goes to those sides that are https.
fn sides(args: &CompareArgs, a: &str, b: &str) -> Result<(Target, TlsArgs), CliError> {
    let is_https = [a, b].map(|url| Target::parse(url).is_ok_and(|target| target.tls.is_some()));
    let of = |side: usize| match is_https {
        [false, true] | [true, false] if !is_https[side] => TlsArgs::default(),
        _ => args.http.wire.tls.clone(),
    };
    Ok((target(b, &of(1), None, &[])?, of(0)))
}

/// The same load as `prony run` would put on `url`.
fn run_args(args: &CompareArgs, url: &str) -> RunArgs {
    RunArgs {
        url: Some(url.to_owned()),
        connections: args.connections,
        load: args.load,
        warmup: args.warmup,
        http: args.http.clone(),
        drain: args.drain,
        trace: args.trace.clone(),
        ..RunArgs::default()
    }
}

#[cfg(test)]
mod tests {
    use prony_model::AgentChoice;

    use super::*;

    fn args() -> CompareArgs {
        let url = |port: u16| Some(format!("http://127.0.0.1:{port}/"));
        CompareArgs { a: url(3000), b: url(3001), ..CompareArgs::default() }
    }

    fn with_tls(tls: &TlsArgs) -> HttpArgs {
        HttpArgs { wire: WireArgs { tls: tls.clone(), ..WireArgs::default() }, ..HttpArgs::default() }
    }

    fn refused(args: &CompareArgs, expected: &str) {
        let text = resolve(args, 7).expect_err("it can't be done").text();
        assert!(text.contains(expected), "{text}");
    }

    #[test]
    fn both_sides_get_the_same_load() {
        let resolved = resolve(&CompareArgs { connections: Some(8), ..args() }, 7).expect("a comparison");
        let What::Live(live) = resolved.what else { panic!("two URLs") };
        let LiveComparison { plans: [a, b], seed, pairs, .. } = &live.comparison;
        assert_eq!((a.target.port, b.target.port, *seed, *pairs), (3000, 3001, 7, 20));
        assert_eq!(RunPlan { target: b.target.clone(), ..a.clone() }, *b);
        assert!((resolved.margin - 0.02).abs() < 1e-12);
    }

    #[test]
    fn both_sides_are_reached_as_was_asked_for_if_they_are_https() {
        let tls = TlsArgs { insecure: true, ..TlsArgs::default() };
        let insecure = |sides: [&str; 2]| {
            let [a, b] = sides.map(|scheme| Some(format!("{scheme}://127.0.0.1:3000/")));
            let args = CompareArgs { a, b, http: with_tls(&tls), ..CompareArgs::default() };
            let What::Live(live) = resolve(&args, 7).expect("a comparison").what else { panic!("two URLs") };
            live.comparison.plans.map(|plan| plan.target.tls.map(|tls| tls.insecure))
        };
        assert_eq!(insecure(["https", "https"]), [Some(true), Some(true)]);
        assert_eq!(insecure(["http", "https"]), [None, Some(true)]);
        assert_eq!(insecure(["https", "http"]), [Some(true), None]);
        refused(&CompareArgs { http: with_tls(&tls), ..args() }, "--insecure is for https");
    }

    #[test]
    fn a_sequential_comparison_may_take_all_looks() {
        let sequential = CompareArgs { sequential: true, ..args() };
        let What::Live(live) = resolve(&sequential, 7).expect("a comparison").what else {
            panic!("two URLs")
        };
        assert_eq!((live.comparison.looks, live.comparison.pairs), (Looks::Sequential, 40));
    }

    #[test]
    fn contradictions() {
        let rate = prony_model::Rate::per_second(100.0);
        refused(&CompareArgs { b: None, ..args() }, "two sides");
        refused(&CompareArgs { b: Some("after.json".to_owned()), ..args() }, "the other one stored results");
        refused(&CompareArgs { a: Some("sleep 1".to_owned()), ..args() }, "name two commands");
        let two = CompareArgs { a: Some("sleep 1".to_owned()), b: Some("sleep 2".to_owned()), ..args() };
        refused(&CompareArgs { sequential: true, ..two }, "--sequential is for servers");
        refused(&CompareArgs { pairs: Some(5), ..args() }, "5 pairs");
        refused(&CompareArgs { block: Some(Duration::from_millis(1)), ..args() }, "--block 200ms");
        refused(&CompareArgs { a: Some("shop.toml".to_owned()), ..args() }, "--scenario shop.toml");
        let scenario = Some("missing.toml".to_owned());
        refused(
            &CompareArgs { scenario: scenario.clone(), ..args() },
            "can't read the scenario missing.toml",
        );
        let [a, b] = ["a.json", "b.json"].map(|file| Some(file.to_owned()));
        refused(&CompareArgs { a, b, scenario, ..args() }, "--scenario is for two servers");
        let mut open = CompareArgs { primary: Some(Metric::Rate), ..args() };
        open.load.rate = rate;
        refused(&open, "the same rate");
        let mut agents = CompareArgs { live: true, ..args() };
        agents.fleet.agents = AgentChoice::parse("a,b").ok();
        refused(&agents, "--live does not work with --agents");
        let [cert, key] = ["a.pem", "a.key"].map(|file| Some(file.into()));
        let http = with_tls(&TlsArgs { cert, key, ..TlsArgs::default() });
        let [a, b] = ["https://127.0.0.1:3000/", "https://127.0.0.1:3001/"].map(|url| Some(url.to_owned()));
        refused(
            &CompareArgs { a, b, live: false, http, ..agents.clone() },
            "--cert does not work with --agents",
        );
        let [a, b] = ["a.json", "b.json"].map(|file| Some(file.to_owned()));
        refused(&CompareArgs { a, b, live: false, ..agents }, "--agents load two servers");
        refused(&CompareArgs { fail_if: vec!["slow".to_owned()], ..args() }, "slower:5%");
    }
}
