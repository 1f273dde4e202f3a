//! The lab: a CI server for performance. Builds are requested, run, measured by studies, kept and compared, by people
//! in a browser and by scripts, for years. docs/decisions/018-lab.md is the map.
//!
//! This crate must never measure anything itself (it starts `prony study` and `prony run` for that), never let SQL
//! stand outside `store/`, never change anything of the lab's state but by a transaction, and never answer "accepted"
//! before that is committed.
//!
//! In reading order, each knowing only those before it: `model/` (the words and the states), `policy/` (which servers may
//! be loaded), `store/` (what is kept), `health` (what an operator has to know), `journal` (the log of builds), `history/`,
//! `bisect`, `hooks/` and `monitor/` (what follows from results), `access/` (sessions and tokens), `lab` (what the parts
//! share), `actions/` (what people do, one function each), `work/` (what runs builds), `admin/` (what is done at the
//! machine), `http/`, `api/` and `web/` (what scripts and people see). A test of the edges
//! (crates/prony/tests/it/edges.rs) has the whole order.

#![forbid(unsafe_code)]

mod access;
mod actions;
mod admin;
mod ansi_stripper;
mod api;
pub mod auth;
mod background;
mod background_tasks;
mod bisect;
mod capacity;
mod client;
mod clock;
mod definitions;
mod egress;
mod event_cursor;
mod example;
mod health;
mod history;
mod hooks;
mod http;
mod journal;
mod lab;
mod lab_error;
mod log;
mod metrics;
pub mod model;
mod monitor;
mod options;
pub mod policy;
mod search;
mod secrets;
mod store;
mod web;
pub mod work;

pub use actions::{AccessError, TokenRow, UserRow};
pub use admin::LocalAdmin;
pub use client::{Client, ClientError, GateStep, Me};
pub use clock::Moment;
pub use lab::Lab;
pub use lab_error::LabError;
pub use log::{Log, LogEntry, LogLevel};
pub use model::Gate;
pub use options::{LabOptions, SandboxMode, StoreAddress};
pub use secrets::SecretError;
pub use store::{Copied, DatabaseEnvironment, StoreCheck, StoreError, backup, check, restore};
pub use web::{Serving, serve};
