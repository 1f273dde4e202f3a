//! Monitors, hooks, alerts and counters of a whole lab, from outside.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::Duration;

use prony_lab::model::Role;
use serde_json::{Value, json};

use crate::front::{Front, PASSWORD, Reply};

/// How long the lab may take for what it does by itself: some ticks of its clock.
const PATIENCE: Duration = Duration::from_secs(30);

/// A lab, and a token of each role.
fn lab() -> (Front, [String; 3]) {
    let front = Front::new();
    let cookie = front.admin();
    let tokens = Role::ALL.map(|role| front.token(&cookie, role));
    (front, tokens)
}

/// A server that takes requests and passes them on: head and body. Ends with the test process.
fn receiver() -> (SocketAddr, Receiver<(String, String)>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let (got, received) = sync_channel(64);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut reader = BufReader::new(stream);
            let mut head = String::new();
            while !head.ends_with("\r\n\r\n") && reader.read_line(&mut head).is_ok_and(|read| read > 0) {}
            let head = head.to_lowercase();
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            let mut body = vec![0; length.and_then(|text| text.trim().parse().ok()).unwrap_or(0)];
            let _ = reader.read_exact(&mut body);
            let _ = reader.get_mut().write_all(b"HTTP/1.1 204 X\r\nconnection: close\r\n\r\n");
            let _ = got.try_send((head, String::from_utf8_lossy(&body).into_owned()));
        }
    });
    (address, received)
}

/// Asks until `is_there`.
fn wait_for(what: &str, ask: impl Fn() -> Reply, is_there: impl Fn(&Value) -> bool) -> Value {
    let step = Duration::from_millis(50);
    for _ in 0..PATIENCE.as_millis() / step.as_millis() {
        let reply = ask();
        if reply.status == 200 && is_there(&reply.json()) {
            return reply.json();
        }
        std::thread::park_timeout(step);
    }
    panic!("no {what} in {PATIENCE:?}: {:?}", ask());
}

#[test]
fn a_failing_url_alerts_notifies_and_recovers() {
    let (front, [viewer, runner, admin]) = lab();
    let (hooked, received) = receiver();
    let hook = json!({ "url": format!("http://{hooked}/hook"), "kinds": "alert.*" });
    assert_eq!(front.call(&runner, "POST", "/hooks", Some(&hook)).status, 403);
    let made = front.call(&admin, "POST", "/hooks", Some(&hook));
    assert_eq!(made.status, 200, "{made:?}");
    let secret = made.json()["secret"].as_str().expect("a secret").to_owned();
    assert!(!front.call(&admin, "GET", "/hooks", None).body.contains(&secret), "shown once");

    // Nobody listens there until later.
    let port = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = port.local_addr().expect("an address");
    drop(port);
    let monitor =
        json!({ "name": "home", "url": format!("http://{address}/"), "every": "5s", "fail_after": "1" });
    assert_eq!(front.call(&viewer, "POST", "/monitors", Some(&monitor)).status, 403);
    let made = front.call(&runner, "POST", "/monitors", Some(&monitor));
    assert_eq!((made.status, made.header("location")), (201, Some("/api/v1/monitors/1/checks")), "{made:?}");
    let again = front.call(&runner, "POST", "/monitors", Some(&monitor));
    assert_eq!((again.status, &again.json()["mistakes"][0]["field"]), (422, &json!("name")));

    let alerts = || front.call(&viewer, "GET", "/alerts", None);
    let found = wait_for("alert", alerts, |found| found["items"][0]["state"] == "active");
    let words = found["items"][0]["words"].as_str().expect("words");
    assert!(words.contains("home") && words.contains("connection refused"), "{words}");
    let (head, body) = received.recv_timeout(PATIENCE).expect("delivered");
    assert!(head.starts_with("post /hook ") && body.contains("alert.active"), "{head}{body}");
    let signature = head.lines().find_map(|line| line.strip_prefix("x-prony-signature: sha256="));
    assert_eq!(signature, Some(hmac(&secret, body.as_bytes()).as_str()));

    let answer = |token: &str, body: Value| front.call(token, "POST", "/alerts/1", Some(&body));
    assert_eq!(answer(&viewer, json!({ "state": "acknowledged" })).status, 403);
    let done = answer(&runner, json!({ "state": "acknowledged", "note": "mine" }));
    assert_eq!((done.status, &done.json()["note"]), (200, &json!("mine")), "{done:?}");
    assert_eq!(answer(&runner, json!({ "state": "acknowledged" })).status, 409);
    assert_eq!(answer(&runner, json!({ "state": "closed" })).status, 409);
    assert_eq!(answer(&runner, json!({ "state": "silenced" })).status, 422);
    assert_eq!(front.call(&runner, "POST", "/alerts/9", Some(&json!({ "state": "active" }))).status, 404);

    let back = TcpListener::bind(address).expect("the same port");
    std::thread::spawn(move || {
        for mut stream in back.incoming().flatten() {
            let _ = stream.read(&mut [0; 1024]);
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
        }
    });
    wait_for("recovery", alerts, |found| found["items"][0]["state"] == "closed");
    let checks = front.call(&viewer, "GET", "/monitors/1/checks", None).json();
    let last = checks["items"].as_array().and_then(|all| all.last()).expect("a check");
    assert_eq!((&last["is_good"], &last["status"]), (&json!(true), &json!(200)));
    assert_eq!(front.call(&viewer, "GET", "/monitors", None).json()["items"][0]["name"], "home");
    assert_eq!(front.call(&runner, "DELETE", "/monitors/1", None).status, 200);
    assert_eq!(front.call(&runner, "DELETE", "/monitors/1", None).status, 404);
    assert_eq!(front.call(&admin, "DELETE", "/hooks/1", None).status, 200);
}

