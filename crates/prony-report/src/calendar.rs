//! Dates without a time zone: from the stored RFC 3339 in UTC to the form of C's `ctime`.

use std::fmt;

const DAY_S: u64 = 86_400;
const WEEKDAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// A moment from 1970 on, to the second, in UTC.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Moment {
    unix_s: u64,
}

impl Moment {
    /// Reads `2026-01-02T03:04:05Z`, also with a fraction, which is cut off; `None` for anything else.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (date, time) = text.strip_suffix('Z')?.split_once('T')?;
        let [year, month, day] = numbers(date, '-')?;
        let [hour, minute, second] = numbers(time.split('.').next()?, ':')?;
        let is_date = (1970..=9999).contains(&year) && (1..=12).contains(&month) && (1..=31).contains(&day);
        let is_time = hour < 24 && minute < 60 && second <= 60;
        let unix_s = days_before(year, month, day)? * DAY_S + hour * 3600 + minute * 60 + second;
        (is_date && is_time).then_some(Self { unix_s })
    }

    /// So many seconds later.
    pub(crate) fn later(self, seconds: u64) -> Self {
        Self { unix_s: self.unix_s + seconds }
    }

    /// Seconds since 1970-01-01.
    pub(crate) fn unix_s(self) -> u64 {
        self.unix_s
    }
}

impl fmt::Display for Moment {
    /// `Fri Jan 02 03:04:05 2026`: ab's form of `ctime`, with two digits for the day.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (days, rest) = (self.unix_s / DAY_S, self.unix_s % DAY_S);
        let (year, month, day) = date(days);
        let weekday = WEEKDAYS[usize::try_from(days % 7).expect("invariant: less than 7")];
        let month = MONTHS[usize::try_from(month - 1).expect("invariant: less than 12")];
        let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
        write!(formatter, "{weekday} {month} {day:02} {hour:02}:{minute:02}:{second:02} {year}")
    }
}

fn numbers(text: &str, separator: char) -> Option<[u64; 3]> {
    let numbers = text.split(separator).map(|part| part.parse().ok()).collect::<Option<Vec<u64>>>()?;
    numbers.try_into().ok()
}

fn is_leap(year: u64) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

/// Days of a month, January being 1.
fn month_days(year: u64, month: u64) -> u64 {
    match month {
        2 => 28 + u64::from(is_leap(year)),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days from 1970-01-01 to a date; `None` before it.
fn days_before(year: u64, month: u64, day: u64) -> Option<u64> {
    let years = year.checked_sub(1970)?;
    // Leap days of all years before `year`, less those before 1970.
    let leap_days = |year: u64| year / 4 - year / 100 + year / 400;
    let in_years = years * 365 + leap_days(year - 1) - leap_days(1969);
    let in_months: u64 = (1..month.min(13)).map(|month| month_days(year, month)).sum();
    Some(in_years + in_months + day.checked_sub(1)?)
}

/// The date so many days after 1970-01-01.
fn date(mut days: u64) -> (u64, u64, u64) {
    let mut year = 1970;
    while days >= 365 + u64::from(is_leap(year)) {
        days -= 365 + u64::from(is_leap(year));
        year += 1;
    }
    let mut month = 1;
    while days >= month_days(year, month) {
        days -= month_days(year, month);
        month += 1;
    }
    (year, month, days + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Option<(u64, &str)>) {
        let moment = Moment::parse(text);
        let found = moment.map(|moment| (moment.unix_s(), moment.to_string()));
        assert_eq!(found, expected.map(|(unix_s, words)| (unix_s, words.to_owned())), "{text}");
    }

    #[test]
    fn moments_in_words() {
        check("1970-01-01T00:00:00Z", Some((0, "Thu Jan 01 00:00:00 1970")));
        check("2000-02-29T12:34:56Z", Some((951_827_696, "Tue Feb 29 12:34:56 2000")));
        check("2026-01-02T03:04:05Z", Some((1_767_323_045, "Fri Jan 02 03:04:05 2026")));
        check("2026-11-21T18:56:49.123Z", Some((1_795_287_409, "Sat Nov 21 18:56:49 2026")));
        check("2100-03-01T00:00:00Z", Some((4_107_542_400, "Mon Mar 01 00:00:00 2100")));
        for wrong in ["", "2026-01-02", "1969-12-31T23:59:59Z", "2026-13-01T00:00:00Z", "2026-01-02T03:04Z"] {
            check(wrong, None);
        }
    }
}
