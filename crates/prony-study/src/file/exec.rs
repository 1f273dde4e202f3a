//! Loads that are commands, as `prony exec` times them.

use std::path::Path;

use prony_model::{
    ExecCommand, ExecOptions, ExecOrder, ExecOutput, ExecPlan, ExpectedExits, StartUpSource, StartUpTry,
};

use super::keys::{ExecKeys, IgnoredFailures, OutputKey};
use super::load::{Done, refused};
use super::mistake::Mistakes;
use super::template::plain;
use super::tree::Section;
use super::{Host, format};
use crate::study::CellLoad;

/// What a load of kind exec does; its texts stay templates.
pub(super) fn exec(
    section: &Section<'_>,
    folder: &Path,
    host: &Host,
    mistakes: &mut Mistakes,
) -> Option<Done> {
    let keys: ExecKeys = section.read(mistakes)?;
    let Some(written) = &keys.command else {
        mistakes.add(section.at(), "this load has no command", "write command = \"…\" below it");
        return None;
    };
    let shell = shell(section, keys.shell.as_deref(), mistakes)?;
    let line = if shell.is_some() { written.clone() } else { direct(section, written, folder, mistakes)? };
    let options = ExecOptions {
        warmup: keys.warmup.map(|count| count.0),
        runs: keys.runs.map(|count| count.0),
        min_runs: keys.min_runs.map(|count| count.0),
        max_runs: keys.max_runs.map(|count| count.0),
        min_time: keys.min_time.map(|length| length.0),
        timeout: keys.timeout.map(|length| length.0),
    };
    if options.runs.is_some() && (options.min_runs, options.max_runs) != (None, None) {
        mistakes.add(
            section.span("runs"),
            "`runs` says exactly how many",
            "leave it out, or `min-runs` and `max-runs`",
        );
        return None;
    }
    let start_up = match keys.startup.as_deref() {
        Some("none") => Vec::new(),
        Some(named) => vec![StartUpTry { line: named.to_owned(), source: StartUpSource::Named }],
        None => (host.start_ups)(&line, shell.is_some()),
    };
    let (good, go_on) = match keys.ignore_failure {
        None => (Vec::new(), false),
        Some(IgnoredFailures::All(all)) => (Vec::new(), all),
        Some(IgnoredFailures::Codes(codes)) => (codes.into_iter().map(i32::from).collect(), false),
    };
    let input = keys.input.map(|input| folder.join(plain(&input)));
    if input.as_ref().is_some_and(|input| !input.exists()) {
        mistakes.add(section.span("input"), "this file does not exist", "paths begin at the study file");
        return None;
    }
    let command = ExecCommand {
        name: plain(written),
        line,
        setup: keys.setup,
        prepare: keys.prepare,
        conclude: keys.conclude,
        cleanup: keys.cleanup,
        start_up,
        ..ExecCommand::default()
    };
    let plan = ExecPlan {
        commands: vec![command],
        shell,
        runs: options.runs(),
        order: ExecOrder::Interleaved,
        reference: None,
        exits: ExpectedExits { good, go_on },
        input,
        output: match keys.output {
            OutputKey::Null => ExecOutput::Null,
            OutputKey::Pipe => ExecOutput::Pipe,
        },
        timeout: options.timeout(),
        seed: 0,
    };
    if let Err(error) = plan.check() {
        return refused(section, error.problem(format::spelled), mistakes);
    }
    let words = format::of_exec(&plan);
    Some((CellLoad::Exec { plan: Box::new(plan) }, words))
}

#[expect(clippy::option_option, reason = "a shell that can't be is something else than no shell")]
fn shell(section: &Section<'_>, typed: Option<&str>, mistakes: &mut Mistakes) -> Option<Option<Vec<String>>> {
    let Some(typed) = typed.filter(|typed| *typed != "none") else { return Some(None) };
    let Some(mut words) = shell_words::split(typed).ok().filter(|words| !words.is_empty()) else {
        let help = "write for example shell = \"bash --norc\"";
        mistakes.add(section.span("shell"), "this is not a program with flags", help);
        return None;
    };
    words.push("-c".to_owned());
    Some(Some(words))
}

/// A line that is started without a shell, with its program's path from the folder of the study.
fn direct(section: &Section<'_>, written: &str, folder: &Path, mistakes: &mut Mistakes) -> Option<String> {
    let words = split(section, "command", written, mistakes)?;
    let program = &words[0];
    if !program.contains('/') || program.contains('{') {
        return Some(written.to_owned());
    }
    let path = folder.join(program);
    if !path.is_file() {
        let help = "paths begin at the study file; build it first, or name a program of PATH";
        mistakes.add(section.span("command"), format!("there is no program {}", path.display()), help);
        return None;
    }
    let quoted = shell_words::quote(&path.to_string_lossy()).into_owned();
    Some(written.trim_start().strip_prefix(program.as_str()).map_or_else(
        // The program is quoted: everything is, once more.
        || {
            shell_words::join(
                std::iter::once(path.to_string_lossy().as_ref()).chain(words[1..].iter().map(String::as_str)),
            )
        },
        |rest| format!("{quoted}{rest}"),
    ))
}

/// The words of a line that no shell sees; at least one.
pub(super) fn split(
    section: &Section<'_>,
    key: &str,
    line: &str,
    mistakes: &mut Mistakes,
) -> Option<Vec<String>> {
    match shell_words::split(line) {
        Ok(words) if !words.is_empty() => Some(words),
        Ok(_) => {
            mistakes.add(section.span(key), "this is not a command", "write a program and its arguments");
            None
        }
        Err(_) => {
            mistakes.add(
                section.span(key),
                "a quote is not closed",
                "close it, or write it as \\\\\" or '\"'",
            );
            None
        }
    }
}
