//! What a lab does, without a page and without a process: what people do (`actions`), what follows from results (`history`,
//! `bisect`, `hooks`), what is looked at again and again (`monitor`, `health`), and who may do what (`access`, `policy`).
//!
//! This crate must never contain SQL, HTTP handlers or HTML, and never start a process for a build. A test of the edges
//! (crates/prony/tests/it/edges.rs) has the order of its modules: each knows only those before it.

#![forbid(unsafe_code)]

pub mod access;
pub mod actions;
pub mod admin;
pub mod ansi_stripper;
pub mod bisect;
pub mod capacity;
pub mod definitions;
pub mod egress;
mod event_cursor;
mod example;
pub mod fleet;
pub mod health;
pub mod history;
pub mod hooks;
pub mod journal;
pub mod lab;
pub mod lab_error;
pub mod local_calls;
mod metrics;
pub mod monitor;
pub mod policy;
pub mod quantity;
pub mod search;
pub mod secrets;
