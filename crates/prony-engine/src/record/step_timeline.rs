//! Each step of a scenario along the run: how many were due in each part of it, how many of those failed, and how long the
//! good ones took.
//!
//! The worker's loop records into it, so its memory is there before the run, and bounded however long the run is and
//! however many steps there are: parts grow with the run, and the buckets of a part are coarse. They are log-linear, as
//! those of HdrHistogram, with 16 for twice as long a time.

use prony_model::StepPoint;
use prony_stats::P99_COUNT_MIN;

use crate::clock::Nanos;

/// Parts of one step at most: more than the columns of a small chart.
const PARTS_MAX: usize = 240;
/// Parts of all steps of one worker at most: 8 MiB.
const PARTS_OF_ALL_MAX: usize = 4096;
/// The shortest part, and that of a run whose length is not known before.
const SECOND: Nanos = 1_000_000_000;
/// Buckets for twice as long a time are 2 to the power of this: half of a bucket's width is 3 % of its time.
const FINE: u32 = 4;
/// The finest unit, 2 to the power of this in nanoseconds: about a microsecond.
const UNIT: u32 = 10;
/// The longest time that is distinguished, 2 to the power of this in nanoseconds: 73 minutes.
const LONGEST: u32 = 42;
/// Buckets of a part.
const BUCKETS: usize = ((LONGEST - UNIT - FINE + 1) << FINE) as usize;

/// All steps of a worker.
#[derive(Default)]
pub(crate) struct StepTimelines {
    /// Length of a part.
    part: Nanos,
    /// Parts of each step.
    parts: usize,
    /// Step by step, part by part.
    counts: Box<[Counts]>,
    /// As many for each of `counts`. Pages that are never written cost no memory.
    buckets: Box<[u32]>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Counts {
    ended: u64,
    failed: u64,
    longest: Nanos,
}

impl Counts {
    fn add(&mut self, other: Self) {
        self.ended += other.ended;
        self.failed += other.failed;
        self.longest = self.longest.max(other.longest);
    }
}

impl StepTimelines {
    /// For so many steps of a run that measures for `measured`, where that is known.
    pub(crate) fn new(steps: usize, measured: Option<Nanos>) -> Self {
        // An even number, so that neighbours can be joined.
        let parts = (PARTS_OF_ALL_MAX / steps.max(1)).clamp(2, PARTS_MAX) / 2 * 2;
        let seconds = measured.map_or(1, |measured| measured.div_ceil(SECOND).div_ceil(parts as u64));
        Self {
            part: seconds.max(1) * SECOND,
            parts,
            counts: vec![Counts::default(); parts * steps].into(),
            buckets: vec![0; parts * steps * BUCKETS].into(),
        }
    }

    /// A step that was due at `at`, from the beginning of the measured part, took so long, or failed.
    pub(crate) fn record(&mut self, step: usize, at: Nanos, took: Option<Nanos>) {
        while at / self.part >= self.parts as u64 {
            self.join_neighbours();
        }
        let Ok(part) = usize::try_from(at / self.part) else { return };
        let place = step * self.parts + part;
        let counts = &mut self.counts[place];
        counts.ended += 1;
        match took {
            None => counts.failed += 1,
            Some(took) => {
                counts.longest = counts.longest.max(took);
                let count = &mut self.buckets[place * BUCKETS + bucket(took)];
                *count = count.saturating_add(1);
            }
        }
    }

    /// Adds those of another worker of the same run.
    pub(crate) fn add(&mut self, mut other: Self) {
        while self.part < other.part {
            self.join_neighbours();
        }
        while other.part < self.part {
            other.join_neighbours();
        }
        for (mine, theirs) in self.counts.iter_mut().zip(&other.counts) {
            mine.add(*theirs);
        }
        for (mine, theirs) in self.buckets.iter_mut().zip(&other.buckets) {
            *mine = mine.saturating_add(*theirs);
        }
    }

    /// Parts become twice as long.
    fn join_neighbours(&mut self) {
        self.part *= 2;
        let (parts, buckets) = (self.parts, &mut self.buckets);
        for step in 0..self.counts.len() / parts {
            for part in 0..parts {
                let (from, to) = (step * parts + part, step * parts + part / 2);
                // The first of two is moved onto what was moved from there before.
                let moved = std::mem::take(&mut self.counts[from]);
                if part % 2 == 0 {
                    self.counts[to] = moved;
                } else {
                    self.counts[to].add(moved);
                }
                if moved.ended == moved.failed {
                    continue;
                }
                for bucket in 0..BUCKETS {
                    let count = std::mem::take(&mut buckets[from * BUCKETS + bucket]);
                    let sum = &mut buckets[to * BUCKETS + bucket];
                    *sum = sum.saturating_add(count);
                }
            }
        }
    }

