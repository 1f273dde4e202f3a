//! A distribution as HdrHistogram prints it (`.hgrm`), for its plotters and for people who are used to it.
//!
//! Source of the format: HdrHistogram `AbstractHistogram.java`, `outputPercentileDistribution`, and
//! `PercentileIterator.java`. Values are in milliseconds with six decimals, so that nanoseconds survive. They
//! come from the histogram alone, as in any other tool that reads it: each is the greatest of its bucket, at
//! most 0.1 % above the truth, and so are the mean and the maximum below the table.

use std::fmt::Write as _;

use prony_model::{Clock, RunResult};
use prony_stats::{HIGHEST_TRACKABLE_NANOS, Histogram, SIGNIFICANT_DIGITS};
use prony_summary::{DistributionError, distribution};

/// Lines from one halving of the distance to 100 % to the next: what HdrHistogram's own tools print.
const TICKS_PER_HALF_DISTANCE: u32 = 5;
const NS_PER_MS: f64 = 1e6;

/// The distribution of `clock`, without lines where nothing was recorded; an error where it is damaged.
pub fn run(result: &RunResult, clock: Clock) -> Result<String, DistributionError> {
    Ok(table(&distribution(result, clock)?.unwrap_or_default()))
}

fn table(histogram: &Histogram) -> String {
    let mut text =
        format!("{:>12} {:>14} {:>10} {:>14}\n\n", "Value", "Percentile", "TotalCount", "1/(1-Percentile)");
    for Line { nanos, quantile, count } in lines(histogram) {
        let value_ms = nanos as f64 / NS_PER_MS;
        // Writing to a `String` can't fail.
        let _ = write!(text, "{value_ms:12.6} {quantile:2.12} {count:10}");
        // The last line has no distance to 100 %.
        let _ =
            if quantile < 1.0 { writeln!(text, " {:14.2}", 1.0 / (1.0 - quantile)) } else { writeln!(text) };
    }
    let (mean, max) = (histogram.mean().unwrap_or_default(), histogram.max().unwrap_or_default());
    let (buckets, sub_buckets) = layout();
    let _ = write!(
        text,
        "#[Mean    = {:12.6}, StdDeviation   = {:12.6}]\n\
         #[Max     = {:12.6}, Total count    = {:12}]\n\
         #[Buckets = {buckets:12}, SubBuckets     = {sub_buckets:12}]\n",
        mean / NS_PER_MS,
        deviation(histogram) / NS_PER_MS,
        max as f64 / NS_PER_MS,
        histogram.count()
    );
    text
}

/// One line of the table.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Line {
    nanos: u64,
    /// The level that the line stands for, 0..=1; 1 only in the last one.
    quantile: f64,
    /// Values up to this one.
    count: u64,
}

/// Ever smaller steps towards 100 %, until one ends in the last bucket; then 100 % itself.
fn lines(histogram: &Histogram) -> Vec<Line> {
    let total = histogram.count();
    let mut lines = Vec::new();
    let (mut levels, mut count) = (levels(), 0);
    let mut level = levels.next().unwrap_or(1.0);
    for bucket in histogram.buckets() {
        count += bucket.count;
        while count as f64 / total as f64 >= level {
            lines.push(Line { nanos: bucket.high, quantile: level, count });
            level = levels.next().unwrap_or(1.0);
            if count == total {
                lines.push(Line { quantile: 1.0, ..lines[lines.len() - 1] });
                return lines;
            }
        }
    }
    lines
}

/// 0, 0.1, … 0.4, 0.5, 0.55, … 0.75, 0.775, …: so many equal steps in each half of what is left. It ends where a
/// double can't come nearer to 1.
fn levels() -> impl Iterator<Item = f64> {
    (0..f64::MANTISSA_DIGITS).flat_map(|halvings| {
        let left = 0.5_f64.powi(halvings.cast_signed());
        let step = left / f64::from(2 * TICKS_PER_HALF_DISTANCE);
        (0..TICKS_PER_HALF_DISTANCE).map(move |tick| 1.0 - left + f64::from(tick) * step)
    })
}

/// The standard deviation of these values, which HdrHistogram prints: over n, not n − 1.
fn deviation(histogram: &Histogram) -> f64 {
    let n = histogram.count() as f64;
    histogram.std_dev().map_or(0.0, |sample| sample * ((n - 1.0) / n).sqrt())
}

/// The number of buckets and of the parts of each, as HdrHistogram counts them for our range and digits.
fn layout() -> (u32, u64) {
    let sub_buckets = (2 * 10_u64.pow(SIGNIFICANT_DIGITS.into())).next_power_of_two();
    let doublings = (HIGHEST_TRACKABLE_NANOS / sub_buckets).ilog2() + 1;
    (doublings + 1, sub_buckets)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hdrhistogram::serialization::Deserializer;

    type Theirs = hdrhistogram::Histogram<u64>;

    /// The same lines, at the same levels, as the crate of that name makes of the same histogram.
    fn check(values: &[u64]) {
        let ours: Histogram = values.iter().copied().collect();
        let ours = Histogram::from_base64_v2(&ours.to_base64_v2()).expect("our own words");
        let theirs: Theirs =
            Deserializer::new().deserialize(&mut ours.to_v2_deflate().as_slice()).expect("the format");
        let lines = lines(&ours);
        let expected: Vec<_> = theirs.iter_quantiles(TICKS_PER_HALF_DISTANCE).collect();
        assert_eq!(lines.len(), expected.len(), "{lines:?}");
        let mut seen = 0;
        for (line, expected) in lines.iter().zip(expected) {
            seen += expected.count_since_last_iteration();
            assert_eq!(line.nanos, theirs.highest_equivalent(expected.value_iterated_to()), "{line:?}");
            assert!((line.quantile - expected.quantile_iterated_to()).abs() < 1e-12, "{line:?}");
            assert_eq!(line.count, seen, "{line:?}");
        }
        assert!((deviation(&ours) - theirs.stdev()).abs() <= 1e-3 * theirs.stdev() + 1.0);
        assert!((ours.mean().expect("values") - theirs.mean()).abs() <= 1e-3 * theirs.mean() + 1.0);
    }

    /// Levels are reached exactly at k/10 of a power of two only if they divide the number of values; a prime
    /// keeps the two ways to add up levels from falling on different sides of one.
    #[test]
    fn the_lines_are_those_of_hdrhistogram() {
        check(&[7]);
        check(&[0, 0, 0]);
        check(&[1_000_000; 13]);
        check(&[5, 2_000_000, 3_000_000_000]);
        check(&(1..=9973).map(|i| i * i * 37).collect::<Vec<_>>());
        check(&(1..=101).map(|i| 1 << (i % 40)).collect::<Vec<_>>());
    }

    #[test]
    fn the_last_line_has_no_distance_and_every_value_before_it() {
        let text = table(&[1_500_000, 1_500_000, 2_500_000, 90_000_000].into_iter().collect());
        let last = text.lines().rfind(|line| !line.starts_with('#')).expect("a line");
        assert_eq!(last, "   90.046463 1.000000000000          4");
        assert_eq!(layout(), (32, 2048));
    }
}
