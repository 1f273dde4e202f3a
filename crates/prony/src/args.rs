//! What was typed: the command line as clap reads it, nothing inferred. [`crate::resolve`] says what it means.

mod ab;
mod agent;
mod calibrate;
mod capacity;
mod compare;
mod egress;
mod errors;
mod exec;
mod express;
mod fleet;
mod import;
mod k8s;
mod lab;
mod overload;
mod postgres;
mod probe;
mod push;
mod replay;
mod report;
mod run;
mod serve;
mod shared;
mod study;
mod supervise;
mod thresholds;
mod truth;
mod wrk;

use std::ffi::OsString;

use clap::builder::styling::{AnsiColor, Styles};
use clap::error::{ContextKind, ContextValue};
use clap::{ArgAction, CommandFactory, FromArgMatches, Parser, Subcommand};
use prony_model::{Problem, nearest, parse_count_u32};

pub(crate) use ab::AbArgs;
pub(crate) use agent::{AgentAction, AgentArgs, AgentServeArgs, NatsConfigArgs, ResultsArgs};
pub(crate) use calibrate::CalibrateArgs;
pub(crate) use capacity::{CapacityArgs, CapacityFormat};
pub(crate) use compare::CompareArgs;
pub(crate) use egress::EgressArgs;
pub(crate) use exec::{ALL_FAILURES, ExecArgs};
pub(crate) use express::{ExpressArgs, StartPostgres};
pub(crate) use fleet::{BrokerArgs, FleetArgs, LeadArgs};
pub(crate) use import::{ImportArgs, ImportFormat};
pub(crate) use k8s::{K8sArgs, K8sLeadArgs, K8sResultArgs};
pub(crate) use lab::{
    LabAction, LabAgentsArgs, LabArgs, LabAuditArgs, LabCheckArgs, LabClearCachesArgs, LabCopyArgs,
    LabGateArgs, LabLoginArgs, LabLogoutArgs, LabPlaceArgs, LabPolicyArgs, LabSearchArgs, LabSecretArgs,
    LabServeArgs, LabStopAllArgs, LabSubmitArgs, LabThereArgs, LabTokenArgs, LabUserArgs, LabWaitArgs,
    PolicyAction, SearchFormat, SecretAction, TokenAction, UserAction,
};
pub(crate) use overload::{Clients, OverloadArgs};
pub(crate) use postgres::PostgresArgs;
pub(crate) use probe::ProbeArgs;
pub(crate) use push::{PushArgs, PushHistograms};
pub(crate) use replay::ReplayArgs;
pub(crate) use report::ReportArgs;
pub(crate) use run::{Format, PageFormat, RunArgs, StudyFormat};
pub(crate) use serve::{
    BottleneckArgs, DashboardArgs, ExampleLabArgs, KvArgs, ListenArgs, LogTo, Model, NullArgs, QueueArgs,
    RudyArgs, ServeArgs, ServeTlsArgs, Served, WhenFull,
};
pub(crate) use shared::{
    BodyLength, CheckArgs, ConnectionArgs, Driver, Http2Args, HttpArgs, KernelStamps, LoadArgs, PaceArgs,
    RequestArgs, TlsArgs, WireArgs,
};
pub(crate) use study::StudyArgs;
pub(crate) use supervise::SuperviseArgs;
pub(crate) use thresholds::ThresholdArgs;
pub(crate) use truth::{TruthArgs, TruthLogArgs};
pub(crate) use wrk::WrkArgs;

use crate::cli_error::CliError;
use crate::exit::{self, Exit};

