//! What follows from which facts: a run on a calm machine with two cores, changed in one respect or two.

use super::evaluate::of;
use super::facts::{Facts, Server, Thread};
use super::users::Users;
use super::{LimiterKind, SoloRequests};

/// A closed loop of 16 connections against a server with four idle threads; a request takes 40 ms, as long as alone.
fn calm() -> Facts {
    Facts {
        rate: 400.0,
        answers: 4_000,
        failed_share: 0.0,
        asked_rate: None,
        asked_sessions: None,
        users: None,
        sent_share: 1.0,
        in_flight: 16.0,
        opened_per_request: 0.004,
        response_mean_ms: 40.2,
        service_mean_ms: 40.1,
        service_median_ms: 40.1,
        connect_mean_ms: 0.1,
        connect_max_ms: 0.3,
        client_delay_ms: 0.1,
        solo: Some(solo(6, 40.0, 0.1)),
        cpus: 2.0,
        used_cores: Some(0.1),
        stolen_cores: 0.0,
        client_cores: 0.04,
        client: thread(0.04, 0.01),
        capacity_share: None,
        here: true,
        overflows: 0,
        io_pressure: Some(0.0),
        link_share: None,
        server: Some(Server {
            cores: 0.05,
            wait_cores: 0.01,
            cpus: 2.0,
            busiest: vec![thread(0.02, 0.0), thread(0.01, 0.0), thread(0.01, 0.0), thread(0.01, 0.0)],
            threads: 4,
            throttled_share: 0.0,
            disk_bytes_per_request: 0.0,
            dependant: None,
        }),
    }
}

fn thread(cpu: f64, wait: f64) -> Thread {
    Thread { cpu, wait }
}

fn solo(count: u64, mean_ms: f64, stddev_ms: f64) -> SoloRequests {
    SoloRequests { count, min_ms: mean_ms - stddev_ms, median_ms: mean_ms, mean_ms, stddev_ms }
}

/// Requests take `times` as long as alone.
fn queued(facts: &mut Facts, times: f64) {
    facts.service_mean_ms *= times;
    facts.service_median_ms *= times;
    facts.response_mean_ms *= times;
    facts.rate /= times;
}

/// The server's threads are as busy as `threads`.
fn busy(facts: &mut Facts, threads: &[Thread]) {
    let server = facts.server.as_mut().expect("a server");
    server.busiest = threads.to_vec();
    server.cores = threads.iter().map(|thread| thread.cpu).sum();
    server.wait_cores = threads.iter().map(|thread| thread.wait).sum();
    facts.used_cores = Some(server.cores + facts.client_cores);
}

/// Other programs use `cores`.
fn others(facts: &mut Facts, cores: f64) {
    facts.used_cores = facts.used_cores.map(|used| used + cores);
}

#[track_caller]
fn check(change: impl FnOnce(&mut Facts), kind: LimiterKind, words: &str) {
    let mut facts = calm();
    change(&mut facts);
    let found = of(&facts);
    assert_eq!(found.kind, kind, "{}", found.sentence);
    assert!(found.sentence.contains(words), "`{}` does not say `{words}`", found.sentence);
    assert!(!found.sentence.contains("NaN") && !found.sentence.contains("inf"), "{}", found.sentence);
    assert!(found.evidence.iter().all(|number| number.value.is_finite()), "{:?}", found.evidence);
}

#[test]
fn a_server_on_a_host_of_its_own() {
    const FULL: &[Thread] = &[Thread { cpu: 0.99, wait: 0.0 }, Thread { cpu: 0.98, wait: 0.0 }];
    const CROWDED: &[Thread] = &[Thread { cpu: 0.66, wait: 0.33 }, Thread { cpu: 0.65, wait: 0.33 }];
    const DISPLACED: &[Thread] = &[Thread { cpu: 0.5, wait: 0.45 }];
    const ONE: &[Thread] = &[Thread { cpu: 0.97, wait: 0.0 }];
    let elsewhere = |threads: &'static [Thread]| {
        move |facts: &mut Facts| {
            facts.here = false;
            busy(facts, threads);
            // Of the clients' machines nothing is known.
            facts.used_cores = None;
        }
    };
    check(elsewhere(FULL), LimiterKind::ServerCpu, "it used 2.0 of 2 cores");
    check(elsewhere(CROWDED), LimiterKind::ServerCpu, "it used 1.3 of 2 cores");
    check(elsewhere(DISPLACED), LimiterKind::Machine, "waited for a core for 45 % of the time");
    check(elsewhere(ONE), LimiterKind::ServerThread, "97 %");
}

