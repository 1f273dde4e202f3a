//! `prony compare`: two servers in turn, stored results, conditions and their exit codes.

use std::fs;
use std::time::Duration;

use prony_model::{ComparisonOutcome, FindingCode, from_json, to_json};
use prony_targets::Running;
use prony_targets::rudy;
use prony_targets::truth::{self, Delay};
use serde_json::Value;

use crate::binary::{ProgramOutput, prony};
use crate::folder::Folder;
use crate::server::Server;

const STORED: &str = include_str!("stored.json");

/// A server that takes so long, and its URL.
fn truth(delay: Duration) -> (Running, String) {
    let config = truth::Config { delay: Delay::Const(delay), ..truth::Config::default() };
    let server = truth::start(config).expect("a free port");
    let url = format!("http://{}/", server.local_addr());
    (server, url)
}

/// A server that answers all its connections after `delay`, so that they move in lockstep, and its URL.
fn lockstep(delay: Duration) -> (Running, String) {
    let config =
        rudy::Config { model: rudy::Model::Async, delay, keep_alive: true, ..rudy::Config::default() };
    let server = rudy::start(config).expect("a free port");
    let url = format!("http://{}/", server.local_addr());
    (server, url)
}

/// Flags that make a comparison as short as it can be.
const SHORT: [&str; 8] = ["--pairs", "8", "-c", "4", "--warmup", "100ms", "--block", "100ms"];

fn path(folder: &Folder, name: &str) -> String {
    folder.0.join(name).display().to_string()
}

/// A report without its line breaks.
fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn compare(words: &[&str]) -> ProgramOutput {
    prony(&[&["compare"], words].concat())
}

/// The word for the primary metric.
fn word(json: &str) -> String {
    let result: Value = serde_json::from_str(json).expect("JSON");
    assert_eq!((&result["format"], &result["version"]), (&"prony.compare".into(), &1.into()), "{json}");
    assert_eq!(result["metrics"][0]["primary"], true, "{json}");
    result["metrics"][0]["outcome"]["word"].as_str().expect("a word").to_owned()
}

/// Three times as slow is found whatever the noise; only a client without any CPU may keep it from being reported.
#[test]
fn two_commands_are_timed_in_turn() {
    let output =
        prony(&["compare", "sleep 0.01", "sleep 0.03", "--pairs", "12", "--fail-if", "slower", "--quiet"]);
    assert_eq!(output.code, Some(1), "{output:#?}");
    assert!(output.out.contains("slower") || output.out.contains("SLOWER"), "{}", output.out);
    let output = prony(&["compare", "sleep 0.01", "http://127.0.0.1:1/"]);
    assert!(output.code == Some(2) && output.err.contains("two commands"), "{output:#?}");
    let output = prony(&["compare", "sleep 0.01", "sleep 0.03", "--rate", "5"]);
    assert!(output.code == Some(2) && output.err.contains("--rate is for servers"), "{output:#?}");
}

#[test]
fn a_server_three_times_as_slow() {
    let (_quick, quick) = truth(Duration::from_millis(5));
    let (_slow, slow) = truth(Duration::from_millis(15));
    for (a, b, expected) in [(&quick, &slow, "slower"), (&slow, &quick, "faster")] {
        let output = compare(&[&[a.as_str(), b.as_str(), "-o", "json"], &SHORT[..]].concat());
        assert!(output.is_measured(), "{output:?}");
        let word = word(&output.out);
        assert!(
            word.starts_with(expected) || (output.code == Some(3) && word == "no-verdict"),
            "{word}: {}",
            output.out
        );
    }
}

/// A block of 200 ms holds two rounds of 98 ms or one. Counted, a server slower by 2.5 % was "FASTER +50 % [+47 %,
/// +50 %]", and one slower by 4 % (39.2 and 40.8 ms) made "no difference +0 % [+0 %, +0 %]".
#[test]
fn lockstep_has_no_wrong_sign() {
    for (a_us, b_us) in [(98_000, 100_500), (39_200, 40_800)] {
        let (_a, a) = lockstep(Duration::from_micros(a_us));
        let (_b, b) = lockstep(Duration::from_micros(b_us));
        let words = ["--pairs", "6", "-c", "8", "--warmup", "200ms", "--block", "200ms", "-o", "json"];
        let output = compare(&[&[a.as_str(), b.as_str()], &words[..]].concat());
        assert!(output.is_measured(), "{output:?}");
        let result: Value = serde_json::from_str(&output.out).expect("JSON");
        let rate = &result["metrics"][0];
        assert_eq!(rate["metric"], "rate", "{}", output.out);
        let number = |value: &Value| value.as_f64().expect("a number");
        let (low, high) = (number(&rate["interval"]["low"]), number(&rate["interval"]["high"]));
        let truth = a_us as f64 / b_us as f64 - 1.0;
        // A machine that stops in one of so few blocks moves the estimate, and has the interval reach both ways.
        let is_near = (number(&rate["change"]) - truth).abs() < 0.15;
        assert!(is_near || (low < 0.0 && high > 0.0), "{a_us} and {b_us} µs: {rate}");
        assert!(high > low, "{a_us} and {b_us} µs: {rate}");
        let word = rate["outcome"]["word"].as_str().expect("a word");
        assert!(word != "faster" || number(&rate["change"]) < 0.05, "{a_us} and {b_us} µs: {rate}");
    }
}

