//! How many requests had been answered at each moment of the measured part.

use crate::clock::Nanos;
use crate::record::slice::SLICE;

/// Parts that are kept at most; when there are more, neighbours are joined and parts are twice as long.
const PARTS_MAX: usize = 480;

/// Answers over time.
#[derive(Debug)]
pub(super) struct Answers {
    from: Nanos,
    part: Nanos,
    counts: Vec<f64>,
}

impl Answers {
    /// None yet; the measured part begins at `from`.
    pub(super) fn new(from: Nanos) -> Self {
        Self { from, part: SLICE, counts: Vec::new() }
    }

    /// Adds `count` answers that came evenly between two moments.
    pub(super) fn add(&mut self, start: Nanos, end: Nanos, count: u64) {
        let (start, end) = (start.saturating_sub(self.from), end.saturating_sub(self.from));
        if count == 0 || end <= start {
            return;
        }
        while end.div_ceil(self.part) > PARTS_MAX as u64 {
            self.part *= 2;
            self.counts = self.counts.chunks(2).map(|pair| pair.iter().sum()).collect();
        }
        let per_nano = count as f64 / (end - start) as f64;
        let mut at = start;
        while at < end {
            let index = at / self.part;
            let next = ((index + 1) * self.part).min(end);
            let index = usize::try_from(index).expect("invariant: parts are bounded");
            if self.counts.len() <= index {
                self.counts.resize(index + 1, 0.0);
            }
            self.counts[index] += per_nano * (next - at) as f64;
            at = next;
        }
    }

    /// Answers before `at`; within a part, by the time.
    pub(super) fn until(&self, at: Nanos) -> f64 {
        let into = at.saturating_sub(self.from);
        let whole = usize::try_from(into / self.part).unwrap_or(usize::MAX).min(self.counts.len());
        let before: f64 = self.counts[..whole].iter().sum();
        let share = (into % self.part) as f64 / self.part as f64;
        before + self.counts.get(whole).map_or(0.0, |part| part * share)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FROM: Nanos = 5_000;

    fn near(value: f64, expected: f64) {
        assert!((value - expected).abs() < 1e-6, "{value} is not {expected}");
    }

    #[test]
    fn within_a_part_they_go_by_the_time() {
        let mut answers = Answers::new(FROM);
        for index in 0..4 {
            answers.add(FROM + index * SLICE, FROM + (index + 1) * SLICE, 100 * (index + 1));
        }
        let until = |quarters: u64| answers.until(FROM + quarters * SLICE / 4);
        near(until(0), 0.0);
        near(until(2), 50.0);
        near(until(9), 375.0);
        near(until(16), 1000.0);
        near(until(36), 1000.0);
        near(answers.until(0), 0.0);
    }

    #[test]
    fn long_slices_are_spread_and_long_runs_joined() {
        let mut answers = Answers::new(FROM);
        let long = 3 * SLICE * PARTS_MAX as u64;
        answers.add(FROM, FROM + long, 3_000_000);
        near(answers.until(FROM + long / 3), 1_000_000.0);
        near(answers.until(FROM + long), 3_000_000.0);
        assert!(answers.counts.len() <= PARTS_MAX);
        // What came before the measured part counts from its beginning.
        let mut early = Answers::new(FROM + SLICE);
        early.add(FROM, FROM + 2 * SLICE, 10);
        near(early.until(FROM + 2 * SLICE), 10.0);
        early.add(0, FROM, 10);
        near(early.until(Nanos::MAX), 10.0);
    }
}
