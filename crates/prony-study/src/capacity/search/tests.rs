//! Searches on simulated servers whose capacity is known.

#![expect(clippy::float_cmp, reason = "loads have four decimal digits: equal ones are equal numbers")]

use prony_model::CapacityOutcome;
use rand::{RngExt as _, SeedableRng as _};
use rand_pcg::Pcg64;

use super::super::outcome::outcome;
use super::*;

/// A server of known capacity.
#[derive(Clone, Copy)]
struct Server {
    capacity: f64,
    /// Standard deviation of ln of the load that a trial carries.
    scatter: f64,
    /// Share of the trials that are void.
    void: f64,
    /// Above this load every trial is void.
    client_limit: f64,
    /// After a load that was not carried the next trial carries this share of the capacity.
    after_overload: f64,
    /// At this load it dies: every later trial fails.
    dies_at: f64,
    /// A long trial carries this share of the capacity.
    sustained: f64,
    /// Share of all trials that fail whatever the load is.
    hiccups: f64,
    /// Share of the trials in which client or machine are disturbed.
    disturbed: f64,
    /// What is left of the capacity in such a trial: this share at least, drawn for each.
    left_share: f64,
}

/// Trials of this length carry what the server carries for long.
const LONG: Duration = Duration::from_secs(40);

const STEADY: Server = Server {
    capacity: 1000.0,
    scatter: 0.0,
    void: 0.0,
    client_limit: f64::INFINITY,
    after_overload: 1.0,
    dies_at: f64::INFINITY,
    sustained: 1.0,
    hiccups: 0.0,
    disturbed: 0.0,
    left_share: 1.0,
};

fn options(start_per_s: f64) -> SearchOptions {
    SearchOptions {
        start_per_s,
        from_per_s: None,
        to_per_s: None,
        trial: Duration::from_secs(10),
        requests_needed: 0.0,
        time: Duration::from_mins(10),
    }
}

struct Searched {
    found: Found,
    outcome: CapacityOutcome,
    trials: Vec<Tried>,
    elapsed: Duration,
}

fn search(server: Server, options: SearchOptions, seed: u64) -> Searched {
    let mut random = Pcg64::seed_from_u64(seed);
    let mut normal = move || (0..12).map(|_| random.random::<f64>()).sum::<f64>() - 6.0;
    let mut chance = Pcg64::seed_from_u64(seed ^ 0x55);
    let mut search = Search::new(options);
    let (mut elapsed, mut trials) = (Duration::ZERO, Vec::new());
    let (mut was_overloaded, mut is_dead) = (false, false);
    loop {
        let plan = match search.next(elapsed) {
            Next::Try(plan) => plan,
            Next::End(found) => {
                let outcome = outcome(&found, &trials, |limit| limit.name().to_owned());
                return Searched { found, outcome, trials, elapsed };
            }
        };
        assert!(trials.len() < TRIALS_MAX, "{trials:?}");
        let is_long = plan.length >= LONG;
        let share = [
            if is_long { server.sustained } else { 1.0 },
            if was_overloaded { server.after_overload } else { 1.0 },
        ];
        let is_disturbed = chance.random::<f64>() < server.disturbed;
        let least = if is_disturbed { server.left_share } else { 1.0 };
        let left = least + (1.0 - least) * chance.random::<f64>();
        let carried = server.capacity * share[0] * share[1] * left * (server.scatter * normal()).exp();
        is_dead |= plan.rate_per_s >= server.dies_at;
        let has_failed = is_dead || plan.rate_per_s > carried || chance.random::<f64>() < server.hiccups;
        let (outcome, void_by) = if plan.rate_per_s > server.client_limit {
            (TrialOutcome::Void, Some(CapacityLimit::Client))
        } else if chance.random::<f64>() < server.void || is_disturbed && has_failed {
            (TrialOutcome::Void, Some(CapacityLimit::Machine))
        } else if has_failed {
            (TrialOutcome::Failed, None)
        } else {
            (TrialOutcome::Passed, None)
        };
        was_overloaded = plan.rate_per_s > server.capacity;
        let tried = Tried { plan, outcome, void_by, is_disturbed };
        trials.push(tried);
        search.record(tried);
        elapsed += plan.length.mul_f64(1.0 + WARMUP_SHARE) + OVERHEAD;
    }
}

