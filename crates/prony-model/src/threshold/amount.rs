//! Numbers with units, as thresholds have them: `50ms`, `99.9%`, `5k/s`, `64MiB`.

use std::fmt;

use crate::{Problem, parse_duration};

/// The unit that a figure has in results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// A time in milliseconds.
    Milliseconds,
    /// A time in microseconds.
    Microseconds,
    /// A time in seconds.
    Seconds,
    /// Events per second.
    PerSecond,
    /// A share, 0..1.
    Share,
    /// Memory or traffic in MiB.
    Mebibytes,
    /// A number of things.
    Count,
    /// No number but a word.
    Word,
}

impl Unit {
    /// The stable name, as in JSON; that of [`crate::StudyMetric::unit`].
    pub fn name(self) -> &'static str {
        match self {
            Self::Milliseconds => "ms",
            Self::Microseconds => "µs",
            Self::Seconds => "s",
            Self::PerSecond => "per_s",
            Self::Share => "share",
            Self::Mebibytes => "MiB",
            Self::Count => "count",
            Self::Word => "word",
        }
    }

    /// The unit of this name.
    pub(crate) fn of_name(name: &str) -> Self {
        match name {
            "ms" => Self::Milliseconds,
            "µs" => Self::Microseconds,
            "s" => Self::Seconds,
            "per_s" => Self::PerSecond,
            "share" => Self::Share,
            "MiB" => Self::Mebibytes,
            "word" => Self::Word,
            _ => Self::Count,
        }
    }

    /// What may be written, for people: `ns, us, ms, s, min, h`.
    pub fn written(self) -> &'static str {
        match self {
            Self::Milliseconds | Self::Microseconds | Self::Seconds => "ns us ms s min h",
            Self::PerSecond => "/s (or none), k, M",
            Self::Share => "%",
            Self::Mebibytes => "B KB MB GB KiB MiB GiB",
            Self::Count => "none, or k, M",
            Self::Word => "a word",
        }
    }

    /// What it is, and how one is written.
    fn described(self) -> (&'static str, &'static str) {
        match self {
            Self::Milliseconds | Self::Seconds => ("a time", "50ms or 1.5s"),
            Self::Microseconds => ("a time", "300us"),
            Self::PerSecond => ("a rate", "500, 5k or 5k/s"),
            Self::Share => ("a share", "99.9%"),
            Self::Mebibytes => ("a size", "64MiB or 10MB"),
            Self::Count => ("a count", "100 or 5k"),
            Self::Word => ("a word", "valid"),
        }
    }
}

/// A number with the unit that it was written with.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Amount {
    /// Finite, not negative.
    number: f64,
    suffix: Suffix,
}

/// A unit as it is written behind a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Suffix {
    None,
    Nanoseconds,
    Microseconds,
    Milliseconds,
    Seconds,
    Minutes,
    Hours,
    PerSecond,
    PerMinute,
    PerHour,
    Percent,
    Bytes,
    Kilobytes,
    Megabytes,
    Gigabytes,
    Kibibytes,
    Mebibytes,
    Gibibytes,
}

/// Each suffix as it is written; of several for one, the first is printed.
const SUFFIXES: [(&str, Suffix); 25] = [
    ("", Suffix::None),
    ("ns", Suffix::Nanoseconds),
    ("us", Suffix::Microseconds),
    ("µs", Suffix::Microseconds),
    ("μs", Suffix::Microseconds),
    ("ms", Suffix::Milliseconds),
    ("s", Suffix::Seconds),
    ("min", Suffix::Minutes),
    ("m", Suffix::Minutes),
    ("h", Suffix::Hours),
    ("/s", Suffix::PerSecond),
    ("/sec", Suffix::PerSecond),
    ("/min", Suffix::PerMinute),
    ("/m", Suffix::PerMinute),
    ("/h", Suffix::PerHour),
    ("%", Suffix::Percent),
    ("B", Suffix::Bytes),
    ("KB", Suffix::Kilobytes),
    ("kB", Suffix::Kilobytes),
    ("MB", Suffix::Megabytes),
    ("GB", Suffix::Gigabytes),
    ("KiB", Suffix::Kibibytes),
    ("MiB", Suffix::Mebibytes),
    ("GiB", Suffix::Gibibytes),
    ("Bytes", Suffix::Bytes),
];

/// Decimal prefixes of counts and rates, as powers of ten.
const PREFIXES: [(char, i32); 4] = [('k', 3), ('K', 3), ('M', 6), ('G', 9)];
/// Longer numbers say nothing more.
const NUMBER_BYTES_MAX: usize = 40;
/// Greater numbers are beyond every figure, in any unit, and would be printed longer than they may be read.
const NUMBER_MAX: f64 = 1e15;
/// Bytes of a mebibyte.
const MIB: f64 = 1_048_576.0;

