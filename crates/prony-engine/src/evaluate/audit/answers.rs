//! Signals in what came back.

use std::time::Duration;

use prony_model::words::{grouped, milliseconds, percent_of, plural};
use prony_model::{Finding, FindingCode, Outcome, Severity};
use prony_stats::{LittleAudit, check_possible, little_edges};

use super::Facts;
use crate::record::slice::Lengths;

/// Share of failures above which nothing should be compared.
const ERROR_SHARE: f64 = 0.01;
/// Share of requests without an answer above which it is more than the last few of a run.
const CENSORED_SHARE: f64 = 0.001;
/// A quantile within this share of the run's length is made by that length.
const NEAR_RUN_LENGTH: f64 = 0.5;
/// Samples for a p99.
const SAMPLES_FOR_P99: u64 = 1000;
/// Requests below which the edges of a run weigh too much for Little's law.
const LITTLE_LEAST: u64 = 1000;

/// No response was good.
pub(super) fn no_success(facts: &Facts<'_>) -> Option<Finding> {
    let requests = &facts.result.requests;
    if requests.intended == 0 && !facts.result.timing.interrupted {
        return Some(Finding::new(
            FindingCode::NoSuccess,
            Severity::Invalid,
            &[("intended", 0.0, "count"), ("measured", facts.result.timing.measured_s, "s")],
            "no request was due in the measured part: nothing is measured".to_owned(),
            "give it a longer --duration, or a machine that is not busy with other work",
        ));
    }
    if requests.done > 0 || requests.intended == 0 {
        return None;
    }
    let most = facts.result.errors.first().map_or_else(
        || "none had an answer before the end".to_owned(),
        |error| format!("mostly {}, e.g. {}", error.kind.description(), error.first_example),
    );
    Some(Finding::new(
        FindingCode::NoSuccess,
        Severity::Warning,
        &[("intended", requests.intended as f64, "count"), ("answered", requests.answered as f64, "count")],
        format!("no response was good: {most}"),
        "make one request work first, then load it; if that status is the right one, say --expect-status",
    ))
}

/// Events were expected, and no good response had one.
pub(super) fn no_events(facts: &Facts<'_>) -> Option<Finding> {
    let events = facts.result.events.as_ref()?;
    if events.streams > 0 || events.without_events == 0 {
        return None;
    }
    Some(Finding::new(
        FindingCode::NoEvents,
        Severity::Warning,
        &[("without_events", events.without_events as f64, "count")],
        format!("none of {} had an event", plural(events.without_events, "good response")),
        "streams have the content type text/event-stream or application/x-ndjson: many servers send one only where the \
         request asks for it, -H 'Accept: text/event-stream'; else leave out --events",
    ))
}

/// Too many requests failed.
pub(super) fn error_share(facts: &Facts<'_>) -> Option<Finding> {
    let requests = &facts.result.requests;
    let share = facts.share(requests.failed);
    if share <= ERROR_SHARE || requests.done == 0 {
        return None;
    }
    let most = facts.result.errors.first().map_or_else(String::new, |error| {
        format!(", mostly {}, e.g. {}", error.kind.description(), error.first_example)
    });
    Some(Finding::new(
        FindingCode::ErrorShare,
        Severity::Warning,
        &[("failed", requests.failed as f64, "count"), ("share", share, "share")],
        format!("{} of the requests failed{most}", percent_of(requests.failed, requests.intended)),
        "an error is often faster than an answer: find its cause before you read the rate or compare anything",
    ))
}

