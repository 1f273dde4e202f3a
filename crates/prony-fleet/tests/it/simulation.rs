//! Hundreds of runs in a simulated world, each with other faults; `PRONY_SIMULATION_SEEDS=5000` has so many of each kind.
//! `PRONY_SIMULATION_SEED=N` replays one.
//!
//! `world.rs` asserts in every one of them: no slice is begun twice and no agent has two loads, no load goes on after its
//! deadline, an epoch never decreases, a result is stored once and was made by a load, is deleted only when it is
//! stored, and is never lost.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use prony_fleet::protocol::ResultKind;
use rand::{RngExt as _, SeedableRng as _};
use rand_pcg::Pcg64;

use crate::world::{DEADLINE_MS, EPOCH, Faults, Seen, UNATTENDED_MS, World};

const SEEDS: u64 = 25;
const MS: u64 = 1_000_000;

/// Lives through the world of each seed and checks what was seen.
#[expect(clippy::print_stderr, reason = "anyone who replays a failure needs its seed")]
fn for_all_seeds(world: impl Fn(u64, &mut Pcg64) -> World, check: impl Fn(&Seen)) {
    let replayed = std::env::var("PRONY_SIMULATION_SEED").ok().map(|seed| seed.parse().expect("a number"));
    let count =
        std::env::var("PRONY_SIMULATION_SEEDS").map_or(SEEDS, |count| count.parse().expect("a number"));
    let seeds = replayed.map_or(0..count, |seed| seed..seed + 1);
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
            assert_eq!(agent.result, Some(ResultKind::Finished));
            assert!(seen.stored.contains_key(&place));
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
fn the_server_is_measured_until_no_load_is_left() {
    let world = |seed, rng: &mut Pcg64| {
        let faults = Faults {
            lost: rng.random_range(0..5),
            repeated: 5,
            delay_ms: 10,
            load_ms: 3_000,
            observes_ms: Some(rng.random_range(1_000..60_000)),
            ..Faults::default()
        };
        World::new(seed, rng.random_range(2..5), faults)
    };
    for_all_seeds(world, |seen| {
        let outcome = seen.outcome.as_ref().expect("an outcome");
        assert_eq!(outcome.failure, None);
        assert!(outcome.agents.iter().all(|agent| agent.result == Some(ResultKind::Finished)));
        let observer = outcome.observer.as_ref().expect("the last agent");
        assert_eq!((observer.result, &observer.failure), (Some(ResultKind::Finished), &None));
        assert!(seen.stored.contains_key(&outcome.agents.len()));
        // The start, 3 s of load, what is lost and sent again: far from a minute.
        assert!(seen.now_ns < 40_000 * MS, "it ended with the load: {} ms", seen.now_ns / MS);
    });
}

#[test]
fn without_the_agent_that_measures_the_server_a_run_goes_on() {
    let world = |seed, rng: &mut Pcg64| {
        let crash_ms = rng.random_range(3_000..15_000);
        let back_ms = rng.random_bool(0.5).then(|| rng.random_range(100..20_000));
        let faults = Faults {
            lost: rng.random_range(0..5),
            repeated: 5,
            delay_ms: 10,
            load_ms: 10_000,
            observes_ms: Some(10_000),
            crash: Some((2, crash_ms, back_ms)),
            ..Faults::default()
        };
        World::new(seed, 3, faults)
    };
    for_all_seeds(world, |seen| {
        let outcome = seen.outcome.as_ref().expect("an outcome");
        if let Some(why) = &outcome.failure {
            // Before the load began.
            assert!(why.contains("a2") && !seen.stored.contains_key(&2), "{why}");
        } else {
            let finished = |place: usize| outcome.agents[place].result == Some(ResultKind::Finished);
            assert!(finished(0) && finished(1));
            let observer = outcome.observer.as_ref().expect("the last agent");
            assert_eq!(observer.result.is_some(), seen.stored.contains_key(&2));
            assert!(observer.result.is_some() || observer.failure.is_some(), "{observer:?}");
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
            assert_eq!(agent.result.is_some(), seen.stored.contains_key(&place));
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

#[test]
fn an_agent_that_is_cut_off_stops_by_itself_and_fails_the_run() {
    let world = |seed, rng: &mut Pcg64| {
        let from = rng.random_range(5_500..8_000);
        let cut = Some((1, from, from + rng.random_range(11_000..30_000)));
        World::new(seed, 3, Faults { delay_ms: 10, load_ms: 15_000, cut, ..Faults::default() })
    };
    for_all_seeds(world, |seen| {
        let outcome = seen.outcome.as_ref().expect("an outcome");
        let why = outcome.failure.as_ref().expect("an agent was lost");
        assert!(why.contains("the agent a1 is lost"), "{why}");
        // The other two were stopped, and brought what they had; what the lost one has stays in its spool, or came late.
        assert!(seen.stored.contains_key(&0) && seen.stored.contains_key(&2), "{why}");
        assert_eq!(seen.made, 3);
    });
}

#[test]
fn a_clock_that_jumps_ends_a_load_early_at_worst() {
    let world = |seed, rng: &mut Pcg64| {
        let jump = Some((0, rng.random_range(2_000..9_000), rng.random_range(100..30_000)));
        World::new(seed, 2, Faults { delay_ms: 10, load_ms: 4_000, jump, ..Faults::default() })
    };
    for_all_seeds(world, |seen| {
        let outcome = seen.outcome.as_ref().expect("an outcome");
        match &outcome.failure {
            None => assert_eq!(seen.stored.len(), 2),
            // Before its load an agent refuses: it is late, or has forgotten the run.
            Some(why) => assert!(why.contains("the agent a0"), "{why}"),
        }
    });
}

#[test]
fn a_slow_agent_refuses_or_takes_part() {
    let world = |seed, rng: &mut Pcg64| {
        let slow = Some((0, rng.random_range(50..3_000)));
        World::new(seed, 2, Faults { delay_ms: 5, load_ms: 3_000, slow, ..Faults::default() })
    };
    for_all_seeds(world, |seen| {
        let outcome = seen.outcome.as_ref().expect("an outcome");
        match &outcome.failure {
            None => {
                assert_eq!(seen.stored.len(), 2);
                check_starts(seen, 60);
            }
            Some(why) => assert!(why.contains("the agent a0"), "{why}"),
        }
    });
}

#[test]
fn a_full_spool_takes_no_load_and_says_so() {
    let world = |seed, rng: &mut Pcg64| {
        let held = Some((1, rng.random_range(60..70)));
        World::new(seed, 2, Faults { delay_ms: 5, load_ms: 1_000, held, ..Faults::default() })
    };
    for_all_seeds(world, |seen| {
        let outcome = seen.outcome.as_ref().expect("an outcome");
        match &outcome.failure {
            None => assert_eq!(seen.stored.len(), 2),
            Some(why) => {
                assert!(why.contains("the agent a1 refused: its spool is full"), "{why}");
                assert!(seen.held >= 64 && seen.starts_ns.is_empty(), "no load is begun");
            }
        }
    });
}

#[test]
fn two_controllers_share_no_load() {
    let world = |seed, rng: &mut Pcg64| {
        let rival = Some((rng.random_range(0..9_000), EPOCH + rng.random_range(0..2)));
        let faults = Faults {
            lost: rng.random_range(0..5),
            delay_ms: 10,
            load_ms: rng.random_range(1_000..12_000),
            rival,
            ..Faults::default()
        };
        World::new(seed, 2, faults)
    };
    for_all_seeds(world, |seen| {
        let (first, rival) =
            (seen.outcome.as_ref().expect("an outcome"), seen.rival.as_ref().expect("an outcome"));
        for outcome in [first, rival] {
            let all = !outcome.agents.is_empty() && outcome.agents.iter().all(|agent| agent.result.is_some());
            assert!(all || outcome.failure.is_some(), "less than was asked for is never silent: {outcome:?}");
        }
        assert!(seen.starts_ns.len() <= 4 && seen.made <= seen.starts_ns.len());
    });
}

#[test]
fn a_controller_of_an_earlier_epoch_is_not_followed() {
    let world = |seed, rng: &mut Pcg64| {
        // It begins when agents have followed the other one.
        let rival = Some((rng.random_range(3_500..9_000), rng.random_range(1..EPOCH)));
        World::new(seed, 2, Faults { delay_ms: 10, load_ms: 3_000, rival, ..Faults::default() })
    };
    for_all_seeds(world, |seen| {
        let first = seen.outcome.as_ref().expect("an outcome");
        assert_eq!((&first.failure, seen.stored.len()), (&None, 2));
        let rival = seen.rival.as_ref().expect("an outcome");
        assert!(rival.failure.is_some() && rival.agents.iter().all(|agent| agent.result.is_none()));
        assert_eq!(seen.starts_ns.len(), 2, "nothing of its load was begun");
    });
}

#[test]
fn replayed_and_damaged_messages_have_no_effect() {
    let world = |seed, rng: &mut Pcg64| {
        let faults = Faults {
            replayed: rng.random_range(5..60),
            damaged: rng.random_range(0..4),
            repeated: 10,
            delay_ms: rng.random_range(1..40),
            load_ms: rng.random_range(500..5_000),
            ..Faults::default()
        };
        World::new(seed, 3, faults)
    };
    for_all_seeds(world, |seen| {
        check_starts(seen, 40);
        let outcome = seen.outcome.as_ref().expect("an outcome");
        match &outcome.failure {
            None => assert_eq!(seen.stored.len(), 3),
            Some(why) => assert!(why.contains("agent a"), "{why}"),
        }
    });
}

#[test]
fn everything_at_once() {
    let world = |seed, rng: &mut Pcg64| {
        let mut maybe = |fault: fn(&mut Pcg64) -> (usize, u64, u64)| rng.random_bool(0.4).then(|| fault(rng));
        let cut = maybe(|rng| {
            let from = rng.random_range(0..12_000);
            (rng.random_range(0..4), from, from + rng.random_range(0..15_000))
        });
        let jump =
            maybe(|rng| (rng.random_range(0..4), rng.random_range(0..12_000), rng.random_range(0..20_000)));
        let slow = maybe(|rng| (rng.random_range(0..4), rng.random_range(50..1_000), 0));
        let rival = maybe(|rng| (0, rng.random_range(0..12_000), EPOCH + rng.random_range(0..3) - 1));
        let crash =
            maybe(|rng| (rng.random_range(0..4), rng.random_range(0..12_000), rng.random_range(0..9_000)));
        let silence = maybe(|rng| (0, rng.random_range(0..12_000), rng.random_range(0..9_000)));
        let orphaned = maybe(|rng| (0, rng.random_range(0..12_000), 0));
        let faults = Faults {
            observes_ms: rng.random_bool(0.3).then(|| rng.random_range(500..25_000)),
            lost: rng.random_range(0..10),
            repeated: rng.random_range(0..10),
            replayed: rng.random_range(0..10),
            damaged: rng.random_range(0..2),
            delay_ms: rng.random_range(1..60),
            load_ms: rng.random_range(500..25_000),
            cut,
            jump,
            slow: slow.map(|(place, every_ms, _)| (place, every_ms)),
            rival: rival.map(|(_, at_ms, epoch)| (at_ms, epoch)),
            crash: crash.map(|(place, at_ms, back_ms)| (place, at_ms, (back_ms > 2_000).then_some(back_ms))),
            silence: silence.map(|(_, from, more)| (from, from + more)),
            orphaned: orphaned.map(|(_, at_ms, _)| at_ms),
            held: None,
        };
        World::new(seed, 4, faults)
    };
    // What must hold in every world is asserted there.
    for_all_seeds(world, |seen| assert!(seen.made <= seen.starts_ns.len()));
}
