//! Records what came back: samples, slices, totals, and the result made of them.

pub(crate) mod sample;
pub(crate) mod recorder;
pub(crate) mod connections;
pub(crate) mod replay;
pub(crate) mod retries;
pub(crate) mod samples;
pub(crate) mod slice;
mod slice_sums;
pub(crate) mod slowest;
pub(crate) mod failure_detail;
pub(crate) mod collect;
pub(crate) mod series;
pub(crate) mod handshakes;
pub(crate) mod http2;
pub(crate) mod scenario;
pub(crate) mod stages;
pub(crate) mod traces;
mod step_timeline;
pub(crate) mod streams;
pub(crate) mod latency;
pub(crate) mod own_delay;
pub(crate) mod summary;
pub(crate) mod so_far;
#[cfg(test)]
mod shared;
