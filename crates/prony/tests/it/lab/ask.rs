//! A lab asked by scripts and by its administrator, all through the binary.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;

use super::running::{PASSWORD, Running};
use crate::binary::{ProgramOutput, command, program_output, prony};
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

fn lab(data: &Path, words: &[&str]) -> ProgramOutput {
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
    let folder = Folder::new("lab-stopped");
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

    let checked = lab(&folder.0, &["policy", "check", "http://127.1:3000/"]);
    assert_eq!((checked.code, checked.out.as_str()), (Some(0), "allowed  127.0.0.1:3000\n"), "{checked:?}");
    let rules = folder.0.join("policy.toml");
    std::fs::write(&rules, "loopback = false\n").expect("written");
    assert_eq!(lab(&folder.0, &["policy", "set", rules.to_str().expect("UTF-8")]).code, Some(0));
    let checked = lab(&folder.0, &["policy", "judge", "http://2130706433/", "--role", "admin"]);
    assert_eq!(checked.code, Some(1), "{checked:?}");
    assert!(lab(&folder.0, &["policy", "show"]).out.contains("loopback = false"), "{checked:?}");

    let whole = lab(&folder.0, &["audit"]);
    let head = whole.out.trim().rsplit(' ').next().expect("a hash").to_owned();
    assert!(whole.out.starts_with("whole: ") && head.len() == 64, "{whole:?}");
    assert_eq!(lab(&folder.0, &["audit", "--head", &head]).code, Some(0));
    lab(&folder.0, &["user", "add", "ben"]);
    assert_eq!(lab(&folder.0, &["audit", "--head", &head]).code, Some(4), "an entry more");
}

#[test]
fn an_administrator_of_a_lab_that_runs() {
    use std::os::unix::fs::PermissionsExt as _;

    let folder = Folder::new("lab-local-admin");
    with_admin(&folder);
    let mut running = Running::start(&folder.0);
    let socket = folder.0.join("admin.sock");
    let mode = std::fs::metadata(&socket).expect("a socket").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let listed = lab(&folder.0, &["user", "list"]);
    assert!(listed.code == Some(0) && listed.out.contains("can log in"), "{listed:?}");
    let token = lab(&folder.0, &["token", "add", "admin", "ci", "--role", "runner", "--days", "3"]);
    let bearer = format!("Authorization: Bearer {}\r\n", token.out.trim());
    let status = |lab: &Running, path: &str, headers: &str| {
        send(lab, "GET", path, headers, "").split(' ').nth(1).expect("a status").to_owned()
    };
    assert_eq!(status(&running, "/api/v1/me", &bearer), "200", "{token:?}");
    let id = token.out.split('_').nth(1).expect("its number");
    assert_eq!(lab(&folder.0, &["token", "revoke", id]).code, Some(0));
    assert_eq!(status(&running, "/api/v1/me", &bearer), "401", "from the next request on");
    let last = lab(&folder.0, &["user", "disable", "admin"]);
    assert!(last.code == Some(2) && last.err.contains("the last admin"), "{last:?}");
    let link = lab(&folder.0, &["user", "add", "ada", "--lab", &format!("http://{}", running.address)]);
    let path = link.out.trim().split_once(&running.address).expect("its address").1;
    assert_eq!(status(&running, path, ""), "200", "{link:?}");
    let rules = folder.0.join("policy.toml");
    std::fs::write(&rules, "loopback = false\n").expect("written");
    assert_eq!(lab(&folder.0, &["policy", "set", rules.to_str().expect("UTF-8")]).code, Some(0));
    let checked = lab(&folder.0, &["policy", "check", "http://127.1/"]);
    assert!(checked.code == Some(1) && checked.out.starts_with("refused"), "{checked:?}");
    let whole = lab(&folder.0, &["audit"]);
    assert!(whole.out.starts_with("whole: "), "{whole:?}");
    let names = lab(&folder.0, &["secret", "list"]);
    assert_eq!((names.code, names.out.as_str()), (Some(0), ""), "{names:?}");

    // What a killed lab leaves behind is in nobody's way.
    running.kill();
    assert!(socket.exists());
    assert!(lab(&folder.0, &["user", "list"]).out.contains("can log in"));
    let again = Running::start(&folder.0);
    assert!(lab(&folder.0, &["user", "list"]).out.contains("can log in"));
    again.stop();
    assert!(!socket.exists(), "a lab that ends takes its socket away");
}

