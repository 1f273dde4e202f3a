//! Requests of sessions that are sent again: servers that fail in known ways, know what each session must bring, and keep
//! what they got.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use prony_model::{
    Extraction, ExtractionSource, FindingCode, LatencySummary, RunPlan, RunResult, Scenario,
    SessionConnections, Step, StepBody, Think, Timeouts,
};

use crate::plans::{closed, for_ms, has_finding, plan, poisson, requests, run};
use crate::retries::{changed, found, reasons, with_retries};
use crate::scenario::{field, flow, path, scenario, sessions, step, with_status};
use crate::server::{Peer, Request, Server, ok};
use crate::tls::{config, trusting};

const BUSY: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n";

/// Requests as they came, each with whether it was answered.
type Log = Arc<Mutex<Vec<(String, bool)>>>;

/// What becomes of a request.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Answered,
    /// 503, with a cookie and a token that must not count.
    Busy,
    Reset,
    /// The connection ends in the middle of an answer, whose head has a cookie and a token that must not count.
    Cut,
}

/// A login gets a token in its head and a cookie; an order must bring both back.
fn shop(log: Log, fate: impl Fn(u64) -> Fate + Send + Sync + 'static) -> impl Fn(&mut Peer) + Send + Sync {
    move |peer| {
        while let Some(request) = peer.request() {
            let fate = fate(request.number);
            let bytes = format!("{}{}", request.head, String::from_utf8_lossy(&request.body));
            log.lock().expect("no panic").push((bytes, fate == Fate::Answered));
            let wrong = "Set-Cookie: sid=wrong; Path=/\r\nX-Token: wrong\r\n";
            let goes_on = match fate {
                Fate::Answered => peer.answer(&shop_answer(&request)),
                Fate::Busy => peer.answer(&with_status("503 Service Unavailable", wrong, "")),
                Fate::Reset => return peer.reset(),
                Fate::Cut => {
                    let whole = with_status("200 OK", wrong, "hello");
                    peer.answer(&whole[..whole.len() - 2]);
                    return;
                }
            };
            if !goes_on {
                return;
            }
        }
    }
}

fn shop_answer(request: &Request) -> Vec<u8> {
    let path = path(request);
    if let Some(id) = path.strip_prefix("/login?id=") {
        let fields = format!("Set-Cookie: sid={id}; Path=/\r\nX-Token: {id}\r\n");
        return with_status("200 OK", &fields, "");
    }
    let id = path.strip_prefix("/order?id=").unwrap_or("another path");
    let is_own = field(request, "X-Token") == Some(id)
        && field(request, "Cookie") == Some(&format!("sid={id}"))
        && request.body == format!("order of {id}").as_bytes();
    with_status(if is_own { "201 Created" } else { "403 Forbidden" }, "", "")
}

/// A login, and an order that needs what the login has got; each login has a number of its own.
fn buy() -> Option<Box<Scenario>> {
    let token = Extraction {
        name: "token".to_owned(),
        from: ExtractionSource::Header("X-Token".to_owned()),
        default: None,
    };
    let login = Step {
        method: "POST".to_owned(),
        body: StepBody::Text("number {counter} {uuid}".to_owned()),
        extract: vec![token],
        ..step("login", "/login?id={id}")
    };
    let order = Step {
        method: "POST".to_owned(),
        headers: vec![("X-Token".to_owned(), "{token}".to_owned())],
        body: StepBody::Text("order of {id}".to_owned()),
        ..step("order", "/order?id={id}")
    };
    let mut buy = flow("buy", 1, vec![login, order]);
    buy.variables = vec![("id".to_owned(), "{uuid}".to_owned())];
    scenario(vec![buy])
}

