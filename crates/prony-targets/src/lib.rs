//! The reference servers that Prony measures itself and others against.
//!
//! Little HTTP/1 servers whose behaviour is known (`truth` speaks HTTP/2, too): [`null`] answers as fast as the machine can, so that a client can
//! be calibrated; [`rudy`] is a course-work server with an artificial delay and a choice of concurrency models;
//! [`dashboard`], [`kv`] and [`express`] are servers of published write-ups: a status page, a key-value store, and an
//! application with a database; [`bottleneck`] has a known limit, [`queue`] a known capacity; [`truth`] draws a delay per request and logs, by the kernel's clock, what it really
//! did. [`postgres`] starts a database that is nobody else's.
//!
//! This crate must never use the engine or the protocol core it is there to check: a fault they share would
//! cancel itself out. It never prints, and it serves loopback addresses alone by default.
//!
//! What they have in common: a head is at most 8 KiB (431), a body at most 1 MiB (413), and of a known length
//! (411) but for `dashboard`, `kv` and `express`, which take chunks; `Expect: 100-continue` is answered by all but
//! `null`; none but `express` sends a Date field, which RFC 9110 would like, because no client needs it and it costs
//! time. As many connections are held as `ulimit -n` allows; more wait in the listen queue.
//!
//! In reading order: [`Running`] (what every `start` gives back), `listen`, `head` (where a request ends),
//! `reader` (requests out of pieces), `poller` (sockets in epoll), `timed` (the loop of `rudy`'s asynchronous model
//! and of `truth`), `service` (the loop of `dashboard`, `kv` and `express`), `tls` (between any loop and its sockets),
//! and the servers.

mod error;
mod running;

mod clock;
mod counters;
mod head;
mod lines;
mod listen;
#[cfg(test)]
mod pieces;
mod poller;
mod reader;
mod reply;
mod service;
mod stop;
mod sys;
mod timed;

pub mod bottleneck;
pub mod dashboard;
pub mod express;
pub mod kv;
pub mod null;
pub mod postgres;
pub mod queue;
pub mod rudy;
pub mod tls;
pub mod truth;

pub use counters::Counts;
pub use error::StartError;
pub use running::{DRAIN_LIMIT, Running, StopReport};
