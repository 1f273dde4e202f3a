//! A run as one page that needs nothing else: no script, no network, no file beside it.
//!
//! The order is that of a reader's questions: can it be trusted, what was measured, how is it repeated, why should one doubt
//! it; then the figures and the charts, then what the run had beside them (stages, drift, steps, a replay, failures,
//! retries, agents), then the server and the machine.
//!
//! Parts, style and policy are those of a study's page. In reading order: `page` (its parts), `timeline` (charts over time),
//! `distribution`, `server`, `tables`, `drift`, `time_axis` (what all charts over time share).

mod distribution;
mod drift;
mod page;
mod server;
mod tables;
mod time_axis;
mod timeline;

use prony_model::{FleetResult, RunResult};

use page::Page;

/// The page of a run. All text of the result is escaped; what can't be drawn is left out, never an error.
pub fn run(result: &RunResult) -> String {
    Page::new(result, None).to_string()
}

/// The page of several agents: that of all of them together, and a table of them.
pub fn fleet(result: &FleetResult) -> String {
    Page::new(&result.merged, Some(result)).to_string()
}
