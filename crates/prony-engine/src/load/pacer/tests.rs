use proptest::prelude::*;

use super::*;

fn schedule(rate: f64, arrivals: Arrivals, thread: u32, threads: u32, end: Nanos, requests: u64) -> Schedule {
    let rate = Rate::per_second(rate).expect("a rate");
    Schedule::new(
        rate,
        arrivals,
        Part { thread, threads, seed: 7, start: 1_000, count_from: 1_000, end, requests },
    )
}

/// Everything that `schedule` makes due until it is over, at once.
fn all(mut schedule: Schedule) -> Vec<Nanos> {
    let count = schedule.waiting(NEVER - 1);
    let moments = (0..count).map(|_| schedule.take()).collect();
    assert!(schedule.is_over());
    moments
}

fn check_rate(rate: f64, threads: u32, seconds: u64) {
    let end = 1_000 + seconds * 1_000_000_000;
    let mut moments: Vec<Nanos> = (0..threads)
        .flat_map(|thread| all(schedule(rate, Arrivals::Constant, thread, threads, end, u64::MAX)))
        .collect();
    moments.sort_unstable();
    let one = all(schedule(rate, Arrivals::Constant, 0, 1, end, u64::MAX));
    assert_eq!(moments, one, "{threads} threads make the schedule of one");
    assert_eq!(one.len() as u64, whole_nanos((rate * seconds as f64).ceil()), "{rate}/s for {seconds} s");
}

#[test]
fn constant_rates_add_up_exactly() {
    check_rate(1000.0, 1, 10);
    check_rate(1000.0, 3, 10);
    check_rate(333.333, 7, 30);
    check_rate(2_000_003.0, 16, 1);
    check_rate(0.5, 2, 9);
}

#[test]
fn poisson_keeps_its_rate_and_its_seed() {
    let end = 1_000 + 100_000_000_000;
    let part = |thread| all(schedule(1000.0, Arrivals::Poisson, thread, 2, end, u64::MAX));
    let (first, second) = (part(0), part(1));
    let total = first.len() + second.len();
    // 100,000 expected, standard deviation 316.
    assert!((98_700..101_300).contains(&total), "{total}");
    assert_ne!(first, second);
    assert_eq!(first, part(0));
    // Exponential gaps have a standard deviation equal to their mean.
    let gaps: Vec<f64> = first.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect();
    let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
    let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
    assert!((variance.sqrt() / mean - 1.0).abs() < 0.03, "{}", variance.sqrt() / mean);
}

#[test]
fn limits_and_early_ends() {
    assert_eq!(all(schedule(1000.0, Arrivals::Constant, 0, 1, NEVER, 17)).len(), 17);
    let mut cut = schedule(1000.0, Arrivals::Constant, 0, 1, NEVER, u64::MAX);
    assert_eq!(cut.waiting(1_000 + 5_000_000), 6);
    cut.end_at(1_000 + 5_000_000);
    assert_eq!(cut.next_due(), NEVER);
    assert!(!cut.is_over(), "six wait");
    for _ in 0..6 {
        cut.take();
    }
    assert!(cut.is_over());
}

/// The parts of all threads of a load in stages, in the order of their moments.
fn staged(stages: &Stages, arrivals: Arrivals, threads: u32, warmup: Nanos, seed: u64) -> Vec<Nanos> {
    let count_from = 1_000 + warmup;
    let end = count_from + u64::try_from(stages.duration().as_nanos()).expect("a run's length");
    let part = |thread| Part { thread, threads, seed, start: 1_000, count_from, end, requests: u64::MAX };
    let of = |thread| all(Schedule::of_stages(stages, arrivals, part(thread)));
    let mut moments: Vec<Nanos> = (0..threads).flat_map(of).collect();
    moments.sort_unstable();
    moments
}

fn parsed(text: &str) -> Stages {
    Stages::parse(text).expect("stages")
}

#[test]
fn one_stage_is_a_constant_rate() {
    let end = 1_000 + 30_000_000_000;
    for rate in [1.0, 333.25, 1000.0] {
        let stages = parsed(&format!("{rate}/s:30s"));
        let one = all(schedule(rate, Arrivals::Constant, 0, 1, end, u64::MAX));
        let same = staged(&stages, Arrivals::Constant, 3, 0, 7);
        assert_eq!(one.len(), same.len(), "{rate}");
        assert!(one.iter().zip(&same).all(|(one, same)| one.abs_diff(*same) <= 1), "{rate}");
    }
}

