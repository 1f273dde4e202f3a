//! The lab killed while clients post: what was answered is there after the next start, and a client that asks again
//! with its key gets one build, however often it asks.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use super::running::{PASSWORD, Running};
use crate::binary::prony;
use crate::folder::Folder;

/// How often the lab is killed; the store's own tests do it far more often, at chosen moments.
const ROUNDS: u32 = 4;
const CLIENTS: u32 = 4;
/// Requests of a client in a round.
const REQUESTS: u32 = 25;
/// What a busy machine may take.
const PATIENCE: Duration = Duration::from_mins(1);

/// What a request is answered with: status, head and body; nothing where the lab is gone.
pub(super) fn ask(
    address: &str,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> Option<(u16, String, String)> {
    let mut stream = TcpStream::connect(address).ok()?;
    stream.set_read_timeout(Some(PATIENCE)).ok()?;
    let mut text = format!("{method} {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n");
    for (name, value) in headers {
        write!(text, "{name}: {value}\r\n").expect("a text takes everything");
    }
    write!(text, "Content-Length: {}\r\n\r\n{body}", body.len()).expect("a text takes everything");
    stream.write_all(text.as_bytes()).ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    let (head, body) = answer.split_once("\r\n\r\n")?;
    let length: usize =
        head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok())?;
    // Half an answer is none.
    (body.len() == length).then(|| (head[9..12].parse().expect("a status"), head.to_owned(), body.to_owned()))
}

/// Sets the first admin's password, registers a project, and makes a token.
fn token(lab: &Running) -> String {
    let form = [("Content-Type", "application/x-www-form-urlencoded")];
    let words = PASSWORD.replace(' ', "+");
    let link = lab.link.as_deref().expect("nobody was there");
    let (status, head, _) =
        ask(&lab.address, "POST", link, &form, &format!("password={words}&again={words}")).expect("answered");
    assert_eq!(status, 303, "{head}");
    let cookie = head.lines().find_map(|line| line.strip_prefix("set-cookie: ")).expect("a session");
    let cookie = cookie.split(';').next().expect("a pair");
    let (_, _, page) = ask(&lab.address, "GET", "/add_job", &[("Cookie", cookie)], "").expect("answered");
    let (_, rest) = page.split_once("name=\"csrf\" value=\"").expect("a form");
    let headers = [("Cookie", cookie), ("X-CSRF-Token", &rest[..64]), ("Content-Type", "application/json")];
    let definition = "folder = \"/srv/a\"\n[[task]]\nname = \"compile\"\ncommand = \"make\"";
    let project = json!({ "definition": definition }).to_string();
    let (status, _, answer) =
        ask(&lab.address, "PUT", "/api/v1/projects/a", &headers, &project).expect("answered");
    assert!(status < 300, "{answer}");
    let new_token = json!({ "name": "test", "role": "runner" }).to_string();
    let (_, _, answer) = ask(&lab.address, "POST", "/api/v1/tokens", &headers, &new_token).expect("answered");
    let answer: Value = serde_json::from_str(&answer).expect("JSON");
    answer["token"].as_str().expect("a token").to_owned()
}

/// Requests a build; its number, where the lab answered.
fn request(address: &str, token: &str, key: &str) -> Option<u64> {
    let bearer = format!("Bearer {token}");
    let headers =
        [("Authorization", bearer.as_str()), ("Idempotency-Key", key), ("Content-Type", "application/json")];
    let body = json!({ "project": "a", "reference": "main" }).to_string();
    let (status, _, answer) = ask(address, "POST", "/api/v1/builds", &headers, &body)?;
    assert!(matches!(status, 200 | 201), "{status} {answer}");
    let answer: Value = serde_json::from_str(&answer).expect("JSON");
    Some(answer["build"]["id"].as_u64().or_else(|| answer["id"].as_u64()).expect("a number"))
}

#[test]
fn builds_that_were_answered_are_there_once_after_the_lab_was_killed() {
    let folder = Folder::new("lab-faults");
    let data = folder.0.join("lab");
    std::fs::create_dir(&data).expect("room");
    let mut lab = Running::start(&data);
    let token = token(&lab);
    let mut answered = BTreeMap::new();
    let mut keys = Vec::new();
    for round in 0..ROUNDS {
        let count = AtomicU32::new(0);
        let address = lab.address.clone();
        let (address, count, token) = (&address, &count, &token);
        let enough = CLIENTS * REQUESTS * (round + 1) / (ROUNDS + 1);
        std::thread::scope(|scope| {
            let clients: Vec<_> = (0..CLIENTS)
                .map(|client| {
                    scope.spawn(move || {
                        let keys =
                            (0..REQUESTS).map(|number| format!("round{round}client{client}number{number}"));
                        keys.map(|key| {
                            let id = request(address, token, &key);
                            count.fetch_add(1, Ordering::Release);
                            (key, id)
                        })
                        .collect::<Vec<_>>()
                    })
                })
                .collect();
            while count.load(Ordering::Acquire) < enough {
                std::thread::yield_now();
            }
            lab.kill();
            for (key, id) in clients.into_iter().flat_map(|client| client.join().expect("no panic")) {
                keys.push(key.clone());
                answered.extend(id.map(|id| (key, id)));
            }
        });
        lab = Running::start(&data);
        assert!(keys.len() > answered.len(), "it was killed before all was done");
        for key in &keys {
            let id = request(&lab.address, token, key).expect("the lab runs");
            let first = *answered.entry(key.clone()).or_insert(id);
            assert_eq!(first, id, "round {round}: {key} has two builds");
        }
    }
    let mut ids: Vec<u64> = answered.values().copied().collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), keys.len(), "two keys have one build");
    drop(lab);
    let place = data.to_str().expect("text");
    let output = prony(&["lab", "check", "--data", place]);
    assert!(output.out.starts_with(&format!("whole: {} builds", keys.len())), "{output:?}");
}

#[test]
fn a_lab_is_copied_while_it_runs_and_brought_back_when_it_is_stopped() {
    let folder = Folder::new("lab-copies");
    let data = folder.0.join("lab");
    std::fs::create_dir(&data).expect("room");
    let (place, copy) = (data.to_str().expect("text"), folder.0.join("copy"));
    let copy = copy.to_str().expect("text");
    let lab = Running::start(&data);
    let token = token(&lab);
    let first = request(&lab.address, &token, "one").expect("answered");
    let output = prony(&["lab", "backup", copy, "--data", place]);
    assert!(output.out.contains("1 builds") && output.code == Some(0), "{output:?}");
    let again = prony(&["lab", "backup", copy, "--data", place]);
    assert!(again.err.contains("it is there already") && again.code == Some(2), "{again:?}");
    let second = request(&lab.address, &token, "two").expect("answered");
    assert_ne!(first, second);
    let refused = prony(&["lab", "restore", copy, "--data", place]);
    assert!(refused.err.contains(&format!("process {} on ", lab.process_id())), "{refused:?}");
    let other = prony(&["lab", "--data", place, "--listen", "127.0.0.1:0"]);
    assert!(other.err.contains("stop that one first") && other.code == Some(2), "{other:?}");
    drop(lab);
    let output = prony(&["lab", "restore", copy, "--data", place]);
    assert!(output.out.contains("restored: 1 builds") && output.out.contains(".before-"), "{output:?}");
    let lab = Running::start(&data);
    assert_eq!(request(&lab.address, &token, "one"), Some(first), "what was copied is there");
    assert_eq!(request(&lab.address, &token, "two"), Some(second), "what was not is accepted again");
}
