//! Sessions against servers that know what each step must bring, and count what they got.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use prony_model::{
    BodyCheck, ExpectedValue, Extraction, ExtractionSource, Feed, FeedEnd, FeedOrder, FeedRows, Flow,
    RunPlan, RunResult, Scenario, ScenarioResult, SessionConnections, SessionCounts, Step, StepBody,
    StepChecks, StepResult, Think,
};

use crate::plans::{closed, for_ms, open, plan, poisson, requests, run};
use crate::server::{Peer, Request, Server, ok};
use crate::tls::{config, trusting};

/// A GET of `path`.
pub(crate) fn step(name: &str, path: &str) -> Step {
    Step { name: name.to_owned(), ..Step::bare("GET", path.to_owned()) }
}

pub(crate) fn flow(name: &str, weight: u32, steps: Vec<Step>) -> Flow {
    Flow { name: name.to_owned(), weight, pacing: Duration::ZERO, variables: Vec::new(), steps }
}

#[expect(clippy::unnecessary_wraps, reason = "as plans have it")]
pub(crate) fn scenario(flows: Vec<Flow>) -> Option<Box<Scenario>> {
    Some(Box::new(Scenario {
        name: "test".to_owned(),
        cookies: true,
        connections: SessionConnections::Shared,
        feeds: Vec::new(),
        flows,
    }))
}

fn extract(name: &str, from: ExtractionSource) -> Extraction {
    Extraction { name: name.to_owned(), from, default: None }
}

fn feed(name: &str, order: FeedOrder, at_end: FeedEnd, values: &[&str]) -> Feed {
    let mut rows = FeedRows::new(1);
    for value in values {
        rows.push(&[value]).expect("one value");
    }
    Feed {
        name: name.to_owned(),
        file: format!("{name}.csv"),
        sha256: String::new(),
        rows: rows.len() as u64,
        columns: vec!["value".to_owned()],
        order,
        at_end,
        data: Arc::new(rows),
    }
}

/// What was found out of the sessions; the counts of all parts agree.
pub(crate) fn sessions(result: &RunResult) -> &ScenarioResult {
    let found = result.scenario.as_ref().expect("there was a scenario");
    let SessionCounts { begun, completed, failed, unfinished } = found.sessions;
    assert_eq!(begun, completed + failed + unfinished, "{:?}", found.sessions);
    for step in &found.steps {
        assert_eq!(step.ended, step.done + step.failed.values().sum::<u64>(), "{step:?}");
        assert_eq!((step.response.count, step.service.count), (step.done, step.done), "{step:?}");
        assert_eq!(step.timeline.iter().map(|point| point.ended).sum::<u64>(), step.ended, "{step:?}");
    }
    found
}

fn find<'a>(result: &'a RunResult, name: &str) -> &'a StepResult {
    sessions(result).steps.iter().find(|step| step.name == name).expect("there is this step")
}

pub(crate) fn path(request: &Request) -> &str {
    request.head.split(' ').nth(1).unwrap_or_default()
}

pub(crate) fn field<'a>(request: &'a Request, name: &str) -> Option<&'a str> {
    request.head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
}

