//! `--trace`: what a server gets in `traceparent`, and whether the report's slowest traces are those requests.

use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use prony_model::{RunResult, SlowRequest, Traces, rfc3339};

use crate::binary::prony_in;
use crate::folder::Folder;
use crate::server::Server;

const DOCUMENT: &str = include_str!("../../../../docs/traces.md");

/// How long the server takes for its slow request: longer than a busy machine delays any but a few others.
const SLOW: Duration = Duration::from_millis(1500);

/// A request that the server has seen.
#[derive(Debug, Clone)]
struct Seen {
    /// When it came, since 1970.
    at: Duration,
    path: String,
    traceparent: Option<String>,
    tracestate: bool,
}

impl Seen {
    fn trace_id(&self) -> &str {
        &self.traceparent.as_ref().expect("it has a traceparent")[3..35]
    }

    fn span_id(&self) -> &str {
        &self.traceparent.as_ref().expect("it has a traceparent")[36..52]
    }

    fn is_sampled(&self) -> bool {
        self.traceparent.as_ref().is_some_and(|value| value.ends_with("-01"))
    }

    /// What the standard says of versions, ids and flags (level 1, section 3.2).
    fn check(&self) {
        let value = self.traceparent.as_ref().unwrap_or_else(|| panic!("{self:?}"));
        let parts: Vec<&str> = value.split('-').collect();
        let [version, trace, span, flags] = parts[..] else { panic!("{value}") };
        let is_hex =
            |text: &str| text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
        assert!(version == "00" && matches!(flags, "00" | "01"), "{value}");
        assert!(trace.len() == 32 && is_hex(trace) && trace.bytes().any(|byte| byte != b'0'), "{value}");
        assert!(span.len() == 16 && is_hex(span) && span.bytes().any(|byte| byte != b'0'), "{value}");
    }
}

/// The time since 1970, by the clock that reports go by.
#[expect(clippy::disallowed_methods, reason = "a server's log has the time of day")]
fn time_of_day() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("it is later than 1970")
}

/// A server that keeps what it has seen. `answer` has the status of a request, and may take its time.
fn server(
    answer: impl Fn(&Seen, &[Seen]) -> &'static str + Clone + Send + 'static,
) -> (String, Arc<Mutex<Vec<Seen>>>) {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&seen);
    let url = Server::replying(move |head, _| {
        let at = time_of_day();
        let fields: Vec<(String, &str)> = head
            .lines()
            .filter_map(|line| line.split_once(": "))
            .map(|(name, value)| (name.to_ascii_lowercase(), value))
            .collect();
        let values: Vec<&str> =
            fields.iter().filter(|(name, _)| name == "traceparent").map(|(_, value)| *value).collect();
        assert!(values.len() <= 1, "{head}");
        let request = Seen {
            at,
            path: head.split(' ').nth(1).unwrap_or_default().to_owned(),
            traceparent: values.first().map(|value| (*value).to_owned()),
            tracestate: fields.iter().any(|(name, _)| name == "tracestate"),
        };
        let before = {
            let mut seen = kept.lock().expect("no test panics with it");
            let before = seen.clone();
            seen.push(request.clone());
            before
        };
        (answer(&request, &before), "ok".to_owned())
    });
    (url, seen)
}

/// Runs `words`, with the traces of its result. The run may be INVALID on a busy machine.
fn measured(folder: &Path, words: &[&str]) -> (RunResult, Traces) {
    let words = [words, &["--json", "r.json", "--force", "-q"]].concat();
    let output = prony_in(folder, &words);
    assert!(matches!(output.code, Some(0 | 3)), "{output:?}");
    let result: RunResult =
        prony_model::from_json(&fs::read_to_string(folder.join("r.json")).expect("it was written"))
            .expect("a result");
    let traces = result.traces.clone().expect("it has traces");
    (result, traces)
}

fn write(folder: &Folder, name: &str, text: &str) {
    fs::write(folder.0.join(name), text).expect("the folder can be written");
}

/// Sessions of two steps, the first with `more`.
fn scenario(url: &str, more: &str) -> String {
    format!(
        "base = \"{url}\"\n[[flow]]\nname = \"main\"\n[[flow.step]]\nname = \"list\"\npath = \"/list\"\n{more}\n\
         [[flow.step]]\nname = \"item\"\npath = \"/item/{{session}}\"\n"
    )
}

