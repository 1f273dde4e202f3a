//! `prony import`, and `prony run` with a file of another tool.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;

use prony_import::{Context, ImportedScenario, read_hurl, read_openapi, read_postman};
use prony_model::{PartContent, Scenario, StepBody};
use prony_study::ScenarioFile;

use crate::binary::{command, program_output, prony};

/// Requests that a server keeps for a test.
const REQUESTS_MAX: usize = 64;

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../prony-import/tests/data").join(name)
}

fn text(name: &str) -> String {
    fs::read_to_string(data(name)).expect("a file")
}

/// A folder with a file in it.
fn folder(name: &str, content: &str) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join(name);
    fs::write(&path, content).expect("it can be written");
    let path = path.to_str().expect("text").to_owned();
    (folder, path)
}

/// What a scenario's file has by name comes in the order of the names, and with the content of files.
fn sorted(mut scenario: Scenario) -> Scenario {
    for step in scenario.flows.iter_mut().flat_map(|flow| &mut flow.steps) {
        step.headers.sort_by(|one, other| one.0.cmp(&other.0));
        step.checks.headers.sort();
        step.checks.json.sort_by(|one, other| one.0.cmp(&other.0));
        step.extract.sort_by(|one, other| one.name.cmp(&other.name));
        match &mut step.body {
            StepBody::Form(fields) => fields.sort_by(|one, other| one.0.cmp(&other.0)),
            StepBody::File(file) => file.content.bytes.clear(),
            StepBody::Multipart(parts) => {
                for part in parts {
                    if let PartContent::File(file) = &mut part.content {
                        file.content.bytes.clear();
                        // A part with a file has its name in the request, if it has no other.
                        let own = file.path.clone();
                        part.file_name.get_or_insert(own);
                    }
                }
            }
            StepBody::None | StepBody::Text(_) | StepBody::Json(_) => {}
        }
    }
    scenario
}

#[test]
fn the_file_says_what_was_imported() {
    let variables = [("page".to_owned(), "2".to_owned())];
    let context = Context { name: "shop", variables: &variables };
    let check = |imported: ImportedScenario| {
        let toml = imported.to_toml();
        let (folder, path) = folder("shop.toml", &toml);
        for name in ["photo.png", "a.png", "b.png"] {
            fs::write(folder.path().join(name), "a picture").expect("it can be written");
        }
        let again =
            ScenarioFile::read(Path::new(&path), &toml).unwrap_or_else(|error| panic!("{error:?}\n{toml}"));
        assert_eq!(again.base, imported.base);
        assert_eq!(sorted(again.scenario), sorted(imported.scenario), "{toml}");
    };
    check(read_hurl(&text("shop.hurl"), &context).expect("a Hurl file"));
    check(read_postman(&text("shop.postman_collection.json"), &context).expect("a collection"));
    check(read_openapi(&text("shop.openapi.json"), &context).expect("a description"));
}

#[test]
fn what_is_left_out_is_on_stderr_and_in_the_file() {
    let path = data("shop.hurl");
    let output = prony(&["import", path.to_str().expect("text")]);
    assert_eq!(output.code, Some(0), "{output:?}");
    let line = "line 19: jsonpath \"$.items\" count == 2 left out: not checked";
    assert!(output.err.lines().any(|one| one == line), "{output:?}");
    assert!(output.out.contains(&format!("# {line}\n")), "{output:?}");
    assert!(output.out.contains("# base = "), "the server is a variable: {output:?}");
    assert!(output.out.contains("variables.page = \"\"  # the file gives it no value"), "{output:?}");
}

#[test]
fn formats_are_found_out() {
    let check = |name: &str, words: &str| {
        let child = command()
            .args(["import", "-"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        let mut child = child.expect("it starts");
        child.stdin.take().expect("a pipe").write_all(text(name).as_bytes()).expect("it reads");
        let output = program_output(child.wait_with_output().expect("it ends"));
        assert_eq!(output.code, Some(0), "{output:?}");
        assert!(output.out.contains(words), "{output:?}");
    };
    check("shop.hurl", "path = \"/login?from=a%20b\"");
    check("shop.postman_collection.json", "name = \"Log-in\"");
    check("shop.openapi.json", "name = \"getItem\"");
    check("shop.openapi.yaml", "name = \"getItem\"");
    for (text, words) in [
        ("a: 1\n", "as JSON or YAML"),
        ("openapi: 3.0.0\n", "there is no operation"),
        ("openapi: 3.0.0\n paths: {}\n", "as JSON or YAML"),
    ] {
        let (_folder, path) = folder("shop.yaml", text);
        let output = prony(&["import", &path]);
        assert_eq!(output.code, Some(2), "{output:?}");
        assert!(output.err.contains(words), "{output:?}");
    }
    let (_folder, path) = folder("shop.yaml", "openapi: 3.0.0\n paths: {}\n");
    let output = prony(&["import", "--format", "openapi", &path]);
    assert!(output.err.contains("line 2: this is not YAML"), "{output:?}");
}

/// A server that answers each request with what its path stands for, and hands it on.
fn shop() -> (SocketAddr, Receiver<(String, String)>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let (sender, receiver) = sync_channel(REQUESTS_MAX);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let sender = sender.clone();
            thread::spawn(move || {
                let mut stream = stream;
                while let Some((head, body)) = request(&mut stream) {
                    let (status, headers, answer) = if head.starts_with("POST /login") {
                        ("200 OK", "Set-Cookie: sid=s1\r\n", r#"{"token": "t-1", "items": [{"id": 7}]}"#)
                    } else if head.starts_with("GET /items/7") {
                        ("200 OK", "X-Kind: tea\r\n", "green tea id=9/end")
                    } else {
                        ("201 Created", "", "")
                    };
                    let length = answer.len();
                    let answer =
                        format!("HTTP/1.1 {status}\r\n{headers}Content-Length: {length}\r\n\r\n{answer}");
                    // The test may have seen enough.
                    let _ = sender.try_send((head, body));
                    if stream.write_all(answer.as_bytes()).is_err() {
                        return;
                    }
                }
            });
        }
    });
    (address, receiver)
}