pub(crate) fn with_status(status: &str, fields: &str, body: &str) -> Vec<u8> {
    format!("HTTP/1.1 {status}\r\n{fields}Content-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

/// Each login gets a cookie and a token of its own; an order needs both.
fn shop(peer: &mut Peer) {
    while let Some(request) = peer.request() {
        let answer = match path(&request) {
            "/api/login" => {
                let number = request.number;
                assert_eq!(request.body, b"name=ann%20%26&lang=de", "{}", request.head);
                let body =
                    format!("{{\"user\": {{\"token\": \"t-{number}\\n\"}}, \"ok\": true, \"n\": 2.50}}");
                with_status(
                    "200 OK",
                    &format!(
                        "Set-Cookie: sid={number}; Path=/; HttpOnly\r\nX-Kind: other\r\nX-Kind: shop\r\n"
                    ),
                    &body,
                )
            }
            "/api/order" => {
                let number = field(&request, "Cookie").and_then(|cookie| cookie.strip_prefix("sid="));
                let token = number.map(|number| format!("{{\"token\": \"t-{number}\\n\"}}"));
                let is_good = token.is_some_and(|token| token.as_bytes() == request.body);
                let status = if is_good { "201 Created" } else { "403 Forbidden" };
                with_status(status, "", "")
            }
            _ => with_status("404 Not Found", "", ""),
        };
        peer.answer(&answer);
    }
}

fn shopping() -> Option<Box<Scenario>> {
    let login = Step {
        method: "POST".to_owned(),
        body: StepBody::Form(vec![
            ("name".to_owned(), "{user}".to_owned()),
            ("lang".to_owned(), "de".to_owned()),
        ]),
        checks: StepChecks {
            headers: vec![("x-kind".to_owned(), "shop".to_owned())],
            json: vec![
                ("/ok".to_owned(), ExpectedValue::Logical(true)),
                ("/n".to_owned(), ExpectedValue::Number(2.5)),
            ],
            ..StepChecks::default()
        },
        extract: vec![extract("token", ExtractionSource::Json("/user/token".to_owned()))],
        ..step("login", "/login")
    };
    let order = Step {
        method: "POST".to_owned(),
        body: StepBody::Json("{\"token\": \"{token}\"}".to_owned()),
        ..step("order", "/order")
    };
    let mut buy = flow("buy", 1, vec![login, order]);
    buy.variables = vec![("user".to_owned(), "ann &".to_owned())];
    scenario(vec![buy])
}

fn check_shopping(result: &RunResult, count: u64) {
    let found = sessions(result);
    let all = SessionCounts { begun: count, completed: count, failed: 0, unfinished: 0 };
    assert_eq!(found.sessions, all, "{:?}", found.steps);
    assert_eq!([found.steps[0].done, found.steps[1].done], [count, count]);
    assert_eq!(result.requests.done, 2 * count);
    assert_eq!(result.statuses.get(&201), Some(&count), "{:?}", result.statuses);
}

on_both_drivers! {
    fn what_a_step_is_given_the_next_one_sends(driver) {
        let server = Server::start(shop);
        let url = format!("{}api/", server.url());
        let plan = RunPlan { scenario: shopping(), load: closed(3), end: requests(30), threads: 2, ..plan(&url) };
        let result = run(driver, plan);
        check_shopping(&result, 30);
        assert_eq!(server.requests(), 60);
        assert_eq!(server.used_connections(), 3);
    }

    fn sessions_over_tls(driver) {
        let server = Server::over_tls(config("server"), shop);
        let url = format!("{}api", server.url());
        let plan = RunPlan { scenario: shopping(), load: closed(2), end: requests(10), ..trusting(&url) };
        check_shopping(&run(driver, plan), 10);
    }

    fn sessions_arrive_by_the_clock(driver) {
        let server = Server::start(shop);
        let url = format!("{}api/", server.url());
        let plan = RunPlan {
            scenario: shopping(), load: poisson(400.0, 50), end: requests(100), threads: 2, ..plan(&url)
        };
        let result = run(driver, plan);
        check_shopping(&result, 100);
        // The seed says when they arrive: the last of a thread's 50, at 200 a second, within 5 standard deviations.
        let measured_s = result.timing.measured_s;
        assert!(measured_s > (50.0 - 5.0 * 50_f64.sqrt()) / 200.0, "{measured_s}");
    }

    fn think_time_is_the_sessions_and_no_steps(driver) {
        let server = Server::answering(&ok("hello"));
        let think = Think::Constant { time: Duration::from_millis(20) };
        let steps = vec![Step { think, ..step("a", "/a") }, Step { think, ..step("b", "/b") }, step("c", "/c")];
        let plan = RunPlan {
            scenario: scenario(vec![flow("f", 1, steps)]), load: closed(2), end: requests(10), ..plan(server.url())
        };
        let result = run(driver, plan);
        let found = sessions(&result);
        let flow = &found.flows[0];
        let mean = |summary: &prony_model::LatencySummary| summary.mean_ms.expect("there are some");
        let steps: f64 = found.steps.iter().map(|step| mean(&step.response)).sum();
        // A step is due when the one before has ended and the think time is over, so nothing is lost between them.
        assert!((mean(&flow.time) - mean(&flow.time_without_think) - 40.0).abs() < 1e-6, "{flow:?}");
        assert!((mean(&flow.time_without_think) - steps).abs() < 1e-6, "{flow:?} {steps}");
    }

    fn a_stall_is_in_the_response_times_of_those_who_wait(driver) {
        // One connection, and the first answer to b takes 300 ms: a session that comes meanwhile waits for the connection.
        let server = Server::start(|peer| {
            let mut stalled = false;
            while let Some(request) = peer.request() {
                if path(&request) == "/b" && !std::mem::replace(&mut stalled, true) {
                    std::thread::sleep(Duration::from_millis(300));
                }
                peer.answer(&ok("hello"));
            }
        });
        let steps = vec![step("a", "/a"), step("b", "/b")];
        let plan = RunPlan {
            scenario: scenario(vec![flow("f", 1, steps)]), load: open(100.0, 1), end: requests(20), ..plan(server.url())
        };
        let result = run(driver, plan);
        let a = find(&result, "a");
        assert!(find(&result, "b").service.max_ms >= Some(300.0));
        // Of the sessions that arrived during the stall the earliest waited for nearly all of it.
        assert!(a.response.max_ms >= Some(200.0), "{:?}", a.response);
    }

    fn weights_are_shares(driver) {
        let server = Server::answering(&ok("hello"));
        let flows = vec![flow("many", 3, vec![step("many", "/m")]), flow("few", 1, vec![step("few", "/f")])];
        let plan = RunPlan { scenario: scenario(flows), load: closed(4), end: requests(1600), threads: 2, ..plan(server.url()) };
        let result = run(driver, plan);
        let few = find(&result, "few").done;
        // 400 expected, with a standard deviation of 17.
        assert!((313..487).contains(&few), "{few}");
        assert_eq!(find(&result, "many").done + few, 1600);
    }

    fn a_row_of_a_unique_feed_goes_to_one_session(driver) {
        let seen: Arc<Mutex<BTreeMap<String, u32>>> = Arc::default();
        let count = Arc::clone(&seen);
        let server = Server::start(move |peer| {
            while let Some(request) = peer.request() {
                *count.lock().expect("no panic").entry(path(&request).to_owned()).or_default() += 1;
                peer.answer(&ok("hello"));
            }
        });
        let rows: Vec<String> = (0..100).map(|row| format!("r{row}")).collect();
        let rows: Vec<&str> = rows.iter().map(String::as_str).collect();
        let mut scenario = scenario(vec![flow("f", 1, vec![step("a", "/{rows.value}")])]);
        scenario.as_mut().expect("it is one").feeds = vec![feed("rows", FeedOrder::Unique, FeedEnd::Stop, &rows)];
        let plan = RunPlan { scenario, load: closed(6), threads: 3, end: for_ms(60_000), ..plan(server.url()) };
        let result = run(driver, plan);
        let seen = seen.lock().expect("no panic");
        assert_eq!(seen.len(), 100);
        assert!(seen.values().all(|times| *times == 1), "{seen:?}");
        assert_eq!((sessions(&result).sessions.completed, sessions(&result).ended_by_feed.as_deref()), (100, Some("rows")));
    }

    fn a_feed_begins_again(driver) {
        let server = Server::answering(&ok("hello"));
        let checks = StepChecks { body: Some(BodyCheck::Regex("^h".to_owned())), ..StepChecks::default() };
        let step = Step { checks, ..step("a", "/{rows.value}") };
        let mut scenario = scenario(vec![flow("f", 1, vec![step])]);
        scenario.as_mut().expect("it is one").feeds =
            vec![feed("rows", FeedOrder::Sequential, FeedEnd::Repeat, &["x y", "z"])];
        let plan = RunPlan { scenario, load: closed(1), end: requests(5), ..plan(server.url()) };
        assert_eq!(sessions(&run(driver, plan)).sessions.completed, 5);
    }

    fn no_value_smuggles_a_header(driver) {
        let server = Server::start(|peer| {
            while let Some(request) = peer.request() {
                assert!(!request.head.contains("Evil"), "{}", request.head);
                peer.answer(&ok("hello"));
            }
        });
        let headers = vec![("X-Name".to_owned(), "{rows.value}".to_owned())];
        let mut scenario = scenario(vec![flow("f", 1, vec![Step { headers, ..step("a", "/") }])]);
        scenario.as_mut().expect("it is one").feeds =
            vec![feed("rows", FeedOrder::Sequential, FeedEnd::Repeat, &["good", "x\r\nEvil: 1", "y\nEvil: 1"])];
        let plan = RunPlan { scenario, load: closed(1), end: requests(9), ..plan(server.url()) };
        let result = run(driver, plan);
        let a = find(&result, "a");
        assert_eq!((a.done, a.failed.get("request")), (3, Some(&6)));
        assert_eq!((server.requests(), sessions(&result).sessions.failed), (3, 6));
    }

    fn users_who_can_send_nothing_do_not_spin(driver) {
        let server = Server::answering(&ok("hello"));
        let step = Step { go_on: true, ..step("a", "/{raw(rows.value)}") };
        let mut scenario = scenario(vec![flow("f", 1, vec![step])]);
        scenario.as_mut().expect("it is one").feeds =
            vec![feed("rows", FeedOrder::Sequential, FeedEnd::Repeat, &["a b"])];
        let plan = RunPlan { scenario, load: closed(2), end: for_ms(200), ..plan(server.url()) };
        let result = run(driver, plan);
        let ended = find(&result, "a").ended;
        // Two users, and a pause of 10 ms behind each attempt.
        assert!((1..=2 * 30).contains(&ended) && server.requests() == 0, "{ended}");
    }

    fn what_finds_nothing_is_named(driver) {
        let server = Server::answering(&ok("hello"));
        let missing = extract("id", ExtractionSource::Regex { pattern: "id=(\\d+)".to_owned(), group: 1 });
        let other = Extraction { default: Some("7".to_owned()), name: "other".to_owned(), ..missing.clone() };
        let first = Step { extract: vec![other, missing], ..step("a", "/a") };
        let steps = vec![first, step("b", "/{id}")];
        let plan = RunPlan { scenario: scenario(vec![flow("f", 1, steps)]), load: closed(1), end: requests(4), ..plan(server.url()) };
        let result = run(driver, plan);
        let a = find(&result, "a");
        assert_eq!((a.done, a.failed.get("extract")), (0, Some(&4)));
        assert_eq!(a.nothing_found, BTreeMap::from([("id".to_owned(), 4), ("other".to_owned(), 4)]));
        assert_eq!(a.first_failure.as_deref(), Some("nothing was found for `id`"));
        assert_eq!((find(&result, "b").ended, sessions(&result).sessions.failed), (0, 4));
    }

    fn redirects_are_followed_and_bounded(driver) {
        let server = Server::start(|peer| {
            while let Some(request) = peer.request() {
                let to = |location: &str| with_status("302 Found", &format!("Location: {location}\r\n"), "");
                let answer = match (path(&request), request.head.split(' ').next()) {
                    ("/post", Some("POST")) => to("../x/.././next?x=1#part"),
                    ("/next?x=1", Some("GET")) => ok("here"),
                    ("/away", _) => to("http://elsewhere.example/"),
                    ("/loop", _) => to("/loop"),
                    _ => with_status("404 Not Found", "", ""),
                };
                peer.answer(&answer);
            }
        });
        let checks = StepChecks { contains: vec!["here".to_owned()], ..StepChecks::default() };
        let post = Step { method: "POST".to_owned(), body: StepBody::Text("x".to_owned()), checks, redirects: 2, go_on: true, ..step("post", "/post") };
        let looping = Step { redirects: 3, go_on: true, ..step("loop", "/loop") };
        let away = Step { redirects: 3, ..step("away", "/away") };
        let plan = RunPlan { scenario: scenario(vec![flow("f", 1, vec![post, looping, away])]), load: closed(1), end: requests(2), ..plan(server.url()) };
        let result = run(driver, plan);
        assert_eq!(find(&result, "post").done, 2, "{:?}", find(&result, "post"));
        assert_eq!(find(&result, "loop").failed.get("redirects"), Some(&2));
        assert_eq!(find(&result, "away").failed.get("redirects"), Some(&2));
        // Two for post, four in the loop, one to elsewhere.
        assert_eq!(server.requests(), 2 * 7);
    }

    fn a_body_in_pieces_is_read_whole(driver) {
        let server = Server::start(|peer| {
            while peer.request().is_some() {
                let body = format!("{}\"id\": 5}}", " ".repeat(40_000));
                let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{{", body.len() + 1);
                peer.answer(head.as_bytes());
                std::thread::sleep(Duration::from_millis(2));
                peer.answer(body.as_bytes());
            }
        });
        let first = Step { extract: vec![extract("id", ExtractionSource::Json("/id".to_owned()))], ..step("a", "/a") };
        let steps = vec![first, step("b", "/{id}")];
        let plan = RunPlan { scenario: scenario(vec![flow("f", 1, steps)]), load: closed(2), end: requests(6), ..plan(server.url()) };
        assert_eq!(sessions(&run(driver, plan)).sessions.completed, 6);
    }

    fn a_session_ends_with_its_connection(driver) {
        let server = Server::start(|peer| {
            while let Some(request) = peer.request() {
                if path(&request) == "/b" {
                    return peer.reset();
                }
                peer.answer(&ok("hello"));
            }
        });
        let steps = vec![step("a", "/a"), step("b", "/b"), step("c", "/c")];
        let plan = RunPlan { scenario: scenario(vec![flow("f", 1, steps)]), load: closed(2), end: requests(6), ..plan(server.url()) };
        let result = run(driver, plan);
        assert_eq!(find(&result, "b").failed.get("connection"), Some(&6));
        assert_eq!((sessions(&result).sessions.failed, find(&result, "c").ended), (6, 0));
    }

    fn what_is_under_way_at_the_end_is_unfinished(driver) {
        let server = Server::answering(&ok("hello"));
        let think = Think::Constant { time: Duration::from_mins(1) };
        let steps = vec![Step { think, ..step("a", "/a") }, step("b", "/b")];
        let plan = RunPlan { scenario: scenario(vec![flow("f", 1, steps)]), load: closed(3), end: for_ms(200), ..plan(server.url()) };
        let found = run(driver, plan);
        assert_eq!(sessions(&found).sessions, SessionCounts { begun: 3, completed: 0, failed: 0, unfinished: 3 });
    }
}
