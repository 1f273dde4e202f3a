//! What sessions do to connections and to the client: connections of their own, requests that are alone, steps along the
//! run, and bodies that must be decoded.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use prony_model::{
    Extraction, ExtractionSource, LatencySummary, LimiterKind, RunPlan, RunResult, Scenario,
    SessionConnections, Step, Think,
};

use crate::plans::{closed, for_ms, plan, poisson, requests, run};
use crate::scenario::{flow, path, scenario, sessions, step, with_status};
use crate::server::{Server, ok};
use crate::tls::{config, trusting};

/// Sessions of two steps, `/N/a` and `/N/b`, with a little time to think, each with a connection of its own.
fn own_connections() -> Option<Box<Scenario>> {
    let think = Think::Constant { time: Duration::from_millis(3) };
    let steps = vec![Step { think, ..step("a", "/{session}/a") }, step("b", "/{session}/b")];
    let shared = scenario(vec![flow("f", 1, steps)])?;
    Some(Box::new(Scenario { connections: SessionConnections::Session, ..*shared }))
}

/// The paths that each connection was asked for.
type Seen = Arc<Mutex<Vec<Vec<String>>>>;

/// A server that answers `answer`, and what its connections were asked for.
fn watched(answer: &'static [u8]) -> (impl Fn(&mut crate::server::Peer) + Send + Sync + 'static, Seen) {
    let seen = Seen::default();
    let all = Arc::clone(&seen);
    let script = move |peer: &mut crate::server::Peer| {
        let mut own = Vec::new();
        while let Some(request) = peer.request() {
            own.push(path(&request).to_owned());
            if !peer.answer(answer) {
                break;
            }
        }
        if !own.is_empty() {
            all.lock().expect("no panic").push(own);
        }
    };
    (script, seen)
}

/// Every connection carried one session, whole.
fn check_own(server: Server, seen: &Seen, result: &RunResult, count: usize) {
    let found = sessions(result);
    assert_eq!(
        (found.sessions.completed, found.sessions.begun),
        (count as u64, count as u64),
        "{:?}",
        found.steps
    );
    assert_eq!(result.connections.opened, count as u64);
    assert_eq!(result.connections.closed_by_server, 0);
    // Its threads have seen the end of their connections.
    drop(server);
    let seen = seen.lock().expect("no panic");
    let mut numbers: BTreeMap<&str, usize> = BTreeMap::new();
    for paths in seen.iter() {
        let number = paths[0].split('/').nth(1).expect("a number");
        assert_eq!(*paths, [format!("/{number}/a"), format!("/{number}/b")]);
        *numbers.entry(number).or_default() += 1;
    }
    assert_eq!(numbers.len(), count, "{numbers:?}");
}

const HELLO: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

