//! Sessions of several requests. Decision 022 has the reasons.
//!
//! `compile.rs` turns a plan's scenario into what workers go through, with `text.rs` (templates) and `request.rs`
//! (HTTP/1.1, and `block.rs` for HTTP/2). A worker's sessions are in `sessions.rs`: what is due (`agenda.rs`), where each
//! stands (`session.rs`), what a response means (`response.rs`, with `cookies.rs` and `json.rs`), and which wait to send a
//! request again (`retries.rs`). Connections and clocks are the worker's.

mod agenda;
mod block;
pub(crate) mod compile;
mod cookies;
pub(crate) mod fault;
mod json;
mod request;
mod request_body;
mod response;
mod retries;
mod session;
pub(crate) mod sessions;
mod traces;
mod text;
mod turns;
mod worker;
