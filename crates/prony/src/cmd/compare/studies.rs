//! Two studies against each other, cell by cell: the valid runs of a cell in one with those of the same cell in the
//! other, repeat by repeat.

use std::path::{Path, PathBuf};

use prony_model::{ComparisonResult, LoadKind, StudyResult};
use prony_report::{Style, clean, markdown};
use prony_study::{CellPair, LeftOut, StoredQuestion, StudyPair};

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

/// Compares the studies in `folders`. Cells that can't be compared are listed as such, or shown without a verdict by
/// force.
pub(super) fn compare(folders: &[PathBuf; 2], question: &StoredQuestion) -> Result<Studies, CliError> {
    let pair = StudyPair::of(&read_study(&folders[0])?, &read_study(&folders[1])?);
    if pair.cells.is_empty() {
        return Err(CliError::usage("these studies have no load in common").hint(
            "a cell is the same where its value on every axis is: compare two runs of one study file",
        ));
    }
    let cells = pair
        .cells
        .iter()
        .map(|cell| ComparedCell { name: cell.names[0].clone(), outcome: of_cell(cell, folders, question) });
    let left_out = pair.left_out.iter().map(|left_out| match left_out {
        LeftOut::OnlyInA(name) => format!("{name} is in {} only", folders[0].display()),
        LeftOut::OnlyInB(name) => format!("{name} is in {} only", folders[1].display()),
        LeftOut::NoLoad(name) => format!("{name} is no load: only loads and capacities are compared"),
    });
    Ok(Studies { cells: cells.collect(), left_out: left_out.collect() })
}

fn read_study(folder: &Path) -> Result<StudyResult, CliError> {
    match read::read(folder)?.result {
        AnyResult::Study(result) => Ok(*result),
        _ => Err(CliError::usage(format!("the report.json in {} is not that of a study", folder.display()))
            .hint("name two folders that `prony study` wrote")),
    }
}

fn of_cell(
    cell: &CellPair,
    folders: &[PathBuf; 2],
    question: &StoredQuestion,
) -> Result<ComparisonResult, String> {
    if cell.files.iter().any(Vec::is_empty) {
        return Err("no repeat is valid on both sides".to_owned());
    }
    let files = [0, 1].map(|side| cell.files[side].iter().map(|file| folders[side].join(file)).collect());
    let compare = match cell.kind {
        LoadKind::Capacity => stored::compare_searches,
        _ => stored::compare,
    };
    let compared = stored::read(&files).and_then(|sides| compare(sides, question));
    let mut result = compared.map_err(|cli_error| cli_error.in_a_line())?;
    for (side, compared) in [&mut result.a, &mut result.b].into_iter().enumerate() {
        compared.name = format!("{}: {}", folders[side].display(), cell.names[side]);
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