/// What comes too late for its block did not fail: the client gave it up.
#[test]
fn late_answers_do_not_fail() {
    let (_a, a) = truth(Duration::from_millis(40));
    let output = compare(&[&[a.as_str(), a.as_str(), "--drain", "0", "-o", "json"], &SHORT[..]].concat());
    assert!(output.is_measured(), "{output:?}");
    let result: Value = serde_json::from_str(&output.out).expect("JSON");
    for side in ["a", "b"] {
        assert_eq!(result[side]["failed"], 0, "{}", output.out);
        assert!(result[side]["unanswered"].as_u64() > Some(0), "{}", output.out);
    }
    let reason = &result["metrics"][0]["outcome"]["reason"];
    assert!(reason.as_str().is_some_and(|reason| !reason.contains("failed")), "{reason}");
}

#[test]
fn conditions_decide_on_the_exit_code() {
    let (_quick, quick) = truth(Duration::from_millis(5));
    let (_slow, slow) = truth(Duration::from_millis(15));
    for (condition, expected) in
        [("slower:50%", 1), ("p50:different", 1), ("slower:500%", 0), ("too-noisy", 0)]
    {
        let words = [&[quick.as_str(), &slow, "--fail-if", condition], &SHORT[..]].concat();
        let output = compare(&words);
        // Without a CPU of its own the client reports that, and nothing else.
        let is_valid = !output.out.contains("NO VERDICT");
        assert_eq!(output.code, Some(if is_valid { expected } else { 3 }), "{condition}: {output:?}");
    }
}

#[test]
fn a_server_with_itself() {
    let server = Server::good();
    let url = server.url.as_str();
    let output =
        compare(&[&[url, url, "--rate", "200", "--primary", "p50", "--seed", "7"], &SHORT[..]].concat());
    assert!(output.is_measured(), "{output:?}");
    let words = ["SLOWER", "FASTER", "no difference", "TOO NOISY", "NO VERDICT"];
    assert!(words.iter().any(|word| output.out.lines().any(|line| line.starts_with(word))), "{}", output.out);
    for part in ["p50 response", "8 pairs", "primary", "seed 7", "applies to these two processes"] {
        assert!(flat(&output.out).contains(part), "{part}: {}", output.out);
    }
    assert!(output.out.lines().all(|line| line.chars().count() <= 80), "{}", output.out);
    assert!(!output.out.contains("\nrate"), "an asked rate is no metric: {}", output.out);
}

#[test]
fn formats_and_files() {
    let folder = Folder::new("compare-formats");
    let server = Server::good();
    let url = server.url.as_str();
    let file = path(&folder, "result.json");
    let measured = compare(&[&[url, url, "-o", "markdown", "--json", &file], &SHORT[..]].concat());
    assert!(measured.is_measured() && measured.out.contains("| | | change |"), "{measured:?}");
    let text = fs::read_to_string(&file).expect("the file of --json");
    word(&text);
    let result: Value = serde_json::from_str(&text).expect("JSON");
    let pairs = result["pairs"].as_array().expect("pairs");
    assert!(
        pairs.len() >= 8 && pairs.iter().all(|pair| pair["a"]["histogram"]["data"].is_string()),
        "{text}"
    );
    let output = compare(&[url, url, "--json", &file]);
    assert!(output.code == Some(2) && output.err.contains("exists"), "{output:?}");
    let again = prony(&["report", &file, "-o", "markdown"]);
    assert_eq!((again.code, &again.out), (Some(0), &measured.out), "the report as it was first printed");
    let again = prony(&["report", &file, "-o", "json"]);
    assert_eq!((again.code, &again.out), (Some(0), &text));
    let again = prony(&["report", &file]);
    assert!(again.code == Some(0) && again.out.starts_with("A "), "{again:?}");
    let again = prony(&["report", &file, "-o", "csv"]);
    assert!(again.code == Some(2) && again.err.contains("and compare can be text"), "{again:?}");
    let again = prony(&["compare", &file, &file]);
    assert!(again.code == Some(2) && again.err.contains("is not a result of `prony run`"), "{again:?}");
}

