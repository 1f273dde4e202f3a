//! Puts every slice to the clean ones or to the others, a moment later, when it is known which it is.

use std::collections::VecDeque;

use super::held::Held;
use super::marks::{Marks, Stretch};
use super::taken::Taken;
use super::totals::CleanTotals;
use crate::clock::Nanos;
use crate::record::collect::{ThreadTotals, Window};
use crate::record::samples::Samples;
use crate::record::slice::Slice;

/// Stretches that wait until it is known whether they were clean.
const STRETCHES_MAX: usize = 16;

/// Sorts the slices of a run.
pub(crate) struct Sorter {
    window: Window,
    taken: Taken,
    marks: Marks,
    held: Held,
    records: Records,
    /// Stretches, with what each thread waited for a core in them.
    stretches: VecDeque<(Stretch, Vec<Nanos>)>,
    /// What each thread had waited at the last poll.
    waited: Vec<Nanos>,
}

/// What was recorded, sorted.
struct Records {
    measure_to: Nanos,
    clean: CleanTotals,
    /// Of the slices that are not clean.
    others: Slice,
}

impl Sorter {
    /// For a run of `threads` workers; slices have room for single samples if they are `kept`.
    pub(crate) fn new(window: Window, threads: u32, kept: bool) -> Self {
        let clean = CleanTotals::new(threads as usize);
        let others = Slice::new(0, Samples::none());
        Self {
            window,
            taken: Taken::new(window.measure_from),
            marks: Marks::default(),
            held: Held::new(threads, kept),
            records: Records { measure_to: window.measure_to, clean, others },
            stretches: VecDeque::with_capacity(STRETCHES_MAX),
            waited: vec![0; threads as usize],
        }
    }

    /// Takes a full slice, and returns an empty one for its worker.
    pub(crate) fn hold(&mut self, slice: Box<Slice>) -> Box<Slice> {
        let Self { held, marks, records, .. } = self;
        held.hold(slice, |slice| records.add(slice, marks))
    }

    /// Polls the machine if that is due at `now`. `threads` say how long each worker has waited for a core.
    pub(crate) fn poll(&mut self, now: Nanos, threads: &[ThreadTotals]) {
        let Some(stretch) = self.taken.poll(now) else { return };
        self.marks.add(&stretch);
        let Self { held, marks, records, .. } = self;
        held.release(marks, false, |slice| records.add(slice, marks));
        let waits = threads.iter().zip(&mut self.waited).map(|(thread, before)| {
            let now = thread.run_queue_wait_ns.unwrap_or_default();
            now.saturating_sub(std::mem::replace(before, now))
        });
        let waits = waits.collect();
        if stretch.from >= self.window.measure_from && stretch.to <= self.window.measure_to {
            if self.stretches.len() == STRETCHES_MAX {
                self.sort_stretch();
            }
            self.stretches.push_back((stretch, waits));
        }
        while self.stretches.front().is_some_and(|(stretch, _)| self.marks.know(stretch.to)) {
            self.sort_stretch();
        }
    }

    fn sort_stretch(&mut self) {
        let Some((stretch, waits)) = self.stretches.pop_front() else { return };
        if self.marks.reason(stretch.from, stretch.to).is_none() {
            self.records.clean.add_waits(&stretch, &waits);
        }
    }

    /// Adds all records so far to `sum`, also those that wait.
    pub(crate) fn add_so_far(&self, sum: &mut Slice) {
        for sorted in [&self.records.clean.all, &self.records.others] {
            sum.absorb(sorted);
            sum.counters.add(&sorted.counters);
        }
        for slice in self.held.waiting() {
            sum.absorb(slice);
            if slice.is_counted() {
                sum.counters.add(&slice.counters);
            }
        }
    }

    /// All records in one slice, and the clean ones.
    pub(crate) fn finish(mut self, now: Nanos, threads: &[ThreadTotals]) -> (Slice, CleanTotals) {
        self.taken.make_due();
        self.poll(now, threads);
        let Self { mut held, marks, mut records, taken, .. } = self;
        held.release(&marks, true, |slice| records.add(slice, &marks));
        let Records { mut clean, mut others, .. } = records;
        clean.taken = taken.is_known().then_some(taken.total);
        clean.finish();
        others.absorb(&clean.all);
        others.counters.add(&clean.all.counters);
        (others, clean)
    }
}

impl Records {
    fn add(&mut self, slice: &Slice, marks: &Marks) {
        let reason = marks.reason(slice.start, slice.end);
        let into = if reason.is_none() { &mut self.clean.all } else { &mut self.others };
        // A request of the measured part may be recorded in the slice before it, a connection in the warm-up.
        into.absorb(slice);
        // What is of the drain is part of no rate: its time, its idle workers and its last bytes.
        if !slice.is_counted() {
            return;
        }
        let to = slice.counted_to.min(self.measure_to);
        if reason.is_some() {
            self.others.counters.add(&slice.counters);
        }
        self.clean.add(slice, to.saturating_sub(slice.start), reason);
    }
}
