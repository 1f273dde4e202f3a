//! The loop of `truth` over HTTP/2 (RFC 9113): requests of one connection wait side by side, and each is answered when it
//! is due.
//!
//! It knows as much of the protocol as this takes. Header fields of requests are skipped, so that every method and path
//! gets the same answer; those of responses are written without a table. It shares nothing with the client's HTTP/2.
//!
//! Reading order: `reader` (bytes in, events out), `write` (frames to be sent), `exchange` (a request and its answer),
//! `connection`, `worker` (the loop), `answers`.

mod answers;
mod connection;
mod exchange;
mod reader;
mod worker;
mod write;

pub(crate) use worker::Http2Worker;

/// Requests in flight on a connection at most, as its settings say.
const STREAMS_MAX: usize = 1024;
/// The payload of a frame at most, either way (RFC 9113 section 4.2).
const PAYLOAD_BYTES_MAX: usize = 16_384;
/// The windows before settings (section 6.9.2).
const WINDOW_BYTES: i64 = 65_535;
/// A window at most (section 6.9.1).
const WINDOW_BYTES_MAX: i64 = (1 << 31) - 1;
/// What may wait for a client that reads nothing, before its connection is closed.
const OUT_BYTES_MAX: usize = 4 * 1024 * 1024;
