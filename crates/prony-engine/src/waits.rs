//! How long the workers waited for a core, as the kernel counts it.

use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

use crate::clock::Nanos;
use crate::environment::run_queue_wait_ns;
use crate::slice::SLICE;

/// Time between two looks at all threads. A look opens a file for each of them, so that looking with every slice of
/// every thread would take time by the square of their number.
const LOOK_EVERY: Nanos = SLICE;

/// Asks the kernel about each worker.
pub(crate) struct Waits {
    tids: Vec<Arc<AtomicI32>>,
    measure_from: Nanos,
    /// Of each thread at the last look before the measured part.
    before: Vec<u64>,
    next_look: Nanos,
}

impl Waits {
    /// For workers that tell their thread numbers in `tids`, in a run that counts from `measure_from` on.
    pub(crate) fn new(tids: Vec<Arc<AtomicI32>>, measure_from: Nanos) -> Self {
        Self { before: vec![0; tids.len()], tids, measure_from, next_look: 0 }
    }

    /// Looks if that is due at `now`, and calls `waited` with each thread's wait in the measured part so far.
    pub(crate) fn look(&mut self, now: Nanos, waited: impl FnMut(usize, u64)) {
        self.look_with(now, run_queue_wait_ns, waited);
    }

    fn look_with(
        &mut self,
        now: Nanos,
        mut read: impl FnMut(i32) -> Option<u64>,
        mut waited: impl FnMut(usize, u64),
    ) {
        if now < self.next_look {
            return;
        }
        self.next_look = now + LOOK_EVERY;
        for (thread, tid) in self.tids.iter().enumerate() {
            let Some(wait) = read(tid.load(Ordering::Relaxed)) else { continue };
            if now >= self.measure_from {
                waited(thread, wait.saturating_sub(self.before[thread]));
            } else {
                self.before[thread] = wait;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_for_each_slice_of_each_thread_is_one_look_at_each_thread() {
        const THREADS: i32 = 64;
        const SLICES: u64 = 60;
        let tids = (1..=THREADS).map(|tid| Arc::new(AtomicI32::new(tid))).collect();
        let mut waits = Waits::new(tids, 0);
        let mut reads = 0;
        for slice in 1..=SLICES {
            for thread in 0..64 {
                // Slices of one stretch of time come one after the other.
                waits.look_with(
                    slice * SLICE + thread * 1000,
                    |_| {
                        reads += 1;
                        Some(1)
                    },
                    |_, _| {},
                );
            }
        }
        assert_eq!(reads, u64::from(THREADS.unsigned_abs()) * SLICES);
    }

    #[test]
    fn what_was_waited_before_the_measured_part_is_left_out() {
        let mut waits = Waits::new(vec![Arc::new(AtomicI32::new(1))], 3 * SLICE);
        let mut seen = Vec::new();
        for (step, wait) in [(1, 50), (2, 70), (3, 75), (4, 170)] {
            waits.look_with(step * SLICE, |_| Some(wait), |thread, waited| seen.push((thread, waited)));
        }
        assert_eq!(seen, [(0, 5), (0, 100)]);
    }
}
