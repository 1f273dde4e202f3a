//! `prony import` of HAR files, against a server that issues a new token to each visitor.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Value, json};

use crate::binary::prony_in;
use crate::folder::Folder;
use crate::server::Server;

/// Form tokens are `f1f`, `f2f`, …; who sends one of them back gets `t1t`, `t2t`, …, which the account needs.
fn shop() -> String {
    let issued = Arc::new(AtomicU64::new(0));
    Server::replying(move |head, body| answer(head, body, &issued))
}

fn answer(head: &str, body: &str, issued: &AtomicU64) -> (&'static str, String) {
    let is_issued = |text: &str, mark: char| {
        let number = text.strip_prefix(mark).and_then(|rest| rest.strip_suffix(mark));
        number
            .and_then(|number| number.parse().ok())
            .is_some_and(|number: u64| (1..=issued.load(Ordering::SeqCst)).contains(&number))
    };
    let bearer = head
        .lines()
        .find_map(|line| line.to_ascii_lowercase().strip_prefix("authorization: bearer ").map(str::to_owned));
    match head.split(" HTTP").next() {
        Some("GET /login") => {
            let number = issued.fetch_add(1, Ordering::SeqCst) + 1;
            ("200 OK", format!("<input type=\"hidden\" name=\"csrf\" value=\"f{number}f\">"))
        }
        Some("POST /login") if body.strip_prefix("csrf=").is_some_and(|token| is_issued(token, 'f')) => {
            let number = issued.fetch_add(1, Ordering::SeqCst) + 1;
            ("200 OK", json!({"token": format!("t{number}t")}).to_string())
        }
        Some("GET /account") if bearer.is_some_and(|token| is_issued(&token, 't')) => {
            ("200 OK", "{}".to_owned())
        }
        _ => ("403 Forbidden", String::new()),
    }
}

/// What a browser recorded of a visit with these tokens.
fn recording(form: &str, token: &str) -> String {
    let entry = |second: u32,
                 method: &str,
                 path: &str,
                 headers: Value,
                 body: Value,
                 mime: &str,
                 text: String| {
        json!({
            "startedDateTime": format!("2026-11-23T10:00:0{second}Z"),
            "time": 1000.0,
            "request": {"method": method, "url": format!("https://shop.example{path}"), "headers": headers, "postData": body},
            "response": {"status": 200, "headers": [], "content": {"mimeType": mime, "text": text}},
        })
    };
    let hidden = format!("<input type=\"hidden\" name=\"csrf\" value=\"{form}\">");
    let posted = json!({"mimeType": "application/x-www-form-urlencoded", "text": format!("csrf={form}")});
    let bearer = json!([{"name": "Authorization", "value": format!("Bearer {token}")}]);
    let entries = [
        entry(0, "GET", "/login", json!([]), json!(null), "text/html", hidden),
        entry(
            1,
            "POST",
            "/login",
            json!([]),
            posted,
            "application/json",
            json!({"token": token}).to_string(),
        ),
        entry(2, "GET", "/account", bearer, json!(null), "application/json", "{}".to_owned()),
    ];
    json!({"log": {"version": "1.2", "entries": entries}}).to_string()
}

#[test]
fn tokens_of_two_recordings_are_extracted_and_verified() {
    let folder = Folder::new("har");
    fs::write(folder.0.join("first.har"), recording("f901f", "t902t")).expect("the folder can be written");
    fs::write(folder.0.join("second.har"), recording("f911f", "t912t")).expect("the folder can be written");
    let url = shop();
    let to = url.trim_end_matches('/');
    let output = prony_in(&folder.0, &["import", "first.har", "second.har", "--verify", to]);
    assert_eq!(output.code, Some(0), "{output:?}");
    for text in
        ["GET-login: good, csrf matched", "POST-login: good, Authorization matched", "GET-account: good"]
    {
        assert!(output.err.contains(text), "{text}: {}", output.err);
    }
    fs::write(folder.0.join("shop.toml"), &output.out).expect("the folder can be written");
    let run = prony_in(&folder.0, &["run", "shop.toml", "--base", to, "-n", "3", "-c", "3"]);
    assert!(matches!(run.code, Some(0 | 3)) && run.out.contains("3 completed"), "{run:?}");
}

