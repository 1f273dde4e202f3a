//! The lab.

mod clock;
pub mod work;
