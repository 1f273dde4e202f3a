//! From results to alerts, on both databases.

use super::*;
use prony_lab_model::clock::Moment;
use prony_lab_model::{Alert, AlertKind, AlertState, BuildId, BuildVerdict, Change, ChangeState};
use prony_lab_store::fixture::on_both;
use prony_lab_store::past::{Measured, Past};

/// A percent up and down.
fn wave(at: usize) -> f64 {
    1.0 + 0.01 * ((at * 7 % 5) as f64 - 2.0)
}

/// Builds of the branch with a `metric` of these levels.
fn build(past: &Past<'_>, metric: &'static str, levels: &[(usize, f64)]) {
    let levels = levels.iter().flat_map(|&(count, level)| std::iter::repeat_n(level, count));
    let build = |(at, level)| {
        let results = vec![(metric, level * wave(at))];
        ("main".to_owned(), format!("{:040x}", at + 0xabc), Measured { results, ..Measured::default() })
    };
    past.builds(levels.enumerate().map(build).collect());
}

fn watched(store: &Store) {
    // A new one each time, as after a restart.
    let mut watch = Watch::new(store.clone());
    while watch.follow().expect("followed") {}
}

fn all(store: &Store) -> Vec<Alert> {
    store.read_blocking(|tx| alerts::list(tx, None, None, 100)).expect("read")
}

fn changes_of(store: &Store, past: &Past<'_>, metric: &str) -> Vec<Change> {
    let of = store.read_blocking(|tx| series::of_project(tx, past.project, 10)).expect("read");
    let of = of.iter().find(|of| of.metric == metric).expect("a series");
    store.read_blocking(|tx| series::changes(tx, of.id)).expect("read")
}

#[test]
fn a_slower_series_is_reported_once_and_compared_once() {
    on_both(|store| {
        let past = Past::new(store);
        build(&past, "p50", &[(30, 2.0), (8, 2.4)]);
        watched(store);
        watched(store);
        let raised = all(store);
        assert_eq!(raised.len(), 1, "{raised:?}");
        let alert = &raised[0];
        assert_eq!(
            (alert.kind, alert.state, alert.build),
            (AlertKind::Change, AlertState::Active, Some(BuildId(31)))
        );
        assert!(alert.words.contains("p50 of GET /") && alert.words.contains("ms (+"), "{}", alert.words);
        let comparisons = past.comparisons();
        assert_eq!(comparisons.len(), 1, "{comparisons:?}");
        assert_eq!(alert.comparison, Some(comparisons[0].id));
        let commits = (comparisons[0].base.as_deref(), comparisons[0].reference.as_str());
        assert_eq!(
            commits,
            (Some(format!("{:040x}", 29 + 0xabc).as_str()), format!("{:040x}", 30 + 0xabc).as_str())
        );
        // Its verdict is on the alert; a failed one has none, and is not asked for again.
        past.end_comparison(comparisons[0].id, BuildVerdict::Slower);
        watched(store);
        assert_eq!(all(store)[0].verdict, Some(BuildVerdict::Slower));
        build(&past, "p50", &[(4, 2.4)]);
        watched(store);
        assert_eq!((all(store).len(), past.comparisons().len()), (1, 0));
        assert_eq!(changes_of(store, &past, "p50")[0].state, ChangeState::Confirmed);
    });
}

#[test]
fn better_and_far_tails_and_invalid_runs_alert_nobody() {
    on_both(|store| {
        let past = Past::new(store);
        build(&past, "rate", &[(30, 2000.0), (10, 2400.0)]);
        build(&past, "p99.9", &[(30, 2.0), (10, 2.4)]);
        let results = vec![("p50", 9.0)];
        for _ in 0..12 {
            past.build(
                "main",
                "c",
                Measured { results: results.clone(), is_invalid: true, ..Measured::default() },
            );
            past.build("experiment", "d", Measured { results: results.clone(), ..Measured::default() });
        }
        watched(store);
        assert_eq!(all(store), []);
        assert_eq!(past.comparisons(), []);
        // The change is there for the page all the same.
        assert_eq!(changes_of(store, &past, "rate").len(), 1);
        assert_eq!(changes_of(store, &past, "p99.9").len(), 1);
        assert_eq!(changes_of(store, &past, "p50"), []);
    });
}

