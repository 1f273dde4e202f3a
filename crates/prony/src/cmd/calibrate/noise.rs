//! How much two loads of the same server differ on this machine: what a comparison has to see through.

use std::time::Duration;

use prony_engine::Control;
use prony_model::{CalibrationNoise, RunResult, Version};
use prony_stats::pair_deviation;

use super::grid::Step;
use super::measure::Manner;
use crate::cli_error::CliError;

/// Lengths of blocks, and pairs of each: a quarter of a minute together.
const LENGTHS: [(Duration, u32); 2] = [(Duration::from_millis(200), 16), (Duration::from_secs(1), 6)];

/// Measures pairs of loads on one null server; `None` if that was interrupted.
pub(super) fn noise(manner: &Manner, control: &Control) -> Result<Option<Vec<CalibrationNoise>>, CliError> {
    let mut found = Vec::new();
    for (length, pairs) in LENGTHS {
        let manner = Manner { duration: length, ..manner.clone() };
        let Some(runs) = manner.repeat(&step(), 2 * pairs, control)? else { return Ok(None) };
        let of_pairs = |value: &dyn Fn(&RunResult) -> Option<f64>| {
            let pair = |pair: &[RunResult]| Some((value(&pair[1])? / value(&pair[0])?).ln());
            let differences: Vec<f64> =
                runs.chunks_exact(2).filter_map(pair).filter(|d| d.is_finite()).collect();
            pair_deviation(&differences)
        };
        let rate = of_pairs(&|run| Some(run.rate.done_per_s));
        let median = |run: &RunResult| run.latency.response.quantiles_ms.get("0.5").copied().flatten();
        if let (Some(rate_deviation), Some(first)) = (rate, runs.first()) {
            found.push(CalibrationNoise {
                block_s: length.as_secs_f64(),
                measured_at: first.timing.started_at.clone(),
                pairs,
                rate_deviation,
                p50_deviation: of_pairs(&median),
            });
        }
    }
    Ok(Some(found))
}

/// The usual closed loop of a comparison.
fn step() -> Step {
    Step {
        connections: 8,
        threads: 1,
        keep_alive: true,
        version: Version::Http11,
        pipeline: 1,
        request_bytes: 0,
        response_bytes: 12,
        asked_per_s: None,
    }
}
