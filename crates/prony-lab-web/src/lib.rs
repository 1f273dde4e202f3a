//! What people and scripts see of a lab: `web/` has the pages, `api/` the API, `http/` what both share.
//!
//! This crate must never write to the store itself (an action of prony-lab-core does), never contain SQL, and never use
//! what runs builds.

#![forbid(unsafe_code)]

mod api;
mod http;
mod web;

pub use web::{Serving, serve};
