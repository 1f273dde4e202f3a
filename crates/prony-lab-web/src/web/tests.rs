//! Requests through everything between a connection and the store.

mod changes;
mod statements;

use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{Request, StatusCode};
use axum::response::Response;
use http_body_util::BodyExt as _;
use serde_json::json;
use tower::ServiceExt as _;

use super::routes;
use prony_lab_core::actions;
use prony_lab_core::bisect;
use prony_lab_core::lab::Lab;
use prony_lab_model::clock::Moment;
use prony_lab_model::options::LabOptions;
use prony_lab_model::{
    Bisect, BisectState, BuildId, BuildKind, BuildRequest, BuildState, BuildVerdict, Candidate, Commit,
    CommitRange, Definition, ProjectId, RangeState, Role, TaskState,
};
use prony_lab_store::results::{self, Measured, NewThreshold, Results};
use prony_lab_store::{
    StoreError, Tx, bisects, builds, commits, figures, files, projects, queue, settings, tasks, values,
};

/// What somebody writes who wants a page to do something else; and what turns the writing around it.
const HOSTILE: &str =
    "\"'><script>alert(1)</script><img src=x onerror=alert(1)>\u{202e}\u{1b}[31m&amp;{{7*7}}";

/// A definition as hostile as one may be.
const DEFINITION: &str = r#"
title = "\"'><script>alert(1)</script>"
folder = "/srv/<script>"
study = "<script>alert(1)</script>.toml"
branch = "<script>"
[[task]]
name = "compile"
command = "echo '</pre><script>alert(1)</script>'"
[environment]
VARIABLE = "</code><script>alert(1)</script>"
[[cache]]
name = "hostile"
path = "<script>alert(1)</script>"
"#;

struct Bench {
    _folder: tempfile::TempDir,
    runtime: tokio::runtime::Runtime,
    lab: Lab,
}

impl Bench {
    fn new() -> Self {
        Self::with(|_| {})
    }

    fn with(change: impl FnOnce(&mut LabOptions)) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let mut options =
            LabOptions { anonymous: Some(Role::Runner), ..LabOptions::new(folder.path().to_owned()) };
        change(&mut options);
        let lab = Lab::open(options).expect("a lab");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        Self { _folder: folder, runtime, lab }
    }

    fn ask(&self, path: &str) -> Response {
        let request = Request::get(path).header("host", "127.0.0.1").body(Body::empty()).expect("a request");
        self.runtime.block_on(routes::router(self.lab.clone()).oneshot(request)).expect("an answer")
    }

    fn text(&self, path: &str) -> (StatusCode, String) {
        let answer = self.ask(path);
        let status = answer.status();
        let body = self.runtime.block_on(answer.into_body().collect()).expect("a body").to_bytes();
        (status, String::from_utf8(body.to_vec()).expect("text"))
    }

    /// Sends JSON as a page of this lab does.
    fn post(&self, path: &str, body: &str) -> (StatusCode, String) {
        let request = Request::post(path)
            .header("host", "127.0.0.1")
            .header("content-type", "application/json")
            .body(Body::from(body.to_owned()))
            .expect("a request");
        let answer =
            self.runtime.block_on(routes::router(self.lab.clone()).oneshot(request)).expect("an answer");
        let status = answer.status();
        let body = self.runtime.block_on(answer.into_body().collect()).expect("a body").to_bytes();
        (status, String::from_utf8(body.to_vec()).expect("text"))
    }

    fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Tx<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> T {
        self.lab.store.write_blocking(work).expect("written")
    }

    /// A build that runs, of a project with this definition.
    fn running(&self, by: &'static str) -> (ProjectId, BuildId) {
        self.write(move |tx| {
            let project = projects::register(tx, &"web".parse().expect("a name"), DEFINITION, Moment(1))?;
            let definition = Definition::read(DEFINITION).expect("a definition");
            let new =
                BuildRequest::default().checked(project, &definition, by, Moment(5)).expect("a request");
            let id = builds::accept(tx, &new)?;
            builds::advance(tx, id, BuildState::Queued, BuildState::Assigned, None, Moment(6))?;
            builds::advance(tx, id, BuildState::Assigned, BuildState::Running, None, Moment(6))?;
            Ok((project, id))
        })
    }
}