#[test]
fn the_chosen_rate() {
    let asked = |asked: f64| move |facts: &mut Facts| facts.asked_rate = Some(asked);
    check(asked(401.0), LimiterKind::ChosenRate, "401 /s were asked for and answered");
    let sessions = |facts: &mut Facts| (facts.asked_rate, facts.asked_sessions) = (Some(401.0), Some(80.0));
    check(sessions, LimiterKind::ChosenRate, "80 sessions/s were asked for and their requests answered");
    check(asked(800.0), LimiterKind::Unknown, "did not take the asked rate (400 of 800 /s)");
    let late = |facts: &mut Facts| {
        facts.asked_rate = Some(800.0);
        facts.client = thread(0.97, 0.01);
    };
    check(late, LimiterKind::Client, "busiest thread used 97 %");
}

#[test]
fn too_few_connections() {
    check(|_| (), LimiterKind::Connections, "as long as alone");
    check(|facts| queued(facts, 1.2), LimiterKind::Connections, "16 in flight");
    check(|facts| facts.in_flight = 1.0, LimiterKind::Connections, "single connection");
    check(|facts| facts.server = None, LimiterKind::Connections, "as long as alone");
    // On a busy machine, too, where its own threads hardly wait for a core.
    check(|facts| others(facts, 1.9), LimiterKind::Connections, "as long as alone");
    let absent = |facts: &mut Facts| facts.in_flight = 64.0;
    check(absent, LimiterKind::Unknown, "only 25 % of the connections");
    // Times that vary as much as chance makes them vary.
    check(|facts| facts.solo = Some(solo(100, 40.0, 40.0)), LimiterKind::Connections, "as long as alone");
    check(
        |facts| facts.solo = Some(solo(5, 40.0, 40.0)),
        LimiterKind::Unknown,
        "neither a clear queue nor none",
    );
}

/// 100 users whose sessions are one request of 40 ms and 210 ms of thinking: 16 of 400 per second are in flight.
fn users(facts: &mut Facts) {
    facts.users = Some(Users { number: 100.0, sessions_per_s: 400.0, active_ms: 40.1, completed: 4_000 });
    facts.in_flight = 16.0;
}

#[test]
fn users_who_think() {
    let with = |change: fn(&mut Facts)| {
        move |facts: &mut Facts| {
            users(facts);
            change(facts);
        }
    };
    check(
        with(|_| ()),
        LimiterKind::Users,
        "each of 100 takes 250 ms for a session, 210 ms of it think time and pacing, which makes 400 sessions/s",
    );
    check(
        with(|_| ()),
        LimiterKind::Users,
        "a request takes 40.1 ms, as long as with no other in flight (40.0 ms)",
    );
    // Hardly a request is in flight, because they think for long.
    check(with(|facts| facts.in_flight = 0.2), LimiterKind::Users, "more users bring more");
    check(with(|facts| queued(facts, 8.0)), LimiterKind::ServerWaits, "about 2 at a time");
    check(with(|facts| facts.solo = None), LimiterKind::Unknown, "fewer users (-c)");
    check(with(|facts| busy(facts, &[thread(0.8, 0.0)])), LimiterKind::Unknown, "more users would soon meet");
    check(with(|facts| busy(facts, &[thread(0.99, 0.0)])), LimiterKind::ServerThread, "99 %");
    let few = |facts: &mut Facts| {
        facts.users.as_mut().expect("users").completed = 9;
    };
    check(with(few), LimiterKind::Unknown, "too few sessions were completed");
}

#[test]
fn a_server_that_waits() {
    check(|facts| queued(facts, 16.0), LimiterKind::ServerWaits, "about 1 at a time");
    check(|facts| queued(facts, 4.0), LimiterKind::ServerWaits, "about 4 at a time");
    check(|facts| queued(facts, 1.6), LimiterKind::Unknown, "1.6 times as long as alone");
    let doubtful = |facts: &mut Facts| {
        queued(facts, 2.0);
        facts.solo = Some(solo(4, 40.0, 40.0));
    };
    check(doubtful, LimiterKind::Unknown, "2.0 times as long");
    let few = |facts: &mut Facts| {
        queued(facts, 16.0);
        facts.solo = Some(solo(2, 40.0, 0.1));
    };
    check(few, LimiterKind::Unknown, "--warmup");
    let busy_thread = |facts: &mut Facts| {
        queued(facts, 16.0);
        busy(facts, &[thread(0.75, 0.02)]);
    };
    check(busy_thread, LimiterKind::Unknown, "neither idle nor at its limit");
    let busy_client = |facts: &mut Facts| {
        queued(facts, 16.0);
        facts.client = thread(0.8, 0.05);
    };
    check(busy_client, LimiterKind::Unknown, "the queue may be its own");
    // An unfair lock: most are served at once, some wait for long.
    let unfair = |facts: &mut Facts| {
        queued(facts, 8.0);
        facts.service_median_ms = 41.0;
    };
    check(unfair, LimiterKind::ServerWaits, "8.0 times");
    // Where others use the cores, a mean alone may be theirs.
    let unfair_or_busy = |facts: &mut Facts| {
        unfair(facts);
        others(facts, 1.0);
    };
    check(unfair_or_busy, LimiterKind::Unknown, "neither a clear queue");
}

