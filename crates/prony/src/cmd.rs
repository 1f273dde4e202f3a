//! The commands, one file each.

pub(crate) mod ab;
pub(crate) mod agent;
pub(crate) mod calibrate;
pub(crate) mod capacity;
pub(crate) mod compare;
pub(crate) mod demo;
pub(crate) mod egress;
pub(crate) mod exec;
pub(crate) mod explain;
mod express;
mod fleet;
pub(crate) mod import;
pub(crate) mod k8s;
pub(crate) mod lab;
mod loads;
pub(crate) mod pages;
mod postgres;
pub(crate) mod probe;
pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod self_test;
pub(crate) mod serve;
mod serve_tls;
pub(crate) mod study;
pub(crate) mod supervise;
pub(crate) mod truth_log;
pub(crate) mod wrk;
