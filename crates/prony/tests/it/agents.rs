//! Agents as processes, with a real nats-server between them.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::path::Path;

use rustix::process::{Signal, kill_process};
use serde_json::Value;

use crate::binary::{ProgramOutput, command, program_output};
use crate::fleet::{Fleet, ended, json, started};
use crate::folder::Folder;
use crate::server::Server;

#[test]
fn two_agents_give_one_result() {
    let Some(fleet) = Fleet::with_broker("one result of two agents") else { return };
    let agents = [fleet.connected("a"), fleet.connected("b")];
    let server = Server::good();
    let file = fleet.result_file();
    let output = fleet.output(&server.url, "a,b", &["-c", "4", "-d", "2s", "--warmup", "0", "--json", &file]);
    // Two agents on one machine may well be in each other's way.
    assert!(matches!(output.code, Some(0 | 3)), "{output:?}");
    assert!(
        output.err.contains("agents: a, b") && output.err.contains("a: clock known to"),
        "{}",
        output.err
    );
    let result = json(&file);
    let done = |result: &Value| result["requests"]["done"].as_u64().expect("a count");
    let of: Vec<u64> = (0..2).map(|place| done(&result["agents"][place]["result"])).collect();
    assert!(of.iter().all(|done| *done > 0), "{of:?}");
    assert_eq!(done(&result["merged"]), of.iter().sum::<u64>());
    let served = server.requests.try_iter().count() as u64;
    assert!(served >= of.iter().sum::<u64>(), "{served} served, {of:?} counted");
    let names: Vec<_> =
        (0..2).map(|place| result["agents"][place]["name"].as_str().expect("a name")).collect();
    assert_eq!(names, ["a", "b"]);
    // The next run gets the same agents, and SIGTERM ends them.
    let output = fleet.output(&server.url, "2", &["-c", "2", "-d", "1s", "--warmup", "0", "-q"]);
    assert!(matches!(output.code, Some(0 | 3)), "{output:?}");
    for mut agent in agents {
        kill_process(agent.pid(), Signal::TERM).expect("it is there");
        agent.await_line("ends");
        assert_eq!(agent.child.wait().expect("it ends").code(), Some(0));
    }
}

#[test]
fn an_agent_that_is_killed_fails_the_run_with_its_name() {
    let Some(fleet) = Fleet::with_broker("an agent that is killed in mid-run") else { return };
    let (_a, mut b) = (fleet.connected("a"), fleet.connected("b"));
    let server = Server::good();
    let file = fleet.result_file();
    let mut run = started(fleet.run(&server.url, "a,b", &["-c", "2", "-d", "60s", "--json", &file]));
    run.await_line("b: measure");
    b.kill();
    let (code, rest) = ended(run);
    assert_eq!(code, Some(3), "{rest}");
    assert!(rest.contains("error: the agent b is lost: not heard for 10 s"), "{rest}");
    let result = json(&file);
    let because = result["agents"][0]["result"]["timing"]["ended_early_because"].as_str().expect("a reason");
    assert!(because.contains("the agent b is lost"), "{because}");
    assert!(
        result["agents"][1]["absence"]["reason"].as_str().is_some_and(|why| why.contains("lost")),
        "{result}"
    );
}

#[test]
fn a_broker_that_is_restarted_costs_the_view_and_no_result() {
    let Some(mut fleet) = Fleet::with_broker("a broker that is restarted in mid-run") else { return };
    let _agents = [fleet.connected("a"), fleet.connected("b")];
    let server = Server::good();
    let file = fleet.result_file();
    let mut run = started(fleet.run(&server.url, "a,b", &["-c", "2", "-d", "6s", "--json", &file]));
    run.await_line("a: measure");
    fleet.broker.take().expect("it runs").kill();
    run.await_line("connection to the broker is lost");
    fleet.start_broker();
    let (code, rest) = ended(run);
    assert!(matches!(code, Some(0 | 3)) && !rest.contains("error:"), "{code:?} {rest}");
    let result = json(&file);
    for place in 0..2 {
        let timing = &result["agents"][place]["result"]["timing"];
        assert!(timing.is_object() && timing["ended_early_because"].is_null(), "{timing}");
    }
}

#[test]
fn what_cannot_work_is_an_error_before_any_load() {
    let Some(fleet) = Fleet::with_broker("errors before any load") else { return };
    let server = Server::good();
    let check = |output: ProgramOutput, code: i32, expected: &str| {
        assert_eq!(output.code, Some(code), "{output:?}");
        assert!(output.err.contains(expected), "{expected}: {}", output.err);
        assert_eq!(server.requests.try_iter().count(), 0, "no request was sent");
    };
    check(fleet.output(&server.url, "a", &[]), 2, "there is no agent a (no agent was heard");
    let policy = fleet.folder.0.join("policy.toml");
    std::fs::write(
        &policy,
        "ports = [\"1-1023\"]\n[caps]\nrate_per_s = 10\nconnections = 10\nduration_s = 10\nbytes = 1000000\n",
    )
    .expect("it can be written");
    let mut a = fleet.agent("a", &["--policy", policy.to_str().expect("UTF-8")]);
    a.await_line("connected");
    let _b = fleet.connected("b");
    check(fleet.output(&server.url, "a,c", &[]), 2, "there is no agent c (heard: a, b)");
    check(fleet.output(&server.url, "3", &[]), 2, "3 agents are wanted, and 2 are idle (heard: a, b)");
    check(fleet.output(&server.url, "a,b", &["-q"]), 2, "the agent a refused: its policy: port");
    check(
        fleet.output("http://192.0.2.1/", "b", &["-q"]),
        2,
        "the agent b refused: its policy: 192.0.2.1:80 is a public address",
    );
    check(fleet.output(&server.url, "a,b", &["-c", "1"]), 2, "threads");
    check(fleet.output(&server.url, "a,b", &["-n", "1"]), 2, "threads");
    check(
        fleet.output(&server.url, "a,b", &["--samples", "x.csv"]),
        2,
        "--samples does not work with --agents",
    );
    check(fleet.output(&server.url, "a,a", &[]), 2, "named twice");
    let nowhere = program_output(
        fleet
            .prony()
            .args(["run", &server.url, "--agents", "1", "--nats", "nats://127.0.0.1:1"])
            .output()
            .expect("it runs"),
    );
    check(nowhere, 4, "nothing answers at nats://127.0.0.1:1");
}

