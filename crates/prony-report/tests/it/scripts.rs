//! What scripts do with a report.

use regex::Regex;

/// The first group of the first match of `pattern` is `expected`.
pub(crate) fn reads(report: &str, pattern: &str, expected: &str) {
    let found = Regex::new(pattern).expect(pattern).captures(report);
    let found = found.as_ref().and_then(|found| found.get(1)).map(|found| found.as_str());
    assert_eq!(found, Some(expected), "{pattern}\n{report}");
}
