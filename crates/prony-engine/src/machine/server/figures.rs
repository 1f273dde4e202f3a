//! What samples of the server come to: ten sections of the measured part, and how its memory grew. What it used for each
//! request follows from the sections (`prony_summary::add_requests`).

use prony_model::{Interval, MemoryGrowth, ServerSection, ServerUse};
use prony_stats::{BATCHES, mann_kendall, mean_interval};

use super::group::seconds;
use crate::clock::Nanos;

/// A server that grows by less is not called a leak: heaps grow in steps, and pages come one by one.
const LEAST_LEAK_BYTES: u64 = 1 << 20;
/// Nor one that grows by less than this share of its memory in the run.
const LEAST_LEAK_SHARE: f64 = 0.01;
/// The chance that memory without a trend looks so.
const LEAK_P: f64 = 0.001;
/// A section of a leaking server grows by this share of the mean at least: a cache that fills slows down.
const LEAST_STEADY_SHARE: f64 = 0.25;
/// Time from which growth says something.
const LEAST_LEAK_WALL: Nanos = 3_000_000_000;

/// What was read at one moment, since the beginning.
#[derive(Debug, Clone, Default)]
pub(super) struct Sample {
    pub at: Nanos,
    pub cpu: Nanos,
    pub dependants_cpu: Nanos,
    pub waited: Option<Nanos>,
    /// CPU time of each thread.
    pub threads: Vec<(u32, Nanos)>,
    pub instructions: Option<u64>,
    pub resident_bytes: u64,
}

/// Adds to `found` what follows from `samples`, without the requests of that time.
pub(super) fn add(found: &mut ServerUse, samples: &[Sample]) {
    found.sections = sections(samples);
    found.memory_growth_bytes_per_h = growth(samples, &found.sections);
}

/// Ten sections of nearly equal time, from sample to sample; none where there are fewer than ten.
fn sections(samples: &[Sample]) -> Vec<ServerSection> {
    if samples.len() <= BATCHES {
        return Vec::new();
    }
    let (first, last) = (&samples[0], &samples[samples.len() - 1]);
    let wall = last.at.saturating_sub(first.at);
    let mut edges: Vec<&Sample> = Vec::with_capacity(BATCHES + 1);
    for edge in 0..=BATCHES {
        let wanted = first.at + wall / BATCHES as u64 * edge as u64;
        let nearest = samples.iter().min_by_key(|sample| sample.at.abs_diff(wanted));
        edges.extend(nearest.filter(|sample| edges.last().is_none_or(|before| before.at < sample.at)));
    }
    edges.windows(2).map(|pair| section(first.at, pair[0], pair[1])).collect()
}

fn section(start: Nanos, from: &Sample, to: &Sample) -> ServerSection {
    let wall = to.at - from.at;
    let grown = |from: Option<u64>, to: Option<u64>| Some(to?.saturating_sub(from?));
    let earlier = |tid: u32| from.threads.iter().find(|(other, _)| *other == tid).map_or(0, |(_, cpu)| *cpu);
    let busiest = to.threads.iter().map(|(tid, cpu)| cpu.saturating_sub(earlier(*tid))).max();
    ServerSection {
        start_s: seconds(from.at.saturating_sub(start)),
        wall_s: seconds(wall),
        requests: 0.0,
        cpu_s: seconds(to.cpu.saturating_sub(from.cpu)),
        dependants_cpu_s: seconds(to.dependants_cpu.saturating_sub(from.dependants_cpu)),
        run_queue_wait_s: grown(from.waited, to.waited).map(seconds),
        busiest_thread_share: busiest.map(|cpu| (cpu as f64 / wall.max(1) as f64).min(1.0)),
        instructions: grown(from.instructions, to.instructions),
        memory_bytes: Some(to.resident_bytes),
    }
}

/// How fast memory grew, and whether that looks like a leak.
fn growth(samples: &[Sample], sections: &[ServerSection]) -> Option<MemoryGrowth> {
    let (first, last) = samples.first().zip(samples.last())?;
    let wall = last.at.saturating_sub(first.at);
    if sections.len() < BATCHES || wall < LEAST_LEAK_WALL {
        return None;
    }
    let per_h = |bytes: f64, seconds: f64| bytes / seconds * 3600.0;
    let mut before = first.resident_bytes as f64;
    let mut steps = [0.0; BATCHES];
    for (step, section) in steps.iter_mut().zip(sections) {
        let now = section.memory_bytes? as f64;
        *step = per_h(now - before, section.wall_s);
        before = now;
    }
    let total = last.resident_bytes as f64 - first.resident_bytes as f64;
    let value = per_h(total, seconds(wall));
    let interval = mean_interval(&steps);
    let memory: Vec<f64> = samples.iter().map(|sample| sample.resident_bytes as f64).collect();
    let rises = mann_kendall(&memory).is_some_and(|trend| trend.tau > 0.0 && trend.p < LEAK_P);
    let least = (LEAST_LEAK_BYTES as f64).max(first.resident_bytes as f64 * LEAST_LEAK_SHARE);
    // Pairs of sections: a heap grows in steps, and a step may fall on either side of an edge.
    let goes_on = steps.chunks(2).all(|pair| pair.iter().sum::<f64>() / 2.0 >= value * LEAST_STEADY_SHARE);
    Some(MemoryGrowth {
        value,
        interval: Some(Interval { low: interval.low, high: interval.high, indicative: false }),
        samples: samples.len() as u64,
        bytes_per_request: 0.0,
        is_leak: rises && goes_on && total >= least && interval.low > 0.0,
    })
}
