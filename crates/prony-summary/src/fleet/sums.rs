//! Counts of several agents, added up.

use std::collections::BTreeMap;

use prony_model::{
    Bytes, Client, Connections, Handshakes, Http2Use, KernelClockUse, LatencySummary, Requests, RetryUse,
    RunPlan, RunResult, ThreadUse, TlsUse, Traffic, TrafficPart,
};
use prony_stats::Censored;

use super::totals::Totals;
use crate::latency::{histogram_data, summary, withheld_whole};
use crate::stored::Place;

/// The sum of `counts`. Nothing keeps an agent from storing counts whose sum is beyond 64 bits.
pub(super) fn total(counts: impl Iterator<Item = u64>) -> u64 {
    counts.fold(0, u64::saturating_add)
}

/// The sum of what `count` finds in each result.
pub(super) fn sum(results: &[&RunResult], count: impl Fn(&RunResult) -> u64) -> u64 {
    total(results.iter().map(|result| count(result)))
}

/// Adds the counts of `more` to those of `counts`.
pub(super) fn add_counts<K: Ord + Clone>(counts: &mut BTreeMap<K, u64>, more: &BTreeMap<K, u64>) {
    for (key, count) in more {
        let sum = counts.entry(key.clone()).or_default();
        *sum = sum.saturating_add(*count);
    }
}

