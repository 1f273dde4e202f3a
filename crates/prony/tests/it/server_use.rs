//! What a run reports on the server that it loads: servers that use a known amount, and servers that can't be measured.

use std::process::Child;

use prony_model::{FindingCode, MemoryGrowth, RunResult, ServerFoundBy, ServerUse, from_json};

use crate::binary::prony;
use crate::folder::Folder;
use crate::servers::Served;

fn run(url: &str, more: &[&str]) -> RunResult {
    let words = [&["run", url, "-q", "-o", "json", "--no-calibration", "--threads", "1"], more].concat();
    let output = prony(&words);
    from_json(&output.out).unwrap_or_else(|error| panic!("{error}: {}", output.err))
}

fn used(result: &RunResult) -> &ServerUse {
    result.server.as_ref().unwrap_or_else(|| panic!("{:?}", result.server_unknown_because))
}

#[test]
fn the_server_is_found_from_its_socket_and_measured() {
    let server = Served::start(&["null"]);
    let result = run(&server.url, &["-c", "4", "-d", "3s", "--warmup", "200ms"]);
    let used = used(&result);
    assert_eq!(used.found_by, ServerFoundBy::ListeningSocket);
    assert_eq!(used.own.each.len(), 1);
    assert_eq!(used.own.each[0].pid, server.pid());
    // What was answered in the measured part, as the client counted it on its own.
    let off = used.requests.abs_diff(result.requests.answered);
    assert!(off <= 4 + result.requests.answered / 10, "{} of {}", used.requests, result.requests.answered);
    assert!(used.own.cpu_s > 0.0 && used.own.cpu_s <= used.wall_s * f64::from(used.cpus), "{used:?}");
    assert!(
        used.own.memory_peak_bytes.expect("own process") >= used.own.memory_end_bytes.expect("own process")
    );
    assert!(used.own.threads >= 1 && used.own.descriptors.expect("own process") > 4, "{used:?}");
    let figure = used.cpu_per_request_us.expect("it answered");
    assert!((figure.value * used.requests as f64 / 1e6 / used.own.cpu_s - 1.0).abs() < 0.01, "{used:?}");
    assert_eq!(used.sections.len(), 10);
    let of_sections: f64 = used.sections.iter().map(|section| section.cpu_s).sum();
    assert!((of_sections / used.own.cpu_s - 1.0).abs() < 0.05, "{used:?}");
    assert!(used.listener.expect("it listens").backlog > 0);
    assert_eq!((used.dependants.len(), used.own.ended), (0, 0));
    // The machine has counters, or the result gives the reason.
    assert!(used.counters.instructions.is_some() || used.counters.absent_because.is_some());
}

#[test]
fn a_named_process_counts_with_its_children() {
    let server = Served::start(&["null"]);
    // A shell that has all its work done by children, each over before anybody could look at it for long.
    let burner = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done";
    let mut shell = command_of("sh", &["-c", &format!("while :; do sh -c '{burner}'; done")]);
    let pid = shell.id().to_string();
    let result =
        run(&server.url, &["-c", "1", "--rate", "50", "-d", "5s", "--warmup", "0s", "--target-pid", &pid]);
    shell.kill().expect("it is ours");
    shell.wait().expect("it is ours");
    let used = used(&result);
    assert_eq!(used.found_by, ServerFoundBy::Pid);
    // The shell itself does nothing.
    let own = used.own.each.iter().find(|each| each.pid == shell.id()).expect("it was watched");
    assert!(used.own.cpu_s > 2.0 * own.cpu_s && used.own.cpu_s > 0.1, "{used:?}");
}

fn command_of(program: &str, words: &[&str]) -> Child {
    std::process::Command::new(program).args(words).spawn().expect("every system has it")
}

/// Requests per second of a soak.
const SOAK_RATE: f64 = 400.0;

/// A short soak of a server that leaks so many bytes for each request.
fn soak(leak: &str) -> RunResult {
    let server =
        Served::start(&["rudy", "--model", "async", "--delay", "1ms", "--keepalive", "--leak", leak]);
    run(&server.url, &["--rate", &SOAK_RATE.to_string(), "-d", "5s", "--warmup", "500ms"])
}

fn growth(result: &RunResult) -> MemoryGrowth {
    used(result).memory_growth_bytes_per_h.expect("it ran for seconds")
}

fn has_leak(result: &RunResult) -> bool {
    result.findings.iter().any(|finding| finding.code == FindingCode::MemoryGrowth)
}

/// The page of `result`, as `prony report` makes it.
fn page(name: &str, result: &RunResult) -> String {
    let folder = Folder::new(name);
    let file = folder.0.join("run.json");
    std::fs::write(&file, prony_model::to_json(result)).expect("it can be written");
    let page = prony(&["report", file.to_str().expect("a path"), "-o", "html"]);
    assert_eq!(page.code, Some(0), "{}", page.err);
    page.out
}

/// The slope of a leak is the bytes of each request times the rate, whatever else this machine does; that it went on all
/// along is found in one of three soaks at least.
#[test]
fn a_leak_is_found_with_its_slope() {
    const BYTES: f64 = 65_536.0;
    let mut found = None;
    for _ in 0..3 {
        let soak = soak("64KiB");
        let growth = growth(&soak);
        assert!((growth.bytes_per_request / BYTES - 1.0).abs() < 0.2, "{growth:?}");
        // All that were due were answered, if late: by the hour, that is the rate that was asked for.
        let of_rate = BYTES * soak.rate.answered_per_s * 3600.0;
        assert!((growth.value / of_rate - 1.0).abs() < 0.25, "{growth:?} is not {of_rate}");
        assert!(growth.samples >= 10, "{growth:?}");
        assert_eq!(has_leak(&soak), growth.is_leak);
        if growth.is_leak {
            found = Some(soak);
            break;
        }
    }
    let page = page("page-of-a-leak", &found.expect("one of three soaks shows it"));
    assert!(page.contains("▲ grew all along") && page.contains("id=\"drift-memory\""), "{page}");
}

#[test]
fn a_steady_server_has_no_leak() {
    let steady = soak("0");
    let growth = growth(&steady);
    assert!(!has_leak(&steady) && !growth.is_leak, "{growth:?}");
    // A heap may settle: less than a tenth of the leak above.
    assert!(growth.bytes_per_request.abs() < 6_553.0, "{growth:?}");
    let page = page("page-of-no-leak", &steady);
    assert!(page.contains("id=\"drift-memory\"") && !page.contains("▲ grew all along"));
}

#[test]
fn processes_that_are_not_there_are_refused() {
    let server = Served::start(&["null"]);
    let refused = |words: &[&str], expected: &str| {
        let output = prony(&[&["run", server.url.as_str(), "-q", "-d", "1s"], words].concat());
        assert!(output.code != Some(0) && output.err.contains(expected), "{words:?}: {}", output.err);
    };
    refused(&["--target-pid", "4194304"], "no process 4194304");
    refused(&["--target-cgroup", "/no/such/group"], "not a control group");
}

#[test]
fn a_server_that_ends_in_the_run_keeps_what_was_seen() {
    let mut other = command_of("sh", &["-c", "sleep 1.5"]);
    let server = Served::start(&["null"]);
    let pid = other.id().to_string();
    let result =
        run(&server.url, &["-c", "1", "--rate", "50", "-d", "3s", "--warmup", "0s", "--target-pid", &pid]);
    other.wait().expect("it is ours");
    let used = used(&result);
    assert!(used.notes.iter().any(|note| note.contains("ended during the run")), "{used:?}");
    assert_eq!(used.own.memory_peak_bytes, None);
}
