//! Signals that the client, not the server, made a number.

use prony_model::words::{milliseconds, percent, times};
use prony_model::{CoreUse, Environment, Finding, FindingCode, Severity};

use super::delay::Quote;
use super::{Facts, graded};

/// Share of a core that a worker thread may use: warn, invalid.
const CPU_SHARE: (f64, f64) = (0.80, 0.95);
/// Share of the time that a worker may wait for a core: warn, invalid.
const RUN_QUEUE_SHARE: (f64, f64) = (0.01, 0.05);
/// p99 of our own lateness as a share of the response time's p99: warn, invalid.
const LAG_SHARE: (f64, f64) = (0.05, 0.20);
/// Loop gaps over a millisecond, per second of a worker, that are more than an accident.
const GAPS_PER_S: f64 = 1.0;

/// A worker thread used nearly all of its core.
pub(super) fn client_cpu(facts: &Facts<'_>) -> Option<Finding> {
    let share =
        facts.threads().iter().map(crate::record::collect::ThreadTotals::cpu_share).fold(0.0, f64::max);
    near_its_core(share, || more_threads(facts, facts.plan().threads))
}

/// Evaluates a worker thread that used `share` of a core.
fn near_its_core(share: f64, advice: impl FnOnce() -> String) -> Option<Finding> {
    let severity = graded(share, CPU_SHARE.0, CPU_SHARE.1)?;
    Some(Finding::new(
        FindingCode::ClientCpu,
        severity,
        &[("cpu_share_peak", share, "share")],
        format!(
            "a worker thread used {} of a core: a faster server would not have shown higher numbers",
            percent(share)
        ),
        advice(),
    ))
}

/// Whether a worker thread was never idle: it worked or waited for a core nearly all of the time, so that
/// whatever came late was late because of it.
pub(super) fn is_busy(facts: &Facts<'_>) -> bool {
    facts.threads().iter().any(|thread| {
        let waited = thread.run_queue_wait_ns.unwrap_or_default();
        let wall = thread.wall.max(1) as f64;
        thread.cpu_share().max((thread.cpu + waited) as f64 / wall) > CPU_SHARE.0
    })
}

/// What to do about a client that is too slow.
pub(super) fn more_threads(facts: &Facts<'_>, threads: u32) -> String {
    let slower = if facts.plan().load.rate().is_some() { "a lower --rate, or " } else { "or " };
    more_threads_on(&facts.result.environment, threads, slower)
}

fn more_threads_on(machine: &Environment, threads: u32, slower: &str) -> String {
    if threads < machine.cpus {
        return format!("try --threads {}, {slower}prony on another machine", threads + 1);
    }
    match machine.cpus_online {
        // `taskset`, a control group or a quota keeps this process from the others.
        Some(online) if machine.cpus < online => format!(
            "every CPU that prony may use has a thread already ({} of {online}): try more CPUs (taskset, or the \
             container's limit) with more --threads, {slower}prony on another machine",
            machine.cpus
        ),
        _ => format!(
            "every CPU has a thread already: try {}prony on another machine",
            slower.strip_prefix("or ").unwrap_or(slower)
        ),
    }
}

/// Worker threads waited for a core.
pub(super) fn run_queue_wait(facts: &Facts<'_>) -> Option<Finding> {
    let waited = facts.threads().iter().filter(|thread| thread.wall > 0);
    let share = waited
        .filter_map(|thread| Some(thread.run_queue_wait_ns? as f64 / thread.wall as f64))
        .fold(0.0, f64::max);
    let cores = facts.result.core_use().filter(|_| facts.result.server.is_some() || !facts.here);
    waiting(share, cores, facts.plan().threads)
}

/// Evaluates that the worker thread that waited longest did so for `share` of the time. A server on the same machine is
/// part of what is measured, so that waiting for it leaves the figures those of both on these cores; what others cause
/// spoils them.
fn waiting(share: f64, cores: Option<CoreUse>, threads: u32) -> Option<Finding> {
    let by_others = cores.map_or(share, |cores| share * cores.share_of_others(threads));
    let invalid = graded(by_others, RUN_QUEUE_SHARE.1, RUN_QUEUE_SHARE.1);
    let severity = invalid.or(graded(share, RUN_QUEUE_SHARE.0, f64::INFINITY))?;
    let mut evidence = vec![("run_queue_wait", share, "share")];
    if cores.is_some() {
        evidence.push(("run_queue_wait_by_others", by_others, "share"));
    }
    let own_core = if threads > 1 {
        "leave the client a core of its own: fewer --threads, `taskset`, or the server on another machine"
    } else {
        "leave the client a core of its own: `taskset`, or the server on another machine"
    };
    let waited = percent(share);
    let is_servers = cores.is_some_and(|cores| cores.server > cores.others);
    let (message, advice) = if is_servers && severity < Severity::Invalid {
        (
            format!(
                "a worker thread waited {waited} of the time for a CPU, mostly for the server itself: the figures are \
                 those of client and server together on these CPUs"
            ),
            format!("to know what the server does alone, {own_core}"),
        )
    } else {
        let message =
            format!("a worker thread waited {waited} of the time for a CPU that other processes were using");
        (message, own_core.to_owned())
    };
    Some(Finding::new(FindingCode::RunQueueWait, severity, &evidence, message, advice))
}

