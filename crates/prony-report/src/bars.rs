//! The distribution of the response time as horizontal bars.

use prony_model::HistogramData;
use prony_stats::{Bin, Histogram};

/// More rows than this push the numbers off the screen.
const BINS_MAX: usize = 12;
const NS_PER_MS: f64 = 1e6;

/// One bar, ready to draw.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Bar {
    /// Where the bin begins, in the unit that was asked for.
    pub(crate) low: String,
    pub(crate) count: u64,
    /// Where the last bin ends, when it is wider than the others.
    pub(crate) up_to_ms: Option<f64>,
}

/// The bars from the least to the greatest value, `per_ms` units of the labels to a millisecond; empty where
/// there is nothing to show.
pub(crate) fn bars(data: &HistogramData, per_ms: f64) -> Vec<Bar> {
    let Ok(histogram) = Histogram::from_base64_v2(&data.data) else { return Vec::new() };
    let bins = histogram.bins(BINS_MAX);
    let edges: Vec<f64> = bins.iter().map(|bin| bin.low as f64 / NS_PER_MS * per_ms).collect();
    let decimals = decimals(&edges);
    let width = bins.first().map(span);
    bins.iter()
        .zip(edges)
        .map(|(bin, low)| Bar {
            low: format!("{low:.decimals$}"),
            count: bin.count,
            up_to_ms: (Some(span(bin)) > width).then_some(bin.high as f64 / NS_PER_MS),
        })
        .collect()
}

fn span(bin: &Bin) -> u64 {
    bin.high - bin.low
}

/// The fewest decimals with which every edge is written exactly, so that points stand below each other.
fn decimals(edges: &[f64]) -> usize {
    const MOST: usize = 6;
    let exact = |decimals: usize| {
        edges.iter().all(|edge| {
            let scaled = edge * 10_f64.powi(i32::try_from(decimals).unwrap_or(0));
            (scaled - scaled.round()).abs() < 1e-6
        })
    };
    (0..MOST).find(|decimals| exact(*decimals)).unwrap_or(MOST)
}

/// A bar of `share` (0..1) of `columns`; what is not zero is seen.
pub(crate) fn drawn(share: f64, columns: usize, unicode: bool) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "between 0 and eight times the columns of a terminal"
    )]
    let steps = |per_column: f64| (share.clamp(0.0, 1.0) * columns as f64 * per_column).round() as usize;
    if share <= 0.0 {
        return String::new();
    }
    if unicode {
        let eighths = steps(8.0).max(1);
        format!("{}{}", "█".repeat(eighths / 8), EIGHTHS[eighths % 8])
    } else {
        "#".repeat(steps(1.0).max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(values_ns: &[u64], per_ms: f64, expected: &[(&str, u64)]) {
        let mut histogram = Histogram::new();
        for value in values_ns {
            histogram.record(*value);
        }
        let data = HistogramData { data: histogram.to_base64_v2(), ..HistogramData::default() };
        let bars = bars(&data, per_ms);
        let seen: Vec<(&str, u64)> = bars.iter().map(|bar| (bar.low.as_str(), bar.count)).collect();
        assert_eq!(seen, expected);
    }

    #[test]
    fn edges_are_written_exactly_and_alike() {
        let bars =
            [("1.50", 1), ("1.65", 0), ("1.80", 0), ("1.95", 0), ("2.10", 0), ("2.25", 0), ("2.40", 1)];
        check(&[1_600_000, 2_500_000, 2_600_000], 1.0, &[&bars[..], &[("2.55", 1)]].concat());
    }

    #[test]
    fn nothing_and_nonsense_are_no_bars() {
        check(&[], 1.0, &[]);
        assert!(bars(&HistogramData::default(), 1.0).is_empty());
        assert!(bars(&HistogramData { data: "?".to_owned(), ..HistogramData::default() }, 1.0).is_empty());
    }

    #[test]
    fn what_is_not_zero_is_seen() {
        assert_eq!(drawn(0.0, 10, true), "");
        assert_eq!(drawn(1e-9, 10, true), "▏");
        assert_eq!(drawn(1.0, 4, true), "████");
        assert_eq!(drawn(0.5, 4, false), "##");
        assert_eq!(drawn(0.6, 4, true), "██▍");
    }
}
