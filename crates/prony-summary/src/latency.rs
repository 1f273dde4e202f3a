//! Distributions as summaries: milliseconds, quantiles that may be printed, and why the others may not.

use std::collections::BTreeMap;

use prony_model::words::{grouped, percent, plural};
use prony_model::{HistogramData, Histograms, Interval, Latencies, LatencySummary, QUANTILES, QuantileNote};
use prony_stats::{
    Censored, Estimate, Histogram, Precision, Quantile, Sparse, Withheld, clusters_of_slices, estimate,
    sectioning,
};

/// What the clocks of a run recorded; those of the good responses unless stated otherwise.
#[derive(Debug, Clone, Copy)]
pub struct Distributions<'a> {
    /// done − intended.
    pub response: &'a Histogram,
    /// The same by the kernel's clock, of those that have both stamps.
    pub kernel_response: &'a Histogram,
    /// done − sent.
    pub service: &'a Histogram,
    /// first byte − sent.
    pub first_byte: &'a Histogram,
    /// Connecting.
    pub connect: &'a Histogram,
    /// sent − ready.
    pub lag: &'a Histogram,
    /// ready − intended.
    pub blocked: &'a Histogram,
    /// Waits of all requests without an answer: each true latency is greater.
    pub cut_off: &'a Histogram,
    /// From being handed to the kernel to being sent by it.
    pub departure: &'a Histogram,
    /// From the kernel's sending to the kernel's receiving.
    pub network: &'a Histogram,
    /// From the kernel's receiving to the client's looking.
    pub arrival: &'a Histogram,
    /// Requests that were sent and had no answer when they were given up.
    pub sent_in_vain: u64,
    /// Good responses that were picked for the kernel's stamps.
    pub sampled: u64,
}

impl Distributions<'_> {
    /// The numbers of each clock, without intervals.
    pub fn latencies(&self) -> Latencies {
        let unanswered = Censored::Count(self.sent_in_vain);
        Latencies {
            response: summary(self.response, Censored::Waited(self.cut_off)),
            kernel_response: self.kernel_response(),
            service: summary(self.service, unanswered),
            first_byte: summary(self.first_byte, unanswered),
            connect: summary(self.connect, Censored::NONE),
            lag: summary(self.lag, Censored::NONE),
            blocked: summary(self.blocked, Censored::NONE),
            departure: summary(self.departure, Censored::NONE),
            network: summary(self.network, Censored::NONE),
            arrival: summary(self.arrival, Censored::NONE),
        }
    }

    /// For other tools, and to be merged with those of other agents.
    pub fn histograms(&self) -> Histograms {
        Histograms {
            response: histogram_data(self.response),
            kernel_response: histogram_data(self.kernel_response),
            service: histogram_data(self.service),
            first_byte: histogram_data(self.first_byte),
            connect: histogram_data(self.connect),
            lag: histogram_data(self.lag),
            blocked: histogram_data(self.blocked),
            censored: histogram_data(self.cut_off),
            departure: histogram_data(self.departure),
            network: histogram_data(self.network),
            arrival: histogram_data(self.arrival),
        }
    }

    /// Response times by the kernel's clock.
    ///
    /// Requests without stamps may well be the slowest, as the kernel drops stamps that nobody takes in time. So they
    /// count as slower than all others, like those without an answer, of which a sample has its share.
    fn kernel_response(&self) -> LatencySummary {
        let (sampled, stamped) = (self.sampled, self.kernel_response.count());
        let (good, cut_off) = (self.response.count(), self.cut_off.count());
        if sampled == 0 {
            return LatencySummary::default();
        }
        if (stamped as f64) < LEAST_COVERAGE * sampled as f64 {
            return withheld_whole(stamped, &too_few_stamps(stamped, sampled));
        }
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most `cut_off`")]
        let unanswered = (cut_off as f64 * (sampled as f64 / good.max(1) as f64).min(1.0)).ceil() as u64;
        let without = Censored::Count(sampled.saturating_sub(stamped) + unanswered);
        let above = |count| {
            format!(
                "{} had no answer in time or no stamps: it is greater than this",
                plural(count, "request")
            )
        };
        summary_with(self.kernel_response, without, above)
    }
}

/// Share of the good responses picked for stamps that must have both, for numbers of them to be printed.
const LEAST_COVERAGE: f64 = 0.99;

fn too_few_stamps(stamped: u64, sampled: u64) -> String {
    format!(
        "the kernel stamped only {} of {} responses; {} are needed",
        grouped(stamped),
        grouped(sampled),
        percent(LEAST_COVERAGE)
    )
}

