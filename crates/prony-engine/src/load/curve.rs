//! How many requests are due by a moment: the integral of a rate that changes, and its exact inverse.

use prony_model::{Rate, Stages};

use crate::clock::Nanos;

/// Sums of rates times lengths are whole numbers more often than binary fractions show: so close to one, they are it.
const ROUNDING: f64 = 1e-9;

/// The integral of a rate over time, in straight or bent pieces. Time is counted in nanoseconds from the beginning of the
/// measured part, and requests from there, too: both are negative in the warm-up.
#[derive(Debug)]
pub(crate) struct Curve {
    pieces: Box<[Piece]>,
    /// Requests at the end of the last piece.
    total: f64,
}

/// A stretch of time in which the rate changes in a straight line.
#[derive(Debug)]
struct Piece {
    /// Its beginning.
    from_ns: f64,
    length_ns: f64,
    /// Requests at its beginning.
    first: f64,
    /// Requests per nanosecond at its beginning.
    rate: f64,
    /// Its change per nanosecond.
    slope: f64,
}

impl Curve {
    /// Of `stages` after a warm-up at their first rate.
    pub(crate) fn of_stages(stages: &Stages, warmup: Nanos) -> Self {
        let per_ns = |per_s: f64| per_s / 1e9;
        let warmup_rate = per_ns(stages.first_per_s());
        let mut pieces = vec![Piece::steady(-(warmup as f64), warmup as f64, warmup_rate)];
        pieces[0].first = snapped(-warmup_rate * warmup as f64);
        let (mut from_ns, mut first) = (0.0, 0.0);
        for stage in &stages.0 {
            let length_ns = stage.duration.as_nanos() as f64;
            let (rate, to) = (per_ns(stage.from_per_s), per_ns(stage.to_per_s));
            pieces.push(Piece { from_ns, length_ns, first, rate, slope: (to - rate) / length_ns });
            from_ns += length_ns;
            first = snapped(first + stage.requests());
        }
        Self { pieces: pieces.into(), total: first }
    }

    /// Of one rate, after a warm-up at the same, without an end.
    pub(crate) fn steady(rate: Rate, warmup: Nanos) -> Self {
        let rate = rate.as_per_second() / 1e9;
        let mut piece = Piece::steady(-(warmup as f64), f64::INFINITY, rate);
        piece.first = snapped(-rate * warmup as f64);
        Self { pieces: [piece].into(), total: f64::INFINITY }
    }

    /// Requests by the beginning of the warm-up: 0, or fewer.
    pub(crate) fn begins(&self) -> f64 {
        self.pieces.first().map_or(0.0, |piece| piece.first)
    }

    /// When the warm-up begins.
    pub(crate) fn begins_ns(&self) -> f64 {
        self.pieces.first().map_or(0.0, |piece| piece.from_ns)
    }

    /// When the rate ends.
    pub(crate) fn ends_ns(&self) -> f64 {
        self.pieces.last().map_or(0.0, |piece| piece.from_ns + piece.length_ns)
    }

    /// Requests that are due before `at_ns`.
    pub(crate) fn at(&self, at_ns: f64) -> f64 {
        let after = self.pieces.partition_point(|piece| piece.from_ns <= at_ns);
        let Some(piece) = after.checked_sub(1).and_then(|last| self.pieces.get(last)) else {
            return self.begins();
        };
        let passed = (at_ns - piece.from_ns).min(piece.length_ns);
        let end = self.pieces.get(after).map_or(self.total, |next| next.first);
        (piece.first + passed * (piece.rate + piece.slope * passed / 2.0)).min(end)
    }

    /// The whole nanosecond in which `count` requests are reached, in the piece whose they are; `None` if never. Where
    /// the rate is 0 meanwhile, the next request is due when it no longer is.
    pub(crate) fn reaches(&self, count: f64) -> Option<f64> {
        if count >= self.total {
            return None;
        }
        let after = self.pieces.partition_point(|piece| piece.first <= count);
        let piece = self.pieces.get(after.checked_sub(1)?)?;
        let passed = piece.passed(count - piece.first).floor();
        Some(piece.from_ns + passed.clamp(0.0, (piece.length_ns - 1.0).max(0.0)))
    }
}

