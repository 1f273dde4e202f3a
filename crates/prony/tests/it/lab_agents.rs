//! A lab that leads agents, all of them processes, with a real nats-server between them.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{ChildStdout, Stdio};
use std::time::Duration;

use rustix::process::{Signal, kill_process};
use serde_json::{Value, json};

use crate::binary::program_output;
use crate::fleet::{Fleet, Process};
use crate::server::Server;

/// Anything is waited for: 150 s at most, and nothing is measured by it.
const LOOKS_MAX: u32 = 1_500;
const LOOK_EVERY: Duration = Duration::from_millis(100);
const PASSWORD: &str = "some+good+words";

/// A lab that runs until it is killed or dropped.
struct Lab<'a> {
    fleet: &'a Fleet,
    process: Process<ChildStdout>,
    address: String,
    token: String,
}

/// Head and body of an answer.
fn send(address: &str, method: &str, path: &str, headers: &str, body: &str) -> (String, String) {
    let mut stream = TcpStream::connect(address).expect("a connection");
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Length: {}\r\n{headers}\r\n",
        body.len()
    );
    stream.write_all(format!("{head}{body}").as_bytes()).expect("sent");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).expect("an answer");
    let answer = String::from_utf8_lossy(&answer).into_owned();
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
    (head.to_owned(), body.to_owned())
}

/// What stands between `before` and `after`.
fn between<'a>(text: &'a str, before: &str, after: &str) -> &'a str {
    let rest = text.split_once(before).unwrap_or_else(|| panic!("no `{before}` in {text}")).1;
    rest.split_once(after).expect(after).0
}

const FORM: &str = "Content-Type: application/x-www-form-urlencoded\r\n";

impl<'a> Lab<'a> {
    /// Starts a lab in the fleet's folder; the first one gets an administrator.
    fn start(fleet: &'a Fleet) -> Self {
        let data = fleet.folder.0.join("lab");
        let mut lab = fleet.prony();
        lab.args(["lab", "--listen", "127.0.0.1:0", "--sandbox", "off", "--nats", &fleet.url(), "--data"]);
        let mut child =
            lab.arg(&data).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it starts");
        let mut lines = BufReader::new(child.stdout.take().expect("piped"));
        let mut line = String::new();
        lines.read_line(&mut line).expect("text");
        let address = line.trim().strip_prefix("listening on http://").expect(&line).trim_end_matches('/');
        let mut lab = Self {
            fleet,
            process: Process { child, lines },
            address: address.to_owned(),
            token: String::new(),
        };
        let token_file = data.join("token");
        if !token_file.exists() {
            let link = lab.process.await_line("log in first at");
            let path = link.trim().rsplit_once(&lab.address).expect("its address").1;
            let (head, _) =
                send(&lab.address, "POST", path, FORM, &format!("password={PASSWORD}&again={PASSWORD}"));
            assert!(head.starts_with("HTTP/1.1 303"), "{head}");
            let token = lab.command(&["token", "add", "admin", "test", "--role", "admin"]).0;
            std::fs::write(&token_file, token.trim()).expect("written");
        }
        lab.token = std::fs::read_to_string(&token_file).expect("it was written");
        lab
    }

    /// `prony lab …` beside it: stdout and stderr.
    fn command(&self, words: &[&str]) -> (String, String) {
        let mut command = self.fleet.prony();
        let output =
            command.arg("lab").args(words).arg("--data").arg(self.fleet.folder.0.join("lab")).output();
        let output = program_output(output.expect("it runs"));
        assert_eq!(output.code, Some(0), "{output:?}");
        (output.out, output.err)
    }

    fn api(&self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let headers = format!("Authorization: Bearer {}\r\nContent-Type: application/json\r\n", self.token);
        let (head, answer) = send(&self.address, method, &format!("/api/v1{path}"), &headers, &body);
        let status = between(&head, "HTTP/1.1 ", " ").parse().expect("a status");
        (status, serde_json::from_str(&answer).unwrap_or(Value::Null))
    }

