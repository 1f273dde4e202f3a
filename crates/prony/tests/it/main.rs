//! The built binary, as people and scripts meet it; and what the workspace must never become.

mod bad_servers;
mod binary;
mod edges;
mod files;
mod pages;
mod probe;
mod runs;
mod server;
mod servers;
mod usage;
