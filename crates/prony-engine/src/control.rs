//! Ending a run before its time: by hand, or because its outcome is certain.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

/// A switch that any thread (or a signal handler) may flip to end a run early; what was measured is reported.
#[derive(Debug, Clone, Default)]
pub struct Control {
    stop: Arc<AtomicBool>,
    reason: Arc<OnceLock<String>>,
}

impl Control {
    /// Asks the run to end.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Asks the run to end, and notes why in its result, unless it was asked before.
    pub fn stop_because(&self, reason: impl FnOnce() -> String) {
        if !self.is_stopped() {
            self.reason.get_or_init(reason);
            self.stop();
        }
    }

    /// Whether the run was asked to end.
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Why, where it was not by hand.
    pub fn reason(&self) -> Option<&str> {
        self.reason.get().map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_reason_counts() {
        let control = Control::default();
        assert_eq!((control.is_stopped(), control.reason()), (false, None));
        control.stop_because(|| "one".to_owned());
        control.stop_because(|| "two".to_owned());
        assert_eq!((control.is_stopped(), control.reason()), (true, Some("one")));
        let by_hand = Control::default();
        by_hand.stop();
        by_hand.stop_because(|| "late".to_owned());
        assert_eq!(by_hand.reason(), None);
    }
}
