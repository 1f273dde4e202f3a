//! The built binary, as people and scripts meet it; and what the workspace must never become.

mod bad_servers;
mod binary;
mod edges;
mod exec;
mod files;
mod pages;
mod runs;
mod server;
mod servers;
mod usage;