on_both_drivers! {
    fn a_session_has_a_connection_of_its_own(driver) {
        let (script, seen) = watched(HELLO);
        let server = Server::start(script);
        let plan = RunPlan {
            scenario: own_connections(), load: closed(3), end: requests(30), threads: 2, ..plan(server.url())
        };
        let result = run(driver, plan);
        let mean = |summary: &LatencySummary| summary.mean_ms.expect("there are some");
        // Connecting is in the response time of the first step, and in nothing else.
        let [a, b] = [&sessions(&result).steps[0], &sessions(&result).steps[1]];
        assert!(mean(&a.response) - mean(&a.service) >= 0.99 * mean(&result.latency.connect), "{a:?}");
        assert!(mean(&b.service) <= mean(&b.response));
        check_own(server, &seen, &result, 30);
    }

    fn also_over_tls(driver) {
        let (script, seen) = watched(HELLO);
        let server = Server::over_tls(config("server"), script);
        let plan = RunPlan { scenario: own_connections(), load: closed(2), end: requests(8), ..trusting(server.url()) };
        let result = run(driver, plan);
        check_own(server, &seen, &result, 8);
    }

    fn more_sessions_than_connections_wait_for_one(driver) {
        let (script, seen) = watched(HELLO);
        let server = Server::start(script);
        // Sessions that hold a connection go on although others, which wait for one, have arrived before their next step.
        let plan = RunPlan {
            scenario: own_connections(), load: poisson(2000.0, 2), end: requests(40), ..plan(server.url())
        };
        let result = run(driver, plan);
        check_own(server, &seen, &result, 40);
    }

    fn a_connection_that_the_server_closes_is_opened_again(driver) {
        let closing = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello";
        let server = Server::start(move |peer| {
            peer.request();
            peer.answer(closing);
        });
        let plan = RunPlan {
            scenario: own_connections(), load: closed(3), end: requests(12), ..plan(server.url())
        };
        let result = run(driver, plan);
        assert_eq!(sessions(&result).sessions.completed, 12, "{:?}", sessions(&result).steps);
        assert_eq!((result.connections.opened, server.requests()), (24, 24));
    }

    fn a_session_that_fails_leaves_its_connection_to_nobody(driver) {
        let (script, seen) = watched(b"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n");
        let server = Server::start(script);
        let plan = RunPlan { scenario: own_connections(), load: closed(2), end: requests(6), ..plan(server.url()) };
        let result = run(driver, plan);
        assert_eq!((sessions(&result).sessions.failed, result.connections.opened), (6, 6));
        drop(server);
        assert!(seen.lock().expect("no panic").iter().all(|paths| paths.len() == 1), "{seen:?}");
    }

    fn steps_along_the_run_add_up(driver) {
        let server = Server::start(|peer| {
            while let Some(request) = peer.request() {
                let fails = path(&request) == "/b" && request.number % 3 == 0;
                peer.answer(&if fails { with_status("503 Busy", "", "") } else { ok("hello") });
            }
        });
        let steps = vec![step("a", "/a"), Step { go_on: true, ..step("b", "/b") }, step("c", "/c")];
        let plan = RunPlan {
            scenario: scenario(vec![flow("f", 1, steps)]), load: poisson(300.0, 20), end: for_ms(1500), threads: 2,
            ..plan(server.url())
        };
        let result = run(driver, plan);
        for step in &sessions(&result).steps {
            let points = &step.timeline;
            assert_eq!(points.len(), 2, "{points:?}");
            assert_eq!(points.iter().map(|point| point.ended).sum::<u64>(), step.ended, "{points:?}");
            let failed: u64 = points.iter().map(|point| point.failed).sum();
            assert_eq!(failed, step.ended - step.done, "{points:?}");
            let longest = points.iter().filter_map(|point| point.max_ms).fold(0.0, f64::max);
            assert_eq!(Some(longest), step.response.max_ms);
        }
        assert!(sessions(&result).steps[1].failed.contains_key("status"));
    }

    fn requests_of_thinking_users_are_alone_or_not(driver) {
        // Three users who come at once are together; one is always alone.
        let server = Server::start(|peer| {
            while peer.request().is_some() {
                std::thread::sleep(Duration::from_millis(5));
                peer.answer(HELLO);
            }
        });
        let think = Think::Constant { time: Duration::from_millis(5) };
        let of = |users: u32| RunPlan {
            scenario: scenario(vec![flow("f", 1, vec![Step { think, ..step("a", "/") }, step("b", "/")])]),
            load: closed(users),
            end: requests(20),
            ..plan(server.url())
        };
        let one = run(driver, of(1));
        for step in &sessions(&one).steps {
            let alone = step.alone.expect("each is alone");
            assert_eq!((alone.count, Some(alone.mean_ms)), (step.done, step.service.mean_ms));
            assert!(alone.min_ms >= 5.0, "{alone:?}");
        }
        let limiter = one.limiter.as_ref().expect("there is one");
        assert!(matches!(limiter.kind, LimiterKind::Users | LimiterKind::Unknown | LimiterKind::Machine), "{limiter:?}");
        let three = run(driver, of(3));
        let first = &sessions(&three).steps[0];
        assert!(first.alone.is_none_or(|alone| alone.count < first.done), "{first:?}");
    }

    fn bodies_are_decoded_where_they_are_read(driver) {
        // `{"token": 7}` as node's zlib and zstd write it.
        let coded: [(&str, &[u8]); 2] = [
            ("br", b"\x8b\x05\x80{\"token\": 7}\x03"),
            ("zstd", b"\x28\xb5\x2f\xfd\x20\x0c\x61\x00\x00{\"token\": 7}"),
        ];
        let server = Server::start(move |peer| {
            while let Some(request) = peer.request() {
                let answer = match path(&request) {
                    "/7" => ok("hello"),
                    "/window" => coded_answer("zstd", b"\x28\xb5\x2f\xfd\x00\xff\x29\x00\x00hello"),
                    name => {
                        let (coding, body) = coded.iter().find(|(coding, _)| name.ends_with(coding)).expect("known");
                        coded_answer(coding, body)
                    }
                };
                peer.answer(&answer);
            }
        });
        let reading = |name: &str| Step {
            extract: vec![Extraction {
                name: "token".to_owned(),
                from: ExtractionSource::Json("/token".to_owned()),
                default: None,
            }],
            ..step(name, &format!("/{name}"))
        };
        let steps = |name: &str| vec![reading(name), step(&format!("after-{name}"), "/{token}")];
        let flows = vec![flow("one", 1, steps("br")), flow("two", 1, steps("zstd"))];
        let plan_of = |flows| RunPlan {
            scenario: scenario(flows), load: closed(2), end: requests(20), ..plan(server.url())
        };
        let result = run(driver, plan_of(flows));
        let found = sessions(&result);
        assert_eq!((found.sessions.completed, found.sessions.failed), (20, 0), "{:?}", found.steps);
        let decoding = found.decoding.expect("bodies were decoded");
        assert_eq!((decoding.bodies, decoding.decoded_bytes), (20, 20 * 12));
        assert!(decoding.cpu_s > 0.0 && decoding.cpu_s <= result.client.cpu_s, "{decoding:?}");
        let result = run(driver, plan_of(vec![flow("one", 1, steps("window"))]));
        let failed = &sessions(&result).steps[0];
        assert_eq!(failed.failed.get("check"), Some(&20), "{failed:?}");
        assert!(failed.first_failure.as_ref().is_some_and(|text| text.contains("window")), "{failed:?}");
    }
}

fn coded_answer(coding: &str, body: &[u8]) -> Vec<u8> {
    let head =
        format!("HTTP/1.1 200 OK\r\nContent-Encoding: {coding}\r\nContent-Length: {}\r\n\r\n", body.len());
    [head.as_bytes(), body].concat()
}
