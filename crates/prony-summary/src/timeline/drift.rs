//! How the response time of a soak drifted: by little, all along, and beyond its own slow swings.

use prony_model::words::percent;
use prony_model::{Finding, FindingCode, Interval, LatencyDrift, Severity};
use prony_stats::{Histogram, P99_COUNT_MIN, drift};

use super::Timeline;

/// A soak: from this length on a drift is looked for that is smaller, but certain.
const SOAK_S: f64 = 300.0;
/// Drift over a soak that matters, as a share of the median of its parts.
const SOAK_DRIFT: f64 = 0.02;

impl Timeline<'_> {
    /// How the tail and the median drifted over a soak, the tail first: what grows without a bound shows there first.
    /// Nothing for a run that is no soak.
    pub fn drift(&self) -> Vec<LatencyDrift> {
        let settled = self.settled();
        let Some((first, _)) = settled.first() else { return Vec::new() };
        let (groups, hours) = (settled.len(), self.seconds(self.parts.len() - first) / 3600.0);
        if hours * 3600.0 < SOAK_S {
            return Vec::new();
        }
        let of = |(name, q, responses): (&str, f64, u64)| {
            let values = self.quantiles(q, responses)?;
            let found = drift(&values)?;
            let change = found.slope * groups as f64 / prony_stats::median(&values)?;
            let [slope, low, high] =
                [found.slope, found.low, found.high].map(|slope| slope * groups as f64 / hours);
            Some(LatencyDrift {
                quantile: name.to_owned(),
                per_hour_ms: slope,
                interval: Interval { low, high, indicative: false },
                change,
                tau: found.tau,
                p: found.p,
                correlation: found.correlation,
                parts: groups as u64,
                is_drift: found.is_certain() && change.abs() >= SOAK_DRIFT,
            })
        };
        [("p99", 0.99, P99_COUNT_MIN), ("p50", 0.5, 1)].into_iter().filter_map(of).collect()
    }

    /// The quantile of each group of parts after the warm-up, milliseconds; `None` where one has fewer `responses`.
    fn quantiles(&self, q: f64, responses: u64) -> Option<Vec<f64>> {
        let settled = self.settled();
        let ends = settled.iter().skip(1).map(|(next, _)| *next).chain([self.parts.len()]);
        let mut sum = Histogram::new();
        let of = |((first, _), end): (&(usize, f64), usize)| {
            sum.clear();
            self.parts[*first..end].iter().for_each(|part| sum.add_sparse(part));
            let value = sum.value_at_quantile(q).filter(|_| sum.count() >= responses)?;
            Some(value as f64 / 1e6)
        };
        settled.iter().zip(ends).map(of).collect()
    }
}

/// A soak drifted by little, all along and beyond what its own slow swings explain.
pub(crate) fn drifted(found: &[LatencyDrift]) -> Option<Finding> {
    let found = found.iter().find(|drift| drift.is_drift)?;
    let &LatencyDrift { ref quantile, per_hour_ms, interval, change, tau, p, correlation, .. } = found;
    let Interval { low, high, .. } = interval;
    let direction = if change > 0.0 { "rose" } else { "fell" };
    Some(Finding::new(
        FindingCode::NotSteady,
        Severity::Note,
        &[
            ("per_hour", per_hour_ms, "ms"),
            ("per_hour_low", low, "ms"),
            ("per_hour_high", high, "ms"),
            ("change", change, "share"),
            ("tau", tau, "ratio"),
            ("p", p, "probability"),
            ("correlation", correlation, "ratio"),
        ],
        format!(
            "the {quantile} response time {direction} all along, by {} in all: {per_hour_ms:+.3} ms per hour \
             [{low:+.3}, {high:+.3}], more than its slow swings",
            percent(change.abs())
        ),
        "run it for longer: what fills up reaches its limit and stays there, a leak goes on",
    ))
}

#[cfg(test)]
mod tests {
    use prony_stats::Sparse;

    use super::*;

    /// Parts of 5 s each: `count` of them, of which number `index` has a median of `us(index)`.
    fn soak(count: u32, us: impl Fn(f64) -> f64) -> Vec<Finding> {
        let mut all = Histogram::new();
        let parts: Vec<Sparse> = (0..count)
            .map(|index| {
                let mut part = Histogram::new();
                // Slow swings of 1 %, of another length than the groups, beside what is looked for.
                let swing = 1.0 + 0.01 * (f64::from(index) * 0.9).sin();
                part.record_n(nanos(us(f64::from(index)) * swing), 990);
                part.record_n(nanos(us(f64::from(index)) * 3.0 * swing), 30);
                all.add(&part);
                part.to_sparse()
            })
            .collect();
        let timeline = Timeline::new(&parts, 5_000_000_000, &all, 1.0);
        timeline.findings(&timeline.drift())
    }

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "microseconds, above 0")]
    fn nanos(us: f64) -> u64 {
        (us * 1000.0) as u64
    }

    #[test]
    fn a_soak_that_drifts_by_little() {
        // 360 parts are half an hour: 500 µs that rise by 0.1 µs each, and a p99 of three times that: 0.216 ms an hour.
        let found = soak(360, |index| 500.0 + 0.1 * index);
        let [only] = found.as_slice() else { panic!("{found:#?}") };
        assert_eq!((only.code, only.severity), (FindingCode::NotSteady, Severity::Note));
        let value = |name: &str| only.evidence.iter().find(|one| one.name == name).map(|one| one.value);
        let [slope, low, high] =
            ["per_hour", "per_hour_low", "per_hour_high"].map(|name| value(name).expect("it has one"));
        assert!((low..=high).contains(&0.216) && (slope - 0.216).abs() < 0.02, "{low} {slope} {high}");
        assert!(only.message.contains("the p99 response time rose all along, by 7"), "{}", only.message);
        assert_eq!(soak(360, |_| 500.0), [], "swings are no drift");
        assert_eq!(soak(40, |index| 500.0 + 0.3 * index), [], "200 s are no soak");
    }
}