/// Everything that can be typed.
#[derive(Debug, Parser)]
#[command(
    name = "prony",
    version = env!("PRONY_VERSION"),
    about = "Puts a known load on a web server and says what the server really delivers",
    override_usage = "prony [OPTIONS] <URL>, or prony <COMMAND> …",
    after_help = "Examples:\n  \
                  prony http://127.0.0.1:3000/                            as much as it takes\n  \
                  prony http://127.0.0.1:3000/ --rate 500 --duration 30s  as much as you say\n  \
                  prony demo                                              without a server",
    help_template = "{about}\nUsage: {usage}\nCommands:\n{subcommands}\nOptions:\n{options}{after-help}",
    styles = STYLES,
    max_term_width = 80,
    disable_help_flag = true,
    disable_help_subcommand = true,
    disable_version_flag = true,
    arg_required_else_help = true
)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    /// Print this help; `prony COMMAND --help` for a command
    #[arg(short, long, global = true, action = ArgAction::HelpShort, display_order = 100)]
    help: Option<bool>,
    /// Print every option, and the exit codes
    #[arg(long, global = true, action = ArgAction::HelpLong, display_order = 101)]
    help_all: Option<bool>,
    /// Print the version and the commit it was built from
    #[arg(short = 'V', long, action = ArgAction::Version, display_order = 102, hide_short_help = true)]
    version: Option<bool>,
}

/// Bold words without colour: colour is for verdicts.
const STYLES: Styles =
    Styles::plain().header(AnsiColor::White.on_default().bold()).usage(AnsiColor::White.on_default().bold());

/// What is to be done.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Load a server and report (the default: `prony URL`)
    #[command(after_help = RUN_EXAMPLES, after_long_help = run_details())]
    Run(Box<RunArgs>),
    /// Send one request and say where its time went
    #[command(after_help = PROBE_EXAMPLES)]
    Probe(Box<ProbeArgs>),
    /// Load two servers in turn, and say which is faster
    #[command(after_help = compare::EXAMPLES, after_long_help = compare_details())]
    Compare(Box<CompareArgs>),
    /// Find the highest rate that a server carries
    #[command(after_help = capacity::EXAMPLES, after_long_help = capacity_details())]
    Capacity(Box<CapacityArgs>),
    /// Overload a server for a while, and see whether it comes back
    #[command(after_help = overload::EXAMPLES, after_long_help = overload_details())]
    Overload(Box<OverloadArgs>),
    /// Send the requests of an access log or a HAR file again
    #[command(after_help = replay::EXAMPLES)]
    Replay(Box<ReplayArgs>),
    /// Time commands in turn, and say which is faster
    #[command(after_help = exec::EXAMPLES, after_long_help = exec_details())]
    Exec(Box<ExecArgs>),
    /// Run a study file and write its report
    #[command(after_help = study::EXAMPLES)]
    Study(StudyArgs),
    /// Make a scenario of a Hurl, Postman or OpenAPI file
    #[command(after_help = import::EXAMPLES)]
    Import(ImportArgs),
    /// Print stored results again, in any format
    #[command(after_help = report::EXAMPLES)]
    Report(ReportArgs),
    /// Start the lab: builds, measurements, history, in a browser
    #[command(after_help = lab::EXAMPLES)]
    Lab(Box<LabArgs>),
    /// Join other machines in loading a server: `prony run --agents`
    #[command(after_help = agent::EXAMPLES)]
    Agent(Box<AgentArgs>),
    /// Start a reference server to test against
    Serve(ServeArgs),
    /// Print the log of `prony serve truth` as CSV
    #[command(hide = true)]
    TruthLog(TruthLogArgs),
    /// Measure what this machine can do as a client
    Calibrate(Box<CalibrateArgs>),
    /// Load a slow and a fast server, and explain the difference
    Demo(DemoArgs),
    /// Check on this machine that what prony reports is right
    SelfTest(SelfTestArgs),
    /// Load a server with the flags of ab, and report as ab does
    Ab(Box<AbArgs>),
    /// Load a server with the flags of wrk, and report as wrk does
    Wrk(WrkArgs),
    /// Explain a finding, or the language of thresholds
    Explain(ExplainArgs),
    /// Print completions for a shell
    #[command(hide = true)]
    Completions(CompletionsArgs),
    /// Print the manual page, for man -l -
    #[command(hide = true)]
    Man,
    /// Start a command and see to it that nothing is left of it
    #[command(hide = true)]
    Supervise(SuperviseArgs),
    /// End a command that is being timed should prony be killed: prony calls this itself
    #[command(hide = true)]
    Watchdog,
    /// Run a command whose way out is a proxy: the lab calls this in a sandbox
    #[command(hide = true)]
    Egress(EgressArgs),
    /// Lead the run of a bundle of `prony run --k8s`, in its pod
    #[command(hide = true)]
    K8sLead(Box<K8sLeadArgs>),
    /// Hand out the result of such a run
    #[command(hide = true)]
    K8sResult(K8sResultArgs),
    /// Help or the version was asked for and is printed.
    #[command(skip)]
    Shown(Exit),
}

