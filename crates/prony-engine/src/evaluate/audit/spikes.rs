//! Times that give their cause away: the kernel's own waits, which no server chooses.

use std::ops::RangeInclusive;

use prony_model::words::{grouped, milliseconds, percent, plural};
use prony_model::{ErrorKind, Finding, FindingCode, Severity};
use prony_stats::Histogram;

use super::Facts;
use crate::clock::Nanos;

const MILLISECOND: Nanos = 1_000_000;

/// Seconds after which the kernel has asked again for a connection: 1, 3 and 7 with doubled waits (RFC 6298,
/// section 5.7), 1, 2, 3 and 4 where the first waits are alike (net.ipv4.tcp_syn_linear_timeouts, Linux 6.5).
const SYN_SECONDS: [(&str, u64); 6] = [
    ("connects_1s", 1),
    ("connects_2s", 2),
    ("connects_3s", 3),
    ("connects_4s", 4),
    ("connects_5s", 5),
    ("connects_7s", 7),
];
/// How much longer than that a connect may take and still be one: timers of a second come up to 8 % late
/// (kernel/time/timer.c, at 100 ticks a second).
const SYN_LATE: f64 = 0.10;

/// The least time of a delayed acknowledgement is 40 ms (TCP_DELACK_MIN, include/net/tcp.h), rounded to ticks.
const DELAYED_MS: RangeInclusive<u64> = 38..=45;
/// What lies around it must be much rarer, or it is no mode: from here, and up to there.
const AROUND_MS: (u64, u64) = (25, 60);
/// How much denser than around it.
const DENSER: f64 = 5.0;
/// Share of the responses that is worth a word.
const DELAYED_SHARE: f64 = 0.05;
/// Above this share it is where all responses lie, which a slow server does as well.
const ALL_SHARE: f64 = 0.95;
/// Fewer responses are no mode.
const LEAST_DELAYED: u64 = 10;

/// All findings of this kind.
pub(super) fn findings(facts: &Facts<'_>) -> Vec<Finding> {
    if facts.plan().target.unix.is_some() {
        return Vec::new();
    }
    let connections = &facts.result.connections;
    let failed = |kind| facts.result.requests.failed_by_kind.get(&kind).copied().unwrap_or_default();
    let answered_no =
        [ErrorKind::Refused, ErrorKind::NoPort, ErrorKind::NoDescriptor, ErrorKind::Unreachable];
    let connecting = Connecting {
        times: &facts.totals.all.connect,
        unanswered: (connections.attempted - connections.opened)
            .saturating_sub(answered_no.into_iter().map(failed).sum()),
        syn_retransmitted: facts.result.machine.syn_retransmitted.unwrap_or_default(),
        here: facts.here,
    };
    let first_byte = facts.totals.all.first_byte.value_at_quantile(0.5);
    [connecting.syn_retransmission(), delayed_ack(facts.services, first_byte)].into_iter().flatten().collect()
}

/// What is known of connecting.
#[derive(Debug, Clone, Copy)]
struct Connecting<'a> {
    /// How long it took.
    times: &'a Histogram,
    /// Attempts that were neither accepted nor refused.
    unanswered: u64,
    /// SYNs, and answers to them, that this machine sent again.
    syn_retransmitted: u64,
    /// Whether the target is on this machine.
    here: bool,
}

impl Connecting<'_> {
    /// Connecting took the time of a repeated SYN.
    fn syn_retransmission(&self) -> Option<Finding> {
        let near: Vec<(&str, u64)> = SYN_SECONDS
            .iter()
            .map(|&(name, seconds)| (name, between(self.times, syn_window(seconds))))
            .filter(|(_, count)| *count > 0)
            .collect();
        let slow: u64 = near.iter().map(|(_, count)| count).sum();
        let again = self.syn_retransmitted;
        let (severity, message) = if slow > 0 {
            let longest = milliseconds(self.times.max().unwrap_or_default() as f64 / 1e6);
            let message = format!(
                "{} of {} took whole seconds to open (up to {longest}): the kernel waits so long before it \
                 asks again for a connection that had no answer",
                grouped(slow),
                plural(self.times.count(), "connection")
            );
            (Severity::Warning, message)
        } else if again > 0 && self.unanswered > 0 {
            let message = format!(
                "{} had no answer, and this machine sent {} again",
                plural(self.unanswered, "connection request"),
                plural(again, "SYN")
            );
            (Severity::Warning, message)
        } else if again > 0 && self.here {
            let message = format!(
                "this machine sent {}, or answers to SYNs, again, but this run's connections opened at once: a \
                 full listen queue, or another program",
                plural(again, "SYN")
            );
            (Severity::Note, message)
        } else {
            return None;
        };
        let mut evidence = vec![
            ("syn_retransmitted", again as f64, "count"),
            ("unanswered", self.unanswered as f64, "count"),
        ];
        evidence.extend(near.iter().map(|&(name, count)| (name, count as f64, "count")));
        let advice = "let the server accept faster or listen with a longer backlog (see listen-queue), or open fewer \
                      --connections; a firewall that drops packets looks the same";
        Some(Finding::new(FindingCode::SynRetransmission, severity, &evidence, message, advice))
    }
}

/// The times to connect after which a SYN was repeated `seconds` after the first.
fn syn_window(seconds: u64) -> RangeInclusive<Nanos> {
    let least = seconds * 1000 * MILLISECOND;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a tenth of some seconds")]
    let late = (least as f64 * SYN_LATE) as Nanos;
    least..=least + late
}

