//! Two servers measured in turn: in short blocks, adjacent ones in random order, so that both meet the same moods
//! of the machine.

use std::time::Duration;

use prony_model::{BlockOrder, End, Environment, LatencySummary, Look, Metric, Problem, RunPlan, RunResult};
use prony_stats::{DecodeError, LOOKS, Looks, PairOrder, pair_orders};

use super::block::{Block, BlockPair};
use super::evaluate::{Question, evaluate_primary, is_final};
use super::findings::{LEAST_REQUESTS, LEAST_ROUNDS};

/// Shorter blocks are mostly their own beginning; longer ones share less of the machine's mood. Where no length is
/// given, blocks are as long or longer.
pub const LEAST_BLOCK: Duration = Duration::from_millis(200);
/// A server too slow for this is evaluated by what came.
const LONGEST_BLOCK: Duration = Duration::from_secs(10);
/// The beginning of each block: connections open, caches fill.
const BLOCK_WARMUP: Duration = Duration::from_millis(50);
/// What the beginning of a block may take at most.
const LONGEST_BLOCK_WARMUP: Duration = Duration::from_secs(5);
/// In a closed loop the first answers are early, for nobody stands in line yet: two rounds until all do.
const WARMUP_ROUNDS: u32 = 2;
/// After the warm-up of each side, to see how quick it is.
const PILOT: Duration = Duration::from_millis(300);
/// The least number of responses beyond and below a quantile in a block.
const EXCEEDANCES: f64 = 10.0;
/// What a pilot waits for its last answers: a server slower than that is not compared in blocks.
const PILOT_DRAIN: Duration = Duration::from_secs(5);
/// An answer may take this many times the longest of the pilot before it is given up at the end of a block.
const DRAIN_OVER_LONGEST: u32 = 3;
/// What the end of a block may take at most.
const LONGEST_DRAIN: Duration = Duration::from_secs(30);
/// Of the pairs that are measured, at least one in so many must count.
const PER_COUNTED_MAX: usize = 2;

/// Two servers to be measured in turn.
#[derive(Debug)]
pub struct LiveComparison {
    /// What is done to A and to B; `warmup` is that of the whole comparison, `end` is of no account.
    pub plans: [RunPlan; 2],
    /// Pairs that count; the most of them in a sequential comparison.
    pub pairs: usize,
    /// When the verdict may be looked at.
    pub looks: Looks,
    /// The measured part of each block; `None` leaves it to the pilot.
    pub block: Option<Duration>,
    /// Whether the drain was typed; else it follows from the pilot.
    pub is_drain_given: bool,
    /// Of the orders and of the label swaps.
    pub seed: u64,
}

/// Why two servers can't be compared.
#[derive(Debug)]
pub enum LiveError<E> {
    /// What puts the load on them can't.
    Load(E),
    /// A side gave no good answer.
    NoGoodAnswer {
        /// A or B.
        side: &'static str,
        /// Its address.
        target: String,
        /// What its first request got.
        example: Option<String>,
    },
}

impl<E> LiveError<E> {
    /// What is wrong, and what to try, where that is not up to what puts the load on them.
    pub fn problem(self) -> Result<Problem, E> {
        match self {
            Self::Load(error) => Err(error),
            Self::NoGoodAnswer { side, target, example } => {
                let example = example.map(|example| format!(" (first: {example})")).unwrap_or_default();
                Ok(Problem::new(
                    format!("{side}, {target}: not one response was good{example}"),
                    format!("try one request by hand: prony probe {target}"),
                ))
            }
        }
    }
}

/// What came of it.
pub(super) struct Measured {
    pub(super) pairs: Vec<Pair>,
    pub(super) looks: Vec<Look>,
    pub(super) block: Duration,
    pub(super) sides: [Side; 2],
    pub(super) started_at: String,
    pub(super) environment: Environment,
    pub(super) interrupted: bool,
}

/// What is known of a side beside its numbers.
pub(super) struct Side {
    pub(super) addresses: Vec<String>,
    pub(super) driver: String,
    /// What each block was to do.
    pub(super) plan: RunPlan,
}

/// Two blocks, A's and B's.
pub(super) struct Pair {
    pub(super) order: BlockOrder,
    /// Why it does not count.
    pub(super) dropped: Option<&'static str>,
    pub(super) blocks: BlockPair,
}

/// Puts the load of a plan on its target.
pub type RunLoad<'a, E> = dyn FnMut(&RunPlan) -> Result<RunResult, E> + 'a;