#[test]
fn a_suspicion_becomes_an_alert_if_the_comparison_says_so() {
    on_both(|store| {
        for (verdict, alerts) in [(BuildVerdict::NoDifference, 0), (BuildVerdict::Slower, 1)] {
            let name = format!("p{}", alerts + 1);
            let past = Past::new(store);
            let metric: &'static str = if alerts == 0 { "p50" } else { "p90" };
            // Other commits than those of the round before.
            let levels = [(30, 2.0), (3, 2.4)];
            for (at, level) in levels.iter().flat_map(|&(n, level)| std::iter::repeat_n(level, n)).enumerate()
            {
                let commit = format!("{:040x}", at + 0x1000 * (alerts + 1));
                let results = vec![(metric, level * wave(at))];
                past.build("main", &commit, Measured { results, ..Measured::default() });
            }
            watched(store);
            let comparisons = past.comparisons();
            assert_eq!((all(store).len(), comparisons.len()), (0, 1), "{name}");
            past.end_comparison(comparisons[0].id, verdict);
            watched(store);
            let raised = all(store);
            assert_eq!(raised.len(), alerts, "{raised:?}");
            assert!(raised.iter().all(|alert| alert.verdict == Some(verdict)), "{raised:?}");
        }
    });
}

#[test]
fn a_change_that_goes_away_takes_its_alert_with_it() {
    on_both(|store| {
        let past = Past::new(store);
        build(&past, "p50", &[(30, 2.0), (5, 2.4)]);
        watched(store);
        assert_eq!(all(store)[0].state, AlertState::Active);
        // It was a bad day: results that were taken for good turn out to be invalid.
        past.invalidate_after(BuildId(30));
        build(&past, "p50", &[(3, 2.0)]);
        watched(store);
        let raised = all(store);
        assert_eq!((raised.len(), raised[0].state), (1, AlertState::Closed), "{raised:?}");
        assert_eq!(changes_of(store, &past, "p50"), []);
    });
}

#[test]
fn thresholds_alert_while_they_are_set_and_missed() {
    on_both(|store| {
        let past = Past::new(store);
        let states_after = |words: &[(&'static str, Option<bool>)]| {
            past.build("main", "c", Measured { thresholds: words.to_vec(), ..Measured::default() });
            watched(store);
            all(store).iter().rev().map(|alert| alert.state).collect::<Vec<_>>()
        };
        let (missed, met) = (Some(false), Some(true));
        assert_eq!(states_after(&[("p99 at most 50 ms", met)]), []);
        assert_eq!(
            states_after(&[("p99 at most 50 ms", missed), ("rate at least 9", missed)]),
            [AlertState::Active; 2]
        );
        assert_eq!(
            states_after(&[("p99 at most 50 ms", missed), ("rate at least 9", None)]),
            [AlertState::Active; 2]
        );
        // One is met again, and the other is no longer in the file.
        assert_eq!(states_after(&[("p99 at most 50 ms", met)]), [AlertState::Closed; 2]);
        // Once dismissed it is quiet until it was met.
        let active = states_after(&[("p99 at most 50 ms", missed)]);
        assert_eq!(active, [AlertState::Closed, AlertState::Closed, AlertState::Active]);
        let id = all(store)[0].id;
        store
            .write_blocking(move |tx| {
                alerts::answer(tx, id, AlertState::Dismissed, "kim", None, None, Moment(9))
            })
            .expect("answered");
        assert_eq!(states_after(&[("p99 at most 50 ms", missed)]).last(), Some(&AlertState::Dismissed));
        assert_eq!(states_after(&[("p99 at most 50 ms", met)]).last(), Some(&AlertState::Closed));
        assert_eq!(states_after(&[("p99 at most 50 ms", missed)]).len(), 4);
    });
}

#[test]
fn alerts_are_answered_by_people_and_wake_by_themselves() {
    on_both(|store| {
        let past = Past::new(store);
        past.build(
            "main",
            "c",
            Measured { thresholds: vec![("p99 at most 5 ms", Some(false))], ..Measured::default() },
        );
        watched(store);
        let id = all(store)[0].id;
        let answer = |to, until, note: Option<&'static str>| {
            store.write_blocking(move |tx| alerts::answer(tx, id, to, "kim", until, note, Moment(9)))
        };
        assert_eq!(answer(AlertState::Acknowledged, None, Some("mine")), Ok(()));
        assert!(matches!(answer(AlertState::Acknowledged, None, None), Err(StoreError::Conflict(_))));
        assert!(matches!(answer(AlertState::Closed, None, None), Err(StoreError::Conflict(_))));
        assert_eq!(answer(AlertState::Silenced, Some(Moment(50)), None), Ok(()));
        let one = || store.read_blocking(|tx| alerts::one(tx, id)).expect("read").expect("there");
        assert_eq!((one().silenced_until, one().note.as_deref()), (Some(Moment(50)), Some("mine")));
        assert_eq!(store.read_blocking(|tx| alerts::is_waking_due(tx, Moment(49))), Ok(false));
        assert_eq!(store.write_blocking(|tx| alerts::wake(tx, Moment(50))), Ok(1));
        assert_eq!((one().state, one().changed_by.as_str()), (AlertState::Active, "lab"));
        assert_eq!(store.read_blocking(alerts::open_count), Ok(1));
    });
}