impl Suffix {
    fn text(self) -> &'static str {
        let found = SUFFIXES.iter().find(|(_, suffix)| *suffix == self);
        found.map_or("", |(text, _)| text)
    }

    /// Whether a figure in `unit` may be compared with an amount that has it.
    fn fits(self, unit: Unit) -> bool {
        match self {
            Self::None => matches!(unit, Unit::Count | Unit::PerSecond),
            Self::Nanoseconds
            | Self::Microseconds
            | Self::Milliseconds
            | Self::Seconds
            | Self::Minutes
            | Self::Hours => matches!(unit, Unit::Milliseconds | Unit::Microseconds | Unit::Seconds),
            Self::PerSecond | Self::PerMinute | Self::PerHour => unit == Unit::PerSecond,
            Self::Percent => unit == Unit::Share,
            Self::Bytes
            | Self::Kilobytes
            | Self::Megabytes
            | Self::Gigabytes
            | Self::Kibibytes
            | Self::Mebibytes
            | Self::Gibibytes => unit == Unit::Mebibytes,
        }
    }
}

impl Amount {
    /// Reads `text` as an amount to compare a figure in `unit` with.
    pub fn parse(text: &str, unit: Unit) -> Result<Self, Problem> {
        let (what, example) = unit.described();
        let wrong = || Problem::new(format!("`{text}` is not {what}"), format!("write it as {example}"));
        let end = text.find(|character: char| !is_of_number(character)).unwrap_or(text.len());
        let (digits, rest) = (&text[..end], text[end..].trim());
        let number = number(digits).ok_or_else(wrong)?;
        if number == 0.0 && rest.is_empty() && unit != Unit::Word {
            return Ok(Self { number, suffix: Suffix::None });
        }
        let (number, rest) = match unit {
            Unit::Count | Unit::PerSecond => without_prefix(number, rest),
            _ => (number, rest),
        };
        if number > NUMBER_MAX {
            return Err(wrong());
        }
        let suffix = SUFFIXES.iter().find(|(written, suffix)| *written == rest && suffix.fits(unit));
        match suffix {
            Some((_, suffix)) => Ok(Self { number, suffix: *suffix }),
            _ if rest.is_empty() => Err(Problem::new(
                format!("`{text}` has no unit, and {what} needs one"),
                format!("write it as {example}"),
            )),
            // Several parts, as in 1m30s.
            _ if Suffix::Seconds.fits(unit) => parse_duration(text)
                .map(|length| Self { number: length.as_secs_f64(), suffix: Suffix::Seconds })
                .map_err(|_| wrong()),
            _ => Err(wrong()),
        }
    }

    /// `value` in `unit`, as study files have numbers without a unit.
    pub fn of_value(value: f64, unit: Unit) -> Option<Self> {
        let (number, suffix) = match unit {
            Unit::Milliseconds => (value, Suffix::Milliseconds),
            Unit::Microseconds => (value, Suffix::Microseconds),
            Unit::Seconds => (value, Suffix::Seconds),
            Unit::PerSecond => (value, Suffix::PerSecond),
            Unit::Share => (shifted(value, 2), Suffix::Percent),
            Unit::Mebibytes => (value, Suffix::Mebibytes),
            Unit::Count => (value, Suffix::None),
            Unit::Word => return None,
        };
        (number.is_finite() && number >= 0.0).then_some(Self { number, suffix })
    }

    /// How much it is in `unit`, one that it was read for.
    pub fn in_unit(self, unit: Unit) -> f64 {
        let number = self.number;
        // Of a second, as a power of ten.
        let of_second = match unit {
            Unit::Milliseconds => -3,
            Unit::Microseconds => -6,
            _ => 0,
        };
        match self.suffix {
            Suffix::None | Suffix::PerSecond | Suffix::Mebibytes => number,
            Suffix::Nanoseconds => shifted(number, -9 - of_second),
            Suffix::Microseconds => shifted(number, -6 - of_second),
            Suffix::Milliseconds => shifted(number, -3 - of_second),
            Suffix::Seconds => shifted(number, -of_second),
            Suffix::Minutes => shifted(number * 60.0, -of_second),
            Suffix::Hours => shifted(number * 3600.0, -of_second),
            Suffix::PerMinute => number / 60.0,
            Suffix::PerHour => number / 3600.0,
            Suffix::Percent => shifted(number, -2),
            Suffix::Bytes => number / MIB,
            Suffix::Kilobytes => shifted(number, 3) / MIB,
            Suffix::Megabytes => shifted(number, 6) / MIB,
            Suffix::Gigabytes => shifted(number, 9) / MIB,
            Suffix::Kibibytes => number / 1024.0,
            Suffix::Gibibytes => number * 1024.0,
        }
    }
}

/// As it can be read again: the number with all of its digits.
impl fmt::Display for Amount {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}{}", self.number, self.suffix.text())
    }
}

fn is_of_number(character: char) -> bool {
    character.is_ascii_digit() || matches!(character, '.' | '_')
}

