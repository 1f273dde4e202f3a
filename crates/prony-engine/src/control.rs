//! Ending a run by hand.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A switch that any thread (or a signal handler) may flip to end a run early; what was measured is reported.
#[derive(Debug, Clone, Default)]
pub struct Control {
    stop: Arc<AtomicBool>,
}

impl Control {
    /// Asks the run to end.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Whether the run was asked to end.
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}