#[test]
fn a_server_that_is_not_visible() {
    let elsewhere = |facts: &mut Facts| {
        queued(facts, 16.0);
        facts.server = None;
        facts.here = false;
    };
    check(elsewhere, LimiterKind::Server, "not visible from here");
    let of_another_user = |facts: &mut Facts| {
        queued(facts, 16.0);
        facts.server = None;
        others(facts, 1.0);
    };
    check(of_another_user, LimiterKind::Server, "not visible from here");
    let idle = |facts: &mut Facts| {
        queued(facts, 16.0);
        facts.server = None;
    };
    check(idle, LimiterKind::ServerWaits, "almost no CPU is in use");
    let full = |facts: &mut Facts| {
        facts.server = None;
        facts.client = thread(0.5, 0.45);
        others(facts, 1.9);
    };
    check(full, LimiterKind::Unknown, "not visible from here");
}

#[test]
fn a_disk() {
    let disk = |facts: &mut Facts| {
        queued(facts, 8.0);
        facts.io_pressure = Some(0.8);
        facts.server.as_mut().expect("a server").disk_bytes_per_request = 4096.0;
    };
    check(disk, LimiterKind::ServerDisk, "4,096 bytes per request");
    let log = |facts: &mut Facts| {
        disk(facts);
        facts.io_pressure = Some(0.1);
    };
    check(log, LimiterKind::ServerWaits, "look for a lock");
}

#[test]
fn the_servers_cpu() {
    let both = |facts: &mut Facts| busy(facts, &[thread(0.96, 0.03), thread(0.95, 0.04)]);
    check(both, LimiterKind::ServerCpu, "1.9 of 2 cores");
    // More threads than cores: each of them waits for its turn.
    let eight = |facts: &mut Facts| busy(facts, &[thread(0.24, 0.75); 8]);
    check(eight, LimiterKind::ServerCpu, "1.9 of 2 cores");
    // Many threads that come and go, none of them busy for long.
    let short_lived = |facts: &mut Facts| busy(facts, &[thread(0.06, 0.06); 31]);
    check(short_lived, LimiterKind::ServerCpu, "1.9 of 2 cores");
    let quota = |facts: &mut Facts| {
        busy(facts, &[thread(0.5, 0.0)]);
        facts.server.as_mut().expect("a server").throttled_share = 0.5;
    };
    check(quota, LimiterKind::ServerCpu, "out of quota for 50 %");
}

#[test]
fn threads_of_the_server() {
    let idle = thread(0.0, 0.0);
    check(
        |f| busy(f, &[thread(0.98, 0.01), idle, idle, idle]),
        LimiterKind::ServerThread,
        "the other 3 idle",
    );
    let only = |facts: &mut Facts| {
        busy(facts, &[thread(0.98, 0.01)]);
        facts.server.as_mut().expect("a server").threads = 1;
    };
    check(only, LimiterKind::ServerThread, "only thread is at 98 %");
    let two_of_four = |facts: &mut Facts| {
        facts.cpus = 8.0;
        facts.server.as_mut().expect("a server").cpus = 8.0;
        busy(facts, &[thread(0.97, 0.01), thread(0.96, 0.01), idle, idle]);
    };
    check(two_of_four, LimiterKind::ServerThread, "2 of the server's 4 threads");
    let one_connection = |facts: &mut Facts| {
        busy(facts, &[thread(0.95, 0.0), idle, idle, idle]);
        facts.in_flight = 1.0;
    };
    check(one_connection, LimiterKind::Unknown, "try more connections");
}

