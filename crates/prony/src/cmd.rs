//! The commands, one file each.

pub(crate) mod demo;
pub(crate) mod exec;
pub(crate) mod pages;
pub(crate) mod run;
pub(crate) mod serve;
pub(crate) mod truth_log;
