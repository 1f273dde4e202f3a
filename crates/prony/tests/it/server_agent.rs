//! The agent on the server's host, which measures what the server uses, as processes with a real nats-server.

use std::fs;
use std::process::ChildStdout;

use prony_model::{AbsenceKind, FindingCode, FleetResult, ServerFoundBy, Severity, fleet_from_json};

use crate::binary::prony;
use crate::fleet::{Fleet, Process, ended, started};
use crate::server::Server;
use crate::servers::Served;

/// The port in a URL.
fn port(url: &str) -> &str {
    url.trim_end_matches('/').rsplit(':').next().expect("a port")
}

/// A report without its line breaks.
fn in_a_line(report: &str) -> String {
    report.split_whitespace().collect::<Vec<_>>().join(" ")
}

impl Fleet {
    /// The agent `t`, whose policy lets it measure the server of `url`.
    fn beside(&self, url: &str) -> Process<ChildStdout> {
        let policy = self.folder.0.join("t.toml");
        fs::write(&policy, format!("measured_ports = [\"{}\"]\n", port(url))).expect("it can be written");
        let mut agent = self.agent("t", &["--policy", policy.to_str().expect("UTF-8")]);
        agent.await_line("connected");
        agent
    }

    fn result(&self) -> FleetResult {
        let text = fs::read_to_string(self.result_file()).expect("the run has a result");
        fleet_from_json(&text).expect("a result fits its schema")
    }
}

#[test]
fn the_agent_on_the_servers_host_says_what_the_server_uses() {
    let Some(fleet) = Fleet::with_broker("an agent that measures the server") else { return };
    let _agents = [fleet.connected("a"), fleet.connected("b")];
    let server = Served::start(&["null"]);
    let mut t = fleet.beside(&server.url);
    let file = fleet.result_file();
    let more = ["--server-agent", "t", "-c", "4", "-d", "3s", "--warmup", "300ms", "--json", &file];
    let output = fleet.output(&server.url, "a,b", &more);
    assert!(matches!(output.code, Some(0 | 3)), "{output:?}");
    assert!(output.err.contains("agents: a, b, server measured by t"), "{}", output.err);
    assert!(in_a_line(&output.out).contains("measured by the agent t"), "{}", output.out);
    t.await_line("will measure the server of");
    let result = fleet.result();
    let names: Vec<&str> = result.agents.iter().map(|agent| agent.name.as_str()).collect();
    assert_eq!(names, ["a", "b"], "t has no part of the load");
    let about = result.server_agent.as_ref().expect("t took part");
    assert_eq!((about.name.as_str(), &about.absence), ("t", &None));
    assert!(about.clock.is_some() && about.environment.as_ref().expect("a host").cpus > 0);
    let used = result.merged.server.as_ref().expect("it was measured");
    assert_eq!((used.agent.as_deref(), used.found_by), (Some("t"), ServerFoundBy::ListeningSocket));
    assert_eq!(used.own.each.iter().map(|each| each.pid).collect::<Vec<_>>(), [server.pid()]);
    // Sampled by t, counted by a and b.
    let answered = result.merged.requests.answered;
    assert!((answered / 2..=answered + 8).contains(&used.requests), "{} of {answered}", used.requests);
    let figure = used.cpu_per_request_us.expect("it answered");
    assert_eq!(figure.requests, used.requests);
    assert!((figure.value * used.requests as f64 / 1e6 / used.own.cpu_s - 1.0).abs() < 0.01, "{used:?}");
    assert_eq!(used.sections.len(), 10);
    let of_sections: f64 = used.sections.iter().map(|section| section.requests).sum();
    assert!((of_sections - used.requests as f64).abs() < 1.0, "{used:?}");
    let limiter = result.merged.limiter.as_ref().expect("there are facts about the server");
    assert!(limiter.sentence.ends_with("(server measured by the agent t)"), "{}", limiter.sentence);
    // The stored form is the same report.
    let report = prony(&["report", &file]);
    assert!(in_a_line(&report.out).contains("measured by the agent t"), "{report:?}");
}