#[test]
fn hours_of_stages_add_up_to_the_request() {
    let moments = staged(&parsed("0.1/s:10h,0.1..0.5/s:10h,0.5/s:10h"), Arrivals::Constant, 2, 0, 7);
    assert_eq!(moments.len(), 3600 + 10_800 + 18_000);
    let hour = |number: u64| 1_000 + number * 3_600_000_000_000;
    let between = |from, to| moments.iter().filter(|moment| (hour(from)..hour(to)).contains(*moment)).count();
    assert_eq!([between(0, 10), between(10, 20), between(20, 30)], [3600, 10_800, 18_000]);
}

/// Counts of arrivals in windows: their mean, and their variance over it.
fn dispersion(moments: &[Nanos], from: Nanos, window: Nanos, windows: usize) -> (f64, f64) {
    let mut counts = vec![0.0; windows];
    for moment in moments.iter().filter(|moment| **moment >= from) {
        let index = usize::try_from((moment - from) / window).expect("a small number");
        if let Some(count) = counts.get_mut(index) {
            *count += 1.0;
        }
    }
    let mean = counts.iter().sum::<f64>() / windows as f64;
    let variance =
        counts.iter().map(|count: &f64| (count - mean).powi(2)).sum::<f64>() / (windows - 1) as f64;
    (mean, variance / mean)
}

#[test]
fn poisson_in_stages_has_the_rates_of_the_stages() {
    let moments = staged(&parsed("100/s:100s,0:100s,100..900/s:100s"), Arrivals::Poisson, 3, 0, 11);
    let second = |number: u64| 1_000 + number * 1_000_000_000;
    let between = |from, to| {
        moments.iter().filter(|moment| (second(from)..second(to)).contains(*moment)).count() as f64
    };
    // Expected ± 4.5 standard deviations.
    for (from, to, expected) in
        [(0, 100, 10_000.0_f64), (100, 200, 0.0), (200, 250, 15_000.0), (250, 300, 35_000.0)]
    {
        let count = between(from, to);
        assert!((count - expected).abs() <= 4.5 * expected.sqrt(), "{from}..{to}: {count}");
    }
    let (_, poisson) = dispersion(&moments, second(0), 1_000_000_000, 100);
    assert!((poisson - 1.0).abs() < 0.7, "{poisson}");
    assert_eq!(moments, staged(&parsed("100/s:100s,0:100s,100..900/s:100s"), Arrivals::Poisson, 3, 0, 11));
}

/// Index of dispersion for counts in windows of length T of an interrupted Poisson process, from its two states:
/// 1 + 2 r L (f − 1)²/f · (1 − (1 − e^(−sT)) / (sT)), s = f / (L (f − 1)) (Fischer and Meier-Hellstern, 1993).
#[test]
fn bursts_have_the_mean_and_the_dispersion_of_their_process() {
    let (rate, factor, mean_s, window_s, seconds) = (50.0_f64, 4.0_f64, 0.5_f64, 2.0_f64, 20_000_u32);
    let arrivals = Arrivals::Bursty { factor, mean: std::time::Duration::from_secs_f64(mean_s) };
    let stages = parsed(&format!("{rate}/s:{seconds}s"));
    let moments = staged(&stages, arrivals, 3, 0, 5);
    let windows = 10_000;
    let (mean, index) = dispersion(&moments, 1_000, 2_000_000_000, windows);
    let speed = factor / (mean_s * (factor - 1.0)) * window_s;
    let expected =
        1.0 + 2.0 * rate * mean_s * (factor - 1.0).powi(2) / factor * (1.0 - (1.0 - (-speed).exp()) / speed);
    // The mean of 10,000 windows of that dispersion.
    let error = (rate * window_s * expected / windows as f64).sqrt();
    assert!((mean - rate * window_s).abs() < 4.5 * error, "{mean} ± {error}");
    assert!((index / expected - 1.0).abs() < 0.08, "{index}, expected {expected}");
    // In a burst the rate is the factor's, and it takes one part of so many of the time.
    let busy =
        moments.chunk_by(|a, b| b - a < 100_000_000).map(|burst| (burst[burst.len() - 1] - burst[0]) as f64);
    let share = busy.sum::<f64>() / 1e9 / f64::from(seconds);
    assert!((share * factor - 1.0).abs() < 0.08, "{share}");
}