    fn get(&self, path: &str) -> Value {
        let (status, answer) = self.api("GET", path, &Value::Null);
        assert_eq!(status, 200, "{path}: {answer}");
        answer
    }

    fn wait_until(&self, what: &str, mut is_so: impl FnMut(&Self) -> bool) {
        for _ in 0..LOOKS_MAX {
            if is_so(self) {
                return;
            }
            std::thread::sleep(LOOK_EVERY);
        }
        panic!("{what}: {} {}", self.get("/agents"), self.get("/builds"));
    }

    /// Waits until so many agents are idle and have nothing to collect.
    fn wait_idle(&self, count: usize) {
        self.wait_until("idle agents", |lab| {
            let agents = lab.get("/agents");
            let rows = agents["agents"].as_array().expect("a list").clone();
            rows.iter().filter(|row| row["state"] == "idle" && row["spooled"] == 0).count() == count
        });
    }

    /// A build once it is over.
    fn finished(&self, build: u64) -> Value {
        let state =
            |lab: &Self| lab.get(&format!("/builds/{build}"))["build"]["state"].as_str().map(str::to_owned);
        let is_over = |state: &str| matches!(state, "completed" | "degraded" | "failed" | "cancelled");
        self.wait_until("the end of the build", |lab| state(lab).is_some_and(|state| is_over(&state)));
        self.get(&format!("/builds/{build}"))
    }

    fn output(&self, build: u64) -> String {
        let detail = self.get(&format!("/builds/{build}"));
        let task = detail["tasks"][0]["id"].as_u64().expect("a task");
        let output = self.get(&format!("/builds/{build}/tasks/{task}/output"));
        output["text"].as_str().unwrap_or_default().to_owned()
    }

    fn file(&self, build: u64, name: &str) -> Option<String> {
        let headers = format!("Authorization: Bearer {}\r\n", self.token);
        let (head, body) = send(&self.address, "GET", &format!("/build/{build}/files/{name}"), &headers, "");
        head.starts_with("HTTP/1.1 200").then(|| unchunked(&head, body))
    }

    /// A cookie of a session, and the token of its forms.
    fn session(&self) -> (String, String) {
        let (_, page) = send(&self.address, "GET", "/login", "", "");
        let csrf = page
            .split_once("name=\"csrf\" value=\"")
            .map(|(_, rest)| rest.split('"').next().expect("it ends"));
        let form = format!("name=admin&password={PASSWORD}&csrf={}", csrf.unwrap_or_default());
        let headers = format!("{FORM}Origin: http://{}\r\n", self.address);
        let (head, body) = send(&self.address, "POST", "/login", &headers, &form);
        assert!(head.starts_with("HTTP/1.1 303"), "{head}\n{body}");
        let cookies: Vec<&str> = head
            .lines()
            .filter_map(|line| {
                line.split_once(": ").filter(|(name, _)| name.eq_ignore_ascii_case("set-cookie"))
            })
            .map(|(_, cookie)| cookie.split(';').next().expect("it has a value"))
            .collect();
        let cookie = format!("Cookie: {}\r\n", cookies.join("; "));
        let (_, page) = send(&self.address, "GET", "/add_job", &cookie, "");
        let csrf = between(&page, "name=\"csrf\" value=\"", "\"").to_owned();
        (cookie, csrf)
    }

    /// Sends a form of a page: the head of the answer.
    fn form(&self, path: &str, session: &(String, String), fields: &str) -> String {
        let headers = format!("{FORM}{}Origin: http://{}\r\n", session.0, self.address);
        let (head, body) =
            send(&self.address, "POST", path, &headers, &format!("csrf={}&{fields}", session.1));
        assert!(head.starts_with("HTTP/1.1 303"), "{path}: {head}\n{body}");
        head
    }

