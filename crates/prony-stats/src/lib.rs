//! The numbers of Prony: what was recorded, and how far it can be trusted.
//!
//! This crate turns recorded durations into statements: quantiles that know when they must not be
//! printed, intervals that survive autocorrelation, comparisons that say "too noisy" when they are.
//! It must never read a clock, do I/O, draw unseeded random numbers, or know a wire format other
//! than HdrHistogram's: values in, values out.
//!
//! Durations are whole nanoseconds (`u64`) here. Quantiles are in `0..=1`; percent is a matter of
//! printing.

mod bins;
mod histogram;
mod layout;
mod quantile;
mod sparse;
mod wire;

pub use bins::Bin;
pub use histogram::{Bucket, Histogram};
pub use layout::{HIGHEST_TRACKABLE_NANOS, SIGNIFICANT_DIGITS};
pub use quantile::{Censored, Estimate, LEAST_EXCEEDANCES, Quantile, QuantileError, Withheld, estimate};
pub use sparse::{Sparse, SparseError};
pub use wire::DecodeError;
