//! The response parser, and the client core for HTTP/2, as their users see them: tables, properties over any cut of the
//! input, and allocations.

mod allocations;
mod coding;
mod h2;
mod responses;
mod splits;
mod streams;
mod tls;
mod transcript;
