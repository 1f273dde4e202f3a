//! What people see: pages that are whole without JavaScript.
//!
//! In reading order: `serve` (connections), `routes` (what is where), `guard` (what every request passes), `principal`
//! (who asks), `login`, `fields` (what they send), `error` (what goes wrong), `pages/` (what is shown),
//! `render_cache` (what was shown before), `downloads`, `sse` (live changes of an open page), `shares` (what each user may
//! have of it), `ansi_stripper` (what commands write, as text), `assets` (styles and scripts), `badge`
//! (a picture for READMEs), `push` (notifications of code hosts).

mod ansi_stripper;
mod assets;
mod badge;
mod connection_limiter;
mod downloads;
mod error;
mod fields;
mod guard;
mod login;
mod metrics;
mod pages;
mod principal;
mod push;
mod render_cache;
mod routes;
mod serve;
mod shares;
mod sse;
#[cfg(test)]
mod tests;
mod tls;
mod write_timeout;

pub(crate) use ansi_stripper::line;
pub(crate) use downloads::Downloads;
pub(crate) use error::{WebError, add_headers};
pub(crate) use principal::{ANONYMOUS, Principal};
pub(crate) use render_cache::RenderCache;
pub use serve::{Serving, serve};
pub(crate) use shares::{Shares, Turns};
