//! The run as a row of parts: seconds for the eye, finer parts for intervals.

use std::collections::BTreeMap;

use prony_model::{SecondPoint, TimePieces};
use prony_stats::{Histogram, Sparse};
use prony_summary::second_quantiles;

use crate::clock::Nanos;
use crate::record::slice::{SLICE, Slice};

/// Parts that are kept at most; when there are more, neighbours are joined and parts are twice as long.
const PARTS_MAX: usize = 480;
const SECOND: Nanos = 1_000_000_000;

/// The run in parts of equal length, from the beginning of the measured part.
pub(crate) struct Series {
    from: Nanos,
    threads: u32,
    parts: Parts,
    /// The same of service times, where the run is a share: those of all agents are evaluated together.
    services: Option<Parts>,
    /// Service times of the current slice.
    good_services: Histogram,
    /// Finished seconds.
    pub seconds: Vec<SecondPoint>,
    open_seconds: BTreeMap<u64, OpenSecond>,
}

/// A stretch of time in parts of equal length.
pub(crate) struct Parts {
    /// Length of a part.
    pub part: Nanos,
    /// Response times of the good responses of each part.
    responses: Vec<Sparse>,
    /// Good responses of each part.
    done: Vec<u64>,
    /// Of the part that is growing.
    current: (usize, Histogram),
}

#[derive(Default)]
struct OpenSecond {
    point: SecondPoint,
    covered: Nanos,
    responses: Histogram,
    services: Histogram,
}

impl Series {
    /// Of a run whose measured part begins at `from`; `is_share`: several agents do it.
    pub(crate) fn new(from: Nanos, threads: u32, is_share: bool) -> Self {
        Self {
            from,
            threads,
            parts: Parts::new(),
            services: is_share.then(Parts::new),
            good_services: Histogram::new(),
            seconds: Vec::new(),
            open_seconds: BTreeMap::new(),
        }
    }

    /// Adds a slice of the measured part, which ended at `to` if that is before the slice's end; `good` are the
    /// response times of its good responses.
    pub(crate) fn add(&mut self, slice: &Slice, to: Nanos, good: &Histogram) {
        let middle = (slice.start + (slice.end - slice.start) / 2).saturating_sub(self.from);
        self.good_services.clear();
        slice.add_good_services(&mut self.good_services);
        self.add_to_second(middle / SECOND, slice, to, good);
        self.parts.add(middle, slice.counters.done_now, good);
        if let Some(parts) = &mut self.services {
            parts.add(middle, slice.counters.done_now, &self.good_services);
        }
    }

    /// Length of a part.
    pub(crate) fn part(&self) -> Nanos {
        self.parts.part
    }

    /// Response times and counts of the whole parts before `to`.
    pub(crate) fn parts(&self, to: Nanos) -> (&[Sparse], &[u64]) {
        self.parts.before(to.saturating_sub(self.from))
    }

    /// The whole parts before `to` of a share, to be evaluated with those of the other agents.
    pub(crate) fn pieces(&self, to: Nanos) -> TimePieces {
        let texts = |parts: &[Sparse]| {
            let mut values = Histogram::new();
            let text = |part: &Sparse| {
                values.clear();
                values.add_sparse(part);
                if values.is_empty() { String::new() } else { values.to_base64_v2() }
            };
            parts.iter().map(text).collect()
        };
        let (response, done) = self.parts(to);
        let services = self.services.as_ref().map(|services| services.before(to.saturating_sub(self.from)));
        TimePieces {
            length_ns: self.part(),
            done: done.to_vec(),
            response: texts(response),
            service: texts(services.map_or(&[], |(service, _)| service)),
        }
    }

    /// Makes the part that is growing one of [`Self::parts`]; it may go on growing.
    pub(crate) fn pack(&mut self) {
        self.parts.finish();
    }

