//! The servers over real sockets, asked by a plain blocking client.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod bottleneck;
mod client;
mod dashboard;
mod door;
mod express;
mod kv;
mod null;
mod queue;
mod routed;
mod rudy;
mod tls;
mod truth;
mod truth_http2;
