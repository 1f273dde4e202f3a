//! Two studies against each other, cell by cell: the valid runs of a cell in one with those of the same cell in the
//! other, repeat by repeat.

use std::path::{Path, PathBuf};

use prony_model::{ComparisonResult, LoadKind, Metric, StudyCell, StudyResult, Verdict};
use prony_report::{Style, clean, markdown};

use super::stored;
use crate::args::PageFormat;
use crate::cli_error::CliError;
use crate::cmd::report::read;
use crate::render::{AnyResult, render_comparison};

/// What came of it.
pub(super) struct Studies {
    /// The cells that both studies have, in the order of the first.
    pub(super) cells: Vec<ComparedCell>,
    /// Cells of one study only, and commands and probes, each with why it is not compared.
    left_out: Vec<String>,
}

/// A cell that both studies have.
pub(super) struct ComparedCell {
    name: String,
    /// The comparison, or why there is none.
    pub(super) outcome: Result<ComparisonResult, String>,
}

/// A study, and where its files are.
struct Side {
    folder: PathBuf,
    result: StudyResult,
}

/// Compares the studies in `folders`. Cells that can't be compared are listed as such, or shown without a verdict with
/// `force`.
pub(super) fn compare(
    folders: &[PathBuf; 2],
    force: bool,
    primary: Option<Metric>,
    margin: f64,
) -> Result<Studies, CliError> {
    let [a, b] = [side(&folders[0])?, side(&folders[1])?];
    let mut studies = Studies { cells: Vec::new(), left_out: Vec::new() };
    for cell in &a.result.cells {
        let Some(other) = b.result.cells.iter().find(|other| other.key == cell.key) else {
            studies.left_out.push(format!("{} is in {} only", cell.name, a.folder.display()));
            continue;
        };
        if cell.kind != LoadKind::Run || other.kind != LoadKind::Run {
            studies.left_out.push(format!("{} is no load: only loads are compared", cell.name));
            continue;
        }
        let outcome = of_cell([(&a, cell), (&b, other)], force, primary, margin);
        studies.cells.push(ComparedCell { name: cell.name.clone(), outcome });
    }
    let is_missing = |cell: &&StudyCell| a.result.cells.iter().all(|known| known.key != cell.key);
    let missing = b.result.cells.iter().filter(is_missing);
    studies.left_out.extend(missing.map(|cell| format!("{} is in {} only", cell.name, b.folder.display())));
    if studies.cells.is_empty() {
        return Err(CliError::usage("these studies have no load in common").hint(
            "a cell is the same where its value on every axis is: compare two runs of one study file",
        ));
    }
    Ok(studies)
}

fn side(folder: &Path) -> Result<Side, CliError> {
    match read::read(folder)?.result {
        AnyResult::Study(result) => Ok(Side { folder: folder.to_owned(), result: *result }),
        _ => Err(CliError::usage(format!("the report.json in {} is not that of a study", folder.display()))
            .hint("name two folders that `prony study` wrote")),
    }
}

fn of_cell(
    sides: [(&Side, &StudyCell); 2],
    force: bool,
    primary: Option<Metric>,
    margin: f64,
) -> Result<ComparisonResult, String> {
    let valid = |cell: &StudyCell, repeat: u32| {
        cell.runs.iter().any(|run| run.repeat == repeat && run.verdict != Verdict::Invalid)
    };
    let [(_, a), (_, b)] = sides;
    let files = sides.map(|(side, cell)| {
        let paired = cell.runs.iter().filter(|run| valid(a, run.repeat) && valid(b, run.repeat));
        paired.map(|run| side.folder.join(&run.file)).collect::<Vec<PathBuf>>()
    });
    if files.iter().any(Vec::is_empty) {
        return Err("no repeat is valid on both sides".to_owned());
    }
    let mut result =
        stored::compare(&files, force, primary, margin).map_err(|cli_error| cli_error.in_a_line())?;
    for (compared, (side, cell)) in [&mut result.a, &mut result.b].into_iter().zip(sides) {
        compared.name = format!("{}: {}", side.folder.display(), cell.name);
    }
    Ok(result)
}

impl Studies {
    /// What stdout gets of it; comparisons in JSON come one after the other.
    pub(super) fn render(&self, format: PageFormat, style: &Style) -> String {
        let cells: Vec<String> = self.cells.iter().map(|cell| cell.render(format, style)).collect();
        cells.concat() + &self.render_left_out(format)
    }

    fn render_left_out(&self, format: PageFormat) -> String {
        let bullet = match format {
            PageFormat::Json => return String::new(),
            PageFormat::Text => "note      ",
            PageFormat::Markdown => "- ",
        };
        let lines: Vec<String> =
            self.left_out.iter().map(|what| [bullet, &clean(what), "\n"].concat()).collect();
        lines.concat()
    }
}

impl ComparedCell {
    /// Its name and the report of its comparison, or why there is none.
    fn render(&self, format: PageFormat, style: &Style) -> String {
        let title = match format {
            PageFormat::Json => {
                let result = self.outcome.as_ref();
                return result.map(|result| render_comparison(result, format, style)).unwrap_or_default();
            }
            PageFormat::Text => clean(&self.name) + "\n",
            PageFormat::Markdown => markdown::title(&self.name),
        };
        let body = match &self.outcome {
            Ok(result) => render_comparison(result, format, style),
            Err(why) => format!("not compared: {}\n", clean(why)),
        };
        format!("{title}\n{body}\n")
    }
}
