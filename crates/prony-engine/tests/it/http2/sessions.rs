//! Sessions that share connections: each gets its own answers, in whatever order they come, and whatever the server refuses.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use prony_model::{
    ErrorKind, Extraction, ExtractionSource, Part, PartContent, RunPlan, RunResult, Scenario, Step, StepBody,
    StepChecks,
};

use super::load::h2_config;
use super::{DATA, END_HEADERS, END_STREAM, Frames, HEADERS, frame, go_away, load, reset};
use crate::plans::{closed, for_ms, impatient, plan, poisson, refused, requests, run};
use crate::retries::{changed, found, reasons, with_retries};
use crate::scenario::{flow, scenario, step};
use crate::server::{Peer, Server};
use crate::tls::trusting;

const REFUSED_STREAM: u32 = 7;
const INTERNAL_ERROR: u32 = 2;

/// What a server has seen.
#[derive(Default)]
struct Log {
    /// The name of each request that was answered.
    answered: Vec<String>,
    /// Those that were refused.
    refused: Vec<String>,
    /// Those that got a 503, with a cookie and a token that must not count.
    busy: Vec<String>,
    /// Those that were reset.
    reset: u64,
    /// What was wrong.
    wrong: Vec<String>,
}

type SharedLog = Arc<Mutex<Log>>;

/// A head with these fields, each a literal that leaves the table alone, and a body.
fn answer(stream: u32, status: &str, fields: &[(&str, &str)], body: &[u8]) -> Vec<u8> {
    let mut block = Vec::new();
    for (name, value) in [(":status", status)].iter().chain(fields) {
        block.push(0);
        for text in [name, value] {
            block.push(u8::try_from(text.len()).expect("a short text"));
            block.extend(text.as_bytes());
        }
    }
    let mut frames = frame(HEADERS, END_HEADERS, stream, &block);
    frames.extend(frame(DATA, END_STREAM, stream, body));
    frames
}

/// Gives each session a token in three places, of which all must come back together. What came at once is answered from its
/// end. `fate` says of each request in turn what becomes of it.
fn echo(
    log: SharedLog,
    fate: impl Fn(u64) -> Fate + Send + Sync + 'static,
) -> impl Fn(&mut Peer) + Send + Sync {
    move |peer| {
        let Some(mut frames) = Frames::begin(peer, b"") else { return };
        let mut last_answered = u32::MAX;
        while let Some(mut requests) = frames.requests() {
            requests.reverse();
            requests.retain(|(stream, _)| *stream <= last_answered);
            let last = requests.iter().map(|(stream, _)| *stream).max().unwrap_or_default();
            for (stream, body) in requests {
                let field = |name: &str| frames.field(stream, name).unwrap_or_default().to_owned();
                let (path, body) = (field(":path"), String::from_utf8(body).expect("text"));
                let name =
                    format!("{} {path} {} {} {body}", field(":method"), field("x-token"), field("cookie"));
                let mut log = log.lock().expect("no panic");
                let number = (log.answered.len() + log.refused.len() + log.busy.len()) as u64 + log.reset;
                match fate(number) {
                    Fate::Refused => {
                        log.refused.push(name);
                        frames.peer.answer(&reset(stream, REFUSED_STREAM));
                    }
                    Fate::Busy => {
                        log.busy.push(name);
                        let wrong = [("set-cookie", "sid=wrong; Path=/"), ("x-token", "wrong")];
                        frames.peer.answer(&answer(stream, "503", &wrong, b"{\"token\": \"wrong\"}"));
                    }
                    Fate::Reset => {
                        log.reset += 1;
                        frames.peer.answer(&reset(stream, INTERNAL_ERROR));
                    }
                    Fate::Answered | Fate::Last => {
                        let answer =
                            answer_to(&mut log, stream, &path, &field("x-token"), &field("cookie"), &body);
                        log.answered.push(name);
                        if matches!(fate(number), Fate::Last) {
                            // All that came is still answered; what comes from here on is not.
                            last_answered = last;
                            frames.peer.answer(&go_away(last, 0, b""));
                        }
                        frames.peer.answer(&answer);
                    }
                }
            }
        }
    }
}

#[derive(Clone, Copy)]
enum Fate {
    Answered,
    Refused,
    Busy,
    Reset,
    /// The connection takes no more after those that have come.
    Last,
}

fn answer_to(log: &mut Log, stream: u32, path: &str, token: &str, cookie: &str, body: &str) -> Vec<u8> {
    if let Some(id) = path.strip_prefix("/login?id=") {
        let json = format!("{{\"token\": \"{id}\", \"echo\": \"{body}\"}}");
        let cookie = format!("sid={id}; Path=/");
        return answer(stream, "200", &[("set-cookie", &cookie), ("x-token", id)], json.as_bytes());
    }
    let id = path.strip_prefix("/order?id=").unwrap_or("another path");
    let expected = format!("{{\"token\": \"{id}\"}}");
    if token != id || cookie != format!("sid={id}") || body != expected {
        log.wrong.push(format!("{path}: {token} {cookie} {body}"));
        return answer(stream, "403", &[], b"");
    }
    answer(stream, "201", &[], format!("<p>{id}</p>").as_bytes())
}

