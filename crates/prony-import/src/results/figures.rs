//! Numbers as other tools write them.

use prony_model::{ExternalQuantile, ExternalTool};
use serde_json::Value;

use super::ReportError;

/// Characters of a text that an error shows.
const SHOWN_MAX: usize = 40;

/// Numbers in a report of one tool.
#[derive(Debug, Clone, Copy)]
pub(super) struct Figures(pub(super) ExternalTool);

impl Figures {
    /// A number that is not negative: `17236.48`, also with commas for thousands.
    pub(super) fn number(self, text: &str) -> Result<f64, ReportError> {
        let plain = text.trim().replace(',', "");
        let number = plain.parse().ok().filter(|number: &f64| number.is_finite() && *number >= 0.0);
        number.ok_or_else(|| self.wrong("number", text))
    }

    /// A whole number.
    pub(super) fn count(self, text: &str) -> Result<u64, ReportError> {
        text.trim().replace(',', "").parse().map_err(|_| self.wrong("whole number", text))
    }

    /// A time span with units, `94.00us`, `1.44ms`, `2.10m`, `1m2.5s`; ms.
    pub(super) fn span_ms(self, text: &str) -> Result<f64, ReportError> {
        let wrong = || self.wrong("time span", text);
        let mut rest = text.trim();
        let mut total = 0.0;
        if rest == "0" {
            return Ok(total);
        }
        if rest.is_empty() {
            return Err(wrong());
        }
        while !rest.is_empty() {
            let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').ok_or_else(wrong)?;
            let (number, after) = rest.split_at(digits);
            let letters = after.find(|c: char| c.is_ascii_digit()).unwrap_or(after.len());
            let (unit, after) = after.split_at(letters);
            let number = self.number(number).map_err(|_| wrong())?;
            total += match unit {
                "ns" => number / 1e6,
                "us" | "µs" | "μs" => number / 1e3,
                "ms" => number,
                "s" => number * 1e3,
                "m" => number * 6e4,
                "h" => number * 3.6e6,
                _ => return Err(wrong()),
            };
            rest = after;
        }
        Ok(total)
    }

    /// The number at `path` in `root`, `a.b`; `None` where there is none.
    pub(super) fn at(self, root: &Value, path: &[&str]) -> Result<Option<f64>, ReportError> {
        let found = path.iter().try_fold(root, |value, key| value.get(key));
        let Some(found) = found.filter(|value| !value.is_null()) else { return Ok(None) };
        let number = found.as_f64().filter(|number| number.is_finite() && *number >= 0.0);
        number.map(Some).ok_or_else(|| self.wrong("number", &found.to_string()))
    }

    /// The whole number at `path` in `root`.
    pub(super) fn count_at(self, root: &Value, path: &[&str]) -> Result<Option<u64>, ReportError> {
        let found = path.iter().try_fold(root, |value, key| value.get(key));
        let Some(found) = found.filter(|value| !value.is_null()) else { return Ok(None) };
        found.as_u64().map(Some).ok_or_else(|| self.wrong("whole number", &found.to_string()))
    }

    /// `found`, or that it is missing.
    pub(super) fn must<T>(self, what: &'static str, found: Option<T>) -> Result<T, ReportError> {
        found.ok_or(ReportError::Missing { tool: self.0, what })
    }

    fn wrong(self, what: &'static str, text: &str) -> ReportError {
        ReportError::Number { tool: self.0, what, text: text.trim().chars().take(SHOWN_MAX).collect() }
    }
}

/// The quantile of `percent`; `None` where that is no percentage.
pub(super) fn quantile(percent: f64, ms: f64) -> Option<ExternalQuantile> {
    // Percentages have few decimals: 99.9 is 0.999, and not 0.9990000000000001.
    let q = (percent * 1e7).round() / 1e9;
    (0.0..=1.0).contains(&q).then_some(ExternalQuantile { q, ms })
}

/// What follows `label` on the first line that begins with it.
pub(super) fn after<'a>(text: &'a str, label: &str) -> Option<&'a str> {
    text.lines().find_map(|line| line.trim_start().strip_prefix(label)).map(str::trim)
}

/// The first word of `text`, or nothing.
pub(super) fn first_word(text: &str) -> &str {
    text.split_whitespace().next().unwrap_or_default()
}