    /// The timeline of a step in a run that measured for so long.
    pub(crate) fn points(&self, step: usize, measured: Nanos) -> Vec<StepPoint> {
        let seconds = |nanos: Nanos| nanos as f64 / SECOND as f64;
        let is_over = |part: usize| part as u64 * self.part >= measured.max(1);
        let parts = (0..self.parts).take_while(|part| !is_over(*part));
        let point = |part: usize| {
            let from = part as u64 * self.part;
            let place = step * self.parts + part;
            let Counts { ended, failed, longest } = self.counts[place];
            let buckets = &self.buckets[place * BUCKETS..][..BUCKETS];
            let quantile =
                |q: f64| quantile(buckets, ended - failed, q).map(|nanos| nanos.min(longest) as f64 / 1e6);
            StepPoint {
                at_s: seconds(from),
                covered_s: seconds(self.part.min(measured - from)),
                ended,
                failed,
                p50_ms: quantile(0.5),
                p99_ms: quantile(0.99).filter(|_| ended - failed >= P99_COUNT_MIN),
                max_ms: (ended > failed).then_some(longest as f64 / 1e6),
            }
        };
        parts.map(point).collect()
    }
}

/// The bucket of a time.
fn bucket(nanos: Nanos) -> usize {
    let units = nanos.min((1 << LONGEST) - 1) >> UNIT;
    let shift = (u64::BITS - units.leading_zeros()).saturating_sub(FINE + 1);
    // Within its power of two the time is 16 to 31 of the bucket's units; below the first one it is 0 to 15.
    usize::try_from((u64::from(shift) << FINE) + (units >> shift)).expect("invariant: below BUCKETS")
}

/// The middle of a bucket.
fn middle(bucket: usize) -> Nanos {
    let fine = 1_u64 << FINE;
    let shift = (bucket as u64 >> FINE).saturating_sub(1);
    let units = bucket as u64 - (shift << FINE);
    debug_assert!(units < 2 * fine, "invariant: as `bucket` makes them");
    ((2 * units + 1) << (shift + u64::from(UNIT))) / 2
}

/// The time at quantile `q` of `count` times.
fn quantile(buckets: &[u32], count: u64, q: f64) -> Option<Nanos> {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a rank of a count")]
    let rank = ((q * count as f64).ceil() as u64).max(1);
    let mut seen = 0;
    let found = buckets.iter().position(|count| {
        seen += u64::from(*count);
        seen >= rank
    });
    found.map(middle)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_near_the_middle_of_its_bucket() {
        let mut last = 0;
        for step in 0..420 {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "below 2^42")]
            let nanos = 2_f64.powf(f64::from(step) / 10.0) as Nanos;
            let found = bucket(nanos);
            assert!(found < BUCKETS && found >= last, "{nanos} in {found} behind {last}");
            last = found;
            let error = middle(found).abs_diff(nanos) as f64;
            assert!(error <= 0.032 * nanos as f64 || error <= 512.0, "{nanos}: {}", middle(found));
        }
        assert_eq!((bucket(0), bucket(1 << LONGEST), bucket(Nanos::MAX)), (0, BUCKETS - 1, BUCKETS - 1));
    }

    /// Ten steps due in each second of `seconds`, one of which fails, the others of 1 ms, and one of 5 ms in the second 3.
    fn recorded(seconds: u64, steps: usize, measured: Option<Nanos>) -> StepTimelines {
        let mut timelines = StepTimelines::new(steps, measured);
        for second in 0..seconds {
            for step in 0..steps {
                for tenth in 0..10 {
                    let took = if second == 3 && tenth == 5 { 5_000_000 } else { 1_000_000 };
                    timelines.record(
                        step,
                        second * SECOND + tenth * 100_000_000,
                        (tenth > 0).then_some(took),
                    );
                }
            }
        }
        timelines
    }

    fn check(seconds: u64, steps: usize, is_known: bool) {
        let measured = seconds * SECOND;
        let timelines = recorded(seconds, steps, is_known.then_some(measured));
        assert!(timelines.counts.len() <= PARTS_OF_ALL_MAX.max(2 * steps), "{seconds} {steps}");
        for step in [0, steps - 1] {
            let points = timelines.points(step, measured);
            assert!(points.len() <= PARTS_MAX && !points.is_empty(), "{seconds} {steps}: {}", points.len());
            let sum = |of: fn(&StepPoint) -> u64| points.iter().map(of).sum::<u64>();
            assert_eq!((sum(|point| point.ended), sum(|point| point.failed)), (10 * seconds, seconds));
            let covered: f64 = points.iter().map(|point| point.covered_s).sum();
            assert!((covered - seconds as f64).abs() < 1e-9, "{covered}");
            assert!(points.iter().all(|point| point.p50_ms.is_some_and(|ms| (0.97..=1.03).contains(&ms))));
            assert!(points.iter().any(|point| point.max_ms == Some(5.0)), "no spike is lost");
        }
    }

    #[test]
    fn nothing_is_lost_however_long_the_run_and_however_many_the_steps() {
        for is_known in [true, false] {
            check(4, 1, is_known);
            check(240, 1, is_known);
            check(241, 2, is_known);
            check(1000, 3, is_known);
            check(40, 256, is_known);
        }
        assert_eq!(recorded(10, 1, None).points(0, 10 * SECOND).len(), 10, "a part is a second");
    }

    #[test]
    fn workers_are_added_whatever_the_length_of_their_parts() {
        let measured = 700 * SECOND;
        let mut all = recorded(700, 2, None);
        all.add(recorded(10, 2, None));
        let points = all.points(1, measured);
        assert_eq!(points.iter().map(|point| point.ended).sum::<u64>(), 7_100);
        assert!((points[0].covered_s - 4.0).abs() < 1e-9 && points[0].ended == 80, "{:?}", points[0]);
    }

    #[test]
    fn a_99th_percentile_needs_a_thousand() {
        let of = |count: u64| {
            let mut timelines = StepTimelines::new(1, None);
            (0..count).for_each(|at| timelines.record(0, 0, Some(1_000_000 * (1 + at % 100))));
            timelines.points(0, SECOND)[0].p99_ms
        };
        assert_eq!(of(999), None);
        assert!(of(1000).is_some_and(|ms| (96.0..103.0).contains(&ms)), "{:?}", of(1000));
    }
}
