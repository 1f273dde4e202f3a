//! The lab: a CI server for performance. Builds are requested, run, measured by studies, kept and compared, by people
//! in a browser and by scripts, for years. docs/decisions/018-lab.md is the map.
//!
//! This crate puts the parts together, each a crate of its own: prony-lab-model (the words and the states), prony-lab-store
//! (what is kept, and all SQL), prony-lab-core (what people do, and what follows from results), prony-lab-runner (what
//! runs builds) and prony-lab-web (what people and scripts see). It has the client of `prony lab submit` beside that.
//!
//! A lab must never measure anything itself (it starts `prony study` and `prony run` for that), never change anything of
//! its state but by a transaction, and never answer "accepted" before that is committed.

#![forbid(unsafe_code)]

mod background_tasks;
mod client;
mod serve;

pub use client::{Client, ClientError, GateStep, Me};
pub use prony_lab_core::actions::{AccessError, TokenRow, UserRow};
pub use prony_lab_core::admin::LocalAdmin;
pub use prony_lab_core::fleet::{FleetError, FleetOptions, FleetThreads, describe as describe_event};
pub use prony_lab_core::lab::Lab;
pub use prony_lab_core::lab_error::LabError;
pub use prony_lab_core::local_calls::LocalCallError;
pub use prony_lab_core::policy;
pub use prony_lab_core::secrets::SecretError;
pub use prony_lab_model as model;
pub use prony_lab_model::Gate;
pub use prony_lab_model::auth;
pub use prony_lab_model::clock::Moment;
pub use prony_lab_model::log::{Log, LogEntry, LogLevel};
pub use prony_lab_model::options::{LabOptions, SandboxMode, StoreAddress};
pub use prony_lab_runner as work;
pub use prony_lab_store::{Copied, DatabaseEnvironment, StoreCheck, StoreError, backup, check, restore};
pub use serve::{Serving, lead_agents, serve};
