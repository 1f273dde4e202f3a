//! The commands, one file each.

pub(crate) mod calibrate;
pub(crate) mod demo;
pub(crate) mod pages;
pub(crate) mod run;
pub(crate) mod serve;
pub(crate) mod truth_log;
