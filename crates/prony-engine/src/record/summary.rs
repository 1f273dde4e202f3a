//! From totals to a result: the numbers that reports print.

use std::collections::BTreeMap;
use std::time::Duration;

use prony_model::{
    Bytes, Client, Connections, DriverUsed, Environment, ErrorKind, ErrorSummary, FORMAT, FirstResponse,
    Histograms, KernelClockUse, Outcome, OutcomeSummary, RateSummary, ReplayResult, Requests, RunPlan,
    RunResult, SlowRequest, SoloRequests, Start, ThreadUse, Timing, TlsUse, Traces, Traffic, VERSION,
    Verdict, Version,
};
use prony_stats::{Censored, Histogram, rate_interval};
use prony_summary::{histogram_data, rate_ends, summary};

use crate::clock::Nanos;
use crate::evaluate::audit::{self, Facts};
use crate::evaluate::clean::parts::clean_parts;
use crate::machine::environment::peak_rss_bytes;
use crate::record::collect::Totals;
use crate::record::latency::{add_response_intervals, distributions};
use crate::record::slice::Slice;
use crate::record::slowest::Moments;
use crate::resolve::Peers;

/// A shorter part of a run says nothing about the rest of it.
const EVALUATED_FROM_S: f64 = 1.0;

/// Everything that is known of a run that is over.
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub(crate) struct Run<'a> {
    pub plan: &'a RunPlan,
    /// Whether connections carry more than one request.
    pub keep_alive: bool,
    pub peers: &'a Peers,
    pub driver: DriverUsed,
    /// Requests (or sessions) that its threads were to begin in the measured part, where a count ends it.
    pub requests: Option<u64>,
    /// Without the counts.
    pub kernel_clock: KernelClockUse,
    pub environment: Environment,
    /// Since 1970.
    pub started_at: Duration,
    /// Whether it was asked to end before its time.
    pub stopped: bool,
    /// Why, where it was not by hand.
    pub stopped_because: Option<&'a str>,
    /// Whether it is over, and `totals` are all there is.
    pub is_over: bool,
    /// Whether the distributions are encoded for other tools.
    pub with_distributions: bool,
    pub totals: &'a Totals,
}

