//! The engine against real sockets: small servers on port 0 of loopback do what a script says and count what
//! they saw, and each behaviour is tested with both drivers.

#[macro_use]
mod drivers;
mod alone;
mod plans;
mod server;

mod addresses;
mod allocations;
mod blocked;
mod bodies;
mod bound;
mod busy;
mod censoring;
mod closed;
mod connecting;
mod connections;
mod descriptors;
mod errors;
mod findings;
mod fleet;
mod freeze;
mod healthy;
mod http2;
mod kernel_clock;
mod namespace;
mod open;
mod peers;
mod pipelining;
mod probe;
mod protocol;
mod retries;
mod scenario;
mod session_retries;
mod sessions;
mod slowest;
mod so_far;
mod spikes;
mod stages;
mod stop;
mod streams;
mod timeline;
mod tls;
mod traces;
mod traffic;
mod truth;
