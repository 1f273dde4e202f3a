//! `prony capacity --agents`, with agents as processes and a server that counts. How much is found on a busy machine is not
//! what these tests are about: `prony-study` searches simulated servers, with agents that are lost.

use std::fs;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use prony_model::{CapacityResult, TrialOutcome, capacity_from_json};
use prony_targets::{Running, queue};

use crate::binary::{ProgramOutput, program_output};
use crate::fleet::{Fleet, ended, started};
use crate::server::Server;

/// Requests before the first trial at most: twenty one at a time, and what 200 a second make of a second and a half.
const PILOT_MAX: f64 = 20.0 + 308.0;
/// Single requests after a failed trial: five at a time, for 30 s at most.
const DRAINED_MAX: f64 = 5.0 * 30.0;

/// Four workers of 20 ms: 200 a second.
pub(crate) fn queue_server() -> (Running, String) {
    let config = queue::Config { workers: 4, service: Duration::from_millis(20), ..queue::Config::default() };
    let server = queue::start(config).expect("a free port");
    let url = format!("http://{}/", server.local_addr());
    (server, url)
}

fn capacity(fleet: &Fleet, url: &str, agents: &str, more: &[&str]) -> std::process::Command {
    let mut search = fleet.prony();
    search.args(["capacity", url, "--agents", agents, "--nats", &fleet.url()]).args(more);
    search.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    search
}

fn output(fleet: &Fleet, url: &str, agents: &str, more: &[&str]) -> ProgramOutput {
    program_output(capacity(fleet, url, agents, more).output().expect("the binary was built"))
}

fn stored(file: &str) -> CapacityResult {
    capacity_from_json(&fs::read_to_string(file).expect("a file")).expect("a capacity")
}

/// Every trial is by both agents and has the requests of its schedule, and the server has served those and the single requests
/// beside them.
pub(crate) fn check_served(result: &CapacityResult, server: &Running) {
    let (mut least, mut most) = (0.0, PILOT_MAX);
    for trial in &result.trials {
        assert_eq!(trial.agents, ["a", "b"], "{trial:?}");
        // The shares are those of one schedule: together they have its requests.
        let due = trial.rate_per_s * trial.planned_s;
        assert!((trial.requests as f64 - due).abs() <= 1.0, "{trial:?}");
        least += due - trial.unanswered as f64 - 1.0;
        most += due * (1.0 + result.method.warmup_share) + 2.0;
        most += if trial.outcome == TrialOutcome::Failed { DRAINED_MAX } else { 0.0 };
    }
    let counts = server.counters();
    let served = (counts.requests + counts.in_vain) as f64;
    assert!((least..=most).contains(&served), "{served} served, {least} to {most} sent: {result:?}");
}