/// All of `count` sessions were completed; each of their requests was answered once, and each of its attempts was the same.
fn check(result: &RunResult, log: &Log, count: u64) {
    let of = sessions(result);
    assert_eq!((of.sessions.begun, of.sessions.completed), (count, count), "{:?}", result.errors);
    assert_eq!(
        (result.requests.intended, result.requests.sent, result.requests.done),
        (2 * count, 2 * count, 2 * count),
        "{:?}",
        result.errors
    );
    let log = log.lock().expect("no panic");
    let mut attempts: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for (bytes, is_answered) in log.iter() {
        let (all, answered) = attempts.entry(bytes).or_default();
        *all += 1;
        *answered += u64::from(*is_answered);
    }
    assert_eq!(attempts.len() as u64, 2 * count, "a retry is the request that was sent before");
    assert!(attempts.values().all(|(_, answered)| *answered == 1), "{attempts:#?}");
    let retries = found(result);
    assert_eq!(retries.retries, log.len() as u64 - 2 * count);
    assert_eq!(retries.attempts, log.len() as u64);
    assert_eq!(result.traffic.expect("known").measured.sent, retries.attempts);
    // Apart for each step, too.
    for (step, word) in of.steps.iter().zip(["/login?", "/order?"]) {
        let mine = || attempts.iter().filter(|(bytes, _)| bytes.contains(word)).map(|(_, counts)| counts.0);
        assert_eq!(step.done, count);
        assert_eq!(step.retries, mine().sum::<u64>() - count, "{}", step.name);
        assert_eq!(step.recovered, mine().filter(|all| *all > 1).count() as u64, "{}", step.name);
    }
    assert_eq!(of.steps.iter().map(|step| step.recovered).sum::<u64>(), retries.recovered);
}

