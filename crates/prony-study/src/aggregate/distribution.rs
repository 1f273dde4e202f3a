//! The merged distributions of a cell, as curve and bars.

use prony_model::{CurvePoint, HistogramBin};
use prony_stats::{CurvePlace, Histogram};

/// Points of a curve for every ten times as few slower responses.
const POINTS_PER_DECADE: u32 = 20;
/// Bars for every ten times as long a time: neighbours differ by 12 %, so that neither two modes nor the shape of a
/// narrow one hide in one bar.
const BINS_PER_DECADE: i32 = 20;
/// Nanoseconds of a millisecond.
const NANOS_PER_MS: f64 = 1e6;

/// The response and service times by quantile, even on a scale of the share of slower responses, as far as the
/// responses and the `failed` requests, which may have been slower than all, support it.
pub(super) fn curve(response: &Histogram, service: &Histogram, failed: u64) -> Vec<CurvePoint> {
    let places = prony_stats::curve_places(response.count(), failed, POINTS_PER_DECADE);
    let point = |CurvePlace { slower, quantile }| {
        Some(CurvePoint {
            quantile: 1.0 - slower,
            response_ms: response.value_at_quantile(quantile)? as f64 / NANOS_PER_MS,
            service_ms: service.value_at_quantile(quantile)? as f64 / NANOS_PER_MS,
        })
    };
    places.filter_map(point).collect()
}

/// The response times in bars of equal ratio, without the empty ones at both ends.
pub(super) fn bins(response: &Histogram) -> Vec<HistogramBin> {
    let (Some(min), Some(max)) = (response.min(), response.max()) else { return Vec::new() };
    let edge = |step: i32| 10_f64.powf(f64::from(step) / f64::from(BINS_PER_DECADE));
    let first = step_of(min);
    let last = step_of(max.min(prony_stats::HIGHEST_TRACKABLE_NANOS));
    let mut below = 0;
    let mut bins = Vec::new();
    for step in first..=last {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "an hour in nanoseconds fits"
        )]
        let end = edge(step + 1).ceil() as u64;
        let up_to =
            if step == last { response.count() } else { response.count_at_or_below(end.saturating_sub(1)) };
        bins.push(HistogramBin {
            from_ms: edge(step) / NANOS_PER_MS,
            to_ms: edge(step + 1) / NANOS_PER_MS,
            count: up_to - below,
        });
        below = up_to;
    }
    while bins.last().is_some_and(|bin| bin.count == 0) {
        bins.pop();
    }
    let empty = bins.iter().take_while(|bin| bin.count == 0).count();
    bins.drain(..empty);
    bins
}

/// The bar that `nanos` falls into, counted from 1 ns.
fn step_of(nanos: u64) -> i32 {
    #[expect(clippy::cast_possible_truncation, reason = "at most 20 per decade of 20 decades")]
    let step = ((nanos.max(1) as f64).log10() * f64::from(BINS_PER_DECADE)).floor() as i32;
    step
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A quarter of the responses at 0.3 ms and the rest at 2 ms, each a tenth wide.
    fn bimodal(count: u64) -> Histogram {
        let spread = |k: u64, middle: u64| middle * 95 / 100 + middle / 10 * (k % 97) / 97;
        (0..count).map(|k| spread(k, if k % 4 == 0 { 300_000 } else { 2_000_000 })).collect()
    }

    #[test]
    fn two_modes_are_two_hills() {
        let bins = bins(&bimodal(10_000));
        assert_eq!(bins.iter().map(|bin| bin.count).sum::<u64>(), 10_000);
        assert!(bins.windows(2).all(|pair| (pair[0].to_ms - pair[1].from_ms).abs() < 1e-12));
        assert!(bins.iter().all(|bin| (bin.to_ms / bin.from_ms - 10_f64.powf(0.05)).abs() < 1e-9));
        let hills: Vec<u64> = bins
            .split(|bin| bin.count == 0)
            .map(|hill| hill.iter().map(|bin| bin.count).sum())
            .filter(|count| *count > 0)
            .collect();
        assert_eq!(hills, [2500, 7500]);
        assert!(super::bins(&Histogram::new()).is_empty());
    }

    #[test]
    fn a_curve_ends_where_ten_responses_are_slower() {
        let histogram = bimodal(10_000);
        let points = curve(&histogram, &histogram, 0);
        let last = points.last().expect("points");
        assert!((last.quantile - 0.999).abs() < 1e-9, "{last:?}");
        assert!(points.windows(2).all(|pair| pair[0].quantile < pair[1].quantile
            && pair[0].response_ms <= pair[1].response_ms));
        assert!(curve(&bimodal(9), &bimodal(9), 0).is_empty());
    }

    #[test]
    fn failed_requests_cut_a_curve_short() {
        let histogram = bimodal(9_000);
        let last = *curve(&histogram, &histogram, 1000).last().expect("points");
        assert!((last.quantile - 0.9).abs() < 1e-9, "{last:?}");
        assert!((last.response_ms - 2.095).abs() < 0.01, "the slowest good one: {last:?}");
    }

    #[test]
    fn times_at_the_ends_of_the_scale() {
        let bars = bins(&[0, 1, u64::MAX].into_iter().collect());
        assert_eq!(bars.iter().map(|bin| bin.count).sum::<u64>(), 3);
        assert_eq!(bars[0].count, 2);
    }
}
