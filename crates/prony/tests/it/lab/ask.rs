//! A lab asked by scripts and by its administrator, all through the binary.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;

use super::running::{PASSWORD, Running};
use crate::binary::{Said, command, prony, said};
use crate::folder::Folder;

/// Sends a request and reads all of the answer.
fn send(lab: &Running, method: &str, path: &str, headers: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(&lab.address).expect("a connection");
    let length = body.len();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nContent-Length: {length}\r\n{headers}\r\n",
        lab.address
    );
    stream.write_all(format!("{head}{body}").as_bytes()).expect("sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    answer
}

fn lab(data: &Path, words: &[&str]) -> Said {
    let data = data.to_str().expect("UTF-8");
    prony(&[&["lab"], words, &["--data", data]].concat())
}

/// A stopped lab with an admin.
fn with_admin(folder: &Folder) {
    let running = Running::start(&folder.0);
    let path = running.link.as_deref().expect("nobody was there");
    let form = format!("password={0}&again={0}", PASSWORD.replace(' ', "+"));
    let answer = send(&running, "POST", path, "Content-Type: application/x-www-form-urlencoded\r\n", &form);
    assert!(answer.starts_with("HTTP/1.1 303"), "{answer}");
    running.stop();
}

#[test]
fn an_administrator_at_the_machine() {
    let folder = Folder::new("lab-office");
    let nobody = lab(&folder.0, &["user", "list"]);
    assert_eq!((nobody.code, nobody.out.as_str()), (Some(0), ""), "{nobody:?}");
    with_admin(&folder);
    let listed = lab(&folder.0, &["user", "list"]);
    assert!(listed.out.starts_with("admin   admin ") && listed.out.contains("can log in"), "{listed:?}");
    let link = lab(&folder.0, &["user", "add", "ada", "--role", "viewer", "--lab", "https://lab.example"]);
    assert!(link.out.starts_with("https://lab.example/first-login/"), "{link:?}");
    let last = lab(&folder.0, &["user", "role", "admin", "viewer"]);
    assert_eq!(last.code, Some(2), "{last:?}");
    assert!(last.err.contains("the last admin"), "{last:?}");

    let judged = lab(&folder.0, &["policy", "judge", "http://127.1:3000/"]);
    assert_eq!((judged.code, judged.out.as_str()), (Some(0), "allowed  127.0.0.1:3000\n"), "{judged:?}");
    let rules = folder.0.join("policy.toml");
    std::fs::write(&rules, "loopback = false\n").expect("written");
    assert_eq!(lab(&folder.0, &["policy", "set", rules.to_str().expect("UTF-8")]).code, Some(0));
    let judged = lab(&folder.0, &["policy", "judge", "http://2130706433/", "--role", "admin"]);
    assert_eq!(judged.code, Some(1), "{judged:?}");
    assert!(lab(&folder.0, &["policy", "show"]).out.contains("loopback = false"), "{judged:?}");

    let whole = lab(&folder.0, &["audit"]);
    let head = whole.out.trim().rsplit(' ').next().expect("a hash").to_owned();
    assert!(whole.out.starts_with("whole: ") && head.len() == 64, "{whole:?}");
    assert_eq!(lab(&folder.0, &["audit", "--head", &head]).code, Some(0));
    lab(&folder.0, &["user", "add", "ben"]);
    assert_eq!(lab(&folder.0, &["audit", "--head", &head]).code, Some(4), "an entry more");

    let running = Running::start(&folder.0);
    let refused = lab(&folder.0, &["user", "list"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.err.contains("/admin"), "{refused:?}");
    running.stop();
}

#[test]
fn a_script_asks_for_builds() {
    let folder = Folder::new("lab-ask");
    with_admin(&folder);
    let token = lab(&folder.0, &["token", "add", "admin", "ci", "--role", "admin"]);
    assert!(token.out.starts_with("lab_"), "{token:?}");
    let running = Running::start(&folder.0);
    let address = format!("http://{}", running.address);
    let ask = |words: &[&str]| {
        let mut command = command();
        command.env("PRONY_LAB_TOKEN", token.out.trim()).env("PRONY_LAB", &address);
        said(command.arg("lab").args(words).output().expect("the binary was built"))
    };
    let refused = ask(&["submit", "web"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.err.contains("project: there is no such project"), "{refused:?}");

    let headers = format!("Authorization: Bearer {}\r\nContent-Type: application/json\r\n", token.out.trim());
    let definition = "{\"definition\":\"folder = \\\"/srv/a\\\"\\n[[task]]\\nname = \\\"compile\\\"\\ncommand = \\\"make\\\"\"}";
    let registered = send(&running, "PUT", "/api/v1/projects/web", &headers, definition);
    assert!(registered.starts_with("HTTP/1.1 200"), "{registered}");
    let submitted = ask(&["submit", "web", "--ref", "main", "--task", "compile"]);
    assert_eq!((submitted.code, submitted.out.as_str()), (Some(0), "1\n"), "{submitted:?}");
    assert_eq!(submitted.err, format!("{address}/build/1\n"));
    let waited = ask(&["wait", "1", "--timeout", "1s"]);
    assert_eq!(waited.code, Some(4), "{waited:?}");
    assert!(waited.err.contains("build 1: queued\n") && waited.err.contains("--timeout"), "{waited:?}");
    assert_eq!(ask(&["gate", "7"]).code, Some(2), "there is none");

    let cancelled = send(&running, "POST", "/api/v1/builds/1/cancel", &headers, "");
    assert!(cancelled.starts_with("HTTP/1.1 200"), "{cancelled}");
    let gate = ask(&["gate", "1"]);
    assert_eq!(gate.code, Some(4), "{gate:?}");
    assert!(gate.out.starts_with("build 1: cancelled"), "{gate:?}");
    running.stop();
    let nobody = ask(&["gate", "1"]);
    assert_eq!(nobody.code, Some(4), "{nobody:?}");
    assert!(nobody.err.contains("no lab answers"), "{nobody:?}");
    let without = prony(&["lab", "gate", "1"]);
    assert!(without.code == Some(2) && without.err.contains("PRONY_LAB_TOKEN"), "{without:?}");
}
