//! Traceparents as servers of each protocol get them, and the result's slowest traces.

use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use prony_engine::{Control, RunExtras, run_with};
use prony_model::{
    AgentOutcome, Load, RunPlan, RunResult, SlowRequest, Step, StepBody, Timeouts, TracePlan, split,
};
use prony_summary::merge;

use crate::http2::{self, Frames};
use crate::plans::{closed, open, plan, post, requests, run};
use crate::scenario::{flow, scenario, step};
use crate::server::{Peer, Server, ok};
use crate::tls::{config, trusting};

/// What a server has read of traces.
type Seen = Arc<Mutex<Vec<String>>>;

/// `plan` with traces.
pub(crate) fn traced(plan: RunPlan, share: f64) -> RunPlan {
    RunPlan { trace: Some(TracePlan { share, url: None }), ..plan }
}

/// Reads and answers requests of HTTP/1.1, and keeps their traceparents.
fn serve(peer: &mut Peer, seen: &Seen) {
    while let Some(request) = peer.request() {
        let values: Vec<&str> =
            request.head.lines().filter_map(|line| line.strip_prefix("traceparent: ")).collect();
        let [value] = values[..] else { panic!("{}", request.head) };
        seen.lock().expect("no test panics with it").push(value.to_owned());
        if !peer.answer(&ok("hello")) {
            return;
        }
    }
}

fn server() -> (Server, Seen) {
    let seen = Seen::default();
    let kept = Arc::clone(&seen);
    (Server::start(move |peer| serve(peer, &kept)), seen)
}

/// The same in HTTP/2; every `one_in`th request is refused at first.
fn http2_server(one_in: u64) -> (Server, Seen) {
    const REFUSED_STREAM: u32 = 7;
    let seen = Seen::default();
    let kept = Arc::clone(&seen);
    let count = AtomicU64::new(0);
    let server = Server::start(move |peer| {
        let Some(mut frames) = Frames::begin(peer, b"") else { return };
        while let Some(stream) = frames.request() {
            let value = frames.field(stream, "traceparent").expect("it has one").to_owned();
            let number = count.fetch_add(1, Ordering::SeqCst) + 1;
            let answer = if number.is_multiple_of(one_in) {
                http2::reset(stream, REFUSED_STREAM)
            } else {
                http2::answer(stream, b"hello")
            };
            kept.lock().expect("no test panics with it").push(value);
            if !frames.peer.answer(&answer) {
                return;
            }
        }
    });
    (server, seen)
}

/// The ids of traces and spans in `seen`, and how many are sampled.
fn ids(seen: &Seen) -> (HashSet<String>, HashSet<String>, u64) {
    let seen = seen.lock().expect("no test panics with it");
    let (mut traces, mut spans, mut sampled) = (HashSet::new(), HashSet::new(), 0);
    for value in seen.iter() {
        let parts: Vec<&str> = value.split('-').collect();
        let [version, trace, span, flags] = parts[..] else { panic!("{value}") };
        let is_id = |text: &str, length: usize| {
            text.len() == length
                && text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
                && text.bytes().any(|byte| byte != b'0')
        };
        assert!(version == "00" && is_id(trace, 32) && is_id(span, 16), "{value}");
        assert!(matches!(flags, "00" | "01"), "{value}");
        sampled += u64::from(flags == "01");
        traces.insert(trace.to_owned());
        spans.insert(span.to_owned());
    }
    (traces, spans, sampled)
}

/// `count` requests were sent, each with a trace of its own, and the listed ones are among those that were sampled.
fn check(result: &RunResult, seen: &Seen, count: u64) {
    let traces = result.traces.as_ref().expect("it has traces");
    let (ids, spans, sampled) = ids(seen);
    let came = seen.lock().expect("no test panics with it").clone();
    assert_eq!((came.len() as u64, ids.len() as u64, spans.len() as u64), (count, count, count));
    assert_eq!((traces.requests, traces.sampled), (count, sampled));
    assert_eq!(traces.slowest.len() as u64, sampled.min(10));
    for request in &traces.slowest {
        let start = format!("00-{}-", request.trace_id.as_deref().expect("it has a trace"));
        assert!(came.iter().any(|value| value.starts_with(&start) && value.ends_with("-01")), "{request:?}");
    }
}

