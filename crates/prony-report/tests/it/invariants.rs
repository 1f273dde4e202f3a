//! What must hold for every report of every result, whatever was measured: made from random results.

use prony_model::{Interval, LatencySummary, OutcomeSummary, QUANTILES, RunResult, Traffic, TrafficPart};
use prony_report::{Style, brief, markdown, percent, signed_percent, text, wrk};
use proptest::prelude::*;
use regex::Regex;

use crate::fixtures::{closed, histogram, summary, tailed};

/// A result of so many good, failed, cut off and unsent requests.
fn result(good: u64, failed: u64, censored: u64, unsent: u64, measured_s: f64, typical_ms: f64) -> RunResult {
    let shown = u32::try_from(good.min(3000)).expect("a few");
    let mut result = closed(&tailed(shown, typical_ms));
    let requests = &mut result.requests;
    requests.done = good;
    requests.answered = good;
    requests.failed = failed;
    requests.censored = censored;
    requests.never_sent = unsent;
    requests.intended = good + failed + censored + unsent;
    requests.sent = requests.intended - unsent;
    result.timing.measured_s = measured_s;
    result.rate.done_per_s = good as f64 / measured_s;
    result.rate.answered_per_s = result.rate.done_per_s;
    result.rate.interval_per_s = None;
    result.traffic = Some(Traffic {
        preflight_connections: 1,
        warmup: TrafficPart { sent: failed, answered: failed, answered_in_drain: 0 },
        measured: TrafficPart { sent: good + failed + censored, answered: good, answered_in_drain: good / 7 },
    });
    result
}

fn reports(result: &RunResult) -> Vec<String> {
    let style = Style { width: 400, ..Style::default() };
    vec![text::run(result, &style), markdown::run(result), brief::run(result, &[], &[], &style)]
}

