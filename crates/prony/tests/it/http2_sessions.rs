//! Sessions and retries over HTTP/2 with servers that others have written: Node and nginx. Each session must get its own
//! answers, whatever the order of the answers and whatever the server refuses.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use serde_json::Value;

use crate::binary::prony;
use crate::http2::{DRIVERS, certificate, folder};
use crate::peer::{Peer, free_port};

/// Node's server, on a free port, which it prints. A login gets a token in its head, its body (coded) and a cookie; an order
/// must bring back all three; answers come in any order. What it answers, it writes into a log. The second argument is the
/// manner: `refuse` refuses every fifth request, `leave` ends each connection after 40 of them, `busy` answers every third
/// with a 503.
const NODE: &str = r#"
const http2 = require("http2"), fs = require("fs"), zlib = require("zlib");
const [log, manner, certificate, key] = process.argv.slice(1);
const server = certificate
  ? http2.createSecureServer({ cert: fs.readFileSync(certificate), key: fs.readFileSync(key) })
  : http2.createServer();
let count = 0;
const say = (status, text) => fs.appendFileSync(log, status + " " + text + "\n");
server.on("session", (session) => { session.count = 0; session.on("error", () => {}); });
server.on("stream", (stream, head) => {
  const body = [], path = head[":path"], session = stream.session;
  count += 1;
  stream.on("error", () => {});
  if (manner === "refuse" && count % 5 === 2) {
    say("refused", path);
    return stream.close(http2.constants.NGHTTP2_REFUSED_STREAM);
  }
  session.count += 1;
  if (manner === "leave" && session.count === 40) session.close();
  const busy = manner === "busy" && count % 3 === 2;
  stream.on("data", (piece) => body.push(piece));
  stream.on("end", () => setTimeout(() => {
    if (stream.destroyed) return;
    const text = Buffer.concat(body).toString(), id = (/id=([0-9a-f-]+)/.exec(path) || [])[1];
    const answer = (status, fields, bytes) => {
      say(status, path);
      stream.respond({ ":status": status, ...fields });
      stream.end(bytes);
    };
    const cookie = "sid=" + id;
    if (busy) return answer(503, {}, "");
    if (path.startsWith("/login?") && text === "name=" + id) {
      const json = zlib.gzipSync(JSON.stringify({ token: id, filler: "x".repeat(3000), re: "r-" + id }));
      return answer(200, { "x-token": id, "set-cookie": cookie + "; Path=/", "content-encoding": "gzip" }, json);
    }
    if (path.startsWith("/order?")) {
      const good = head["x-token"] === id && head.cookie === cookie && text === `{"a":"${id}","b":"${id}"}`;
      return answer(good ? 303 : 403, { location: "/item?id=" + id }, "");
    }
    if (path.startsWith("/item?") && head[":method"] === "GET" && head.cookie === cookie && !text) {
      return answer(200, {}, "<b>" + id + "</b>");
    }
    if (path === "/upload") {
      const own = text.split(head["x-id"]).length === 3 && text.length > 200000;
      return answer(own ? 201 : 400, {}, "");
    }
    answer(path === "/" ? 200 : 404, {}, "");
  }, Math.floor(Math.random() * 5)));
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
"#;

const SHOP: &str = r#"
[[flow]]
name = "buy"
variables = { id = "{uuid}" }

[[flow.step]]
name = "login"
path = "/login?id={id}"
form = { name = "{id}" }
expect-json = { "/token" = "{id}" }
extract = { head = { header = "X-Token" }, body = { json = "/token" }, re = { regex = '"re":"r-([^"]+)"', group = 1 } }

[[flow.step]]
name = "order"
path = "/order?id={id}"
headers = { X-Token = "{head}" }
json = '{"a":"{body}","b":"{re}"}'
redirects = 1
expect-status = 200
expect-body-contains = "<b>{id}</b>"

[[flow.step]]
name = "upload"
path = "/upload"
headers = { X-Id = "{id}" }
multipart = [{ name = "a", value = "{id}" }, { name = "b", file = "big" }, { name = "c", value = "{id}" }]
expect-status = 201
"#;

fn node(manner: &str, over_tls: bool) -> Option<Peer> {
    let folder = folder(over_tls);
    fs::write(folder.path().join("shop.toml"), SHOP).expect("the folder can be written");
    fs::write(folder.path().join("big"), vec![b'x'; 200_000]).expect("the folder can be written");
    let log = folder.path().join("log");
    let mut command = Command::new("node");
    command.args(["-e", NODE]).arg(&log).arg(manner).args(certificate(&folder, over_tls));
    Peer::start("node", "sessions over HTTP/2 with node", folder, command)
}

/// The stored result of `prony run` with these words; the server's log starts over.
fn run(peer: &Peer, words: &[&str]) -> Value {
    fs::write(peer.path("log"), "").expect("the folder can be written");
    let json = peer.path("run.json");
    let words: Vec<&str> = [&["run"][..], words, &["-q", "--force", "--json", &json]].concat();
    let output = prony(&words);
    assert!(output.is_measured(), "{words:?} {output:?}");
    serde_json::from_str(&fs::read_to_string(&json).expect("a result")).expect("JSON")
}

/// Statuses of the server's log, and its requests.
fn log(peer: &Peer) -> Vec<(String, String)> {
    let log = fs::read_to_string(peer.path("log")).expect("it has a log");
    let line = |line: &str| {
        let (status, path) = line.split_once(' ').expect("two words");
        (status.to_owned(), path.to_owned())
    };
    log.lines().map(line).collect()
}

/// So many sessions were gone through to their ends, of four requests each that the server has answered once.
fn check(peer: &Peer, result: &Value, count: u64) {
    let sessions = &result["scenario"]["sessions"];
    assert_eq!(
        (&sessions["begun"], &sessions["completed"]),
        (&count.into(), &count.into()),
        "{}",
        result["errors"]
    );
    assert_eq!(result["requests"]["done"], 4 * count, "{}", result["requests"]);
    assert_eq!(result["plan"]["request"]["version"], "HTTP/2");
    let log = log(peer);
    let (refused, answered): (Vec<_>, Vec<_>) = log.iter().partition(|(status, _)| status == "refused");
    assert_eq!(answered.len() as u64, 4 * count);
    assert!(
        answered.iter().all(|(status, _)| matches!(status.as_str(), "200" | "303" | "201")),
        "{answered:?}"
    );
    let unique: BTreeSet<_> = answered.iter().filter(|(_, path)| path.contains("id=")).collect();
    assert_eq!(unique.len() as u64, 3 * count, "no request was processed twice");
    assert!(result["http2"]["refused"].as_u64() >= Some(refused.len() as u64), "{}", result["http2"]);
}

fn words<'a>(url: &'a str, file: &'a str, driver: &'a str) -> Vec<&'a str> {
    let how: &[&str] =
        if url.starts_with("https") { &["--http2", "--insecure"] } else { &["--http2-prior-knowledge"] };
    [&[file, "--base", url, "--driver", driver][..], how].concat()
}

