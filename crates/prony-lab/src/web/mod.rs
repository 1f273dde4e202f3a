//! What people see: pages that are whole without JavaScript.
//!
//! In reading order: `serve` (connections), `routes` (what is where), `guard` (what every request passes), `principal`
//! (who asks), `login`, `fields` (what they send), `error` (what goes wrong), `pages/` (what is shown), `drawn` (what was
//! shown before), `sse` (what changes while one looks), `plain` (what commands write, as text), `assets` (styles and
//! scripts).

mod assets;
mod doors;
mod drawn;
mod error;
mod fields;
mod guard;
mod login;
mod metrics;
mod pages;
mod plain;
mod principal;
mod routes;
mod serve;
mod sse;
#[cfg(test)]
mod tests;
mod tls;
mod unhurried;

pub(crate) use drawn::Drawn;
pub(crate) use error::{WebError, add_headers};
pub(crate) use principal::Principal;
pub use serve::{Serving, serve};
