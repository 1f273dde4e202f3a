//! The form that C's `ctime` gives to a stored moment.

use std::fmt;
use std::time::Duration;

use prony_model::{rfc3339, since_1970};

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
    /// Reads a stored moment; its fraction is cut off. `None` for anything else.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        since_1970(text).map(|since| Self { unix_s: since.as_secs() })
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
        let text = rfc3339(Duration::from_secs(self.unix_s));
        let parts: Vec<&str> = text.split(['-', 'T', '.']).collect();
        let [year, month, day, time, ..] = parts[..] else { return formatter.write_str(&text) };
        let month: usize = month.parse().expect("invariant: RFC 3339 has a number for the month");
        let weekday = usize::try_from(self.unix_s / DAY_S % 7).expect("invariant: less than 7");
        write!(formatter, "{} {} {day} {time} {year}", WEEKDAYS[weekday], MONTHS[month - 1])
    }
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
    fn moments_as_text() {
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
