//! Moments as files and reports write them.

use std::time::Duration;

/// A moment since 1970 in UTC, to the second: the proleptic Gregorian calendar in 400-year eras
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
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments() {
        let check =
            |seconds: u64, expected: &str| assert_eq!(rfc3339(Duration::from_secs(seconds)), expected);
        check(0, "1970-01-01T00:00:00Z");
        check(951_782_400, "2000-02-29T00:00:00Z");
        check(1_709_251_199, "2024-02-29T23:59:59Z");
        check(1_795_219_205, "2026-11-21T00:00:05Z");
        check(4_102_444_800, "2100-01-01T00:00:00Z");
    }
}
