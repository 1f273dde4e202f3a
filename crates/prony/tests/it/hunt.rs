//! Runs on servers whose truth is known, drawn from a seed: counts are exact, no request is quicker than the server,
//! quantiles are in order, and where a run is called valid its rate is the server's. `bench/hunt` does the same at
//! length, with intervals.
//!
//! Nothing here depends on a calm machine: whatever delays the client makes a request slower, never quicker.

use std::time::Duration;

use prony_targets::truth::log::{Outcome, Record, read};
use prony_targets::truth::{self, Config, Delay};
use serde_json::Value;

use crate::binary::prony;
use crate::folder::Folder;

/// The arrival is stamped by a clock that may be set meanwhile.
const CLOCK_MS: f64 = 0.06;
/// A histogram keeps three digits.
const ROUNDING: f64 = 1e-3;
/// How far a valid run of a second may be from the long run: both ends cut rounds.
const RATE_SLACK: f64 = 0.25;

const fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

/// A server, the load, and the rate in the long run where it does not depend on the client.
struct World {
    name: &'static str,
    config: Config,
    load: &'static [&'static str],
    rate_per_s: Option<f64>,
}

fn world(name: &'static str, delay: Delay, load: &'static [&'static str], rate_per_s: Option<f64>) -> World {
    World { name, config: Config { delay, seed: 11, ..Config::default() }, load, rate_per_s }
}

fn worlds() -> Vec<World> {
    let const_20 = Delay::Const(ms(20));
    let freeze = Delay::Freeze { base: ms(2), every: ms(100), stall: ms(30) };
    let stalling = Delay::Freeze { base: ms(2), every: ms(3000), stall: ms(2600) };
    let bimodal = Delay::Bimodal { a: ms(3), b: ms(40), p: 0.1 };
    let pareto = Delay::CappedPareto { scale: ms(1), shape: 1.5, cap: ms(100) };
    let exponential = Delay::Exponential { mean: ms(8) };
    let mut failing = world("failing", exponential, &["-c", "4"], None);
    failing.config.error_share = 0.1;
    failing.config.reset_share = 0.05;
    let mut closing = world("closing", bimodal, &["-c", "4"], None);
    closing.config.keep_alive = false;
    vec![
        world("const", const_20, &["-c", "8"], Some(400.0)),
        world("serial", Delay::SingleWorker { service: ms(10) }, &["-c", "5"], Some(100.0)),
        world("batch", Delay::Batch { base: ms(1), every: ms(25) }, &["-c", "10"], Some(400.0)),
        world("freeze", freeze, &["-r", "200"], Some(200.0)),
        world("pareto", pareto, &["-r", "300", "--driver", "epoll"], Some(300.0)),
        world("no keep-alive", bimodal, &["-c", "3", "--no-keepalive"], None),
        // It answers for 0.4 s at most, and what comes then waits for longer than the drain.
        world("stalling", stalling, &["-r", "100"], None),
        failing,
        closing,
    ]
}

/// The result of a run of a second, and what the server did.
fn run(world: &World, folder: &Folder) -> (Value, Vec<Record>) {
    let log = folder.0.join(format!("{}.truth", world.name));
    let server =
        truth::start(Config { log: Some(log.clone()), ..world.config.clone() }).expect("a free port");
    let url = format!("http://{}/", server.local_addr());
    let fixed = ["run", &url, "-d", "1s", "--warmup", "0s", "-q", "-o", "json"];
    let output = prony(&[&fixed[..], world.load].concat());
    server.stop();
    let result = serde_json::from_str(&output.out).unwrap_or_else(|_| panic!("{}: {output:?}", world.name));
    (result, read(&log).expect("a whole log").collect())
}

fn count(result: &Value, name: &str) -> u64 {
    result["requests"][name].as_u64().unwrap_or_else(|| panic!("{name}: {}", result["requests"]))
}

fn check_counts(world: &World, result: &Value, log: &[Record]) {
    let name = world.name;
    let counted = |one| count(result, one);
    let parts = ["done", "failed", "censored", "never_sent"].map(counted);
    assert_eq!(counted("intended"), parts.iter().sum::<u64>(), "{name}: {}", result["requests"]);
    assert_eq!(counted("sent"), log.len() as u64, "{name}: {}", result["requests"]);
    if counted("censored") > 0 {
        // The server may answer a client that has left.
        return;
    }
    let ended = |outcome| log.iter().filter(|record| record.outcome == outcome).count() as u64;
    let failed = |kind: &str| result["requests"]["failed_by_kind"][kind].as_u64().unwrap_or(0);
    assert_eq!(counted("done"), ended(Outcome::Success), "{name}: {}", result["requests"]);
    assert_eq!(failed("status"), ended(Outcome::Error), "{name}: {}", result["requests"]);
    assert_eq!(failed("reset"), ended(Outcome::Reset), "{name}: {}", result["requests"]);
    assert_eq!(result["latency"]["response"]["count"], counted("done"), "{name}");
}

/// Minimum, the quantiles that are there, maximum.
fn line(latency: &Value) -> Vec<(f64, f64)> {
    let at = |key: &str| latency[key].as_f64().expect("a number");
    let quantiles = latency["quantiles_ms"].as_object().expect("quantiles");
    let known = quantiles.iter().filter_map(|(q, value)| Some((q.parse().ok()?, value.as_f64()?)));
    let mut line: Vec<(f64, f64)> = known.collect();
    line.sort_by(|a, b| a.0.total_cmp(&b.0));
    line.insert(0, (0.0, at("min_ms")));
    line.push((1.0, at("max_ms")));
    line
}

fn check_latencies(world: &World, result: &Value, log: &[Record]) {
    let good = log.iter().filter(|record| record.outcome == Outcome::Success);
    let mut residences: Vec<f64> = good.map(|record| record.residence_ns() as f64 / 1e6).collect();
    residences.sort_by(f64::total_cmp);
    if residences.is_empty() || count(result, "done") == 0 {
        // A machine so busy that the server stalled before the first request.
        return;
    }
    // Those without an answer took longer than all that have one.
    let known = count(result, "done") as f64 / (count(result, "done") + count(result, "censored")) as f64;
    for kind in ["response", "service"] {
        let line = line(&result["latency"][kind]);
        let beyond = line.iter().find(|(q, _)| *q < 1.0 && *q > known + ROUNDING);
        assert_eq!(beyond, None, "{}: {kind}, of which {known} is known", world.name);
        assert!(line.is_sorted_by(|a, b| a.1 <= b.1), "{}: {kind} {line:?}", world.name);
        // The server may have answered clients that had left.
        let same = residences.len() as u64 == count(result, "done");
        for (q, value) in line.into_iter().filter(|_| same) {
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an index")]
            let rank = ((q * residences.len() as f64).ceil() as usize).max(1) - 1;
            let truth = residences[rank];
            let least = truth * (1.0 - ROUNDING) - CLOCK_MS;
            assert!(value >= least, "{}: {kind} at {q} is {value} ms, the server took {truth}", world.name);
        }
    }
}

fn check_rate(world: &World, result: &Value) {
    let (Some(truth), Some("valid")) = (world.rate_per_s, result["verdict"].as_str()) else { return };
    let bounds = &result["rate"]["interval_per_s"];
    let (Some(low), Some(high)) = (bounds["low"].as_f64(), bounds["high"].as_f64()) else { return };
    let inside = low * (1.0 - RATE_SLACK) <= truth && truth <= high * (1.0 + RATE_SLACK);
    assert!(inside, "{}: {low} to {high} /s, the truth is {truth}", world.name);
}

#[test]
fn no_figure_contradicts_the_server() {
    let folder = Folder::new("hunt");
    for world in worlds() {
        let (result, log) = run(&world, &folder);
        check_counts(&world, &result, &log);
        check_latencies(&world, &result, &log);
        check_rate(&world, &result);
    }
}

/// Whatever is reported on a server that is a fifth slower, it is not that it is faster; in lockstep as well.
#[test]
fn a_slower_server_is_never_called_faster() {
    let pairs = [
        (Delay::Const(ms(30)), Delay::Const(ms(36))),
        (Delay::Batch { base: ms(1), every: ms(20) }, Delay::Batch { base: ms(1), every: ms(24) }),
        (Delay::SingleWorker { service: ms(5) }, Delay::SingleWorker { service: ms(6) }),
    ];
    for (a, b) in pairs {
        let start = |delay| truth::start(Config { delay, ..Config::default() }).expect("a free port");
        let (quick, slow) = (start(a), start(b));
        let url = |server: &prony_targets::Running| format!("http://{}/", server.local_addr());
        let (quick_url, slow_url) = (url(&quick), url(&slow));
        let fixed = ["compare", &quick_url, &slow_url, "-c", "6", "--pairs", "6", "--warmup", "100ms"];
        let output = prony(&[&fixed[..], &["-q", "-o", "json"]].concat());
        let result: Value = serde_json::from_str(&output.out).unwrap_or_else(|_| panic!("{output:?}"));
        for metric in result["metrics"].as_array().expect("metrics") {
            let word = metric["outcome"]["word"].as_str().expect("a word");
            assert!(!word.starts_with("faster"), "{a:?} and {b:?}: {metric}");
        }
    }
}