#[test]
fn nobody_has_the_lab_ask_what_the_policy_forbids() {
    let (front, [_, runner, admin]) = lab();
    for url in ["http://169.254.169.254/", "http://[fe80::1]/", "http://8.8.8.8/", "http://kim:x@127.0.0.1/"]
    {
        let monitor = json!({ "name": "home", "url": url });
        let refused = front.call(&runner, "POST", "/monitors", Some(&monitor));
        assert_eq!((refused.status, &refused.json()["mistakes"][0]["field"]), (422, &json!("url")), "{url}");
    }
    let hook = json!({ "url": "http://169.254.169.254/latest" });
    assert_eq!(front.call(&admin, "POST", "/hooks", Some(&hook)).status, 422);
}

#[test]
fn counters_are_read_with_a_token() {
    let (front, [viewer, ..]) = lab();
    assert_eq!(front.call(&viewer, "GET", "/builds", None).status, 200);
    assert_eq!(front.get("/no/such/page", &[]).status, 404);
    assert_eq!(front.get("/metrics", &[]).status, 401);
    let read = front.get("/metrics", &[("Authorization", &format!("Bearer {viewer}"))]);
    assert!(read.header("content-type").is_some_and(|kind| kind.starts_with("application/openmetrics-text")));
    for line in [
        "prony_lab_requests_total{method=\"GET\",route=\"/api/v1/builds\",status=\"200\"} 1",
        "prony_lab_builds{state=\"queued\"} 0",
    ] {
        assert!(read.body.lines().any(|found| found == line), "{line}: {}", read.body);
    }
    assert!(!read.body.contains("such"), "a path that is nowhere is no series: {}", read.body);
}

/// HMAC-SHA256 with the standard's two hashes (RFC 2104), so that ours is not checked by itself.
fn hmac(key: &str, message: &[u8]) -> String {
    use sha2::{Digest as _, Sha256};
    assert_eq!(key.len(), 64, "exactly a block, as it is");
    let padded = |pad: u8| key.bytes().map(|byte| byte ^ pad).collect::<Vec<u8>>();
    let inner = Sha256::new().chain_update(padded(0x36)).chain_update(message).finalize();
    let outer = Sha256::new().chain_update(padded(0x5c)).chain_update(inner).finalize();
    outer
        .iter()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .filter_map(|digit| char::from_digit(digit.into(), 16))
        .collect()
}

#[test]
fn a_status_that_can_not_be_sent_is_shown_to_administrators() {
    let front = Front::with(|options| options.anonymous = Some(Role::Viewer));
    let cookie = front.admin();
    let [runner, admin] = [Role::Runner, Role::Admin].map(|role| front.token(&cookie, role));
    let status = "[status]\nforge = \"gitea\"\ntoken = \"FORGE_TOKEN\"\napi = \"http://127.0.0.1:1\"";
    let definition =
        format!("repository = \"https://git.example/o/r.git\"\nstudy = \"prony.toml\"\n{status}");
    let put = front.call(&admin, "PUT", "/projects/web", Some(&json!({ "definition": definition })));
    assert_eq!(put.status, 200, "{put:?}");
    let wrong = definition.replace("gitea", "gitta");
    let refused = front.call(&admin, "PUT", "/projects/web", Some(&json!({ "definition": wrong })));
    assert!(refused.status == 422 && refused.body.contains("`status.forge`"), "{refused:?}");
    let page = |cookie: &str| front.get("/project/web", &[("Cookie", cookie)]).body;
    assert!(page(&cookie).contains("No build of a known commit"), "{}", page(&cookie));
    let commit = "0123456789abcdef0123456789abcdef01234567";
    let body = json!({ "project": "web", "reference": commit });
    assert_eq!(front.call(&runner, "POST", "/builds", Some(&body)).status, 201);
    let step = Duration::from_millis(50);
    let is_there = |page: &str| page.contains("`prony lab secret set FORGE_TOKEN`");
    for _ in 0..PATIENCE.as_millis() / step.as_millis() {
        if is_there(&page(&cookie)) {
            break;
        }
        std::thread::park_timeout(step);
    }
    let shown = page(&cookie);
    assert!(is_there(&shown) && shown.contains("failed, tried again"), "{shown}");
    assert!(shown.contains("pending: queued") && shown.contains("0123456789ab<"), "{shown}");
    // Others see the project without it.
    let others = page("");
    assert!(others.contains("Project web") && !others.contains("id=\"status\""), "{others}");
}

