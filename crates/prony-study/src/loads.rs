//! What a search for a capacity and an overload share: loads on a server, one after the other, single requests before any of
//! them, and the wait until it answers as before.

use std::time::Duration;

use prony_model::{End, FleetAgent, Load, Problem, RunPlan, RunResult};

/// Requests one at a time: what one takes alone.
const ALONE: End = End::First { duration: Duration::from_secs(1), requests: 20 };
/// Requests that show whether the server has drained, and the time for them.
const DRAINED: End = End::First { duration: Duration::from_secs(1), requests: 5 };
/// Times what one request took alone, and at least this much more, is as before.
const DRAINED_FACTOR: f64 = 2.0;
const DRAINED_SLACK_MS: f64 = 1.0;
/// A server that is not back after this long is not waited for any more.
const DRAINED_MAX: Duration = Duration::from_secs(30);
/// From one look to the next, and between any two loads.
pub(crate) const PAUSE: Duration = Duration::from_millis(200);

/// What puts loads on a server: the engine or agents, and a clock.
pub trait LoadRunner {
    /// Why a run could not be made.
    type Error;
    /// Puts the load of a plan on its target. With agents the threads of the plan are each agent's, and a plan of fewer
    /// connections than they need is for some of them.
    fn run(&mut self, plan: &RunPlan) -> Result<Loaded, Self::Error>;
    /// The agents that put loads on the server, as they were at the beginning; none where this machine does.
    fn agents(&self) -> Vec<String> {
        Vec::new()
    }
    /// Those of them that were lost since.
    fn lost(&self) -> Vec<String> {
        Vec::new()
    }
    /// The time since the beginning.
    fn elapsed(&self) -> Duration;
    /// Waits.
    fn pause(&mut self, length: Duration);
    /// An error in a line.
    fn describe(error: &Self::Error) -> String;
    /// What an error is about.
    fn cause(error: &Self::Error) -> Cause;
}

/// A load that was put on a server.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// What was measured; by agents, all of them together.
    pub result: RunResult,
    /// What each agent did; empty where this machine put the load on the server.
    pub agents: Vec<FleetAgent>,
}

impl From<RunResult> for Loaded {
    fn from(result: RunResult) -> Self {
        Self { result, agents: Vec::new() }
    }
}

/// What kept a load from being put on a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// The server did not answer.
    Server,
    /// The agents can't put this load on the server; another one perhaps.
    Share,
    /// An agent was lost before the load; others are left.
    Lost,
    /// No agent is left, or none can be reached.
    Agents,
    /// The user ended it.
    Interrupt,
}

/// Why nothing was measured.
#[derive(Debug)]
pub enum LoadError<E> {
    /// The first run could not be made.
    Run(E),
    /// The server does not answer well.
    Target(Problem),
    /// What is asked for can't be done.
    Asked(Problem),
}

/// What requests took one at a time, before any load.
pub(crate) struct Alone {
    pub(crate) result: RunResult,
    /// The median, milliseconds; the least, where there were too few for one.
    pub(crate) median_ms: Option<f64>,
    /// The least.
    pub(crate) least_ms: Option<f64>,
}

/// Whether a server answers as before any load.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Drained {
    /// After this long.
    After(Duration),
    /// Not within the limit, although it accepts connections.
    Never,
    /// It accepted no connection when the wait ended: it is not there, so nothing says that it was overloaded.
    Gone(String),
    /// Unknown, for this reason: no agent is left to send requests.
    Unknown(String),
    /// The user ended the wait.
    Interrupted,
}

/// Sends requests one at a time; `None` where that was interrupted.
pub(crate) fn alone<R: LoadRunner>(
    plan: &RunPlan,
    runner: &mut R,
) -> Result<Option<Alone>, LoadError<R::Error>> {
    let result = runner.run(&single(plan, ALONE)).map_err(LoadError::Run)?.result;
    if result.timing.interrupted {
        return Ok(None);
    }
    let service = &result.latency.service;
    let least_ms = service.min_ms;
    let median_ms = service.quantiles_ms.get("0.5").copied().flatten().or(least_ms);
    Ok(Some(Alone { result, median_ms, least_ms }))
}

/// A server that answers nothing well can't be loaded.
pub(crate) fn refuse_without_success<E>(result: &RunResult) -> Result<(), LoadError<E>> {
    if result.requests.done > 0 {
        return Ok(());
    }
    let target = &result.plan.target;
    let example = result.errors.first().map(|error| format!(" (first: {})", error.first_example));
    Err(LoadError::Target(Problem::new(
        format!("{target}: not one response was good{}", example.unwrap_or_default()),
        format!("try one request by hand: prony probe {target}"),
    )))
}

/// Waits until single requests take as long as before any load. The time is that at which the first such ones were sent.
pub(crate) fn wait_until_drained<R: LoadRunner>(
    plan: &RunPlan,
    alone_ms: Option<f64>,
    runner: &mut R,
) -> Drained {
    let began = runner.elapsed();
    let mut plan = single(plan, DRAINED);
    plan.timeouts.request = plan.timeouts.request.min(DRAINED_MAX);
    let limit_ms =
        alone_ms.map_or(f64::INFINITY, |alone| (alone * DRAINED_FACTOR).max(alone + DRAINED_SLACK_MS));
    loop {
        let mut gone = None;
        let sent = runner.elapsed().saturating_sub(began);
        match runner.run(&plan) {
            Ok(Loaded { result, .. }) => {
                if result.timing.interrupted {
                    return Drained::Interrupted;
                }
                // The least: a neighbour delays some of so few.
                let least = result.latency.service.min_ms.filter(|_| result.requests.done > 0);
                if least.is_some_and(|least| least <= limit_ms) {
                    return Drained::After(sent);
                }
            }
            Err(error) => match R::cause(&error) {
                Cause::Interrupt => return Drained::Interrupted,
                Cause::Agents => return Drained::Unknown(R::describe(&error)),
                Cause::Server => gone = Some(R::describe(&error)),
                Cause::Share | Cause::Lost => {}
            },
        }
        if runner.elapsed().saturating_sub(began) >= DRAINED_MAX {
            return gone.map_or(Drained::Never, Drained::Gone);
        }
        runner.pause(PAUSE);
    }
}

/// One connection, one request at a time.
fn single(plan: &RunPlan, end: End) -> RunPlan {
    RunPlan {
        load: Load::Closed { connections: 1 },
        threads: 1,
        end,
        warmup: Duration::ZERO,
        stages: None,
        samples: false,
        ..plan.clone()
    }
}

/// A sentence for each agent that was lost.
pub(crate) fn lost_agents<R: LoadRunner>(runner: &R) -> impl Iterator<Item = String> {
    runner
        .lost()
        .into_iter()
        .map(|agent| format!("the agent {agent} was lost; the loads after that are by the others"))
}
