//! The distribution of the response time as horizontal bars.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use prony_model::HistogramData;

/// Lower bounds of the bins within a decade, the finest first: the first ladder that needs at most
/// [`MAX_BINS`] is taken.
const LADDERS: [&[f64]; 4] = [&[1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 8.0], &[1.0, 2.0, 5.0], &[1.0, 3.0], &[1.0]];
/// More rows than this push the numbers off the screen.
const MAX_BINS: usize = 14;
/// A histogram ends at ten days here; bins below a nanosecond don't exist.
const DECADES: std::ops::Range<i32> = 0..15;

/// A bin from `low_ns` on, up to the next one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Bin {
    pub(crate) low_ns: f64,
    pub(crate) count: u64,
}

/// The bins from the least to the greatest value; empty where there is nothing to show.
pub(crate) fn bins(data: &HistogramData) -> Vec<Bin> {
    let Some(histogram) = decode(data).filter(|histogram| !histogram.is_empty()) else { return Vec::new() };
    let all: Vec<Vec<Bin>> = LADDERS.iter().map(|ladder| fill(&histogram, ladder)).collect();
    let fitting = all.iter().position(|bins| bins.len() <= MAX_BINS).unwrap_or(all.len() - 1);
    all.into_iter().nth(fitting).unwrap_or_default()
}

fn decode(data: &HistogramData) -> Option<Histogram<u64>> {
    let bytes = STANDARD.decode(&data.data).ok()?;
    Deserializer::new().deserialize(&mut bytes.as_slice()).ok()
}

fn fill(histogram: &Histogram<u64>, ladder: &[f64]) -> Vec<Bin> {
    let mut bins: Vec<Bin> = DECADES
        .flat_map(|decade| ladder.iter().map(move |step| step * 10_f64.powi(decade)))
        .map(|low_ns| Bin { low_ns, count: 0 })
        .collect();
    for value in histogram.iter_recorded() {
        let at = value.value_iterated_to() as f64;
        let index = bins.partition_point(|bin| bin.low_ns <= at).saturating_sub(1);
        bins[index].count += value.count_at_value();
    }
    let filled = |bin: &Bin| bin.count > 0;
    let first = bins.iter().position(filled).unwrap_or(0);
    let last = bins.iter().rposition(filled).unwrap_or(0);
    bins.drain(first..=last).collect()
}

/// A bar of `share` (0..1) of `columns`; what is not zero is seen.
pub(crate) fn bar(share: f64, columns: usize, unicode: bool) -> String {
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
    use hdrhistogram::serialization::{Serializer as _, V2DeflateSerializer};

    fn data(values_ns: &[u64]) -> HistogramData {
        let mut histogram = Histogram::<u64>::new(3).expect("three digits are supported");
        for value in values_ns {
            histogram.record(*value).expect("the histogram grows");
        }
        let mut bytes = Vec::new();
        V2DeflateSerializer::new().serialize(&histogram, &mut bytes).expect("a vector takes everything");
        HistogramData { data: STANDARD.encode(bytes), ..HistogramData::default() }
    }

    #[test]
    fn bins_run_from_the_least_to_the_greatest() {
        let bins = bins(&data(&[1_600_000, 2_500_000, 2_600_000, 4_500_000]));
        let seen: Vec<(f64, u64)> = bins.iter().map(|bin| (bin.low_ns / 1e6, bin.count)).collect();
        assert_eq!(seen, [(1.5, 1), (2.0, 2), (3.0, 0), (4.0, 1)]);
    }

    #[test]
    fn wide_distributions_get_coarser_bins_and_lose_nothing() {
        let values: Vec<u64> = (0..10).map(|decade| 3 * 10_u64.pow(decade)).collect();
        let bins = bins(&data(&values));
        assert!(bins.len() <= MAX_BINS, "{bins:?}");
        assert_eq!(bins.iter().map(|bin| bin.count).sum::<u64>(), 10);
    }

    #[test]
    fn nothing_and_nonsense_are_no_bins() {
        assert!(bins(&HistogramData::default()).is_empty());
        assert!(bins(&HistogramData { data: "?".to_owned(), ..HistogramData::default() }).is_empty());
        assert!(bins(&data(&[])).is_empty());
    }

    #[test]
    fn bars() {
        assert_eq!(bar(0.0, 10, true), "");
        assert_eq!(bar(1e-9, 10, true), "▏");
        assert_eq!(bar(1.0, 4, true), "████");
        assert_eq!(bar(0.5, 4, false), "##");
        assert_eq!(bar(0.6, 4, true), "██▍");
    }
}
