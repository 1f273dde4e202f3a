//! Draws what a study found out: verdicts first, a table for every load, what was compared, required and published,
//! and every reason to doubt once; as a page ([`html`]) also with charts.

mod facts;
mod html;
mod markdown;
mod searches;
mod sessions;
mod text;

pub(crate) use facts::cell_name;
pub(crate) use html::{
    Content, Figure, STYLE, STYLE_HASH, Table, Word, facts_table, machine_table, numbers, severity,
    verdict_word, words,
};
pub use html::{LoadCharts, html, load_charts};
pub use markdown::markdown;
pub use prony_model::study_to_json as json;
pub use text::text;