/// A clock of `count` samples without any number, for one reason.
pub(crate) fn withheld_whole(count: u64, reason: &str) -> LatencySummary {
    let mut summary = LatencySummary { count, ..LatencySummary::default() };
    for (name, _) in QUANTILES {
        summary.quantiles_ms.insert(name.to_owned(), None);
        let note = QuantileNote { reason: reason.to_owned(), above_ms: None };
        summary.withheld.insert(name.to_owned(), note);
    }
    summary
}

/// `histogram` in milliseconds.
pub fn summary(histogram: &Histogram, censored: Censored<'_>) -> LatencySummary {
    summary_with(histogram, censored, |count| {
        format!("{} had no answer in time: it is greater than this", plural(count, "request"))
    })
}

/// `histogram` in milliseconds; `above` says why a quantile is only known from below.
fn summary_with(
    histogram: &Histogram,
    censored: Censored<'_>,
    above: impl Fn(u64) -> String,
) -> LatencySummary {
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
                let reason = above(censored);
                (None, Some(QuantileNote { reason, above_ms: Some(milliseconds(nanos)) }))
            }
            Estimate::Withheld { reason } => {
                (None, Some(QuantileNote { reason: describe(reason), above_ms: None }))
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
fn describe(reason: Withheld) -> String {
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

/// Adds the intervals of the quantiles that are printed: `parts` are the values of `total` in consecutive pieces of
/// `part_nanos`.
pub fn add_intervals(summary: &mut LatencySummary, total: &Histogram, parts: &[Sparse], part_nanos: u64) {
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
pub fn histogram_data(histogram: &Histogram) -> HistogramData {
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

    /// `stamped` of `sampled` responses took 1, 2, 3, … µs by the kernel's clock, the others are unknown.
    fn of(stamped: u64, sampled: u64, good: u64, cut_off: u64) -> LatencySummary {
        let nothing = Histogram::new();
        let kernel_response: Histogram = (1..=stamped).map(|index| index * 1_000).collect();
        let (mut response, mut waits) = (Histogram::new(), Histogram::new());
        response.record_n(1, good);
        waits.record_n(1, cut_off);
        let distributions = Distributions {
            response: &response,
            kernel_response: &kernel_response,
            service: &nothing,
            first_byte: &nothing,
            connect: &nothing,
            lag: &nothing,
            blocked: &nothing,
            cut_off: &waits,
            departure: &nothing,
            network: &nothing,
            arrival: &nothing,
            sent_in_vain: 0,
            sampled,
        };
        distributions.kernel_response()
    }

    fn p99_ms(summary: &LatencySummary) -> Option<f64> {
        summary.quantiles_ms.get("0.99").copied().flatten()
    }

    #[test]
    fn nothing_is_reported_of_a_kernel_that_was_not_asked() {
        assert_eq!(of(0, 0, 10_000, 5), LatencySummary::default());
    }

    #[test]
    fn too_few_stamps_withhold_every_number_and_say_so() {
        let found = of(9_899, 10_000, 10_000, 0);
        assert_eq!((found.count, found.max_ms, found.mean_ms), (9_899, None, None));
        assert!(found.quantiles_ms.values().all(Option::is_none), "{found:?}");
        let note = &found.withheld["0.5"].reason;
        assert_eq!(note, "the kernel stamped only 9,899 of 10,000 responses; 99 % are needed");
    }

    #[test]
    fn a_request_without_stamps_counts_as_slower_than_all_others() {
        // Rank 9,900 of 10,000, of which 9,950 are known and 50 lie above them.
        let found = of(9_950, 10_000, 10_000, 0);
        assert!(p99_ms(&found).is_some_and(|p99| (p99 - 9.9).abs() < 0.01), "{found:?}");
        assert_eq!(found.quantiles_ms["0.999"], None);
        assert!(found.withheld["0.999"].above_ms.is_some(), "{found:?}");
        // The last one is without a stamp, and 110 had no answer.
        assert_eq!(p99_ms(&of(9_999, 10_000, 10_000, 110)), None);
    }

    #[test]
    fn a_sample_has_its_share_of_the_unanswered() {
        // 64,000 good responses, one in 64 asked: 320 unanswered are five of the sample's.
        let found = of(1_000, 1_000, 64_000, 320);
        assert!(p99_ms(&found).is_some_and(|p99| (p99 - 0.995).abs() < 0.001), "{found:?}");
        assert_eq!(p99_ms(&of(1_000, 1_000, 1_000, 320)), None);
    }
}
