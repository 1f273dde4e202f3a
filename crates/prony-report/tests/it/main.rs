//! Reports of constructed results, as people see them.

mod fixtures;
mod markdown;
mod probe;
mod text;
