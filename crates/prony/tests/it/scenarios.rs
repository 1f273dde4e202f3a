//! Scenarios by the binary: the examples of docs/scenarios.md, what is wrong in a file, and studies.

use std::fs;

use prony_model::ThresholdOutcome;

use crate::binary::{ProgramOutput, prony_in};
use crate::folder::Folder;
use crate::server::Server;

const DOCUMENT: &str = include_str!("../../../../docs/scenarios.md");

/// The shop of the document: what it is sent decides what it answers.
fn shop() -> String {
    Server::replying(|head, body| {
        let (status, text) = answer(head, body);
        (status, text.to_owned())
    })
}

fn answer(head: &str, body: &str) -> (&'static str, &'static str) {
    let has_token = head.contains("\r\nAuthorization: Bearer t0k\r\n");
    match head.split(" HTTP").next() {
        Some("GET /items") => ("200 OK", ""),
        Some("POST /items") if body == "{\"name\": \"tea\"}" => ("201 Created", ""),
        Some("POST /login") if body == "name=ann&password=se%26cret" => ("200 OK", "{\"token\": \"t0k\"}"),
        Some("POST /orders") if has_token && body.ends_with("\"note\": \"from ann\"}") => ("201 Created", ""),
        _ => ("400 Bad Request", ""),
    }
}

fn blocks(language: &str) -> Vec<&'static str> {
    let fence = format!("```{language}\n");
    let blocks = DOCUMENT.split(fence.as_str()).skip(1);
    blocks.map(|rest| rest.split("\n```").next().expect("a block ends")).collect()
}

/// A run that a busy machine may have spoiled is code 3.
fn is_measured(output: &ProgramOutput) -> bool {
    matches!(output.code, Some(0 | 3))
}

#[test]
fn the_documented_scenarios_run() {
    let (folder, url) = (Folder::new("scenarios-docs"), shop());
    fs::write(folder.0.join("users.csv"), "name,password\nann,se&cret\n").expect("room");
    let files: Vec<&str> = blocks("toml").into_iter().filter(|block| block.contains("[[flow]]")).collect();
    assert_eq!(files.len(), 2);
    for (name, text) in ["mix.toml", "shop.toml"].iter().zip(files) {
        fs::write(folder.0.join(name), text.replace("1s", "1ms").replace("3s", "3ms")).expect("room");
        let load = [name, "--base", &url, "-n", "40", "-c", "4", "-o", "json"];
        let output = prony_in(&folder.0, &[&["run"], &load[..]].concat());
        assert!(is_measured(&output), "{output:?}");
        let result = prony_model::from_json(&output.out).expect("a result");
        let found = result.scenario.expect("there were sessions");
        assert_eq!((found.sessions.begun, found.sessions.completed), (40, 40), "{found:?}");
        assert!(!output.out.contains("se&cret"), "rows of feeds stay where they are");
    }
    let text = prony_in(
        &folder.0,
        &["shop.toml", "--base", &url, "-n", "40", "-r", "200", "--threshold", "step.login.success == 100%"],
    );
    assert!(is_measured(&text), "{text:?}");
    for part in [
        "sessions of shop (1 flow, 2 steps) on",
        "40 begun, 40 completed",
        "login",
        "= buy",
        "without think",
        "step.login.success == 100%",
    ] {
        assert!(text.out.contains(part), "{part}: {text:?}");
    }
    assert!(text.out.lines().all(|line| line.chars().count() <= 80), "{text:?}");
    let markdown =
        prony_in(&folder.0, &["run", "shop.toml", "--base", &url, "-n", "8", "-c", "1", "-o", "markdown"]);
    assert!(markdown.out.contains("| login |") && markdown.out.contains("- sessions: "), "{markdown:?}");
}

/// A server that answers every third request with a 503; returns its URL.
fn busy() -> String {
    let count = std::sync::Arc::new(std::sync::atomic::AtomicU64::new(0));
    Server::replying(move |_, _| {
        let is_busy = count.fetch_add(1, std::sync::atomic::Ordering::SeqCst) % 3 == 1;
        (if is_busy { "503 Busy" } else { "200 OK" }, String::new())
    })
}