#[test]
fn hostile_words_are_shown_and_do_nothing() {
    let bench = Bench::new();
    let (project, id) = bench.running(HOSTILE);
    bench.write(move |tx| {
        let task = tasks::of(tx, id)?[1].id;
        tasks::write(tx, id, task, format!("</pre>{HOSTILE}").as_bytes(), Moment(7))?;
        tasks::end(tx, id, task, TaskState::Failed, Some(1), Some(HOSTILE), Moment(8))?;
        let hostile = || HOSTILE.to_owned();
        let measured = Measured {
            cell: hostile(),
            metric: hostile(),
            unit: hostile(),
            is_better_high: false,
            value: Some(1.0),
            interval: Some((0.5, 1.5)),
            runs: 1,
            samples: 1,
            is_valid: false,
            note: Some(hostile()),
        };
        let threshold =
            NewThreshold { words: hostile(), cell: hostile(), metric: hostile(), value: None, is_met: None };
        let compared = Measured { metric: "p99".to_owned(), ..measured.clone() };
        let measured = vec![measured, compared];
        let results = Results { fingerprint: hostile(), measured, thresholds: vec![threshold] };
        results::keep(tx, id, project, "default", &results)?;
        files::put(tx, id, HOSTILE, b"x")?;
        files::put(tx, id, "report.json", hostile_report().as_bytes())?;
        files::put(tx, id, "comparison.json", hostile_comparison().as_bytes())?;
        builds::set_verdict(tx, id, BuildVerdict::Slower, Some(id))?;
        figures::add_note(tx, id, HOSTILE, HOSTILE, Moment(9))?;
        let hostile = "UPDATE builds SET commit_author = $2, commit_subject = $2, branch = $2 WHERE id = $1";
        tx.execute(hostile, values![id, HOSTILE])?;
        builds::advance(tx, id, BuildState::Running, BuildState::Failed, Some(HOSTILE), Moment(9))
    });
    for path in [
        "/",
        "/?project=%3Cscript%3E&variant=%22%3E%3Cscript%3E",
        "/build/1",
        "/compare?a=1",
        "/history/web",
        "/history/web/1",
        "/add_job?reference=%22%3E%3Cscript%3E&email=%3Cscript%3E&url=%22%3E%3Cscript%3E",
        "/projects",
        "/project/web",
        "/monitors",
        "/alerts",
        "/search",
        "/search?q=alert",
        "/search?q=%22%3Cscript%3Ealert%281%29%3C%2Fscript%3E%22",
    ] {
        let (status, page) = bench.text(path);
        assert_eq!(status, StatusCode::OK, "{path}");
        for bad in ["<script>", "<img", "\u{202e}", "\u{1b}"] {
            assert!(!page.contains(bad), "{path}: {bad}\n{page}");
        }
        // Our own, and that of charts.
        assert!(page.matches("<script").count() <= 2, "{path}\n{page}");
    }
    let (_, page) = bench.text("/build/1");
    for part in [
        "id=\"chart-quantiles\"",
        "id=\"chart-timeline\"",
        "id=\"lead-1-difference\"",
        "slower</span> +8.0 %",
    ] {
        assert!(page.contains(part), "{part}\n{page}");
    }
}

/// A study's report with hostile names, and enough in it for charts.
fn hostile_report() -> String {
    let point = |number: u32| json!({ "quantile": f64::from(number) / 10.0, "response_ms": 1.0 + f64::from(number), "service_ms": 1.0 });
    let second = |number: u32| json!({ "at_s": number, "rate_per_s": 5.0, "failed_per_s": 1.0, "p50_ms": 1.0, "p99_ms": 2.0, "max_ms": 3.0 });
    let cell = json!({ "name": HOSTILE, "key": { HOSTILE: HOSTILE }, "kind": "run", "load": HOSTILE, "planned": 1, "runs": [],
        "figures": [], "failed_by_kind": {}, "statuses": {}, "curve": (0..9).map(point).collect::<Vec<_>>(), "bins": [],
        "timelines": [{ "repeat": 1, "points": (0..9).map(second).collect::<Vec<_>>() }], "executions": [] });
    let report = json!({ "format": "prony.study", "version": 1, "verdict": "valid", "name": HOSTILE, "title": HOSTILE,
        "source": null, "intro": "", "texts": [], "short": false, "complete": true, "seed": 1, "repeats": 1,
        "started_at": null, "took_s": 1.0, "axes": [{ "name": HOSTILE, "values": [HOSTILE] }], "targets": [],
        "cells": [cell], "comparisons": [], "thresholds": [], "published": [], "findings": [], "failures": [],
        "environment": null, "file": HOSTILE });
    report.to_string()
}

