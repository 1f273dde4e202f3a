//! Reports of constructed results, as people see them.

mod calibration;
mod fixtures;
mod markdown;
mod text;
