//! The built binary, as people and scripts meet it.

mod bad_servers;
mod binary;
mod files;
mod pages;
mod runs;
mod server;
mod servers;
mod usage;
