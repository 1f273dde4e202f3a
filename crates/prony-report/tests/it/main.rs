//! Reports of constructed results, as people see them.

mod exports;
mod fixtures;
mod hostile;
mod markdown;
mod text;