fn bounds(searched: &Searched) -> Option<(f64, f64)> {
    match searched.outcome {
        CapacityOutcome::Between { lower_per_s, upper_per_s, .. } => Some((lower_per_s, upper_per_s)),
        _ => None,
    }
}

/// 200 servers: the estimate lies within 5 % of the truth in nearly all, and the bounds cover it in 90 %.
fn check_many(what: &str, of: impl Fn(u64, f64) -> Server) {
    let (mut near, mut covered, mut widths) = (0, 0, Vec::new());
    for seed in 0..200_u64 {
        let mut random = Pcg64::seed_from_u64(seed * 7 + 1);
        let capacity = 10_f64.powf(1.0 + 4.0 * random.random::<f64>());
        let server = of(seed, capacity);
        let searched = search(server, options(capacity * 10_f64.powf(random.random::<f64>() - 0.5)), seed);
        assert!(searched.elapsed <= Duration::from_mins(10), "{what} {seed}: {:?}", searched.elapsed);
        let CapacityOutcome::Between {
            estimate_per_s: estimate, lower_per_s: low, upper_per_s: high, ..
        } = searched.outcome
        else {
            continue;
        };
        near += u32::from((estimate / capacity).ln().abs() <= 0.05);
        covered += u32::from(low <= capacity && capacity <= high);
        widths.push(high / low - 1.0);
    }
    widths.sort_by(f64::total_cmp);
    let median = widths[widths.len() / 2];
    println!("{what}: within 5 % {near}, covered {covered} of 200, median width {median:.3}");
    assert!(covered >= 180, "{what}: covered {covered}");
    assert!(near >= 190, "{what}: near {near}");
}

#[test]
fn a_server_without_noise() {
    check_many("no noise", |_, capacity| Server { capacity, ..STEADY });
}

#[test]
fn servers_that_differ_by_one_percent_from_trial_to_trial() {
    check_many("1 %", |_, capacity| Server { capacity, scatter: 0.01, ..STEADY });
}

#[test]
fn servers_that_differ_by_four_percent() {
    check_many("4 %", |_, capacity| Server { capacity, scatter: 0.04, ..STEADY });
}

#[test]
fn a_machine_that_makes_a_fifth_of_the_trials_void() {
    check_many("void", |_, capacity| Server { capacity, scatter: 0.01, void: 0.2, ..STEADY });
}

#[test]
fn servers_that_have_a_bad_moment_now_and_then() {
    check_many("hiccups", |_, capacity| Server { capacity, scatter: 0.01, hiccups: 0.03, ..STEADY });
}

/// Of many such trials most say nothing, and the width shows it.
#[test]
fn a_machine_that_disturbs_a_third_of_the_trials() {
    for left_share in [1.0, 0.5] {
        check_many(&format!("disturbed, {left_share}"), |_, capacity| Server {
            capacity,
            scatter: 0.01,
            disturbed: 0.33,
            left_share,
            ..STEADY
        });
    }
}

/// Every trial is disturbed: nothing speaks against the server, and what it carried nevertheless is a lower bound.
#[test]
fn a_machine_that_disturbs_every_trial_leaves_a_lower_bound() {
    for (scatter, left_share) in [(0.0, 1.0), (0.01, 0.95), (0.04, 1.0), (0.01, 0.8)] {
        let (mut held, mut shares) = (0, Vec::new());
        for seed in 0..200 {
            let server = Server { scatter, disturbed: 1.0, left_share, ..STEADY };
            let searched = search(server, options(300.0), seed);
            let CapacityOutcome::AtLeast { lower_per_s, limit, .. } = searched.outcome else {
                panic!("{:?}", searched.outcome)
            };
            assert!(matches!(limit, CapacityLimit::Machine | CapacityLimit::Time), "{limit:?}");
            held += u32::from(lower_per_s <= 1000.0 * (1.0 + scatter));
            shares.push(lower_per_s / 1000.0);
        }
        shares.sort_by(f64::total_cmp);
        println!("{scatter} {left_share}: held {held} of 200, median {:.3}", shares[100]);
        assert!(held >= 190, "{scatter} {left_share}: {held} of 200");
    }
}