/// Requests without an answer bound the quantiles from below only.
pub(super) fn censored(facts: &Facts<'_>) -> Option<Finding> {
    let count = facts.totals.all.censored.count()
        + facts
            .result
            .requests
            .failed_by_kind
            .iter()
            .filter(|(kind, _)| kind.is_censoring())
            .map(|(_, n)| n)
            .sum::<u64>();
    let share = facts.share(count);
    let bounded = facts.result.latency.response.withheld.values().any(|note| note.above_ms.is_some());
    if count == 0 || (share <= CENSORED_SHARE && !bounded) {
        return None;
    }
    let severity = if bounded { Severity::Warning } else { Severity::Note };
    Some(Finding::new(
        FindingCode::Censored,
        severity,
        &[("without_answer", count as f64, "count"), ("share", share, "share")],
        format!(
            "{} ({}) were unanswered at the end; affected quantiles are printed as \"> x\"",
            plural(count, "request"),
            percent_of(count, facts.result.requests.intended)
        ),
        "run longer than the slowest answer, or offer less load (--rate, fewer --connections)",
    ))
}

/// Latencies are close to the length of the run.
pub(super) fn latency_near_run_length(facts: &Facts<'_>) -> Option<Finding> {
    let run_ms = facts.result.timing.measured_s * 1e3;
    let p90 = facts.response_ms("0.9", 0.9)?;
    if facts.plan().end.duration().is_none() || p90 <= run_ms * NEAR_RUN_LENGTH {
        return None;
    }
    Some(Finding::new(
        FindingCode::LatencyNearRunLength,
        Severity::Warning,
        &[("response_p90", p90, "ms"), ("run", run_ms, "ms")],
        format!(
            "the response time's p90 ({}) is near the length of the run ({}): slower requests can't appear in it",
            milliseconds(p90),
            milliseconds(run_ms)
        ),
        "run several times longer, or offer less load: the queue never emptied",
    ))
}

/// Rate, latency and concurrency don't fit together.
pub(super) fn littles_law(facts: &Facts<'_>) -> Option<Finding> {
    // Attempts that are retried were in flight, too, and their times are in no distribution.
    if facts.result.retries.as_ref().is_some_and(|retries| retries.retries > 0) {
        return None;
    }
    let counters = &facts.totals.all.counters;
    let ended = counters.answered_now;
    if ended < LITTLE_LEAST || facts.share(facts.result.requests.failed) > ERROR_SHARE {
        return None;
    }
    let elapsed = Duration::from_secs_f64(facts.result.timing.measured_s);
    let (sum, count) = Outcome::all()
        .map(|outcome| &facts.totals.all.outcomes[outcome.index()].service)
        .fold((0_u128, 0_u64), |(sum, count), service| (sum + service.sum(), count + service.count()));
    let mean = Duration::from_nanos(u64::try_from(sum / u128::from(count.max(1))).unwrap_or(u64::MAX));
    let rate = ended as f64 / elapsed.as_secs_f64();
    let pipeline = u64::from(facts.plan().request.pipeline);
    let concurrency = facts.result.connections.asked * pipeline;
    let longest = facts
        .totals
        .all
        .outcomes
        .iter()
        .filter_map(|outcome| outcome.service.max())
        .max()
        .unwrap_or_default();
    // What never ended was in flight for the whole run at most.
    let edges = little_edges(concurrency, Duration::from_nanos(longest), elapsed)
        + facts.result.requests.censored as f64;
    let possible = check_possible(rate, mean, concurrency, edges);
    let audit = LittleAudit::new(counters.in_flight_ns, elapsed, ended, mean)?;
    unlike_littles_law(audit, possible.err().map(|impossible| impossible.to_string()), edges)
}

/// Evaluates what was seen in flight against the rate and the mean time; `impossible` says why they can't be true.
/// `edges` is what requests across the ends of the run may make.
fn unlike_littles_law(audit: LittleAudit, impossible: Option<String>, edges: f64) -> Option<Finding> {
    if impossible.is_none() && !audit.is_suspect(edges) {
        return None;
    }
    let message = impossible.unwrap_or_else(|| {
        format!(
            "rate times mean service time is {:.1} requests in flight, and {:.1} were seen: the numbers don't fit together",
            audit.rate_times_mean, audit.in_flight
        )
    });
    Some(Finding::new(
        FindingCode::LittlesLaw,
        Severity::Warning,
        &[("in_flight", audit.in_flight, "count"), ("rate_times_mean", audit.rate_times_mean, "count")],
        message,
        "the load was not steady: run longer, with a longer --warmup, and look at the series",
    ))
}

