//! A scenario in the place of a URL: its file, and the server that its paths are on.

use std::io::Read as _;
use std::path::Path;

use prony_model::Scenario;
use prony_study::ScenarioFile;

use crate::args::{HttpArgs, RunArgs};
use crate::cli_error::CliError;
use crate::{imports, mistakes, output, terminal};

/// Read of a scenario file at most; the reader of the file refuses what is larger than it allows.
const FILE_BYTES_MAX: u64 = 2 << 20;

/// `args` with the scenario's server as their URL, and the scenario; as they are where they have none.
pub(super) fn with_scenario(args: RunArgs) -> Result<(RunArgs, Option<Box<Scenario>>), CliError> {
    let Some(path) = args.url.clone().filter(|typed| is_file(typed)) else {
        if args.base.is_some() {
            return Err(CliError::usage(
                "--base is where the paths of a scenario begin, and there is no scenario",
            )
            .hint("leave it out, or name a file: prony run shop.toml --base http://127.0.0.1:3000"));
        }
        refuse_variables(&args)?;
        return Ok((args, None));
    };
    if !imports::is_foreign(Path::new(&path)) {
        refuse_variables(&args)?;
    }
    let file = read(&path, &args.variables)?;
    let Some(base) = args.base.clone().or(file.base) else {
        return Err(CliError::usage(format!("{path} does not say where its server is"))
            .hint("add --base http://127.0.0.1:3000, or base = \"…\" to the file"));
    };
    check_base(&base)?;
    let http = HttpArgs { retries: args.http.retries.or(file.retries), ..args.http };
    Ok((RunArgs { url: Some(base), http, ..args }, Some(Box::new(file.scenario))))
}

/// The scenario at `path`, in Prony's own words or in those of another tool, which may need `variables`.
pub(super) fn read(path: &str, variables: &[String]) -> Result<ScenarioFile, CliError> {
    let file = Path::new(path);
    let text = if imports::is_foreign(file) { imports::scenario(file, variables)? } else { text(path)? };
    ScenarioFile::read(file, &text).map_err(|error| {
        output::write_stderr(&mistakes::drawn(file, &text, &error, &terminal::error_style()));
        CliError::usage(format!("{path} is not a scenario that can be run"))
            .hint("docs/scenarios.md has every key")
    })
}

/// Refuses a `base` behind which no path can stand.
pub(super) fn check_base(base: &str) -> Result<(), CliError> {
    if base.contains(['?', '#']) {
        return Err(
            CliError::usage(format!("{base} has more than a path")).hint("leave out what follows ? or #")
        );
    }
    Ok(())
}

/// Only files of other tools leave values to the command line.
fn refuse_variables(args: &RunArgs) -> Result<(), CliError> {
    if args.variables.is_empty() {
        return Ok(());
    }
    Err(CliError::usage("--variable is for Hurl files and collections of Postman, and there is none")
        .hint("in a scenario, write it under `variables` of the flow"))
}

/// Whether what was typed names a file, not a server.
pub(super) fn is_file(typed: &str) -> bool {
    let is_toml =
        Path::new(typed).extension().is_some_and(|extension| extension.eq_ignore_ascii_case("toml"));
    !typed.contains("://") && (is_toml || Path::new(typed).is_file())
}

fn text(path: &str) -> Result<String, CliError> {
    let unreadable = |error: std::io::Error| {
        CliError::usage(format!("can't read the scenario {path} ({error})"))
            .hint("name a file that can be read, or a server: prony run http://127.0.0.1:3000/")
    };
    let file = std::fs::File::open(path).map_err(unreadable)?;
    let mut text = String::new();
    file.take(FILE_BYTES_MAX).read_to_string(&mut text).map_err(unreadable)?;
    Ok(text)
}
