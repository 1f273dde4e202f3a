//! The report of an overload: for each kind of clients a sentence, what became of their requests, and the course.
//!
//! Reading order: `facts` (the sentences), `text`, `markdown`; `html`, a page with `chart`.

mod chart;
mod facts;
mod html;
mod markdown;
mod text;

pub use facts::run_line;
pub use html::html;
pub use markdown::markdown;
pub use text::text;
