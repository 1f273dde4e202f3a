//! `prony report`: stored results again, in any format, and the findings on several together.

use std::io::Write as _;

use clap::ValueEnum as _;
use prony_model::{Finding, RunResult};
use prony_report::{Style, capacity, html, junit, markdown, overload, study, text};

use crate::args::{Format, PageFormat, ReportArgs, ThresholdArgs};
use crate::cli_error::CliError;
use crate::exit::Exit;
use crate::render::{AnyResult, Named, render, render_any, render_fleet};
use crate::resolve::clock;
use crate::{output, terminal};

pub(in crate::cmd) mod read;
mod together;

use read::Stored;

/// Prints the results of all files, or, if one of them is bad, nothing but why.
pub(crate) fn report(args: &ReportArgs) -> Result<Exit, CliError> {
    let format = args.output.unwrap_or(Format::Text);
    let clock = clock(args.clock, format)?;
    if format == Format::Html {
        return page(args);
    }
    if format == Format::K6Summary && args.files.len() > 1 {
        return Err(CliError::usage("-o k6-summary is of one run, and there are several files")
            .hint("print them one by one"));
    }
    if format == Format::Hgrm && args.files.len() > 1 {
        return Err(CliError::usage("-o hgrm is one distribution, and there are several files")
            .hint("name one of them, or use -o hlog, which holds many"));
    }
    if args.files.iter().filter(|file| read::is_stdin(file)).count() > 1 {
        return Err(CliError::usage("stdin can be read once only").hint("write - once"));
    }
    let mut stored = args.files.iter().map(|file| read::read(file)).collect::<Result<Vec<_>, _>>()?;
    for stored in &stored {
        doubt(stored, args.force)?;
    }
    require(&args.thresholds, &mut stored)?;
    let runs: Vec<Named<'_>> = stored
        .iter()
        .filter_map(|stored| Some(Named { file: &stored.name, result: stored.result.run()? }))
        .collect();
    let is_fleet = |stored: &Stored| matches!(stored.result, AnyResult::Fleet(_));
    let rendered = if let [Stored { name, result: AnyResult::Fleet(fleet) }] = stored.as_slice() {
        render_fleet(name, fleet, format, clock).map_err(|error| CliError::usage(error.to_string()))?
    } else if let (Format::Junit, [AnyResult::Study(study)]) =
        (format, stored.iter().map(|stored| &stored.result).collect::<Vec<_>>().as_slice())
    {
        junit::study(study)
    } else if runs.len() == stored.len() && !stored.iter().any(is_fleet) {
        render(&runs, format, clock).map_err(|error| CliError::usage(error.to_string()))?
    } else {
        let results: Vec<_> = stored.iter().map(|stored| (stored.name.as_str(), &stored.result)).collect();
        render_any(&results, page_format(format)?)
    };
    let findings = together::findings(&runs);
    output::print(&(rendered + &beside(&findings, format)))?;
    if beside(&findings, format).is_empty() {
        write_stderr(&text::findings(&findings, &Style::default()));
    }
    if args.thresholds.is_empty() {
        return Ok(Exit::Good);
    }
    let evaluated = runs.iter().flat_map(|run| &run.result.thresholds);
    Ok(Exit::of_thresholds(evaluated, args.thresholds.allow_undecided))
}

/// Evaluates the thresholds of the command line, if there are any, instead of those of the runs.
fn require(typed: &ThresholdArgs, stored: &mut [Stored]) -> Result<(), CliError> {
    if typed.is_empty() {
        return Ok(());
    }
    for Stored { name, result } in stored {
        let run = match result {
            AnyResult::Run(run) => run,
            AnyResult::Fleet(fleet) => &mut fleet.merged,
            _ => {
                return Err(CliError::usage(format!("--threshold is about runs, and {name} is none"))
                    .hint("name results of prony run; the thresholds of a study are in its file"));
            }
        };
        run.thresholds = typed.all().map(|threshold| threshold.evaluate(run)).collect();
    }
    Ok(())
}

