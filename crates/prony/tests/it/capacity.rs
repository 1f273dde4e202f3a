//! `prony capacity`: the command as a whole, on a server of known capacity. How much a busy machine lets it find is not what
//! these tests are about: `prony-study` searches simulated servers.

use std::fs;
use std::time::Duration;

use prony_model::{CapacityOutcome, CapacityResult, TrialPurpose, Varied, capacity_from_json};
use prony_targets::Running;
use prony_targets::truth::{self, Delay};

use crate::binary::{ProgramOutput, command, program_output, prony};
use crate::folder::Folder;
use crate::server::Server;

/// One worker that takes 2 ms for each request: 500 a second.
fn single() -> (Running, String) {
    let delay = Delay::SingleWorker { service: Duration::from_millis(2) };
    let config = truth::Config { delay, ..truth::Config::default() };
    let server = truth::start(config).expect("a free port");
    let url = format!("http://{}/", server.local_addr());
    (server, url)
}

fn capacity(words: &[&str]) -> ProgramOutput {
    prony(&[&["capacity"], words].concat())
}

fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What must hold of every search, whatever the machine was busy with.
fn check(result: &CapacityResult) {
    assert!(!result.trials.is_empty());
    for trial in &result.trials {
        assert!(!trial.reason.is_empty() || trial.purpose == TrialPurpose::Users, "{trial:?}");
        assert!(trial.measured_s <= trial.planned_s * 1.01 + 0.1, "{trial:?}");
    }
    if let CapacityOutcome::Between {
        lower_per_s,
        upper_per_s,
        carried_per_s,
        exceeded_per_s,
        estimate_per_s,
        ..
    } = result.outcome
    {
        assert!(
            lower_per_s <= carried_per_s && carried_per_s < exceeded_per_s && exceeded_per_s <= upper_per_s
        );
        assert!(lower_per_s <= estimate_per_s && estimate_per_s <= upper_per_s);
    }
}

#[test]
fn a_search_is_stored_and_printed_again_in_every_format() {
    let (_server, url) = single();
    let folder = Folder::new("capacity");
    let file = folder.0.join("capacity.json").display().to_string();
    let searched =
        capacity(&[&url, "--slo", "response.p90 < 50ms", "--time", "12s", "--peak", "100", "--json", &file]);
    assert!([Some(0), Some(1), Some(3)].contains(&searched.code), "{searched:?}");
    let result = capacity_from_json(&fs::read_to_string(&file).expect("a file")).expect("a capacity");
    check(&result);
    assert_eq!((result.method.varied, result.peak_per_s), (Varied::Rate, Some(100.0)));
    assert_eq!(result.objectives, ["response.p90 < 50ms"]);
    assert!(result.elapsed_s < 60.0, "{}", result.elapsed_s);
    assert_eq!(prony(&["report", &file]).out, searched.out);
    assert!(prony(&["report", &file, "-o", "html"]).out.contains("<h1>Capacity of http://127.0.0.1"));
    assert!(prony(&["report", &file, "-o", "markdown"]).out.contains("| offered /s |"));
    assert_eq!(prony(&["report", &file, "-o", "json"]).out, fs::read_to_string(&file).expect("a file"));
    let csv = prony(&["report", &file, "-o", "csv"]);
    assert_eq!(csv.code, Some(2), "{csv:?}");
    // Without --force nothing is replaced, and nothing is loaded.
    let again = capacity(&[&url, "--slo", "p99 < 1s", "--json", &file]);
    assert!(again.code == Some(2) && again.err.contains("exists"), "{again:?}");
}

#[test]
fn users_are_varied_and_a_law_is_fitted_or_refused() {
    let (_server, url) = single();
    let words = ["--users", "1,2,3,4,6,8", "--time", "20s", "--trial", "200ms", "--json", "-"];
    let searched = capacity(&[&[url.as_str()], words.as_slice()].concat());
    let result = capacity_from_json(&searched.out).expect("a capacity");
    check(&result);
    assert_eq!(result.method.varied, Varied::Users);
    let scaling = result.scaling.expect("users were varied");
    assert_eq!(scaling.fit.is_some(), scaling.missing_because.is_none());
    assert_eq!(scaling.users_max, 8);
}

#[test]
fn what_can_not_be_searched_is_refused_before_any_load() {
    let server = Server::good();
    let refused = |words: &[&str], code: i32, expected: &str| {
        let output = capacity(&[&[server.url.as_str()], words].concat());
        assert_eq!(output.code, Some(code), "{output:?}");
        assert!(flat(&output.err).contains(expected), "{expected}: {}", output.err);
        assert!(output.out.is_empty(), "{output:?}");
    };
    refused(&[], 2, "a capacity needs an objective");
    refused(&["--slo", "response.p98 < 50ms"], 2, "is not a figure");
    refused(&["--slo", "rate > 50"], 2, "does not bound what grows worse with the load");
    refused(&["--slo", "p99 < 1s", "--users", "1,2"], 2, "--users");
    refused(&["--slo", "p99 < 1s", "--from", "5", "--to", "4"], 2, "--from is not below --to");
    refused(&["--slo", "p99 < 1s", "--errors", "200%"], 2, "--errors");
    refused(&["--slo", "p99 < 1s", "--scenario", "none.toml"], 2, "can't read the scenario none.toml");
    assert!(server.requests.try_recv().is_err(), "no request was sent");
}

#[test]
fn a_server_that_can_not_be_measured_is_reported() {
    let broken = Server::not_found();
    let output = capacity(&[&broken.url, "--slo", "p99 < 1s", "--time", "10s"]);
    assert_eq!(output.code, Some(4), "{output:?}");
    assert!(output.err.contains("not one response was good"), "{output:?}");
    let nobody = capacity(&["http://127.0.0.1:1/", "--slo", "p99 < 1s"]);
    assert_eq!(nobody.code, Some(4), "{nobody:?}");
    // One request takes 2 ms: no load makes that less.
    let (_server, url) = single();
    let output = capacity(&[&url, "--slo", "response.p50 < 1ms", "--time", "10s"]);
    assert_eq!(output.code, Some(2), "{output:?}");
    assert!(flat(&output.err).contains("no load can meet that"), "{output:?}");
}

/// The commands of docs/capacity.md, against a port where nobody listens: all of them are understood.
#[test]
fn the_documented_commands_are_understood() {
    let (folder, keys) = (Folder::new("capacity-docs"), Folder::new("capacity-docs-keys"));
    let document = include_str!("../../../../docs/capacity.md");
    let blocks = document.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next());
    let lines: Vec<&str> =
        blocks.flat_map(str::lines).filter(|line| line.starts_with("prony capacity")).collect();
    assert!(lines.len() >= 3, "{lines:?}");
    for line in lines {
        let line = line.replace("http://127.0.0.1:3000/", "http://127.0.0.1:1/");
        let words = shell_words::split(&line).expect("words of a shell");
        let mut search = command();
        search.current_dir(&folder.0).env("XDG_CONFIG_HOME", &keys.0).args(&words[1..]);
        if words.iter().any(|word| word == "--agents") {
            search.args(["--nats", "nats://127.0.0.1:1"]);
        }
        let output = search.output();
        let output = program_output(output.expect("the binary was built"));
        assert_eq!(output.code, Some(4), "{line}: {output:?}");
    }
    assert!(
        folder.names().is_empty(),
        "nothing is left of searches that did not begin: {:?}",
        folder.names()
    );
}
