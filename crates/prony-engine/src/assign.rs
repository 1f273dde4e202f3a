//! What each worker thread does of a plan. Threads are numbered among those of all agents that share the load, and what a
//! thread does follows from its number alone, so the shares of agents add up to the load of one machine.

use std::ops::Range;
use std::time::Duration;

use prony_model::{Load, RunPlan};

use crate::clock::span;
use crate::load::checks::Checker;
use crate::load::pacer::{Part, Schedule};
use crate::load::retry::Retries;
use crate::load::scenario::compile::Compiled;
use crate::load::scenario::sessions::{Beginning, Sessions, Turn};
use crate::load::worker::{Assignment, Pace};
use crate::record::collect::Window;
use crate::run::Encoded;

/// A warm-up of at least this length begins with requests that are sent one at a time,
const SOLO_WARMUP_MIN: Duration = Duration::from_millis(800);
/// for this part of it,
const SOLO_PART: u32 = 3;
/// but for no longer than this.
const SOLO_MAX: Duration = Duration::from_secs(1);

/// What is sent, and what must come back.
pub(crate) struct What<'a> {
    pub(crate) request: &'a Encoded,
    pub(crate) checker: &'a Checker,
    /// Instead of both.
    pub(crate) scenario: Option<&'a Compiled>,
}

/// The part of `plan` that worker `thread` of all agents does. The parts add up to the plan exactly.
pub(crate) fn assign(plan: &RunPlan, what: &What<'_>, window: Window, thread: u32) -> Assignment {
    let request = what.request;
    let of = plan.share().of;
    let requests = plan.end.requests().unwrap_or(u64::MAX);
    let slots = slots(plan, thread);
    // More than one on a connection only in HTTP/2, where sessions share them.
    let in_flight = slots * plan.request.pipeline;
    let left = RunPlan::part_of(requests, thread, of);
    let sessions = |scenario: &Compiled, beginning| {
        let turn = Turn { thread, of };
        let sessions = Sessions::new(scenario.clone(), beginning, turn, in_flight, window.measure_from);
        Pace::Sessions(Box::new(sessions))
    };
    let pace = match schedule(plan, window, thread) {
        None => match what.scenario {
            None => Pace::Closed { left },
            Some(scenario) => {
                sessions(scenario, Beginning::Users { users: in_flight, left, start: window.start })
            }
        },
        Some(schedule) => match what.scenario {
            None => Pace::Open(schedule),
            Some(scenario) => sessions(scenario, Beginning::Clock(schedule)),
        },
    };
    Assignment {
        slots,
        first_attempt: u64::from(thread),
        pace,
        solo_until: solo(plan).map_or(0, |length| window.start + span(length)),
        measure_from: window.measure_from,
        measure_to: window.measure_to,
        counted: plan.end.requests().is_some(),
        drain: span(plan.timeouts.drain),
        connect_timeout: span(plan.timeouts.connect),
        request_timeout: span(
            plan.retries.as_ref().map_or(plan.timeouts.request, |retries| retries.attempt_timeout),
        ),
        depth: plan.request.pipeline,
        keep_alive: request.keep_alive(plan.request.keep_alive),
        request_bytes: request.length() as u64,
        events: plan.events,
        retries: Retries::of(plan, thread).map(Box::new),
        tracer: None,
    }
}

/// What is due when in worker `thread` of all agents, in an open loop.
fn schedule(plan: &RunPlan, window: Window, thread: u32) -> Option<Schedule> {
    let Load::Open { rate_per_s, arrivals, .. } = plan.load else { return None };
    let part = Part {
        thread,
        threads: plan.share().of,
        seed: plan.seed,
        start: window.start,
        count_from: window.measure_from,
        end: window.measure_to,
        requests: plan.end.requests().unwrap_or(u64::MAX),
    };
    Some(match (&plan.recorded, &plan.stages) {
        (Some(recorded), _) => Schedule::recorded(recorded.moments.clone(), part),
        (None, Some(stages)) => Schedule::of_stages(stages, arrivals, part),
        (None, None) => Schedule::new(rate_per_s, arrivals, part),
    })
}

/// The numbers of the plan's threads among those of all agents.
pub(crate) fn thread_numbers(plan: &RunPlan) -> Range<u32> {
    let first = plan.share().first;
    first..first + plan.threads
}

