//! `prony lab submit`, `wait`, `gate` and `search`: requests to a lab from elsewhere.

use prony_lab::model::{Build, BuildId, BuildRequest, SearchResults};
use prony_lab::{Client, ClientError, Gate, GateStep};
use prony_report::clean;

use super::tokens::Tokens;
use crate::args::{LabGateArgs, LabSearchArgs, LabSubmitArgs, LabThereArgs, LabWaitArgs, SearchFormat};
use crate::cli_error::CliError;
use crate::exit::Exit;
use crate::output;

/// Digits of a commit in a line of text.
const SHORT_COMMIT: usize = 10;
/// Where a lab is by default.
const HERE: &str = "http://127.0.0.1:3000";

/// Requests a build, and prints its number.
pub(super) fn submit(args: &LabSubmitArgs) -> Result<Exit, CliError> {
    let client = client(&args.there)?;
    let request = BuildRequest {
        project: args.project.clone(),
        reference: args.reference.clone(),
        base: args.base.clone(),
        variant: args.variant.clone(),
        tests: args.tasks.clone(),
        email: args.email.clone(),
        priority: args.priority.clone(),
    };
    let made = client.submit(&request).map_err(|error| cli_error(&error))?;
    output::write_stderr(&format!("{}\n", client.page(made.build.id)));
    output::print(&format!("{}\n", made.build.id))?;
    Ok(Exit::Good)
}

/// Waits until a build is over; what became of it is on stdout.
pub(super) fn wait(args: &LabWaitArgs) -> Result<Exit, CliError> {
    let client = client(&args.there)?;
    let build = client.wait(BuildId(args.build), args.timeout, print_state);
    output::print(&format!("{}\n", line(&build.map_err(|error| cli_error(&error))?)))?;
    Ok(Exit::Good)
}

/// The same, and ends with the outcome of the build, or with that of builds that repeat it.
pub(super) fn gate(args: &LabGateArgs) -> Result<Exit, CliError> {
    let LabWaitArgs { build, timeout, there } = &args.wait;
    let client = client(there)?;
    let mut printed = Ok(());
    let decided = client.gate(BuildId(*build), args.repeats, *timeout, |step| match step {
        GateStep::State(build) => print_state(build),
        GateStep::Ended(build) => keep_first(&mut printed, output::print(&format!("{}\n", line(build)))),
        GateStep::Repeated { build, by, why } => {
            let words = format!("build {build}: repeated as build {by} because {}\n", clean(why));
            keep_first(&mut printed, output::print(&words));
            output::write_stderr(&format!("{}\n", client.page(by)));
        }
        GateStep::NotRepeated { build, why } => {
            output::write_stderr(&format!("build {build}: not repeated: {}\n", clean(why)));
        }
    });
    let decided = decided.map_err(|error| cli_error(&error))?;
    printed?;
    Ok(match decided {
        Gate::Open => Exit::Good,
        Gate::Undecided if args.strict => Exit::Invalid,
        Gate::Undecided => {
            output::write_stderr(
                "that says nothing against the commit, and nothing for it; with --strict it ends with 3\n",
            );
            Exit::Good
        }
        Gate::Missed => Exit::ThresholdMissed,
        Gate::Invalid => Exit::Invalid,
        Gate::Failed => Exit::TargetFailed,
    })
}

/// Prints what a lab finds.
pub(super) fn search(args: &LabSearchArgs) -> Result<Exit, CliError> {
    let client = client(&args.there)?;
    let words = args.words.join(" ");
    let found =
        client.search(&words, args.before.map(BuildId), args.limit).map_err(|error| cli_error(&error))?;
    if args.output == SearchFormat::Json {
        let text = serde_json::to_string_pretty(&found)
            .map_err(|error| CliError::internal(format!("can't write the answer ({error})")))?;
        output::print(&format!("{text}\n"))?;
        return Ok(Exit::Good);
    }
    output::print(&found_lines(&found))?;
    if found.is_empty() {
        output::write_stderr("nothing was found\n");
    }
    if let Some(next) = found.next {
        let why = if found.is_stopped {
            format!("the search stopped after {} builds", found.looked_at)
        } else {
            "there are more".to_owned()
        };
        output::write_stderr(&format!("{why}; for older builds add --before {next}\n"));
    }
    Ok(Exit::Good)
}