#[test]
fn keys_keep_agents_apart() {
    let Some(mut fleet) = Fleet::new("nkeys and permissions") else { return };
    let folder = fleet.folder.0.join("nats");
    let at = |name: &str| folder.join(name).to_str().expect("UTF-8").to_owned();
    let listen = format!("127.0.0.1:{}", fleet.port);
    let written = program_output(
        fleet
            .prony()
            .args([
                "agent",
                "nats-config",
                folder.to_str().expect("UTF-8"),
                "--agents",
                "a,b",
                "--listen",
                &listen,
            ])
            .output()
            .expect("it runs"),
    );
    assert_eq!(written.code, Some(0), "{written:?}");
    fleet.config = Some(folder.join("nats.conf"));
    fleet.start_broker();
    let mut a = fleet.agent("a", &["--nkey", &at("a.nk")]);
    a.await_line("connected");
    // Without a key, and with the key of another agent.
    fleet.agent("c", &[]).await_line("refuses the nkey");
    fleet.agent("a", &["--nkey", &at("b.nk"), "--state", &at("thief")]).await_line("ermissions");
    let server = Server::good();
    let output = fleet.output(&server.url, "a,b", &["--nkey", &at("lab.nk")]);
    assert!(output.err.contains("there is no agent b (heard: a)"), "{output:?}");
    let output = fleet.output(&server.url, "a", &["--nkey", &at("a.nk"), "-q"]);
    assert!(output.code != Some(0), "an agent's key leads no run: {output:?}");
    let more = ["--nkey", &at("lab.nk"), "-c", "1", "-d", "1s", "--warmup", "0", "-q"];
    let output = fleet.output(&server.url, "a", &more);
    assert!(matches!(output.code, Some(0 | 3)), "{output:?}");
    let again = program_output(
        fleet
            .prony()
            .args(["agent", "nats-config", folder.to_str().expect("UTF-8"), "--agents", "a"])
            .output()
            .expect("it runs"),
    );
    assert!(again.err.contains("is there already"), "{again:?}");
}

#[test]
fn an_agent_follows_its_own_controller_only() {
    let Some(fleet) = Fleet::with_broker("a controller with another key") else { return };
    let other = fleet.folder.0.join("other.key");
    let lab_key = |key: &Path| {
        let output =
            fleet.prony().args(["agent", "lab-key"]).arg("--lab-key").arg(key).output().expect("it runs");
        program_output(output)
    };
    assert!(lab_key(&other).err.contains("other.key"), "a key that was named is not made");
    let mut a = fleet.connected("a");
    // Another user's key.
    let config = fleet.folder.0.join("elsewhere");
    let mut run = fleet.run("http://127.0.0.1:1/", "a", &[]);
    run.env("XDG_CONFIG_HOME", &config);
    let mut run = started(run);
    run.await_line("agents: a");
    a.await_line("refused a command that the controller has not signed");
    let (code, rest) = ended(run);
    assert_eq!(code, Some(2), "{rest}");
    assert!(rest.contains("the agent a does not answer: has it the right --lab-key"), "{rest}");
}

#[test]
fn an_old_broker_is_refused() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let url = format!("nats://{}", listener.local_addr().expect("an address"));
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let info = r#"INFO {"server_id":"x","version":"2.9.10","proto":1,"host":"127.0.0.1","port":1,"max_payload":1048576}"#;
            stream.write_all(format!("{info}\r\n").as_bytes()).expect("it listens");
            let mut lines = BufReader::new(stream.try_clone().expect("a second handle")).lines();
            while let Some(Ok(line)) = lines.next() {
                if line == "PING" {
                    stream.write_all(b"PONG\r\n").expect("it listens");
                }
            }
        }
    });
    let folder = Folder::new("old-broker");
    let output = command()
        .args(["run", "http://127.0.0.1:1/", "--agents", "1", "--nats", &url])
        .env("XDG_CONFIG_HOME", folder.0.as_path())
        .output();
    let output = program_output(output.expect("it runs"));
    assert_eq!(output.code, Some(4), "{output:?}");
    assert!(
        output.err.contains("the broker is nats-server 2.9.10, and agents need 2.11.16 or later"),
        "{output:?}"
    );
}
