//! Numbers as people read them. Every rounding of the text reports is here, and named.

use std::time::Duration;

pub use prony_model::words::{grouped as count, percent_of as percent};
pub(crate) use prony_model::words::{percent as rough_percent, plural, two_digits};

/// Three significant digits, to the nearest; whole from 100 on, and grouped: `0.0417`, `2.74`, `12.3`, `1,234`.
pub(crate) fn significant(value: f64) -> String {
    let decimals = match value.abs() {
        0.0 => return "0".to_owned(),
        size if size >= 99.95 => 0,
        size if size >= 9.995 => 1,
        size if size >= 0.9995 => 2,
        size if size >= 0.0995 => 3,
        _ => 4,
    };
    fixed(value, decimals)
}

/// What stands for a number that is not known, or not printed.
pub(crate) fn dash() -> String {
    "–".to_owned()
}

/// `value` as `shown` has it, or a dash.
pub(crate) fn or_dash<T>(value: Option<T>, shown: impl FnOnce(T) -> String) -> String {
    value.map_or_else(dash, shown)
}

/// A round number beside a tick: as [`significant`], without zeros that say nothing.
pub(crate) fn plain_tick(number: f64) -> String {
    let text = significant(number);
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// As [`significant`], with at most three decimals, so that a column stays calm; what would round to nothing
/// is shown as less than the last decimal.
pub(crate) fn cell(value: f64) -> String {
    match value {
        0.0 => "0".to_owned(),
        value if value < 0.0005 => "<0.001".to_owned(),
        value if value < 0.9995 => fixed(value, 3),
        value => significant(value),
    }
}

/// `decimals` decimals, the whole part in groups.
pub(crate) fn fixed(value: f64, decimals: usize) -> String {
    let text = format!("{:.decimals$}", value.abs());
    let (whole, fraction) = text.split_once('.').map_or((text.as_str(), None), |(w, f)| (w, Some(f)));
    let sign = if value < 0.0 { "−" } else { "" };
    let whole = whole.parse().map_or_else(|_| whole.to_owned(), count);
    fraction.map_or_else(|| format!("{sign}{whole}"), |fraction| format!("{sign}{whole}.{fraction}"))
}

/// Requests per second, without the unit: `18,234`, `24.9`.
pub fn rate(per_s: f64) -> String {
    significant(per_s)
}

/// A change 0.05 as `+5.0 %`, two significant digits. One too small for them is `+0.00 %`.
pub fn signed_percent(change: f64) -> String {
    let sign = if change < 0.0 { "−" } else { "+" };
    let size = change.abs();
    if size > 0.0 && size < 0.000_05 {
        return format!("{sign}0.00 %");
    }
    format!("{sign}{}", rough_percent(size))
}

/// A number of bytes, three significant digits, binary prefixes: `512 B`, `2.90 MiB`.
pub(crate) fn bytes(value: f64) -> String {
    let mut scaled = value;
    let mut units = ["B", "KiB", "MiB", "GiB", "TiB"].into_iter();
    let mut unit = units.next().unwrap_or_default();
    // 999.5 and more would round to four digits.
    while scaled >= 999.5 {
        let Some(next) = units.next() else { break };
        scaled /= 1024.0;
        unit = next;
    }
    if unit == "B" { format!("{scaled:.0} B") } else { format!("{} {unit}", significant(scaled)) }
}

/// A time span in the unit a person would say: `250 ms`, `10 s`, `1 min 30 s`, `2 h`.
pub(crate) fn duration(value: Duration) -> String {
    let whole_seconds = value.as_secs();
    if value >= Duration::from_mins(1) {
        let (hours, minutes, seconds) = (whole_seconds / 3600, whole_seconds / 60 % 60, whole_seconds % 60);
        let parts = [(hours, "h"), (minutes, "min"), (seconds, "s")];
        let shown: Vec<String> =
            parts.into_iter().filter(|(n, _)| *n > 0).map(|(n, unit)| format!("{n} {unit}")).collect();
        return shown.join(" ");
    }
    seconds(value.as_secs_f64())
}

/// A time span under a minute, given in seconds: `10 s`, `2.54 s`, `250 ms`, `40 µs`.
pub fn seconds(value: f64) -> String {
    let trimmed = |value: f64| {
        let text = significant(value);
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
    };
    match value {
        0.0 => "0 s".to_owned(),
        value if value < 0.000_999_5 => format!("{} µs", trimmed(value * 1e6)),
        value if value < 0.9995 => format!("{} ms", trimmed(value * 1e3)),
        value => format!("{} s", trimmed(value)),
    }
}

/// How long ago, given in seconds, to the unit below: `12 min ago`, `2 h ago`, `1 day ago`.
pub fn age(seconds: f64) -> String {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the cast saturates")]
    let minutes = (seconds / 60.0) as u64;
    match (minutes / 60 / 24, minutes / 60, minutes) {
        (0, 0, 0) => "less than a minute ago".to_owned(),
        (0, 0, minutes) => format!("{minutes} min ago"),
        (0, hours, _) => format!("{hours} h ago"),
        (1, _, _) => "1 day ago".to_owned(),
        (days, _, _) => format!("{} days ago", count(days)),
    }
}

/// A factor of something uncertain, two significant digits: `1.4x`, `13x`, `1,300x`.
pub(crate) fn times(factor: f64) -> String {
    if factor < 9.95 {
        return format!("{factor:.1}x");
    }
    format!("{}x", fixed(two_digits(factor), 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_significant_digits() {
        let all = [0.0, 0.0417, 0.417, 2.7449, 9.996, 12.34, 99.96, 938.4, 18_234.4].map(significant);
        assert_eq!(all, ["0", "0.0417", "0.417", "2.74", "10.0", "12.3", "100", "938", "18,234"]);
        let cells = [0.0, 0.000_04, 0.0417, 0.9996, 12.34].map(cell);
        assert_eq!(cells, ["0", "<0.001", "0.042", "1.00", "12.3"]);
    }

    #[test]
    fn sizes_and_times() {
        assert_eq!([512.0, 1000.0, 3_040_870.4].map(bytes), ["512 B", "0.977 KiB", "2.90 MiB"]);
        let spans = [90_000, 7_200_000, 10_000, 250, 1_500, 61_000].map(Duration::from_millis).map(duration);
        assert_eq!(spans, ["1 min 30 s", "2 h", "10 s", "250 ms", "1.5 s", "1 min 1 s"]);
        assert_eq!([0.00004, 0.0025, 2.5].map(seconds), ["40 µs", "2.5 ms", "2.5 s"]);
    }

    #[test]
    fn ages() {
        let all = [0.0, 59.9, 60.0, 3_599.0, 7_200.0, 86_399.0, 86_400.0, 172_800.0, 4e6].map(age);
        assert_eq!(
            all,
            [
                "less than a minute ago",
                "less than a minute ago",
                "1 min ago",
                "59 min ago",
                "2 h ago",
                "23 h ago",
                "1 day ago",
                "2 days ago",
                "46 days ago"
            ]
        );
    }

    #[test]
    fn factors() {
        assert_eq!([1.0, 9.94, 9.96, 12.6, 1_264.0].map(times), ["1.0x", "9.9x", "10x", "13x", "1,300x"]);
    }
}