    /// Closes the last part and the last seconds.
    pub(crate) fn finish(&mut self) {
        self.parts.finish();
        if let Some(services) = &mut self.services {
            services.finish();
        }
        self.close_seconds(u64::MAX);
    }

    fn add_to_second(&mut self, second: u64, slice: &Slice, to: Nanos, good: &Histogram) {
        // Threads hand over within a slice of each other: two seconds back nothing can come any more.
        self.close_seconds(second.saturating_sub(2));
        let open = self.open_seconds.entry(second).or_default();
        open.point.second = second;
        open.point.sent += slice.counters.sent_now;
        *open.point.answered.get_or_insert_default() += slice.counters.answered_now;
        open.point.done += slice.counters.done_now;
        open.point.failed += slice.counters.failed_now;
        open.point.received_bytes += slice.counters.received_bytes;
        open.covered += to.saturating_sub(slice.start);
        open.responses.add(good);
        open.services.add(&self.good_services);
    }

    /// Closes seconds before `before`.
    fn close_seconds(&mut self, before: u64) {
        while let Some(entry) = self.open_seconds.first_entry().filter(|entry| *entry.key() < before) {
            let OpenSecond { mut point, covered, responses, services } = entry.remove();
            point.covered_s = covered as f64 / SECOND as f64 / f64::from(self.threads);
            [point.p50_ms, point.p99_ms, point.max_ms] = times(&responses);
            [point.service_p50_ms, point.service_p99_ms, point.service_max_ms] = times(&services);
            self.seconds.push(point);
        }
    }
}

impl Parts {
    /// None yet.
    pub(crate) fn new() -> Self {
        Self { part: SLICE, responses: Vec::new(), done: Vec::new(), current: (0, Histogram::new()) }
    }

    /// Adds `done` good responses of around the moment `at`, with their response times.
    pub(crate) fn add(&mut self, at: Nanos, done: u64, good: &Histogram) {
        let mut index = index_of(at / self.part);
        while index >= PARTS_MAX {
            self.finish();
            self.join_neighbours();
            index = index_of(at / self.part);
        }
        if self.responses.len() <= index {
            self.responses.resize_with(index + 1, Sparse::default);
            self.done.resize(index + 1, 0);
        }
        if self.current.0 != index {
            self.finish();
            self.current.0 = index;
        }
        self.current.1.add(good);
        self.done[index] += done;
    }

    /// Response times and counts of the whole parts before `to`.
    pub(crate) fn before(&self, to: Nanos) -> (&[Sparse], &[u64]) {
        let whole = index_of(to / self.part).min(self.responses.len());
        (&self.responses[..whole], &self.done[..whole])
    }