/// Digits with at most one point in them; `_` may separate them.
fn number(digits: &str) -> Option<f64> {
    let starts_well = digits.starts_with(|character: char| character.is_ascii_digit());
    let plain = (starts_well && digits.len() <= NUMBER_BYTES_MAX).then(|| digits.replace('_', ""))?;
    plain.parse::<f64>().ok().filter(|number| number.is_finite())
}

/// `number` times the prefix that `rest` begins with, and what follows on it.
fn without_prefix(number: f64, rest: &str) -> (f64, &str) {
    let found = PREFIXES.iter().find_map(|(prefix, power)| Some((rest.strip_prefix(*prefix)?, *power)));
    found.map_or((number, rest), |(rest, power)| (shifted(number, power), rest.trim_start()))
}

/// `number` times ten to the power of `places`, to the nearest: 0.07 times a thousand is 70, which a multiplication of
/// binary numbers misses.
fn shifted(number: f64, places: i32) -> f64 {
    if places == 0 {
        return number;
    }
    format!("{number}e{places}").parse().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, unit: Unit, expected: Option<f64>) {
        let amount = Amount::parse(text, unit).ok();
        assert_eq!(amount.map(|amount| amount.in_unit(unit)), expected, "{text} {unit:?}");
        if let Some(amount) = amount {
            assert_eq!(Amount::parse(&amount.to_string(), unit), Ok(amount), "{text}: {amount}");
        }
    }

    #[test]
    fn units_at_their_edges() {
        use Unit::{Count, Mebibytes, Microseconds, Milliseconds, PerSecond, Seconds, Share};
        for (text, milliseconds) in [
            ("999999ns", 0.999_999),
            ("1000000ns", 1.0),
            ("1ns", 0.000_001),
            ("999us", 0.999),
            ("1000us", 1.0),
            ("0.07s", 70.0),
            ("70ms", 70.0),
            ("1.001s", 1001.0),
            ("1min", 60_000.0),
            ("1m30s", 90_000.0),
            ("2h", 7_200_000.0),
            ("50 ms", 50.0),
            ("1_000 µs", 1.0),
            ("0", 0.0),
        ] {
            check(text, Milliseconds, Some(milliseconds));
        }
        check("0.07ms", Microseconds, Some(70.0));
        check("300us", Microseconds, Some(300.0));
        check("250ms", Seconds, Some(0.25));
        check("99.9%", Share, Some(0.999));
        check("0.1 %", Share, Some(0.001));
        check("100%", Share, Some(1.0));
        check("0%", Share, Some(0.0));
        check("5k", PerSecond, Some(5000.0));
        check("5.5k/s", PerSecond, Some(5500.0));
        check("600/min", PerSecond, Some(10.0));
        check("500", PerSecond, Some(500.0));
        check("2M", Count, Some(2e6));
        check("1MiB", Mebibytes, Some(1.0));
        check("1048576B", Mebibytes, Some(1.0));
        check("1024KiB", Mebibytes, Some(1.0));
        check("1.048576MB", Mebibytes, Some(1.0));
        check("1048.576KB", Mebibytes, Some(1.0));
        check("1GiB", Mebibytes, Some(1024.0));
    }

    #[test]
    fn what_is_no_amount() {
        use Unit::{Count, Mebibytes, Milliseconds, PerSecond, Share};
        let bad = [
            "", "-1ms", ".5ms", "1.2.3ms", "1e3ms", "nanms", "infms", "50", "50MS", "5%", "5MB", "1 parsec",
            "ms", "1ms2",
        ];
        for text in bad {
            check(text, Milliseconds, None);
        }
        check("0.999", Share, None);
        check("5ms", Share, None);
        check("64", Mebibytes, None);
        check("5ms", Count, None);
        check("5%", Count, None);
        check("5k%", PerSecond, None);
        check(&"9".repeat(400), Count, None);
        check("1000000000000000", Count, Some(1e15));
        check("1000001G", Count, None);
        check(&format!("{}k", "9".repeat(40)), Count, None);
        let error = Amount::parse("50", Milliseconds).unwrap_err().to_string();
        assert_eq!(error, "`50` has no unit, and a time needs one: write it as 50ms or 1.5s");
    }

    #[test]
    fn values_without_units_get_those_of_their_figure() {
        let text = |value: f64, unit| Amount::of_value(value, unit).map(|amount| amount.to_string());
        assert_eq!(text(50.0, Unit::Milliseconds).as_deref(), Some("50ms"));
        assert_eq!(text(0.999, Unit::Share).as_deref(), Some("99.9%"));
        assert_eq!(text(0.07, Unit::Share).as_deref(), Some("7%"));
        assert_eq!(text(5000.0, Unit::PerSecond).as_deref(), Some("5000/s"));
        assert_eq!(text(f64::NAN, Unit::Milliseconds), None);
        assert_eq!(text(-1.0, Unit::Milliseconds), None);
    }
}
