//! `prony completions` and `prony man`: made from the same definition as the parser.

use clap::Command;

use crate::args::{self, CompletionsArgs};
use crate::cli_error::CliError;
use crate::exit::Exit;
use crate::output;

/// Prints the completions for a shell.
pub(crate) fn completions(args: &CompletionsArgs) -> Result<Exit, CliError> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut completed(&args::definition()), "prony", &mut script);
    print(&script)
}

/// Prints the manual: prony's page and one section after it for every command.
pub(crate) fn man() -> Result<Exit, CliError> {
    let unwritten = |error: std::io::Error| CliError::internal(format!("can't write the manual ({error})"));
    let mut page = Vec::new();
    let mut definition = unfolded(args::definition());
    definition.build();
    clap_mangen::Man::new(definition.clone()).render(&mut page).map_err(unwritten)?;
    for command in definition.get_subcommands().filter(|command| !command.is_hide_set()) {
        commands(command, &mut page).map_err(unwritten)?;
    }
    print(&page)
}

/// What is completed: no hidden commands, and after `prony URL` the flags of `prony run`.
fn completed(definition: &Command) -> Command {
    let visible = definition.get_subcommands().filter(|command| !command.is_hide_set());
    let run = definition.find_subcommand("run").expect("invariant: there is a command `run`");
    Command::new("prony")
        .version(env!("PRONY_VERSION"))
        .args(definition.get_arguments())
        .args(run.get_arguments())
        .subcommands(visible.cloned())
        .disable_help_flag(true)
        .disable_version_flag(true)
        .disable_help_subcommand(true)
}

/// `definition` with a text for every flag: the manual leaves out those that a short help does.
fn unfolded(definition: Command) -> Command {
    definition.mut_args(|arg| arg.hide_short_help(false)).mut_subcommands(unfolded)
}

/// The sections of one command and those below it.
fn commands(command: &Command, page: &mut Vec<u8>) -> std::io::Result<()> {
    let name = command.get_bin_name().unwrap_or_else(|| command.get_name()).to_uppercase();
    page.extend_from_slice(format!(".SH \"{name}\"\n").as_bytes());
    let man = clap_mangen::Man::new(command.clone());
    man.render_description_section(page)?;
    man.render_synopsis_section(page)?;
    if command.get_arguments().next().is_some() {
        man.render_options_section(page)?;
    }
    for below in command.get_subcommands() {
        commands(below, page)?;
    }
    Ok(())
}

fn print(bytes: &[u8]) -> Result<Exit, CliError> {
    output::print(&String::from_utf8_lossy(bytes))?;
    Ok(Exit::Good)
}