fn check_manner(manner: &str, over_tls: bool) {
    let Some(peer) = node(manner, over_tls) else { return };
    let url = format!("{}://127.0.0.1:{}", if over_tls { "https" } else { "http" }, peer.port);
    let shop = peer.path("shop.toml");
    for driver in DRIVERS {
        let words = |more: &[&'static str]| [&words(&url, &shop, driver)[..], more].concat();
        check(&peer, &run(&peer, &words(&["-c", "2", "--streams", "8", "-n", "80"])), 80);
        let open = ["--rate", "150", "-c", "3", "--streams", "5", "-n", "40"];
        check(&peer, &run(&peer, &words(&open)), 40);
    }
}

#[test]
fn each_session_gets_its_own_answers() {
    check_manner("plain", false);
}

#[test]
fn each_session_gets_its_own_answers_over_tls() {
    check_manner("plain", true);
}

#[test]
fn refused_requests_are_sent_again_as_they_were() {
    check_manner("refuse", false);
}

#[test]
fn connections_that_end_lose_no_session() {
    check_manner("leave", true);
}

/// Every third request is answered with a 503, and sent again.
#[test]
fn retries_with_node() {
    let Some(peer) = node("busy", false) else { return };
    let url = format!("http://127.0.0.1:{}/", peer.port);
    for driver in DRIVERS {
        for load in [&["-c", "2", "--streams", "8"][..], &["--rate", "1000", "-c", "3", "--streams", "5"]] {
            let words = [&url, "--http2-prior-knowledge", "-n", "300", "--driver", driver];
            let retries = ["--retries", "9", "--retry-on", "503", "--retry-backoff", "1ms..4ms"];
            let result = run(&peer, &[&words[..], load, &retries].concat());
            assert_eq!(result["requests"]["done"], 300, "{}", result["requests"]);
            let log = log(&peer);
            let busy = log.iter().filter(|(status, _)| status == "503").count() as u64;
            assert_eq!(log.len() as u64, 300 + busy);
            assert_eq!(result["retries"]["by_reason"]["503"], busy, "{}", result["retries"]);
            assert_eq!(result["retries"]["attempts"], 300 + busy);
        }
    }
}

/// nginx says what it was sent, and ends each connection after 50 requests.
#[test]
fn nginx_echoes_what_each_session_sent() {
    const SCENARIO: &str = r#"
[[flow]]
name = "f"
variables = { id = "{uuid}" }

[[flow.step]]
name = "first"
path = "/set?id={id}"
extract = { token = { header = "X-Token" } }

[[flow.step]]
name = "second"
path = "/say"
headers = { X-Mark = "{token}" }
expect-body-contains = ["mark {id}.", "cookie {id}."]
"#;
    let (tls, plain) = (free_port(), free_port());
    let server = |listen: &str| {
        format!(
            "server {{ listen 127.0.0.1:{listen};\n\
             location /set {{ add_header X-Token $arg_id; add_header Set-Cookie \"sid=$arg_id\"; return 200; }}\n\
             location /say {{ return 200 \"mark $http_x_mark. cookie $cookie_sid.\"; }} }}\n"
        )
    };
    let servers = [server(&format!("{tls} ssl http2")), server(&format!("{plain} http2"))].concat();
    let directives = format!("keepalive_requests 50;\nhttp2_max_concurrent_streams 6;\n{servers}");
    let Some(peer) = Peer::nginx("sessions over HTTP/2 with nginx", folder(true), &directives, tls) else {
        return;
    };
    let file = peer.path("echo.toml");
    fs::write(&file, SCENARIO).expect("the folder can be written");
    for driver in DRIVERS {
        for url in [format!("https://127.0.0.1:{tls}"), format!("http://127.0.0.1:{plain}")] {
            let words = words(&url, &file, driver);
            let result = run(&peer, &[&words[..], &["-c", "3", "--streams", "10", "-n", "600"]].concat());
            let sessions = &result["scenario"]["sessions"];
            assert_eq!(sessions["completed"], 600, "{} {}", result["errors"], result["scenario"]);
            assert!(result["http2"]["went_away"].as_u64() >= Some(15), "{}", result["http2"]);
        }
    }
}

/// A study's load names both; a comparison takes the sessions for both sides.
#[test]
fn studies_and_comparisons_of_sessions() {
    let Some(peer) = node("plain", false) else { return };
    let url = format!("http://127.0.0.1:{}", peer.port);
    let study = peer.path("study.toml");
    let text = format!(
        "name = \"sessions\"\n[targets.node]\nurl = \"{url}\"\n\
         [loads.shop]\nscenario = \"shop.toml\"\nhttp2 = true\nstreams = 5\nconnections = 2\nrequests = 20\n"
    );
    fs::write(&study, text).expect("the folder can be written");
    let out = peer.path("out");
    let output = prony(&["study", &study, "--output", &out]);
    assert!(matches!(output.code, Some(0 | 3)), "{output:?}");
    let mut runs = fs::read_dir(format!("{out}/runs")).expect("results");
    let run = runs.next().expect("a run").expect("a name");
    let run: Value = serde_json::from_str(&fs::read_to_string(run.path()).expect("a result")).expect("JSON");
    assert_eq!(run["plan"]["request"]["version"], "HTTP/2");
    assert_eq!(run["scenario"]["sessions"]["completed"], 20, "{}", run["errors"]);

    let shop = peer.path("shop.toml");
    let short =
        ["--pairs", "6", "--block", "100ms", "--warmup", "100ms", "-c", "2", "--streams", "5", "-o", "json"];
    let words = ["compare", &url, &url, "--scenario", &shop, "--http2-prior-knowledge"];
    let output = prony(&[&words[..], &short].concat());
    assert!(output.is_measured(), "{output:?}");
    let result: Value = serde_json::from_str(&output.out).expect("JSON");
    for side in ["a", "b"] {
        assert_eq!(result[side]["failed"], 0, "{}", result[side]["failed_by_kind"]);
        assert_eq!(result[side]["plan"]["scenario"]["name"], "shop");
        assert!(result[side]["requests"].as_u64() > Some(50));
    }
}