    fn page(&self, path: &str, session: &(String, String)) -> String {
        let (head, body) = send(&self.address, "GET", path, &session.0, "");
        assert!(head.starts_with("HTTP/1.1 200"), "{path}: {head}");
        body
    }
}

/// The body without the lengths of its chunks.
fn unchunked(head: &str, body: String) -> String {
    if !head.to_ascii_lowercase().contains("transfer-encoding: chunked") {
        return body;
    }
    let (mut whole, mut rest) = (String::new(), body.as_str());
    while let Some((length, after)) = rest.split_once("\r\n") {
        let length = usize::from_str_radix(length.trim(), 16).expect("a length");
        if length == 0 {
            break;
        }
        whole.push_str(&after[..length]);
        rest = &after[length + 2..];
    }
    whole
}

fn done(result: &Value) -> u64 {
    result["requests"]["done"].as_u64().expect("a count")
}

/// Checks that the merged result of a build is the sum of what both agents measured.
fn check_merged(lab: &Lab<'_>, build: u64) -> u64 {
    let text = lab.file(build, "agents.json").expect("the merged result");
    let result: Value = serde_json::from_str(&text).expect("JSON");
    let of: Vec<u64> = (0..2).map(|place| done(&result["agents"][place]["result"])).collect();
    let names = [0, 1].map(|place| result["agents"][place]["name"].clone());
    assert_eq!(names, ["a", "b"]);
    assert_eq!(done(&result["merged"]), of.iter().sum::<u64>(), "{of:?}");
    for (place, name) in ["a", "b"].iter().enumerate() {
        let own = lab.file(build, &format!("agents/{name}.json")).expect("the agent's own result");
        assert_eq!(done(&serde_json::from_str(&own).expect("JSON")), of[place], "{name}");
    }
    of.iter().sum()
}