/// The id of the trace of `request`.
fn id(request: &SlowRequest) -> &str {
    request.trace_id.as_deref().expect("it was sent with one")
}

/// Every traceparent is valid, no two requests share an id, and each listed trace is one that the server was asked to record.
fn check(seen: &[Seen], traces: &Traces) {
    seen.iter().for_each(Seen::check);
    let spans: HashSet<&str> = seen.iter().map(Seen::span_id).collect();
    assert_eq!(spans.len(), seen.len(), "each attempt has a span of its own");
    let sampled: HashSet<&str> =
        seen.iter().filter(|request| request.is_sampled()).map(Seen::trace_id).collect();
    for request in &traces.slowest {
        assert!(sampled.contains(id(request)), "{request:?}");
        assert!(request.response_ms >= request.service_ms && request.service_ms > 0.0, "{request:?}");
    }
    assert!(traces.slowest.is_sorted_by(|one, next| one.response_ms >= next.response_ms), "{traces:?}");
    assert!(traces.slowest.len() <= SlowRequest::LISTED_MAX);
}

#[test]
fn the_slow_request_is_found_by_the_id_of_its_trace() {
    // The hundredth request that the server is asked to record.
    let (url, seen) = server(|request, before| {
        if request.is_sampled() && before.iter().filter(|other| other.is_sampled()).count() == 99 {
            thread::sleep(SLOW);
        }
        "200 OK"
    });
    let folder = Folder::new("trace-slow");
    let words =
        [&url, "-n", "2000", "-c", "4", "--threads", "2", "--trace", "--trace-share", "10%", "--seed", "5"];
    let (result, traces) = measured(&folder.0, &words);
    let seen = seen.lock().expect("the server is done").clone();
    check(&seen, &traces);
    let ids: HashSet<&str> = seen.iter().map(Seen::trace_id).collect();
    assert_eq!((seen.len(), ids.len()), (2000, 2000), "a trace for each request");
    let sampled: Vec<&Seen> = seen.iter().filter(|request| request.is_sampled()).collect();
    // Six standard deviations; and the seed makes it the same each time.
    assert!((120..=280).contains(&sampled.len()), "{}", sampled.len());
    assert_eq!((traces.requests, traces.sampled), (2000, sampled.len() as u64));
    let slow = traces.slowest.iter().find(|request| id(request) == sampled[99].trace_id());
    let slow = slow.unwrap_or_else(|| panic!("{traces:?}"));
    assert!(slow.service_ms >= SLOW.as_secs_f64() * 1e3, "{slow:?}");
    assert_eq!((slow.status, slow.outcome.as_str(), slow.attempts), (Some(200), "2xx", 1));
    // It was sent before it came; a clock that is set right meanwhile may be off by little.
    let came = rfc3339(sampled[99].at + Duration::from_millis(20));
    assert!(slow.sent_at <= came, "{} {came}", slow.sent_at);
    assert_eq!(result.plan.trace.map(|plan| plan.share), Some(0.1));
}

#[test]
fn listed_traces_were_sent_in_the_order_of_the_servers_log() {
    let (url, seen) = server(|_, _| "200 OK");
    let folder = Folder::new("trace-order");
    for driver in ["epoll", "io_uring"] {
        seen.lock().expect("no run is on").clear();
        let words = [
            &url,
            "-n",
            "300",
            "-c",
            "1",
            "--trace",
            "--trace-share",
            "100%",
            "--driver",
            driver,
            "--rate",
            "2000",
        ];
        let (_, mut traces) = measured(&folder.0, &words);
        let seen = seen.lock().expect("the server is done").clone();
        check(&seen, &traces);
        assert!(seen.iter().all(Seen::is_sampled));
        assert_eq!((traces.sampled, traces.slowest.len()), (300, SlowRequest::LISTED_MAX));
        let place = |id: &str| seen.iter().position(|request| request.trace_id() == id).expect("it was seen");
        traces.slowest.sort_by_key(|request| place(id(request)));
        assert!(traces.slowest.is_sorted_by(|one, next| one.sent_at <= next.sent_at), "{traces:?}");
    }
}