/// Every share of a report, in percent, as it stands there; a sign before it as its first character.
fn shares(report: &str) -> Vec<String> {
    let share = Regex::new(r"([<>+±−]?\d[\d,.]*) %").expect("a pattern");
    share.captures_iter(report).map(|found| found[1].to_owned()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn only_everything_is_a_hundred_percent(
        good in 0_u64..200_000, failed in 0_u64..200_000, censored in 0_u64..50, unsent in 0_u64..50,
    ) {
        let result = result(good, failed, censored, unsent, 10.0, 2.0);
        let is_all = good > 0 && failed + censored + unsent == 0;
        let is_none = good == 0;
        for report in reports(&result) {
            let Some(line) = report.lines().find(|line| line.contains("SUCCESS")) else { continue };
            let shares = shares(line);
            prop_assert_eq!(shares[0] == "100", is_all, "{}", line);
            prop_assert_eq!(shares[0] == "0", is_none, "{}", line);
        }
    }

    /// Every share is between nothing and all, but for those of changes.
    #[test]
    fn shares_are_shares(part in 0_u64..1_000_000, whole in 1_u64..1_000_000, change in -0.999..5.0_f64) {
        let part = part.min(whole);
        let text = percent(part, whole);
        prop_assert_eq!(text == "100 %", part == whole);
        prop_assert_eq!(text == "0 %", part == 0);
        let number: f64 = text.trim_start_matches(['<', '>']).trim_end_matches(" %").parse().expect("a number");
        prop_assert!((0.0..=100.0).contains(&number), "{}", text);
        prop_assert!((number - 100.0 * part as f64 / whole as f64).abs() < 0.051, "{} of {}: {}", part, whole, text);
        let change = signed_percent(change);
        prop_assert!(change != "−100 %" && change.starts_with(['+', '−']), "{}", change);
    }

    /// In each row p50 <= p90 <= p99 <= p99.9 <= max, as it is printed, and each row says of how many it is.
    #[test]
    fn rows_ascend_and_have_their_count(count in 1_u32..3000, typical_ms in 0.001..50_000.0_f64) {
        let mut result = result(u64::from(count), 0, 0, 0, 10.0, typical_ms);
        result.latency.connect = LatencySummary::default();
        let report = text::run(&result, &Style { width: 400, ..Style::default() });
        for name in ["response", "service"] {
            let row = report.lines().find(|line| line.starts_with(name)).expect("a row");
            let cells: Vec<f64> = row
                .split_whitespace()
                .skip(1)
                .filter_map(|cell| cell.trim_start_matches('<').replace(',', "").parse().ok())
                .collect();
            let (n, rest) = cells.split_last().expect("a count");
            let (_mean, ascending) = rest.split_last().expect("a mean");
            prop_assert!(ascending.is_sorted(), "{}", row);
            prop_assert!((*n - f64::from(count)).abs() < 0.5, "{}", row);
        }
    }

    /// Intervals contain what they are of, as it is printed.
    #[test]
    fn intervals_contain_their_value(typical_ms in 0.01..5_000.0_f64, width in 0.0..0.5_f64) {
        let mut result = result(3000, 0, 0, 0, 10.0, typical_ms);
        for (key, _) in QUANTILES {
            if let Some(Some(value)) = result.latency.response.quantiles_ms.get(key).copied() {
                let interval = Interval { low: value * (1.0 - width), high: value * (1.0 + width), indicative: false };
                result.latency.response.intervals_ms.insert(key.to_owned(), interval);
            }
        }
        let report = text::run(&result, &Style { width: 400, ..Style::default() });
        let row: Vec<&str> = report
            .lines()
            .find(|line| line.starts_with("response "))
            .expect("a row")
            .split_whitespace()
            .skip(1)
            .collect();
        let line = report.lines().find(|line| line.contains("95 % intervals")).expect("intervals");
        let ends = Regex::new(r"p([\d.]+) ([\d.,]+)–([\d.,]+)").expect("a pattern");
        let number = |text: &str| text.replace(',', "").parse::<f64>().expect("a number");
        for found in ends.captures_iter(line) {
            let column = ["50", "90", "99", "99.9"].iter().position(|name| *name == &found[1]).expect("a heading");
            let (low, value, high) = (number(&found[2]), number(row[column]), number(&found[3]));
            prop_assert!(low <= value && value <= high, "{} of {:?}", line, row);
        }
    }

    /// No rate stands without what it is a rate of: 0 only where nothing was good.
    #[test]
    fn a_rate_of_zero_means_nothing(good in 0_u64..5000, late in proptest::bool::ANY) {
        let mut result = result(good, 10, 0, 0, 2.0, 3.0);
        if late {
            result.rate.done_per_s = 0.0;
            result.rate.answered_per_s = 0.0;
        }
        let zero = Regex::new(r"(rate|goodput) +\**0 /s").expect("a pattern");
        for report in reports(&result) {
            let says_zero = zero.is_match(&report);
            prop_assert_eq!(says_zero, good == 0, "{}", report);
        }
    }

    /// wrk's own two shares, and its table.
    #[test]
    fn wrks_shares_are_shares(count in 1_u32..2000, typical_ms in 0.001..10_000.0_f64) {
        let mut result = result(u64::from(count), 0, 0, 0, 1.0, typical_ms);
        let times_ms = tailed(count, typical_ms);
        result.outcomes = vec![OutcomeSummary {
            outcome: "2xx".to_owned(),
            count: count.into(),
            response: summary(&times_ms),
            service: summary(&times_ms),
            response_histogram: histogram(&times_ms),
            service_histogram: histogram(&times_ms),
        }];
        let report = wrk::report(&result, &wrk::Rates::default(), true);
        let share = Regex::new(r"([\d.]+)%").expect("a pattern");
        for found in share.captures_iter(&report) {
            prop_assert!(found[1].parse::<f64>().is_ok_and(|share| share <= 100.0), "{}", report);
        }
    }
}