#[test]
fn bursts_of_a_constant_rate_are_those_of_one_stage() {
    let arrivals = Arrivals::Bursty { factor: 5.0, mean: std::time::Duration::from_millis(200) };
    let end = 1_000 + 50_000_000_000;
    let plain: Vec<Nanos> =
        (0..2).map(|thread| schedule(100.0, arrivals, thread, 2, end, u64::MAX)).flat_map(all).collect();
    let mut plain = plain;
    plain.sort_unstable();
    assert_eq!(plain, staged(&parsed("100/s:50s"), arrivals, 2, 0, 7));
    assert_eq!(all(schedule(100.0, arrivals, 0, 1, NEVER, 40)).len(), 40, "a count ends it, too");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn threads_together_make_the_schedule_of_one(
        rate in 0.5_f64..2e6,
        threads in 1_u32..9,
        warmup in prop_oneof![Just(0), 0_u64..3_000_000_000],
        requests in 1_u64..500,
    ) {
        let rate = Rate::per_second(rate).expect("a rate");
        let (start, end) = (1_000, NEVER);
        // At high rates only the end of the warm-up, so that a case stays small.
        let warmup = warmup.min(whole_nanos(2e12 / rate.as_per_second()));
        let count_from = start + warmup;
        let of = |thread, threads| {
            let part = Part { thread, threads, seed: 7, start, count_from, end, requests };
            all(Schedule::new(rate, Arrivals::Constant, part))
        };
        let mut together: Vec<Nanos> = (0..threads).flat_map(|thread| of(thread, threads)).collect();
        together.sort_unstable();
        let counted = together.iter().filter(|moment| **moment >= count_from).count();
        prop_assert_eq!(counted as u64, requests);
        prop_assert_eq!(together, of(0, 1));
    }

    #[test]
    fn threads_together_make_the_stages_of_one(
        rates in prop::collection::vec((0_u32..2000, 0_u32..2000, 1_u64..1500), 1..7),
        threads in 1_u32..9,
        warmup in prop_oneof![Just(0), 0_u64..1_000_000_000],
    ) {
        let stages = Stages(rates.into_iter().map(|(from, to, ms)| prony_model::Stage {
            name: None,
            from_per_s: from.into(),
            to_per_s: to.into(),
            duration: std::time::Duration::from_millis(ms),
        }).collect());
        let one = staged(&stages, Arrivals::Constant, 1, warmup, 7);
        prop_assert_eq!(&one, &staged(&stages, Arrivals::Constant, threads, warmup, 7));
        let measured: Vec<Nanos> = one.into_iter().filter(|moment| *moment >= 1_000 + warmup).collect();
        // Each stage has the requests of its integral: those that it begins to hold.
        let mut first = 0.0;
        for (from_s, stage) in stages.spans() {
            let begin = 1_000 + warmup + whole_nanos((from_s * 1e9).round());
            let end = begin + u64::try_from(stage.duration.as_nanos()).expect("a stage's length");
            let next = first + stage.requests();
            let expected = (next - 1e-7).ceil() - (first - 1e-7).ceil();
            first = next;
            let count = measured.iter().filter(|moment| (begin..end).contains(*moment)).count();
            prop_assert!((count as f64 - expected).abs() < 0.5, "{} of {}", count, expected);
        }
        prop_assert!((measured.len() as f64 - (first - 1e-7).ceil().max(0.0)).abs() < 0.5);
    }

    #[test]
    fn threads_together_have_each_moment_of_a_file_once(
        mut moments in prop::collection::vec(0_u64..2_000_000_000, 0..300),
        threads in 1_u32..9,
        warmup in prop_oneof![Just(0), 0_u64..1_500_000_000],
    ) {
        let recorded = Moments::new(moments.clone());
        let count_from = 1_000 + warmup;
        let part = |thread| Part {
            thread, threads, seed: 3, start: 1_000, count_from, end: NEVER, requests: moments.len() as u64,
        };
        let schedules: Vec<Schedule> =
            (0..threads).map(|thread| Schedule::recorded(recorded.clone(), part(thread))).collect();
        let limits: u64 = schedules.iter().map(Schedule::limit).sum();
        prop_assert_eq!(limits, moments.iter().filter(|moment| **moment >= warmup).count() as u64);
        let mut together: Vec<Nanos> = schedules.into_iter().flat_map(all).collect();
        together.sort_unstable();
        moments.sort_unstable();
        prop_assert_eq!(together, moments.iter().map(|moment| 1_000 + moment).collect::<Vec<_>>());
    }

    #[test]
    fn poisson_threads_share_a_count(threads in 1_u32..9, warmup in 0_u64..100_000_000, requests in 1_u64..500) {
        let rate = Rate::per_second(5_000.0).expect("a rate");
        let count_from = 1_000 + warmup;
        let counted: usize = (0..threads)
            .map(|thread| Part { thread, threads, seed: 3, start: 1_000, count_from, end: NEVER, requests })
            .map(|part| all(Schedule::new(rate, Arrivals::Poisson, part)))
            .map(|moments| moments.iter().filter(|moment| **moment >= count_from).count())
            .sum();
        prop_assert_eq!(counted as u64, requests);
    }
}
