//! Verdict, success and findings without the numbers: what is printed beside a report in a foreign format, which
//! has no place for them.

use prony_model::{Finding, RunResult};

use crate::Style;
use crate::number::{plural, rate, seconds};
use crate::page::Page;
use crate::text::{finding, limiter, severity_word, success, throughput, verdict};

/// Two rates that differ by no more read alike: three digits.
const RATES_DIFFER: f64 = 0.005;

/// What to know of `label`, the rate in the report of `tool`, where it isn't Prony's own; `None` where they agree.
///
/// ab and wrk divide by the time until the last answer. Prony leaves the drain out, with the answers that come in it.
pub fn rate_note(result: &RunResult, tool: &str, label: &str) -> Option<String> {
    let took_s = result.timing.measured_s + result.timing.drain_s;
    let own = result.rate.answered_per_s;
    let theirs = if took_s > 0.0 { result.requests.answered as f64 / took_s } else { 0.0 };
    ((theirs - own).abs() > RATES_DIFFER * own.max(theirs)).then(|| {
        format!(
            "{label} is as {tool} defines it: {} in {}, until the last one; prony's own rate is {} /s, over the {} in \
             which requests were sent",
            plural(result.requests.answered, "answer"),
            seconds(took_s),
            rate(own),
            seconds(result.timing.measured_s)
        )
    })
}

/// The lines of one run; `more` are findings that only the format made, `notes` are sentences about it.
pub fn run(result: &RunResult, more: &[Finding], notes: &[String], style: &Style) -> String {
    let mut page = Page::new(style);
    let others = verdict(&mut page, result);
    if result.requests.done < result.requests.intended {
        success(&mut page, result);
        throughput(&mut page, result);
    }
    limiter(&mut page, result);
    for other in others.iter().chain(more) {
        finding(&mut page, severity_word(other.severity), None, other);
    }
    if result.findings.iter().any(|finding| finding.advice.contains("--")) {
        page.labelled(
            "note",
            None,
            "the flags in this advice are those of prony's own command: prony run URL",
        );
    }
    for note in notes {
        page.labelled("note", None, note);
    }
    page.finish()
}
