//! Series of real processes.

mod failures;
mod fixture;
mod order;
mod resources;
mod stops;
