//! Hundreds of runs in a simulated world, each with other faults. `PRONY_SIMULATION_SEED=N` replays one.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use rand::{RngExt as _, SeedableRng as _};
use rand_pcg::Pcg64;

use crate::world::{DEADLINE_MS, Faults, Seen, UNATTENDED_MS, World};

const SEEDS: u64 = 50;
const MS: u64 = 1_000_000;

/// Lives through the world of each seed and checks what was seen.
#[expect(clippy::print_stderr, reason = "anyone who replays a failure needs its seed")]
fn for_all_seeds(world: impl Fn(u64, &mut Pcg64) -> World, check: impl Fn(&Seen)) {
    let replayed = std::env::var("PRONY_SIMULATION_SEED").ok().map(|seed| seed.parse().expect("a number"));
    let seeds = replayed.map_or(0..SEEDS, |seed| seed..seed + 1);
    for seed in seeds {
        let mut rng = Pcg64::seed_from_u64(seed ^ 0xfeed);
        let lived = catch_unwind(AssertUnwindSafe(|| check(&world(seed, &mut rng).live())));
        if let Err(panic) = lived {
            eprintln!("this was PRONY_SIMULATION_SEED={seed}");
            resume_unwind(panic);
        }
    }
}

/// The longest spread that clocks with ways of up to `delay_ms` can have: each is known to half a round trip.
fn spread_ns(delay_ms: u64) -> u64 {
    2 * (delay_ms + 1) * MS
}

fn check_starts(seen: &Seen, delay_ms: u64) {
    let (first, last) = (seen.starts_ns.iter().min(), seen.starts_ns.iter().max());
    if let (Some(first), Some(last)) = (first, last) {
        assert!(last - first <= spread_ns(delay_ms), "starts are {} ns apart", last - first);
    }
}

#[test]
fn without_faults_every_run_succeeds() {
    let world = |seed, rng: &mut Pcg64| {
        let agents = rng.random_range(1..6);
        World::new(
            seed,
            agents,
            Faults { delay_ms: rng.random_range(0..40), load_ms: 3_000, ..Faults::default() },
        )
    };
    for_all_seeds(world, |seen| {
        let outcome = seen.outcome.as_ref().expect("an outcome");
        assert_eq!((&outcome.failure, outcome.interrupted), (&None, false));
        assert_eq!(seen.starts_ns.len(), outcome.agents.len());
        check_starts(seen, 40);
        for (place, agent) in outcome.agents.iter().enumerate() {
            let (_, bytes) = agent.result.as_ref().expect("a result");
            assert_eq!(Some(bytes), seen.stored.get(&place));
        }
    });
}

#[test]
fn a_bad_network_costs_time_and_nothing_else() {
    let world = |seed, rng: &mut Pcg64| {
        let faults = Faults {
            lost: rng.random_range(0..20),
            repeated: rng.random_range(0..30),
            delay_ms: rng.random_range(1..40),
            load_ms: rng.random_range(500..5_000),
            ..Faults::default()
        };
        World::new(seed, rng.random_range(1..5), faults)
    };
    for_all_seeds(world, |seen| {
        check_starts(seen, 40);
        let outcome = seen.outcome.as_ref().expect("an outcome");
        // With a fifth of all messages lost, an agent may be given up; then it says so, and never brings less in silence.
        match &outcome.failure {
            None => {
                assert!(outcome.agents.iter().all(|agent| agent.result.is_some() && agent.failure.is_none()));
            }
            Some(why) => assert!(outcome.agents.is_empty() || why.contains("agent a"), "{why}"),
        }
    });
}

#[test]
fn a_crashed_agent_fails_the_run_with_its_name() {
    let world = |seed, rng: &mut Pcg64| {
        let crash_ms = rng.random_range(3_000..12_000);
        let back_ms = rng.random_bool(0.5).then(|| rng.random_range(100..20_000));
        let faults = Faults {
            lost: rng.random_range(0..5),
            repeated: 5,
            delay_ms: 10,
            load_ms: 10_000,
            crash: Some((0, crash_ms, back_ms)),
            ..Faults::default()
        };
        World::new(seed, 3, faults)
    };
    for_all_seeds(world, |seen| {
        let outcome = seen.outcome.as_ref().expect("an outcome");
        let why = outcome.failure.as_ref().expect("the agent is gone");
        assert!(why.contains("a0"), "{why}");
        assert!(!seen.stored.contains_key(&0), "a restarted agent resumes no load");
        // Anyone who was loading has brought what it had.
        for (place, agent) in outcome.agents.iter().enumerate().skip(1) {
            assert_eq!(agent.result.as_ref().map(|(_, bytes)| bytes), seen.stored.get(&place));
        }
    });
}

#[test]
fn agents_without_a_controller_stop_by_themselves() {
    let world = |seed, rng: &mut Pcg64| {
        let faults = Faults {
            delay_ms: 10,
            load_ms: 1_000_000,
            orphaned: Some(rng.random_range(5_500..9_000)),
            ..Faults::default()
        };
        World::new(seed, 3, faults)
    };
    for_all_seeds(world, |seen| {
        let last = 9_000 + UNATTENDED_MS + 1_000;
        assert!(seen.now_ns <= last * MS, "loads ended after {} ms", seen.now_ns / MS);
    });
}

#[test]
fn a_load_that_does_not_end_is_ended() {
    let world = |seed, _: &mut Pcg64| {
        World::new(seed, 2, Faults { delay_ms: 5, load_ms: 1_000_000, ..Faults::default() })
    };
    for_all_seeds(world, |seen| {
        let outcome = seen.outcome.as_ref().expect("an outcome");
        assert_eq!(outcome.failure, None, "what was measured until then is there");
        assert!(seen.now_ns <= (DEADLINE_MS + 15_000) * MS);
    });
}

#[test]
fn a_silence_loses_no_result() {
    let world = |seed, rng: &mut Pcg64| {
        let from = rng.random_range(6_000..9_000);
        let faults = Faults {
            delay_ms: 5,
            load_ms: 4_000,
            silence: Some((from, from + rng.random_range(500..7_000))),
            ..Faults::default()
        };
        World::new(seed, 3, faults)
    };
    for_all_seeds(world, |seen| {
        let outcome = seen.outcome.as_ref().expect("an outcome");
        assert_eq!(outcome.failure, None, "a silence shorter than 10 s is no loss");
        assert_eq!(seen.stored.len(), 3);
    });
}
