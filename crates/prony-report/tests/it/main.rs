//! Reports of constructed results, as people see them.

mod exec;
mod fixtures;
mod markdown;
mod text;
