//! Quantities as people write them: `10s`, `250ms`, `1m30s`, `5k`, `1MiB`, `300/s`.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::Problem;

/// A text that is no duration.
fn no_duration(text: &str) -> Problem {
    let advice = "write a number with a unit, such as 10s, 250ms, 1m30s or 2h";
    Problem::new(format!("`{text}` is not a duration"), advice)
}

/// A text that is no whole number.
fn no_count(text: &str) -> Problem {
    Problem::new(format!("`{text}` is not a count"), "write a whole number such as 5000, 5k or 2M")
}

/// A text that is no rate.
fn no_rate(text: &str) -> Problem {
    let advice = "write requests per second above 0, such as 500, 2.5, 10k or 600/min";
    Problem::new(format!("`{text}` is not a rate"), advice)
}

/// A text that is no size.
fn no_size(text: &str) -> Problem {
    Problem::new(format!("`{text}` is not a size"), "write bytes such as 512, 64KiB, 1MiB or 10MB")
}

/// A text that is no percentage.
fn no_percentage(text: &str) -> Problem {
    Problem::new(format!("`{text}` is not a percentage"), "write one above 0, such as 2% or 0.5%")
}

/// Requests per second over all threads and connections of a run; finite and above zero.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(try_from = "f64", into = "f64")]
#[cfg_attr(test, schemars(with = "f64"))]
pub struct Rate(f64);

impl Rate {
    /// The highest rate that can be asked for: one request a nanosecond, the resolution of the schedule.
    pub const PER_SECOND_MAX: f64 = 1e9;
    /// The lowest: one request in about eleven days. Below it the gap no longer fits the schedule's clock well.
    pub const MIN_PER_SECOND: f64 = 1e-6;

    /// A rate of `value` requests per second; `None` outside [`Self::MIN_PER_SECOND`]..=[`Self::PER_SECOND_MAX`].
    pub fn per_second(value: f64) -> Option<Self> {
        (Self::MIN_PER_SECOND..=Self::PER_SECOND_MAX).contains(&value).then_some(Self(value))
    }

    /// Requests per second.
    pub fn as_per_second(self) -> f64 {
        self.0
    }
}

impl TryFrom<f64> for Rate {
    type Error = Problem;
    fn try_from(value: f64) -> Result<Self, Problem> {
        Self::per_second(value).ok_or_else(|| no_rate(&value.to_string()))
    }
}

impl From<Rate> for f64 {
    fn from(rate: Rate) -> f64 {
        rate.0
    }
}

impl std::str::FromStr for Rate {
    type Err = Problem;

    /// `500`, `2.5`, `10k`, `1M`, each also with `/s`, `/min` or `/h`.
    fn from_str(text: &str) -> Result<Self, Problem> {
        let error = || no_rate(text);
        let (number, seconds) = match text.trim().split_once('/') {
            None | Some((_, "s" | "sec")) => (text.trim().split('/').next().unwrap_or_default(), 1.0),
            Some((number, "min" | "m")) => (number, 60.0),
            Some((number, "h")) => (number, 3600.0),
            Some(_) => return Err(error()),
        };
        let value =
            scaled(number.trim(), &[("k", 1e3), ("K", 1e3), ("M", 1e6), ("", 1.0)]).ok_or_else(error)?;
        Self::per_second(value / seconds).ok_or_else(error)
    }
}

/// A count such as `5000`, `5k`, `1.5M`; must come out whole.
pub fn parse_count(text: &str) -> Result<u64, Problem> {
    let error = || no_count(text);
    let value = scaled(text.trim(), &[("k", 1e3), ("K", 1e3), ("M", 1e6), ("G", 1e9), ("", 1.0)])
        .ok_or_else(error)?;
    whole(value).ok_or_else(error)
}

/// A count that fits 32 bits.
pub fn parse_count_u32(text: &str) -> Result<u32, Problem> {
    parse_count(text)?.try_into().map_err(|_| no_count(text))
}

/// A change that is taken for none is hardly ever ten times as much.
const PERCENT_MAX: f64 = 1000.0;

/// `2%` as 0.02; a bare number is percent, too.
pub fn parse_percent(text: &str) -> Result<f64, Problem> {
    let number = text.trim().strip_suffix('%').unwrap_or(text).trim();
    let value = number.parse::<f64>().ok().filter(|value| *value > 0.0 && *value <= PERCENT_MAX);
    value.map(|value| value / 100.0).ok_or_else(|| no_percentage(text))
}

/// A size such as `512`, `64KiB`, `10MB`; decimal and binary prefixes differ.
pub fn parse_bytes(text: &str) -> Result<u64, Problem> {
    const KIB: f64 = 1024.0;
    let error = || no_size(text);
    let units = [
        ("KiB", KIB),
        ("MiB", KIB * KIB),
        ("GiB", KIB * KIB * KIB),
        ("kB", 1e3),
        ("KB", 1e3),
        ("MB", 1e6),
        ("GB", 1e9),
        ("B", 1.0),
        ("", 1.0),
    ];
    whole(scaled(text.trim(), &units).ok_or_else(error)?).ok_or_else(error)
}

