//! Studies, comparisons and scenarios whose load agents share, as processes with a real nats-server.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::process::Stdio;
use std::sync::mpsc::{Receiver, sync_channel};

use prony_model::{StudyCell, StudyMetric, StudyResult, Verdict, study_from_json};
use serde_json::Value;

use crate::binary::{ProgramOutput, program_output};
use crate::fleet::{Fleet, json};
use crate::server::Server;

/// Who loads is an axis: this process, one agent, two agents. Requests are counted, so every number of them is exact.
const STUDY: &str = r#"
name = "who"
retries = 0
pause = "0"

[targets.server]
url = "URL"

[loads.counted]
connections = 2
requests = 40

[matrix]
agents = [0, "a", "a,b"]
"#;

impl Fleet {
    /// Writes `text` to the file `name`, and returns its path.
    fn write(&self, name: &str, text: &str) -> String {
        let path = self.folder.0.join(name);
        fs::write(&path, text).expect("it can be written");
        path.to_str().expect("UTF-8").to_owned()
    }

    fn study(&self, file: &str, more: &[&str]) -> ProgramOutput {
        let mut study = self.prony();
        study.current_dir(&self.folder.0).args(["study", file, "--nats", &self.url()]).args(more);
        program_output(study.output().expect("the binary was built"))
    }
}

#[test]
fn a_study_compares_who_loads() {
    let Some(fleet) = Fleet::with_broker("a study with agents as an axis") else { return };
    let _agents = [fleet.connected("a"), fleet.connected("b")];
    let server = Server::good();
    let file = fleet.write("who.toml", &STUDY.replace("URL", server.url.trim_end_matches('/')));
    let output = fleet.study(&file, &[]);
    // Agents and server on one machine may well be in each other's way.
    assert!(matches!(output.code, Some(0 | 3)), "{output:?}");
    assert!(output.out.contains("by agent: 2 agents"), "{}", output.out);
    let folder = fleet.folder.0.join("who.study");
    let text = fs::read_to_string(folder.join("report.json")).expect("a study keeps its reports");
    let result: StudyResult = study_from_json(&text).expect("a report fits its schema");
    assert!(result.complete && result.failures.is_empty(), "{:#?}", result.failures);
    let requests: Vec<u64> = result.cells.iter().map(|cell| cell.runs[0].requests).collect();
    assert_eq!(requests, [40; 3]);
    assert_eq!(server.requests.try_iter().count(), 120, "the server has counted every request");
    let shares: Vec<Vec<(&str, u64)>> = result
        .cells
        .iter()
        .map(|cell| {
            let shares = cell.agents.iter().flat_map(|agents| &agents.shares);
            shares.map(|share| (share.name.as_str(), share.runs[0].requests)).collect()
        })
        .collect();
    assert_eq!(shares, [vec![], vec![("a", 40)], vec![("a", 20), ("b", 20)]]);
    let formats: Vec<String> = result
        .cells
        .iter()
        .map(|cell| {
            let stored = json(folder.join(&cell.runs[0].file).to_str().expect("UTF-8"));
            stored["format"].as_str().expect("a format").to_owned()
        })
        .collect();
    assert_eq!(formats, ["prony.run", "prony.fleet", "prony.fleet"]);
    let page = fs::read_to_string(folder.join("report.html")).expect("a page");
    assert!(page.contains("Agents of agents a,b: 2 agents"), "the page has a table of agents");
    // What the study has stored is kept nowhere else.
    let runs = fleet.folder.0.join("state/prony/runs");
    let left: Vec<_> =
        fs::read_dir(&runs).expect("two runs had folders").map(|entry| entry.expect("one")).collect();
    assert!(left.iter().all(|entry| entry.file_name() == "reported"), "{left:?}");
    assert_eq!(fs::read_to_string(runs.join("reported")).expect("a note").lines().count(), 2);
    // What is stored is read again, and nothing is missing.
    let again = fleet.study(&file, &["--resume"]);
    assert!(again.err.contains("3 of 3 runs are there already"), "{again:?}");
    assert_eq!(server.requests.try_iter().count(), 0, "no run is made twice");
    // An invalid run has no figures.
    let is_measured = |cell: &&StudyCell| cell.runs.iter().any(|run| run.verdict != Verdict::Invalid);
    let has_total = |cell: &StudyCell| cell.figures.iter().any(|one| one.metric == StudyMetric::Total);
    assert!(result.cells.iter().filter(is_measured).all(has_total), "{:#?}", result.cells);
}