/// Requests (or sessions) that the plan's threads begin in the measured part, where a count ends it.
pub(crate) fn own_requests(plan: &RunPlan, window: Window) -> Option<u64> {
    let all = plan.end.requests()?;
    let limits = thread_numbers(plan).map(|thread| Some(schedule(plan, window, thread)?.limit()));
    Some(limits.sum::<Option<u64>>().unwrap_or_else(|| plan.own_part(all)))
}

/// The connections of worker `thread` of all agents, at most.
pub(crate) fn slots(plan: &RunPlan, thread: u32) -> u32 {
    let connections = RunPlan::part_of(u64::from(plan.load.connections()), thread, plan.share().of);
    u32::try_from(connections).expect("invariant: a share of 32 bits has 32 bits")
}

/// How long the warm-up sends one request at a time: what the server takes without a queue distinguishes a server
/// that waits from too few connections. These requests are part of the warm-up's load, none is sent in addition.
fn solo(plan: &RunPlan) -> Option<Duration> {
    let closed = matches!(plan.load, Load::Closed { connections } if connections > 1);
    let may =
        closed && plan.scenario.is_none() && plan.request.pipeline == 1 && plan.warmup >= SOLO_WARMUP_MIN;
    may.then(|| (plan.warmup / SOLO_PART).min(SOLO_MAX))
}

#[cfg(test)]
mod tests {
    use prony_model::{Arrivals, End, Rate, RunOptions, Target, split};
    use proptest::prelude::*;

    use super::*;
    use crate::clock::Nanos;

    const WINDOW: Window = Window { start: 1_000, measure_from: 50_001_000, measure_to: 1_000_001_000 };

    fn plan(load: Load, end: End) -> RunPlan {
        let target = Target::parse("http://127.0.0.1:1/").expect("a target");
        let plan = RunOptions::default().plan(target, 9).expect("a plan");
        RunPlan { load, end, ..plan }
    }

    /// When the requests of `plan` are due.
    fn moments(plan: &RunPlan) -> Vec<Nanos> {
        let of_thread = |thread| {
            let mut schedule = schedule(plan, WINDOW, thread).expect("an open loop");
            let count = schedule.waiting(WINDOW.measure_to);
            (0..count).map(move |_| schedule.take()).collect::<Vec<_>>()
        };
        thread_numbers(plan).flat_map(of_thread).collect()
    }

    fn threads_of_agents() -> impl Strategy<Value = Vec<u32>> {
        prop::collection::vec(1_u32..5, 1..6)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn agents_together_make_the_schedule_of_one_machine(
            threads in threads_of_agents(),
            rate in 50.0_f64..5_000.0,
            is_poisson in any::<bool>(),
            requests in prop_oneof![Just(None), (30_u64..2_000).prop_map(Some)],
        ) {
            let arrivals = if is_poisson { Arrivals::Poisson } else { Arrivals::Constant };
            let rate_per_s = Rate::per_second(rate).expect("a rate");
            let load = Load::Open { rate_per_s, arrivals, max_connections: 100 };
            let end = requests.map_or(End::Duration(Duration::from_millis(950)), End::Requests);
            let whole = plan(load, end);
            let parts = split(&whole, &threads).expect("it can be split");
            let mut together: Vec<Nanos> = parts.iter().flat_map(moments).collect();
            together.sort_unstable();
            let mut one = moments(&RunPlan { threads: threads.iter().sum(), ..whole.clone() });
            one.sort_unstable();
            prop_assert_eq!(together, one);
            let own: Option<u64> = parts.iter().map(|part| own_requests(part, WINDOW)).sum();
            prop_assert_eq!(own, requests);
        }

        #[test]
        fn connections_and_requests_of_a_closed_loop_add_up(
            threads in threads_of_agents(),
            connections in 25_u32..1_000,
            requests in 1_000_u64..100_000,
        ) {
            let whole = plan(Load::Closed { connections }, End::Requests(requests));
            let parts = split(&whole, &threads).expect("it can be split");
            let slots = |part: &RunPlan| thread_numbers(part).map(|thread| slots(part, thread)).sum::<u32>();
            let all: Vec<u32> = parts.iter().map(slots).collect();
            let own: Vec<u32> = parts.iter().map(|part| part.own_load().connections()).collect();
            prop_assert_eq!(&all, &own);
            prop_assert_eq!(all.iter().sum::<u32>(), connections);
            let own: Option<u64> = parts.iter().map(|part| own_requests(part, WINDOW)).sum();
            prop_assert_eq!(own, Some(requests));
        }
    }
}