impl Piece {
    fn steady(from_ns: f64, length_ns: f64, rate: f64) -> Self {
        Self { from_ns, length_ns, first: 0.0, rate, slope: 0.0 }
    }

    /// The time in which this piece has so many `requests`: the root of rate·t + slope·t²/2 that doesn't cancel, so that
    /// it is exact for slopes near 0 and 0, too.
    fn passed(&self, requests: f64) -> f64 {
        let root = (self.rate * self.rate + 2.0 * self.slope * requests).max(0.0).sqrt();
        let twice = self.rate + root;
        if twice > 0.0 { 2.0 * requests / twice } else { 0.0 }
    }
}

/// `count`, or the whole number beside it.
fn snapped(count: f64) -> f64 {
    let whole = count.round();
    if (count - whole).abs() <= ROUNDING + whole.abs() * 4.0 * f64::EPSILON { whole } else { count }
}

#[cfg(test)]
mod tests {
    use prony_model::Stage;
    use proptest::prelude::*;

    use super::*;

    fn curve(text: &str) -> Curve {
        Curve::of_stages(&Stages::parse(text).expect("stages"), 0)
    }

    #[test]
    fn a_ramp_is_reached_by_its_closed_form() {
        // r(t) = 100 t: n requests after sqrt(n / 50) seconds.
        let ramp = curve("0..1000/s:10s");
        for count in [0_u32, 1, 2, 50, 4999] {
            let expected = (f64::from(count) / 50.0).sqrt() * 1e9;
            let actual = ramp.reaches(count.into()).expect("it is reached");
            assert!((actual - expected).abs() <= 1.0, "{count}: {actual} {expected}");
        }
        assert_eq!(ramp.reaches(5000.0), None);
        // Down again: the last one at the end, where the rate is nearly 0.
        let down = curve("1000..0/s:10s");
        let last = down.reaches(4999.0).expect("it is reached");
        assert!((last - (10.0 - (1.0_f64 / 50.0).sqrt()) * 1e9).abs() <= 2.0, "{last}");
    }

    #[test]
    fn a_request_that_falls_to_a_pause_is_due_after_it() {
        let pause = curve("100/s:1s,0:5s,100/s:1s");
        assert_eq!(pause.reaches(99.0), Some(0.99e9));
        assert_eq!(pause.reaches(100.0), Some(6e9));
        assert_eq!(curve("0:2s,10/s:1s").reaches(0.0), Some(2e9));
        assert_eq!(curve("10/s:1s,0:2s").reaches(10.0), None);
    }

    #[test]
    fn a_slope_of_next_to_nothing_is_that_of_none() {
        let (flat, sloped) = (curve("1000/s:7200s"), curve("1000..1000.0000001/s:7200s"));
        for count in [0.0, 1.0, 1e3, 1e6, 7_199_999.0] {
            let [flat, sloped] = [&flat, &sloped].map(|curve| curve.reaches(count).expect("it is reached"));
            assert!((flat - count * 1e6).abs() <= 1.0 && (flat - sloped).abs() <= 1e3, "{flat} {sloped}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]

        #[test]
        fn integral_and_inverse_agree(
            rates in prop::collection::vec((0_u32..5000, 0_u32..5000, 1_u64..20_000), 1..8),
            warmup_ms in 0_u64..3000,
            part in 0.0_f64..1.0,
        ) {
            let stages = Stages(rates.into_iter().map(|(from, to, ms)| Stage {
                name: None,
                from_per_s: from.into(),
                to_per_s: to.into(),
                duration: std::time::Duration::from_millis(ms),
            }).collect());
            let curve = Curve::of_stages(&stages, warmup_ms * 1_000_000);
            let count = curve.begins() + (curve.total - curve.begins()) * part;
            prop_assert_eq!(curve.reaches(curve.total), None);
            if let Some(at_ns) = curve.reaches(count) {
                prop_assert!(at_ns >= curve.begins_ns() && at_ns < curve.ends_ns());
                let (before, after) = (curve.at(at_ns), curve.at(at_ns + 1.0));
                prop_assert!(before <= count + 1e-3 && after >= count - 1e-3, "{} {} {}", before, count, after);
                let from_model = stages.requests_until(at_ns / 1e9);
                prop_assert!(at_ns < 0.0 || (from_model - before).abs() < 1e-3 , "{} {}", from_model, before);
            }
        }
    }
}
