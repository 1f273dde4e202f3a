//! From values to places on a drawing, and the values worth a tick.

/// Ticks of an axis at most, whatever its values are.
const TICKS_MAX: usize = 20;

/// How much of the range lies between the least and the greatest value and its ends, on a logarithmic scale of less
/// than a decade: enough that a point on the border is seen whole.
const LOG_PADDING: f64 = 0.04;

/// A way from values to places. Whatever the value, the place is finite and within the range.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Scale {
    /// Whether equal distances are equal ratios.
    logarithmic: bool,
    domain: (f64, f64),
    range: (f64, f64),
}

impl Scale {
    /// From zero to a round number that is at least `most`. `range` is where zero and the end are drawn.
    pub(crate) fn linear(most: f64, range: (f64, f64)) -> Self {
        let most = if most.is_finite() && most > 0.0 { most.min(f64::MAX / 4.0) } else { 1.0 };
        let step = step(most / 5.0);
        Self { logarithmic: false, domain: (0.0, (most / step).ceil() * step), range }
    }

    /// From `first` to `last`, exactly.
    pub(crate) fn exact(first: f64, last: f64, range: (f64, f64)) -> Self {
        let (first, last) =
            if first.is_finite() && last.is_finite() && first < last { (first, last) } else { (0.0, 1.0) };
        Self { logarithmic: false, domain: (first, last), range }
    }

    /// From a little below `least` to a little above `most`, in equal ratios; values of zero and below have no place
    /// of their own and are drawn at its beginning.
    pub(crate) fn logarithmic(least: f64, most: f64, range: (f64, f64)) -> Self {
        let is_good = |value: f64| value.is_normal() && value > 0.0;
        let (least, most) = if is_good(least) && is_good(most) && least <= most {
            // Within what can be multiplied on.
            (least.clamp(1e-290, 1e290), most.clamp(1e-290, 1e290))
        } else {
            (1.0, 10.0)
        };
        // At least a factor of two, or noise would look like a result.
        let missing = (2.0 / (most / least)).max(1.0).sqrt();
        let padding = (most / least).max(2.0).powf(LOG_PADDING);
        Self { logarithmic: true, domain: (least / missing / padding, most * missing * padding), range }
    }

    /// From `first` to `last`, in equal ratios, without anything around them.
    pub(crate) fn ratios(first: f64, last: f64, range: (f64, f64)) -> Self {
        let wide = Self::logarithmic(first, last, range);
        let is_good = first.is_normal() && first > 0.0 && last.is_finite() && first < last;
        if is_good { Self { domain: (first, last), ..wide } } else { wide }
    }

    /// Linear from zero, or in ratios where that would press most of `values` against one end.
    pub(crate) fn fitting(values: &[f64], range: (f64, f64)) -> Self {
        /// From such a ratio on, the smaller of two bars is a stub.
        const STUB: f64 = 12.0;
        let positive: Vec<f64> =
            values.iter().copied().filter(|value| value.is_normal() && *value > 0.0).collect();
        let most = positive.iter().copied().fold(0.0, f64::max);
        let least = positive.iter().copied().fold(f64::INFINITY, f64::min);
        let has_zero = values.contains(&0.0);
        if !has_zero && most / least > STUB {
            Self::logarithmic(least, most, range)
        } else {
            Self::linear(most, range)
        }
    }

    /// Whether equal distances are equal ratios.
    pub(crate) fn is_logarithmic(&self) -> bool {
        self.logarithmic
    }

    /// Where its least and its greatest value are drawn.
    pub(crate) fn range(&self) -> (f64, f64) {
        self.range
    }

    #[cfg(test)]
    fn domain(&self) -> (f64, f64) {
        self.domain
    }

    /// Where `value` is drawn.
    pub(crate) fn place(&self, value: f64) -> f64 {
        let (first, last) = self.domain;
        let share = if self.logarithmic {
            (value.max(f64::MIN_POSITIVE).ln() - first.ln()) / (last.ln() - first.ln())
        } else {
            (value - first) / (last - first)
        };
        let share = if share.is_nan() { 0.0 } else { share.clamp(0.0, 1.0) };
        self.range.0 + share * (self.range.1 - self.range.0)
    }

    /// Round values in order, about `wanted` of them.
    pub(crate) fn ticks(&self, wanted: usize) -> Vec<f64> {
        let wanted = wanted.clamp(2, TICKS_MAX);
        let (first, last) = self.domain;
        if !self.logarithmic {
            return even(first, last, wanted);
        }
        let decades = (last / first).log10();
        if decades < 0.7 {
            return even(first, last, wanted);
        }
        // As many within each decade as there is room for.
        let within: &[f64] = match wanted as f64 / decades {
            room if room >= 3.0 => &[1.0, 2.0, 5.0],
            room if room >= 2.0 => &[1.0, 3.0],
            _ => &[1.0],
        };
        let stride = (decades / wanted as f64).ceil().max(1.0);
        let mut ticks = Vec::new();
        let mut exponent = (first.log10() / stride).floor() * stride;
        while exponent <= last.log10() && ticks.len() < TICKS_MAX {
            ticks.extend(within.iter().map(|digit| round_power(exponent) * digit));
            exponent += stride;
        }
        ticks.retain(|tick| (first..=last).contains(tick));
        ticks
    }
}