#[test]
fn what_changes_together_is_one_alert_and_one_comparison() {
    on_both(|store| {
        let past = Past::new(store);
        let build = |at: usize| {
            let slower = |from: usize| if at < from { 1.0 } else { 1.25 };
            // Noise moves the change of one of them by a build.
            let results = vec![
                ("p50", 2.0 * slower(30) * wave(at)),
                ("p90", 3.0 * slower(31) * wave(at + 1)),
                ("p99", 9.0 * slower(30) * slower(30) * wave(at + 2)),
            ];
            ("main".to_owned(), format!("{at:040x}"), Measured { results, ..Measured::default() })
        };
        past.builds((0..37).map(build).collect());
        watched(store);
        let raised = all(store);
        assert_eq!((raised.len(), past.comparisons().len()), (1, 1), "{raised:?}");
        let words = &raised[0].words;
        assert!(words.starts_with("3 figures got worse, the most p99 of GET /"), "{words}");
        assert_eq!(raised[0].comparison, Some(past.comparisons()[0].id));
        // It is there while one of them is.
        past.invalidate_after(BuildId(30));
        past.build(
            "main",
            "x",
            Measured { results: vec![("p50", 2.0), ("p90", 3.0), ("p99", 9.0)], ..Measured::default() },
        );
        watched(store);
        assert_eq!(all(store)[0].state, AlertState::Closed);
    });
}

#[test]
fn a_build_that_is_slower_alerts_unless_its_comparison_refutes_it() {
    on_both(|store| {
        let past = Past::new(store);
        let (slower, mut last) =
            (BuildVerdict::Slower, past.build("main", &"0".repeat(40), Measured::default()));
        for (number, (verdict, state)) in [
            (BuildVerdict::NoDifference, AlertState::Closed),
            (BuildVerdict::Faster, AlertState::Closed),
            (BuildVerdict::TooNoisy, AlertState::Active),
            (slower, AlertState::Active),
        ]
        .into_iter()
        .enumerate()
        {
            let commit = format!("{:040x}", number + 1);
            let measured = Measured { verdict: Some((slower, last)), ..Measured::default() };
            // That of an experiment is its author's affair.
            past.build("experiment", &commit, measured.clone());
            last = past.build("main", &commit, measured);
            watched(store);
            watched(store);
            let raised = all(store);
            assert_eq!(
                (raised.len(), raised[0].state, raised[0].kind),
                (number + 1, AlertState::Active, AlertKind::Build)
            );
            let comparisons = past.comparisons();
            assert_eq!(comparisons.len(), 1, "{comparisons:?}");
            past.end_comparison(comparisons[0].id, verdict);
            watched(store);
            let raised = all(store);
            assert_eq!(
                (raised.len(), raised[0].state, raised[0].verdict),
                (number + 1, state, Some(verdict))
            );
        }
    });
}