/// Measures warm-ups and pairs with `run`, and passes what counts so far to `on_pair` after each pair.
pub(super) fn measure<E>(
    live: &LiveComparison,
    question: &Question,
    run: &mut RunLoad<'_, E>,
    on_pair: &mut dyn FnMut(&[BlockPair]),
) -> Result<Measured, LiveError<E>> {
    let mut run = |plan: &RunPlan| run(plan).map_err(LiveError::Load);
    let pilots = [run(&pilot(&live.plans[0]))?, run(&pilot(&live.plans[1]))?];
    let mut interrupted = pilots.iter().any(|pilot| pilot.timing.interrupted);
    for (side, pilot) in ["A", "B"].into_iter().zip(&pilots) {
        if !interrupted && pilot.requests.done == 0 {
            return Err(LiveError::NoGoodAnswer {
                side,
                target: pilot.plan.target.to_string(),
                example: pilot.errors.first().map(|error| error.first_example.clone()),
            });
        }
    }
    let block = live.block.unwrap_or_else(|| block_length(question.primary, question.closed_loop, &pilots));
    let warmup = block_warmup(&pilots);
    let drain = if live.is_drain_given { None } else { Some(block_drain(&pilots)) };
    let plans = live.plans.each_ref().map(|plan| {
        let mut plan = RunPlan { end: End::Duration(block), warmup, ..plan.clone() };
        plan.timeouts.drain = drain.map_or(plan.timeouts.drain, |drain| drain.max(plan.timeouts.drain));
        plan
    });
    let (mut pairs, mut counted, mut looks) = (Vec::new(), Vec::new(), Vec::new());
    for order in pair_orders(live.pairs * PER_COUNTED_MAX, live.seed) {
        if interrupted || counted.len() >= live.pairs {
            break;
        }
        let Some(pair) = pair(order, &plans, &mut run)? else {
            interrupted = true;
            break;
        };
        if pair.dropped.is_none() {
            counted.push(pair.blocks.clone());
        }
        let is_counted = pair.dropped.is_none();
        pairs.push(pair);
        on_pair(&counted);
        if live.looks == Looks::Sequential && is_counted && LOOKS.contains(&counted.len()) {
            let primary = evaluate_primary(&counted, question);
            let ends = is_final(&primary);
            looks.push(Look {
                pairs: primary.pairs,
                change: primary.change,
                interval: primary.interval,
                outcome: primary.outcome,
            });
            if ends {
                break;
            }
        }
    }
    let [a, b] = pilots;
    let (started_at, environment) = (a.timing.started_at.clone(), a.environment.clone());
    let [plan_a, plan_b] = plans;
    let sides = [(a, plan_a), (b, plan_b)].map(|(pilot, plan)| Side {
        addresses: pilot.addresses,
        driver: pilot.driver.name,
        plan,
    });
    Ok(Measured { pairs, looks, block, sides, started_at, environment, interrupted })
}

/// A's and B's block; `None` if it was interrupted.
fn pair<E>(order: PairOrder, plans: &[RunPlan; 2], run: &mut RunLoad<'_, E>) -> Result<Option<Pair>, E> {
    let mut block = |side: usize| -> Result<Option<Block>, E> {
        let result = run(&plans[side])?;
        Ok(if result.timing.interrupted { None } else { Some(of_engine(Block::of(&result, None))) })
    };
    let (order, first, second) = match order {
        PairOrder::AFirst => (BlockOrder::AFirst, 0, 1),
        PairOrder::BFirst => (BlockOrder::BFirst, 1, 0),
    };
    let Some(one) = block(first)? else { return Ok(None) };
    let Some(other) = block(second)? else { return Ok(None) };
    let dropped = one.disturbance().or(other.disturbance());
    let blocks = if first == 0 { (one, other) } else { (other, one) };
    Ok(Some(Pair { order, dropped, blocks }))
}

fn of_engine(block: Result<Block, DecodeError>) -> Block {
    block.expect("invariant: the engine's histograms are whole")
}

/// The warm-up of a side, and a measure of how quick it is.
fn pilot(plan: &RunPlan) -> RunPlan {
    let mut pilot = RunPlan { end: End::Duration(PILOT.max(plan.warmup / 4)), ..plan.clone() };
    pilot.timeouts.drain = pilot.timeouts.drain.max(PILOT_DRAIN);
    pilot
}

/// Enough requests and, in a closed loop, enough rounds at the pace of the slower side: at least ten responses on
/// either side of the primary metric's quantile.
fn block_length(primary: Metric, closed_loop: bool, pilots: &[RunResult; 2]) -> Duration {
    let q = primary.quantile().map_or(0.5, |(_, q)| q);
    let requests = (EXCEEDANCES / (1.0 - q)).max(if closed_loop { LEAST_REQUESTS } else { 0.0 });
    let rate = |pilot: &RunResult| pilot.rate.whole_rounds_per_s.unwrap_or(pilot.rate.done_per_s);
    let slower = pilots.iter().map(rate).fold(f64::INFINITY, f64::min);
    let rounds_s =
        if closed_loop { LEAST_ROUNDS * longest_ms(pilots, |pilot| pilot.mean_ms) / 1e3 } else { 0.0 };
    let needed = Duration::try_from_secs_f64((requests / slower).max(rounds_s)).unwrap_or(LONGEST_BLOCK);
    needed.clamp(LEAST_BLOCK, LONGEST_BLOCK)
}

/// Of the response times of both pilots, the greater one, milliseconds; 0 if none is known.
fn longest_ms(pilots: &[RunResult; 2], pick: fn(&LatencySummary) -> Option<f64>) -> f64 {
    pilots.iter().filter_map(|pilot| pick(&pilot.latency.response)).fold(0.0, f64::max)
}

/// Long enough that a slow answer is waited for and not taken for a failure.
fn block_drain(pilots: &[RunResult; 2]) -> Duration {
    let longest = Duration::try_from_secs_f64(longest_ms(pilots, |pilot| pilot.max_ms) / 1e3);
    longest.unwrap_or(LONGEST_DRAIN).saturating_mul(DRAIN_OVER_LONGEST).min(LONGEST_DRAIN)
}

fn block_warmup(pilots: &[RunResult; 2]) -> Duration {
    let median = longest_ms(pilots, |pilot| *pilot.quantiles_ms.get("0.5")?);
    let slower_ms = median.max(longest_ms(pilots, |pilot| pilot.mean_ms));
    let rounds = Duration::try_from_secs_f64(slower_ms / 1e3 * f64::from(WARMUP_ROUNDS));
    rounds.unwrap_or(LONGEST_BLOCK_WARMUP).clamp(BLOCK_WARMUP, LONGEST_BLOCK_WARMUP)
}

#[cfg(test)]
mod tests;
