//! How much two loads of the same server differ on this machine: what a comparison has to see through.

use std::time::Duration;

use prony_model::{CalibrationNoise, RunResult, Version};
use prony_stats::pair_deviation;

use super::grid::CalibrationStep;

/// Pairs of blocks of one length.
#[derive(Debug, Clone, Copy)]
pub struct NoiseBlocks {
    /// Of each block.
    pub length: Duration,
    /// How many pairs.
    pub pairs: u32,
}

/// What is measured: a quarter of a minute together.
pub const NOISE_BLOCKS: [NoiseBlocks; 2] = [
    NoiseBlocks { length: Duration::from_millis(200), pairs: 16 },
    NoiseBlocks { length: Duration::from_secs(1), pairs: 6 },
];

/// How much `runs` of one server, two of them a pair, differ; `None` where they are too few to tell.
pub fn calibration_noise(blocks: &NoiseBlocks, runs: &[RunResult]) -> Option<CalibrationNoise> {
    let of_pairs = |value: &dyn Fn(&RunResult) -> Option<f64>| {
        let pair = |pair: &[RunResult]| Some((value(&pair[1])? / value(&pair[0])?).ln());
        let differences: Vec<f64> = runs.chunks_exact(2).filter_map(pair).filter(|d| d.is_finite()).collect();
        pair_deviation(&differences)
    };
    let median = |run: &RunResult| run.latency.response.quantiles_ms.get("0.5").copied().flatten();
    Some(CalibrationNoise {
        block_s: blocks.length.as_secs_f64(),
        measured_at: runs.first()?.timing.started_at.clone(),
        pairs: blocks.pairs,
        rate_deviation: of_pairs(&|run| Some(run.rate.done_per_s))?,
        p50_deviation: of_pairs(&median),
    })
}

/// The usual closed loop of a comparison.
pub fn noise_step() -> CalibrationStep {
    CalibrationStep {
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
