//! The HTTP/2 client core as its users see it: against scripted servers that keep the rules, that break each of them,
//! and against a real one.
#![allow(clippy::unwrap_used, reason = "a helper that panics fails its test")]

mod floods;
mod going_away;
mod hpack;
mod live;
mod one_request;
mod peer;
mod responses;
mod rules;
mod splits;
mod transcript;
mod windows;
