//! Whether the numbers can be trusted: findings, and which parts of a run are clean.

pub(crate) mod audit;
pub(crate) mod clean;
