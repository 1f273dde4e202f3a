//! Comparisons of servers whose rates are known: never a wrong direction, and intervals that hold the truth.

use prony_stats::{
    Aim, Better, Comparison, Criteria, DEFAULT_MARGIN, Errors, Looks, Verdict, compare_differences,
    pooled_differences,
};

use crate::servers::{Load, Mood, Server, Takes, measured};
use crate::simulation::Noise;

const CRITERIA: Criteria = Criteria { better: Better::Higher, margin: DEFAULT_MARGIN, looks: Looks::Once };
const CLEAN: [Errors; 2] = [Errors { failed: 0, requests: 1_000_000 }; 2];
const PAIRS: usize = 20;
/// A nanosecond on a round of a millisecond.
const CLOCK: f64 = 2e-6;

/// What `prony compare` gives such servers: 100 requests and 20 rounds a block, 200 ms to 10 s.
fn load(servers: [Server; 2], connections: u32) -> Load {
    let round_ms = servers.map(|server| server.round_ms(connections)).into_iter().fold(0.0, f64::max);
    let needed_ms = (100.0 * round_ms / f64::from(connections)).max(20.0 * round_ms);
    Load {
        connections,
        warmup_ms: (2.0 * round_ms).clamp(50.0, 5000.0),
        block_ms: needed_ms.clamp(200.0, 10_000.0),
    }
}

fn compared(servers: [Server; 2], load: Load, step: f64, noise: &mut Noise) -> Comparison {
    let pairs = measured(servers, load, PAIRS, &mut Mood::new(step), noise);
    let differences = pooled_differences(&pairs).expect("positive rates");
    compare_differences(&differences, Aim::Mean, 0.0, CLEAN, CRITERIA).expect("enough pairs")
}

/// How often comparisons of servers whose rates differ by `truth` (ln B/A) were right.
#[derive(Debug, Default)]
struct Found {
    trials: u32,
    covered: u32,
    wrong_direction: u32,
    verdicts: u32,
}

impl Found {
    fn of(servers: [Server; 2], connections: u32, step: f64, trials: u32, truth: f64) -> Self {
        let mut noise = Noise::new(7);
        let load = load(servers, connections);
        let mut found = Self { trials, ..Self::default() };
        for _ in 0..trials {
            let comparison = compared(servers, load, step, &mut noise);
            let (low, high) = comparison.interval.expect("20 pairs have an interval");
            let (low, high) = (low.ln_1p(), high.ln_1p());
            found.covered += u32::from(low - CLOCK <= truth && truth <= high + CLOCK);
            let is_faster = matches!(comparison.verdict, Verdict::Faster | Verdict::FasterSizeUncertain);
            let is_slower = matches!(comparison.verdict, Verdict::Slower | Verdict::SlowerSizeUncertain);
            found.verdicts += u32::from(is_faster || is_slower);
            found.wrong_direction += u32::from((is_faster && truth < -CLOCK) || (is_slower && truth > CLOCK));
        }
        found
    }

    fn share_covered(&self) -> f64 {
        f64::from(self.covered) / f64::from(self.trials)
    }
}

/// At least 95 of 100, less three standard errors.
fn least_covered(trials: u32) -> f64 {
    0.95 - 3.0 * (0.95 * 0.05 / f64::from(trials)).sqrt()
}

fn check(name: &str, servers: [Server; 2], connections: u32) {
    const TRIALS: u32 = 60;
    let rate = |server: Server| 1.0 / server.round_ms(connections);
    let truth = (rate(servers[1]) / rate(servers[0])).ln();
    for step in [0.0, 0.03] {
        let found = Found::of(servers, connections, step, TRIALS, truth);
        assert!(found.share_covered() >= least_covered(TRIALS), "{name}, noise {step}: {found:?}");
        assert_eq!(found.wrong_direction, 0, "{name}, noise {step}: {found:?}");
    }
}

#[test]
fn lockstep() {
    let servers = |a, b| [a, b].map(|ms| Server::Parallel(Takes::Const(ms)));
    check("98 and 100.5 ms", servers(98.0, 100.5), 8);
    check("39.2 and 40.8 ms", servers(39.2, 40.8), 8);
    check("1 and 1.1 ms", servers(1.0, 1.1), 1);
    check("500 and 490 ms", servers(500.0, 490.0), 1);
    check("5 ms", servers(5.0, 5.0), 50);
    check("150 and 155 ms", servers(150.0, 155.0), 400);
    check("batches", [Server::Batching(50.0), Server::Batching(51.0)], 16);
}

#[test]
fn jitter_and_tails() {
    let jittered = |ms| Server::Parallel(Takes::Jittered(ms, 0.2));
    check("jittered", [jittered(20.0), jittered(20.5)], 4);
    let bimodal = Server::Parallel(Takes::Bimodal(1.0, 100.0, 0.1));
    let constant = Server::Parallel(Takes::Const(10.9));
    check("bimodal and constant", [bimodal, constant], 8);
    check("constant and bimodal", [constant, bimodal], 50);
    let exponential = Server::Parallel(Takes::Exponential(10.0));
    check("exponential and constant", [exponential, Server::Parallel(Takes::Const(10.0))], 8);
    let pareto = Takes::Pareto(1.0, 1.5, 300.0);
    check(
        "Pareto and constant",
        [Server::Parallel(pareto), Server::Parallel(Takes::Const(pareto.mean()))],
        8,
    );
}

#[test]
fn serial_servers() {
    let serial = |takes| Server::Serial(takes);
    check("serial", [serial(Takes::Const(1.0)), serial(Takes::Const(1.03))], 8);
    check("serial and exponential", [serial(Takes::Exponential(1.0)), serial(Takes::Const(1.0))], 40);
}

/// Stalls are seen where blocks meet enough of them. Two or three stalls in a comparison are too few to be sure of: on
/// a machine with moods, up to one comparison in ten is wrong.
#[test]
fn stalls() {
    let stalling = Server::Stalling(Takes::Jittered(2.0, 0.2), 200.0, 20.0);
    check("both stall", [stalling; 2], 8);
    let rare = Server::Stalling(Takes::Jittered(2.0, 0.2), 5000.0, 500.0);
    let slower = Server::Parallel(Takes::Jittered(2.1, 0.2));
    let truth = (rare.round_ms(8) / slower.round_ms(8)).ln();
    for step in [0.0, 0.03] {
        let found = Found::of([rare, slower], 8, step, 100, truth);
        assert!(found.wrong_direction <= 12, "rare stalls against 5 % slower, noise {step}: {found:?}");
    }
}

/// A thousand comparisons of a server with itself.
#[test]
fn the_same_server_has_no_verdict() {
    let server = Server::Parallel(Takes::Jittered(5.0, 0.2));
    let found = Found::of([server; 2], 8, 0.03, 1000, 0.0);
    assert!(found.verdicts <= 50 + 7 && found.covered >= 950 - 21, "{found:?}");
}
