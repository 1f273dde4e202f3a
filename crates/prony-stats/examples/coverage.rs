//! How often the statistics keep their promises, in simulated worlds where the truth is known:
//!
//! ```text
//! cargo run -p prony-stats --release --example coverage
//! ```
//!
//! Prints the Markdown tables of docs/measuring.md; seeded, so always the same.

#![allow(
    clippy::print_stdout,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    unreachable_pub,
    reason = "an example that prints; its simulation rounds durations"
)]

#[path = "../tests/it/simulation.rs"]
mod simulation;

use prony_stats::Quantile;

const TRIALS: u32 = 2000;

fn main() {
    println!(
        "| response times | quantile | sectioning covers | printed | indicative | order statistics cover |"
    );
    println!("|---|---|---|---|---|---|");
    for (name, phi) in
        [("independent", 0.0), ("AR(1) φ = .9", 0.9), ("AR(1) φ = .99", 0.99), ("AR(1) φ = .995", 0.995)]
    {
        for (q, z) in [
            (Quantile::P50, 0.0),
            (Quantile::P90, 1.281_552),
            (Quantile::P99, 2.326_348),
            (Quantile::P999, 3.090_232),
        ] {
            let coverage = simulation::interval_coverage(TRIALS, 1, phi, q, z);
            println!(
                "| {name} | {q} | {} | {} | {} | {} |",
                if coverage.known + coverage.indicative > 0 {
                    percent(coverage.covered())
                } else {
                    "–".to_owned()
                },
                percent(simulation::share(coverage.known, TRIALS)),
                percent(simulation::share(coverage.indicative, TRIALS)),
                percent(coverage.order_statistics()),
            );
        }
    }
    compared();
    settled();
}

fn compared() {
    println!("\n| comparison | slower | faster | no difference |");
    println!("|---|---|---|---|");
    for n in [6, 10, 20, 40] {
        let effect = 2.9 * simulation::PAIR_SPREAD / f64::from(n).sqrt();
        for (name, effect) in [("A/A", 0.0), ("B slower by the smallest detectable effect", effect)] {
            row(&format!("{n} pairs, {name}"), simulation::verdicts(TRIALS * 5, 2, n as usize, effect));
        }
    }
    let effect = 2.9 * simulation::PAIR_SPREAD / 40.0_f64.sqrt();
    row("looks at 10, 16, 24, 40, A/A", simulation::sequential_verdicts(TRIALS * 5, 3, 0.0));
    row(
        "looks at 10, 16, 24, 40, B slower by the same at 40",
        simulation::sequential_verdicts(TRIALS * 5, 3, effect),
    );
    println!("\npeeking after every pair: {} false verdicts", percent(simulation::peeking(TRIALS, 4)));
    println!(
        "label swap, p99 of 16 pairs, A/A: {} below .05",
        percent(simulation::swap_alarms(TRIALS / 4, 5, 0.0))
    );
    println!(
        "label swap, B slower by 15 %: {} below .05",
        percent(simulation::swap_alarms(TRIALS / 4, 5, 0.14))
    );
}

fn row(name: &str, verdicts: simulation::Verdicts) {
    let of = |hits| percent(simulation::share(hits, verdicts.trials));
    println!(
        "| {name} | {} | {} | {} |",
        of(verdicts.slower),
        of(verdicts.faster),
        of(verdicts.no_difference)
    );
}

fn settled() {
    println!("\n| 60 log medians, noise 3 % | warm-up cut | mean cut in slices | no steady state |");
    println!("|---|---|---|---|");
    for (name, phi, start) in [
        ("stationary, independent", 0.0, 0.0),
        ("stationary, AR(1) φ = .5", 0.5, 0.0),
        ("stationary, AR(1) φ = .9", 0.9, 0.0),
        ("start 20 % higher, decays in 4 slices", 0.0, 0.2),
        ("start 65 % higher, decays in 4 slices", 0.0, 0.5),
    ] {
        let (found, slices) = simulation::cuts(TRIALS, 6, phi, start);
        let alarms =
            if start > 0.0 { "–".to_owned() } else { percent(simulation::unsteady(TRIALS, 7, phi, 0.0)) };
        println!("| {name} | {} | {slices:.1} | {alarms} |", percent(found));
    }
    println!(
        "| drifts by 10 %, independent | – | – | {} |",
        percent(simulation::unsteady(TRIALS, 7, 0.0, 0.1))
    );
}

fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}
