//! Signals that the client's own delays are part of the latencies, from the kernel's time stamps.

use prony_model::words::{milliseconds, percent};
use prony_model::{Evidence, Finding, FindingCode, KERNEL_P99, Severity};

use super::client::more_threads;
use super::{Facts, graded};

/// The client's own share of the slowest responses: warn, invalid.
const TAIL_SHARE: (f64, f64) = (0.10, 0.50);
/// p99 of the delay in polling, as a share of the response time's p99: warn, invalid.
const RECEIVE_SHARE: (f64, f64) = (0.05, 0.20);
/// A delay of no more milliseconds is what it takes to wake up a thread, which any client on such a machine would have
/// (p99 106 µs on the one of docs/decisions/010-waking-up.md): it is reported one grade milder.
const WAKE_UP_MS: f64 = 0.1;
/// The slowest are those from the p99 on.
const TAIL: f64 = 0.01;
/// Good responses that there must be: ten from the p99 on.
const LEAST_RESPONSES: u64 = 1000;

/// The slowest responses were slow in the client.
pub(super) fn tail_blame(facts: &Facts<'_>) -> Option<Finding> {
    if facts.responses.count() < LEAST_RESPONSES {
        return None;
    }
    let tail = facts.records().own_delay.slowest(TAIL)?;
    let (own, response) = (tail.own_ns / 1e6, tail.response_ns / 1e6);
    let share = if response > 0.0 { own / response } else { 0.0 };
    let quote = Quote::of(facts);
    let severity = milder_if_short(graded(share, TAIL_SHARE.0, TAIL_SHARE.1)?, own);
    let network = facts.totals.stamps.network.value_at_quantile(0.99).map(|nanos| nanos as f64 / 1e6);
    let without = network.map_or_else(String::new, |network| {
        format!("; by the kernel's clock p99 of network and server is {}", milliseconds(network))
    });
    let mut evidence =
        vec![("own_mean", own, "ms"), ("response_mean", response, "ms"), ("share", share, "share")];
    evidence.extend(network.map(|network| ("network_p99", network, "ms")));
    let made = if share > TAIL_SHARE.1 && own > WAKE_UP_MS {
        "the client made this p99, not the server"
    } else {
        "the client made part of this p99"
    };
    let found = Finding::new(
        FindingCode::TailBlame,
        severity,
        &evidence,
        format!("{made}: {} of the slowest 1 % of responses is its own delay{without}", percent(share)),
        more_threads(facts, facts.plan().threads),
    );
    Some(quote.in_place_of_own_tail(found))
}

/// Answers lay in the kernel before the client looked at them.
pub(super) fn receive_delay(facts: &Facts<'_>) -> Option<Finding> {
    if facts.responses.count() < LEAST_RESPONSES {
        return None;
    }
    let delay = facts.records().arrivals.quantile(0.99)? as f64 / 1e6;
    let response = facts.response_ms("0.99", 0.99)?;
    let share = if response > 0.0 { delay / response } else { 0.0 };
    let severity = milder_if_short(graded(share, RECEIVE_SHARE.0, RECEIVE_SHARE.1)?, delay);
    let found = Finding::new(
        FindingCode::ReceiveDelay,
        severity,
        &[("arrival_p99", delay, "ms"), ("response_p99", response, "ms"), ("share", share, "share")],
        format!(
            "answers waited for the client: the p99 of their delay, {}, is {} of the response time's p99",
            milliseconds(delay),
            percent(share)
        ),
        more_threads(facts, facts.plan().threads),
    );
    Some(Quote::of(facts).in_place_of_own_tail(found))
}

/// The p99 of the response time by the kernel's clock, which none of the client's delays are in. Where it is printed,
/// a client that made its own p99 does not spoil the run: there is a number to quote.
#[derive(Debug, Clone, Copy)]
pub(super) struct Quote {
    p99_ms: Option<f64>,
}

impl Quote {
    pub(super) fn of(facts: &Facts<'_>) -> Self {
        let printed = &facts.result.latency.kernel_response.quantiles_ms;
        Self { p99_ms: printed.get("0.99").copied().flatten() }
    }

    /// `found`, which would make the run invalid, as a warning that names the number to quote instead. Others stay as
    /// they are.
    pub(super) fn in_place_of_own_tail(self, mut found: Finding) -> Finding {
        let Some(p99_ms) = self.p99_ms.filter(|_| found.severity == Severity::Invalid) else { return found };
        found.severity = Severity::Warning;
        found.evidence.push(Evidence::new(KERNEL_P99, p99_ms, "ms"));
        found.advice = format!(
            "quote the p99 by the kernel's clock, {}: the client's delays are not in it; or {}",
            milliseconds(p99_ms),
            found.advice
        );
        found
    }

    /// The same for requests that left late by `lag_ms` at p99: as long as that is less than what was measured, the
    /// server had about the load that was asked for.
    pub(super) fn in_place_of_lag(self, found: Finding, lag_ms: f64) -> Finding {
        if self.p99_ms.is_some_and(|p99_ms| lag_ms < p99_ms) {
            self.in_place_of_own_tail(found)
        } else {
            found
        }
    }
}

/// `severity`, or the next milder one where the client's delay is no longer than waking up takes.
fn milder_if_short(severity: Severity, delay_ms: f64) -> Severity {
    match severity {
        Severity::Invalid if delay_ms <= WAKE_UP_MS => Severity::Warning,
        Severity::Warning if delay_ms <= WAKE_UP_MS => Severity::Note,
        severity => severity,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_p99_by_the_kernels_clock_is_quoted_in_place_of_one_that_the_client_made() {
        let found = |severity| {
            Finding::new(
                FindingCode::TailBlame,
                severity,
                &[("share", 0.6, "share")],
                "late".to_owned(),
                "try more",
            )
        };
        let known = Quote { p99_ms: Some(1.25) };
        let quoted = known.in_place_of_own_tail(found(Severity::Invalid));
        assert_eq!(quoted.severity, Severity::Warning);
        assert!(quoted.advice.starts_with("quote the p99 by the kernel's clock, 1.25 ms"), "{quoted:?}");
        assert_eq!(quoted.evidence.last(), Some(&Evidence::new(KERNEL_P99, 1.25, "ms")));
        for milder in [Severity::Warning, Severity::Note] {
            assert_eq!(known.in_place_of_own_tail(found(milder)), found(milder), "its own p99 is usable");
        }
        let unknown = Quote { p99_ms: None };
        assert_eq!(unknown.in_place_of_own_tail(found(Severity::Invalid)), found(Severity::Invalid));
        // Bursts that are longer than what was measured are another load than the one that was asked for.
        assert_eq!(known.in_place_of_lag(found(Severity::Invalid), 1.3).severity, Severity::Invalid);
        assert_eq!(known.in_place_of_lag(found(Severity::Invalid), 1.2).severity, Severity::Warning);
    }

    #[test]
    fn what_waking_up_takes_is_reported_one_grade_milder() {
        let check = |severity, delay_ms, expected| assert_eq!(milder_if_short(severity, delay_ms), expected);
        check(Severity::Invalid, 0.05, Severity::Warning);
        check(Severity::Warning, 0.1, Severity::Note);
        check(Severity::Note, 0.05, Severity::Note);
        check(Severity::Invalid, 0.11, Severity::Invalid);
        check(Severity::Warning, 4.0, Severity::Warning);
    }
}