#[test]
fn rudy_on_two_hosts() {
    let Some(fleet) = Fleet::with_broker("the study rudy-hosts") else { return };
    let _agents = [fleet.connected("same"), fleet.connected("other")];
    let study = crate::repository::root().join("studies/rudy-hosts.toml");
    let output = fleet.study(study.to_str().expect("UTF-8"), &["--short", "--retries", "0"]);
    assert!(matches!(output.code, Some(0 | 3)), "{output:?}");
    let report = fleet.folder.0.join("rudy-hosts.study/report.json");
    let text = fs::read_to_string(report).expect("a study keeps its reports");
    let result: StudyResult = study_from_json(&text).expect("a report fits its schema");
    assert!(result.complete && result.failures.is_empty(), "{:#?}", result.failures);
    assert_eq!((result.cells.len(), result.published.len()), (7, 4));
    for cell in &result.cells {
        let shares = &cell.agents.as_ref().expect("every cell has agents").shares;
        let requests: Vec<u64> = shares.iter().map(|share| share.runs[0].requests).collect();
        let expected = if cell.key["load"] == "alone" { vec![10] } else { vec![10, 10] };
        assert_eq!((requests, cell.runs[0].failed), (expected, 0), "{}", cell.name);
    }
}

#[test]
fn a_study_without_its_agents_begins_nothing() {
    let Some(fleet) = Fleet::with_broker("a study without its agents") else { return };
    let _a = fleet.connected("a");
    let server = Server::good();
    let text = STUDY.replace("URL", server.url.trim_end_matches('/'));
    let file = fleet.write("who.toml", &text);
    let check = |output: ProgramOutput, code: i32, expected: &str| {
        assert_eq!(output.code, Some(code), "{output:?}");
        assert!(output.err.contains(expected), "{expected}: {}", output.err);
        assert_eq!(server.requests.try_iter().count(), 0, "no request was sent");
    };
    check(fleet.study(&file, &[]), 2, "there is no agent b (heard: a)");
    let nowhere = fleet.write("nowhere.toml", &format!("nats = \"nats://127.0.0.1:1\"\n{text}"));
    let mut study = fleet.prony();
    study.current_dir(&fleet.folder.0).args(["study", &nowhere]);
    check(program_output(study.output().expect("it runs")), 4, "nothing answers at nats://127.0.0.1:1");
    let mut compare = fleet.prony();
    compare.args(["compare", &server.url, &server.url, "--agents", "a,b", "--nats", &fleet.url()]);
    check(program_output(compare.output().expect("it runs")), 2, "there is no agent b (heard: a)");
}

/// A server that answers everything and notes the path of each request.
fn noting() -> (String, Receiver<String>) {
    let (sender, paths) = sync_channel(1 << 16);
    let url = Server::accepting(move |stream| {
        let sender = sender.clone();
        std::thread::spawn(move || note(stream, &|path| drop(sender.try_send(path))));
    });
    (url, paths)
}

fn note(mut stream: TcpStream, noted: &dyn Fn(String)) {
    let Ok(reading) = stream.try_clone() else { return };
    let mut path = None;
    for line in BufReader::new(reading).lines() {
        let Ok(line) = line else { return };
        if let Some(rest) = line.strip_prefix("GET ") {
            path = rest.split(' ').next().map(str::to_owned);
        } else if line.is_empty() {
            noted(path.take().expect("a request has a first line"));
            if stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").is_err() {
                return;
            }
        }
    }
}