/// Counts by a key, of all results.
pub(super) fn sum_by<'a, K: Ord + Clone + 'a>(
    results: &[&'a RunResult],
    counts: impl Fn(&'a RunResult) -> Option<&'a BTreeMap<K, u64>>,
) -> BTreeMap<K, u64> {
    let mut sum = BTreeMap::new();
    for more in results.iter().filter_map(|result| counts(result)) {
        add_counts(&mut sum, more);
    }
    sum
}

pub(super) fn requests(results: &[&RunResult]) -> Requests {
    let all: Vec<&Requests> = results.iter().map(|result| &result.requests).collect();
    all_requests(&all)
}

/// The same of any parts of a load.
pub(super) fn all_requests(all: &[&Requests]) -> Requests {
    let of = |count: fn(&Requests) -> u64| total(all.iter().map(|requests| count(requests)));
    let mut failed_by_kind = BTreeMap::new();
    for requests in all {
        add_counts(&mut failed_by_kind, &requests.failed_by_kind);
    }
    Requests {
        intended: of(|requests| requests.intended),
        sent: of(|requests| requests.sent),
        answered: of(|requests| requests.answered),
        done: of(|requests| requests.done),
        failed: of(|requests| requests.failed),
        censored: of(|requests| requests.censored),
        never_sent: of(|requests| requests.never_sent),
        failed_by_kind,
    }
}

/// None where an agent does not say.
pub(super) fn traffic(results: &[&RunResult]) -> Option<Traffic> {
    let mut sum = Traffic::default();
    for result in results {
        let more = result.traffic?;
        sum.preflight_connections = sum.preflight_connections.saturating_add(more.preflight_connections);
        add_part(&mut sum.warmup, more.warmup);
        add_part(&mut sum.measured, more.measured);
    }
    Some(sum)
}

fn add_part(sum: &mut TrafficPart, more: TrafficPart) {
    sum.sent = sum.sent.saturating_add(more.sent);
    sum.answered = sum.answered.saturating_add(more.answered);
    sum.answered_in_drain = sum.answered_in_drain.saturating_add(more.answered_in_drain);
}

pub(super) fn bytes(results: &[&RunResult]) -> Bytes {
    let of = |count: fn(&Bytes) -> u64| sum(results, |result| count(&result.bytes));
    Bytes {
        sent: of(|bytes| bytes.sent),
        received: of(|bytes| bytes.received),
        body_received: of(|bytes| bytes.body_received),
    }
}

pub(super) fn connections(plan: &RunPlan, results: &[&RunResult]) -> Connections {
    let of = |count: fn(&Connections) -> u64| sum(results, |result| count(&result.connections));
    Connections {
        asked: plan.load.connections().into(),
        reached: of(|connections| connections.reached),
        attempted: of(|connections| connections.attempted),
        opened: of(|connections| connections.opened),
        reused: of(|connections| connections.reused),
        closed_by_server: of(|connections| connections.closed_by_server),
    }
}

pub(super) fn kernel_clock(results: &[&RunResult]) -> KernelClockUse {
    let of = |count: fn(&KernelClockUse) -> u64| sum(results, |result| count(&result.kernel_clock));
    let first = results.first().map(|result| result.kernel_clock.clone()).unwrap_or_default();
    KernelClockUse {
        arrivals_stamped: of(|used| used.arrivals_stamped),
        departures_stamped: of(|used| used.departures_stamped),
        discarded: of(|used| used.discarded),
        responses_asked: of(|used| used.responses_asked),
        responses_stamped: of(|used| used.responses_stamped),
        ..first
    }
}

/// What the connection before the load of the first agent found, and the handshakes of all.
pub(super) fn tls(results: &[&RunResult], totals: &mut Totals) -> Option<TlsUse> {
    let first = results.iter().find_map(|result| result.tls.clone())?;
    let handshakes = |result: &'_ RunResult, count: fn(&Handshakes) -> u64| {
        result.tls.as_ref().map_or(0, |tls| count(&tls.handshakes))
    };
    let of = |count: fn(&Handshakes) -> u64| sum(results, |result| handshakes(result, count));
    let full = totals.take(Place::FullHandshakes);
    let resumed = totals.take(Place::ResumedHandshakes);
    let handshakes = Handshakes {
        full: of(|found| found.full),
        resumed: of(|found| found.resumed),
        failed: of(|found| found.failed),
        full_latency: summary(&full, Censored::NONE),
        resumed_latency: summary(&resumed, Censored::NONE),
        full_histogram: histogram_data(&full),
        resumed_histogram: histogram_data(&resumed),
    };
    Some(TlsUse { handshakes, ..first })
}

pub(super) fn http2(results: &[&RunResult]) -> Option<Http2Use> {
    let all = || results.iter().filter_map(|result| result.http2);
    all().next()?;
    Some(Http2Use {
        stream_limit: all().filter_map(|used| used.stream_limit).min(),
        refused: total(all().map(|used| used.refused)),
        went_away: total(all().map(|used| used.went_away)),
    })
}

pub(super) fn retries(results: &[&RunResult]) -> Option<RetryUse> {
    let all: Vec<&RetryUse> = results.iter().filter_map(|result| result.retries.as_ref()).collect();
    all.first()?;
    let of = |count: fn(&RetryUse) -> u64| total(all.iter().map(|used| count(used)));
    let (attempts, retries) = (of(|used| used.attempts), of(|used| used.retries));
    let sent = attempts.saturating_sub(retries);
    Some(RetryUse {
        attempts,
        amplification: if sent > 0 { attempts as f64 / sent as f64 } else { 1.0 },
        retries,
        by_reason: sum_by(results, |result| Some(&result.retries.as_ref()?.by_reason)),
        retried: of(|used| used.retried),
        recovered: of(|used| used.recovered),
        exhausted: of(|used| used.exhausted),
        refused_by_budget: of(|used| used.refused_by_budget),
        refused_by_timeout: of(|used| used.refused_by_timeout),
        refused_for_room: of(|used| used.refused_for_room),
        waiting_at_end: of(|used| used.waiting_at_end),
        answers_retried: of(|used| used.answers_retried),
        by_attempts: sum_by(results, |result| Some(&result.retries.as_ref()?.by_attempts)),
        recovered_response: without_quantiles(&all),
    })
}

/// Response times of recovered requests, whose distributions results don't hold.
fn without_quantiles(all: &[&RetryUse]) -> LatencySummary {
    let summaries = || all.iter().map(|used| &used.recovered_response);
    let count = total(summaries().map(|summary| summary.count));
    let mut sum = LatencySummary::default();
    if count > 0 {
        sum = withheld_whole(count, "results of agents don't hold the distribution");
        sum.min_ms = summaries().filter_map(|summary| summary.min_ms).reduce(f64::min);
        sum.max_ms = summaries().filter_map(|summary| summary.max_ms).reduce(f64::max);
        let all_ms: f64 =
            summaries().filter_map(|summary| Some(summary.mean_ms? * summary.count as f64)).sum();
        sum.mean_ms = Some(all_ms / count as f64);
    }
    sum
}

/// Threads are numbered as those of one machine would be.
pub(super) fn client(results: &[&RunResult]) -> Client {
    let clients = || results.iter().map(|result| &result.client);
    let cpu_s: f64 = clients().map(|client| client.cpu_s).sum();
    let ended: Option<f64> = clients().map(|client| Some(client.requests_per_cpu_s? * client.cpu_s)).sum();
    let threads = results.iter().flat_map(|result| {
        let first = result.plan.share().first;
        result
            .client
            .threads
            .iter()
            .map(move |thread| ThreadUse { thread: first.saturating_add(thread.thread), ..thread.clone() })
    });
    Client {
        cpu_s,
        requests_per_cpu_s: ended.filter(|_| cpu_s > 0.0).map(|ended| ended / cpu_s),
        peak_rss_bytes: clients()
            .map(|client| client.peak_rss_bytes)
            .try_fold(0_u64, |sum, bytes| Some(sum.saturating_add(bytes?))),
        threads: threads.collect(),
    }
}
