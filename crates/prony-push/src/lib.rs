//! Sends the metrics of a run to a monitoring system while the run is on: Prometheus remote write (version 1) and OTLP
//! metrics, both over HTTP with protobuf.
//!
//! The load never waits for a receiver: results go into a queue of [`QUEUE_MAX`], from which a thread for each endpoint
//! takes them. Where the queue is full, the oldest is dropped and counted. All counters are cumulative, so that a dropped
//! one costs resolution, and no counts.
//!
//! This crate must never print, read the environment, read a clock but for deadlines, or follow a redirect. Credentials
//! are in headers only, which no error and no `Debug` shows.
//!
//! Reading order: `metric` (what a metric is), `figures` (those of a result), `exponential` (histograms), `protobuf`,
//! `remote_write` and `otlp` (the two encodings), `endpoint` (where to), `exchange` (one request), `pusher` (the queue and
//! its thread).

mod clock;
mod endpoint;
mod exchange;
mod exponential;
mod figures;
mod metric;
mod otlp;
mod protobuf;
mod pusher;
mod remote_write;

pub use endpoint::{Endpoint, Header, Labels, Protocol};
pub use exponential::HistogramForm;
pub use otlp::{Rejection, rejection};
pub use pusher::{Delivery, Pusher, QUEUE_MAX};
