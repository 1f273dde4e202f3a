//! Two studies against each other: which of their cells are the same, and which of their runs belong together.

use prony_model::{LoadKind, StudyCell, StudyResult, Verdict};

/// What two studies have in common.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StudyPair {
    /// The loads and searches that both studies have, in the order of the first.
    pub cells: Vec<CellPair>,
    /// Everything else.
    pub left_out: Vec<LeftOut>,
}

/// A cell that both studies have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CellPair {
    /// What each study calls it.
    pub names: [String; 2],
    /// Of which kind: loads, or searches for a capacity.
    pub kind: LoadKind,
    /// The files of the runs that are valid in both studies, repeat by repeat, from each study's folder; none where no
    /// repeat is.
    pub files: [Vec<String>; 2],
}

/// A cell that is not compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LeftOut {
    /// The first study alone has it.
    OnlyInA(String),
    /// The second study alone has it.
    OnlyInB(String),
    /// It is a command or a probe.
    NoLoad(String),
}

impl StudyPair {
    /// What `a` and `b` have in common: a cell is the same where its value on every axis is.
    pub fn of(a: &StudyResult, b: &StudyResult) -> Self {
        let mut pair = Self { cells: Vec::new(), left_out: Vec::new() };
        for cell in &a.cells {
            let name = cell.name.clone();
            let Some(other) = b.cells.iter().find(|other| other.key == cell.key) else {
                pair.left_out.push(LeftOut::OnlyInA(name));
                continue;
            };
            let is_compared = [LoadKind::Run, LoadKind::Capacity].contains(&cell.kind);
            if !is_compared || other.kind != cell.kind {
                pair.left_out.push(LeftOut::NoLoad(name));
                continue;
            }
            pair.cells.push(CellPair::of([cell, other]));
        }
        let is_missing = |cell: &&StudyCell| a.cells.iter().all(|known| known.key != cell.key);
        let missing = b.cells.iter().filter(is_missing);
        pair.left_out.extend(missing.map(|cell| LeftOut::OnlyInB(cell.name.clone())));
        pair
    }
}

impl CellPair {
    fn of(cells: [&StudyCell; 2]) -> Self {
        let is_valid = |cell: &StudyCell, repeat: u32| {
            cell.runs.iter().any(|run| run.repeat == repeat && run.verdict != Verdict::Invalid)
        };
        let files = cells.map(|cell| {
            let paired = cell.runs.iter().filter(|run| cells.iter().all(|cell| is_valid(cell, run.repeat)));
            paired.map(|run| run.file.clone()).collect()
        });
        Self { names: cells.map(|cell| cell.name.clone()), kind: cells[0].kind, files }
    }
}
