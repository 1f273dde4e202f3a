//! Numbers in the sentences of findings. Reports have columns to fill and round in their own way.

use std::time::Duration;

/// A count, in groups of three: `182,340`.
pub fn grouped(value: u64) -> String {
    let digits = value.to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// A count and what is counted: `1 thread`, `2,000 threads`.
pub fn plural(number: u64, noun: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{} {noun}{ending}", grouped(number))
}

/// How often: `once`, `2 times`.
pub fn times(number: u64) -> String {
    if number == 1 { "once".to_owned() } else { format!("{} times", grouped(number)) }
}

/// A length of time as people say it: `250 ms`, `30 s`, `1 min 30 s`.
pub fn length(duration: Duration) -> String {
    let whole = duration.as_secs();
    if duration.subsec_nanos() != 0 && whole == 0 {
        return format!("{} ms", duration.as_secs_f64() * 1e3);
    }
    if duration.subsec_nanos() != 0 || whole < 60 {
        return format!("{} s", duration.as_secs_f64());
    }
    let parts = [(whole / 3600, "h"), (whole / 60 % 60, "min"), (whole % 60, "s")];
    let parts = parts.iter().filter(|(number, _)| *number > 0);
    parts.map(|(number, unit)| format!("{number} {unit}")).collect::<Vec<_>>().join(" ")
}

/// A number of whole things, or of things per second, to the nearest.
pub fn whole(value: f64) -> String {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "rounded, and the cast saturates"
    )]
    grouped(value.round() as u64)
}

/// A share as percent, two significant digits: `31 %`, `1.2 %`, `0.04 %`.
///
/// Only an exact share is `100 %` or `0 %`: what would round to one of them gets more decimals, and then a sign.
pub fn percent(share: f64) -> String {
    const DECIMALS_MAX: usize = 2;
    let value = share * 100.0;
    let size = value.abs();
    let sign = if value < 0.0 { "−" } else { "" };
    let least = match size {
        size if size >= 9.95 || size == 0.0 => 0,
        size if size >= 0.095 => 1,
        size if size >= 0.005 => 2,
        // NaN, too: a share of nothing.
        _ if share.is_nan() => return "–".to_owned(),
        _ => return format!("{sign}<0.01 %"),
    };
    let rounded = |decimals: usize| format!("{size:.decimals$}");
    let is_exact = size.total_cmp(&100.0).is_eq();
    let is_all = |decimals: usize| rounded(decimals).parse() == Ok(100.0);
    let decimals = (least..=DECIMALS_MAX).find(|decimals| is_exact || !is_all(*decimals));
    match decimals {
        Some(0) if size >= 999.5 => format!("{sign}{} %", whole(size)),
        Some(decimals) => format!("{sign}{} %", rounded(decimals)),
        None if size < 100.0 => format!("{sign}>99.99 %"),
        None => format!("{sign}>100 %"),
    }
}

/// A share as percent. Only everything is `100 %` and only nothing is `0 %`; in between as many decimals, up to
/// two, as it takes to be neither.
pub fn percent_of(part: u64, whole: u64) -> String {
    if whole == 0 || part == 0 {
        return "0 %".to_owned();
    }
    if part >= whole {
        return "100 %".to_owned();
    }
    let value = 100.0 * part as f64 / whole as f64;
    match value {
        value if value < 0.01 => "<0.01 %".to_owned(),
        value if value > 99.99 => ">99.99 %".to_owned(),
        value if !(0.995..99.95).contains(&value) => format!("{value:.2} %"),
        value => format!("{} %", format!("{value:.1}").trim_end_matches(".0")),
    }
}

/// Milliseconds in a unit that a person would say, up to 10 s with three digits.
pub fn milliseconds(value: f64) -> String {
    match value {
        value if value >= 10_000.0 => format!("{:.1} s", value / 1e3),
        value if value >= 100.0 => format!("{value:.0} ms"),
        value if value >= 10.0 => format!("{value:.1} ms"),
        value if value >= 1.0 => format!("{value:.2} ms"),
        value => format!("{:.0} µs", value * 1e3),
    }
}

/// Two significant digits: an estimate is not known better.
pub fn two_digits(value: f64) -> f64 {
    let scale = 10_f64.powf(value.log10().floor() - 1.0);
    if scale > 0.0 { (value / scale).round() * scale } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts() {
        let all = [0, 7, 999, 1000, 182_340, 1_000_000].map(grouped);
        assert_eq!(all, ["0", "7", "999", "1,000", "182,340", "1,000,000"]);
        assert_eq!([0.4, 1.5, 18_234.4].map(whole), ["0", "2", "18,234"]);
        assert_eq!([0, 1, 2_000].map(|n| plural(n, "thread")), ["0 threads", "1 thread", "2,000 threads"]);
        assert_eq!([1, 2].map(times), ["once", "2 times"]);
    }

    #[test]
    fn shares() {
        let all = [0.0, 0.000_01, 0.0004, 0.0042, 0.0999, 0.314, 1.0, 2.5, -0.31].map(percent);
        assert_eq!(all, ["0 %", "<0.01 %", "0.04 %", "0.4 %", "10 %", "31 %", "100 %", "250 %", "−31 %"]);
    }

    #[test]
    fn no_share_rounds_to_all_or_nothing() {
        let all = [0.996, 0.9994, 0.999_94, 0.999_96, 1.004, 1.000_01, 1e-9, 99.9].map(percent);
        assert_eq!(
            all,
            ["99.6 %", "99.9 %", "99.99 %", ">99.99 %", "100.4 %", ">100 %", "<0.01 %", "9,990 %"]
        );
        // 305 of 105,871 requests were good.
        assert_eq!(percent(105_566.0 / 105_871.0), "99.7 %");
        for parts in 1..100_000_u32 {
            for share in
                [f64::from(parts) / 100_000.0, 1.0 - 1.0 / f64::from(parts + 1), 1.0 / f64::from(parts + 1)]
            {
                let text = percent(share);
                assert!(text != "100 %" && text != "0 %", "{share}: {text}");
            }
        }
    }

    #[test]
    fn only_everything_is_a_hundred_percent() {
        let all = [
            (0, 0),
            (0, 5),
            (5, 5),
            (1, 3),
            (999_999, 1_000_000),
            (9_996, 10_000),
            (1, 1_000_000),
            (3, 1000),
        ]
        .map(|(part, whole)| percent_of(part, whole));
        assert_eq!(all, ["0 %", "0 %", "100 %", "33.3 %", ">99.99 %", "99.96 %", "<0.01 %", "0.30 %"]);
    }

    #[test]
    fn times_as_people_say_them() {
        let all = [12_340.0, 500.0, 12.3, 2.5, 0.45].map(milliseconds);
        assert_eq!(all, ["12.3 s", "500 ms", "12.3 ms", "2.50 ms", "450 µs"]);
    }

    #[test]
    fn estimates_have_two_digits() {
        let close =
            |value: f64, expected: f64| assert!((two_digits(value) - expected).abs() < 1e-6, "{value}");
        close(254_321.0, 250_000.0);
        close(99_600.0, 100_000.0);
        close(7.26, 7.3);
        close(0.0, 0.0);
    }

    #[test]
    fn lengths() {
        let check = |milliseconds: u64, expected: &str| {
            assert_eq!(length(Duration::from_millis(milliseconds)), expected);
        };
        check(250, "250 ms");
        check(30_000, "30 s");
        check(1_500, "1.5 s");
        check(90_000, "1 min 30 s");
        check(7_200_000, "2 h");
        check(0, "0 s");
    }
}