/// What `prony compare` would have found of the same cell.
fn hostile_comparison() -> String {
    let metric = json!({ "metric": "p99", "primary": true, "method": "signed-ranks", "pairs": 10, "a": 1.0, "b": 1.08,
        "change": 0.08, "interval": { "low": 0.05, "high": 0.11 }, "spread": null, "p": null, "differs": true,
        "outcome": { "word": "slower" } });
    json!([{ "b": { "name": format!("{HOSTILE}: {HOSTILE}") }, "metrics": [metric] }]).to_string()
}

#[test]
fn what_a_build_left_in_place_of_a_report_does_no_harm() {
    let bench = Bench::new();
    let (_, id) = bench.running("kim");
    for text in ["", "{", "[[[[", "null", "{\"format\":\"prony.study\",\"version\":99}", "[{\"b\":1}]"] {
        for name in ["report.json", "comparison.json"] {
            bench.write(move |tx| files::put(tx, id, name, text.as_bytes()));
        }
        let (status, page) = bench.text("/build/1");
        assert_eq!(status, StatusCode::OK, "{text}");
        assert!(page.contains("<div id=\"charts\" data-live></div>"), "{text}: {page}");
    }
}

#[test]
fn outputs_of_tasks_say_how_far_they_are() {
    let bench = Bench::new();
    let (_, id) = bench.running("kim");
    let tasks = bench.lab.store.read_blocking(|tx| tasks::of(tx, id)).expect("read");
    let (first, second) = (tasks[0].id, tasks[1].id);
    let (_, page) = bench.text("/build/1");
    // By this the script that watches a build sees which outputs have to be opened.
    assert!(page.contains("<details id=\"task-checkout-output\" data-opens=\"pending\"><summary>"), "{page}");
    assert!(!page.contains("When its tasks ran"), "none has begun: {page}");
    bench.write(move |tx| {
        tasks::begin(tx, id, first, Moment(1_000))?;
        tasks::end(tx, id, first, TaskState::Failed, Some(1), None, Moment(5_200))?;
        tasks::begin(tx, id, second, Moment(5_200))
    });
    let (_, page) = bench.text("/build/1");
    assert!(page.contains("<details id=\"task-checkout-output\" data-opens=\"failed\" open>"), "{page}");
    assert!(page.contains("<details id=\"task-compile-output\" data-opens=\"running\" open>"), "{page}");
    for part in ["stretch bad", "stretch busy", "failed, 4.2 s", "pending</text>"] {
        assert!(page.contains(part), "{part}\n{page}");
    }
}

#[test]
fn a_comparison_of_two_commits_has_its_figures_in_the_api() {
    let bench = Bench::new();
    let (_, id) = bench.running("kim");
    let compared: serde_json::Value = serde_json::from_str(&hostile_comparison()).expect("JSON");
    let report = json!({ "comparisons": [
        { "title": "web: b against a", "a": 0, "b": 1, "margin": 0.02, "metrics": compared[0]["metrics"] }
    ] });
    bench.write(move |tx| files::put(tx, id, "report.json", report.to_string().as_bytes()));
    let results = || {
        let (_, text) = bench.text("/api/v1/builds/1/results");
        serde_json::from_str::<serde_json::Value>(&text).expect("JSON")
    };
    assert_eq!(results()["comparisons"], json!([]), "a study's own comparisons are in its report");
    bench.write(move |tx| {
        tx.execute("UPDATE builds SET kind = 'comparison' WHERE id = $1", values![id]).map(drop)
    });
    let found = results();
    let first = &found["comparisons"][0];
    assert_eq!(first["title"], "web: b against a", "{found}");
    assert_eq!(
        (&first["metrics"][0]["change"], &first["metrics"][0]["primary"]),
        (&json!(0.08), &json!(true))
    );
}

