//! Draws what a run found out: as text for a terminal, as Markdown, as a page with charts ([`html`]), as ab and wrk
//! would, and for other tools as CSV, JUnit XML ([`junit`]), as Bencher and k6 have it ([`bencher`], [`k6_summary`]), and
//! in the formats of HdrHistogram; JSON is the stored result itself. Draws calibrations, searches for a capacity
//! ([`capacity`], also as a page), timed commands ([`exec`]), these also as hyperfine would, studies ([`study`]), these
//! also as a page with charts, series of figures over time ([`series`]), and when the parts of something ran
//! ([`schedule`]). Reports of other tools are drawn, too ([`external`]).
//!
//! This crate turns a [`prony_model::RunResult`] into text and never evaluates it: verdicts, findings and withheld
//! numbers come with the result, and every renderer shows all of them. It never prints, reads a clock, a file
//! or the environment, and no text that came from a server reaches a terminal uncleaned.

pub mod ab;
mod bars;
pub mod bencher;
pub mod brief;
mod calendar;
pub mod calibration;
pub mod capacity;
mod clean;
pub mod compare;
pub mod csv;
mod escaper;
pub mod exec;
pub mod external;
mod facts;
mod failures;
pub mod fleet;
pub mod hgrm;
pub mod hlog;
pub mod html;
pub mod hyperfine;
pub mod junit;
pub mod k6_summary;
mod latency;
pub mod live;
pub mod markdown;
mod number;
pub mod overload;
mod page;
pub mod probe;
mod record;
mod replay;
mod rerun;
mod retries;
mod scenario;
mod slowest;
mod stages;
pub mod schedule;
pub mod series;
mod server;
pub mod study;
mod style;
mod svg;
pub mod text;
mod threshold;
pub mod timeline_csv;
mod tls;
mod traces;
pub mod wrk;

pub use clean::clean;
pub use facts::verdict_word;
pub use number::{age, count, percent, rate, seconds, signed_percent};
pub use page::wrap;
pub use prony_model::to_json as json;
pub use prony_summary::{DistributionError, check_distributions};
pub use replay::replayed;
pub use rerun::{Rerun, rerun};
pub use style::Style;
pub use threshold::{
    amount as threshold_amount, measured as threshold_measured, sentence as threshold_sentence,
};