#[test]
fn a_server_that_needs_no_noise_is_bracketed_and_confirmed() {
    let searched = search(STEADY, options(300.0), 1);
    let found = &searched.found;
    let (carried, exceeded) = (found.carried.expect("carried"), found.exceeded.expect("exceeded"));
    assert!(carried.rate_per_s <= 1000.0 && exceeded.rate_per_s > 1000.0);
    assert!(exceeded.rate_per_s / carried.rate_per_s - 1.0 <= PRECISION, "{found:?}");
    assert!(carried.is_final && exceeded.is_final && found.limit.is_none(), "{found:?}");
    let (rate, length) = found.confirmed.expect("confirmed");
    assert_eq!(rate, rounded(0.95 * carried.rate_per_s));
    assert_eq!(length, Duration::from_mins(1));
    assert!(searched.elapsed < Duration::from_mins(8), "{:?}", searched.elapsed);
}

#[test]
fn the_client_is_the_limit() {
    let searched = search(Server { client_limit: 700.0, ..STEADY }, options(100.0), 1);
    let CapacityOutcome::AtLeast { lower_per_s, limit, is_decided, .. } = searched.outcome else {
        panic!("{:?}", searched.outcome)
    };
    assert_eq!((limit, is_decided), (CapacityLimit::Client, true));
    assert!(lower_per_s <= 700.0 && lower_per_s > 600.0, "{lower_per_s}");
    assert!(searched.found.confirmed.is_some());
}

#[test]
fn nothing_but_void_trials_says_nothing() {
    let searched = search(Server { void: 1.0, ..STEADY }, options(100.0), 1);
    assert!(matches!(searched.outcome, CapacityOutcome::Unknown { .. }), "{:?}", searched.outcome);
    assert!(searched.elapsed <= Duration::from_mins(10));
}

#[test]
fn limits_that_were_asked_for_are_kept() {
    let within = |from_per_s, to_per_s| {
        let searched = search(STEADY, SearchOptions { from_per_s, to_per_s, ..options(500.0) }, 1);
        let is_within = |rate: f64| {
            from_per_s.is_none_or(|from| rate >= from * CONFIRM_SHARE - 1.0)
                && to_per_s.is_none_or(|to| rate <= to)
        };
        assert!(
            searched.trials.iter().all(|trial| is_within(trial.plan.rate_per_s)),
            "{:?}",
            searched.trials
        );
        searched.outcome
    };
    let outcome = within(None, Some(600.0));
    assert!(
        matches!(outcome, CapacityOutcome::AtLeast { lower_per_s, limit: CapacityLimit::Asked, is_decided: true, .. }
            if lower_per_s == 600.0),
        "{outcome:?}"
    );
    let outcome = within(Some(2000.0), None);
    assert!(
        matches!(outcome, CapacityOutcome::Below { upper_per_s } if upper_per_s == 2000.0),
        "{outcome:?}"
    );
    let outcome = within(Some(900.0), Some(1100.0));
    assert!(matches!(outcome, CapacityOutcome::Between { .. }), "{outcome:?}");
}

#[test]
fn a_server_that_dies_ends_below_where_it_died() {
    let searched = search(Server { dies_at: 900.0, ..STEADY }, options(100.0), 1);
    // Everything fails after its death: even what was carried before is taken back, or stays as it was.
    match searched.outcome {
        CapacityOutcome::Between { carried_per_s, exceeded_per_s, .. } => {
            assert!(carried_per_s < 900.0 && exceeded_per_s > carried_per_s);
        }
        CapacityOutcome::Below { .. } => {}
        other => panic!("{other:?}"),
    }
    assert!(searched.found.confirmed.is_none());
}

