//! What happens to the store while the lab runs, for people: whoever started the lab shows it.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use crate::clock;

/// Lines that wait to be shown; of more, the oldest go.
const LINES_MAX: usize = 64;

/// Lines for people. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub(crate) struct Log {
    lines: Arc<(Mutex<VecDeque<String>>, Condvar)>,
}

impl Log {
    /// Adds a line, with the time. Nobody waits for its being shown.
    pub(crate) fn add(&self, line: &str) {
        let mut lines = self.lines();
        if lines.len() >= LINES_MAX {
            lines.pop_front();
        }
        lines.push_back(format!("{} UTC: {line}", clock::wall().utc()));
        self.lines.1.notify_one();
    }

    /// Waits for the next line, and takes it.
    pub(crate) fn next(&self) -> String {
        let mut lines = self.lines();
        loop {
            if let Some(line) = lines.pop_front() {
                return line;
            }
            lines = self.lines.1.wait(lines).unwrap_or_else(PoisonError::into_inner);
        }
    }

    #[cfg(test)]
    pub(super) fn taken(&self) -> Vec<String> {
        self.lines().drain(..).collect()
    }

    fn lines(&self) -> MutexGuard<'_, VecDeque<String>> {
        self.lines.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