#[test]
fn the_seed_chooses_what_is_sampled_and_no_two_runs_share_an_id() {
    let (url, seen) = server(|_, _| "200 OK");
    let folder = Folder::new("trace-seed");
    let mut run = |seed: &str| {
        seen.lock().expect("no run is on").clear();
        let words = [&url, "-n", "400", "-c", "1", "--trace", "--trace-share", "25%", "--seed", seed];
        measured(&folder.0, &words);
        seen.lock().expect("the server is done").clone()
    };
    let [first, second, other] = ["7", "7", "8"].map(&mut run);
    let sampled = |seen: &[Seen]| -> Vec<bool> { seen.iter().map(Seen::is_sampled).collect() };
    assert_eq!(sampled(&first), sampled(&second));
    assert_ne!(sampled(&first), sampled(&other));
    let all = [&first[..], &second, &other].concat();
    let ids: HashSet<&str> = all.iter().map(Seen::trace_id).collect();
    assert_eq!(ids.len(), 1200);
}

#[test]
fn a_retry_is_another_span_of_the_same_trace() {
    // Each request fails once.
    let (url, seen) = server(|request, before| {
        let is_again = before.iter().any(|other| other.trace_id() == request.trace_id());
        if is_again { "200 OK" } else { "503 Service Unavailable" }
    });
    let folder = Folder::new("trace-retry");
    write(&folder, "s.toml", &scenario(&url, ""));
    let retry = ["--retries", "2", "--retry-on", "503", "--retry-backoff", "1ms..1ms"];
    let trace = ["--trace", "--trace-share", "100%"];
    for (load, requests) in [
        (vec![url.as_str(), "-n", "40", "-c", "2"], 40),
        (vec![url.as_str(), "-n", "40", "-c", "2", "--rate", "500"], 40),
        (vec!["s.toml", "-n", "20", "-c", "2"], 40),
    ] {
        seen.lock().expect("no run is on").clear();
        let words = [&load[..], &retry, &trace].concat();
        let (_, traces) = measured(&folder.0, &words);
        let seen = seen.lock().expect("the server is done").clone();
        check(&seen, &traces);
        let ids: HashSet<&str> = seen.iter().map(Seen::trace_id).collect();
        assert_eq!(
            (seen.len(), ids.len(), traces.requests),
            (2 * requests, requests, requests as u64),
            "{load:?}"
        );
        assert!(traces.slowest.iter().all(|request| request.attempts == 2), "{traces:?}");
    }
}

#[test]
fn each_request_of_a_session_is_named_by_its_step() {
    let (url, seen) = server(|_, _| "200 OK");
    let folder = Folder::new("trace-session");
    write(&folder, "s.toml", &scenario(&url, ""));
    let words = ["s.toml", "-n", "20", "-c", "2", "--trace", "--trace-share", "100%"];
    let (_, traces) = measured(&folder.0, &words);
    let seen = seen.lock().expect("the server is done").clone();
    check(&seen, &traces);
    let ids: HashSet<&str> = seen.iter().map(Seen::trace_id).collect();
    assert_eq!((seen.len(), ids.len()), (40, 40));
    for request in &traces.slowest {
        let found = seen.iter().find(|seen| seen.trace_id() == id(request)).expect("it was seen");
        let step = if found.path == "/list" { "main/list" } else { "main/item" };
        assert_eq!(request.step.as_deref(), Some(step), "{}", found.path);
    }
}

#[test]
fn the_traceparent_of_a_recording_is_replaced() {
    let (url, seen) = server(|_, _| "200 OK");
    let folder = Folder::new("trace-har");
    let old = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let headers = serde_json::json!([
        {"name": "traceparent", "value": old}, {"name": "TraceState", "value": "a=b"}, {"name": "X-A", "value": "1"}
    ]);
    let entry = |second: u32| {
        serde_json::json!({
            "startedDateTime": format!("2026-11-23T10:00:00.{second:03}Z"),
            "request": {"method": "GET", "url": format!("http://shop.example/{second}"), "headers": headers},
            "response": {"status": 200},
        })
    };
    let entries: Vec<_> = (0..20).map(entry).collect();
    write(&folder, "x.har", &serde_json::json!({"log": {"entries": entries}}).to_string());
    let words = ["replay", "x.har", "--to", &url, "--trace", "--trace-share", "100%"];
    let (_, traces) = measured(&folder.0, &words);
    let seen = seen.lock().expect("the server is done").clone();
    check(&seen, &traces);
    let ids: HashSet<&str> = seen.iter().map(Seen::trace_id).collect();
    assert_eq!((seen.len(), ids.len()), (20, 20));
    assert!(!ids.contains(&old[3..35]) && seen.iter().all(|request| !request.tracestate));
}