/// Requests were sent later than they could have been.
pub(super) fn send_lag(facts: &Facts<'_>) -> Option<Finding> {
    let lag = facts.records().lag.value_at_quantile(0.99)? as f64 / 1e6;
    let response = facts.response_ms("0.99", 0.99)?;
    let share = if response > 0.0 { lag / response } else { 0.0 };
    let severity = graded(share, LAG_SHARE.0, LAG_SHARE.1)?;
    let found = Finding::new(
        FindingCode::SendLag,
        severity,
        &[("lag_p99", lag, "ms"), ("response_p99", response, "ms"), ("share", share, "share")],
        format!("send lag p99 {} is {} of the response time's p99", milliseconds(lag), percent(share)),
        more_threads(facts, facts.plan().threads),
    );
    Some(Quote::of(facts).in_place_of_lag(found, lag))
}

/// The worker loop was away from its sockets for long.
pub(super) fn loop_gap(facts: &Facts<'_>) -> Option<Finding> {
    let longest = facts.threads().iter().map(|thread| thread.gap_max).max()? as f64 / 1e6;
    let count: u64 = facts.threads().iter().map(|thread| thread.gaps_over_1ms).sum();
    away(longest, count, facts.threads().iter().map(|thread| thread.wall as f64 / 1e9).sum())
}

/// Evaluates `count` gaps of over a millisecond, the longest of `longest` milliseconds, in `wall_s` seconds of all
/// workers.
fn away(longest: f64, count: u64, wall_s: f64) -> Option<Finding> {
    if count == 0 {
        return None;
    }
    let per_s = count as f64 / wall_s.max(1e-9);
    let severity = if per_s > GAPS_PER_S { Severity::Warning } else { Severity::Note };
    Some(Finding::new(
        FindingCode::LoopGap,
        severity,
        &[("loop_gap_max", longest, "ms"), ("gaps_over_1ms", count as f64, "count")],
        format!(
            "the client did not poll its sockets for {} at the longest, and for over 1 ms {}: up to that much of the \
             top latencies may be client delay",
            milliseconds(longest),
            times(count)
        ),
        "leave the client a core of its own, or read p99.9 and max with this in mind",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_cpus_that_may_be_used_can_get_a_thread() {
        let check = |threads: u32, cpus: u32, cpus_online: Option<u32>, expected: &str| {
            let machine = Environment { cpus, cpus_online, ..Environment::default() };
            let advice = more_threads_on(&machine, threads, "or ");
            assert!(advice.starts_with(expected), "{advice}");
        };
        check(1, 2, Some(4), "try --threads 2, or prony on another machine");
        check(2, 2, Some(2), "every CPU has a thread already: ");
        check(2, 2, None, "every CPU has a thread already: ");
        check(2, 2, Some(4), "every CPU that prony may use has a thread already (2 of 4): try more CPUs");
    }

    #[test]
    fn a_worker_away_from_its_sockets() {
        let check = |count: u64, wall_s: f64, expected: Option<Severity>| {
            let found = away(12.5, count, wall_s);
            assert_eq!(found.as_ref().map(|found| found.severity), expected);
            let words = format!("for 12.5 ms at the longest, and for over 1 ms {}", times(count));
            assert!(
                found
                    .is_none_or(|found| found.code == FindingCode::LoopGap && found.message.contains(&words))
            );
        };
        check(0, 2.0, None);
        check(2, 2.0, Some(Severity::Note));
        check(3, 2.0, Some(Severity::Warning));
    }

    #[test]
    fn a_worker_near_the_limit_of_its_core() {
        let check = |share: f64, expected: Option<Severity>| {
            let found = near_its_core(share, String::new);
            assert_eq!(
                found.as_ref().map(|found| (found.code, found.severity)),
                expected.map(|severity| { (FindingCode::ClientCpu, severity) })
            );
        };
        check(0.79, None);
        check(0.81, Some(Severity::Warning));
        check(0.96, Some(Severity::Invalid));
    }

    #[test]
    fn waiting_for_the_server_is_a_doubt_and_for_others_spoils_a_run() {
        let check = |share: f64, cores: Option<(f64, f64)>, expected: Option<Severity>, message: &str| {
            let cores = cores.map(|(server, others)| CoreUse { client: 0.8, server, others });
            let found = waiting(share, cores, 1);
            assert_eq!(found.as_ref().map(|found| found.severity), expected, "{share} {cores:?} {found:?}");
            assert!(found.is_none_or(|found| found.message.contains(message)), "{share} {cores:?}");
        };
        let (server, others) = ("mostly for the server itself", "that other processes were using");
        check(0.009, None, None, "");
        check(0.02, None, Some(Severity::Warning), others);
        check(0.12, None, Some(Severity::Invalid), others);
        check(0.12, Some((1.0, 0.1)), Some(Severity::Warning), server);
        check(0.40, Some((1.0, 0.1)), Some(Severity::Warning), server);
        check(0.60, Some((1.0, 0.1)), Some(Severity::Invalid), others);
        check(0.12, Some((0.5, 0.5)), Some(Severity::Invalid), others);
        check(0.08, Some((0.5, 0.5)), Some(Severity::Warning), others);
        // On another machine the server takes no core of the client's.
        check(0.06, Some((0.0, 0.3)), Some(Severity::Invalid), others);
    }
}