/// Multiples of a round step from `first` to `last`.
fn even(first: f64, last: f64, wanted: usize) -> Vec<f64> {
    let step = step((last - first) / wanted as f64);
    let begin = (first / step).ceil();
    (0..=2 * TICKS_MAX)
        .map(|index| (begin + index as f64) * step)
        // A rounding of the last digit must not cost the last tick.
        .take_while(|tick| *tick <= last + step * 1e-6)
        .collect()
}

/// The least of 1, 2, 5, 10, … that is at least `rough`.
fn step(rough: f64) -> f64 {
    if !rough.is_normal() || rough <= 0.0 {
        return 1.0;
    }
    let power = round_power(rough.log10().floor());
    // The allowance is for a quotient that is a round number but for its last digit.
    [1.0, 2.0, 5.0, 10.0]
        .map(|digit| digit * power)
        .into_iter()
        .find(|step| *step >= rough * (1.0 - 1e-9))
        .unwrap_or(10.0 * power)
}

/// 10 to the power of `exponent`; exact for those that are whole and usual.
fn round_power(exponent: f64) -> f64 {
    if exponent < 0.0 { 1.0 / 10_f64.powf(-exponent) } else { 10_f64.powf(exponent) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(scale: Scale, wanted: usize, expected: &[f64]) {
        let ticks = scale.ticks(wanted);
        let equal =
            ticks.iter().zip(expected).all(|(found, wanted)| (found - wanted).abs() <= 1e-9 * wanted.abs());
        assert!(ticks.len() == expected.len() && equal, "{ticks:?} is not {expected:?}");
    }

    #[test]
    fn ticks_are_round() {
        let range = (0.0, 100.0);
        check(Scale::linear(18_234.0, range), 4, &[0.0, 5_000.0, 10_000.0, 15_000.0, 20_000.0]);
        check(Scale::linear(1.0, range), 4, &[0.0, 0.5, 1.0]);
        check(Scale::logarithmic(0.3, 400.0, range), 5, &[1.0, 10.0, 100.0]);
        check(Scale::logarithmic(0.9, 30.0, range), 6, &[1.0, 2.0, 5.0, 10.0, 20.0]);
        check(Scale::logarithmic(2.0, 2.0, range), 4, &[1.5, 2.0, 2.5]);
        check(Scale::ratios(1.0, 1e6, range), 4, &[1.0, 100.0, 1e4, 1e6]);
    }

    #[test]
    fn hostile_domains_become_some_domain() {
        for bad in [f64::NAN, f64::INFINITY, -1.0, 0.0, 1e308, 1e-308] {
            for scale in [
                Scale::linear(bad, (0.0, 9.0)),
                Scale::logarithmic(bad, bad, (0.0, 9.0)),
                Scale::exact(bad, bad, (0.0, 9.0)),
                Scale::ratios(bad, bad, (0.0, 9.0)),
                Scale::fitting(&[bad, 1.0], (0.0, 9.0)),
            ] {
                assert!((0.0..=9.0).contains(&scale.place(3.0)), "{scale:?}");
                assert!(scale.ticks(5).iter().all(|tick| tick.is_finite()), "{scale:?}");
            }
        }
    }

    proptest! {
        #[test]
        fn places_keep_the_order_and_the_range(least in 1e-6..1e6_f64, ratio in 1.0..1e6_f64, a in 0.0..1.0_f64, b in 0.0..1.0_f64) {
            let most = least * ratio;
            for scale in [Scale::linear(most, (10.0, 90.0)), Scale::logarithmic(least, most, (10.0, 90.0))] {
                let (low, high) = (least + a.min(b) * (most - least), least + a.max(b) * (most - least));
                prop_assert!(scale.place(low) <= scale.place(high) + 1e-9);
                prop_assert!((10.0..=90.0).contains(&scale.place(low)));
                let (first, last) = scale.domain();
                prop_assert!(first <= least && most <= last * (1.0 + 1e-9));
            }
        }

        #[test]
        fn there_are_some_ticks_but_not_many(least in 1e-6..1e6_f64, ratio in 1.0..1e9_f64, wanted in 2_usize..12) {
            for scale in [Scale::linear(least, (0.0, 1.0)), Scale::logarithmic(least, least * ratio, (0.0, 1.0))] {
                let ticks = scale.ticks(wanted);
                prop_assert!((1..=3 * wanted + 3).contains(&ticks.len()), "{ticks:?}");
                prop_assert!(ticks.is_sorted());
                let (first, last) = scale.domain();
                prop_assert!(ticks.iter().all(|tick| *tick >= first - 1e-9 && *tick <= last * (1.0 + 1e-6)));
            }
        }
    }
}
