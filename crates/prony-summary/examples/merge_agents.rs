//! Merges the results of many agents and reports what that takes: `merge_agents AGENTS SECONDS RATE`. Used by
//! bench/fleet-scale.
//!
//! Each agent has its own samples: log-normal service times, RATE a second for SECONDS, in the pieces that the engine would
//! store. Results are made before the clock starts, and kept as JSON, as they arrive.

#![expect(clippy::print_stdout, reason = "a program for a bench")]
#![expect(clippy::disallowed_methods, reason = "it measures")]

use std::time::Instant;

use prony_model::{AgentOutcome, RunResult, TimePieces, from_json, to_json};
use prony_stats::Histogram;
use prony_summary::{Grid, Merger, histogram_data};
use rand::{RngExt as _, SeedableRng as _};
use rand_pcg::Pcg64;

const STORED: &str = include_str!("../../prony/tests/it/stored.json");
/// Pieces that the engine keeps at most.
const PIECES_MAX: u64 = 480;

/// A sum of uniform numbers for a normal one.
fn nanos(generator: &mut Pcg64) -> u64 {
    let normal: f64 = (0..12).map(|_| generator.random_range(0.0..1.0)).sum::<f64>() - 6.0;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most 100 ms")]
    let nanos = (1e6 * (0.7 * normal).exp()) as u64;
    nanos
}

/// The result of agent number `seed`, as JSON.
fn result(seed: u64, seconds: u64, rate: u64) -> String {
    let mut generator = Pcg64::seed_from_u64(seed);
    let mut length_ns = 50_000_000;
    while seconds * 1_000_000_000 / length_ns > PIECES_MAX {
        length_ns *= 2;
    }
    let count = seconds * 1_000_000_000 / length_ns;
    let each = rate * length_ns / 1_000_000_000;
    let (mut response, mut service, mut piece) = (Histogram::new(), Histogram::new(), Histogram::new());
    let mut row = |all: &mut Histogram| {
        let text = |_| {
            piece.clear();
            (0..each).for_each(|_| piece.record(nanos(&mut generator)));
            all.add(&piece);
            if piece.is_empty() { String::new() } else { piece.to_base64_v2() }
        };
        (0..count).map(text).collect::<Vec<_>>()
    };
    let (responses, services) = (row(&mut response), row(&mut service));
    let done = vec![each; usize::try_from(count).expect("few")];
    let mut result = from_json(STORED).expect("a result");
    result.histograms.response = histogram_data(&response);
    result.histograms.service = histogram_data(&service);
    result.histograms.first_byte = histogram_data(&service);
    result.histograms.lag = histogram_data(&service);
    result.latency.response.count = response.count();
    result.pieces = Some(TimePieces { length_ns, done, response: responses, service: services });
    to_json(&result)
}

fn peak_rss_mib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a line");
    line.split_whitespace().next().and_then(|number| number.parse::<u64>().ok()).expect("a number") / 1024
}

fn main() {
    let arguments: Vec<u64> = std::env::args().skip(1).filter_map(|text| text.parse().ok()).collect();
    let [agents, seconds, rate] = arguments[..] else { panic!("merge_agents AGENTS SECONDS RATE") };
    let folder = std::env::temp_dir().join(format!("merge-agents-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let file = |agent: u64| folder.join(format!("{agent}.json"));
    let mut bytes = 0;
    for agent in 0..agents {
        // Ten kinds of results: making them takes longer than merging them.
        let json = if agent < 10 {
            result(agent, seconds, rate)
        } else {
            std::fs::read_to_string(file(agent % 10)).expect("it was written")
        };
        bytes += json.len() as u64;
        std::fs::write(file(agent), json).expect("room");
    }
    let before_mib = peak_rss_mib();
    let begin = Instant::now();
    let read = |agent: u64| -> RunResult {
        from_json(&std::fs::read_to_string(file(agent)).expect("it is there")).expect("a result")
    };
    let first = read(0);
    let header = first.pieces.as_ref().map(|pieces| (pieces.length_ns, pieces.done.len()));
    let mut merger = Merger::new(first.plan.clone(), 0, Grid::of(header));
    let mut adding = std::time::Duration::ZERO;
    for agent in 0..agents {
        let result = read(agent);
        let before = Instant::now();
        merger.add(AgentOutcome { name: format!("a{agent}"), clock: None, result: Ok(result) });
        adding += before.elapsed();
    }
    let finish = Instant::now();
    let fleet = merger.finish();
    let finishing = finish.elapsed();
    let all = begin.elapsed();
    let written = prony_model::fleet_to_json(&fleet).len();
    println!(
        "{{\"agents\": {agents}, \"result_bytes\": {}, \"read_and_merge_s\": {:.3}, \"merge_s\": {:.3}, \"finish_s\": {:.3}, \
         \"peak_before_mib\": {before_mib}, \"peak_mib\": {}, \"fleet_json_bytes\": {written}, \"samples\": {}}}",
        bytes / agents.max(1),
        all.as_secs_f64(),
        (adding + finishing).as_secs_f64(),
        finishing.as_secs_f64(),
        peak_rss_mib(),
        fleet.merged.latency.response.count,
    );
    std::fs::remove_dir_all(&folder).expect("it is ours");
}
