//! What too much load does to a server, and whether it comes back.
//!
//! Reading order: `course` (requests by when they were due; pure), `outcome` (what they say about the server; pure), `live` (the
//! loads, one after the other).

mod course;
mod live;
mod outcome;

pub use course::{OverloadSample, part_length};
pub use live::{LiveOverload, OverloadRunner, Recorded};
