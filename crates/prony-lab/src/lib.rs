//! The lab.

pub mod auth;
pub mod policy;