/// `prony self-test`
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  prony self-test\n  prony self-test --duration 10s")]
pub(crate) struct SelfTestArgs {
    /// Load each of the eight servers about this long
    #[arg(short, long, value_name = "TIME", default_value = "3s", value_parser = prony_model::parse_duration)]
    pub(crate) duration: std::time::Duration,
    /// No progress line
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

/// `prony demo`
#[derive(Debug, clap::Args)]
pub(crate) struct DemoArgs {
    /// Measure each of the two servers this long
    #[arg(short, long, value_name = "TIME", default_value = "5s", value_parser = prony_model::parse_duration)]
    pub(crate) duration: std::time::Duration,
    /// Connections
    #[arg(short, long, value_name = "N", default_value = "8", value_parser = parse_count_u32)]
    pub(crate) connections: u32,
}

/// `prony explain`
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  prony explain\n  prony explain run-queue-wait\n  prony explain thresholds"
)]
pub(crate) struct ExplainArgs {
    /// The finding's code, as a report names it, or `thresholds` [default: a list of all]
    #[arg(value_name = "CODE")]
    pub(crate) code: Option<String>,
}

/// `prony completions`
#[derive(Debug, clap::Args)]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_name = "SHELL")]
    pub(crate) shell: clap_complete::Shell,
}

const RUN_EXAMPLES: &str = "\
Examples:
  prony http://127.0.0.1:3000/
  prony http://127.0.0.1:3000/ --rate 500 --duration 30s --json result.json
  prony http://127.0.0.1:3000/key -b value -H 'Content-Type: text/plain' -n 10k";

const PROBE_EXAMPLES: &str = "\
Examples:
  prony probe http://127.0.0.1:3000/
  prony probe http://127.0.0.1:3000/ --count 20 --reuse --json probe.json
  prony probe http://127.0.0.1:3000/ --save-body - > page.html";

fn run_details() -> String {
    format!(
        "{RUN_EXAMPLES}\n\n\
         Quantities: 10s, 250ms, 1m30s, 2h; 500, 2.5k, 10M; rates are per second or 600/min.\n\
         A rate is the total over all connections and threads.\n\
         No Content-Type is sent with a body unless --header names one.\n\
         Load that leaves this machine is named in the report: load only servers that are yours to load.\n\n\
         {}",
        exit::TABLE
    )
}

fn compare_details() -> String {
    format!(
        "{}\n\n\
         Both servers are loaded in blocks of 200 ms or more, in pairs of random order. The verdict is based on the differences \
         within pairs. One metric is primary; the others are corrected for multiple comparisons. --fail-if tests the \
         whole interval: slower:5% holds if B is slower by at least 5 % with 95 % confidence.\n\n{}",
        compare::EXAMPLES,
        exit::TABLE
    )
}

fn capacity_details() -> String {
    format!(
        "{}\n\n\
         Trials of rising and falling rates narrow the capacity down to 2 %; both bounds are decided by up to five trials \
         (RFC 9971), and a long one at 95 % confirms the lower. A trial that the client or the machine spoiled is void. The \
         exit code is 1 where --peak lies above the bounds, or where not even --from is carried.\n\n{}",
        capacity::EXAMPLES,
        exit::TABLE
    )
}

fn overload_details() -> String {
    format!(
        "{}\n\n\
         A rate that the server carries, a pulse of more, and the rate again, without a gap: once with clients that send \
         nothing again, once with clients that retry. It has recovered from the first moment from which on requests are as \
         good as before. The exit code is 1 where it does not, or where the rate before the pulse is too much.\n\n{}",
        overload::EXAMPLES,
        exit::TABLE
    )
}

fn exec_details() -> String {
    format!(
        "{}\n\n\
         The flags are hyperfine's, where hyperfine has them. What differs: commands take turns in rounds of random order, \
         runs are compared in pairs, and the start of the program is timed separately. Processes that a measured \
         command leaves behind are ended with it; --setup may start a server.\n\n{}",
        exec::EXAMPLES,
        exit::TABLE
    )
}