#[test]
fn what_is_drawn_of_a_build_is_drawn_once() {
    let bench = Bench::new();
    let (_, id) = bench.running("kim");
    bench.write(move |tx| files::put(tx, id, "report.json", hostile_report().as_bytes()));
    let key = || format!("charts of build {id}");
    let drawn = |work: fn() -> String| {
        let part = bench
            .lab
            .drawn
            .part(&bench.lab.store, key(), String::new(), move |_| Ok(Words { words: work() }));
        bench.runtime.block_on(part).expect("drawn").to_string()
    };
    let (_, page) = bench.text("/build/1");
    assert!(page.contains("chart-timeline"));
    // Builds come and go, and the charts stay.
    bench.running("ben");
    assert!(drawn(|| "again".to_owned()).contains("chart-timeline"));
    bench.write(move |tx| files::put(tx, id, "other", b"x"));
    assert_eq!(drawn(|| "again".to_owned()), "again");
}

#[derive(askama::Template)]
#[template(source = "{{ words }}", ext = "txt")]
struct Words {
    words: String,
}

#[test]
fn what_leads_nowhere_says_so_as_a_page() {
    let bench = Bench::new();
    for (path, status) in [
        ("/nothing", StatusCode::NOT_FOUND),
        ("/build/1", StatusCode::NOT_FOUND),
        ("/build/one", StatusCode::NOT_FOUND),
        ("/build/99999999999999999999", StatusCode::NOT_FOUND),
        ("/history/web", StatusCode::NOT_FOUND),
        ("/history/web/1", StatusCode::NOT_FOUND),
        ("/project/web", StatusCode::NOT_FOUND),
        ("/monitor/1", StatusCode::NOT_FOUND),
        ("/assets/lab.000000000000.css", StatusCode::NOT_FOUND),
        ("/compare?a=x", StatusCode::BAD_REQUEST),
        ("/?state=gone", StatusCode::BAD_REQUEST),
        ("/?before=x", StatusCode::BAD_REQUEST),
        ("/admin", StatusCode::FORBIDDEN),
        ("/admin/hooks", StatusCode::FORBIDDEN),
        ("/search?q=a&before=x", StatusCode::BAD_REQUEST),
    ] {
        let (found, page) = bench.text(path);
        assert_eq!(found, status, "{path}");
        assert!(page.contains("<h1>") && page.contains("class=\"notice bad\""), "{path}: {page}");
    }
}

#[test]
fn a_search_shows_builds_and_mistakes() {
    let bench = Bench::new();
    bench.running("kim");
    let (status, page) = bench.text("/search?q=%23x+web");
    assert_eq!(status, StatusCode::OK);
    assert!(page.contains("No build matches."), "{page}");
    let (_, page) = bench.text("/search?q=WEB");
    assert!(page.contains("href=\"/build/1\"") && page.contains("href=\"/project/web\""), "{page}");
    assert!(page.contains("name=\"q\" value=\"WEB\""), "{page}");
    for number in ["1", "%231"] {
        let answer = bench.ask(&format!("/search?q={number}"));
        assert_eq!(
            (answer.status(), &answer.headers()["location"]),
            (StatusCode::SEE_OTHER, &"/build/1".parse().expect("a value"))
        );
    }
    for (query, words) in [
        ("writer%3A%3Cb%3E", "there is no operator `writer:`; there are author:"),
        ("%22open", "not closed"),
        ("after%3A%E2%80%AEx", "write a day as"),
    ] {
        let (status, page) = bench.text(&format!("/search?q={query}"));
        assert_eq!(status, StatusCode::BAD_REQUEST, "{page}");
        assert!(page.contains("id=\"q-mistake\"") && page.contains(words) && !page.contains("<b>"), "{page}");
    }
    assert!(bench.text("/").1.contains("action=\"/search\""), "every page has the field");
    let nobody = Bench::with(|options| options.anonymous = None);
    assert_eq!(nobody.text("/search?q=web").0, StatusCode::UNAUTHORIZED);
    assert!(!nobody.text("/login").1.contains("action=\"/search\""));
}

