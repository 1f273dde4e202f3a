//! The servers over real sockets, asked by a plain blocking client.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod client;
mod null;
mod rudy;
mod truth;
