//! Cancelling what runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Cancels a command, from any thread. Clones are the same.
#[derive(Debug, Clone, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// It is to stop.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether it is to stop.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
