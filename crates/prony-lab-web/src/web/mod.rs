//! What people see: pages that are whole without JavaScript.
//!
//! In reading order: `serve` (connections), `routes` (what is where), `guard` (what every request passes), `principal`
//! (who asks), `login`, `fields` (what they send), `error` (what goes wrong), `pages/` (what is shown),
//! `render_cache` (what was shown before), `downloads`, `sse` (live changes of an open page), `shares` (what each user may
//! have of it), `ansi_stripper` (what commands write, as text), `assets` (styles and scripts), `badge`
//! (a picture for READMEs), `push` (notifications of code hosts).

mod assets;
mod badge;
mod connection_limiter;
mod fields;
mod guard;
mod login;
mod metrics;
mod pages;
mod push;
mod routes;
mod serve;
mod sse;
#[cfg(test)]
mod tests;
mod tls;
mod write_timeout;

pub use serve::{Serving, serve};
