//! What people see: pages that are whole without JavaScript.
//!
//! In reading order: `serve` (connections), `routes` (what is where), `guard` (what
//! every request passes), `principal` (who asks), `login`, `error` (what goes
//! wrong), `pages/` (what is shown).

mod doors;
mod error;
mod guard;
mod login;
mod metrics;
mod pages;
mod principal;
mod routes;
mod serve;
mod tls;
mod unhurried;

pub(crate) use error::WebError;
pub(crate) use principal::Principal;
pub use serve::{Serving, serve};