#[test]
fn two_agents_put_each_trial_on_the_server_once() {
    let Some(fleet) = Fleet::with_broker("a search by two agents") else { return };
    let _agents = [fleet.connected("a"), fleet.connected("b")];
    let (server, url) = queue_server();
    let file = fleet.result_file();
    let words =
        ["--slo", "response.p50 < 1s", "--from", "50", "--to", "100", "--time", "30s", "--trial", "1s"];
    let searched = output(&fleet, &url, "2", &[&words[..], &["--json", &file]].concat());
    assert!(matches!(searched.code, Some(0 | 1 | 3)), "{searched:?}");
    let result = stored(&file);
    assert_eq!(result.agents, ["a", "b"]);
    assert!(searched.out.contains("2 agents (a, b)"), "{}", searched.out);
    assert!(!result.trials.is_empty(), "{searched:?}");
    check_served(&result, &server);
    // What agents measured is in the report, and nowhere else.
    let runs = fs::read_dir(fleet.folder.0.join("state/prony/runs")).into_iter().flatten().flatten();
    let left: Vec<_> = runs.map(|run| run.file_name()).filter(|name| name != "reported").collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn users_are_shared_by_as_many_agents_as_there_are_users() {
    let Some(fleet) = Fleet::with_broker("users of two agents") else { return };
    let _agents = [fleet.connected("a"), fleet.connected("b")];
    let (_server, url) = queue_server();
    let file = fleet.result_file();
    let words = ["--users", "1,2,3,4,6,8", "--time", "25s", "--trial", "200ms", "-q", "--json", &file];
    let measured = output(&fleet, &url, "a,b", &words);
    assert!(matches!(measured.code, Some(0 | 3)), "{measured:?}");
    let result = stored(&file);
    assert_eq!(result.agents, ["a", "b"]);
    assert!(!result.trials.is_empty(), "{measured:?}");
    for trial in &result.trials {
        let users = trial.users.expect("users");
        assert_eq!(trial.agents.len(), users.min(2) as usize, "{trial:?}");
    }
}

#[test]
fn a_search_goes_on_without_an_agent_that_is_killed() {
    let Some(fleet) = Fleet::with_broker("an agent that is killed in a trial") else { return };
    let (_a, mut b) = (fleet.connected("a"), fleet.connected("b"));
    let (server, url) = queue_server();
    let file = fleet.result_file();
    let scenario = fleet.folder.0.join("pair.toml");
    let text = "[[flow]]\nname = \"pair\"\n[[flow.step]]\nname = \"one\"\npath = \"/\"\n[[flow.step]]\nname = \"two\"\npath = \"/\"\n";
    fs::write(&scenario, text).expect("it can be written");
    let scenario = scenario.to_str().expect("UTF-8");
    let words = [
        "--slo",
        "step.two.response.p50 < 1s",
        "--from",
        "10",
        "--to",
        "40",
        "--time",
        "60s",
        "--trial",
        "2s",
        "--scenario",
        scenario,
        "--json",
        &file,
    ];
    let mut search = started(capacity(&fleet, &url, "a,b", &words));
    search.await_line(" /s ");
    let before = server.counters().requests;
    while server.counters().requests < before + 10 && search.child.try_wait().expect("a child").is_none() {
        thread::sleep(Duration::from_millis(10));
    }
    b.kill();
    let (code, rest) = ended(search);
    assert!(matches!(code, Some(0 | 1 | 3)), "{code:?} {rest}");
    let result = stored(&file);
    assert!(result.plan.scenario.is_some());
    // Sessions per second, not requests.
    assert!(result.trials.iter().all(|trial| trial.rate_per_s <= 40.0), "{:?}", result.trials);
    assert!(result.notes.iter().any(|note| note.contains("the agent b was lost")), "{:?}", result.notes);
    let is_lost = |trial: &prony_model::CapacityTrial| trial.reason.contains("the agent b is lost");
    let lost = result.trials.iter().position(is_lost).unwrap_or_else(|| panic!("{result:?}"));
    let (before, after) = result.trials.split_at(lost);
    assert_eq!(after[0].outcome, TrialOutcome::Void, "{:?}", after[0]);
    assert!(before.iter().all(|trial| trial.agents == ["a", "b"]), "{before:?}");
    assert!(after[1..].iter().all(|trial| trial.agents == ["a"]), "{after:?}");
}

#[test]
fn what_agents_may_not_do_is_a_limit_of_the_client() {
    let Some(fleet) = Fleet::with_broker("a policy that limits a search") else { return };
    let policy = fleet.folder.0.join("policy.toml");
    let caps = "[caps]\nrate_per_s = 30\nconnections = 1000\nduration_s = 60\nbytes = 1000000000\n";
    fs::write(&policy, caps).expect("it can be written");
    let mut agent = fleet.agent("a", &["--policy", policy.to_str().expect("UTF-8")]);
    agent.await_line("connected");
    let (_server, url) = queue_server();
    let file = fleet.result_file();
    let words =
        ["--slo", "response.p50 < 1s", "--from", "20", "--time", "25s", "--trial", "500ms", "--json", &file];
    let searched = output(&fleet, &url, "a", &words);
    assert!(matches!(searched.code, Some(0 | 1 | 3)), "{searched:?}");
    let result = stored(&file);
    let (allowed, more): (Vec<_>, Vec<_>) = result.trials.iter().partition(|trial| trial.rate_per_s <= 30.0);
    assert!(!allowed.is_empty(), "{result:?}");
    for trial in &more {
        assert_eq!((trial.outcome, trial.requests), (TrialOutcome::Void, 0), "{trial:?}");
        assert!(trial.reason.contains("the agent a refused: its policy"), "{trial:?}");
    }
}

#[test]
fn what_can_not_be_searched_with_agents_is_refused_before_any_load() {
    let Some(fleet) = Fleet::with_broker("searches that can not begin") else { return };
    let server = Server::good();
    let refused = |agents: &str, words: &[&str], expected: &str| {
        let words = [&["--slo", "p99 < 1s"], words].concat();
        let output = output(&fleet, &server.url, agents, &words);
        assert_eq!(output.code, Some(2), "{output:?}");
        assert!(output.err.contains(expected) && output.out.is_empty(), "{expected}: {output:?}");
        assert_eq!(server.requests.try_iter().count(), 0, "no request was sent");
    };
    refused("a", &["--source", "127.0.0.2"], "--source does not work with --agents");
    refused("a,b", &["-c", "1"], "threads");
    refused("a,a", &[], "named twice");
    refused("a", &[], "there is no agent a (no agent was heard");
    let _agents = [fleet.connected("a"), fleet.connected("b")];
    // Each of them began, and nothing answered.
    let nobody = output(&fleet, "http://127.0.0.1:1/", "a,b", &["--slo", "p99 < 1s"]);
    assert_eq!(nobody.code, Some(4), "{nobody:?}");
    assert!(nobody.err.contains("connection refused") && nobody.out.is_empty(), "{nobody:?}");
}