#[test]
fn rows_of_a_feed_are_split_exactly() {
    const ROWS: usize = 200;
    let Some(fleet) = Fleet::with_broker("unique rows over two agents") else { return };
    let _agents = [fleet.connected("a"), fleet.connected("b")];
    let (url, paths) = noting();
    let rows: Vec<String> = (0..ROWS).map(|row| format!("user{row}")).collect();
    fleet.write("users.csv", &format!("name\n{}\n", rows.join("\n")));
    let scenario = format!(
        "base = \"{url}\"\n[feeds.users]\nfile = \"users.csv\"\norder = \"unique\"\n[[flow]]\nname = \"visit\"\n\
         [[flow.step]]\npath = \"/u/{{users.name}}\"\n"
    );
    let file = fleet.write("visit.toml", &scenario);
    let result_file = fleet.result_file();
    let more = ["-c", "4", "-d", "30s", "--warmup", "0", "--json", &result_file];
    let output = fleet.output(&file, "a,b", &more);
    assert!(matches!(output.code, Some(0 | 3)), "{output:?}");
    let seen: Vec<String> = paths.try_iter().collect();
    let unique: BTreeSet<&String> = seen.iter().collect();
    assert_eq!((seen.len(), unique.len()), (ROWS, ROWS), "each row once, none left out: {output:?}");
    let result = json(&result_file);
    let done = |result: &Value| result["requests"]["done"].as_u64().expect("a count");
    assert_eq!(done(&result["merged"]), ROWS as u64);
    let of = [0, 1].map(|place| done(&result["agents"][place]["result"]));
    assert_eq!(of.iter().sum::<u64>(), ROWS as u64, "{of:?}");
}

#[test]
fn three_agents_run_a_scenario_over_tls() {
    let Some(fleet) = Fleet::with_broker("a scenario over TLS by three agents") else { return };
    let _agents = ["a", "b", "c"].map(|name| fleet.connected(name));
    let authority = fleet.folder.0.join("ca.pem");
    let authority = authority.to_str().expect("UTF-8");
    let mut server = fleet.prony();
    server.args(["serve", "kv", "--port", "0", "--tls", "--tls-ca", authority]);
    let mut server = server.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it can be started");
    let mut lines = BufReader::new(server.stdout.take().expect("a pipe")).lines();
    let url = lines
        .find_map(|line| {
            let line = line.expect("text");
            let from = line.find("https://")?;
            Some(line[from..].split_whitespace().next()?.trim_end_matches(['/', ',']).to_owned())
        })
        .expect("the server prints its address");
    let scenario = format!(
        "base = \"{url}\"\n[[flow]]\nname = \"keep\"\n[[flow.step]]\nname = \"put\"\nmethod = \"PUT\"\npath = \"/k\"\n\
         body = \"1\"\n[[flow.step]]\nname = \"get\"\npath = \"/k\"\nexpect-status = 200\n"
    );
    let file = fleet.write("keep.toml", &scenario);
    let result_file = fleet.result_file();
    let load = ["-c", "3", "-n", "60", "--json", &result_file];
    let untrusted = fleet.output(&file, "a,b,c", &["-c", "3", "-n", "60", "-q"]);
    assert!(untrusted.code != Some(0), "a certificate that nobody trusts: {untrusted:?}");
    let output = fleet.output(&file, "a,b,c", &[&load[..], &["--cacert", authority]].concat());
    server.kill().expect("it is there");
    server.wait().expect("it ended");
    assert!(matches!(output.code, Some(0 | 3)), "{output:?}");
    let result = json(&result_file);
    assert!(result["verdict"].is_string(), "one verdict");
    let completed = |result: &Value| result["scenario"]["sessions"]["completed"].as_u64().expect("a count");
    let of: Vec<u64> = (0..3).map(|place| completed(&result["agents"][place]["result"])).collect();
    assert_eq!((of, completed(&result["merged"])), (vec![20; 3], 60));
    assert!(result["merged"]["tls"].is_object(), "handshakes are merged: {}", result["merged"]["tls"]);
}
