//! Draws what a run found out: as text for a terminal and as Markdown; JSON is the stored result itself. The same
//! for timed commands ([`exec`]), also in the formats of hyperfine.
//!
//! This crate turns a [`prony_model::RunResult`] into text and never judges: verdicts, findings and withheld
//! numbers come with the result, and every renderer shows all of them. It never prints, reads a clock, a file
//! or the environment, and no text that came from a server reaches a terminal uncleaned.

mod bars;
mod clean;
pub mod exec;
mod facts;
mod failures;
pub mod hyperfine;
mod latency;
pub mod markdown;
mod number;
mod page;
mod style;
pub mod text;

pub use clean::clean;
pub use number::{count, percent, rate, seconds};
pub use page::wrap;
pub use prony_model::to_json as json;
pub use style::Style;
