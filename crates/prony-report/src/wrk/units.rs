//! Numbers as wrk writes them: two decimals, the greatest unit of which there is at least 0.85.

/// From this much of the next unit on, wrk uses it.
const ENOUGH: f64 = 0.85;

/// A count: `999.00`, `1.00k`, …
pub(super) fn metric(value: f64) -> String {
    scaled(value, 1000.0, ["", "k", "M", "G", "T"].as_slice(), 2)
}

/// Bytes: `512.00`, `1.00K`, …; the `B` comes from the caller.
pub(super) fn binary(value: f64) -> String {
    scaled(value, 1024.0, ["", "K", "M", "G", "T"].as_slice(), 2)
}

/// Microseconds: `12.00us`, `1.50ms`, `2.00s`, `1.02m`.
pub(super) fn time_us(value: f64) -> String {
    if value >= 1e6 {
        scaled(value / 1e6, 60.0, ["s", "m"].as_slice(), 2)
    } else {
        scaled(value, 1000.0, ["us", "ms"].as_slice(), 2)
    }
}

/// Whole seconds: `30s`, `1m`.
pub(super) fn time_s(value: f64) -> String {
    scaled(value, 60.0, ["s", "m"].as_slice(), 0)
}

/// `text` at the right of a column, with its unit in two characters of their own, so that the digits of `s`,
/// `ms` and no unit at all stand below each other.
pub(super) fn column(text: &str, width: usize) -> String {
    let letters = text.chars().rev().take(2).filter(char::is_ascii_alphabetic).count();
    let pad = 2 - letters;
    format!("{text:>width$}{:pad$}", "", width = width - pad)
}

fn scaled(value: f64, factor: f64, units: &[&str], decimals: usize) -> String {
    let (mut value, mut unit) = (value, 0);
    while unit + 1 < units.len() && value >= factor * ENOUGH {
        value /= factor;
        unit += 1;
    }
    format!("{value:.decimals$}{}", units[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(format: fn(f64) -> String, cases: &[(f64, &str)]) {
        for (value, expected) in cases {
            assert_eq!(format(*value), *expected, "{value}");
        }
    }

    #[test]
    fn units_are_wrks() {
        check(metric, &[(0.0, "0.00"), (849.0, "849.00"), (850.0, "0.85k"), (1e15, "1000.00T")]);
        check(binary, &[(870.0, "870.00"), (871.0, "0.85K"), (10.0 * 1024.0 * 1024.0, "10.00M")]);
        check(time_us, &[(57.0, "57.00us"), (850.0, "0.85ms"), (999_999.0, "1000.00ms")]);
        check(time_us, &[(1e6, "1.00s"), (50e6, "50.00s"), (51e6, "0.85m"), (7.2e9, "120.00m")]);
        check(time_s, &[(10.0, "10s"), (50.0, "50s"), (60.0, "1m"), (90.0, "2m"), (7200.0, "120m")]);
    }

    #[test]
    fn units_have_their_own_column() {
        assert_eq!(
            ["1.00", "1.00k", "1.00ms"].map(|text| column(text, 8)),
            ["  1.00  ", "  1.00k ", "  1.00ms"]
        );
    }
}
