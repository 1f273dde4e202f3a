//! The report of a search for a capacity: one sentence, why, and every trial.
//!
//! Reading order: `facts` (the sentences), `text`, `markdown`; `html`, a page with `chart`.

mod chart;
mod facts;
mod html;
mod markdown;
mod text;

pub use facts::trial_line;
pub use html::html;
pub use markdown::markdown;
pub use text::text;