#[test]
fn a_search_that_was_ended_keeps_what_it_knows() {
    let mut search = Search::new(options(100.0));
    let Next::Try(plan) = search.next(Duration::ZERO) else { panic!("the first trial") };
    search.record(Tried { plan, outcome: TrialOutcome::Passed, void_by: None, is_disturbed: false });
    search.end();
    let Next::End(found) = search.next(Duration::from_secs(12)) else { panic!("it was ended") };
    assert_eq!(found.carried, Some(Decided { rate_per_s: 100.0, is_final: false }));
    assert_eq!(found.exceeded, None);
}

/// A server that leaks carries 10 s and not a minute: the long trial takes the bound back.
#[test]
fn what_does_not_hold_for_long_is_not_the_capacity() {
    let mut covered = 0;
    for seed in 0..50 {
        let server = Server { sustained: 0.8, scatter: 0.01, ..STEADY };
        let searched =
            search(server, SearchOptions { time: Duration::from_mins(20), ..options(500.0) }, seed);
        let carried = searched.found.carried.map_or(0.0, |carried| carried.rate_per_s);
        covered += u32::from(carried <= 860.0 && searched.found.confirmed.is_some());
    }
    assert!(covered >= 45, "{covered} of 50");
}

/// A token bucket, a turbo clock, a cache that fills: short trials pass at loads that no long one does. Whatever is found of it, the
/// bounds hold what it carries for long.
#[test]
fn a_server_that_carries_bursts_is_known_by_what_it_carries_for_long() {
    for (sustained, minutes) in [(0.5, 10), (0.5, 6), (0.3, 20), (0.8, 10)] {
        let (mut held, mut both) = (0, 0);
        for seed in 0..50 {
            let server = Server { sustained, scatter: 0.01, ..STEADY };
            let time = Duration::from_mins(minutes);
            let searched = search(server, SearchOptions { time, ..options(500.0) }, seed);
            let truth = 1000.0 * sustained;
            held += u32::from(match searched.outcome {
                CapacityOutcome::Between { lower_per_s, upper_per_s, .. } => {
                    both += 1;
                    lower_per_s <= truth && truth <= upper_per_s
                }
                CapacityOutcome::Below { upper_per_s } => truth <= upper_per_s,
                CapacityOutcome::AtLeast { lower_per_s, .. } => lower_per_s <= truth,
                _ => false,
            });
        }
        println!("{sustained}, {minutes} min: held {held} of 50, both bounds {both}");
        assert!(held >= 45, "{sustained}, {minutes} min: {held} of 50");
    }
}

/// The trial after an overload carries less: bounds may be low, but they are never above the truth.
#[test]
fn hysteresis_never_makes_the_server_better() {
    for seed in 0..50 {
        let server = Server { after_overload: 0.9, scatter: 0.005, ..STEADY };
        let searched = search(server, options(500.0), seed);
        let Some((low, _)) = bounds(&searched) else { continue };
        assert!(low <= 1010.0, "{:?}", searched.outcome);
        assert!(low >= 850.0, "{:?}", searched.outcome);
    }
}

#[test]
fn a_short_time_still_says_something() {
    for minutes in [1, 2, 4] {
        let searched = search(
            STEADY,
            SearchOptions {
                trial: Duration::from_secs(minutes),
                time: Duration::from_mins(minutes),
                ..options(400.0)
            },
            1,
        );
        assert!(searched.elapsed <= Duration::from_mins(minutes));
        let (low, high) = bounds(&searched).expect("both sides");
        assert!(low <= 1000.0 && high >= 1000.0, "{minutes} min: {low} {high}");
    }
}

