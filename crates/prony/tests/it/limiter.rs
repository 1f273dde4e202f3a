//! What a run reports on its limiter, against servers whose limit is known. The machine may be busy: then `machine` and
//! `unknown` are good answers, and a wrong one never is. Where the server's processes can't be seen, `server` stands for all
//! that goes on in it.

use prony_model::LimiterKind::{
    self, ChosenRate, Client, Connections, Machine, Server, ServerCpu, ServerThread, ServerWaits, Unknown,
};
use prony_model::RunResult;
use rustix::process::Signal;

use crate::binary::prony;
use crate::servers::Served;

/// Loads `server` and checks that its limiter is one of `right`, or that nothing is claimed.
#[track_caller]
fn check(server: &[&str], load: &[&str], right: &[LimiterKind]) -> RunResult {
    let served = Served::start(server);
    let words = [&[served.url.as_str(), "-d", "1s", "-o", "json", "--no-calibration"], load].concat();
    let output = prony(&words);
    served.end(Signal::TERM);
    let result = prony_model::from_json(&output.out).expect("a result");
    let limiter = result.limiter.as_ref().expect("every run has one");
    assert!(
        right.contains(&limiter.kind) || [Machine, Unknown].contains(&limiter.kind),
        "{server:?} {load:?}: {limiter:?}"
    );
    result
}

#[test]
fn the_chosen_rate() {
    let result = check(&["null"], &["--rate", "20", "--warmup", "0"], &[ChosenRate]);
    // Twenty requests in a second are sent and answered on any machine.
    assert_eq!(result.limiter.expect("it has one").kind, ChosenRate);
}

#[test]
fn connections() {
    let delay = ["rudy", "--model", "async", "--keepalive", "--delay", "50ms"];
    let result = check(&delay, &["-c", "4"], &[Connections]);
    let solo = result.solo.expect("the warm-up begins with requests that are sent alone");
    assert!(solo.count >= 1 && solo.min_ms >= 50.0, "{solo:?}");
    check(&delay, &["-c", "1"], &[Connections]);
}

#[test]
fn a_server_that_waits() {
    let result = check(&["rudy", "--delay", "20ms"], &["-c", "8"], &[ServerWaits, Server]);
    let solo = result.solo.expect("the warm-up begins with requests that are sent alone");
    // Alone a request waits for no other: the queue of the load is not in these times.
    assert!(solo.min_ms < 8.0 * 20.0, "{solo:?}");
    check(&["bottleneck", "--workers", "4", "--hold", "10ms"], &["-c", "16"], &[ServerWaits, Server]);
    check(
        &["rudy", "--model", "pool", "--workers", "2", "--delay", "20ms"],
        &["-c", "12"],
        &[ServerWaits, Server],
    );
}

#[test]
fn the_servers_cpu() {
    // Where there is one core, one busy thread is all of them.
    let thread = ["bottleneck", "--workers", "4", "--busy", "1", "--burn", "2ms"];
    check(&thread, &["-c", "8"], &[ServerThread, ServerCpu, Server]);
    // On a machine with more cores than threads some stay idle.
    check(
        &["bottleneck", "--workers", "4", "--burn", "2ms"],
        &["-c", "32"],
        &[ServerCpu, ServerThread, Server],
    );
}

#[test]
fn a_server_as_fast_as_the_client() {
    check(&["null"], &["-c", "16"], &[Client, ServerThread, ServerCpu, Server]);
}

#[test]
fn without_a_warm_up_nothing_is_guessed() {
    check(&["rudy", "--delay", "5ms"], &["-c", "8", "--warmup", "0"], &[ServerWaits, Server]);
}
