//! One load split over several agents: each runs some of the threads of the whole load.

use serde::{Deserialize, Serialize};

use super::{Load, PlanError, RunPlan};
use crate::Rate;

/// Which of a load's threads a run has: `first..first + threads` of `of`, where `threads` are those of its plan.
///
/// All other numbers of the plan (rate, connections, requests) are those of the whole load. What a thread does follows
/// from its number among all threads, so that the shares together do request by request what one machine with `of`
/// threads would do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Share {
    /// The number of the first thread, from 0.
    pub first: u32,
    /// Threads of the whole load.
    pub of: u32,
}

/// Agents that can share one load.
pub const AGENTS_MAX: usize = 1_000;

impl RunPlan {
    /// Which threads these are, and of how many.
    pub fn share(&self) -> Share {
        self.share.unwrap_or(Share { first: 0, of: self.threads })
    }

    /// The part of `total` that falls to thread `thread` of all, where the threads take turns and the first begins.
    pub fn part_of(total: u64, thread: u32, of: u32) -> u64 {
        total.saturating_sub(u64::from(thread)).div_ceil(u64::from(of.max(1)))
    }

    /// The part of `total` that falls to the threads of this plan.
    pub fn own_part(&self, total: u64) -> u64 {
        let Share { first, of } = self.share();
        (first..first.saturating_add(self.threads)).map(|thread| Self::part_of(total, thread, of)).sum()
    }

    /// The load of this plan's own threads: all of it, unless the plan is a share.
    pub fn own_load(&self) -> Load {
        let Some(Share { of, .. }) = self.share else { return self.load };
        let part = |connections: u32| {
            let own = self.own_part(u64::from(connections));
            u32::try_from(own).unwrap_or(connections)
        };
        match self.load {
            Load::Closed { connections } => Load::Closed { connections: part(connections) },
            Load::Open { rate_per_s, arrivals, max_connections } => {
                let own = rate_per_s.as_per_second() * f64::from(self.threads) / f64::from(of.max(1));
                Load::Open {
                    // A share of the least rate is below it.
                    rate_per_s: Rate::per_second(own).unwrap_or(rate_per_s),
                    arrivals,
                    max_connections: part(max_connections),
                }
            }
        }
    }

    /// Finds a share that is none.
    pub(super) fn check_share(&self) -> Result<(), PlanError> {
        let Share { first, of } = self.share();
        if first.checked_add(self.threads).is_none_or(|end| end > of) {
            return Err(PlanError::ShareOutside { first, threads: self.threads, of });
        }
        if self.share.is_none() {
            return Ok(());
        }
        let connections = self.load.connections();
        if of > connections {
            return Err(PlanError::MoreThreadsThanConnections { threads: of, connections });
        }
        if let Some(requests) = self.end.requests().filter(|requests| *requests < u64::from(of)) {
            return Err(PlanError::FewerRequestsThanThreads { requests, threads: of });
        }
        let part = self.load.rate().map(|rate| rate.as_per_second() / f64::from(of));
        if part.is_some_and(|part| Rate::per_second(part).is_none()) {
            return Err(PlanError::RateTooLowToShare { threads: of });
        }
        Ok(())
    }
}

