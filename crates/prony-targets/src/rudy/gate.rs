//! So many may pass, and no more until one comes back.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// Counts the permits that are out.
#[derive(Debug)]
pub(super) struct Gate {
    limit: usize,
    out: Mutex<usize>,
    returned: Condvar,
}

/// The right to handle a connection; dropping it gives it back.
#[derive(Debug)]
pub(super) struct Permit(Arc<Gate>);

impl Gate {
    pub(super) fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self { limit, out: Mutex::new(0), returned: Condvar::new() })
    }

    /// A permit, if one is left.
    pub(super) fn try_pass(self: &Arc<Self>) -> Option<Permit> {
        let mut out = self.lock();
        if *out == self.limit {
            return None;
        }
        *out += 1;
        Some(Permit(Arc::clone(self)))
    }

    /// A permit, as soon as one is left.
    pub(super) fn pass(self: &Arc<Self>) -> Permit {
        let mut out = self.wait_while(|out| *out == self.limit);
        *out += 1;
        Permit(Arc::clone(self))
    }

    /// Waits until all permits are back.
    pub(super) fn wait_for_all(&self) {
        drop(self.wait_while(|out| *out > 0));
    }

    fn wait_while(&self, mut condition: impl FnMut(&mut usize) -> bool) -> MutexGuard<'_, usize> {
        self.returned.wait_while(self.lock(), |out| condition(out)).unwrap_or_else(PoisonError::into_inner)
    }

    /// A number can't be left half changed, so a panic elsewhere does not spoil it.
    fn lock(&self) -> MutexGuard<'_, usize> {
        self.out.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        *self.0.lock() -= 1;
        self.0.returned.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_than_the_limit_pass() {
        let gate = Gate::new(2);
        let first = gate.try_pass().unwrap();
        let second = gate.pass();
        assert!(gate.try_pass().is_none());
        drop(first);
        let third = gate.try_pass();
        assert!(third.is_some());
        drop((second, third));
        gate.wait_for_all();
    }
}
