//! How much of the slowest responses was the client's own delay.
//!
//! Histograms of both can't decide: the requests that were slow are not those that the client delayed, or they are.
//! So the delays are summed up by the response time of their requests.

use crate::clock::Nanos;

/// Buckets for each doubling of the response time: each is 6 % wide.
const PER_DOUBLING: u32 = 1 << PER_DOUBLING_BITS;
const PER_DOUBLING_BITS: u32 = 4;
/// Response times below 2^10 ns, a microsecond, share the first bucket; those from 2^42 ns on, 73 minutes, the last.
const FIRST_BITS: u32 = 10;
const LAST_BITS: u32 = 42;
const BUCKETS: usize = ((LAST_BITS - FIRST_BITS) * PER_DOUBLING) as usize;

/// Sums by response time, in memory of a fixed size (12 KiB).
#[derive(Debug, Clone)]
pub(crate) struct OwnDelay {
    buckets: Box<[Bucket]>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Bucket {
    count: u64,
    own_ns: u64,
    response_ns: u64,
}

/// The slowest responses.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Tail {
    /// Mean of the client's own delay.
    pub own_ns: f64,
    /// Mean response time.
    pub response_ns: f64,
}

impl OwnDelay {
    /// Nothing recorded.
    pub(crate) fn new() -> Self {
        Self { buckets: vec![Bucket::default(); BUCKETS].into_boxed_slice() }
    }

    /// A response that took `response`, of which `own` was the client's.
    #[inline]
    pub(crate) fn record(&mut self, response: Nanos, own: Nanos) {
        let bucket = &mut self.buckets[index(response)];
        bucket.count += 1;
        bucket.own_ns += own.min(response);
        bucket.response_ns += response;
    }

    /// Adds what another one recorded.
    pub(crate) fn add(&mut self, other: &Self) {
        for (mine, theirs) in self.buckets.iter_mut().zip(&other.buckets) {
            mine.count += theirs.count;
            mine.own_ns += theirs.own_ns;
            mine.response_ns += theirs.response_ns;
        }
    }

    /// The response time that a share `q` (0..1) of all does not exceed, to 6 %; `None` without any.
    pub(crate) fn quantile(&self, q: f64) -> Option<Nanos> {
        let count: u64 = self.buckets.iter().map(|bucket| bucket.count).sum();
        let wanted = (count as f64 * q).max(1.0);
        let mut seen = 0;
        let at = self.buckets.iter().find(|bucket| {
            seen += bucket.count;
            seen as f64 >= wanted
        })?;
        at.response_ns.checked_div(at.count)
    }

    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        self.buckets.fill(Bucket::default());
    }

    /// The means over the slowest `share` (0..1) of all responses; `None` without any. Of the bucket in which that
    /// share begins, as much as belongs to it is taken, at the bucket's mean.
    pub(crate) fn slowest(&self, share: f64) -> Option<Tail> {
        let count: u64 = self.buckets.iter().map(|bucket| bucket.count).sum();
        let wanted = count as f64 * share;
        let mut tail = Tail { own_ns: 0.0, response_ns: 0.0 };
        let mut left = wanted;
        for bucket in self.buckets.iter().rev().filter(|bucket| bucket.count > 0) {
            let part = (left / bucket.count as f64).min(1.0);
            tail.own_ns += part * bucket.own_ns as f64 / wanted;
            tail.response_ns += part * bucket.response_ns as f64 / wanted;
            left -= part * bucket.count as f64;
            if left <= 0.0 {
                return Some(tail);
            }
        }
        (count > 0).then_some(tail)
    }
}

/// The bucket of a response time.
#[inline]
fn index(response: Nanos) -> usize {
    let bounded = response.clamp(1 << FIRST_BITS, (1 << LAST_BITS) - 1);
    let bits = bounded.ilog2();
    // The bits behind the first one say where between two powers of two it lies.
    let within = (bounded >> (bits - PER_DOUBLING_BITS)) as usize - PER_DOUBLING as usize;
    (bits - FIRST_BITS) as usize * PER_DOUBLING as usize + within
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_in_order_without_gaps() {
        assert_eq!((index(0), index(1 << FIRST_BITS), index(Nanos::MAX)), (0, 0, BUCKETS - 1));
        let mut last = 0;
        let mut value = 1 << FIRST_BITS;
        while value < 1 << LAST_BITS {
            let found = index(value);
            assert!(found == last || found == last + 1, "{value}: {found} after {last}");
            last = found;
            value += value / 32;
        }
        assert_eq!(last, BUCKETS - 1);
    }

    /// Of 1000 responses of `fast` and ten of `slow`: (response, own).
    fn check(fast: (Nanos, Nanos), slow: (Nanos, Nanos), share: f64, expected: (f64, f64)) {
        let (mut one, mut other) = (OwnDelay::new(), OwnDelay::new());
        (0..990).for_each(|_| one.record(fast.0, fast.1));
        (0..10).for_each(|_| other.record(slow.0, slow.1));
        one.add(&other);
        let tail = one.slowest(share).expect("there are responses");
        let near = |found: f64, expected: f64| (found - expected).abs() <= expected * 1e-9;
        assert!(near(tail.own_ns, expected.0) && near(tail.response_ns, expected.1), "{tail:?} {expected:?}");
        one.clear();
        assert_eq!(one.slowest(share), None);
    }

    #[test]
    fn the_tail_is_that_of_the_slowest_requests() {
        check((1_000_000, 10), (20_000_000, 15_000_000), 0.01, (15e6, 20e6));
        // The slowest 2 %: ten slow ones, and ten of the others at their mean.
        check((1_000_000, 0), (20_000_000, 10_000_000), 0.02, (5e6, 10.5e6));
        check((1_000_000, 500_000), (1_000_000, 500_000), 0.01, (5e5, 1e6));
        // More of its own than there was: rounding between two clocks.
        check((1_000_000, 0), (2_000_000, 2_000_500), 0.01, (2e6, 2e6));
    }

    #[test]
    fn quantiles_are_those_of_the_response_times() {
        let mut delay = OwnDelay::new();
        assert_eq!(delay.quantile(0.5), None);
        (0..990).for_each(|_| delay.record(20_000, 0));
        (0..10).for_each(|_| delay.record(5_000_000, 0));
        assert_eq!(
            [0.0, 0.5, 0.99, 0.995, 1.0].map(|q| delay.quantile(q)),
            [Some(20_000), Some(20_000), Some(20_000), Some(5_000_000), Some(5_000_000)]
        );
    }

    #[test]
    fn what_the_client_delayed_elsewhere_is_not_blamed() {
        check((1_000_000, 900_000), (20_000_000, 1_000), 0.01, (1_000.0, 20e6));
    }
}