/// A login with a number of its own, whose answer the order must bring back from head, body and cookie.
fn tokens() -> Option<Box<Scenario>> {
    let extract = |name: &str, from| Extraction { name: name.to_owned(), from, default: None };
    let login = Step {
        method: "POST".to_owned(),
        body: StepBody::Text("number {counter}".to_owned()),
        checks: StepChecks { contains: vec!["\"token\": \"{id}\"".to_owned()], ..StepChecks::default() },
        extract: vec![
            extract("from-head", ExtractionSource::Header("X-Token".to_owned())),
            extract("from-body", ExtractionSource::Json("/token".to_owned())),
        ],
        ..step("login", "/login?id={id}")
    };
    let order = Step {
        method: "POST".to_owned(),
        headers: vec![("X-Token".to_owned(), "{from-head}".to_owned())],
        body: StepBody::Json("{\"token\": \"{from-body}\"}".to_owned()),
        checks: StepChecks { contains: vec!["<p>{id}</p>".to_owned()], ..StepChecks::default() },
        ..step("order", "/order?id={id}")
    };
    let mut buy = flow("buy", 1, vec![login, order]);
    buy.variables = vec![("id".to_owned(), "{uuid}".to_owned())];
    scenario(vec![buy])
}

fn with_sessions(plan: RunPlan, connections: u32, streams: u32, count: u64) -> RunPlan {
    let request = super::streams(streams);
    RunPlan { scenario: tokens(), load: closed(connections), end: requests(count), request, ..plan }
}

/// All sessions were completed, with requests that the server has answered once each.
fn check(result: &RunResult, log: &SharedLog, count: u64) {
    let log = log.lock().expect("no panic");
    assert!(log.wrong.is_empty(), "{:?}", log.wrong);
    let sessions = result.scenario.as_ref().expect("there were some").sessions;
    assert_eq!((sessions.begun, sessions.completed), (count, count), "{:?}", result.errors);
    assert_eq!((result.requests.done, result.requests.failed), (2 * count, 0), "{:?}", result.errors);
    assert_eq!(log.answered.len() as u64, 2 * count);
    assert_eq!(result.http2.expect("HTTP/2 was spoken").refused, log.refused.len() as u64);
    let answered: BTreeSet<&String> = log.answered.iter().collect();
    assert_eq!(answered.len(), log.answered.len(), "no request was processed twice");
    for refused in &log.refused {
        assert!(answered.contains(refused), "{refused} was not sent again as it was");
    }
    // Each was made once, however often it was sent.
    for number in 1..=count {
        let number = format!(" number {number}");
        assert!(log.answered.iter().any(|name| name.ends_with(&number)), "{number} is missing");
    }
}

/// A server with this log.
fn start(fate: impl Fn(u64) -> Fate + Send + Sync + 'static) -> (Server, SharedLog) {
    let log = SharedLog::default();
    (Server::start(echo(Arc::clone(&log), fate)), log)
}