/// A file of the certificates that the engine's tests use: those of an authority, and of a server that it vouches for.
fn certificate(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../prony-engine/tests/certificates");
    folder.join(name).canonicalize().expect("it is there")
}

#[test]
fn https_is_looked_at_as_the_monitor_says() {
    let secure =
        Front::with(|options| options.tls = Some((certificate("server.pem"), certificate("server.pem"))));
    let (front, [viewer, runner, admin]) = lab();
    let policy = format!("[authorities]\ninner = {:?}\n", certificate("ca.pem"));
    let set = front.call(&admin, "PUT", "/policy", Some(&json!({ "policy": policy })));
    assert_eq!(set.status, 200, "{set:?}");

    let url = format!("https://{}/login", secure.address);
    let add = |name: &str, tls: Value| {
        let mut monitor = json!({ "name": name, "url": url, "every": "5s" });
        let fields = monitor.as_object_mut().expect("an object");
        fields.extend(tls.as_object().expect("an object").clone());
        front.call(&runner, "POST", "/monitors", Some(&monitor))
    };
    let added = [
        ("public", json!({}), false),
        ("trusted", json!({ "cacert": "inner" }), true),
        ("named", json!({ "cacert": "inner", "sni": "localhost" }), true),
        ("misnamed", json!({ "cacert": "inner", "sni": "other.example" }), false),
        ("insecure", json!({ "insecure": true }), true),
    ];
    for (number, (name, tls, is_good)) in (1..).zip(added) {
        assert_eq!(add(name, tls).status, 201, "{name}");
        let checks = || front.call(&viewer, "GET", &format!("/monitors/{number}/checks"), None);
        let found = wait_for(name, checks, |found| !found["items"][0].is_null());
        let check = &found["items"][0];
        assert_eq!(check["is_good"], is_good, "{name}: {check}");
        let error = check["error"].as_str().unwrap_or_default();
        assert_eq!(error.contains("certificate"), !is_good, "{name}: {check}");
    }
    for (tls, field) in [
        (json!({ "cacert": "outer" }), "cacert"),
        (json!({ "cacert": "inner", "insecure": true }), "insecure"),
        (json!({ "sni": "a b" }), "sni"),
    ] {
        let refused = add("wrong", tls);
        assert_eq!(
            (refused.status, &refused.json()["mistakes"][0]["field"]),
            (422, &json!(field)),
            "{refused:?}"
        );
    }

    let listed = front.call(&viewer, "GET", "/monitors", None).json();
    let insecure =
        listed["items"].as_array().expect("a list").iter().filter(|one| one["tls"]["insecure"] == true);
    assert_eq!(insecure.count(), 1, "{listed}");
    let cookie = login(&front);
    let page = |path: &str| front.get(path, &[("Cookie", &cookie)]).body;
    assert_eq!(page("/monitors").matches("certificate not verified").count(), 1);
    assert!(page("/monitor/5").contains("; the certificate is not verified"), "{}", page("/monitor/5"));
    assert!(page("/monitor/3").contains("trusts the authority inner alone, asks for the name localhost"));

    // The same by the form, which says what is wrong where it is, and keeps what was typed.
    let csrf = front.csrf(&cookie);
    let form = |fields: &[(&str, &str)]| {
        let mut all = vec![("csrf", csrf.as_str()), ("name", "typed"), ("url", url.as_str())];
        all.extend_from_slice(fields);
        front.form("/monitors", &[("Cookie", &cookie)], &all)
    };
    let refused = form(&[("cacert", "inner"), ("insecure", "yes")]);
    assert_eq!(refused.status, 422, "{refused:?}");
    assert!(refused.body.contains("insecure-mistake") && refused.body.contains("value=\"inner\" selected"));
    assert_eq!(form(&[("cacert", ""), ("insecure", "yes")]).status, 303);
    assert_eq!(page("/monitors").matches("certificate not verified").count(), 2);
}

/// The cookie of another session of the admin.
fn login(front: &Front) -> String {
    let reply = front.form("/login", &[], &[("name", "admin"), ("password", PASSWORD)]);
    assert_eq!(reply.status, 303, "{reply:?}");
    reply.cookie()
}
