//! Requests through everything between a connection and the store.

use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{Request, StatusCode};
use axum::response::Response;
use http_body_util::BodyExt as _;
use serde_json::json;
use tower::ServiceExt as _;

use super::routes;
use crate::actions;
use crate::bisect;
use crate::clock::Moment;
use crate::lab::Lab;
use crate::model::{
    Bisect, BisectState, BuildId, BuildKind, BuildRequest, BuildState, BuildVerdict, Candidate, Commit,
    CommitRange, Definition, ProjectId, RangeState, Role, TaskState,
};
use crate::options::{LabOptions, SandboxMode, StoreAddress};
use crate::store::results::{self, Measured, NewThreshold, Results};
use crate::store::{
    StoreError, Tx, bisects, builds, commits, figures, files, projects, queue, tasks, values,
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
        let mut options = LabOptions {
            data: folder.path().to_owned(),
            store: StoreAddress::Sqlite(folder.path().join("lab.sqlite")),
            listen: vec!["127.0.0.1:0".parse().expect("an address")],
            hosts: Vec::new(),
            anonymous: Some(Role::Runner),
            tls: None,
            is_behind_proxy: false,
            proxies: Vec::new(),
            public_address: None,
            program: "/proc/self/exe".into(),
            search_path: String::new(),
            mail: None,
            operator_mail: None,
            disk_alert_bytes: 0,
            has_worker: false,
            sandbox: SandboxMode::Off,
        };
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
    for part in
        ["id=\"chart-quantiles\"", "id=\"chart-course\"", "id=\"lead-1-difference\"", "slower</span> +8.0 %"]
    {
        assert!(page.contains(part), "{part}\n{page}");
    }
}