/// Responses took the time of a delayed acknowledgement. `first_byte` is the median time to the first byte.
fn delayed_ack(services: &Histogram, first_byte: Option<Nanos>) -> Option<Finding> {
    let (first, last) = (*DELAYED_MS.start(), *DELAYED_MS.end());
    let count = |from: u64, to: u64| between(services, from * MILLISECOND..=to * MILLISECOND - 1);
    let density = |from: u64, to: u64| count(from, to) as f64 / (to - from) as f64;
    let delayed = count(first, last);
    let share = delayed as f64 / services.count().max(1) as f64;
    let around = density(AROUND_MS.0, first).max(density(last, AROUND_MS.1));
    if delayed < LEAST_DELAYED || share < DELAYED_SHARE || density(first, last) < DENSER * around {
        return None;
    }
    // A server that merely takes 40 ms sends nothing before.
    let early = first_byte.filter(|first_byte| *first_byte < first * MILLISECOND / 2);
    let evidence = [("delayed", delayed as f64, "count"), ("share", share, "share")];
    let (severity, message) = match early {
        None if share >= ALL_SHARE => (
            Severity::Note,
            format!(
                "{} of the responses took about 40 ms, which is also the least delay of an acknowledgement: unless the \
                 server means to take so long, check TCP_NODELAY",
                percent(share)
            ),
        ),
        early => {
            let begun = early.map_or_else(String::new, |first_byte| {
                format!("; the first byte came after {}", milliseconds(first_byte as f64 / 1e6))
            });
            let message = format!(
                "{} of the responses took {first} to {last} ms, the time of a delayed acknowledgement, and few a little \
                 more or less{begun}: the server seems to write an answer in two pieces and to wait for one in between",
                percent(share)
            );
            (Severity::Warning, message)
        }
    };
    let advice = "set TCP_NODELAY in the server, or let it write head and body at once";
    Some(Finding::new(FindingCode::DelayedAck, severity, &evidence, message, advice))
}

/// How many values are in `range`.
fn between(values: &Histogram, range: RangeInclusive<Nanos>) -> u64 {
    values.count_at_or_below(*range.end()) - values.count_at_or_below(range.start().saturating_sub(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// So many values of so many milliseconds each.
    fn histogram(values: &[(f64, u64)]) -> Histogram {
        let mut histogram = Histogram::new();
        for (ms, count) in values {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "some milliseconds")]
            histogram.record_n((ms * 1e6) as u64, *count);
        }
        histogram
    }

    #[test]
    fn modes_of_connecting() {
        let check = |times: &[(f64, u64)],
                     unanswered,
                     syn_retransmitted,
                     here,
                     expected: Option<(Severity, &str)>| {
            let times = histogram(times);
            let connecting = Connecting { times: &times, unanswered, syn_retransmitted, here };
            let found = connecting.syn_retransmission();
            assert_eq!(
                found.as_ref().map(|found| found.severity),
                expected.map(|(severity, _)| severity),
                "{found:?}"
            );
            if let (Some(found), Some((_, words))) = (found, expected) {
                assert!(found.message.contains(words), "`{}` does not say `{words}`", found.message);
            }
        };
        let warning = |words| Some((Severity::Warning, words));
        check(&[(0.1, 1000)], 0, 0, true, None);
        // Slow, but by itself.
        check(&[(900.0, 10), (1200.0, 10), (2500.0, 1), (6000.0, 1)], 0, 0, true, None);
        check(&[(0.1, 999), (1032.0, 1)], 0, 1, true, warning("1 of 1,000 connections"));
        check(&[(0.1, 999), (3090.0, 1)], 0, 0, false, warning("up to 3090 ms"));
        check(&[(7300.0, 2)], 0, 0, false, warning("2 of 2"));
        check(&[], 4, 3, false, warning("4 connection requests had no answer"));
        check(&[], 4, 0, false, None);
        check(&[(0.1, 1000)], 0, 2, true, Some((Severity::Note, "opened at once")));
        check(&[(0.1, 1000)], 0, 2, false, None);
    }

    #[test]
    fn modes_of_answering() {
        let check = |services: &[(f64, u64)], first_byte_ms: Option<u64>, expected: Option<Severity>| {
            let first_byte = first_byte_ms.map(|ms| ms * MILLISECOND);
            let found = delayed_ack(&histogram(services), first_byte);
            assert_eq!(found.map(|found| found.severity), expected, "{services:?}");
        };
        check(&[], None, None);
        check(&[(0.2, 900), (41.0, 100)], Some(0), Some(Severity::Warning));
        check(&[(0.2, 900), (44.0, 100)], None, Some(Severity::Warning));
        // Too few: of all, and at all.
        check(&[(0.2, 960), (41.0, 40)], Some(0), None);
        check(&[(0.2, 9), (41.0, 9)], Some(0), None);
        // All of them: only an early first byte shows it.
        check(&[(40.5, 1000)], Some(40), Some(Severity::Note));
        check(&[(40.5, 1000)], Some(0), Some(Severity::Warning));
        // In the midst of others, below or above.
        check(&[(0.2, 500), (30.0, 100), (41.0, 200)], Some(0), None);
        check(&[(0.2, 500), (41.0, 100), (50.0, 100)], Some(0), None);
        check(&[(37.0, 1000)], Some(0), None);
    }
}