/// The command line for completions and the manual.
pub(crate) fn definition() -> clap::Command {
    Cli::command().after_long_help(exit::TABLE)
}

/// Reads the command line; help and version are printed here.
pub(crate) fn parse(typed: impl Iterator<Item = OsString>) -> Result<Command, CliError> {
    let typed = with_command(typed.collect())?;
    let definition =
        if typed.get(1).is_some_and(|word| word == "--help-all") { with_run_flags() } else { definition() };
    let read = definition.clone().try_get_matches_from(&typed).and_then(|matches| read(&matches));
    match read {
        Ok(Cli { command: Some(command), .. }) => Ok(command),
        Ok(Cli { command: None, .. }) => Err(CliError::usage("no command").hint("see prony --help")),
        Err(error) => errors::show(&error, &errors::Typed::new(definition, &typed)).map(Command::Shown),
    }
}

/// The definition whose long help has the flags of `prony run`, too.
fn with_run_flags() -> clap::Command {
    let definition = definition();
    let run = definition.find_subcommand("run").expect("invariant: there is a command `run`");
    let flags = run.clone().help_template("{options}").max_term_width(80).render_long_help();
    let title = "Options of `prony URL`, which is `prony run URL`:";
    let others = "The options of other commands: prony COMMAND --help-all";
    definition.after_long_help(format!("{title}\n{flags}\n{others}\n\n{}", exit::TABLE))
}

/// Whether `prony serve` takes `words`, in which placeholders may stand; else why not.
pub(crate) fn check_serve(words: &[String]) -> Result<(), Problem> {
    // What is known only when targets run: a port fits wherever an address or a number does.
    let filled = words.iter().map(|word| word.replace("{port}", "1"));
    let words = ["prony", "serve"].into_iter().map(str::to_owned).chain(filled);
    match definition().try_get_matches_from(words) {
        Ok(_) => Ok(()),
        Err(error) if is_about_placeholder(&error) => Ok(()),
        Err(error) => Err(errors::cli_error(
            &error,
            &errors::Typed::new(definition(), &["prony".into(), "serve".into()]),
        )
        .problem()),
    }
}

/// Whether a value is refused that is not known yet.
fn is_about_placeholder(error: &clap::Error) -> bool {
    let value = error.get(ContextKind::InvalidValue);
    matches!(value, Some(ContextValue::String(value)) if value.contains('{'))
}

/// Reads the words, and where it counts, their order.
fn read(matches: &clap::ArgMatches) -> Result<Cli, clap::Error> {
    let mut cli = Cli::from_arg_matches(matches)?;
    if let (Some(Command::Ab(args)), Some(matches)) = (&mut cli.command, matches.subcommand_matches("ab")) {
        args.note_order(matches);
    }
    Ok(cli)
}

/// `prony URL` and `prony --rate 5 URL` are `prony run …`; a mistyped command is not a URL.
fn with_command(mut typed: Vec<OsString>) -> Result<Vec<OsString>, CliError> {
    const OWN: [&str; 5] = ["-h", "--help", "--help-all", "-V", "--version"];
    let Some(first) = typed.get(1).map(|first| first.to_string_lossy().into_owned()) else {
        return Ok(typed);
    };
    let definition = definition();
    let names: Vec<&str> = definition.get_subcommands().map(clap::Command::get_name).collect();
    if names.contains(&first.as_str()) || OWN.contains(&first.as_str()) {
        return Ok(typed);
    }
    let is_word = first.chars().all(|character| character.is_ascii_alphabetic() || character == '-');
    if is_word && !first.starts_with('-') && first != "localhost" {
        if first == "help" {
            // `prony help run` is `prony run --help`.
            typed.remove(1);
            typed.push("--help".into());
            return Ok(typed);
        }
        if let Some(name) = nearest(&first, names.iter().copied()) {
            return Err(CliError::usage(format!("`{first}` is not a command"))
                .hint(format!("is that a URL (then http://{first}/), or did you mean `prony {name}`?")));
        }
    }
    typed.insert(1, "run".into());
    Ok(typed)
}