#[test]
fn what_can_not_be_compared() {
    let check = |words: &[&str], code: i32, expected: &str| {
        let output = compare(words);
        assert_eq!((output.code, output.out.as_str()), (Some(code), ""), "{output:?}");
        assert!(output.err.contains(expected), "{expected}: {output:?}");
    };
    check(&["http://127.0.0.1:1/"], 2, "two sides");
    check(&["http://127.0.0.1:1/", "http://127.0.0.1:1/"], 4, "nothing answers");
    check(&["/nonexistent/a.json", "/nonexistent/b.json"], 2, "can't read /nonexistent/a.json");
    check(&["h:1", "h:2", "--fail-if", "worse"], 2, "is not a condition");
    check(&["h:1", "h:2", "--margin", "0%"], 2, "is not a percentage");
    let bad = Server::not_found();
    let words = [&[bad.url.as_str(), bad.url.as_str()], &SHORT[..]].concat();
    check(&words, 4, "not one response was good");
}

/// A run that began in a certain second, `change`d and stored.
fn store(
    folder: &Folder,
    name: &str,
    second: u32,
    rate: f64,
    change: fn(&mut prony_model::RunResult),
) -> String {
    let mut result = from_json(STORED).expect("a stored run");
    result.timing.started_at = format!("2026-01-02T03:{:02}:{:02}.000Z", second / 60, second % 60);
    result.findings.retain(|finding| finding.code == FindingCode::ClosedLoop);
    result.verdict = prony_model::Verdict::Valid;
    result.rate.done_per_s = rate;
    change(&mut result);
    let path = path(folder, name);
    fs::write(&path, to_json(&result)).expect("the folder can be written");
    path
}

#[test]
fn one_run_of_each_is_no_comparison() {
    let folder = Folder::new("compare-single");
    let a = store(&folder, "a.json", 0, 1000.0, |_| {});
    let b = store(&folder, "b.json", 20, 1500.0, |_| {});
    let output = compare(&[&a, &b]);
    assert_eq!((output.code, output.err.as_str()), (Some(0), ""), "{output:?}");
    for part in ["NO VERDICT", "+50 %", "1 run on each side", "prony compare URL_A URL_B"] {
        assert!(flat(&output.out).contains(part), "{part}: {}", output.out);
    }
}

#[test]
fn six_runs_of_each_are_compared() {
    let folders = [Folder::new("compare-before"), Folder::new("compare-after")];
    for (k, (folder, rate)) in (0..12).map(|k| (k, (&folders[k % 2], 1000.0 + 500.0 * (k % 2) as f64))) {
        let second = u32::try_from(k).expect("few") * 20;
        store(folder, &format!("{k}.json"), second, rate, |_| {});
    }
    let [before, after] = [path(&folders[0], ""), path(&folders[1], "")];
    let output = compare(&[&before, &after, "-o", "json", "--fail-if", "slower"]);
    assert_eq!((output.code, output.err.as_str()), (Some(0), ""), "{output:?}");
    assert_eq!(word(&output.out), "faster");
    let output = compare(&["--a", &after, "--b", &before, "--fail-if", "slower"]);
    assert!(output.code == Some(1) && output.out.contains("SLOWER"), "{output:?}");
    assert!(!output.out.contains("all runs of one side"), "they took turns: {}", output.out);
}

#[test]
fn runs_of_other_plans_are_refused() {
    let folder = Folder::new("compare-refused");
    let a = store(&folder, "a.json", 0, 1000.0, |_| {});
    let b = store(&folder, "b.json", 20, 1500.0, |result| {
        result.plan.load = prony_model::Load::Closed { connections: 77 };
        result.environment.cpus += 1;
    });
    let output = compare(&[&a, &b]);
    assert_eq!((output.code, output.out.as_str()), (Some(2), ""), "{output:?}");
    for part in ["differ in the load", "differ in the machine", "add --force"] {
        assert!(output.err.contains(part), "{part}: {output:?}");
    }
    let output = compare(&[&a, &b, "--force"]);
    assert_eq!((output.code, output.err.as_str()), (Some(0), ""), "{output:?}");
    assert!(
        output.out.contains("NO VERDICT") && flat(&output.out).contains("differ in the load"),
        "{output:?}"
    );
}

/// The words of the binary's JSON are those of the model.
#[test]
fn words_are_known() {
    let outcome: ComparisonOutcome = serde_json::from_str("{\"word\": \"slower\"}").expect("a word");
    assert_eq!(outcome, ComparisonOutcome::Slower);
}
