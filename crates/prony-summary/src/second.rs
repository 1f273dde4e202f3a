//! The quantiles of a second: its median, and a p99 where enough values support it.

use prony_stats::{Histogram, P99_COUNT_MIN};

/// Median and p99 of `values`, nanoseconds, in milliseconds; no p99 of fewer than [`P99_COUNT_MIN`].
pub fn second_quantiles(values: &Histogram) -> [Option<f64>; 2] {
    let p99 = values.value_at_quantile(0.99).filter(|_| values.count() >= P99_COUNT_MIN);
    [values.value_at_quantile(0.5), p99].map(|nanos| Some(nanos? as f64 / 1e6))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_p99_needs_a_thousand_values() {
        let check = |count: u64, expected: [bool; 2]| {
            let mut values = Histogram::new();
            values.record_n(2_000_000, count);
            let found = second_quantiles(&values);
            assert_eq!(found.map(|value| value.is_some()), expected, "{count}");
            // Buckets are 0.1 % wide.
            assert!(found.into_iter().flatten().all(|ms| (ms / 2.0 - 1.0).abs() < 0.001), "{found:?}");
        };
        check(0, [false, false]);
        check(1, [true, false]);
        check(999, [true, false]);
        check(1000, [true, true]);
    }
}