/// The result of `run`, evaluated. While it is on, what is for other tools or needs a whole run is left out.
pub(crate) fn summarize(run: &Run<'_>) -> RunResult {
    let totals = run.totals;
    let good_responses = totals.all.good_responses();
    let good_services = totals.all.good_services();
    let cut_off = cut_off(&totals.all.censored, &totals.all);
    let requests = requests(totals);
    let distributions = distributions(totals, &good_responses, &good_services, &cut_off);
    let mut latency = distributions.latencies();
    if run.is_over && run.plan.stages.is_none() {
        add_response_intervals(&mut latency.response, &good_responses, totals);
    }
    let mut result = RunResult {
        format: FORMAT.to_owned(),
        version: VERSION,
        verdict: Verdict::Valid,
        plan: run.plan.clone(),
        target_commit: None,
        addresses: run.peers.names.clone(),
        driver: run.driver.clone(),
        kernel_clock: KernelClockUse {
            arrivals_stamped: totals.stamps.arrival.count(),
            departures_stamped: totals.stamps.departure.count(),
            discarded: totals.stamps.discarded,
            responses_asked: totals.stamps.sampled,
            responses_stamped: totals.stamps.response.count(),
            ..run.kernel_clock.clone()
        },
        timing: timing(run),
        traffic: Some(traffic(run)),
        tls: run
            .peers
            .tls
            .as_ref()
            .map(|used| TlsUse { handshakes: totals.handshakes.summary(), ..used.clone() }),
        http2: (run.plan.request.version == Version::Http2).then(|| totals.http2.summary()),
        retries: run.plan.retries.is_some().then(|| totals.retries.summary(requests.sent)),
        events: run.plan.events.then(|| totals.streams.summary(measured_s(totals))),
        scenario: run
            .plan
            .scenario
            .as_deref()
            .filter(|_| run.is_over)
            .map(|scenario| totals.scenario.summary(scenario, measured_s(totals))),
        stages: totals
            .stages
            .as_ref()
            .map_or_else(Vec::new, |stages| stages.summary(run.plan, measured_s(totals))),
        replay: replay(run),
        traces: traces(run),
        slowest: slowest(run),
        rate: rate(run.plan, totals, &good_responses),
        bytes: Bytes {
            sent: totals.all.counters.sent_bytes,
            received: totals.all.counters.received_bytes,
            body_received: totals.all.counters.body_bytes,
        },
        connections: connections(run.plan, totals),
        outcomes: if run.with_distributions { outcomes(totals) } else { Vec::new() },
        statuses: statuses(totals),
        errors: errors(run.plan, totals, &requests),
        series: if run.is_over { totals.series.seconds.clone() } else { Vec::new() },
        first_response: totals.all.first_response.as_ref().map(|first| FirstResponse {
            status: first.status,
            server: first.server.as_deref().map(str::to_owned),
            body_bytes: first.body_bytes,
        }),
        client: client(totals),
        server: totals.server.as_ref().ok().cloned(),
        server_unknown_because: totals.server.as_ref().err().cloned(),
        machine: totals.machine.clone(),
        solo: solo(&totals.all.solo),
        limiter: None,
        clean: clean_parts(run.plan, totals, &requests),
        calibration: None,
        findings: Vec::new(),
        thresholds: Vec::new(),
        environment: run.environment.clone(),
        histograms: if run.with_distributions { distributions.histograms() } else { Histograms::default() },
        drift: audit::latency_drift(run.plan, totals, &good_responses),
        pieces: run.plan.share.filter(|_| run.is_over).map(|_| totals.series.pieces(totals.measured_to)),
        requests,
        latency,
    };
    if !run.is_over && (result.timing.measured_s < EVALUATED_FROM_S || result.requests.intended == 0) {
        return result;
    }
    let facts = Facts {
        result: &result,
        keep_alive: run.keep_alive,
        here: run.peers.here,
        totals,
        responses: &good_responses,
        services: &good_services,
    };
    result.findings = if run.is_over { audit::findings(&facts) } else { audit::findings_so_far(&facts) };
    result.verdict = Verdict::from_findings(&result.findings);
    result.find_limiter();
    result
}

/// How long the requests without an answer had waited: each true latency is greater.
pub(crate) fn cut_off(censored: &Histogram, ended: &Slice) -> Histogram {
    let mut waits = censored.clone();
    for kind in ErrorKind::ALL.into_iter().filter(|kind| kind.is_censoring()) {
        waits.add(&ended.outcomes[Outcome::Failed(kind).index()].response);
    }
    waits
}

fn requests(totals: &Totals) -> Requests {
    let tally = &totals.all.tally;
    let mut requests = Requests {
        intended: tally.taken,
        // What was refused was sent again, and is counted then; retries are counted apart.
        sent: tally.sent - (totals.http2.refused[1] - totals.http2.refused_retries),
        answered: totals.all.statuses.iter().sum(),
        censored: tally.unfinished,
        never_sent: tally.never_sent,
        ..Requests::default()
    };
    for outcome in Outcome::all() {
        let count = totals.all.outcomes[outcome.index()].response.count();
        match outcome.error_kind() {
            None => requests.done += count,
            Some(kind) => {
                requests.failed += count;
                if count > 0 {
                    *requests.failed_by_kind.entry(kind).or_default() += count;
                }
            }
        }
    }
    debug_assert_eq!(
        requests.intended,
        requests.done + requests.failed + requests.censored + requests.never_sent,
        "every request that was begun has ended in one way: {requests:?}"
    );
    requests
}

fn traffic(run: &Run<'_>) -> Traffic {
    let [mut warmup, mut measured] = run.totals.all.tally.traffic;
    for (part, refused) in [&mut warmup, &mut measured].into_iter().zip(run.totals.http2.refused) {
        part.sent -= refused;
    }
    // Each address that answered was connected to once, before the load.
    Traffic { preflight_connections: run.peers.names.len() as u64, warmup, measured }
}

