//! `prony`: the one binary. It turns what was typed into what is meant, has the engine do it, and shows what
//! came out. Printing, environment variables, signals and exit codes live here and nowhere else; nothing is
//! measured here.

mod args;
mod calibration;
mod clock;
mod cmd;
mod commit;
mod cli_error;
mod detect;
mod exit;
mod fleet;
mod imports;
mod lab_key;
mod live;
mod mistakes;
mod resolve;
mod output;
mod progress;
mod push;
mod render;
mod samples;
mod signals;
mod step_summary;
mod terminal;
mod user_folder;

use std::process::ExitCode;

use args::Command;
use cli_error::CliError;

fn main() -> ExitCode {
    let exit = args::parse(std::env::args_os()).and_then(|command| match command {
        Command::Run(args) => cmd::run::run(&args),
        Command::Probe(args) => cmd::probe::probe(&args),
        Command::Compare(args) => cmd::compare::compare(&args),
        Command::Capacity(args) => cmd::capacity::capacity(&args),
        Command::Overload(args) => cmd::overload::overload(&args),
        Command::Exec(args) => cmd::exec::exec(&args),
        Command::Replay(args) => cmd::replay::replay(&args),
        Command::Import(args) => cmd::import::import(&args),
        Command::Report(args) => cmd::report::report(&args),
        Command::Study(args) => cmd::study::study(&args),
        Command::Lab(args) => cmd::lab::lab(&args),
        Command::Agent(args) => cmd::agent::agent(&args),
        Command::Serve(args) => cmd::serve::serve(&args),
        Command::TruthLog(args) => cmd::truth_log::truth_log(&args),
        Command::Calibrate(args) => cmd::calibrate::calibrate(&args),
        Command::Demo(args) => cmd::demo::demo(&args),
        Command::SelfTest(args) => cmd::self_test::self_test(&args),
        Command::Ab(args) => cmd::ab::ab(&args),
        Command::Wrk(args) => cmd::wrk::wrk(&args),
        Command::Explain(args) => cmd::explain::explain(&args),
        Command::Completions(args) => cmd::pages::completions(&args),
        Command::Man => cmd::pages::man(),
        Command::Supervise(args) => cmd::supervise::supervise(&args),
        Command::Watchdog => cmd::supervise::watchdog(),
        Command::Egress(args) => cmd::egress::egress(&args),
        Command::K8sLead(args) => cmd::k8s::lead::lead(&args),
        Command::K8sResult(args) => cmd::k8s::result::result(&args),
        Command::Shown(exit) => Ok(exit),
    });
    exit.unwrap_or_else(|cli_error: CliError| cli_error.report()).into()
}