on_both_drivers! {
    fn each_session_gets_its_own_answers(driver) {
        let (server, log) = start(|_| Fate::Answered);
        let plan = with_sessions(plan(server.url()), 3, 10, 300);
        let result = run(driver, RunPlan { threads: 2, ..plan });
        check(&result, &log, 300);
        // One more has shown before the load that the server speaks HTTP/2.
        assert_eq!(server.used_connections(), 3 + 1, "30 users share them");
    }

    fn over_tls(driver) {
        let log = SharedLog::default();
        let server = Server::over_tls(h2_config(), echo(Arc::clone(&log), |_| Fate::Answered));
        let result = run(driver, with_sessions(trusting(server.url()), 2, 5, 60));
        check(&result, &log, 60);
    }

    fn refused_streams_are_sent_again_as_they_were(driver) {
        let (server, log) = start(|number| if number % 4 == 1 { Fate::Refused } else { Fate::Answered });
        let result = run(driver, with_sessions(plan(server.url()), 2, 10, 200));
        check(&result, &log, 200);
        assert!(!log.lock().expect("no panic").refused.is_empty());
    }

    fn a_server_that_goes_away_loses_no_session(driver) {
        let (server, log) = start(|number| if number % 20 == 19 { Fate::Last } else { Fate::Answered });
        let result = run(driver, with_sessions(plan(server.url()), 2, 10, 200));
        let log_count = log.lock().expect("no panic").answered.len();
        let sessions = result.scenario.as_ref().expect("there were some").sessions;
        assert_eq!((sessions.completed, result.requests.failed), (200, 0), "{:?}", result.errors);
        assert_eq!(log_count, 400);
        assert!(log.lock().expect("no panic").wrong.is_empty());
        assert!(result.http2.expect("HTTP/2 was spoken").went_away > 5);
    }

    fn a_reset_fails_its_step_alone(driver) {
        let (server, log) = start(|number| if number % 5 == 2 { Fate::Reset } else { Fate::Answered });
        let result = run(driver, with_sessions(plan(server.url()), 2, 10, 200));
        let log = log.lock().expect("no panic");
        assert!(log.wrong.is_empty(), "{:?}", log.wrong);
        let sessions = result.scenario.as_ref().expect("there were some").sessions;
        assert_eq!(sessions.begun, 200);
        assert_eq!(sessions.failed, log.reset, "each reset ends one session, which is not the only one of its connection");
        assert_eq!(sessions.completed, 200 - log.reset);
        assert_eq!(result.requests.failed_by_kind.get(&ErrorKind::StreamReset), Some(&log.reset));
        assert_eq!(result.requests.done, log.answered.len() as u64);
    }

    fn failed_requests_are_retried_as_they_were(driver) {
        for load in [closed(2), poisson(1500.0, 3)] {
            let (server, log) = start(|number| match number % 6 {
                1 => Fate::Refused,
                2 => Fate::Busy,
                4 => Fate::Reset,
                _ => Fate::Answered,
            });
            let plan = RunPlan { load, threads: 2, ..with_sessions(plan(server.url()), 2, 6, 120) };
            let result = run(driver, with_retries(plan, 30, "reset,503", [1, 2]));
            check(&result, &log, 120);
            let log = log.lock().expect("no panic");
            let answered: BTreeSet<&String> = log.answered.iter().collect();
            assert!(log.busy.iter().all(|busy| answered.contains(busy)), "{:?}", log.busy);
            let retries = found(&result);
            let busy = log.busy.len() as u64;
            assert_eq!(retries.by_reason, reasons(&[("503", busy), ("reset", log.reset)]));
            let steps = &result.scenario.as_ref().expect("there were some").steps;
            assert_eq!(steps.iter().map(|step| step.retries).sum::<u64>(), busy + log.reset);
            assert_eq!(steps.iter().map(|step| step.recovered).sum::<u64>(), retries.recovered);
            assert!(busy >= 40 && log.reset >= 40, "{busy} {}", log.reset);
        }
    }

    fn a_late_attempt_is_given_up_for_another(driver) {
        // Each path is answered when it is asked for the second time.
        let seen: Mutex<BTreeSet<String>> = Mutex::default();
        let server = Server::start(move |peer| {
            let Some(mut frames) = Frames::begin(peer, b"") else { return };
            while let Some(requests) = frames.requests() {
                for (stream, _) in requests {
                    let path = frames.field(stream, ":path").expect("each has one").to_owned();
                    if !seen.lock().expect("no panic").insert(path) {
                        frames.peer.answer(&answer(stream, "200", &[], b"ok"));
                    }
                }
            }
        });
        let flows = vec![flow("f", 1, vec![step("a", "/{uuid}")])];
        let plan = RunPlan { scenario: scenario(flows), ..load(server.url(), 2, 3, 12) };
        let plan = changed(with_retries(plan, 100, "timeout", [0, 1]), |retries| {
            retries.attempt_timeout = Duration::from_millis(100);
        });
        let result = run(driver, plan);
        assert_eq!((result.requests.done, result.requests.failed), (12, 0), "{:?}", result.errors);
        assert!(found(&result).retries >= 12 && found(&result).recovered == 12, "{:?}", found(&result));
        assert!(result.latency.response.min_ms >= Some(100.0), "{:?}", result.latency.response);
    }

    fn sessions_arrive_by_the_clock(driver) {
        let (server, log) = start(|number| if number % 7 == 3 { Fate::Refused } else { Fate::Answered });
        let plan = with_sessions(plan(server.url()), 1, 5, 200);
        let result = run(driver, RunPlan { load: poisson(1000.0, 4), threads: 2, ..plan });
        check(&result, &log, 200);
        assert!(server.used_connections() <= 4 + 1);
    }

    fn a_late_step_fails_alone_and_its_connection_goes_on(driver) {
        let server = Server::start(|peer| {
            let Some(mut frames) = Frames::begin(peer, b"") else { return };
            while let Some(requests) = frames.requests() {
                for (stream, _) in requests {
                    if frames.field(stream, ":path") == Some("/quick") {
                        frames.peer.answer(&answer(stream, "200", &[], b"ok"));
                    }
                }
            }
        });
        let flows = vec![flow("late", 1, vec![step("late", "/late")]), flow("quick", 3, vec![step("quick", "/quick")])];
        let plan = RunPlan { scenario: scenario(flows), timeouts: impatient(200), end: for_ms(500), ..load(server.url(), 1, 8, 1) };
        let result = run(driver, plan);
        let steps = &result.scenario.as_ref().expect("there were some").steps;
        assert!(steps[0].done == 0 && steps[0].ended > 0, "{:?}", steps[0]);
        assert!(steps[1].done > 10 && steps[1].failed.is_empty(), "{:?}", steps[1]);
    }

    fn bodies_larger_than_the_window_are_those_of_their_steps(driver) {
        let server = Server::start(|peer| {
            let Some(mut frames) = Frames::begin(peer, b"") else { return };
            while let Some(requests) = frames.requests() {
                for (stream, body) in requests {
                    let length = frames.field(stream, "content-length").expect("it has one");
                    let is_whole = length == body.len().to_string();
                    let path = frames.field(stream, ":path").expect("each has one").to_owned();
                    let mark = path.rsplit('/').next().unwrap_or_default().as_bytes();
                    let is_own = body.windows(mark.len()).filter(|window| *window == mark).count() == 2;
                    let status = if is_whole && is_own && body.len() > 200_000 { "200" } else { "400" };
                    frames.peer.answer(&answer(stream, status, &[], b""));
                }
            }
        });
        let part = |name: &str, content| Part {
            name: name.to_owned(), file_name: None, content_type: None, content,
        };
        let filled = StepBody::Multipart(vec![
            part("a", PartContent::Text("{id}".to_owned())),
            part("b", PartContent::Text("x".repeat(200_000))),
            part("c", PartContent::Text("{id}".to_owned())),
        ]);
        let known = StepBody::Text(format!("fixed{}fixed", "y".repeat(200_000)));
        let steps = vec![
            Step { method: "POST".to_owned(), body: filled, ..step("filled", "/filled/{id}") },
            Step { method: "PUT".to_owned(), body: known, ..step("known", "/known/fixed") },
        ];
        let mut send = flow("send", 1, steps);
        send.variables = vec![("id".to_owned(), "{uuid}".to_owned())];
        let plan = RunPlan { scenario: scenario(vec![send]), ..load(server.url(), 2, 4, 24) };
        let result = run(driver, plan);
        let sessions = result.scenario.as_ref().expect("there were some").sessions;
        assert_eq!(sessions.completed, 24, "{:?} {:?}", result.errors, result.statuses);
    }

    fn redirects_and_heads(driver) {
        let server = Server::start(|peer| {
            let Some(mut frames) = Frames::begin(peer, b"") else { return };
            while let Some(requests) = frames.requests() {
                for (stream, body) in requests {
                    let [method, path] = [":method", ":path"].map(|name| frames.field(stream, name).expect("it is there"));
                    let frames_out = match (method, path) {
                        ("POST", "/form") => answer(stream, "303", &[("location", "/done?x=1")], b"moved"),
                        ("GET", "/done?x=1") if body.is_empty() && frames.field(stream, "content-length").is_none() => {
                            answer(stream, "200", &[], b"done")
                        }
                        ("HEAD", "/form") => {
                            let mut head = answer(stream, "200", &[("content-length", "5")], b"");
                            head.truncate(head.len() - 9);
                            head[4] |= END_STREAM;
                            head
                        }
                        _ => answer(stream, "400", &[], b""),
                    };
                    frames.peer.answer(&frames_out);
                }
            }
        });
        let form = StepBody::Form(vec![("a".to_owned(), "b".to_owned())]);
        let steps = vec![
            Step { method: "POST".to_owned(), body: form, redirects: 2, ..step("form", "/form") },
            Step { method: "HEAD".to_owned(), ..step("head", "/form") },
        ];
        let plan = RunPlan { scenario: scenario(vec![flow("f", 1, steps)]), ..load(server.url(), 1, 4, 20) };
        let result = run(driver, plan);
        let sessions = result.scenario.as_ref().expect("there were some").sessions;
        assert_eq!(sessions.completed, 20, "{:?} {:?}", result.errors, result.statuses);
    }

    fn what_http2_forbids_is_refused_before_the_run(driver) {
        for (name, value) in [("Connection", "close"), ("te", "gzip"), ("Keep-Alive", "{uuid}")] {
            let bad = Step { headers: vec![(name.to_owned(), value.to_owned())], ..step("first", "/") };
            let plan = RunPlan {
                scenario: scenario(vec![flow("f", 1, vec![bad])]), ..load("http://127.0.0.1:1/", 1, 1, 1)
            };
            let error = refused(driver, plan).to_string();
            assert!(error.contains("first: ") && error.contains(name), "{error}");
        }
    }
}