/// A study's report with hostile names, and enough in it for charts.
fn hostile_report() -> String {
    let point = |number: u32| json!({ "quantile": f64::from(number) / 10.0, "response_ms": 1.0 + f64::from(number), "service_ms": 1.0 });
    let second = |number: u32| json!({ "at_s": number, "rate_per_s": 5.0, "failed_per_s": 1.0, "p50_ms": 1.0, "p99_ms": 2.0, "max_ms": 3.0 });
    let cell = json!({ "name": HOSTILE, "key": { HOSTILE: HOSTILE }, "kind": "run", "load": HOSTILE, "planned": 1, "runs": [],
        "figures": [], "failed_by_kind": {}, "statuses": {}, "curve": (0..9).map(point).collect::<Vec<_>>(), "bins": [],
        "courses": [{ "repeat": 1, "points": (0..9).map(second).collect::<Vec<_>>() }], "executions": [] });
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
fn what_is_drawn_of_a_build_is_drawn_once() {
    let bench = Bench::new();
    let (_, id) = bench.running("kim");
    bench.write(move |tx| files::put(tx, id, "report.json", hostile_report().as_bytes()));
    let key = || format!("charts of build {id}");
    let drawn = |work: fn() -> String| {
        let part = bench.lab.drawn.part(&bench.lab.store, key(), move |_| Ok(Words { words: work() }));
        bench.runtime.block_on(part).expect("drawn").to_string()
    };
    let (_, page) = bench.text("/build/1");
    assert!(page.contains("chart-course"));
    // Builds come and go, and the charts stay.
    bench.running("ben");
    assert!(drawn(|| "anew".to_owned()).contains("chart-course"));
    bench.write(move |tx| files::put(tx, id, "other", b"x"));
    assert_eq!(drawn(|| "anew".to_owned()), "anew");
}

#[derive(askama::Template)]
#[template(source = "{{ words }}", ext = "txt")]
struct Words {
    words: String,
}

/// Two builds of a repository at GitHub, whose commits begin with `a` and `b`; the first is the baseline of the second.
fn two_builds(tx: &mut Tx<'_>) -> Result<(ProjectId, [BuildId; 2]), StoreError> {
    let text = "repository = \"https://github.com/a/b.git\"\nstudy = \"prony.toml\"";
    let project = projects::register(tx, &"site".parse().expect("a name"), text, Moment(1))?;
    let definition = Definition::read(text).expect("a definition");
    let mut ids = Vec::new();
    for digit in ["a", "b"] {
        let new = BuildRequest::default().checked(project, &definition, "kim", Moment(5)).expect("a request");
        let id = builds::accept(tx, &new)?;
        queue::set_commits(tx, id, &digit.repeat(40), None, None)?;
        ids.push(id);
    }
    builds::set_verdict(tx, ids[1], BuildVerdict::Slower, Some(ids[0]))?;
    Ok((project, [ids[0], ids[1]]))
}

fn range(commits: Vec<Commit>, ahead: u64) -> CommitRange {
    let (base, tip) = ("a".repeat(40), "b".repeat(40));
    CommitRange { base, tip, state: RangeState::Listed, commits, ahead, behind: 0, error: None }
}

#[test]
fn commits_are_shown_with_their_pages_and_do_nothing() {
    let bench = Bench::new();
    let (project, [first, second]) = bench.write(two_builds);
    let (_, page) = bench.text(&format!("/build/{second}"));
    assert!(
        page.contains("Commits since the baseline, build 1") && page.contains("not listed yet"),
        "{page}"
    );
    bench.write(move |tx| {
        let tip = Commit::new(&"b".repeat(40), HOSTILE, HOSTILE, Some(7));
        commits::describe(tx, second, &tip)?;
        let all = vec![tip, Commit::new(&"c".repeat(40), "Kim", "tidy up", Some(6))];
        commits::keep(tx, project, &range(all, 52))
    });
    let between = format!("/compare?a={first}&b={second}");
    for path in ["/", &format!("/build/{second}"), &between] {
        let (status, page) = bench.text(path);
        assert_eq!(status, StatusCode::OK, "{path}");
        for bad in ["<script>", "<img", "\u{202e}", "\u{1b}"] {
            assert!(!page.contains(bad), "{path}: {bad}\n{page}");
        }
        if path != "/" {
            let link = format!("href=\"https://github.com/a/b/commit/{}\"", "c".repeat(40));
            assert!(
                page.contains(&link) && page.contains("tidy up") && page.contains("and 50 more"),
                "{page}"
            );
        }
    }
    let (_, json) = bench.text(&format!("/api/v1/builds/{second}/commits"));
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!((&json["ahead"], &json["commits"][1]["author"]), (&52.into(), &"Kim".into()), "{json}");
    // Nothing is known of the other direction.
    let (status, _) = bench.text(&format!("/api/v1/builds/{first}/commits?base={second}"));
    assert_eq!(status, StatusCode::NOT_FOUND);
    let (_, build) = bench.text(&format!("/api/v1/builds/{second}"));
    let build: serde_json::Value = serde_json::from_str(&build).expect("JSON");
    assert_eq!(build["build"]["commit_at"], 7_000, "{build}");
}

/// From a request to the first slow commit, over the API and the page, with a worker that is made up.
#[test]
fn a_bisect_ends_with_the_first_slow_commit() {
    let bench = Bench::new();
    let (_, [first, second]) = bench.write(two_builds);
    let hash = |number: usize| format!("{number:040x}");
    let body = serde_json::json!({ "good": first, "bad": second }).to_string();
    let made = bench.post("/api/v1/projects/site/bisects", &body);
    assert_eq!(made.0, StatusCode::CREATED, "{}", made.1);
    assert!(bench.text("/bisect/1").1.contains("Nothing is measured yet"));
    // The worker lists the commits.
    let tip = "b".repeat(40);
    let candidates: Vec<Candidate> = (1..=9)
        .map(|number| Candidate {
            commit: Commit::new(&hash(number), HOSTILE, &format!("change {number}"), Some(5)),
            build: None,
            outcome: None,
        })
        .chain([Candidate { commit: Commit::new(&tip, "Kim", "last", Some(6)), build: None, outcome: None }])
        .collect();
    bench.write(move |tx| {
        let bisect = bisects::listing(tx)?.expect("it waits");
        let running = Bisect { state: BisectState::Running, candidates, ..bisect };
        bisects::advance(tx, BisectState::Listing, &running, Moment(8))
    });
    for count in 0.. {
        bisect::turn(&bench.lab.store).expect("moved on");
        let open = bench.lab.store.read_blocking(|tx| builds::open(tx, 10)).expect("read");
        let Some(build) = open.into_iter().find(|build| build.kind == BuildKind::Comparison) else { break };
        assert!(count < 6, "{build:?}");
        let (_, page) = bench.text("/bisect/1");
        assert!(page.contains("is measured") && page.contains(&format!("/build/{}", build.id)), "{page}");
        let is_slow = build.reference == tip
            || usize::from_str_radix(&build.reference, 16).is_ok_and(|number| number >= 4);
        let verdict = if is_slow { BuildVerdict::Slower } else { BuildVerdict::NoDifference };
        bench.write(move |tx| {
            use BuildState::{Assigned, Completed, Finalizing, Queued, Running};
            builds::set_verdict(tx, build.id, verdict, None)?;
            for (from, to) in
                [(Queued, Assigned), (Assigned, Running), (Running, Finalizing), (Finalizing, Completed)]
            {
                builds::advance(tx, build.id, from, to, None, Moment(9))?;
            }
            Ok(())
        });
    }
    let (_, page) = bench.text("/bisect/1");
    assert!(page.contains("id=\"first-slow\"") && page.contains("change 4"), "{page}");
    assert!(!page.contains("<img") && !page.contains("\u{202e}"), "{page}");
    let (_, json) = bench.text("/api/v1/bisects/1");
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json["state"], "found", "{json}");
    assert!(json["reason"].as_str().is_some_and(|reason| reason.contains("change 4)")), "{json}");
    let (_, page) = bench.text(&format!("/build/{second}"));
    assert!(page.contains("href=\"/bisect/1\""), "{page}");
    assert_eq!(bench.post("/api/v1/bisects/1/cancel", "{}").0, StatusCode::CONFLICT, "it is over");
}

