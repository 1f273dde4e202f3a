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

use prony_model::StudyResult;

use page::Page;

/// The page. Whatever text the study brings is escaped; what can't be drawn is left out, never an error.
pub fn html(result: &StudyResult) -> String {
    Page::new(result).to_string()
}