/// Too few requests for the quantiles that were asked for.
pub(super) fn few_samples(facts: &Facts<'_>) -> Option<Finding> {
    let done = facts.result.requests.done;
    if done == 0 || done >= SAMPLES_FOR_P99 {
        return None;
    }
    let supported = match done {
        0..40 => "p50",
        40..100 => "p75",
        100..200 => "p90",
        _ => "p95",
    };
    Some(Finding::new(
        FindingCode::FewSamples,
        Severity::Note,
        &[("done", done as f64, "count")],
        format!("{done} good responses support quantiles up to {supported}"),
        "for a p99 you need 1,000 requests: a longer --duration or more --requests",
    ))
}

/// Good responses differ in length.
pub(super) fn mixed_lengths(facts: &Facts<'_>) -> Option<Finding> {
    let checks = &facts.plan().checks;
    let Lengths { others, first, shortest, longest } = facts.totals.all.tally.lengths;
    // The steps of a scenario have answers of their own each.
    let differ_anyway = facts.plan().scenario.is_some();
    if others == 0 || checks.body.is_some() || checks.same_length || differ_anyway {
        return None;
    }
    let done = facts.result.requests.done;
    let range = if shortest == longest {
        plural(longest, "byte")
    } else {
        format!("{} to {}", grouped(shortest), plural(longest, "byte"))
    };
    Some(Finding::new(
        FindingCode::MixedLengths,
        Severity::Note,
        &[
            ("others", others as f64, "count"),
            ("first", first as f64, "bytes"),
            ("shortest_other", shortest as f64, "bytes"),
            ("longest_other", longest as f64, "bytes"),
        ],
        format!(
            "{} of {} had a length that differed from the first: {range} instead of {}; some servers report \
             errors with status 200",
            grouped(others),
            plural(done, "good response"),
            grouped(first)
        ),
        "if each body should be alike, say --expect-length same; if not, --expect-body-regex tells good from bad",
    ))
}

/// The run was ended before its time: by hand, or by a threshold that it could not meet any more.
pub(super) fn interrupted(facts: &Facts<'_>) -> Option<Finding> {
    let timing = &facts.result.timing;
    let seconds = timing.measured_s;
    let (how, why, advice) = match &timing.ended_early_because {
        None => ("stopped by hand", String::new(), "run it again for the full time before you compare it"),
        Some(reason) => (
            "ended early",
            format!(", because {reason}"),
            "leave out --abort-early for figures of the full time",
        ),
    };
    let (severity, message) = if facts.result.requests.intended == 0 {
        (Severity::Invalid, format!("the run was {how} before anything was measured{why}"))
    } else {
        let rest = "what was measured until then is here";
        (Severity::Note, format!("the run was {how} after {seconds:.1} s{why}; {rest}"))
    };
    timing.interrupted.then(|| {
        Finding::new(FindingCode::Interrupted, severity, &[("measured", seconds, "s")], message, advice)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_break_littles_law() {
        let check = |in_flight_s: u128, impossible: Option<&str>, edges: f64, expected: Option<&str>| {
            let (elapsed, mean) = (Duration::from_secs(10), Duration::from_millis(50));
            // 100 requests of 50 ms per second: 5 in flight.
            let audit = LittleAudit::new(in_flight_s * 1_000_000_000, elapsed, 1000, mean).expect("requests");
            let found = unlike_littles_law(audit, impossible.map(str::to_owned), edges);
            assert_eq!(found.as_ref().map(|found| found.code), expected.map(|_| FindingCode::LittlesLaw));
            assert!(found.is_none_or(|found| found.message.contains(expected.unwrap_or_default())));
        };
        check(50, None, 0.0, None);
        check(80, None, 0.0, Some("is 5.0 requests in flight, and 8.0 were seen"));
        check(80, None, 3.0, None);
        check(50, Some("more than the connections"), 0.0, Some("more than the connections"));
    }
}
