//! Reports of constructed results, as people see them.

mod fixtures;
mod markdown;
mod text;