/// Head and body.
fn request(stream: &mut TcpStream) -> Option<(String, String)> {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| {
                let (name, value) = line.split_once(':')?;
                name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
            });
            if body.len() >= length.unwrap_or(0) {
                return Some((head.to_owned(), body.to_owned()));
            }
        }
        match stream.read(&mut buffer) {
            Ok(0) | Err(_) => return None,
            Ok(count) => bytes.extend_from_slice(&buffer[..count]),
        }
    }
}

#[test]
fn a_hurl_file_is_run_as_it_stands() {
    let (address, received) = shop();
    let (_folder, path) = folder(
        "session.hurl",
        "POST {{host}}/login\n[Form]\nname: {{user}}\nHTTP 200\n[Captures]\ntoken: jsonpath \"$.token\"\n\
         first: jsonpath \"$.items[0].id\"\n[Asserts]\nduration < 1000\n\n\
         GET {{host}}/items/{{first}}\nAuthorization: Bearer {{token}}\n[Query]\nq: a b\nHTTP 200\n\
         X-Kind: tea\n[Captures]\norder: regex /id=(\\d+)/\n\n\
         PUT {{host}}/orders/{{order}}\n{\"item\": {{first}}, \"by\": \"{{user}}\"}\nHTTP 201\n",
    );
    let host = format!("host=http://{address}");
    let words =
        ["run", &path, "--variable", &host, "--variable", "user=kim", "-n", "6", "-c", "1", "-o", "json"];
    let output = prony(&words);
    let result = prony_model::from_json(&output.out).unwrap_or_else(|error| panic!("{error}: {output:?}"));
    assert_eq!(result.requests.failed, 0, "{:?}", result.errors);
    assert!(output.err.contains("line 9: duration < 1000 left out: not checked"), "{output:?}");
    let seen: Vec<(String, String)> = received.try_iter().filter(|(head, _)| !head.is_empty()).collect();
    let first = |begin: &str| {
        let found = seen.iter().find(|(head, _)| head.starts_with(begin));
        found.unwrap_or_else(|| panic!("no {begin}: {seen:#?}"))
    };
    assert_eq!(first("POST /login HTTP/1.1").1, "name=kim");
    let item = first("GET /items/7?q=a%20b HTTP/1.1");
    assert!(
        item.0.contains("\r\nAuthorization: Bearer t-1\r\n") || item.0.ends_with("Bearer t-1"),
        "{item:?}"
    );
    assert!(item.0.to_ascii_lowercase().contains("cookie: sid=s1"), "{item:?}");
    let order = first("PUT /orders/9 HTTP/1.1");
    assert_eq!(order.1, r#"{"item": 7, "by": "kim"}"#);
    assert!(order.0.to_ascii_lowercase().contains("content-type: application/json"), "{order:?}");
}

#[test]
fn a_value_that_is_missing_is_asked_for() {
    let (_folder, path) = folder("session.hurl", "GET http://127.0.0.1:9/{{id}}\n");
    let output = prony(&["run", &path]);
    assert_eq!(output.code, Some(2), "{output:?}");
    assert!(
        output.err.contains("{{id}} has no value") && output.err.contains("--variable id=…"),
        "{output:?}"
    );
    let wrong = prony(&["run", &path, "--variable", "id"]);
    assert!(wrong.err.contains("`id` is not a variable"), "{wrong:?}");
    let none = prony(&["run", "http://127.0.0.1:9/", "--variable", "id=1"]);
    assert!(none.err.contains("--variable is for Hurl files"), "{none:?}");
}

#[test]
fn what_is_wrong_with_a_file_is_named_with_its_line() {
    let (_folder, path) = folder("session.hurl", "GET http://127.0.0.1:9/\nGET http://127.0.0.1:10/\n");
    let output = prony(&["import", &path]);
    assert_eq!(output.code, Some(2), "{output:?}");
    assert!(output.err.contains("session.hurl: line 2: http://127.0.0.1:10 is another server"), "{output:?}");
}
