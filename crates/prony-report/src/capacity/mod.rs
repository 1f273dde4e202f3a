//! The report of a search for a capacity: one sentence, why, and every trial.
//!
//! Reading order: `facts` (the sentences), `text`, `markdown`; `html`, a page with `chart`.

mod chart;
mod facts;
mod html;
mod markdown;
mod text;

pub use facts::trial_line;
pub(crate) use facts::{answer, basis};
pub use html::html;
pub(crate) use html::named_figure;
pub use markdown::markdown;
pub(crate) use markdown::trials_table;
pub use text::text;
