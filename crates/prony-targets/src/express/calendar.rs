//! Moments as people and JSON write them, in UTC. Numbers in, text out: no clock.

use std::time::{SystemTime, UNIX_EPOCH};

const WEEKDAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// As JSON has a date in JavaScript: `2021-01-16T17:10:01.123Z`, 24 characters; what is finer is cut off.
pub(super) fn iso(moment: SystemTime) -> String {
    let (second, ms) = since_epoch(moment);
    let (year, month, day) = date(second.div_euclid(DAY_S));
    let (hour, minute, second) = time(second);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{ms:03}Z")
}

/// As HTTP writes it (RFC 9110 section 5.6.7): `Sat, 16 Jan 2021 17:10:01 GMT`.
pub(super) fn http(moment: SystemTime) -> String {
    let (second, _) = since_epoch(moment);
    let days = second.div_euclid(DAY_S);
    let (year, month, day) = date(days);
    let (hour, minute, second) = time(second);
    let name = |names: &[&'static str], at: i64| {
        names[usize::try_from(at).expect("invariant: a weekday or a month")]
    };
    // 1 January 1970 was a Thursday.
    let (weekday, month) = (name(&WEEKDAYS, days.rem_euclid(7)), name(&MONTHS, month - 1));
    format!("{weekday}, {day:02} {month} {year:04} {hour:02}:{minute:02}:{second:02} GMT")
}

const DAY_S: i64 = 86_400;

/// Seconds since 1970, negative before, and the milliseconds behind them.
fn since_epoch(moment: SystemTime) -> (i64, u32) {
    let whole = |span: std::time::Duration| i64::try_from(span.as_secs()).unwrap_or(i64::MAX / 2);
    match moment.duration_since(UNIX_EPOCH) {
        Ok(after) => (whole(after), after.subsec_millis()),
        Err(error) => {
            let before = error.duration();
            let back_ms = before.subsec_nanos().div_ceil(1_000_000);
            if back_ms == 0 { (-whole(before), 0) } else { (-whole(before) - 1, 1000 - back_ms) }
        }
    }
}

fn time(second: i64) -> (i64, i64, i64) {
    let second = second.rem_euclid(DAY_S);
    (second / 3600, second / 60 % 60, second % 60)
}

/// Year, month and day of a day counted from 1 January 1970. Years begin in March here, so that the leap day is
/// their last, and 400 of them are always as long.
fn date(days: i64) -> (i64, i64, i64) {
    const DAYS_IN_400_YEARS: i64 = 146_097;
    const DAYS_TO_1970: i64 = 719_468;
    let days = days + DAYS_TO_1970;
    let (era, day) = (days.div_euclid(DAYS_IN_400_YEARS), days.rem_euclid(DAYS_IN_400_YEARS));
    // Without the leap days before it: one in 4 years, none in 100, one in 400.
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    // Months from March on: five of them always have 153 days.
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (era * 400 + year + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn moments_are_written_in_both_ways() {
        let check = |unix_ms: i64, expected_iso: &str, expected_http: &str| {
            let span = Duration::from_millis(unix_ms.unsigned_abs());
            let moment = if unix_ms < 0 { UNIX_EPOCH - span } else { UNIX_EPOCH + span };
            assert_eq!((iso(moment).as_str(), http(moment).as_str()), (expected_iso, expected_http));
        };
        check(0, "1970-01-01T00:00:00.000Z", "Thu, 01 Jan 1970 00:00:00 GMT");
        check(1_610_817_001_123, "2021-01-16T17:10:01.123Z", "Sat, 16 Jan 2021 17:10:01 GMT");
        check(951_782_400_000, "2000-02-29T00:00:00.000Z", "Tue, 29 Feb 2000 00:00:00 GMT");
        check(1_709_251_199_999, "2024-02-29T23:59:59.999Z", "Thu, 29 Feb 2024 23:59:59 GMT");
        check(-1, "1969-12-31T23:59:59.999Z", "Wed, 31 Dec 1969 23:59:59 GMT");
        check(-2_203_891_200_000, "1900-03-01T00:00:00.000Z", "Thu, 01 Mar 1900 00:00:00 GMT");
        check(4_102_444_800_000, "2100-01-01T00:00:00.000Z", "Fri, 01 Jan 2100 00:00:00 GMT");
    }
}
