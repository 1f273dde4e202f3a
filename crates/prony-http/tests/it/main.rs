//! The response parser as its users see it: tables, properties over any cut of the input, and allocations.

mod allocations;
mod responses;
mod splits;
mod streams;
mod tls;
mod transcript;