#[test]
fn a_form_leads_to_one_result_of_two_agents_and_stop_ends_all() {
    let Some(fleet) = Fleet::with_broker("a lab that leads agents") else { return };
    let lab = Lab::start(&fleet);
    let _agents = [fleet.connected("a"), fleet.connected("b")];
    lab.wait_idle(2);
    let server = Server::good();
    let session = lab.session();
    assert!(lab.page("/", &session).contains("2 idle"));
    let url = server.url.replace(':', "%3A").replace('/', "%2F");
    let load = format!("kind=load&url={url}&connections=4&rate=200&duration=1&agents=a%2Cb");
    let head = lab.form("/add_job", &session, &load);
    let build: u64 = between(&format!("{head}\r\n"), "/build/", "\r\n").parse().expect("a number");
    let detail = lab.finished(build);
    // Two agents on one machine may well be in each other's way.
    assert!(
        matches!(detail["build"]["state"].as_str(), Some("completed" | "degraded")),
        "{detail}\n{}",
        lab.output(build)
    );
    assert_eq!(detail["load"]["agents"], json!(["a", "b"]));
    let counted = check_merged(&lab, build);
    assert!(counted > 0);
    let served = server.requests.try_iter().count() as u64;
    assert!(served >= counted, "{served} served, {counted} counted");
    let page = lab.page(&format!("/build/{build}"), &session);
    assert!(page.contains("shared by a, b") && page.contains("What each agent measured"), "{page}");
    lab.wait_idle(2);
    let listed = lab.get("/agents");
    assert!(listed["agents"][0]["clock"]["bound_ns"].as_u64().is_some(), "{listed}");

    // What can't work is an error before any load.
    let want = |agents: Value| json!({"url": server.url, "connections": 4, "rate_per_s": 50, "duration_s": 60, "agents": agents});
    let (status, answer) = lab.api("POST", "/loads", &want(json!(["a", "zz"])));
    assert!(status >= 400 && answer.to_string().contains("no agent of this name was heard: zz"), "{answer}");
    let (status, answer) = lab.api("POST", "/loads", &want(json!(9)));
    assert!(status >= 400 && answer["mistakes"][0]["field"] == "agents", "{answer}");
    // While the lab has the key, nobody else leads agents by it.
    let mut second = fleet.prony();
    second.args(["run", &server.url, "--agents", "a", "--nats", &fleet.url()]);
    let second = program_output(second.output().expect("it runs"));
    assert!(second.code == Some(2) && second.err.contains("the same key"), "{second:?}");

    // A drained agent gets no load until it is resumed, whoever asks for it by name.
    let (status, answer) = lab.api("POST", "/agents/b/drain", &Value::Null);
    assert_eq!((status, answer), (200, json!({"is_drained": true, "was_changed": true})));
    assert!(lab.get("/agents")["agents"][1]["is_drained"] == true, "{}", lab.get("/agents"));
    let (status, answer) = lab.api("POST", "/loads", &want(json!(["a", "b"])));
    assert!(status >= 400 && answer.to_string().contains("drained agents take no loads: b"), "{answer}");
    assert!(lab.page("/agents", &session).contains("action=\"/agent/b/resume\""));
    lab.form("/agent/b/resume", &session, "");
    assert!(lab.get("/agents")["agents"][1]["is_drained"] == false, "{}", lab.get("/agents"));
    assert_eq!(lab.api("POST", "/agents/zz/drain", &Value::Null).0, 404);

    // All loads end at once, and new ones are refused until that is lifted.
    let (status, answer) = lab.api("POST", "/loads", &want(json!(2)));
    assert_eq!(status, 201, "{answer}");
    let build = answer["build"]["id"].as_u64().expect("a number");
    lab.wait_until("the load is on", |lab| lab.output(build).contains(": measure"));
    let (_, err) = lab.command(&["stop-all"]);
    assert!(err.contains("all loads on agents are stopped"), "{err}");
    let detail = lab.finished(build);
    assert_eq!(detail["build"]["state"], "failed", "{detail}");
    assert!(
        detail["build"]["reason"].as_str().is_some_and(|why| why.contains("were stopped by")),
        "{detail}"
    );
    lab.wait_idle(2);
    let (status, answer) = lab.api("POST", "/loads", &want(json!(2)));
    assert!(status >= 400 && answer.to_string().contains("were stopped by"), "{answer}");
    assert!(lab.page("/agents", &session).contains("STOPPED"));
    lab.form("/agents/lift", &session, "");
    assert!(lab.get("/agents")["stopped"].is_null());
    lab.form("/agents/stop", &session, "");
    assert_eq!(lab.get("/agents")["stopped"]["by"], "admin");
    assert_eq!(lab.api("POST", "/agents/lift", &Value::Null).1, json!({"was_stopped": true}));
    let audit = lab.get("/audit").to_string();
    assert_eq!(audit.matches("\"agents.lift\"").count(), 2, "{audit}");
    assert!(audit.contains("\"agents.drain\"") && audit.contains("\"agents.resume\""), "{audit}");
}

