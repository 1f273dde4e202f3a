//! The result of all agents as that of one machine with all their threads.

use std::collections::BTreeMap;

use prony_model::{
    Clock, DriverUsed, ErrorKind, ErrorSummary, EventStreams, FORMAT, FleetAgent, Histograms, Latencies,
    LatencyDrift, MachineUse, Outcome, OutcomeSummary, RunPlan, RunResult, Timing, VERSION, Verdict,
};
use prony_stats::Censored;

use super::pieces::Pieces;
use super::totals::Totals;
use super::{rate, scenario, series, slowest, stages, sums};
use crate::latency::{Distributions, add_intervals, histogram_data, summary};
use crate::stored::Place;
use crate::timeline::Timeline;

/// The result of all `agents` that have one, with the `totals` of their distributions and their `pieces` of time, for
/// `plan`, that of the whole load; not evaluated.
pub(super) fn merged(
    plan: &RunPlan,
    agents: &[FleetAgent],
    mut totals: Totals,
    pieces: Option<&Pieces>,
) -> RunResult {
    let results: Vec<&RunResult> = agents.iter().filter_map(|agent| agent.result.as_deref()).collect();
    let first = results.first();
    let timing = timing(agents, &results);
    // Intervals and a drift are those of one offered load.
    let steady = pieces.filter(|_| plan.stages.is_none());
    let (latency, histograms, drift) = clocks(plan, &results, &mut totals, steady);
    RunResult {
        format: FORMAT.to_owned(),
        version: VERSION,
        verdict: Verdict::Valid,
        plan: plan_of_all(plan, &results),
        target_commit: first.and_then(|result| result.target_commit.clone()),
        addresses: addresses(&results),
        driver: driver(&results),
        kernel_clock: sums::kernel_clock(&results),
        requests: sums::requests(&results),
        traffic: sums::traffic(&results),
        tls: sums::tls(&results, &mut totals),
        http2: sums::http2(&results),
        events: events(&results, &mut totals, timing.measured_s),
        scenario: scenario::scenario(&results, &mut totals, timing.measured_s),
        // A recording is replayed by one machine.
        replay: None,
        traces: slowest::traces(agents),
        slowest: slowest::slowest(agents),
        retries: sums::retries(&results),
        stages: stages::stages(plan, &results, &mut totals, timing.measured_s),
        rate: rate::rate(plan, &results, timing.measured_s, pieces),
        bytes: sums::bytes(&results),
        connections: sums::connections(plan, &results),
        latency,
        outcomes: outcomes(&results, &mut totals),
        statuses: sums::sum_by(&results, |result| Some(&result.statuses)),
        errors: errors(agents),
        series: series::series(&results, pieces),
        first_response: results.iter().find_map(|result| result.first_response.clone()),
        client: sums::client(&results),
        server: None,
        server_unknown_because: Some(
            "results of agents on the server's machine have what is known".to_owned(),
        ),
        machine: MachineUse::default(),
        clean: None,
        solo: results.iter().find_map(|result| result.solo),
        limiter: None,
        calibration: None,
        findings: Vec::new(),
        thresholds: Vec::new(),
        environment: first.map(|result| result.environment.clone()).unwrap_or_default(),
        histograms,
        drift,
        pieces: None,
        timing,
    }
}

/// `plan` with the threads that there were.
fn plan_of_all(plan: &RunPlan, results: &[&RunResult]) -> RunPlan {
    let threads = results.iter().map(|result| result.plan.share().of).max().unwrap_or(plan.threads);
    RunPlan { threads, share: None, ..plan.clone() }
}

/// Times of one instrument: the longest of all agents.
fn timing(agents: &[FleetAgent], results: &[&RunResult]) -> Timing {
    let longest =
        |time: fn(&Timing) -> f64| results.iter().map(|result| time(&result.timing)).fold(0.0, f64::max);
    let ended_early_because = agents.iter().find_map(|agent| {
        let because = agent.result.as_ref()?.timing.ended_early_because.as_ref()?;
        Some(format!("agent {}: {because}", agent.name))
    });
    Timing {
        started_at: results.first().map(|result| result.timing.started_at.clone()).unwrap_or_default(),
        resolve_s: longest(|timing| timing.resolve_s),
        warmup_s: longest(|timing| timing.warmup_s),
        measured_s: longest(|timing| timing.measured_s),
        drain_s: longest(|timing| timing.drain_s),
        interrupted: results.iter().any(|result| result.timing.interrupted),
        ended_early_because,
        start: None,
    }
}

fn addresses(results: &[&RunResult]) -> Vec<String> {
    let mut addresses = Vec::new();
    for address in results.iter().flat_map(|result| &result.addresses) {
        if !addresses.contains(address) {
            addresses.push(address.clone());
        }
    }
    addresses
}