#[test]
fn trials_are_long_enough_for_their_quantiles() {
    let searched = search(
        Server { capacity: 20.0, ..STEADY },
        SearchOptions { requests_needed: 200.0, time: Duration::from_mins(30), ..options(10.0) },
        1,
    );
    for trial in &searched.trials {
        assert!(trial.plan.length.as_secs_f64() * trial.plan.rate_per_s >= 200.0 - 1e-6);
    }
    assert!(bounds(&searched).is_some());
}

#[test]
fn loads_are_round() {
    let check = |rate: f64, expected: f64| assert_eq!(rounded(rate), expected, "{rate}");
    check(1978.4, 1978.0);
    check(12_345.6, 12_350.0);
    check(0.123_456, 0.1235);
    check(24.3149, 24.31);
    check(999.96, 1000.0);
    check(0.0, 0.0);
    // What is round stays as it is, so that a load is one load.
    for rate in [0.1235, 24.31, 1978.0, 12_350.0, 7.0, 1e9] {
        assert_eq!(rounded(rounded(rate)), rounded(rate));
    }
}

/// Classification by RFC 9971: a majority of five trials, as soon as it can't change any more.
#[test]
fn a_load_is_decided_by_a_majority_of_five() {
    let check = |passed: u32, failed: u32, expected: Standing| {
        let load = TriedLoad {
            rate_per_s: 1.0,
            passed_s: 10.0 * f64::from(passed),
            failed_s: 10.0 * f64::from(failed),
            trial_s: 10.0,
            ..TriedLoad::default()
        };
        assert_eq!(load.standing(), expected, "{passed} passed, {failed} failed");
    };
    check(0, 0, Standing::Open);
    check(1, 0, Standing::Carried(false));
    check(0, 1, Standing::Exceeded(false));
    check(1, 1, Standing::Exceeded(false));
    check(2, 1, Standing::Carried(false));
    check(3, 0, Standing::Carried(true));
    check(3, 2, Standing::Carried(true));
    check(0, 3, Standing::Exceeded(true));
    check(2, 3, Standing::Exceeded(true));
    check(2, 2, Standing::Exceeded(false));
}

/// Passed and failed on a quiet machine, passed and missed on a disturbed one: what either majority carries is carried, and
/// misses alone exceed nothing.
#[test]
fn what_a_disturbed_trial_missed_exceeds_nothing() {
    let check = |quiet: [u32; 2], disturbed: [u32; 2], expected: Standing| {
        let time = |trials: u32| 10.0 * f64::from(trials);
        let load = TriedLoad {
            passed_s: time(quiet[0] + disturbed[0]),
            passed_disturbed_s: time(disturbed[0]),
            failed_s: time(quiet[1]),
            missed_s: time(disturbed[1]),
            trial_s: 10.0,
            void_by: (disturbed[1] > 0).then_some(CapacityLimit::Machine),
            ..TriedLoad::default()
        };
        assert_eq!(load.standing(), expected, "{quiet:?} {disturbed:?}");
    };
    check([0, 0], [1, 0], Standing::Carried(false));
    check([0, 0], [3, 2], Standing::Carried(true));
    check([0, 0], [1, 1], Standing::Open);
    check([0, 0], [0, 2], Standing::Open);
    check([0, 0], [2, 2], Standing::Open);
    check([0, 0], [2, 3], Standing::Blocked(CapacityLimit::Machine));
    // Those of the quiet machine decide, whatever was missed on the disturbed one.
    check([3, 1], [0, 4], Standing::Carried(true));
    check([1, 0], [0, 4], Standing::Carried(false));
    check([0, 1], [0, 4], Standing::Exceeded(false));
    check([0, 3], [0, 1], Standing::Exceeded(true));
    // Unless it failed there, and passed on the disturbed one more often than it did not.
    check([0, 1], [2, 0], Standing::Carried(false));
    check([0, 1], [3, 1], Standing::Carried(true));
    check([0, 1], [1, 1], Standing::Exceeded(false));
}
