//! Agents: several machines that put one load on a server, as one instrument. Both ends of their protocol: what an agent
//! does on each machine, and the controller that splits a load among agents, starts them at one moment and collects their
//! results.
//!
//! This crate must never measure (the binary plugs the engine in through [`Load`]), never start a load that the
//! controller has not signed for, and never delete a result before the controller says that it is committed.
//!
//! Reading order: `protocol` (what is sent), `clock` (one time for all), `agent` and `controller` (what each does, as
//! state machines without I/O: something happened in, actions out), `bus` (what carries messages), and last what connects
//! them to threads, files and the network: `agent/serve.rs` and `controller/drive.rs`.

#![forbid(unsafe_code)]

pub mod agent;
pub mod bus;
pub mod clock;
pub mod controller;
pub mod protocol;

pub use agent::Load;