#[test]
fn a_lab_that_is_killed_in_mid_run_collects_what_was_measured() {
    let Some(fleet) = Fleet::with_broker("a lab that is killed while it leads") else { return };
    let mut lab = Lab::start(&fleet);
    let _agents = [fleet.connected("a"), fleet.connected("b")];
    lab.wait_idle(2);
    let server = Server::good();
    let load = json!({"url": server.url, "connections": 4, "rate_per_s": 100, "duration_s": 600, "agents": ["a", "b"]});
    let (status, answer) = lab.api("POST", "/loads", &load);
    assert_eq!(status, 201, "{answer}");
    let build = answer["build"]["id"].as_u64().expect("a number");
    lab.wait_until("both load", |lab| {
        let output = lab.output(build);
        output.contains("a: measure") && output.contains("b: measure")
    });
    lab.process.kill();
    drop(lab);
    let lab = Lab::start(&fleet);
    let detail = lab.finished(build);
    assert_eq!(detail["build"]["state"], "failed");
    let reason = detail["build"]["reason"].as_str().expect("a reason");
    assert!(reason.starts_with("the lab was stopped while it ran"), "{reason}");
    // No agent loads any more, and nothing of what they measured is lost.
    lab.wait_idle(2);
    lab.wait_until("the merged result", |lab| lab.file(build, "agents.json").is_some());
    let counted = check_merged(&lab, build);
    let served = server.requests.try_iter().count() as u64;
    assert!(counted > 0 && served >= counted, "{served} served, {counted} counted");
    let notes = lab.get(&format!("/builds/{build}/notes")).to_string();
    assert!(notes.contains("agents.json has what is here now (a, b; 2 of 2 agents)"), "{notes}");
    // The next load gets the same agents.
    let (_, answer) = lab.api(
        "POST",
        "/loads",
        &json!({"url": server.url, "connections": 2, "rate_per_s": 50, "duration_s": 1, "agents": 2}),
    );
    let build = answer["build"]["id"].as_u64().expect("a number");
    let detail = lab.finished(build);
    assert!(
        matches!(detail["build"]["state"].as_str(), Some("completed" | "degraded")),
        "{detail}\n{}",
        lab.output(build)
    );
}

#[test]
fn an_agent_that_was_lost_stops_when_it_is_heard_and_its_result_makes_a_revision() {
    let Some(fleet) = Fleet::with_broker("a lab that loses an agent") else { return };
    let lab = Lab::start(&fleet);
    let (_a, b) = (fleet.connected("a"), fleet.connected("b"));
    lab.wait_idle(2);
    let server = Server::good();
    let load = json!({"url": server.url, "connections": 4, "rate_per_s": 100, "duration_s": 600, "agents": ["a", "b"]});
    let (status, answer) = lab.api("POST", "/loads", &load);
    assert_eq!(status, 201, "{answer}");
    let build = answer["build"]["id"].as_u64().expect("a number");
    lab.wait_until("both load", |lab| {
        let output = lab.output(build);
        output.contains("a: measure") && output.contains("b: measure")
    });
    kill_process(b.pid(), Signal::STOP).expect("it is there");
    let detail = lab.finished(build);
    assert_eq!(detail["build"]["state"], "failed", "{detail}");
    let reason = detail["build"]["reason"].as_str().expect("a reason");
    assert!(reason.contains("the agent b is lost: not heard for 10 s"), "{reason}");
    let first: Value =
        serde_json::from_str(&lab.file(build, "agents.json").expect("what a measured")).expect("JSON");
    assert!(done(&first["agents"][0]["result"]) > 0 && first["agents"][1]["result"].is_null(), "{reason}");
    assert!(first["agents"][1]["absence"]["reason"].as_str().is_some_and(|why| why.contains("lost")));
    kill_process(b.pid(), Signal::CONT).expect("it is there");
    lab.wait_until("the second revision", |lab| lab.file(build, "agents-2.json").is_some());
    lab.wait_idle(2);
    let second: Value =
        serde_json::from_str(&lab.file(build, "agents-2.json").expect("it is there")).expect("JSON");
    let of = [0, 1].map(|place| done(&second["agents"][place]["result"]));
    assert_eq!(done(&second["merged"]), of[0] + of[1]);
    assert_eq!(of[0], done(&first["agents"][0]["result"]));
    let unchanged: Value =
        serde_json::from_str(&lab.file(build, "agents.json").expect("it stays")).expect("JSON");
    assert_eq!(unchanged, first, "a revision replaces nothing");
    assert_eq!(lab.get(&format!("/builds/{build}"))["build"]["state"], "failed", "the verdict stands");
    // The newest revision is on the page.
    let page = lab.page(&format!("/build/{build}"), &lab.session());
    let section = between(&page, "<section id=\"agents\"", "</section>");
    assert!(section.contains("What each agent measured") && !section.contains("b lost:"), "{section}");
}
