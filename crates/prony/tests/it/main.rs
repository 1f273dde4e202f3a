//! The built binary, as people and scripts meet it; and what the workspace must never become.

mod ab;
mod ab_flags;
mod bad_servers;
mod binary;
mod calibration;
mod compare;
mod edges;
mod exec;
mod files;
mod folder;
mod keep;
mod mistakes;
mod pages;
mod probe;
mod processes;
mod report;
mod runs;
mod server;
mod servers;
mod shape;
mod studies;
mod study;
mod study_file;
mod usage;
mod write_ups;
mod wrk;
