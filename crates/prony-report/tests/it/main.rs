//! Reports of constructed results, as people see them.

mod ab;
mod calibration;
mod compare;
mod exec;
mod exports;
mod fixtures;
mod hostile;
mod markdown;
mod probe;
mod scripts;
mod study;
mod text;
mod wrk;
