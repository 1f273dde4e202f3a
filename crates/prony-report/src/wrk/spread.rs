//! What wrk says of a distribution.

use prony_stats::Histogram;

use super::Rates;

/// Mean, standard deviation, greatest, and the share within one standard deviation of the mean (0..1).
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Spread {
    pub(super) mean: f64,
    pub(super) deviation: f64,
    pub(super) max: f64,
    pub(super) within: f64,
}

impl Spread {
    /// Of latencies; microseconds.
    pub(super) fn of_times(times: &Histogram) -> Self {
        let (Some(mean), Some(max)) = (times.mean(), times.max()) else { return Self::default() };
        let deviation = times.std_dev().unwrap_or_default();
        let within: u64 = times
            .buckets()
            .filter(|bucket| (f64::midpoint(bucket.low as f64, bucket.high as f64) - mean).abs() <= deviation)
            .map(|bucket| bucket.count)
            .sum();
        Self {
            mean: mean / 1000.0,
            deviation: deviation / 1000.0,
            max: (max / 1000) as f64,
            within: within as f64 / times.count() as f64,
        }
    }

    /// Of the threads' rates; requests per second.
    pub(super) fn of_rates(rates: &Rates) -> Self {
        let samples = rates.samples_per_s();
        if samples.is_empty() {
            return Self::default();
        }
        let count = samples.len() as f64;
        let mean = samples.iter().sum::<f64>() / count;
        let squares: f64 = samples.iter().map(|sample| (sample - mean).powi(2)).sum();
        let deviation = if samples.len() > 1 { (squares / (count - 1.0)).sqrt() } else { 0.0 };
        let within = samples.iter().filter(|sample| (*sample - mean).abs() <= deviation).count();
        Self {
            mean,
            deviation,
            max: samples.iter().copied().fold(0.0, f64::max),
            within: within as f64 / count,
        }
    }
}