#[test]
fn a_change_of_commands_requests_no_comparison() {
    on_both(|store| {
        let past = Past::new(store);
        build(&past, "wall", &[(30, 2.0), (8, 2.4)]);
        watched(store);
        let raised = all(store);
        assert_eq!((raised.len(), raised[0].comparison), (1, None), "{raised:?}");
        assert_eq!(past.comparisons(), []);
    });
}

#[test]
fn a_comparison_that_fails_is_no_verdict() {
    on_both(|store| {
        let past = Past::new(store);
        build(&past, "p50", &[(30, 2.0), (8, 2.4)]);
        watched(store);
        past.fail_comparison(past.comparisons()[0].id, "the study file can't be used");
        watched(store);
        let raised = all(store);
        assert_eq!((raised.len(), raised[0].state, raised[0].verdict), (1, AlertState::Active, None));
        let note = raised[0].note.as_deref().unwrap_or_default();
        assert!(note.contains("is failed (the study file can't be used)"), "{note}");
        // It is not asked for again.
        build(&past, "p50", &[(3, 2.4)]);
        watched(store);
        assert_eq!(past.comparisons(), []);
    });
}

#[test]
fn a_slower_build_of_commands_requests_no_comparison() {
    on_both(|store| {
        let past = Past::new(store);
        let first = past.build("main", &"0".repeat(40), Measured::default());
        let results = vec![("wall", 2.4)];
        let verdict = Some((BuildVerdict::Slower, first));
        past.build("main", &"1".repeat(40), Measured { results, verdict, ..Measured::default() });
        watched(store);
        let raised = all(store);
        assert_eq!((raised.len(), raised[0].comparison), (1, None), "{raised:?}");
        assert_eq!(past.comparisons(), []);
    });
}

#[test]
fn a_comparison_that_shows_nothing_is_measured_again_as_often_as_the_project_allows() {
    on_both(|store| {
        let past = Past::new(store);
        let first = past.build("main", &"0".repeat(40), Measured::default());
        let verdict = Some((BuildVerdict::Slower, first));
        past.build("main", &"1".repeat(40), Measured { verdict, ..Measured::default() });
        watched(store);
        let mut measured = Vec::new();
        for noisy in [BuildVerdict::TooNoisy, BuildVerdict::Invalid, BuildVerdict::TooNoisy] {
            let waiting = past.comparisons();
            assert_eq!(waiting.len(), 1, "{measured:?} {waiting:?}");
            let id = waiting[0].id;
            let commits = (waiting[0].base.clone(), waiting[0].reference.clone());
            assert_eq!(commits, (Some("0".repeat(40)), "1".repeat(40)));
            let alert = &all(store)[0];
            assert_eq!((alert.comparison, alert.verdict), (Some(id), None), "it waits for the newest");
            let set = move |tx: &mut prony_lab_store::Tx<'_>| {
                let (commit, base) = ("1".repeat(40), "0".repeat(40));
                prony_lab_store::queue::set_commits(tx, id, &commit, Some(&base), None)
            };
            store.write_blocking(set).expect("written");
            past.end_comparison(id, noisy);
            watched(store);
            watched(store);
            measured.push(id);
        }
        // Twice more by default; then the last verdict stands, and the alert with it.
        assert_eq!(past.comparisons(), []);
        let alert = &all(store)[0];
        assert_eq!(
            (alert.comparison, alert.verdict),
            (measured.last().copied(), Some(BuildVerdict::TooNoisy))
        );
        assert_eq!(alert.state, AlertState::Active);
        let repeats = store.read_blocking(|tx| prony_lab_store::repeats::of(tx, measured[0])).expect("read");
        assert_eq!(repeats.iter().map(|repeat| repeat.build).collect::<Vec<_>>(), measured[1..]);
    });
}
