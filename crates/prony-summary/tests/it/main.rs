//! Tests of the crate from outside.

mod drift;
mod hostile;