/// Splits `plan` over agents, of which each has that many threads: agents with twice the threads have twice the load.
/// The parts add up to a run of `plan` with as many threads as all agents together. One agent gets the plan as it is.
///
/// # Errors
/// No agent, more than [`AGENTS_MAX`], a plan that is a share already, and loads that can't be split so far: fewer
/// connections or requests than threads, or a rate of which a part is none.
pub fn split(plan: &RunPlan, threads_per_agent: &[u32]) -> Result<Vec<RunPlan>, PlanError> {
    let agents = threads_per_agent.len();
    if agents == 0 || agents > AGENTS_MAX {
        return Err(PlanError::Agents { asked: agents, max: AGENTS_MAX });
    }
    if plan.share.is_some() {
        return Err(PlanError::SplitTwice);
    }
    // Their moments and requests are in a file of this machine.
    if plan.recorded.is_some() {
        return Err(PlanError::RecordedForAgents);
    }
    let mut of: u32 = 0;
    for &threads in threads_per_agent {
        if threads == 0 || threads > RunPlan::THREADS_MAX {
            return Err(PlanError::Threads { asked: threads, max: RunPlan::THREADS_MAX });
        }
        // At most AGENTS_MAX · THREADS_MAX.
        of += threads;
    }
    let mut first = 0;
    let mut parts = Vec::with_capacity(agents);
    for &threads in threads_per_agent {
        let share = (agents > 1).then_some(Share { first, of });
        let part = RunPlan { threads, share, ..plan.clone() };
        part.check()?;
        parts.push(part);
        first += threads;
    }
    Ok(parts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{End, RunOptions};

    fn plan(load: Load, end: End) -> RunPlan {
        let target = crate::Target::parse("http://127.0.0.1:1/").expect("a target");
        let mut plan = RunOptions::default().plan(target, 1).expect("a plan");
        plan.load = load;
        plan.end = end;
        plan
    }

    fn closed(connections: u32) -> RunPlan {
        plan(Load::Closed { connections }, End::Duration(std::time::Duration::from_secs(1)))
    }

    #[test]
    fn parts_are_consecutive_threads_and_add_up() {
        let parts = split(&closed(7), &[1, 2, 1]).expect("a split");
        let shares: Vec<_> = parts.iter().map(|part| (part.share(), part.threads)).collect();
        let share = |first| Share { first, of: 4 };
        assert_eq!(shares, [(share(0), 1), (share(1), 2), (share(3), 1)]);
        let connections: Vec<u32> = parts.iter().map(|part| part.own_load().connections()).collect();
        assert_eq!(connections, [2, 4, 1]);
    }

    #[test]
    fn one_agent_has_the_plan_itself() {
        let parts = split(&closed(7), &[3]).expect("a split");
        assert_eq!(parts, [RunPlan { threads: 3, ..closed(7) }]);
    }

    #[test]
    fn a_rate_is_split_by_threads() {
        let arrivals = crate::Arrivals::Constant;
        let rate_per_s = Rate::per_second(900.0).expect("a rate");
        let whole = plan(Load::Open { rate_per_s, arrivals, max_connections: 9 }, closed(1).end);
        let parts = split(&whole, &[1, 2]).expect("a split");
        let rates: Vec<f64> =
            parts.iter().filter_map(|part| part.own_load().rate()).map(Rate::as_per_second).collect();
        assert!(rates.iter().zip([300.0, 600.0]).all(|(rate, part)| (rate - part).abs() < 1e-9), "{rates:?}");
        assert!(parts.iter().all(|part| part.load == whole.load), "the plan is that of the whole");
    }

    #[test]
    fn what_cannot_be_split_is_an_error_before_any_load() {
        let check = |plan: &RunPlan, threads: &[u32], expected: PlanError| {
            assert_eq!(split(plan, threads), Err(expected), "{threads:?}");
        };
        check(&closed(5), &[], PlanError::Agents { asked: 0, max: AGENTS_MAX });
        check(
            &closed(5),
            &vec![1; AGENTS_MAX + 1],
            PlanError::Agents { asked: AGENTS_MAX + 1, max: AGENTS_MAX },
        );
        check(&closed(5), &[1, 0], PlanError::Threads { asked: 0, max: RunPlan::THREADS_MAX });
        check(&closed(5), &[257], PlanError::Threads { asked: 257, max: RunPlan::THREADS_MAX });
        check(&closed(5), &[3, 3], PlanError::MoreThreadsThanConnections { threads: 6, connections: 5 });
        let arrivals = crate::Arrivals::Poisson;
        let open = |rate: f64, end| {
            let rate_per_s = Rate::per_second(rate).expect("a rate");
            plan(Load::Open { rate_per_s, arrivals, max_connections: 100 }, end)
        };
        let few = open(5.0, End::Requests(3));
        check(&few, &[2, 2], PlanError::FewerRequestsThanThreads { requests: 3, threads: 4 });
        check(&open(2e-6, closed(1).end), &[2, 2], PlanError::RateTooLowToShare { threads: 4 });
        let part = split(&closed(5), &[1, 1]).expect("a split").remove(0);
        check(&part, &[1, 1], PlanError::SplitTwice);
        let outside = RunPlan { share: Some(Share { first: u32::MAX, of: 2 }), ..closed(5) };
        assert_eq!(outside.check(), Err(PlanError::ShareOutside { first: u32::MAX, threads: 1, of: 2 }));
    }
}
