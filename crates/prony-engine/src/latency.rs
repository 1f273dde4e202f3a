//! Distributions as summaries: milliseconds, quantiles that may be printed, and why the others may not.

use std::collections::BTreeMap;

use prony_model::words::{grouped, plural};
use prony_model::{HistogramData, Interval, Latencies, LatencySummary, QUANTILES, QuantileNote};
use prony_stats::{
    Censored, Estimate, Histogram, Precision, Quantile, Sparse, Withheld, clusters_of_slices, estimate,
    sectioning,
};

use crate::collect::Totals;

/// The clocks of the good responses; `cut_off` are the waits of the requests without an answer.
pub(crate) fn latencies(
    totals: &Totals,
    responses: &Histogram,
    services: &Histogram,
    cut_off: &Histogram,
) -> Latencies {
    let mut response = summary(responses, Censored::Waited(cut_off));
    let (parts, _) = totals.series.parts(totals.measured_to);
    add_intervals(&mut response, responses, parts, totals.series.part());
    Latencies {
        response,
        service: summary(services, Censored::NONE),
        first_byte: summary(&totals.all.first_byte, Censored::NONE),
        connect: summary(&totals.all.connect, Censored::NONE),
        lag: summary(&totals.all.lag, Censored::NONE),
        blocked: summary(&totals.all.blocked, Censored::NONE),
        departure: summary(&totals.stamps.departure, Censored::NONE),
        network: summary(&totals.stamps.network, Censored::NONE),
        arrival: summary(&totals.stamps.arrival, Censored::NONE),
    }
}

/// `histogram` in milliseconds.
pub(crate) fn summary(histogram: &Histogram, censored: Censored<'_>) -> LatencySummary {
    let mut summary = LatencySummary {
        count: histogram.count(),
        min_ms: histogram.min().map(milliseconds),
        mean_ms: histogram.mean().map(|nanos| nanos / 1e6),
        stddev_ms: histogram.std_dev().map(|nanos| nanos / 1e6),
        max_ms: histogram.max().map(milliseconds),
        ..LatencySummary::default()
    };
    for (name, q) in QUANTILES {
        let q = Quantile::new(q).expect("invariant: a constant in 0..=1");
        let (value, note) = match estimate(histogram, q, censored) {
            Estimate::Value { nanos } => (Some(milliseconds(nanos)), None),
            Estimate::AtLeast { nanos, censored } => {
                let reason =
                    format!("{} had no answer in time: it is greater than this", plural(censored, "request"));
                (None, Some(QuantileNote { reason, above_ms: Some(milliseconds(nanos)) }))
            }
            Estimate::Withheld { reason } => {
                (None, Some(QuantileNote { reason: in_words(reason), above_ms: None }))
            }
        };
        summary.quantiles_ms.insert(name.to_owned(), value);
        if let Some(note) = note {
            summary.withheld.insert(name.to_owned(), note);
        }
    }
    summary
}

/// Why a quantile is withheld; of whatever was counted, be it requests or connections.
fn in_words(reason: Withheld) -> String {
    match reason {
        Withheld::NoSamples => "there are none".to_owned(),
        Withheld::TooFewExceedances { exceedances, samples, needed } => format!(
            "only {} of {} lie beyond it; {} are needed",
            grouped(exceedances),
            grouped(samples),
            grouped(needed)
        ),
    }
}

/// Adds the intervals of the quantiles that are printed.
pub(crate) fn add_intervals(
    summary: &mut LatencySummary,
    total: &Histogram,
    parts: &[Sparse],
    part_nanos: u64,
) {
    for (name, q) in QUANTILES {
        let printed = summary.quantiles_ms.get(name).copied().flatten();
        let (Some(level), Some(_)) = (total.value_at_quantile(q), printed) else { continue };
        let q = Quantile::new(q).expect("invariant: a constant in 0..=1");
        let clusters = clusters_of_slices(parts, level, part_nanos);
        let (interval, indicative) = match sectioning(parts, total, q, clusters) {
            Precision::Known { interval, .. } => (interval, false),
            Precision::Indicative { interval, .. } => (interval, true),
            Precision::Withheld { .. } => continue,
        };
        let interval = Interval { low: interval.low / 1e6, high: interval.high / 1e6, indicative };
        summary.intervals_ms.insert(name.to_owned(), interval);
    }
    order_intervals(&mut summary.intervals_ms);
}

/// Makes the ends of intervals rise with their quantiles: whatever is above the p50's lower end bounds the p90, too.
fn order_intervals(intervals_ms: &mut BTreeMap<String, Interval>) {
    let ascending = QUANTILES.map(|(name, _)| name);
    let mut low = 0.0;
    for name in ascending {
        if let Some(interval) = intervals_ms.get_mut(name) {
            interval.low = interval.low.max(low);
            low = interval.low;
        }
    }
    let mut high = f64::INFINITY;
    for name in ascending.into_iter().rev() {
        if let Some(interval) = intervals_ms.get_mut(name) {
            interval.high = interval.high.min(high);
            high = interval.high;
        }
    }
}

/// The distribution for other tools; empty ones have no text.
pub(crate) fn histogram_data(histogram: &Histogram) -> HistogramData {
    HistogramData {
        encoding: "hdrhistogram-v2-deflate-base64".to_owned(),
        unit: "ns".to_owned(),
        count: histogram.count(),
        data: if histogram.is_empty() { String::new() } else { histogram.to_base64_v2() },
    }
}

#[inline]
fn milliseconds(nanos: u64) -> f64 {
    nanos as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_of_intervals_rise_with_their_quantiles() {
        let interval = |low, high| Interval { low, high, indicative: false };
        let mut intervals = BTreeMap::from([
            ("0.5".to_owned(), interval(2.0, 9.0)),
            ("0.9".to_owned(), interval(1.0, 8.0)),
            ("0.99".to_owned(), interval(3.0, 12.0)),
        ]);
        order_intervals(&mut intervals);
        let ends = |name: &str| (intervals[name].low, intervals[name].high);
        assert_eq!([ends("0.5"), ends("0.9"), ends("0.99")], [(2.0, 8.0), (2.0, 8.0), (3.0, 12.0)]);
    }
}
