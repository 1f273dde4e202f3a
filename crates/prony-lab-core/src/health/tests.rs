//! Conditions, from injected facts to alerts and events.

use super::*;
use prony_lab_model::Alert;
use prony_lab_model::clock::Moment;
use prony_lab_store::counts::QueueState;
use prony_lab_store::disk::Space;
use prony_lab_store::events;
use prony_lab_store::fixture::on_both;

const MB: u64 = 1_000_000;
const LIMITS: HealthLimits = HealthLimits { disk_bytes: 1000 * MB, has_worker: true };

/// The facts of a lab that is well, `seconds` after its start.
fn well(seconds: u64) -> Readings {
    Readings {
        now: Moment(i64::try_from(seconds).expect("few") * 1000),
        steady: Duration::from_secs(seconds),
        space: Some(Space { free_bytes: 5000 * MB, total_bytes: 100_000 * MB }),
        queue: Ok(QueueState { has_waiting: false, has_running: false }),
        is_worker_dead: false,
    }
}

fn free(seconds: u64, megabytes: u64) -> Readings {
    let space = Space { free_bytes: megabytes * MB, total_bytes: 100_000 * MB };
    Readings { space: Some(space), ..well(seconds) }
}

fn waiting(seconds: u64, has_running: bool) -> Readings {
    Readings { queue: Ok(QueueState { has_waiting: true, has_running }), ..well(seconds) }
}

/// Evaluates `readings`, after a first turn without conditions: what begins and ends.
fn changes(limits: &HealthLimits, readings: &[Readings]) -> Vec<(usize, Condition, bool)> {
    let mut conditions = Conditions::default();
    conditions.evaluate(&well(0), limits);
    let mut found = Vec::new();
    for (at, readings) in readings.iter().enumerate() {
        let changes = conditions.evaluate(readings, limits);
        found.extend(changes.into_iter().map(|change| (at, change.condition, change.begins)));
    }
    found
}

#[test]
fn a_low_disk_is_reported_once_until_there_is_room_again() {
    let unknown = Readings { space: None, ..well(5) };
    let readings =
        [free(1, 1001), free(2, 999), free(3, 10), free(4, 1050), unknown, free(6, 1100), free(7, 1001)];
    assert_eq!(changes(&LIMITS, &readings), [(1, Condition::Disk, true), (5, Condition::Disk, false)]);
    let off = HealthLimits { disk_bytes: 0, ..LIMITS };
    assert_eq!(changes(&off, &[free(1, 0)]), []);
}

#[test]
fn a_queue_is_stuck_when_builds_wait_and_none_runs_for_minutes() {
    let lost = Readings { queue: Err("reach the store".to_owned()), ..well(250) };
    let readings = [
        waiting(10, false),
        // One that runs starts the time again.
        waiting(100, true),
        waiting(110, false),
        lost,
        waiting(409, false),
        waiting(410, false),
        waiting(500, false),
        well(510),
    ];
    let database = [(3, Condition::Database, true), (4, Condition::Database, false)];
    let queue = [(5, Condition::Queue, true), (7, Condition::Queue, false)];
    assert_eq!(changes(&LIMITS, &readings), [database, queue].concat());
    let without = HealthLimits { has_worker: false, ..LIMITS };
    assert_eq!(changes(&without, &[waiting(10, false), waiting(5000, false)]), []);
}

#[test]
fn a_worker_that_ended_is_reported() {
    let dead = Readings { is_worker_dead: true, ..well(1) };
    assert_eq!(changes(&LIMITS, &[well(1), dead.clone(), dead]), [(1, Condition::Worker, true)]);
}

fn raised(store: &Store) -> Vec<Alert> {
    store.read_blocking(|tx| alerts::list(tx, None, None, 100)).expect("read")
}

fn happened(store: &Store) -> Vec<String> {
    let all =
        store.read_blocking(|tx| events::after(tx, prony_lab_model::EventId(0), None, 100)).expect("read");
    all.into_iter().map(|event| event.kind).collect()
}

#[test]
fn each_condition_is_one_alert_with_an_event_at_either_end() {
    on_both(|store| {
        let health = Health::new(LIMITS);
        let version = store.version();
        health.turn(store, &well(0));
        assert_eq!(store.version(), version, "nothing has happened, and nothing is written");
        assert_eq!((raised(store), health.active()), (Vec::new(), Vec::new()));
        for seconds in 1..4 {
            health.turn(store, &free(seconds, 800));
        }
        let active = health.active();
        assert_eq!(active.len(), 1, "{active:?}");
        assert!(active[0].1.contains("800 MB of 100.0 GB are left, less than 1.0 GB"), "{active:?}");
        assert_eq!(health.free_bytes(), Some(800 * MB));
        let alert = &raised(store)[0];
        assert_eq!((alert.kind, alert.subject.as_str()), (AlertKind::Lab, "disk"));
        assert_eq!(happened(store), ["alert.active"]);
        health.turn(store, &well(4));
        assert_eq!(raised(store)[0].state, AlertState::Closed);
        assert_eq!(happened(store), ["alert.active", "alert.closed"]);
        // The next time is another one.
        health.turn(store, &free(5, 1));
        assert_eq!((raised(store).len(), happened(store).len()), (2, 3));
        // A lab that is restarted closes what its predecessor reported, if it is over.
        Health::new(LIMITS).turn(store, &well(6));
        assert!(raised(store).iter().all(|alert| alert.state == AlertState::Closed));
        assert_eq!(happened(store).len(), 4);
    });
}

#[test]
fn what_could_not_be_reported_is_reported_later() {
    on_both(|store| {
        let health = Health::new(LIMITS);
        health.turn(store, &well(0));
        let outage = Readings { queue: Err("reach the store (gone)".to_owned()), ..well(1) };
        // As a turn leaves it whose writes fail.
        let changes = lock(&health.conditions).evaluate(&outage, &LIMITS);
        lock(&health.pending).extend(changes);
        assert_eq!(health.active()[0].0, Condition::Database);
        assert!(raised(store).is_empty());
        health.turn(store, &well(61));
        assert_eq!(happened(store), ["alert.active", "alert.closed"]);
        let alert = &raised(store)[0];
        assert_eq!((alert.state, alert.opened_at), (AlertState::Closed, Moment(1000)));
        assert!(alert.words.contains("failed to reach the store (gone)"), "{}", alert.words);
        assert!(health.active().is_empty());
    });
}

#[test]
fn the_facts_are_those_of_the_store() {
    on_both(|store| {
        let health = Health::new(LIMITS);
        let read = || health.read(store, None).queue;
        assert_eq!(read(), Ok(QueueState { has_waiting: false, has_running: false }));
        let past = prony_lab_store::past::Past::new(store);
        let build = past.queued();
        assert_eq!(read(), Ok(QueueState { has_waiting: true, has_running: false }));
        past.take(build);
        assert_eq!(read(), Ok(QueueState { has_waiting: false, has_running: true }));
        // To look whether it can be written writes nothing.
        let version = store.version();
        read().expect("it answers");
        assert_eq!(store.version(), version);
        health.worker_ended();
        assert!(health.read(store, None).is_worker_dead);
    });
}
