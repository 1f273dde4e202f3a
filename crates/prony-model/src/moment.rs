//! Moments as results write them: RFC 3339 in UTC.

use std::ops::Range;
use std::time::Duration;

use crate::Timing;

/// The time since 1970 of a moment such as `2026-01-02T03:04:05.678Z`; `None` for anything else, other zones and
/// years before 1970 included. Digits beyond nanoseconds are cut off.
///
/// The days follow from the proleptic Gregorian calendar (Hinnant, "chrono-Compatible Low-Level Date
/// Algorithms", days_from_civil).
pub fn since_1970(text: &str) -> Option<Duration> {
    let (date, time) = text.strip_suffix('Z')?.split_once('T')?;
    let [year, month, day] = numbers(date, '-', [4, 2, 2])?;
    let (clock, fraction) = time.split_once('.').unwrap_or((time, "0"));
    let [hour, minute, second] = numbers(clock, ':', [2, 2, 2])?;
    if year < 1970 || !(1..=12).contains(&month) || day == 0 || day > days_in(year, month) {
        return None;
    }
    // A leap second is the sixtieth.
    if hour > 23 || minute > 59 || second > 60 || !is_digits(fraction) {
        return None;
    }
    let nanos: u32 = format!("{fraction:0<9}")[..9].parse().ok()?;
    let shifted_year = year - u64::from(month <= 2);
    let shifted_month = (month + 9) % 12;
    let day_of_year = (153 * shifted_month + 2) / 5 + day - 1;
    let days = shifted_year * 365 + shifted_year / 4 - shifted_year / 100 + shifted_year / 400 + day_of_year;
    let seconds = (days - 719_468) * 86_400 + hour * 3600 + minute * 60 + second;
    Some(Duration::new(seconds, nanos))
}

impl Timing {
    /// When the measured part began and ended, since 1970; `None` where the moments make no sense.
    pub fn measured(&self) -> Option<Range<Duration>> {
        let seconds = |value: f64| Duration::try_from_secs_f64(value).ok();
        let from = since_1970(&self.started_at)?.checked_add(seconds(self.warmup_s)?)?;
        Some(from..from.checked_add(seconds(self.measured_s)?)?)
    }
}

/// A moment since 1970 in UTC, to the millisecond: the proleptic Gregorian calendar in 400-year eras
/// (Hinnant, "chrono-Compatible Low-Level Date Algorithms", civil_from_days).
pub fn rfc3339(since_1970: Duration) -> String {
    let seconds = since_1970.as_secs();
    let days = seconds / 86_400 + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    let millisecond = since_1970.subsec_millis();
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millisecond:03}Z")
}

/// Three numbers of so many digits each.
fn numbers(text: &str, separator: char, digits: [usize; 3]) -> Option<[u64; 3]> {
    let parts: Vec<&str> = text.split(separator).collect();
    let fits =
        parts.len() == 3 && parts.iter().zip(digits).all(|(part, n)| part.len() == n && is_digits(part));
    let number = |index: usize| parts[index].parse().ok();
    fits.then(|| Some([number(0)?, number(1)?, number(2)?])).flatten()
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn days_in(year: u64, month: u64) -> u64 {
    let is_leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    match month {
        2 => 28 + u64::from(is_leap),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected_ms: Option<u64>) {
        assert_eq!(since_1970(text), expected_ms.map(Duration::from_millis), "{text}");
    }

    #[test]
    fn moments() {
        check("1970-01-01T00:00:00Z", Some(0));
        check("2000-02-29T00:00:00.007Z", Some(951_782_400_007));
        check("2024-02-29T23:59:59.999Z", Some(1_709_251_199_999));
        check("2026-11-21T00:00:05Z", Some(1_795_219_205_000));
        check("2100-01-01T00:00:00.000000000123Z", Some(4_102_444_800_000));
    }

    #[test]
    fn moments_as_they_are_written() {
        let check = |millis: u64, expected: &str| {
            assert_eq!(rfc3339(Duration::from_millis(millis)), expected);
            assert_eq!(since_1970(expected), Some(Duration::from_millis(millis)));
        };
        check(0, "1970-01-01T00:00:00.000Z");
        check(951_782_400_007, "2000-02-29T00:00:00.007Z");
        check(1_709_251_199_999, "2024-02-29T23:59:59.999Z");
        check(1_795_219_205_678, "2026-11-21T00:00:05.678Z");
        check(4_102_444_800_000, "2100-01-01T00:00:00.000Z");
    }

    #[test]
    fn what_is_no_moment() {
        for text in [
            "",
            "Z",
            "2026-11-21",
            "2026-11-21T00:00:05",
            "2026-11-21T00:00:05+01:00",
            "2026-11-21T00:00:05.Z",
            "2026-11-21T00:00:05.1é3456789Z",
            "2026-02-29T00:00:00Z",
            "2026-13-01T00:00:00Z",
            "2026-00-01T00:00:00Z",
            "2026-01-01T24:00:00Z",
            "1969-12-31T23:59:59Z",
            "+026-01-01T00:00:00Z",
            "26-1-1T0:0:0Z",
        ] {
            check(text, None);
        }
    }

    #[test]
    fn the_measured_part_follows_the_warm_up() {
        let timing = |warmup_s: f64, measured_s: f64| Timing {
            started_at: "1970-01-01T00:00:01.500Z".to_owned(),
            resolve_s: 0.0,
            warmup_s,
            measured_s,
            drain_s: 1.0,
            interrupted: false,
            ended_early_because: None,
            start: None,
        };
        let span = Duration::from_millis(2500)..Duration::from_millis(12_500);
        assert_eq!(timing(1.0, 10.0).measured(), Some(span));
        assert_eq!(timing(-1.0, 10.0).measured(), None);
        assert_eq!(timing(1.0, 1e300).measured(), None);
    }
}
