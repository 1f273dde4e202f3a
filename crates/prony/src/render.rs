//! Results in the format that was asked for: the same for a run that is just over and for stored ones.

use prony_model::{
    CapacityResult, Clock, ComparisonResult, ExecResult, ExternalResult, FleetResult, OverloadResult,
    ProbeResult, RunResult, StudyResult,
};
use prony_report::{
    DistributionError, Style, bencher, capacity, compare, csv, exec, external, fleet, hgrm, hlog, html,
    junit, k6_summary, markdown, overload, probe, study, text, timeline_csv,
};

use crate::args::{CapacityFormat, Format, PageFormat, StudyFormat};
use crate::terminal;

/// A result, and the file that it was read from; none (an empty name) for a run that is just over.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Named<'a> {
    pub(crate) file: &'a str,
    pub(crate) result: &'a RunResult,
}

/// A result of any command.
#[derive(Debug)]
pub(crate) enum AnyResult {
    /// Of `prony run`.
    Run(Box<RunResult>),
    /// Of `prony exec`.
    Exec(Box<ExecResult>),
    /// Of `prony probe`.
    Probe(Box<ProbeResult>),
    /// Of `prony compare`.
    Comparison(Box<ComparisonResult>),
    /// Of `prony capacity`.
    Capacity(Box<CapacityResult>),
    /// Of `prony overload`.
    Overload(Box<OverloadResult>),
    /// Of `prony study`.
    Study(Box<StudyResult>),
    /// Of several agents.
    Fleet(Box<FleetResult>),
    /// Of another tool.
    External(Box<ExternalResult>),
}

impl AnyResult {
    /// The run, if it is one; of several agents, all of them together.
    pub(crate) fn run(&self) -> Option<&RunResult> {
        match self {
            Self::Run(result) => Some(result),
            Self::Fleet(result) => Some(&result.merged),
            Self::Exec(_)
            | Self::Probe(_)
            | Self::Comparison(_)
            | Self::Capacity(_)
            | Self::Overload(_)
            | Self::Study(_)
            | Self::External(_) => None,
        }
    }
}

/// What stdout gets of `prony exec`.
pub(crate) fn render_exec(result: &ExecResult, format: PageFormat, style: &Style) -> String {
    match format {
        PageFormat::Text => exec::text(result, style),
        PageFormat::Json => prony_model::exec_to_json(result),
        PageFormat::Markdown => exec::markdown(result),
    }
}

/// What stdout gets of `prony probe`.
pub(crate) fn render_probe(result: &ProbeResult, format: PageFormat, style: &Style) -> String {
    match format {
        PageFormat::Text => probe::text(result, style),
        PageFormat::Json => prony_model::probe_to_json(result),
        PageFormat::Markdown => probe::markdown(result),
    }
}

/// What stdout gets of `prony compare`.
pub(crate) fn render_comparison(result: &ComparisonResult, format: PageFormat, style: &Style) -> String {
    match format {
        PageFormat::Text => compare::text(result, style),
        PageFormat::Json => prony_model::comparison_to_json(result),
        PageFormat::Markdown => compare::markdown(result),
    }
}

/// What stdout gets of `prony capacity`.
pub(crate) fn render_capacity(result: &CapacityResult, format: CapacityFormat, style: &Style) -> String {
    match format {
        CapacityFormat::Text => capacity::text(result, style),
        CapacityFormat::Json => prony_model::capacity_to_json(result),
        CapacityFormat::Markdown => capacity::markdown(result),
        CapacityFormat::Html => capacity::html(result),
    }
}

/// What stdout gets of `prony overload`.
pub(crate) fn render_overload(result: &OverloadResult, format: CapacityFormat, style: &Style) -> String {
    match format {
        CapacityFormat::Text => overload::text(result, style),
        CapacityFormat::Json => prony_model::overload_to_json(result),
        CapacityFormat::Markdown => overload::markdown(result),
        CapacityFormat::Html => overload::html(result),
    }
}

/// What stdout gets of a study.
pub(crate) fn render_study(result: &StudyResult, format: StudyFormat, style: &Style) -> String {
    match format {
        StudyFormat::Text => study::text(result, style),
        StudyFormat::Json => study::json(result),
        StudyFormat::Markdown => study::markdown(result),
        StudyFormat::Junit => junit::study(result),
    }
}

/// What stdout gets of a report of another tool.
fn render_external(result: &ExternalResult, format: PageFormat, style: &Style) -> String {
    match format {
        PageFormat::Text => external::text(result, style),
        PageFormat::Json => prony_model::external_to_json(result),
        PageFormat::Markdown => external::markdown(result),
    }
}