/// What was found, a line for each: `build 12  completed, slower  web  main  3f2a9c1d20  Ann Lee: Use less memory`.
fn found_lines(found: &SearchResults) -> String {
    let mut lines = String::new();
    let mut line = |parts: &[String]| {
        lines += &parts.join("  ");
        lines.push('\n');
    };
    for project in &found.projects {
        let title = Some(clean(&project.title)).filter(|title| !title.is_empty());
        line(&[vec![format!("project {}", clean(&project.name))], title.into_iter().collect()].concat());
    }
    for branch in &found.branches {
        line(&[format!("branch {}", clean(branch))]);
    }
    for monitor in &found.monitors {
        line(&[format!("monitor {}", clean(&monitor.name))]);
    }
    for user in &found.users {
        line(&[format!("user {}", clean(user))]);
    }
    for build in &found.items {
        line(&found_build(build));
    }
    lines
}

fn found_build(build: &Build) -> Vec<String> {
    let verdict = build.verdict.map(|verdict| format!(", {}", verdict.name().replace('-', " ")));
    let mut parts = vec![
        format!("build {}", build.id),
        format!("{}{}", build.state.name(), verdict.unwrap_or_default()),
        clean(build.project_name.as_deref().unwrap_or("load")),
        clean(&build.reference),
    ];
    parts.extend(
        build.commit.as_ref().map(|commit| clean(&commit.chars().take(SHORT_COMMIT).collect::<String>())),
    );
    let commit = [build.commit_author.as_deref(), build.commit_subject.as_deref()];
    let commit: Vec<String> = commit.into_iter().flatten().map(clean).collect();
    if !commit.is_empty() {
        parts.push(commit.join(": "));
    }
    parts
}

fn print_state(build: &Build) {
    if !build.state.is_final() {
        output::write_stderr(&format!("build {}: {}\n", build.id, build.state.name()));
    }
}

/// Keeps the first error of several.
fn keep_first<E>(kept: &mut Result<(), E>, new: Result<(), E>) {
    if kept.is_ok() {
        *kept = new;
    }
}

/// `build 7: completed, no difference`, in a line.
fn line(build: &Build) -> String {
    let verdict = build.verdict.map(|verdict| format!(", {}", verdict.name().replace('-', " ")));
    let reason = build.reason.as_deref().map(|reason| format!(" ({})", clean(reason)));
    format!(
        "build {}: {}{}{}",
        build.id,
        build.state.name(),
        verdict.unwrap_or_default(),
        reason.unwrap_or_default()
    )
}

/// A client with the token of `PRONY_LAB_TOKEN`, or that of the last login at the lab.
fn client(there: &LabThereArgs) -> Result<Client, CliError> {
    let address = address(there.lab.as_deref())?;
    let token = match set("PRONY_LAB_TOKEN") {
        Some(token) => Some(token),
        None => Tokens::read()?.of(&address).map(str::to_owned),
    };
    let token = token.ok_or_else(|| {
        CliError::usage(format!("there is no token for the lab at {address}")).hint(format!(
            "log in: prony lab login {address}; in CI, set PRONY_LAB_TOKEN to a token of the page /account"
        ))
    })?;
    Client::new(&address, &token).map_err(|error| cli_error(&error))
}

/// The address of the lab that is meant, without a slash at its end.
pub(super) fn address(given: Option<&str>) -> Result<String, CliError> {
    let text = given.map(str::to_owned).or_else(|| set("PRONY_LAB")).unwrap_or_else(|| HERE.to_owned());
    Client::address(&text).map_err(|error| cli_error(&error))
}

fn set(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|text| !text.is_empty())
}

pub(super) fn cli_error(error: &ClientError) -> CliError {
    match error {
        ClientError::Refused { status: ..500, .. } => CliError::usage(error.to_string()),
        ClientError::Refused { .. }
        | ClientError::TimedOut { .. }
        | ClientError::Unreachable { .. }
        | ClientError::Foreign { .. } => CliError::target_failed(error.to_string()),
        _ => error.problem().into(),
    }
}