on_both_drivers! {
    fn a_step_is_sent_again_as_it_was(driver) {
        for load in [closed(3), poisson(1500.0, 4)] {
            let log = Log::default();
            let fate = |number| if number % 3 == 1 { Fate::Busy } else { Fate::Answered };
            let server = Server::start(shop(Arc::clone(&log), fate));
            let plan = RunPlan { scenario: buy(), load, end: requests(60), threads: 2, ..plan(server.url()) };
            let result = run(driver, with_retries(plan, 20, "503", [1, 3]));
            check(&result, &log, 60);
            let retries = found(&result);
            assert!(retries.retries >= 40, "{retries:?}");
            assert_eq!(retries.by_reason, reasons(&[("503", retries.retries)]));
            assert!(has_finding(&result, FindingCode::RetryStorm));
        }
    }

    fn over_tls(driver) {
        let log = Log::default();
        let fate = |number| if number % 4 == 2 { Fate::Busy } else { Fate::Answered };
        let server = Server::over_tls(config("server"), shop(Arc::clone(&log), fate));
        let plan = RunPlan { scenario: buy(), load: closed(2), end: requests(20), ..trusting(server.url()) };
        check(&run(driver, with_retries(plan, 20, "503", [0, 0])), &log, 20);
    }

    fn connections_that_end_lose_no_session(driver) {
        for connections in [SessionConnections::Shared, SessionConnections::Session] {
            let log = Log::default();
            let fate = |number| match number % 7 {
                1 => Fate::Reset,
                3 => Fate::Cut,
                5 => Fate::Busy,
                _ => Fate::Answered,
            };
            let server = Server::start(shop(Arc::clone(&log), fate));
            let scenario = buy().map(|buy| Box::new(Scenario { connections, ..*buy }));
            let plan = RunPlan { scenario, load: closed(3), end: requests(40), ..plan(server.url()) };
            let result = run(driver, with_retries(plan, 20, "connect,reset,5xx", [1, 2]));
            check(&result, &log, 40);
            let by_reason = &found(&result).by_reason;
            assert!(by_reason["reset"] >= 10 && by_reason["503"] >= 5, "{by_reason:?}");
        }
    }

    // What the user waits for has the failed attempts and the backoffs in it, and no think time.
    fn both_clocks_of_a_step(driver) {
        let server = Server::start(|peer| {
            while let Some(request) = peer.request() {
                if !peer.answer(&if request.number % 3 < 2 { BUSY.to_vec() } else { ok("hello") }) {
                    return;
                }
            }
        });
        let think = Think::Constant { time: Duration::from_millis(30) };
        let steps = vec![Step { think, ..step("a", "/a") }, step("b", "/b")];
        let scenario = scenario(vec![flow("f", 1, steps)]);
        let plan = RunPlan { scenario, end: requests(4), seed: 42, ..plan(server.url()) };
        let result = run(driver, with_retries(plan, 3, "503", [8, 10]));
        let waits = crate::retries::waits(42, (0..16).map(|at| at % 2 + 1), 8_000_000, 10_000_000);
        let waited = waits.iter().sum::<u64>() as f64 / 1e6;
        let retries = found(&result);
        assert_eq!((retries.retries, retries.recovered, server.requests()), (16, 8, 24));
        assert_eq!(retries.by_attempts, BTreeMap::from([(3, 8)]));
        let of = sessions(&result);
        let total = |summary: &LatencySummary| summary.mean_ms.expect("some") * summary.count as f64;
        let responses: f64 = of.steps.iter().map(|step| total(&step.response)).sum();
        let services: f64 = of.steps.iter().map(|step| total(&step.service)).sum();
        assert!(responses - services >= waited, "{responses} {services} {waited}");
        let flow = &of.flows[0];
        assert!((total(&flow.time) - total(&flow.time_without_think) - 4.0 * 30.0).abs() < 1e-3, "{flow:?}");
        // Nothing is lost between steps.
        assert!((total(&flow.time_without_think) - responses).abs() < 1e-3, "{flow:?} {responses}");
        assert!(of.steps.iter().all(|step| (step.retries, step.recovered) == (8, 4)), "{:?}", of.steps);
    }

    fn a_session_that_gives_up_counts_once(driver) {
        let server = Server::start(|peer| {
            while let Some(request) = peer.request() {
                if !peer.answer(&if path(&request) == "/b" { BUSY.to_vec() } else { ok("hello") }) {
                    return;
                }
            }
        });
        let steps = vec![step("a", "/a"), step("b", "/b"), step("c", "/c")];
        let scenario = scenario(vec![flow("f", 1, steps)]);
        let plan = RunPlan { scenario, load: closed(2), end: requests(10), ..plan(server.url()) };
        let result = run(driver, with_retries(plan, 2, "503", [1, 1]));
        let of = sessions(&result);
        assert_eq!((of.sessions.begun, of.sessions.failed), (10, 10));
        let [a, b, c] = &of.steps[..] else { panic!("three steps") };
        assert_eq!((a.done, a.retries, b.done, b.retries, b.recovered, c.ended), (10, 0, 0, 20, 0, 0));
        assert_eq!(b.failed, reasons(&[("status", 10)]));
        let retries = found(&result);
        assert_eq!((result.requests.done, result.requests.failed), (10, 10));
        assert_eq!((retries.exhausted, retries.retries, server.requests()), (10, 20, 40));
    }

    fn the_cookies_of_the_last_attempt_count(driver) {
        // Where all attempts have failed and the session goes on, too.
        let server = Server::start(|peer| {
            while let Some(request) = peer.request() {
                let cookie = field(&request, "Cookie").unwrap_or_default();
                let answer = match path(&request) {
                    "/a" => with_status(
                        "503 No",
                        &format!("Set-Cookie: last={}\r\nSet-Cookie: own{}=1\r\n", request.number, request.number),
                        "",
                    ),
                    _ if cookie == "last=2; own2=1" => ok("good"),
                    _ => with_status("403 No", "", cookie),
                };
                if !peer.answer(&answer) {
                    return;
                }
            }
        });
        let steps = vec![Step { go_on: true, ..step("a", "/a") }, step("b", "/b")];
        let plan = RunPlan { scenario: scenario(vec![flow("f", 1, steps)]), ..plan(server.url()) };
        let result = run(driver, with_retries(plan, 2, "503", [0, 0]));
        assert_eq!(sessions(&result).steps[1].done, 1, "{:?}", result.statuses);
        assert_eq!((server.requests(), sessions(&result).sessions.completed), (4, 1));
    }

    fn only_the_request_of_a_redirect_that_failed_is_sent_again(driver) {
        let server = Server::start(|peer| {
            let mut busy = 0;
            while let Some(request) = peer.request() {
                let answer = match (request.head.split(' ').next(), path(&request)) {
                    (Some("POST"), "/form") if request.body == b"x" => with_status("303 See", "Location: /done\r\n", ""),
                    (Some("GET"), "/done") if request.body.is_empty() => {
                        busy += 1;
                        if busy % 3 == 0 { ok("done") } else { BUSY.to_vec() }
                    }
                    _ => with_status("400 No", "", ""),
                };
                if !peer.answer(&answer) {
                    return;
                }
            }
        });
        let form = Step {
            method: "POST".to_owned(),
            body: StepBody::Text("x".to_owned()),
            redirects: 1,
            ..step("form", "/form")
        };
        let plan = RunPlan { scenario: scenario(vec![flow("f", 1, vec![form])]), end: requests(5), ..plan(server.url()) };
        let result = run(driver, with_retries(plan, 4, "503", [1, 2]));
        let found_step = &sessions(&result).steps[0];
        assert_eq!((found_step.done, found_step.retries, found_step.recovered), (5, 10, 5));
        assert_eq!((server.requests(), found(&result).retries), (20, 10));
        assert_eq!(result.requests.done, 10, "two of each session");
    }

    fn all_sessions_share_the_budget(driver) {
        let server = Server::answering(BUSY);
        let scenario = scenario(vec![flow("f", 1, vec![step("a", "/")])]);
        let plan = RunPlan { scenario, load: closed(4), end: requests(200), ..plan(server.url()) };
        let plan = changed(with_retries(plan, 3, "503", [1, 2]), |retries| retries.budget = Some(0.2));
        let result = run(driver, plan);
        let retries = found(&result);
        assert_eq!((retries.retries, server.requests()), (50, 250));
        assert_eq!((result.requests.failed, sessions(&result).sessions.failed), (200, 200));
        assert_eq!(sessions(&result).steps[0].retries, 50);
        assert_eq!(retries.exhausted + retries.refused_by_budget, 200);
    }

    fn retries_go_on_behind_the_end(driver) {
        for load in [closed(3), poisson(100.0, 5)] {
            // The first attempt of each fails; the next one comes when the run has ended, for most.
            let seen: Mutex<BTreeMap<String, u64>> = Mutex::default();
            let server = Server::start(move |peer| {
                while let Some(request) = peer.request() {
                    let mut seen = seen.lock().expect("no panic");
                    let count = seen.entry(path(&request).to_owned()).or_default();
                    *count += 1;
                    if !peer.answer(&if *count == 1 { BUSY.to_vec() } else { ok("hello") }) {
                        return;
                    }
                }
            });
            let scenario = scenario(vec![flow("f", 1, vec![step("a", "/{uuid}"), step("b", "/{uuid}")])]);
            let plan = RunPlan { scenario, load, end: for_ms(120), ..plan(server.url()) };
            let result = run(driver, with_retries(plan, 3, "503", [300, 300]));
            let retries = found(&result);
            assert_eq!((retries.waiting_at_end, result.requests.failed), (0, 0), "{:?}", result.requests);
            assert_eq!(result.requests.done, result.requests.sent, "{:?}", result.requests);
            assert_eq!((retries.retries, retries.recovered), (result.requests.sent, result.requests.sent));
        }
    }

    fn what_waits_at_the_end_is_unfinished(driver) {
        let server = Server::answering(BUSY);
        for load in [closed(3), poisson(100.0, 5)] {
            let hour = 3_600_000;
            let timeouts = Timeouts { request: Duration::from_hours(2), drain: Duration::from_millis(300), ..Timeouts::default() };
            let scenario = scenario(vec![flow("f", 1, vec![step("a", "/")])]);
            let plan = RunPlan { scenario, load, end: for_ms(150), timeouts, ..plan(server.url()) };
            let result = run(driver, with_retries(plan, 3, "503", [hour, hour]));
            let retries = found(&result);
            assert!(retries.waiting_at_end >= 1, "{retries:?}");
            assert!(result.requests.censored >= retries.waiting_at_end, "{:?}", result.requests);
            assert_eq!((retries.retries, sessions(&result).sessions.unfinished), (0, sessions(&result).sessions.begun));
        }
    }

    fn a_server_that_is_gone_fails_each_session_once(driver) {
        let server = Server::start(|peer| {
            if peer.request().is_some() {
                peer.stop_listening();
                peer.answer(&with_status("200 OK", "Connection: close\r\n", ""));
            }
        });
        let scenario = scenario(vec![flow("f", 1, vec![step("a", "/{counter}")])]);
        let plan = RunPlan { scenario, end: requests(10), ..plan(server.url()) };
        let result = run(driver, with_retries(plan, 2, "connect", [1, 2]));
        let retries = found(&result);
        assert_eq!((result.requests.done, result.requests.failed), (1, 9), "{:?}", result.requests);
        assert_eq!((retries.exhausted, &retries.by_reason), (9, &reasons(&[("connect", 18)])));
        let of = sessions(&result);
        assert_eq!((of.sessions.completed, of.sessions.failed, of.steps[0].retries), (1, 9, 18));
        assert_eq!(of.steps[0].failed, reasons(&[("connection", 9)]));
    }
}