/// A duration such as `10s`, `250ms`, `1.5s`, `1m30s`, `2h`. A bare number is refused, for it says no unit;
/// `0` alone is accepted.
pub fn parse_duration(text: &str) -> Result<Duration, Problem> {
    let error = || no_duration(text);
    let mut rest = text.trim();
    if rest == "0" {
        return Ok(Duration::ZERO);
    }
    let mut total_s = 0.0;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !(c.is_ascii_digit() || c == '.')).ok_or_else(error)?;
        let number: f64 = rest[..digits].parse().map_err(|_| error())?;
        rest = &rest[digits..];
        let letters = rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len());
        let unit_s = match rest[..letters].trim() {
            "ns" => 1e-9,
            "us" | "µs" => 1e-6,
            "ms" => 1e-3,
            "s" => 1.0,
            "m" | "min" => 60.0,
            "h" => 3600.0,
            _ => return Err(error()),
        };
        total_s += number * unit_s;
        rest = &rest[letters..];
    }
    // Rounded to the nanosecond: 0.25 * 1e-3 is not exact in binary.
    Duration::try_from_secs_f64((total_s * 1e9).round() / 1e9)
        .ok()
        .filter(|_| !text.trim().is_empty())
        .ok_or_else(error)
}

/// The number before the first suffix of `units` that matches, times that unit's factor.
fn scaled(text: &str, units: &[(&str, f64)]) -> Option<f64> {
    let (number, factor) =
        units.iter().find_map(|(unit, factor)| Some((text.strip_suffix(unit)?, *factor)))?;
    let plain = !number.is_empty() && number.chars().all(|c| c.is_ascii_digit() || c == '.' || c == '_');
    let value: f64 = plain.then(|| number.replace('_', "").parse().ok()).flatten()?;
    Some(value * factor)
}

/// `value` as a whole number, if it is one that `f64` holds exactly.
fn whole(value: f64) -> Option<u64> {
    const EXACT: f64 = 9_007_199_254_740_992.0; // 2^53
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "checked: whole, not negative, below 2^53"
    )]
    (value.fract() == 0.0 && (0.0..=EXACT).contains(&value)).then_some(value as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_duration(text: &str, expected_ns: Option<u128>) {
        assert_eq!(parse_duration(text).ok().map(|d| d.as_nanos()), expected_ns, "{text}");
    }

    #[test]
    fn durations() {
        check_duration("10s", Some(10_000_000_000));
        check_duration("250ms", Some(250_000_000));
        check_duration("1m30s", Some(90_000_000_000));
        check_duration("1.5s", Some(1_500_000_000));
        check_duration("40us", Some(40_000));
        check_duration("2h", Some(7_200_000_000_000));
        check_duration("0", Some(0));
        for bad in ["", "10", "s", "10 parsecs", "-1s", "1.2.3s", "1e400s", "9999999999999999999999h"] {
            check_duration(bad, None);
        }
    }

    fn check_rate(text: &str, expected: Option<f64>) {
        assert_eq!(text.parse::<Rate>().ok().map(Rate::as_per_second), expected, "{text}");
    }

    #[test]
    fn rates() {
        check_rate("500", Some(500.0));
        check_rate("2.5", Some(2.5));
        check_rate("10k", Some(10_000.0));
        check_rate("600/min", Some(10.0));
        check_rate("10k/s", Some(10_000.0));
        for bad in ["0", "-5", "", "k", "nan", "inf", "5/parsec", "1e3", "2G"] {
            check_rate(bad, None);
        }
    }

    #[test]
    fn percentages() {
        let check = |text: &str, expected: Option<f64>| {
            assert_eq!(parse_percent(text).ok(), expected, "{text}");
        };
        check("2%", Some(0.02));
        check("0.5 %", Some(0.005));
        check("50", Some(0.5));
        for wrong in ["", "%", "0%", "-1%", "nan", "inf", "1001%", "a lot"] {
            check(wrong, None);
        }
    }

    #[test]
    fn counts_and_sizes() {
        assert_eq!(parse_count("5k"), Ok(5_000));
        assert_eq!(parse_count("1.5M"), Ok(1_500_000));
        assert_eq!(parse_count("1_000"), Ok(1_000));
        assert!(parse_count("1.5").is_err());
        assert!(parse_count("-1").is_err());
        assert_eq!(parse_count_u32("4G"), Ok(4_000_000_000));
        assert!(parse_count_u32("5G").is_err());
        assert_eq!(parse_bytes("64KiB"), Ok(65_536));
        assert_eq!(parse_bytes("10MB"), Ok(10_000_000));
        assert!(parse_bytes("ten").is_err());
    }
}
