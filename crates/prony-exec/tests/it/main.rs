//! Series of real processes.

mod failures;
mod findings;
mod fixture;
mod order;
mod resources;
mod stops;
