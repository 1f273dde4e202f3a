//! A study as one page that needs nothing else: no script, no network, no file beside it.
//!
//! The order is that of a reader's questions: what came of it, what was required and compared, how much, against what
//! others published; then pictures, then doubts, then what it takes to do it again. Each chart says its finding, which
//! is computed, and holds its data as a table.
//!
//! Rust collects what stands on the page; the markup is in `templates/`, which escape every text. In reading order:
//! `page` (its parts, and its policy), `verdict`, `cells`, `published`, `layout` (which cells share a chart), `figure`
//! (what every chart has), the charts, `findings`, `record`.

mod cells;
mod charts;
mod figure;
mod findings;
mod format;
mod labels;
mod layout;
mod page;
mod published;
mod record;
mod table;
mod verdict;

use prony_model::{LoadKind, StudyResult};

pub(crate) use figure::Figure;
pub(crate) use format::{severity, verdict as verdict_word};
use layout::Layout;
use page::Page;
pub(crate) use page::{STYLE, STYLE_HASH};
pub(crate) use record::{facts_table, machine_table};
pub(crate) use table::{Content, Table, Word, numbers, words};

/// The page. All text of the study is escaped; what can't be drawn is left out, never an error.
pub fn html(result: &StudyResult) -> String {
    Page::new(result).to_string()
}

/// Charts of the loads of a study, for a page whose style sheet knows the classes of a study's own page.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LoadCharts {
    /// HTML: how response times are distributed, and the timeline; empty where nothing can be drawn.
    pub html: String,
    /// Loads in the charts.
    pub shown: usize,
    /// Loads in the study.
    pub loads: usize,
}

/// The charts of the first `loads_max` loads of `result`, with at most about `points_max` points in the timelines.
pub fn load_charts(mut result: StudyResult, loads_max: usize, points_max: usize) -> LoadCharts {
    let is_load: Vec<bool> = result.cells.iter().map(|cell| cell.kind == LoadKind::Run).collect();
    let loads = is_load.iter().filter(|is_load| **is_load).count();
    let places = is_load.iter().enumerate().filter(|(_, is_load)| **is_load).map(|(place, _)| place);
    // Other parts of the study refer to cells by their place: only the end is cut off.
    if let Some(first_left_out) = places.clone().nth(loads_max) {
        result.cells.truncate(first_left_out);
    }
    let figures = charts::of_loads(&Layout::new(&result), points_max);
    LoadCharts { html: figures.iter().map(ToString::to_string).collect(), shown: loads.min(loads_max), loads }
}