on_both_drivers! {
    fn each_request_has_a_trace_of_its_own(driver) {
        let body = vec![b'x'; 100_000];
        for (load, request) in [
            (closed(4), plan("http://x").request),
            (open(2_000.0, 20), plan("http://x").request),
            (closed(2), post(body)),
        ] {
            let (server, seen) = server();
            let plan = RunPlan { load, request, threads: 2, end: requests(300), ..plan(server.url()) };
            let result = run(driver, traced(plan, 0.5));
            assert_eq!(result.requests.done, 300, "{:?}", result.errors);
            check(&result, &seen, 300);
        }
    }

    fn so_has_each_of_a_pipeline(driver) {
        let (server, seen) = server();
        let mut plan = RunPlan { load: closed(2), end: requests(200), ..plan(server.url()) };
        plan.request.pipeline = 8;
        let result = run(driver, traced(plan, 1.0));
        assert_eq!(result.requests.done, 200, "{:?}", result.errors);
        check(&result, &seen, 200);
    }

    fn over_tls_too(driver) {
        let seen = Seen::default();
        let kept = Arc::clone(&seen);
        let server = Server::over_tls(config("server"), move |peer| serve(peer, &kept));
        let plan = RunPlan { load: closed(4), end: requests(200), ..trusting(server.url()) };
        let result = run(driver, traced(plan, 0.5));
        assert_eq!(result.requests.done, 200, "{:?}", result.errors);
        check(&result, &seen, 200);
    }

    fn on_streams_too(driver) {
        let (server, seen) = http2_server(u64::MAX);
        let mut plan = http2::load(server.url(), 2, 5, 300);
        plan.request = prony_model::RequestPlan { version: plan.request.version, pipeline: 5, ..post(vec![b'x'; 3_000]) };
        let result = run(driver, traced(plan, 0.5));
        assert_eq!(result.requests.done, 300, "{:?}", result.errors);
        check(&result, &seen, 300);
    }

    fn sessions_on_streams_have_a_trace_for_each_step(driver) {
        let (server, seen) = http2_server(u64::MAX);
        let body = StepBody::Json("{\"a\": {session}}".to_owned());
        let post = Step { method: "POST".to_owned(), body, ..step("b", "/b/{session}") };
        let flows = vec![flow("f", 1, vec![step("a", "/a"), post])];
        let plan = RunPlan { scenario: scenario(flows), ..http2::load(server.url(), 2, 5, 100) };
        let result = run(driver, traced(plan, 1.0));
        assert_eq!(result.requests.done, 200, "{:?}", result.errors);
        check(&result, &seen, 200);
        let traces = result.traces.expect("it has traces");
        let is_named = |request: &SlowRequest| matches!(request.step.as_deref(), Some("f/a" | "f/b"));
        assert!(traces.slowest.iter().all(is_named), "{traces:?}");
    }

    fn what_was_refused_is_sent_again_in_its_trace(driver) {
        let (server, seen) = http2_server(5);
        let result = run(driver, traced(http2::load(server.url(), 1, 5, 100), 1.0));
        assert_eq!(result.requests.done, 100, "{:?}", result.errors);
        let (ids, spans, _) = ids(&seen);
        let came = seen.lock().expect("no test panics with it").len();
        assert!(came >= 120 && spans.len() == came, "{came}");
        assert_eq!(ids.len(), 100, "a request keeps its trace");
        assert_eq!(result.traces.map(|traces| (traces.requests, traces.sampled)), Some((100, 100)));
    }

    fn what_gets_no_answer_is_listed(driver) {
        // Those that are sampled are never answered.
        let (server, seen) = {
            let seen = Seen::default();
            let kept = Arc::clone(&seen);
            let server = Server::start(move |peer| {
                while let Some(head) = peer.head() {
                    kept.lock().expect("no test panics with it").push(head.clone());
                    if head.contains("-01\r\n") {
                        return peer.wait_until_the_client_goes();
                    }
                    peer.answer(&ok("hello"));
                }
            });
            (server, seen)
        };
        let timeouts = Timeouts { request: Duration::from_millis(200), ..plan(server.url()).timeouts };
        let plan = RunPlan { load: closed(1), end: requests(40), timeouts, ..plan(server.url()) };
        let result = run(driver, traced(plan, 0.1));
        let traces = result.traces.expect("it has traces");
        let sampled = seen.lock().expect("no test panics with it");
        let sampled = sampled.iter().filter(|head| head.contains("-01\r\n")).count() as u64;
        assert!(sampled > 0, "the seed samples some");
        assert_eq!((traces.requests, traces.sampled), (40, sampled));
        let timed_out = traces.slowest.iter().filter(|request| request.outcome == "request-timeout");
        assert_eq!(timed_out.count() as u64, sampled.min(10), "{traces:?}");
    }
}

/// Agents share no id, and together list the slowest of all.
#[test]
fn agents_share_no_id() {
    let (server, seen) = server();
    let whole = RunPlan { load: Load::Closed { connections: 4 }, end: requests(400), ..plan(server.url()) };
    let whole = traced(whole, 1.0);
    let lead = Duration::from_secs(1);
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    let now =
        Duration::new(time.tv_sec.cast_unsigned(), u32::try_from(time.tv_nsec).expect("below a second"));
    let start_at = now + lead;
    let agents: Vec<_> = split(&whole, &[1, 1])
        .expect("it can be split")
        .into_iter()
        .map(|part| {
            thread::spawn(move || {
                let extras = RunExtras { start_at: Some(start_at), ..RunExtras::default() };
                run_with(&part, &extras, &Control::default(), &mut |_| {}).expect("the share can be started")
            })
        })
        .collect();
    let results: Vec<RunResult> = agents.into_iter().map(|agent| agent.join().expect("no panic")).collect();
    let mut listed: Vec<f64> = results
        .iter()
        .flat_map(|result| &result.traces.as_ref().expect("it has traces").slowest)
        .map(|request| request.response_ms)
        .collect();
    listed.sort_by(|one, other| other.total_cmp(one));
    let outcomes = ["a", "b"].into_iter().zip(results).map(|(name, result)| AgentOutcome {
        name: name.to_owned(),
        clock: None,
        result: Ok(result),
    });
    let start_ns = u64::try_from(start_at.as_nanos()).expect("a machine is not so old");
    let merged = merge(&whole, start_ns, outcomes.collect()).merged;
    check(&merged, &seen, 400);
    let slowest = merged.traces.expect("it has traces").slowest;
    let slowest: Vec<f64> = slowest.iter().map(|request| request.response_ms).collect();
    assert_eq!(slowest, listed[..10], "those that are slowest of all");
}
