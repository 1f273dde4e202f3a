//! Sessions of several requests. Decision 022 has the reasons.
//!
//! `compile.rs` turns a plan's scenario into what workers go through, with `text.rs` (templates) and `request.rs`. A
//! worker's sessions are in `sessions.rs`: what is due (`agenda.rs`), where each stands (`session.rs`), what a response
//! means (`response.rs`, with `cookies.rs`, `json.rs` and `coding.rs`). Connections and clocks are the worker's.

mod agenda;
mod coding;
pub(crate) mod compile;
mod cookies;
pub(crate) mod fault;
mod json;
mod request;
mod response;
mod session;
pub(crate) mod sessions;
mod text;
mod worker;