#[test]
fn retries_of_the_file_and_of_flags() {
    let (folder, url) = (Folder::new("scenarios-retries"), busy());
    let flow = "[[flow]]\nname = 'f'\n[[flow.step]]\nname = 'first'\npath = '/'\n[[flow.step]]\nname = 'next'\nmethod = 'POST'\npath = '/'\n";
    let section =
        DOCUMENT.split("```toml\n").find(|block| block.starts_with("[retries]")).expect("an example");
    let section = section.split("\n```").next().expect("it ends");
    fs::write(folder.0.join("file.toml"), format!("{flow}{section}\nbackoff = '1ms'\n")).expect("room");
    fs::write(folder.0.join("plain.toml"), flow).expect("room");
    let load = ["--base", &url, "-n", "30", "-c", "3"];
    let flags = ["--retries", "3", "--retry-on", "503", "--retry-backoff", "1ms"];
    for words in
        [&[&["run", "file.toml"], &load[..]].concat(), &[&["run", "plain.toml"], &load[..], &flags].concat()]
    {
        let output = prony_in(&folder.0, &[&words[..], &["-o", "json"]].concat());
        assert!(is_measured(&output), "{output:?}");
        let result = prony_model::from_json(&output.out).expect("a result");
        let retries = result.retries.expect("the plan has retries");
        // Three sessions at once, and each third answer: no request is unlucky four times.
        assert!(retries.retries >= 20, "{retries:?}");
        let found = result.scenario.expect("there were sessions");
        assert_eq!(found.sessions.begun, 30);
        assert_eq!(found.steps.iter().map(|step| step.retries).sum::<u64>(), retries.retries);
        assert!(output.err.contains("POST is not idempotent"), "{output:?}");
    }
    let none =
        prony_in(&folder.0, &[&["run", "file.toml"], &load[..], &["--retries", "0", "-o", "json"]].concat());
    assert_eq!(prony_model::from_json(&none.out).expect("a result").retries, None, "{none:?}");
    for format in ["text", "markdown"] {
        let output = prony_in(&folder.0, &[&["run", "file.toml"], &load[..], &["-o", format]].concat());
        assert!(output.out.contains("retries") && output.out.contains("after 503"), "{output:?}");
        assert!(output.out.contains("the step "), "the finding names the step: {output:?}");
        if format == "text" {
            assert!(output.out.lines().all(|line| line.chars().count() <= 80), "{output:?}");
        }
    }
}

#[test]
fn what_is_wrong_stands_beside_its_line() {
    let folder = Folder::new("scenarios-wrong");
    let text = "base = 'http://127.0.0.1:1'\n[[flow]]\nname = 'f'\n[[flow.step]]\npath = '/{tokn}'\nextract.token = { json = '/t' }\n[[flow.step]]\npath = '/{tokn}'\n";
    fs::write(folder.0.join("wrong.toml"), text).expect("room");
    fs::write(folder.0.join("good.toml"), "[[flow]]\nname = 'f'\n[[flow.step]]\npath = '/'\n").expect("room");
    let check = |words: &[&str], expected: &[&str]| {
        let output = prony_in(&folder.0, words);
        assert_eq!(output.code, Some(2), "{output:?}");
        for part in expected {
            assert!(output.err.contains(part), "{part}: {output:?}");
        }
    };
    check(
        &["run", "wrong.toml"],
        &["nothing is called {tokn} here", "wrong.toml:8:8", "did you mean {token}?"],
    );
    check(&["run", "none.toml"], &["can't read the scenario none.toml"]);
    check(
        &["run", "good.toml"],
        &["good.toml does not say where its server is", "--base http://127.0.0.1:3000"],
    );
    let base = ["--base", "http://127.0.0.1:1"];
    check(
        &[&["run", "good.toml", "-H", "A: b"], &base[..]].concat(),
        &["--header is about a single request"],
    );
    check(&[&["run", "good.toml", "-b", "x"], &base[..]].concat(), &["--body is about a single request"]);
    check(
        &[&["run", "good.toml", "--expect-status", "200"], &base[..]].concat(),
        &["--expect-status is about"],
    );
    check(
        &["run", "127.0.0.1:1", "--base", "http://127.0.0.1:1"],
        &["--base is where the paths of a scenario begin"],
    );
}

#[test]
fn a_study_runs_sessions() {
    let folder = Folder::new("scenarios-study");
    fs::write(
        folder.0.join("flow.toml"),
        "[[flow]]\nname = 'f'\n[[flow.step]]\nname = 'first'\npath = '/a'\n[[flow.step]]\nname = 'second'\npath = '/b'\n",
    )
    .expect("room");
    let study = "thresholds = ['step.first.success == 100%', 'step.second.response.p50 > 1h']\n[targets.null]\nserve = 'null'\n[loads.flow]\nscenario = 'flow.toml'\nrequests = 50\nconnections = 2\n";
    fs::write(folder.0.join("study.toml"), study).expect("room");
    let output = prony_in(&folder.0, &["study", "study.toml", "--output", "out"]);
    assert!(output.out.contains("sessions of flow, closed loop, 2 connections, 50 sessions"), "{output:?}");
    // A busy machine may have made the run invalid, which leaves no figures.
    let stored = fs::read_to_string(folder.0.join("out/report.json")).expect("a report");
    let stored = prony_model::study_from_json(&stored).expect("a study");
    if stored.verdict != prony_model::Verdict::Invalid {
        for part in ["50 sessions, 50 completed", "first", "= f", "without think"] {
            assert!(output.out.contains(part), "{part}: {output:?}");
        }
        let outcomes: Vec<_> = stored.thresholds.iter().map(|one| one.evaluated.outcome).collect();
        assert_eq!(outcomes, [ThresholdOutcome::Met, ThresholdOutcome::Missed]);
        let found = stored.cells[0].scenario.as_ref().expect("sessions");
        assert_eq!((found.steps.len(), found.steps[1].done), (2, 50), "{found:?}");
        let page = fs::read_to_string(folder.0.join("out/report.html")).expect("a page");
        assert!(
            page.contains("Steps of ") && page.contains("id=\"steps-0-1-service-p50\""),
            "no row of the second step"
        );
    }
    fs::write(folder.0.join("study.toml"), study.replace("flow.toml", "none.toml")).expect("room");
    let output = prony_in(&folder.0, &["study", "study.toml", "--dry-run"]);
    assert!(output.code == Some(2) && output.err.contains("can't read the scenario none.toml"), "{output:?}");
}
