//! What was required and what became of it, in the words that every report has.

use prony_model::{EvaluatedThreshold, Figure, Interval, ThresholdOutcome, Unit};

use crate::clean::clean;
use crate::markdown::escaped;
use crate::number::{count, dash, fixed, rate, seconds, significant};
use crate::page::{Colour, Page};

/// The headings of [`columns`] in Markdown, and where their columns stand.
pub(crate) const HEADINGS: [(&str, &str); 5] =
    [("required", ":--"), ("measured", "--:"), ("95 % interval", ":--"), ("n", "--:"), ("", ":--")];

/// The word for what became of a threshold; what asks for attention is in capitals.
pub(crate) fn outcome_word(outcome: ThresholdOutcome) -> &'static str {
    match outcome {
        ThresholdOutcome::Met => "met",
        ThresholdOutcome::Missed => "MISSED",
        ThresholdOutcome::Undecided => "UNDECIDED",
    }
}

pub(crate) fn colour(outcome: ThresholdOutcome) -> Option<Colour> {
    match outcome {
        ThresholdOutcome::Met => None,
        ThresholdOutcome::Missed => Some(Colour::Red),
        ThresholdOutcome::Undecided => Some(Colour::Yellow),
    }
}

/// A line for each threshold.
pub(crate) fn lines(page: &mut Page, thresholds: &[EvaluatedThreshold]) {
    for threshold in thresholds {
        page.labelled(outcome_word(threshold.outcome), colour(threshold.outcome), &sentence(threshold));
    }
}

/// What was required and what was found: "response.p99 < 50ms: 5.29 ms [5.11 ms to 5.40 ms], n = 1,500".
pub fn sentence(threshold: &EvaluatedThreshold) -> String {
    format!("{}: {}", threshold.text, found(threshold))
}

/// What was found, with its interval and the number of samples, or why nothing was.
pub(crate) fn found(threshold: &EvaluatedThreshold) -> String {
    let mut parts = Vec::new();
    if let Some(measured) = measured(threshold) {
        let interval = interval(threshold).map(|interval| format!(" [{interval}]")).unwrap_or_default();
        parts.push(format!("{measured}{interval}"));
    }
    if threshold.samples > 0 && threshold.word.is_none() {
        parts.push(format!("n = {}", count(threshold.samples)));
    }
    parts.extend(note(threshold));
    parts.join(", ")
}

/// What was measured, with its unit; `None` where that is withheld.
pub fn measured(threshold: &EvaluatedThreshold) -> Option<String> {
    let number = threshold.measured.map(|value| amount(threshold.figure, value));
    number.or_else(|| threshold.word.clone())
}

/// The interval, where it is more than a point.
pub(crate) fn interval(threshold: &EvaluatedThreshold) -> Option<String> {
    let Interval { low, high, .. } = threshold.interval.filter(|interval| interval.low < interval.high)?;
    Some(format!("{} to {}", amount(threshold.figure, low), amount(threshold.figure, high)))
}

/// Why it is undecided, or that it might have come out otherwise.
pub(crate) fn note(threshold: &EvaluatedThreshold) -> Option<String> {
    let close = threshold.is_close.then(|| "close: the bound is within the interval".to_owned());
    let no_number = || {
        (threshold.measured.is_none() && threshold.word.is_none()).then(|| "there is no number".to_owned())
    };
    threshold.reason.clone().or(close).or_else(no_number)
}

/// The cells of a row in Markdown, as [`HEADINGS`] has them.
pub(crate) fn columns(threshold: &EvaluatedThreshold) -> [String; 5] {
    [
        // Within a code span nothing is markup but its end and that of a table's cell.
        format!("`{}`", clean(&threshold.text).replace(['`', '|'], "")),
        measured(threshold).unwrap_or_else(dash),
        interval(threshold).unwrap_or_else(dash),
        if threshold.samples > 0 { count(threshold.samples) } else { dash() },
        escaped(&note(threshold).unwrap_or_default()),
    ]
}

/// `value` of `figure` with its unit.
pub fn amount(figure: Figure, value: f64) -> String {
    match figure.unit() {
        Unit::Share => share(value),
        Unit::Milliseconds => seconds(value / 1e3),
        Unit::Microseconds => seconds(value / 1e6),
        Unit::Seconds => seconds(value),
        Unit::PerSecond => format!("{} /s", rate(value)),
        Unit::Mebibytes => format!("{} MiB", significant(value)),
        Unit::Count | Unit::Word => fixed(value, 0),
    }
}

/// A share as percent, with so many digits that it can be compared with `99.95%`; only everything is `100 %`.
fn share(value: f64) -> String {
    let percent = 100.0 * value;
    match percent {
        percent if percent > 99.999 && value < 1.0 => ">99.999 %".to_owned(),
        percent if percent < 0.001 && value > 0.0 => "<0.001 %".to_owned(),
        percent => {
            let digits = format!("{percent:.3}");
            format!("{} %", digits.trim_end_matches('0').trim_end_matches('.'))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_have_digits_to_compare() {
        let all = [0.0, 0.000_001, 0.023, 0.9, 0.9995, 0.999_999, 1.0, 1.5].map(share);
        assert_eq!(all, ["0 %", "<0.001 %", "2.3 %", "90 %", "99.95 %", ">99.999 %", "100 %", "150 %"]);
    }
}