    /// Adds the growing part to those that are packed. Slices of several threads may still come to it later.
    pub(crate) fn finish(&mut self) {
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

/// Median, p99 and maximum of a second, milliseconds.
fn times(values: &Histogram) -> [Option<f64>; 3] {
    let [p50, p99] = second_quantiles(values);
    [p50, p99, values.max().map(|nanos| nanos as f64 / 1e6)]
}

fn index_of(part: u64) -> usize {
    usize::try_from(part).expect("invariant: a run has fewer parts than memory has bytes")
}

#[cfg(test)]
mod tests {
    use prony_model::{Outcome, StatusClass};

    use super::*;
    use crate::record::samples::Samples;

    const FROM: Nanos = 5_000;
    const PER_SECOND: u64 = SECOND / SLICE;
    const MAX: u64 = PARTS_MAX as u64;

    /// Slice number `index`, with `done` good responses of a millisecond.
    fn slice(index: u64, done: u64) -> Slice {
        let mut slice = Slice::new(0, Samples::none());
        slice.start = FROM + index * SLICE;
        slice.end = slice.start + SLICE;
        slice.counters.sent_now = done;
        slice.counters.done_now = done;
        let good = &mut slice.outcomes[Outcome::Done(StatusClass::Success).index()];
        good.response.record_n(1_000_000, done);
        good.service.record_n(400_000, done);
        slice.counters.answered_now = done + 1;
        slice
    }

    /// A run of so many `slices` by each thread: nothing is lost when parts are joined.
    fn check(slices: u64, threads: u32, expected_part: Nanos) {
        let mut series = Series::new(FROM, threads, false);
        for index in 0..slices {
            for _ in 0..threads {
                let slice = slice(index, index + 1);
                series.add(&slice, slice.end, &slice.good_responses());
            }
        }
        series.finish();
        let total = slices * (slices + 1) / 2 * u64::from(threads);
        let end = FROM + slices * SLICE;
        let (responses, done) = series.parts(end + expected_part);
        assert!(done.len() <= PARTS_MAX && responses.len() == done.len(), "{} parts", done.len());
        assert_eq!(series.part(), expected_part, "{slices} slices");
        assert_eq!(done.iter().sum::<u64>(), total);
        for (responses, done) in responses.iter().zip(done) {
            assert_eq!(responses.count(), *done, "each part has its own responses");
        }
        // A part holds the slices of its own time, however often it was joined.
        let per_part = expected_part / SLICE;
        let first: u64 = (1..=per_part.min(slices)).sum::<u64>() * u64::from(threads);
        assert_eq!(done[0], first);
        let (whole, _) = series.parts(end);
        assert_eq!(whole.len() as u64, slices / per_part, "the last part only if it is whole");

        assert_eq!(series.seconds.len() as u64, slices.div_ceil(PER_SECOND));
        assert_eq!(series.seconds.iter().map(|point| point.done).sum::<u64>(), total);
        let answered = series.seconds.iter().filter_map(|point| point.answered).sum::<u64>();
        assert_eq!(answered, total + slices * u64::from(threads));
        for point in &series.seconds {
            // Buckets are 0.1 % wide.
            let near =
                |found: Option<f64>, ms: f64| found.is_some_and(|found| (found / ms - 1.0).abs() < 0.001);
            assert!(near(point.p50_ms, 1.0) && near(point.service_p50_ms, 0.4), "{point:?}");
            assert!(near(point.max_ms, 1.0) && near(point.service_max_ms, 0.4), "{point:?}");
            assert_eq!(
                [point.p99_ms, point.service_p99_ms].map(|p99| p99.is_some()),
                [point.done >= 1000; 2]
            );
        }
        let numbers: Vec<u64> = series.seconds.iter().map(|point| point.second).collect();
        assert!(numbers.is_sorted(), "{numbers:?}");
        let covered_s: f64 = series.seconds.iter().map(|point| point.covered_s).sum();
        assert!((covered_s - slices as f64 / PER_SECOND as f64).abs() < 1e-6, "{covered_s}");
    }

    #[test]
    fn joined_parts_keep_every_response() {
        check(1, 1, SLICE);
        check(15, 2, SLICE);
        check(MAX, 1, SLICE);
        check(MAX + 1, 1, 2 * SLICE);
        check(2 * MAX, 3, 2 * SLICE);
        check(2 * MAX + 1, 1, 4 * SLICE);
        check(8 * MAX + 1, 1, 16 * SLICE);
    }

    #[test]
    fn a_slice_that_a_late_worker_hands_over_lies_in_its_middle() {
        let mut series = Series::new(FROM, 1, false);
        let first = slice(0, 1);
        series.add(&first, first.end, &first.good_responses());
        let mut long = slice(1, 5);
        long.end = FROM + 10_000 * SLICE;
        series.add(&long, long.end, &long.good_responses());
        series.finish();
        let (_, done) = series.parts(THE_END);
        assert_eq!(done.iter().sum::<u64>(), 6);
        assert!(done.len() <= PARTS_MAX, "{}", done.len());
    }

    /// Beyond all parts.
    const THE_END: Nanos = Nanos::MAX / 2;
}
