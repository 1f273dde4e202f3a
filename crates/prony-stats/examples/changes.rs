//! How often changes are found where there are none, and how soon where there is one:
//!
//! ```text
//! cargo run -p prony-stats --example changes
//! ```
//!
//! Prints the Markdown tables of docs/history.md; seeded, so always the same. Takes some minutes.

#![allow(
    clippy::print_stdout,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    unreachable_pub,
    reason = "an example that prints; its simulation rounds durations"
)]

#[path = "../tests/it/histories.rs"]
mod histories;

use histories::{Alarms, Noise, World, percent};
use prony_stats::Certainty;

const SERIES: u32 = 1000;

/// Of what takes its time: series with changes in them, or looked at a hundred times.
const FEWER: u32 = 100;

/// How many steps of each kind.
const STEPS: u32 = 40;

fn main() {
    println!("| 100 points without a change | series | suspected | found | confirmed |");
    println!("|---|---|---|---|---|");
    for (name, noise, count) in [
        ("normal noise of 5 %", Noise::Normal, SERIES),
        ("heavy tails (Student's t, 3 degrees of freedom)", Noise::Heavy, SERIES),
        ("two modes, 20 % apart, the slower one time in five", Noise::Modes, SERIES),
        ("AR(1), φ = .3", Noise::Autocorrelated(0.3), SERIES),
        ("AR(1), φ = .6", Noise::Autocorrelated(0.6), FEWER),
        ("AR(1), φ = .9", Noise::Autocorrelated(0.9), FEWER),
    ] {
        alarms(name, count, histories::false_changes(count, 1, World { noise, spread: 0.05 }, 100));
    }
    let world = World { noise: Noise::Normal, spread: 0.05 };
    let counts = histories::false_changes_growing(FEWER, 2, world, 100);
    alarms("normal noise, looked at after every point", FEWER, counts);
    println!("\n| 50 points, then a step | found | within 2 points | points until suspected | until found |");
    println!("|---|---|---|---|---|");
    for (step, spread) in [(0.05, 0.02), (0.1, 0.05), (0.1, 0.02), (0.2, 0.05), (0.5, 0.05)] {
        let world = World { noise: Noise::Normal, spread };
        let delays = histories::delays(STEPS, 3, world, step);
        let after =
            |certainty| delays.median_delay(certainty).map_or("–".to_owned(), |points| points.to_string());
        println!(
            "| {:.0} %, noise of {:.0} % | {} | {} | {} | {} |",
            100.0 * step,
            100.0 * spread,
            percent(delays.found()),
            percent(delays.near()),
            after(Certainty::Suspected),
            after(Certainty::Found),
        );
    }
}

fn alarms(name: &str, count: u32, counts: Alarms) {
    let share = |hits: u32| percent(f64::from(hits) / f64::from(count));
    println!(
        "| {name} | {count} | {} | {} | {} |",
        share(counts.suspected),
        share(counts.found),
        share(counts.confirmed)
    );
}