#[test]
fn the_client() {
    let saturated = |facts: &mut Facts| facts.client = thread(0.95, 0.02);
    check(saturated, LimiterKind::Client, "busiest thread used 95 %");
    let calibrated = |facts: &mut Facts| {
        facts.capacity_share = Some(0.9);
        facts.client = thread(0.75, 0.02);
    };
    check(calibrated, LimiterKind::Client, "90 % of what it can do");
    // Both are busy: the busier one.
    let both = |facts: &mut Facts| {
        busy(facts, &[thread(0.99, 0.0)]);
        facts.client = thread(0.86, 0.05);
    };
    check(both, LimiterKind::ServerThread, "99 %");
}

#[test]
fn what_the_server_depends_on() {
    let database = |cores: f64, share: f64| {
        move |facts: &mut Facts| {
            queued(facts, 8.0);
            busy(facts, &[thread(0.3, 0.0)]);
            let server = facts.server.as_mut().expect("a server");
            server.dependant = Some(("postgres at 127.0.0.1:5432".to_owned(), cores, share));
            others(facts, cores);
        }
    };
    check(database(0.97, 0.97), LimiterKind::Dependant, "postgres at 127.0.0.1:5432 is at 97 %");
    check(database(1.6, 0.4), LimiterKind::Dependant, "used 1.6 of 2 cores");
    check(database(0.4, 0.4), LimiterKind::ServerWaits, "postgres at 127.0.0.1:5432 0.4 cores");
}

#[test]
fn a_full_listen_queue() {
    let full = |facts: &mut Facts| {
        facts.overflows = 3_000;
        facts.opened_per_request = 1.0;
        facts.connect_max_ms = 3_040.0;
        facts.connect_mean_ms = 900.0;
        facts.response_mean_ms = 940.0;
    };
    check(full, LimiterKind::ListenQueue, "was full 3,000 times");
    let kept_out = |facts: &mut Facts| {
        facts.overflows = 300;
        facts.opened_per_request = 1.0;
        facts.in_flight = 64.0;
    };
    check(kept_out, LimiterKind::ListenQueue, "75 % of the connections were kept out");
    let by_others = |facts: &mut Facts| {
        full(facts);
        facts.connect_max_ms = 0.5;
        facts.connect_mean_ms = 0.1;
        facts.response_mean_ms = 40.1;
    };
    check(by_others, LimiterKind::Connections, "as long as alone");
    // The handler is the cause, the queue what follows from it.
    let serial = |facts: &mut Facts| {
        full(facts);
        facts.service_mean_ms = 240.0;
        facts.service_median_ms = 240.0;
    };
    check(serial, LimiterKind::ServerWaits, "6.0 times as long as alone");
    let failing = |facts: &mut Facts| {
        full(facts);
        facts.failed_share = 0.8;
    };
    check(failing, LimiterKind::ListenQueue, "longer backlog");
}

#[test]
fn the_machine() {
    let crowded = |facts: &mut Facts| {
        busy(facts, &[thread(0.5, 0.48)]);
        others(facts, 1.4);
    };
    check(crowded, LimiterKind::Machine, "other programs used 1.4");
    let stolen = |facts: &mut Facts| {
        facts.stolen_cores = 0.6;
        facts.client = thread(0.4, 0.5);
    };
    check(stolen, LimiterKind::Machine, "hypervisor took 0.6 of its 2 cores");
    let shared = |facts: &mut Facts| {
        busy(facts, &[thread(0.5, 0.1), thread(0.5, 0.1)]);
        facts.client = thread(0.84, 0.02);
        facts.client_cores = 0.9;
        facts.used_cores = Some(1.95);
    };
    check(shared, LimiterKind::Machine, "put the client on another machine");
    // Times that the wait for a core made longer are no queue of the server's.
    let waiting = |facts: &mut Facts| {
        facts.rate = 3_000.0;
        facts.response_mean_ms = 1.2;
        facts.service_mean_ms = 1.1;
        facts.service_median_ms = 1.1;
        facts.solo = Some(solo(200, 1.0, 0.5));
        busy(facts, &[thread(0.2, 0.3), thread(0.2, 0.3), thread(0.2, 0.3), thread(0.2, 0.3)]);
        facts.client_delay_ms = 0.2;
        others(facts, 1.1);
    };
    check(waiting, LimiterKind::Machine, "other programs used 1.1");
}

#[test]
fn the_network() {
    check(|facts| facts.link_share = Some(0.93), LimiterKind::Network, "93 %");
}

#[test]
fn too_few_answers() {
    check(|facts| facts.answers = 9, LimiterKind::Unknown, "9 answers are too few");
    check(|facts| facts.failed_share = 0.6, LimiterKind::Unknown, "most requests failed");
    let empty = of(&Facts::default());
    assert_eq!(empty.kind, LimiterKind::Unknown);
}
