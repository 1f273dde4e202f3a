//! Requests that people have already, in the words of other tools, as Prony's own, and the reports of those tools.
//!
//! What can't be carried over is either refused, where the load would be another one, or listed in
//! [`Imported::left_out`]. It must never run anything that it reads: a command line is text here.
//!
//! Reading order: [`imported`] (what comes out), [`shell`] (words of a command line), then [`curl`]; [`scenario`] (what
//! comes out of files with several requests), `template` and `toml` (how it is written), then [`hurl`], [`postman`] and
//! [`openapi`], of which the last two read `json`, and the last one `yaml`, too, and [`har`]. [`results`] and [`mod@replay`] (recorded traffic) stand by
//! themselves.

mod archive;
pub mod curl;
mod guess;
pub mod har;
pub mod hurl;
pub mod imported;
mod json;
pub mod openapi;
pub mod postman;
pub mod replay;
pub mod results;
pub mod scenario;
mod session;
pub mod shell;
mod template;
mod toml;
mod yaml;

pub use curl::read_curl;
pub use guess::{Kind, guess};
pub use har::{HarOptions, read_har};
pub use hurl::read_hurl;
pub use imported::{HttpVersion, Imported, LeftOut};
pub use openapi::read_openapi;
pub use postman::read_postman;
pub use results::{ReportError, read_report};
pub use scenario::{Context, ImportedScenario};
