//! One run.
use crate::{Control, RunError};
use prony_model::{RunEvent, RunPlan, RunResult};

/// Runs `plan`, tells `sink` how it goes, and returns what was found out. Blocks the calling thread.
pub fn run(plan: &RunPlan, control: &Control, sink: &mut dyn FnMut(RunEvent)) -> Result<RunResult, RunError> {
    let _ = (plan, control, sink);
    Err(RunError::NoUring("unfinished".to_owned()))
}
