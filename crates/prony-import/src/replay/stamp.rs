//! Moments as logs write them.

use std::time::Duration;

use prony_model::since_1970;

/// A moment, nanoseconds since 1970, and whether it has no part of a second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    /// Since 1970 in UTC.
    pub nanos: i64,
    /// It was written as whole seconds.
    pub is_whole_second: bool,
}

const SECOND: i64 = 1_000_000_000;
const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
/// Seconds since 1970 up to the year 2242: what is above is not in seconds.
const EPOCH_S_MAX: f64 = 8.6e9;

/// Reads `10/Oct/2000:13:55:36 -0700`, RFC 3339 with any zone (a blank instead of `T`, a comma before the fraction and
/// no zone, which is UTC, too) and numbers of seconds, milliseconds, microseconds or nanoseconds since 1970.
pub fn stamp(text: &str) -> Option<Stamp> {
    let text = text.trim();
    clf(text).or_else(|| rfc3339(text)).or_else(|| epoch(text))
}

/// The form of the common log format.
pub(super) fn clf(text: &str) -> Option<Stamp> {
    let (date, zone) = text.split_once(' ')?;
    let mut parts = date.splitn(3, '/');
    let (day, month, rest) = (parts.next()?, parts.next()?, parts.next()?);
    let (year, time) = rest.split_once(':')?;
    let month = MONTHS.iter().position(|name| *name == month)? + 1;
    since(&format!("{year}-{month:02}-{day}"), time, zone)
}

fn rfc3339(text: &str) -> Option<Stamp> {
    let (date, rest) = text.split_at_checked(10)?;
    let rest = rest.strip_prefix(['T', 't', ' '])?;
    let (time, zone) = match rest.rfind(['Z', 'z', '+', '-']) {
        Some(at) => rest.split_at(at),
        None => (rest, "Z"),
    };
    since(date, time.trim_end(), zone)
}

/// Of a date, a time of day with or without a fraction, and a zone.
fn since(date: &str, time: &str, zone: &str) -> Option<Stamp> {
    let time = time.replace(',', ".");
    let known = since_1970(&format!("{date}T{time}Z"))?;
    let nanos = i64::try_from(known.as_nanos()).ok()?;
    Some(Stamp { nanos: nanos.checked_sub(offset(zone)?)?, is_whole_second: !time.contains('.') })
}

/// `Z`, `+0200`, `+02:00` or `+02` in nanoseconds.
fn offset(zone: &str) -> Option<i64> {
    if zone.eq_ignore_ascii_case("z") {
        return Some(0);
    }
    let (sign, digits) = match zone.split_at_checked(1)? {
        ("+", digits) => (1, digits.replace(':', "")),
        ("-", digits) => (-1, digits.replace(':', "")),
        _ => return None,
    };
    if !matches!(digits.len(), 2 | 4) || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let hours: i64 = digits[..2].parse().ok()?;
    let minutes: i64 = digits.get(2..4).unwrap_or("0").parse().ok()?;
    (hours < 24 && minutes < 60).then_some(sign * (hours * 3600 + minutes * 60) * SECOND)
}

/// A number since 1970, in the unit that puts it between 1970 and 2242.
fn epoch(text: &str) -> Option<Stamp> {
    let (whole, fraction) = text.split_once('.').map_or((text, None), |(whole, rest)| (whole, Some(rest)));
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number(whole) || fraction.is_some_and(|part| !is_number(part)) || whole.len() > 19 {
        return None;
    }
    let number: f64 = whole.parse().ok()?;
    // Only as many digits as are exact: a double has 15 of them.
    let unit: i64 = [SECOND, 1_000_000, 1_000, 1]
        .into_iter()
        .find(|unit| number * (*unit as f64) / SECOND as f64 <= EPOCH_S_MAX)?;
    let whole: i64 = whole.parse().ok()?;
    let part = fraction.map_or(0, |part| {
        let digits: String = part.chars().chain("000000000".chars()).take(9).collect();
        digits.parse::<i64>().unwrap_or_default() / (SECOND / unit)
    });
    let nanos = whole.checked_mul(unit)?.checked_add(part)?;
    Some(Stamp { nanos, is_whole_second: unit == SECOND && fraction.is_none() })
}

/// A stamp for people: RFC 3339 in UTC.
pub(super) fn written(nanos: i64) -> String {
    prony_model::rfc3339(Duration::from_nanos(u64::try_from(nanos).unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Option<(i64, bool)>) {
        assert_eq!(stamp(text).map(|found| (found.nanos, found.is_whole_second)), expected, "{text}");
    }

    #[test]
    fn moments_are_read_in_any_zone() {
        let whole = 971_211_336 * SECOND;
        check("10/Oct/2000:13:55:36 -0700", Some((whole, true)));
        check("10/Oct/2000:20:55:36 +0000", Some((whole, true)));
        check("2000-10-10T20:55:36Z", Some((whole, true)));
        check("2000-10-10T22:55:36+02:00", Some((whole, true)));
        check("2000-10-10 20:55:36", Some((whole, true)));
        check("2000-10-10 20:55:36,25 -00", Some((whole + SECOND / 4, false)));
        check("2000-10-11T02:40:36.5+05:45", Some((whole + SECOND / 2, false)));
        check("971211336", Some((whole, true)));
        check("971211336.125", Some((whole + SECOND / 8, false)));
        check("971211336125", Some((whole + SECOND / 8, false)));
        check("971211336125000", Some((whole + SECOND / 8, false)));
        check("971211336125000001", Some((whole + SECOND / 8 + 1, false)));
    }

    #[test]
    fn other_texts_are_no_moments() {
        for text in [
            "",
            "-",
            "10/Oct/2000",
            "10/Okt/2000:13:55:36 -0700",
            "32/Oct/2000:13:55:36 -0700",
            "10/Oct/2000:25:55:36 -0700",
            "10/Oct/2000:13:55:36 -7000",
            "10/Oct/2000:13:55:36 MST",
            "2000-13-10T20:55:36Z",
            "1.2.3",
            "99999999999999999999",
            "2000-10-10",
            "é000-10-10T20:55:36Z",
        ] {
            check(text, None);
        }
    }
}