#[test]
fn it_sends_the_server_nothing_and_ends_with_the_load() {
    let Some(fleet) = Fleet::with_broker("an agent that measures and sends nothing") else { return };
    let _a = fleet.connected("a");
    let server = Server::good();
    let _t = fleet.beside(&server.url);
    let file = fleet.result_file();
    // A number of requests may be answered long before the latest end.
    let load = ["-c", "2", "--rate", "200", "-n", "400", "--warmup", "0"];
    let more = [&load[..], &["--server-agent", "t", "-q", "--json", &file]].concat();
    let output = fleet.output(&server.url, "a", &more);
    assert!(matches!(output.code, Some(0 | 3)), "{output:?}");
    assert_eq!(server.requests.try_iter().count(), 400, "those of the load");
    let result = fleet.result();
    assert_eq!(result.server_agent.expect("t took part").absence, None);
    let used = result.merged.server.expect("it was measured");
    assert!(used.requests <= 400 && used.own.each[0].pid == std::process::id(), "{used:?}");
}

#[test]
fn a_run_goes_on_without_it() {
    let Some(fleet) = Fleet::with_broker("an agent on the server's host that is killed") else { return };
    let _a = fleet.connected("a");
    let server = Server::good();
    let mut t = fleet.beside(&server.url);
    let file = fleet.result_file();
    let more = ["--server-agent", "t", "-c", "1", "-d", "4s", "--warmup", "0", "--json", &file];
    let mut run = started(fleet.run(&server.url, "a", &more));
    run.await_line("a: measure");
    t.kill();
    let (code, rest) = ended(run);
    assert!(matches!(code, Some(0 | 3)), "{rest}");
    assert!(rest.contains("the run goes on without figures of the server"), "{rest}");
    let result = fleet.result();
    let load = result.agents[0].result.as_ref().expect("the load is whole");
    assert!(load.requests.done > 0 && load.timing.ended_early_because.is_none(), "{:?}", load.timing);
    let absence = result.server_agent.and_then(|agent| agent.absence).expect("t is gone");
    assert!(absence.kind == AbsenceKind::Lost && absence.reason.contains("not heard"), "{absence:?}");
    let codes: Vec<_> =
        result.merged.findings.iter().map(|finding| (finding.code, finding.severity)).collect();
    assert!(codes.contains(&(FindingCode::ServerAgentLost, Severity::Note)), "{codes:?}");
    assert!(codes.iter().all(|(code, _)| *code != FindingCode::AgentLost), "{codes:?}");
    assert_eq!(result.merged.server, None);
}

#[test]
fn what_it_cannot_measure_is_refused_before_any_load() {
    let Some(fleet) = Fleet::with_broker("a server that can't be measured") else { return };
    let _agents = [fleet.connected("a"), fleet.connected("u")];
    let server = Server::good();
    let _t = fleet.beside(&server.url);
    let check = |url: &str, more: &[&str], expected: &str| {
        let output = fleet.output(url, "a", &[&["-q", "-d", "1s"], more].concat());
        assert_eq!(output.code, Some(2), "{output:?}");
        assert!(output.err.contains(expected), "{expected}: {}", output.err);
        assert_eq!(server.requests.try_iter().count(), 0, "no request was sent");
    };
    let allows = format!("measured_ports = [\"{}\"] in the agent's policy allows it", port(&server.url));
    check(&server.url, &["--server-agent", "u"], &allows);
    check(&server.url, &["--server-agent", "gone"], "there is no agent gone");
    check(&server.url, &["--server-agent", "a"], "the agent a can't load the server and measure it");
    check(&server.url, &["--server-agent", "3"], "`3` is no name of an agent");
    // An address of another machine, and one where nobody listens.
    let elsewhere = format!("http://192.0.2.1:{}/", port(&server.url));
    let output = fleet.output(&elsewhere, "a", &["-q", "-d", "1s", "--server-agent", "t"]);
    assert!(output.code == Some(2) && output.err.contains("agent"), "{output:?}");
    let alone = prony(&["run", &server.url, "--server-agent", "t"]);
    assert!(alone.code == Some(2) && alone.err.contains("--agents"), "{alone:?}");
}