fn driver(results: &[&RunResult]) -> DriverUsed {
    let mut names: Vec<&str> = results.iter().map(|result| result.driver.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    let reason = results.first().map(|result| result.driver.reason.clone()).unwrap_or_default();
    DriverUsed { name: names.join(" and "), reason }
}

/// The clocks of all results, with intervals and drift where all know their values by time.
fn clocks(
    plan: &RunPlan,
    results: &[&RunResult],
    totals: &mut Totals,
    pieces: Option<&Pieces>,
) -> (Latencies, Histograms, Vec<LatencyDrift>) {
    let mut of = |clock| totals.take(Place::Clock(clock));
    let (response, service) = (of(Clock::Response), of(Clock::Service));
    let kernel_response = of(Clock::KernelResponse);
    let (first_byte, connect) = (of(Clock::FirstByte), of(Clock::Connect));
    let (lag, blocked, cut_off) = (of(Clock::Lag), of(Clock::Blocked), of(Clock::Censored));
    let (departure, network, arrival) = (of(Clock::Departure), of(Clock::Network), of(Clock::Arrival));
    let distributions = Distributions {
        response: &response,
        kernel_response: &kernel_response,
        service: &service,
        first_byte: &first_byte,
        connect: &connect,
        lag: &lag,
        blocked: &blocked,
        cut_off: &cut_off,
        departure: &departure,
        network: &network,
        arrival: &arrival,
        sent_in_vain: sums::sum(results, sent_in_vain),
        sampled: sums::sum(results, |result| result.kernel_clock.responses_asked),
    };
    let mut latency = distributions.latencies();
    let mut drift = Vec::new();
    if let Some(pieces) = pieces {
        add_intervals(&mut latency.response, &response, &pieces.response, pieces.length_ns);
        add_intervals(&mut latency.service, &service, &pieces.service, pieces.length_ns);
        let warmup_s = plan.warmup.as_secs_f64();
        drift = Timeline::new(&pieces.response, pieces.length_ns, &response, warmup_s).drift();
    }
    (latency, distributions.histograms(), drift)
}

/// Requests that were sent and had no answer when they were given up.
fn sent_in_vain(result: &RunResult) -> u64 {
    let name = Outcome::Failed(ErrorKind::RequestTimeout).name();
    let timed_out = result.outcomes.iter().find(|entry| entry.outcome == name);
    result.requests.censored + timed_out.map_or(0, |entry| entry.service.count)
}

fn outcomes(results: &[&RunResult], totals: &mut Totals) -> Vec<OutcomeSummary> {
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for entry in results.iter().flat_map(|result| &result.outcomes) {
        let count = counts.entry(&entry.outcome).or_default();
        *count = count.saturating_add(entry.count);
    }
    let named = Outcome::all().filter_map(|outcome| Some((outcome, *counts.get(outcome.name().as_str())?)));
    named
        .map(|(outcome, count)| {
            let response = totals.take(Place::OutcomeResponse(outcome.index()));
            let service = totals.take(Place::OutcomeService(outcome.index()));
            OutcomeSummary {
                outcome: outcome.name(),
                count,
                response: summary(&response, Censored::NONE),
                service: summary(&service, Censored::NONE),
                response_histogram: histogram_data(&response),
                service_histogram: histogram_data(&service),
            }
        })
        .collect()
}

/// Every kind of failure, with the first example of all agents and whose it is.
fn errors(agents: &[FleetAgent]) -> Vec<ErrorSummary> {
    let mut found: BTreeMap<ErrorKind, ErrorSummary> = BTreeMap::new();
    for agent in agents {
        for error in agent.result.iter().flat_map(|result| &result.errors) {
            let example = ErrorSummary {
                first_example: format!("agent {}: {}", agent.name, error.first_example),
                ..error.clone()
            };
            match found.entry(error.kind) {
                std::collections::btree_map::Entry::Vacant(entry) => {
                    entry.insert(example);
                }
                std::collections::btree_map::Entry::Occupied(mut entry) => {
                    let count = entry.get().count.saturating_add(error.count);
                    if error.first_at_s < entry.get().first_at_s {
                        entry.insert(example);
                    }
                    entry.get_mut().count = count;
                }
            }
        }
    }
    let mut errors: Vec<ErrorSummary> = found.into_values().collect();
    errors.sort_by_key(|error| std::cmp::Reverse(error.count));
    errors
}

/// Events of all responses. Agents don't store how many events responses had: where their medians differ, that of all is
/// unknown, and there are no figures of events.
fn events(results: &[&RunResult], totals: &mut Totals, measured_s: f64) -> Option<EventStreams> {
    let all: Vec<&EventStreams> =
        results.iter().map(|result| result.events.as_ref()).collect::<Option<_>>()?;
    let first = *all.first()?;
    if all.iter().any(|found| found.events_p50 != first.events_p50) {
        return None;
    }
    let of = |count: fn(&EventStreams) -> u64| sums::total(all.iter().map(|found| count(found)));
    let mut clock = |clock| totals.take(Place::Clock(clock));
    let first_response = clock(Clock::FirstEvent);
    let first_service = clock(Clock::FirstEventService);
    let between = clock(Clock::BetweenEvents);
    let events = of(|found| found.events);
    Some(EventStreams {
        streams: of(|found| found.streams),
        without_events: of(|found| found.without_events),
        events,
        events_per_s: if measured_s > 0.0 { events as f64 / measured_s } else { 0.0 },
        together: of(|found| found.together),
        events_min: all.iter().map(|found| found.events_min).min().unwrap_or_default(),
        events_p50: first.events_p50,
        events_max: all.iter().map(|found| found.events_max).max().unwrap_or_default(),
        first_response: summary(&first_response, Censored::NONE),
        first_service: summary(&first_service, Censored::NONE),
        between: summary(&between, Censored::NONE),
        first_response_histogram: histogram_data(&first_response),
        first_service_histogram: histogram_data(&first_service),
        between_histogram: histogram_data(&between),
    })
}
