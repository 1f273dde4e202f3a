//! Moments as results write them.

/// Seconds between 1970 and `text`, a moment of RFC 3339 in UTC (`2026-01-02T03:04:05Z`, with or without a
/// fraction of the second); `None` if it is something else.
///
/// Days are counted in the proleptic Gregorian calendar by eras of 400 years (Hinnant, "chrono-Compatible
/// Low-Level Date Algorithms", days_from_civil).
pub fn seconds_since_1970(text: &str) -> Option<f64> {
    let (date, time) = text.strip_suffix('Z')?.split_once('T')?;
    let [year, month, day] = numbers(date, '-')?;
    let (whole, fraction) = time.split_once('.').unwrap_or((time, "0"));
    let [hour, minute, second] = numbers(whole, ':')?;
    if !(1970..=9999).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    // 60 is a leap second.
    if hour > 23 || minute > 59 || second > 60 || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let shifted_year = year - u32::from(month <= 2);
    let shifted_month = if month > 2 { month - 3 } else { month + 9 };
    let (era, year_of_era) = (shifted_year / 400, shifted_year % 400);
    let day_of_year = (153 * shifted_month + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    let days = f64::from(era * 146_097 + day_of_era) - 719_468.0;
    let fraction: f64 = format!("0.{fraction}").parse().ok()?;
    Some(days * 86_400.0 + f64::from(hour * 3600 + minute * 60 + second) + fraction)
}

/// Three numbers with `separator` between them.
fn numbers(text: &str, separator: char) -> Option<[u32; 3]> {
    let mut parts = text.split(separator).map(|part| {
        let is_plain = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        is_plain.then(|| part.parse().ok()).flatten()
    });
    let numbers = [parts.next()??, parts.next()??, parts.next()??];
    parts.next().is_none().then_some(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Option<f64>) {
        assert_eq!(seconds_since_1970(text), expected, "{text}");
    }

    #[test]
    fn moments() {
        check("1970-01-01T00:00:00Z", Some(0.0));
        check("2000-02-29T00:00:00Z", Some(951_782_400.0));
        check("2024-02-29T23:59:59Z", Some(1_709_251_199.0));
        check("2026-11-21T00:00:05Z", Some(1_795_219_205.0));
        check("2026-11-21T00:00:05.250Z", Some(1_795_219_205.25));
        check("2100-01-01T00:00:00Z", Some(4_102_444_800.0));
    }

    #[test]
    fn what_is_no_moment() {
        for text in [
            "",
            "yesterday",
            "2026-11-21",
            "2026-11-21T00:00:05",
            "2026-11-21T00:00:05+01:00",
            "2026-13-21T00:00:05Z",
            "2026-11-21T24:00:05Z",
            "2026-11-21T00:00Z",
            "2026-11-21T00:00:05.x1Z",
            "+2026-11-21T00:00:05Z",
            "1969-12-31T23:59:59Z",
            "4294967295-01-01T00:00:00Z",
        ] {
            check(text, None);
        }
    }
}
