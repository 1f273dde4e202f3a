//! From recorded distributions to the numbers of a result, and from the results of several agents to that of all.
//!
//! A run makes its summary here from what it recorded, and a merge from what agents stored: the same functions decide
//! which quantiles may be printed and how precise they are. Distributions are added up, never averaged.
//!
//! This crate must never open a socket, read a clock or a file, or put words on a page: values in, results out.
//!
//! Reading order: `latency` (one distribution), `second` (that of a second), `stages` (those of a stage), `stored` (read back from a result), `server` (what
//! a server used for each request), `timeline` (what changed along a run), `fleet` (several results).

mod fleet;
mod latency;
mod second;
mod server;
mod stages;
mod stored;
mod timeline;

pub use fleet::{Grid, Merger, merge, rate_ends};
pub use latency::{Distributions, add_intervals, histogram_data, summary};
pub use second::second_quantiles;
pub use server::{add_requests, memory_growth};
pub use stages::{StageRecords, stage};
pub use stored::{DistributionError, check_distributions, distribution};
pub use timeline::Timeline;
