//! What people see: pages that are whole without JavaScript.
//!
//! In reading order: `serve` (connections), `routes` (what is where), `principal` (who asks), `fields` (what they send),
//! `error` (what goes wrong), `pages/` (what is shown), `drawn` (what was shown before), `sse` (what changes while one
//! looks), `plain` (what commands write, as text), `assets` (styles and scripts).

mod assets;
mod drawn;
mod error;
mod fields;
mod pages;
mod plain;
mod principal;
mod routes;
mod serve;
mod sse;

pub(crate) use drawn::Drawn;
pub use serve::{Serving, serve};
