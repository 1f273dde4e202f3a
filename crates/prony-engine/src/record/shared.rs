//! For tests: samples of one load, shared among agents. What a merge makes of the agents' results must be what one recorder
//! has of all samples.

use prony_model::{AgentOutcome, RunResult, Verdict, from_json};
use prony_summary::merge;
use rand::{RngExt as _, SeedableRng as _};
use rand_pcg::Pcg64;

use crate::clock::Nanos;

/// Agents that share a load.
pub(crate) const AGENTS: usize = 3;

/// Records `samples` samples twice with `record`: in what one recorder has, and in what the agent has that it falls to.
/// Returns the former and the latter.
pub(crate) fn shared<R: Default>(
    samples: usize,
    mut record: impl FnMut(&mut R, &mut Pcg64),
) -> (R, [R; AGENTS]) {
    let mut generator = Pcg64::seed_from_u64(14);
    let (mut one, mut agents) = (R::default(), std::array::from_fn(|_| R::default()));
    for _ in 0..samples {
        let seed = generator.random();
        // Agents have not as many samples as each other.
        let place = generator.random_range(0..AGENTS * 2).min(AGENTS - 1);
        record(&mut one, &mut Pcg64::seed_from_u64(seed));
        record(&mut agents[place], &mut Pcg64::seed_from_u64(seed));
    }
    (one, agents)
}

/// From 1 µs to 1 s, each power of two as often as the others.
pub(crate) fn nanos(generator: &mut Pcg64) -> Nanos {
    let power: Nanos = 1 << generator.random_range(10..30);
    generator.random_range(power..2 * power)
}

/// What a merge makes of the results of agents, each a stored result changed by `own`.
pub(crate) fn merged<R>(agents: &[R; AGENTS], own: impl Fn(&mut RunResult, &R)) -> RunResult {
    let stored = from_json(include_str!("../../../prony/tests/it/stored.json")).expect("a result");
    let outcomes = agents.iter().enumerate().map(|(place, record)| {
        let mut result = RunResult { findings: Vec::new(), verdict: Verdict::Valid, ..stored.clone() };
        own(&mut result, record);
        AgentOutcome { name: format!("a{place}"), clock: None, result: Ok(result) }
    });
    merge(&stored.plan, 0, outcomes.collect()).merged
}
