//! The run as a row of parts: seconds for the eye, finer parts for intervals.

use std::collections::BTreeMap;

use prony_model::SecondPoint;
use prony_stats::{Histogram, Sparse};

use crate::clock::Nanos;
use crate::slice::{SLICE, Slice};

/// Parts that are kept at most; when there are more, neighbours are joined and parts are twice as long.
const PARTS_MAX: usize = 480;
/// Quantiles of a second need so many samples: ten beyond the 99th percentile.
const P99_SAMPLES: u64 = 1000;
const SECOND: Nanos = 1_000_000_000;

/// The run in parts of equal length, from the beginning of the measured part.
pub(crate) struct Series {
    from: Nanos,
    threads: u32,
    /// Length of a part.
    pub part: Nanos,
    /// Response times of the good responses of each part.
    pub responses: Vec<Sparse>,
    /// Good responses of each part.
    pub done: Vec<u64>,
    /// Of the part that is growing.
    current: (usize, Histogram),
    /// Finished seconds.
    pub seconds: Vec<SecondPoint>,
    open_seconds: BTreeMap<u64, OpenSecond>,
}

#[derive(Default)]
struct OpenSecond {
    point: SecondPoint,
    covered: Nanos,
    responses: Histogram,
}

impl Series {
    /// Of a run whose measured part begins at `from`.
    pub(crate) fn new(from: Nanos, threads: u32) -> Self {
        Self {
            from,
            threads,
            part: SLICE,
            responses: Vec::new(),
            done: Vec::new(),
            current: (0, Histogram::new()),
            seconds: Vec::new(),
            open_seconds: BTreeMap::new(),
        }
    }

    /// Adds a slice of the measured part, which ended at `to` if that is before the slice's end; `good` are the
    /// response times of its good responses.
    pub(crate) fn add(&mut self, slice: &Slice, to: Nanos, good: &Histogram) {
        let middle = (slice.start + (slice.end - slice.start) / 2).saturating_sub(self.from);
        self.add_to_second(middle / SECOND, slice, to, good);
        let mut index = index_of(middle / self.part);
        while index >= PARTS_MAX {
            self.put_away();
            self.join_neighbours();
            index = index_of(middle / self.part);
        }
        if self.responses.len() <= index {
            self.responses.resize_with(index + 1, Sparse::default);
            self.done.resize(index + 1, 0);
        }
        if self.current.0 != index {
            self.put_away();
            self.current.0 = index;
        }
        self.current.1.add(good);
        self.done[index] += slice.counters.done_now;
    }

    /// Response times and counts of the whole parts before `to`.
    pub(crate) fn parts(&self, to: Nanos) -> (&[Sparse], &[u64]) {
        let whole = index_of(to.saturating_sub(self.from) / self.part).min(self.responses.len());
        (&self.responses[..whole], &self.done[..whole])
    }

    /// Closes the last part and the last seconds.
    pub(crate) fn finish(&mut self) {
        self.put_away();
        self.close_seconds(u64::MAX);
    }

    fn add_to_second(&mut self, second: u64, slice: &Slice, to: Nanos, good: &Histogram) {
        // Threads hand over within a slice of each other: two seconds back nothing can come any more.
        self.close_seconds(second.saturating_sub(2));
        let open = self.open_seconds.entry(second).or_default();
        open.point.second = second;
        open.point.sent += slice.counters.sent_now;
        open.point.done += slice.counters.done_now;
        open.point.failed += slice.counters.failed_now;
        open.point.received_bytes += slice.counters.received_bytes;
        open.covered += to.saturating_sub(slice.start);
        open.responses.add(good);
    }

    /// Closes seconds before `before`.
    fn close_seconds(&mut self, before: u64) {
        while let Some(entry) = self.open_seconds.first_entry().filter(|entry| *entry.key() < before) {
            let OpenSecond { mut point, covered, responses } = entry.remove();
            let milliseconds = |nanos: u64| nanos as f64 / 1e6;
            point.covered_s = covered as f64 / SECOND as f64 / f64::from(self.threads);
            point.p50_ms = responses.value_at_quantile(0.5).map(milliseconds);
            let enough = responses.count() >= P99_SAMPLES;
            point.p99_ms = responses.value_at_quantile(0.99).filter(|_| enough).map(milliseconds);
            point.max_ms = responses.max().map(milliseconds);
            self.seconds.push(point);
        }
    }

    /// Adds the growing part to those that are packed. Slices of several threads may still come to it later.
    fn put_away(&mut self) {
        let (index, grown) = &mut self.current;
        if let Some(packed) = self.responses.get_mut(*index).filter(|_| !grown.is_empty()) {
            grown.add_sparse(packed);
            *packed = grown.to_sparse();
            grown.clear();
        }
    }

    fn join_neighbours(&mut self) {
        self.part *= 2;
        let mut sum = Histogram::new();
        let joined = self.responses.chunks(2).map(|pair| {
            sum.clear();
            for part in pair {
                sum.add_sparse(part);
            }
            sum.to_sparse()
        });
        self.responses = joined.collect();
        self.done = self.done.chunks(2).map(|pair| pair.iter().sum()).collect();
    }
}

fn index_of(part: u64) -> usize {
    usize::try_from(part).expect("invariant: a run has fewer parts than memory has bytes")
}