#[test]
fn a_stream_says_what_is_new_and_goes_on_where_it_was() {
    let bench = Bench::new();
    let (_, id) = bench.running("kim");
    let task = bench.lab.store.read_blocking(|tx| tasks::of(tx, id)).expect("read")[1].id;
    let written = |bytes: &'static [u8]| bench.write(move |tx| tasks::write(tx, id, task, bytes, Moment(7)));
    // A code is cut in two by the pieces.
    written(b"one\x1b[3");
    let stream = bench.ask("/build/1/events");
    assert_eq!(stream.headers()["content-type"], "text/event-stream");
    let mut body = stream.into_body();
    let first = bench.next(&mut body);
    assert!(first.contains("event: output") && first.contains("\"text\":\"one\""), "{first}");
    let last = first.rsplit("id: ").next().and_then(|rest| rest.lines().next()).expect("an id").to_owned();
    written(b"1mtwo\n");
    let second = bench.next(&mut body);
    assert!(second.contains("\"text\":\"two\\n\""), "{second}");
    drop(body);
    // A client that reconnects sends the last id, and the cut code is whole again.
    let mut body = bench.ask(&format!("/build/1/events?after={last}")).into_body();
    let again = bench.next(&mut body);
    assert!(again.contains("\"text\":\"two\\n\"") && !again.contains("\"one"), "{again}");
    bench.write(move |tx| builds::advance(tx, id, BuildState::Running, BuildState::Failed, None, Moment(9)));
    let end = bench.next(&mut body);
    assert!(end.contains("event: end"), "{end}");
    let over = bench.runtime.block_on(async { body.frame().await });
    assert!(over.is_none(), "the stream ends with its build");
}

impl Bench {
    /// The next message of a stream.
    fn next(&self, body: &mut Body) -> String {
        let frame = async {
            loop {
                let frame = body.frame().await.expect("the stream goes on").expect("it is whole");
                let text =
                    String::from_utf8(frame.into_data().map(Bytes::into).expect("data")).expect("text");
                if text.contains("event: ") {
                    return text;
                }
            }
        };
        let found =
            self.runtime.block_on(async { tokio::time::timeout(Duration::from_secs(30), frame).await });
        found.expect("something is new")
    }
}

#[test]
fn the_health_check_needs_no_token() {
    let bench = Bench::with(|options| options.anonymous = None);
    assert_eq!(bench.text("/").0, StatusCode::UNAUTHORIZED);
    assert_eq!(bench.text("/healthz"), (StatusCode::OK, "the lab answers\n".to_owned()));
}

#[test]
fn a_large_file_is_sent_in_pieces_and_as_it_was() {
    let bench = Bench::new();
    let (_, id) = bench.running("kim");
    let lines = "a line, and another\n".repeat(100_000);
    let noise: Vec<u8> =
        std::iter::repeat_with(prony_lab_model::auth::random::<32>).take(10_000).flatten().collect();
    let kept = [("lines.log", lines.into_bytes()), ("noise.bin", noise), ("empty.log", Vec::new())];
    for (name, bytes) in kept {
        let stored = bytes.clone();
        bench.write(move |tx| files::put(tx, id, name, &stored));
        let answer = bench.ask(&format!("/build/{id}/files/{name}"));
        assert_eq!(answer.status(), StatusCode::OK);
        assert_eq!(answer.headers()["content-length"], bytes.len().to_string());
        let body = bench.runtime.block_on(answer.into_body().collect()).expect("a body").to_bytes();
        assert!(body == bytes, "{name}");
    }
    assert_eq!(bench.ask(&format!("/build/{id}/files/nothing")).status(), StatusCode::NOT_FOUND);
}

#[test]
fn a_comparison_says_where_its_figures_are() {
    let bench = Bench::new();
    let (_, id) = bench.running("kim");
    bench.write(move |tx| files::put(tx, id, "report.html", b"<title>x</title>"));
    let (_, page) = bench.text(&format!("/build/{id}"));
    assert!(page.contains("No figure can be used"), "{page}");
    bench.write(move |tx| tx.execute("UPDATE builds SET kind = 'comparison'", &[]));
    let (_, page) = bench.text(&format!("/build/{id}"));
    assert!(!page.contains("No figure can be used") && page.contains("Both commits were measured"), "{page}");
}
