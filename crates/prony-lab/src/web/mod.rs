//! What people see: pages that are whole without JavaScript.
//!
//! In reading order: `serve` (connections), `routes` (what is where), `principal` (who asks), `error` (what goes
//! wrong), `pages/` (what is shown).

mod error;
mod metrics;
mod pages;
mod principal;
mod routes;
mod serve;

pub use serve::{Serving, serve};
