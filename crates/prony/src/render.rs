//! Results in the format that was asked for: the same for a run that is just over and for stored ones.

use prony_model::{Clock, RunResult};
use prony_report::{DistributionError, csv, hgrm, hlog, markdown, text};

use crate::args::Format;
use crate::terminal;

/// A result, and the file that it was read from; none (an empty name) for a run that is just over.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Named<'a> {
    pub(crate) file: &'a str,
    pub(crate) result: &'a RunResult,
}

/// What stdout gets. An error only where a stored distribution is damaged.
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
    }
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