pub(crate) fn seconds(nanos: Nanos) -> f64 {
    nanos as f64 / 1e9
}

/// How well recorded requests were replayed.
fn replay(run: &Run<'_>) -> Option<ReplayResult> {
    let recorded = run.plan.recorded.as_ref().filter(|_| run.plan.replay.is_some())?;
    let record = run.totals.scenario.replay.as_ref().filter(|_| run.is_over)?;
    Some(record.summary(recorded))
}

/// The slowest requests.
fn slowest(run: &Run<'_>) -> Vec<SlowRequest> {
    if run.is_over { run.totals.slowest.summary(&moments(run)) } else { Vec::new() }
}

/// The slowest requests that the server was asked to trace.
fn traces(run: &Run<'_>) -> Option<Traces> {
    run.totals.traces.as_ref().filter(|_| run.is_over).map(|record| record.summary(&moments(run)))
}

fn moments<'a>(run: &Run<'a>) -> Moments<'a> {
    Moments { plan: run.plan, window: run.totals.window, started_at: run.started_at }
}

fn timing(run: &Run<'_>) -> Timing {
    let totals = run.totals;
    let window = totals.window;
    let interrupted = run.stopped && !is_whole(run);
    Timing {
        started_at: prony_model::rfc3339(run.started_at),
        resolve_s: run.peers.took.as_secs_f64(),
        warmup_s: seconds(window.measure_from.min(totals.ended) - window.start),
        measured_s: measured_s(totals),
        drain_s: seconds(totals.ended.saturating_sub(totals.measured_to)),
        interrupted,
        ended_early_because: run.stopped_because.filter(|_| interrupted).map(str::to_owned),
        start: Some(start(totals)),
    }
}

/// When the load began, beside when it was to.
fn start(totals: &Totals) -> Start {
    let planned = totals.window.start;
    let after = |moment: Nanos| moment.saturating_sub(planned);
    Start {
        planned_ns: planned,
        ready_ns: after(totals.ready),
        first_sent_ns: totals.whole_run.first_sent.map(after),
    }
}

/// Whether all was done that was asked: a stop in the drain comes too late to interrupt anything.
fn is_whole(run: &Run<'_>) -> bool {
    let tally = &run.totals.all.tally;
    let all = |count| tally.taken == count && tally.unfinished + tally.never_sent == 0;
    run.totals.measured_to >= run.totals.window.measure_to || run.requests.is_some_and(all)
}

fn measured_s(totals: &Totals) -> f64 {
    seconds(totals.measured_to.saturating_sub(totals.window.measure_from))
}

fn rate(plan: &RunPlan, totals: &Totals, responses: &Histogram) -> RateSummary {
    let measured_s = measured_s(totals);
    let counters = &totals.all.counters;
    let per_s = |count: u64| if measured_s > 0.0 { count as f64 / measured_s } else { 0.0 };
    let (_, done) = totals.series.parts(totals.measured_to);
    let done_per_s = per_s(counters.done_now);
    // Parts at different rates are no sample of one.
    let interval = rate_interval(done, seconds(totals.series.part()))
        .ok()
        .filter(|_| counters.done_now > 0 && plan.stages.is_none());
    let whole_rounds = if plan.load.rate().is_none() && plan.scenario.is_none() {
        whole_rounds(totals, responses)
    } else {
        None
    };
    RateSummary {
        asked_per_s: plan.asked_per_s(measured_s),
        sent_per_s: per_s(counters.sent_now),
        answered_per_s: per_s(counters.answered_now),
        done_per_s,
        // Around the rate of the whole part, of which the statistics saw only whole slices.
        interval_per_s: interval
            .map(|found| rate_ends(done_per_s, found.interval.high - found.per_second, whole_rounds)),
        whole_rounds_per_s: whole_rounds,
    }
}