/// Prints the page of the only file.
fn page(args: &ReportArgs) -> Result<Exit, CliError> {
    let [file] = args.files.as_slice() else {
        return Err(CliError::usage("-o html is one page, and there are several files")
            .hint("print them one by one, or compare them: prony compare BEFORE AFTER"));
    };
    let mut stored = [read::read(file)?];
    doubt(&stored[0], args.force)?;
    require(&args.thresholds, &mut stored)?;
    let [Stored { name, result }] = &stored;
    let page = match result {
        AnyResult::Run(result) => html::run(result),
        AnyResult::Fleet(result) => html::fleet(result),
        AnyResult::Study(result) => study::html(result),
        AnyResult::Capacity(result) => capacity::html(result),
        AnyResult::Overload(result) => overload::html(result),
        AnyResult::Exec(_) | AnyResult::Probe(_) | AnyResult::Comparison(_) | AnyResult::External(_) => {
            return Err(CliError::usage(format!("there is no page of what {name} holds")).hint(
                "-o html is of runs, studies, capacities and overloads; this can be text, markdown and json",
            ));
        }
    };
    output::print(&page)?;
    if args.thresholds.is_empty() {
        return Ok(Exit::Good);
    }
    let evaluated = result.run().map_or(&[][..], |run| &run.thresholds);
    Ok(Exit::of_thresholds(evaluated, args.thresholds.allow_undecided))
}

/// The format for results that are not all of runs.
fn page_format(format: Format) -> Result<PageFormat, CliError> {
    match format {
        Format::Text => Ok(PageFormat::Text),
        Format::Markdown => Ok(PageFormat::Markdown),
        Format::Json => Ok(PageFormat::Json),
        Format::Csv
        | Format::Hgrm
        | Format::Hlog
        | Format::Timeline
        | Format::Bencher
        | Format::K6Summary
        | Format::Html => {
            let name = format.to_possible_value().expect("invariant: every format can be typed");
            let what = format!("{} is a format of runs, and not all of these are runs", name.get_name());
            Err(CliError::usage(what)
                .hint("results of prony exec, probe and compare can be text, markdown and json"))
        }
        Format::Junit => Err(CliError::usage("junit is a format of runs, or of one study")
            .hint("name results of prony run, or the report.json or the folder of one study")),
    }
}

/// Refuses a result that contradicts itself, or warns of it.
fn doubt(stored: &Stored, force: bool) -> Result<(), CliError> {
    /// Anyone who edits one number makes several contradictions.
    const LISTED: usize = 3;
    let found = stored.result.run().map(RunResult::check).unwrap_or_default();
    let reasons = found.iter().take(LISTED).map(ToString::to_string).collect::<Vec<_>>().join("; ");
    let what = format!("{} contradicts itself: {reasons}", stored.name);
    if found.is_empty() {
        return Ok(());
    }
    if !force {
        return Err(
            CliError::usage(what).hint("it is not as prony wrote it; to print it all the same, add --force")
        );
    }
    write_stderr(&format!("warning: {}\n", prony_report::clean(&what)));
    Ok(())
}

/// The findings as a part of the report, for formats that people read.
fn beside(findings: &[Finding], format: Format) -> String {
    let drawn = match format {
        _ if findings.is_empty() => return String::new(),
        Format::Text => text::findings(findings, &terminal::style()),
        Format::Markdown => markdown::findings(findings),
        Format::Json
        | Format::Csv
        | Format::Hgrm
        | Format::Hlog
        | Format::Junit
        | Format::Timeline
        | Format::Bencher
        | Format::K6Summary
        | Format::Html => return String::new(),
    };
    format!("\n{drawn}")
}

fn write_stderr(text: &str) {
    // stderr is closed: nobody reads it.
    let _ = std::io::stderr().write_all(text.as_bytes());
}
