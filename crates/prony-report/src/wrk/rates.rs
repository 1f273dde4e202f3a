//! wrk's second statistic: requests per second of each thread, sampled ten times a second.

use std::time::Duration;

use prony_model::SliceCounts;

/// wrk looks at each of its threads this often.
const SAMPLE: Duration = Duration::from_millis(100);

/// The samples of every thread.
#[derive(Debug, Clone, Default)]
pub struct Rates {
    samples_per_s: Vec<f64>,
    threads: Vec<Open>,
}

/// A sample under way.
#[derive(Debug, Clone, Copy, Default)]
struct Open {
    took: Duration,
    answered: u64,
}

impl Rates {
    /// Takes in a part of a thread's time.
    pub fn add(&mut self, slice: &SliceCounts) {
        let index = slice.thread as usize;
        if index >= self.threads.len() {
            self.threads.resize(index + 1, Open::default());
        }
        let open = &mut self.threads[index];
        open.took += slice.took;
        open.answered += slice.answered;
        // As in wrk, a time without any answer goes into the next sample.
        if open.took >= SAMPLE && open.answered > 0 {
            let open = std::mem::take(open);
            self.samples_per_s.push((open.answered as f64 / open.took.as_secs_f64()).floor());
        }
    }

    /// Whole requests per second, one number for each sample.
    pub(super) fn samples_per_s(&self) -> &[f64] {
        &self.samples_per_s
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(slices: &[(u32, u64, u64)], expected: &[f64]) {
        let mut rates = Rates::default();
        for (thread, took_ms, answered) in slices {
            let took = Duration::from_millis(*took_ms);
            rates.add(&SliceCounts { thread: *thread, took, answered: *answered, done: 0, failed: 0 });
        }
        assert_eq!(rates.samples_per_s(), expected, "{slices:?}");
    }

    #[test]
    fn slices_make_up_samples_of_a_tenth_of_a_second() {
        check(&[(0, 50, 10), (0, 50, 20)], &[300.0]);
        check(&[(0, 50, 10), (1, 50, 20), (1, 60, 2), (0, 50, 1)], &[200.0, 110.0]);
        check(&[(0, 50, 0), (0, 50, 0), (0, 50, 3)], &[20.0]);
        check(&[(0, 50, 10)], &[]);
    }
}