#[test]
fn one_recording_has_tokens_that_do_not_work() {
    let folder = Folder::new("har-one");
    fs::write(folder.0.join("first.har"), recording("f901f", "t902t")).expect("the folder can be written");
    let url = shop();
    let output = prony_in(&folder.0, &["import", "first.har", "--verify", url.trim_end_matches('/')]);
    assert_eq!(output.code, Some(4), "{output:?}");
    assert!(output.err.contains("verified POST-login: failed: 403"), "{}", output.err);
    assert!(output.err.contains("verified GET-account: not reached"), "{}", output.err);
    assert!(output.err.contains("Authorization left out") && !output.out.contains("t902t"), "{output:?}");
    let both = prony_in(&folder.0, &["import", "x.hurl", "y.hurl"]);
    assert!(both.code == Some(2) && both.err.contains("are for HAR files"), "{both:?}");
}

/// A recording of some 64 MB: pages whose responses are binary, uploads, and websockets with their messages. Returns its bytes.
fn large_recording(path: &Path) -> u64 {
    const ENTRIES: u32 = 1_000;
    let file = fs::File::create(path).expect("the folder can be written");
    let mut file = std::io::BufWriter::new(file);
    let bytes = "AAECAwQFBgcICQoL".repeat(4_000);
    let mut write = |text: &str| file.write_all(text.as_bytes()).expect("the disk has room");
    write("{\"log\": {\"version\": \"1.2\", \"entries\": [");
    for number in 0..ENTRIES {
        let (method, url, more, response) = match number % 4 {
            0 => (
                "GET",
                "ws://shop.example/live",
                json!({"_resourceType": "websocket"}),
                json!({"status": 101}),
            ),
            1 => ("POST", "http://shop.example/upload", json!(null), json!({"status": 201})),
            _ => ("GET", "http://shop.example/item", json!(null), json!({"status": 200})),
        };
        let mut entry = json!({
            "startedDateTime": format!("2026-11-23T10:00:00.{number:03}Z"),
            "request": {"method": method, "url": url, "headers": []},
            "response": response,
        });
        match number % 4 {
            0 => entry["_webSocketMessages"] = json!([{"type": "receive", "opcode": 2, "data": bytes}]),
            1 => {
                entry["request"]["postData"] =
                    json!({"mimeType": "image/png", "text": bytes, "encoding": "base64"});
            }
            _ => {
                entry["response"]["content"] =
                    json!({"mimeType": "image/png", "text": bytes, "encoding": "base64"});
            }
        }
        if let Some(more) = more.as_object() {
            more.iter().for_each(|(name, value)| entry[name] = value.clone());
        }
        write(if number == 0 { "" } else { ",\n" });
        write(&entry.to_string());
    }
    write("]}}");
    drop(file);
    fs::metadata(path).expect("it was written").len()
}

#[test]
fn a_large_recording_is_replayed_in_less_memory_than_it_has() {
    let folder = Folder::new("har-large");
    let bytes = large_recording(&folder.0.join("large.har"));
    let server = Server::good();
    let output = prony_in(&folder.0, &["replay", "large.har", "--to", &server.url, "--json", "r.json", "-q"]);
    assert!(matches!(output.code, Some(0 | 3)), "{output:?}");
    let result = fs::read_to_string(folder.0.join("r.json")).expect("it was written");
    let result: Value = serde_json::from_str(&result).expect("JSON");
    assert_eq!(
        result["plan"]["replay"]["left_out"],
        json!({"method POST": 250, "websocket": 250}),
        "{output:?}"
    );
    assert_eq!(result["requests"]["intended"], 500);
    let peak = result["client"]["peak_rss_bytes"].as_u64().expect("Linux has it");
    assert!(peak < bytes, "{peak} of {bytes}");
    let imported = prony_in(&folder.0, &["import", "large.har", "--assets"]);
    assert!(
        imported.code == Some(2) && imported.err.contains("500 steps are more than the 256"),
        "{imported:?}"
    );
}
