//! How long the workers waited for a core, as the kernel counts it.

use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

use crate::clock::Nanos;
use crate::kernel::run_queue::RunQueueWait;
use crate::machine::environment::run_queue_wait_ns;
use crate::record::slice::SLICE;

/// Time between two polls of all threads. A poll opens a file for each of them, so that polling with every slice of
/// every thread would take time by the square of their number.
const POLL_EVERY: Nanos = SLICE;

/// Asks the kernel about each worker.
pub(crate) struct Waits {
    tids: Vec<Arc<AtomicI32>>,
    measure_from: Nanos,
    /// What was read of each thread.
    readings: Vec<RunQueueWait>,
    next_poll: Nanos,
}

impl Waits {
    /// For workers that store their thread numbers in `tids` and have not begun at `now`, in a run that counts from
    /// `measure_from` on.
    pub(crate) fn new(tids: Vec<Arc<AtomicI32>>, measure_from: Nanos, now: Nanos) -> Self {
        let mut unborn = RunQueueWait::default();
        unborn.begin(now, 0);
        Self { readings: vec![unborn; tids.len()], tids, measure_from, next_poll: 0 }
    }

    /// Polls if that is due at `now`, and calls `waited` with each thread's wait in the measured part so far.
    pub(crate) fn poll(&mut self, now: Nanos, waited: impl FnMut(usize, u64)) {
        self.poll_with(now, run_queue_wait_ns, waited);
    }

    fn poll_with(
        &mut self,
        now: Nanos,
        mut read: impl FnMut(i32) -> Option<u64>,
        mut waited: impl FnMut(usize, u64),
    ) {
        if now < self.next_poll {
            return;
        }
        self.next_poll = now + POLL_EVERY;
        for (thread, (readings, tid)) in self.readings.iter_mut().zip(&self.tids).enumerate() {
            let Some(wait) = read(tid.load(Ordering::Relaxed)) else { continue };
            if now >= self.measure_from {
                readings.measured(now, wait);
                waited(thread, readings.waited());
            } else {
                readings.begin(now, wait);
            }
        }
    }

    /// The measured part of `thread` is over.
    pub(crate) fn end(&mut self, thread: usize) {
        self.readings[thread].end();
    }

    /// The measured part of all threads is over.
    pub(crate) fn end_all(&mut self) {
        self.readings.iter_mut().for_each(RunQueueWait::end);
    }

    /// How long `thread` waited of `wall`, the time that it was measured for; `None` where the kernel doesn't say.
    pub(crate) fn of_wall(&self, thread: usize, wall: Nanos) -> Option<Nanos> {
        self.readings[thread].of_wall(wall)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn polling_with_every_slice_of_each_thread_reads_each_thread_once() {
        const THREADS: i32 = 64;
        const SLICES: u64 = 60;
        let tids = (1..=THREADS).map(|tid| Arc::new(AtomicI32::new(tid))).collect();
        let mut waits = Waits::new(tids, 0, 0);
        let mut reads = 0;
        for slice in 1..=SLICES {
            for thread in 0..64 {
                // Slices of one stretch of time come one after the other.
                waits.poll_with(
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
        let mut waits = Waits::new(vec![Arc::new(AtomicI32::new(1))], 3 * SLICE, 0);
        for (step, wait) in [(1, 50), (2, SLICE), (3, SLICE + 5), (4, SLICE + SLICE / 2)] {
            waits.poll_with(step * SLICE, |_| Some(wait), |_, _| {});
        }
        assert_eq!(waits.of_wall(0, 1000), Some(250), "half a slice of two");
    }

    #[test]
    fn a_run_that_is_shorter_than_the_polling_interval_is_known_from_its_one_poll() {
        let mut waits = Waits::new(vec![Arc::new(AtomicI32::new(1))], SLICE / 10, 0);
        waits.poll_with(SLICE / 2, |_| Some(SLICE / 4), |_, _| {});
        assert_eq!(waits.of_wall(0, 1000), Some(500));
    }
}
