//! Recorded traffic: access logs and HAR files, as requests with their moments.
//!
//! A file is read once, line by line, and kept small: each distinct request once, and of each line its moment, the number
//! of its request and its status. Bodies, cookies and most headers of a log are not there; see docs/replay.md for what a
//! replay sends instead. No value of a query is ever part of a message.
//!
//! Reading order: `format.rs` (how a line is written), `stamp.rs` (its moment), `lines.rs` and `json_lines.rs` (a line
//! read), [`log`] (a whole log) and [`har`]; `requests.rs` (each request once), `recording.rs` (what comes out),
//! `route.rs` (paths that belong together), [`plan`] (what is sent, and when), [`arrivals`] (moments alone).

pub mod arrivals;
mod error;
mod format;
pub mod har;
mod json_lines;
mod lines;
pub mod log;
mod open;
pub mod plan;
mod recording;
pub(crate) mod requests;
pub(crate) mod route;
mod stamp;
#[cfg(test)]
mod tests;

pub use error::ReplayError;
pub use format::{FormatChoice, LogFormat};
pub use open::{Opened, open, open_reader};
pub use plan::{Planned, ReplayOptions};
pub use recording::{Recording, Selection};
pub use stamp::stamp;