#[test]
fn bisects_have_their_bounds_and_can_be_cancelled() {
    let bench = Bench::new();
    let (_, [first, second]) = bench.write(two_builds);
    let request = |project: &str, good: i64, bad: i64| {
        let body = serde_json::json!({ "good": good, "bad": bad }).to_string();
        bench.post(&format!("/api/v1/projects/{project}/bisects"), &body)
    };
    let (good, bad) = (first.0, second.0);
    for (project, good, bad, status) in [
        ("site", good, good, StatusCode::UNPROCESSABLE_ENTITY),
        ("other", good, bad, StatusCode::UNPROCESSABLE_ENTITY),
        ("site", 99, bad, StatusCode::NOT_FOUND),
        ("site", good, 99, StatusCode::NOT_FOUND),
    ] {
        let (found, text) = request(project, good, bad);
        assert_eq!(found, status, "{project} {good} {bad}: {text}");
    }
    assert_eq!(request("site", good, bad).0, StatusCode::CREATED);
    assert_eq!(request("site", good, bad).0, StatusCode::CREATED);
    assert_eq!(request("site", good, bad).0, StatusCode::UNPROCESSABLE_ENTITY, "two at once");
    assert_eq!(bench.post("/api/v1/bisects/1/cancel", "{}").0, StatusCode::OK);
    assert!(bench.text("/bisect/1").1.contains("cancelled by"));
    assert_eq!(request("site", good, bad).0, StatusCode::CREATED);
    // Stopping everything stops them, too.
    let who = actions::Actor::at_machine("eli");
    let stopped = actions::act_blocking(&bench.lab.store, who, actions::builds::stop_all);
    assert_eq!(stopped, Ok(2));
    assert_eq!(bench.lab.store.read_blocking(bisects::open), Ok(Vec::new()));
    let (_, json) = bench.text("/api/v1/projects/site/bisects");
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json["items"].as_array().map(Vec::len), Some(3), "{json}");
    // A folder has no commits.
    let folder = "folder = \"/srv/a\"\nstudy = \"prony.toml\"";
    bench.write(move |tx| projects::register(tx, &"site".parse().expect("a name"), folder, Moment(9)));
    assert_eq!(request("site", good, bad).0, StatusCode::UNPROCESSABLE_ENTITY);
}

#[test]
fn lists_of_commits_are_made_by_the_worker() {
    let bench = Bench::new();
    let (project, [first, second]) = bench.write(two_builds);
    let ask = |base: BuildId, tip: BuildId| {
        bench.lab.store.write_blocking(move |tx| Ok(actions::commits::list(tx, base, tip))).expect("written")
    };
    assert!(ask(first, first).is_err(), "there is nothing between a commit and itself");
    assert!(ask(first, BuildId(99)).is_err());
    assert!(ask(first, second).is_ok_and(|range| range.state == RangeState::Wanted));
    let (_, page) = bench.text(&format!("/compare?a={first}&b={second}"));
    assert!(page.contains("The worker lists them"), "{page}");
    let wanted = bench.lab.store.read_blocking(commits::wanted).expect("read");
    assert_eq!(wanted.map(|(of, range)| (of, range.base)), Some((project, "a".repeat(40))));
    let failed = CommitRange {
        state: RangeState::Failed,
        error: Some("git is <b>gone</b>".to_owned()),
        ..range(Vec::new(), 0)
    };
    bench.write(move |tx| commits::keep(tx, project, &failed));
    let (_, page) = bench.text(&format!("/compare?a={first}&b={second}"));
    assert!(page.contains("git is &#60;b&#62;gone") && page.contains("List the commits"), "{page}");
    // Of a folder there is none.
    let folder = "folder = \"/srv/a\"\nstudy = \"prony.toml\"";
    bench.write(move |tx| projects::register(tx, &"site".parse().expect("a name"), folder, Moment(9)));
    assert!(ask(first, second).is_err());
    assert!(!bench.text(&format!("/build/{second}")).1.contains("Commits since"));
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
    let noise: Vec<u8> = std::iter::repeat_with(crate::auth::random::<32>).take(10_000).flatten().collect();
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