/// The page of several agents.
fn render_fleet_page(result: &FleetResult, format: PageFormat, style: &Style) -> String {
    match format {
        PageFormat::Text => fleet::text(result, style),
        PageFormat::Json => prony_model::fleet_to_json(result),
        PageFormat::Markdown => fleet::markdown(result),
    }
}

/// What stdout gets of several agents; `file` is where their result was stored. An error only where a stored distribution
/// is damaged.
pub(crate) fn render_fleet(
    file: &str,
    result: &FleetResult,
    format: Format,
    clock: Clock,
) -> Result<String, DistributionError> {
    let page = match format {
        Format::Text => PageFormat::Text,
        Format::Markdown => PageFormat::Markdown,
        Format::Json => PageFormat::Json,
        Format::Html => return Ok(html::fleet(result)),
        Format::Csv => return Ok(format!("{}{}", csv::HEADER, fleet::csv(file, result))),
        Format::Hgrm
        | Format::Hlog
        | Format::Junit
        | Format::Timeline
        | Format::Bencher
        | Format::K6Summary => {
            return render(&[Named { file, result: &result.merged }], format, clock);
        }
    };
    Ok(render_fleet_page(result, page, &terminal::style()))
}

/// What stdout gets of results of several kinds, each with the name of its file.
pub(crate) fn render_any(results: &[(&str, &AnyResult)], format: PageFormat) -> String {
    let style = terminal::style();
    let drawn = results.iter().map(|(file, result)| {
        let page = match result {
            AnyResult::Run(result) => match format {
                PageFormat::Text => text::run(result, &style),
                PageFormat::Json => prony_model::to_json(result),
                PageFormat::Markdown => markdown::run(result),
            },
            AnyResult::Exec(result) => render_exec(result, format, &style),
            AnyResult::Probe(result) => render_probe(result, format, &style),
            AnyResult::Comparison(result) => render_comparison(result, format, &style),
            AnyResult::Capacity(result) => render_capacity(result, format.into(), &style),
            AnyResult::Overload(result) => render_overload(result, format.into(), &style),
            AnyResult::Study(result) => render_study(result, format.into(), &style),
            AnyResult::Fleet(result) => render_fleet_page(result, format, &style),
            AnyResult::External(result) => render_external(result, format, &style),
        };
        match format {
            PageFormat::Json => page,
            _ if results.len() == 1 => page,
            PageFormat::Text => format!("{}\n\n{page}\n", prony_report::clean(file)),
            PageFormat::Markdown => format!("{}\n{page}\n", markdown::title(file)),
        }
    });
    drawn.collect::<Vec<_>>().concat()
}

/// What stdout gets of runs. An error only where a stored distribution is damaged.
pub(crate) fn render(runs: &[Named<'_>], format: Format, clock: Clock) -> Result<String, DistributionError> {
    match format {
        Format::Text => {
            let style = terminal::style();
            let title = |file: &str| format!("{}\n", prony_report::clean(file));
            Ok(reports(runs, title, |result| text::run(result, &style)))
        }
        Format::Markdown => Ok(reports(runs, markdown::title, markdown::run)),
        // One after the other, as every reader of JSON streams takes them.
        Format::Json => Ok(runs.iter().map(|run| prony_model::to_json(run.result)).collect()),
        Format::Csv => {
            let rows = runs.iter().map(|run| csv::rows(run.file, run.result));
            Ok(std::iter::once(csv::HEADER.to_owned()).chain(rows).collect())
        }
        Format::Hgrm => runs.iter().map(|run| hgrm::run(run.result, clock)).collect(),
        Format::Hlog => hlog::runs(&runs.iter().map(|run| run.result).collect::<Vec<_>>()),
        Format::Junit => Ok(junit::runs(&named(runs))),
        Format::Timeline => {
            let rows = runs.iter().map(|run| timeline_csv::rows(run.file, run.result));
            Ok(std::iter::once(timeline_csv::HEADER.to_owned()).chain(rows).collect())
        }
        Format::Bencher => Ok(bencher::runs(&named(runs))),
        Format::Html => Ok(runs.iter().map(|run| html::run(run.result)).collect()),
        Format::K6Summary => Ok(runs.iter().map(|run| k6_summary::run(run.result)).collect()),
    }
}

/// Each with the name of its file.
fn named<'a>(runs: &[Named<'a>]) -> Vec<(&'a str, &'a RunResult)> {
    runs.iter().map(|run| (run.file, run.result)).collect()
}

/// One report after the other; with titles where there are several.
fn reports(
    runs: &[Named<'_>],
    title: impl Fn(&str) -> String,
    report: impl Fn(&RunResult) -> String,
) -> String {
    if let [only] = runs {
        return report(only.result);
    }
    let titled = runs.iter().map(|run| format!("{}\n{}", title(run.file), report(run.result)));
    titled.collect::<Vec<_>>().join("\n")
}