#[test]
fn reports_show_ids_and_links() {
    let (url, _seen) = server(|_, _| "200 OK");
    let folder = Folder::new("trace-report");
    let jaeger = "http://127.0.0.1:16686/trace/{trace_id}";
    let words = [&url, "-n", "50", "-c", "1", "--trace", "--trace-share", "100%", "--trace-url", jaeger];
    let (_, traces) = measured(&folder.0, &words);
    let text = prony_in(&folder.0, &["report", "r.json"]).out;
    let markdown = prony_in(&folder.0, &["report", "r.json", "-o", "markdown"]).out;
    assert!(text.contains("50 of 50 requests sampled; the 10 slowest"), "{text}");
    assert_eq!(traces.slowest.len(), 10);
    for request in &traces.slowest {
        let id = id(request);
        let link = format!("http://127.0.0.1:16686/trace/{id}");
        assert!(text.lines().any(|line| line.ends_with(&format!("  {id}"))), "{id}\n{text}");
        assert!(text.contains(&link), "{text}");
        assert!(markdown.contains(&format!("[{id}](<{link}>)")), "{markdown}");
    }
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    // None is listed where none was sampled: the share of this seed has none among the first five.
    let (_, traces) = measured(
        &folder.0,
        &[&url, "-n", "5", "-c", "1", "--trace", "--trace-share", "0.0001%", "--seed", "1"],
    );
    assert_eq!((traces.requests, traces.sampled, traces.slowest.len()), (5, 0, 0));
    let text = prony_in(&folder.0, &["report", "r.json"]).out;
    assert!(text.contains("none of 5 requests was sampled"), "{text}");
}

#[test]
fn without_trace_no_request_has_a_traceparent() {
    let (url, seen) = server(|_, _| "200 OK");
    let folder = Folder::new("trace-off");
    let output = prony_in(&folder.0, &[&url, "-n", "20", "-c", "1", "-q"]);
    assert!(matches!(output.code, Some(0 | 3)) && !output.out.contains("trace"), "{output:?}");
    let seen = seen.lock().expect("the server is done");
    assert!(seen.len() == 20 && seen.iter().all(|request| request.traceparent.is_none()));
}

#[test]
fn what_cannot_be_is_refused_before_any_load() {
    let (url, seen) = server(|_, _| "200 OK");
    let folder = Folder::new("trace-refused");
    write(&folder, "s.toml", &scenario(&url, "headers = { Traceparent = \"x\" }"));
    let own = "traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let refused = |words: &[&str], expected: &str| {
        let output = prony_in(&folder.0, words);
        assert_eq!((output.code, output.out.as_str()), (Some(2), ""), "{words:?} {output:?}");
        assert!(output.err.contains(expected), "{}", output.err);
    };
    refused(&[&url, "--trace", "-H", own], "--trace and a header both say what the traceparent is");
    refused(&["s.toml", "--trace"], "--trace and the step `list` both say what the traceparent is");
    refused(&[&url, "--trace", "--trace-share", "0%"], "--trace-share `0%` is not a percentage");
    refused(&[&url, "--trace", "--trace-share", "101%"], "use --trace-share above 0 % and up to 100 %");
    refused(&[&url, "--trace-share", "5%"], "add --trace, or leave it out");
    refused(&[&url, "--trace-url", "http://host/{trace_id}"], "add --trace, or leave it out");
    refused(&[&url, "--trace", "--trace-url", "http://host/"], "has no {trace_id}");
    refused(
        &[&url, "--trace", "--trace-url", "file:///{trace_id}"],
        "doesn't begin with http:// or https://",
    );
    assert!(seen.lock().expect("no run was on").is_empty());
}

#[test]
fn the_documents_commands_run() {
    let (url, _seen) = server(|_, _| "200 OK");
    let folder = Folder::new("trace-document");
    let commands: Vec<&str> = DOCUMENT.lines().filter(|line| line.starts_with("prony ")).collect();
    assert!(commands.len() >= 3, "{commands:?}");
    for typed in commands {
        let words = shell_words::split(&typed.replace("http://127.0.0.1:3000/", &url)).expect("words");
        let words: Vec<&str> = words[1..].iter().map(String::as_str).collect();
        let output = prony_in(&folder.0, &words);
        assert!(matches!(output.code, Some(0 | 3)) && output.out.contains("sampled"), "{typed}: {output:?}");
    }
}
