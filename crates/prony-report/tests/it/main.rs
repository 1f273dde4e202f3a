//! Reports of constructed results, as people see them.

mod ab;
mod fixtures;
mod markdown;
mod scripts;
mod text;
mod wrk;