#[test]
fn who_logs_in_needs_no_variable() {
    use std::os::unix::fs::PermissionsExt as _;

    let folder = Folder::new("lab-login");
    with_admin(&folder);
    let running = Running::start(&folder.0);
    let token = lab(&folder.0, &["token", "add", "admin", "laptop"]).out;
    let address = format!("http://{}", running.address);
    let config = folder.0.join("config");
    let ask = |words: &[&str], input: &str| {
        let mut command = command();
        command.env("XDG_CONFIG_HOME", &config).env_remove("PRONY_LAB_TOKEN").env_remove("PRONY_LAB");
        let mut child = command
            .arg("lab")
            .args(words)
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .expect("the binary was built");
        // One that reads nothing may have ended.
        let _ = child.stdin.take().expect("piped").write_all(input.as_bytes());
        program_output(child.wait_with_output().expect("it ends"))
    };
    let file = config.join("prony/tokens.json");
    let without = ask(&["gate", "1", "--lab", &address], "");
    assert!(without.code == Some(2) && without.err.contains("prony lab login"), "{without:?}");
    for (typed, words) in
        [("", "no token was given"), ("secret\n", "token"), ("lab_0011223344556677_00", "token")]
    {
        let refused = ask(&["login", &address], typed);
        assert!(refused.code == Some(2) && refused.err.contains(words), "{refused:?}");
    }
    assert!(!file.exists(), "a token that opens nothing is not kept");
    let done = ask(&["login", &format!("{address}/")], &token);
    assert_eq!(done.code, Some(0), "{done:?}");
    assert!(done.err.contains("as admin (runner)") && !done.err.contains(token.trim()), "{done:?}");
    assert_eq!(std::fs::metadata(&file).expect("a file").permissions().mode() & 0o777, 0o600);
    let refused = ask(&["submit", "web", "--lab", &address], "");
    assert!(refused.err.contains("there is no such project"), "it asks with the token: {refused:?}");

    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).expect("ours");
    let open = ask(&["submit", "web", "--lab", &address], "");
    assert!(open.code == Some(2) && open.err.contains("chmod 600"), "{open:?}");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).expect("ours");
    let out = ask(&["logout", &address], "");
    assert!(out.code == Some(0) && out.err.contains("the token is void"), "{out:?}");
    assert_eq!(std::fs::read_to_string(&file).expect("a file"), "{}");
    let used = ask(&["login", &address], &token);
    assert!(used.code == Some(2) && used.err.contains("401"), "{used:?}");
    assert_eq!(ask(&["logout", &address], "").code, Some(2), "there is no login");
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
        program_output(command.arg("lab").args(words).output().expect("the binary was built"))
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
    let timed_out = ask(&["wait", "1", "--timeout", "1s"]);
    assert_eq!(timed_out.code, Some(4), "{timed_out:?}");
    assert!(
        timed_out.err.contains("build 1: queued\n") && timed_out.err.contains("--timeout"),
        "{timed_out:?}"
    );
    assert_eq!(ask(&["gate", "7"]).code, Some(2), "there is none");
    let found = ask(&["search", "MAIN", "project:web"]);
    assert_eq!((found.code, found.out.as_str()), (Some(0), "build 1  queued  web  main\n"), "{found:?}");
    let found = ask(&["search", "web", "-o", "json"]);
    let json: serde_json::Value = serde_json::from_str(&found.out).expect("JSON");
    let names = (json["items"][0]["id"].as_i64(), json["projects"][0]["name"].as_str());
    assert_eq!(names, (Some(1), Some("web")), "{found:?}");
    let none = ask(&["search", "nothing"]);
    assert_eq!((none.code, none.out.as_str(), none.err.as_str()), (Some(0), "", "nothing was found\n"));
    let wrong = ask(&["search", "writer:ann"]);
    assert!(wrong.code == Some(2) && wrong.err.contains("there is no operator `writer:`"), "{wrong:?}");

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
    assert!(without.code == Some(2) && without.err.contains("prony lab login"), "{without:?}");
}