/// The rate of a closed loop from whole rounds; `responses` are the good ones of the measured part and the drain.
fn whole_rounds(totals: &Totals, responses: &Histogram) -> Option<f64> {
    let window = totals.measured_to.saturating_sub(totals.window.measure_from);
    totals.all.tally.rounds.per_second(responses.count(), responses.sum(), window)
}

fn connections(plan: &RunPlan, totals: &Totals) -> Connections {
    let whole = &totals.whole_run;
    Connections {
        asked: u64::from(plan.own_load().connections()),
        reached: whole.open_peak,
        attempted: whole.attempted,
        opened: whole.opened,
        reused: whole.reused - totals.http2.refused_reused,
        closed_by_server: whole.closed_by_server + whole.stray,
    }
}

fn outcomes(totals: &Totals) -> Vec<OutcomeSummary> {
    let occurred = Outcome::all().map(|outcome| (outcome, &totals.all.outcomes[outcome.index()]));
    occurred
        .filter(|(_, clocks)| !clocks.response.is_empty())
        .map(|(outcome, clocks)| OutcomeSummary {
            outcome: outcome.name(),
            count: clocks.response.count(),
            response: summary(&clocks.response, Censored::NONE),
            service: summary(&clocks.service, Censored::NONE),
            response_histogram: histogram_data(&clocks.response),
            service_histogram: histogram_data(&clocks.service),
        })
        .collect()
}

fn statuses(totals: &Totals) -> BTreeMap<u16, u64> {
    let counts = totals.all.statuses.iter().enumerate().filter(|(_, count)| **count > 0);
    counts.map(|(status, count)| (u16::try_from(status).expect("invariant: below 600"), *count)).collect()
}

fn errors(plan: &RunPlan, totals: &Totals, requests: &Requests) -> Vec<ErrorSummary> {
    let mut errors: Vec<ErrorSummary> = requests
        .failed_by_kind
        .iter()
        .map(|(&kind, &count)| {
            let example = totals.all.examples[kind as usize];
            let detail = example.map(|example| example.detail).unwrap_or_default();
            let at = example.map_or(0, |example| example.at.saturating_sub(totals.window.measure_from));
            ErrorSummary {
                kind,
                count,
                first_example: detail.describe(kind, &plan.request.method, &plan.target.path),
                first_at_s: seconds(at),
            }
        })
        .collect();
    errors.sort_by_key(|error| std::cmp::Reverse(error.count));
    errors
}

fn client(totals: &Totals) -> Client {
    /// CPU clocks tick in nanoseconds, but a share of less time says nothing.
    const LEAST_CPU_S: f64 = 0.001;
    let cpu_s = seconds(totals.threads.iter().map(|thread| thread.cpu).sum());
    let ended = totals.all.counters.answered_now + totals.all.counters.failed_now;
    let threads = totals.threads.iter().zip(0..).map(|(thread, number)| ThreadUse {
        thread: number,
        cpu_s: seconds(thread.cpu),
        cpu_share_peak: thread.cpu_share(),
        run_queue_wait_s: thread.run_queue_wait_ns.map(seconds),
        loop_gap_max_ms: thread.gap_max as f64 / 1e6,
        loop_gaps_over_1ms: thread.gaps_over_1ms,
        polls: thread.polls,
    });
    Client {
        cpu_s,
        requests_per_cpu_s: (cpu_s >= LEAST_CPU_S).then(|| ended as f64 / cpu_s),
        peak_rss_bytes: peak_rss_bytes(),
        threads: threads.collect(),
    }
}

/// The requests that were sent one at a time; `None` where there were none.
fn solo(services: &Histogram) -> Option<SoloRequests> {
    let milliseconds = |nanos: f64| nanos / 1e6;
    Some(SoloRequests {
        count: services.count(),
        min_ms: milliseconds(services.min()? as f64),
        median_ms: milliseconds(services.value_at_quantile(0.5)? as f64),
        mean_ms: milliseconds(services.mean()?),
        stddev_ms: milliseconds(services.std_dev()?),
    })
}
