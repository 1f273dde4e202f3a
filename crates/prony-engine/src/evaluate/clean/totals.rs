//! What was recorded in clean slices, and what was cut.

use std::collections::BTreeMap;

use prony_model::CutReason;
use prony_stats::Histogram;

use super::marks::Stretch;
use crate::clock::Nanos;
use crate::record::collect::ThreadTotals;
use crate::record::samples::Samples;
use crate::record::series::Parts;
use crate::record::slice::Slice;

/// The records of the clean slices.
pub(crate) struct CleanTotals {
    /// All records, in one slice.
    pub all: Slice,
    /// By thread.
    pub threads: Vec<ThreadTotals>,
    /// One after the other, without the gaps between them.
    pub parts: Parts,
    /// Slices of the measured part.
    pub slices: u64,
    /// Their length, of all threads together.
    pub wall: Nanos,
    /// The clean ones of them.
    pub clean_slices: u64,
    /// The others, by reason.
    pub cut: BTreeMap<CutReason, u64>,
    /// Taken from all cores over the measured part; `None` where the system does not say.
    pub taken: Option<Nanos>,
    /// Of each thread: how long it waited for a core, and over which clean time.
    waits: Vec<(Nanos, Nanos)>,
    /// Clean time of each thread so far.
    offsets: Vec<Nanos>,
    /// Response times of the good responses of the slice at hand.
    good: Histogram,
}

impl CleanTotals {
    pub(crate) fn new(threads: usize) -> Self {
        Self {
            all: Slice::new(0, Samples::none()),
            threads: vec![ThreadTotals::default(); threads],
            parts: Parts::new(),
            slices: 0,
            wall: 0,
            clean_slices: 0,
            cut: BTreeMap::new(),
            taken: None,
            waits: vec![(0, 0); threads],
            offsets: vec![0; threads],
            good: Histogram::new(),
        }
    }

    /// Takes a slice of the measured part, of which `counted` belongs to rates: a clean one, or one that is cut.
    pub(crate) fn add(&mut self, slice: &Slice, counted: Nanos, reason: Option<CutReason>) {
        self.slices += 1;
        self.wall += counted;
        if let Some(reason) = reason {
            *self.cut.entry(reason).or_default() += 1;
            return;
        }
        self.clean_slices += 1;
        let thread = slice.thread as usize;
        self.threads[thread].add(slice);
        self.all.counters.add(&slice.counters);
        self.good.clear();
        slice.add_good_responses(&mut self.good);
        self.parts.add(self.offsets[thread] + counted / 2, slice.counters.done_now, &self.good);
        self.offsets[thread] += counted;
    }

    /// Clean time of all threads together.
    pub(crate) fn clean_wall(&self) -> Nanos {
        self.offsets.iter().sum()
    }

    /// Clean time of the thread that has least: up to there the parts are whole.
    pub(crate) fn whole_to(&self) -> Nanos {
        self.offsets.iter().copied().min().unwrap_or_default()
    }

    /// Share of the measured time that is clean.
    pub(crate) fn share(&self) -> f64 {
        if self.wall == 0 { 0.0 } else { self.clean_wall() as f64 / self.wall as f64 }
    }

    /// No slice comes any more.
    pub(crate) fn finish(&mut self) {
        self.parts.finish();
        for (thread, (waited, over)) in self.threads.iter_mut().zip(&self.waits) {
            // Stretches and slices lie side by side, but not exactly: the share is what both have.
            let of_wall = u128::from(*waited) * u128::from(thread.wall);
            let scaled = of_wall.checked_div(u128::from(*over));
            thread.run_queue_wait_ns = scaled.and_then(|waited| Nanos::try_from(waited).ok());
        }
    }

    /// Takes how long each thread waited for a core over a `stretch` that was clean.
    pub(crate) fn add_waits(&mut self, stretch: &Stretch, waited: &[Nanos]) {
        for (thread, waited) in self.waits.iter_mut().zip(waited) {
            thread.0 += waited;
            thread.1 += stretch.to - stretch.from;
        }
    }
}
