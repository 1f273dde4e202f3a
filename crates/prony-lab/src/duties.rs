//! What a lab does beside answering: each a thread of its own, and all of them end with the lab.

use crate::background::Background;
use crate::history;
use crate::lab::{Lab, LabError};
use crate::store::retention;

/// Starts everything that goes on without anybody's asking.
pub(crate) fn start(lab: &Lab) -> Result<Vec<Background>, LabError> {
    let started = [history::start(lab.store.clone()), retention::start(lab.store.clone())];
    started.into_iter().collect::<std::io::Result<_>>().map_err(LabError::Threads)
}
