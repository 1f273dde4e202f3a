//! HTTP/2 with servers that others have written: Node, Go and nginx.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rcgen::{CertificateParams, KeyPair};
use serde_json::Value;

use crate::binary::prony;
use crate::peer::{Peer, free_port, new_folder};

pub(crate) const DRIVERS: [&str; 2] = ["epoll", "io_uring"];

/// Node's server, on a free port, which it prints: `hello`, the length of a body, or the body `x` as often as the path says.
/// With a certificate and its key as arguments over TLS.
const NODE: &str = r#"
const http2 = require("http2"), fs = require("fs");
const [certificate, key] = process.argv.slice(1);
const server = certificate
  ? http2.createSecureServer({ cert: fs.readFileSync(certificate), key: fs.readFileSync(key) })
  : http2.createServer();
server.on("stream", (stream, head) => {
  stream.on("error", () => {});
  let bytes = 0;
  stream.on("data", (piece) => { bytes += piece.length; });
  stream.on("end", () => {
    if (stream.destroyed) return;
    stream.respond({ ":status": 200, "content-type": "text/plain" });
    const count = Number(head[":path"].slice(1));
    stream.end(head[":method"] === "POST" ? String(bytes) : count ? "x".repeat(count) : "hello");
  });
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
"#;

/// Go's server, as Node's, with and without TLS on the same terms.
const GO: &str = r#"package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
)

func main() {
	protocols := new(http.Protocols)
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(true)
	handler := func(writer http.ResponseWriter, request *http.Request) {
		bytes, _ := io.Copy(io.Discard, request.Body)
		if request.Method == "POST" {
			fmt.Fprint(writer, bytes)
		} else if count, _ := strconv.Atoi(request.URL.Path[1:]); count > 0 {
			io.WriteString(writer, strings.Repeat("x", count))
		} else {
			io.WriteString(writer, "hello")
		}
	}
	server := http.Server{Handler: http.HandlerFunc(handler), Protocols: protocols}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	if len(os.Args) > 2 {
		panic(server.ServeTLS(listener, os.Args[1], os.Args[2]))
	}
	panic(server.Serve(listener))
}
"#;

fn node(over_tls: bool) -> Option<Peer> {
    let folder = folder(over_tls);
    let mut command = Command::new("node");
    command.args(["-e", NODE]).args(certificate(&folder, over_tls));
    Peer::start("node", "HTTP/2 with node", folder, command)
}

/// Go's server as a program in `folder`; `None`, with the reason, where there is no Go.
fn built_go(folder: &Path) -> Option<PathBuf> {
    fs::write(folder.join("main.go"), GO).expect("the folder can be written");
    let built = Command::new("go")
        .args(["build", "-o", "server", "main.go"])
        .current_dir(folder)
        .env("GOFLAGS", "-mod=mod")
        .stdin(Stdio::null())
        .status();
    if !built.is_ok_and(|status| status.success()) {
        prony_testing::skip_without("go", "HTTP/2 with go");
        return None;
    }
    Some(folder.join("server"))
}

fn go(program: &Path, over_tls: bool) -> Option<Peer> {
    let folder = folder(over_tls);
    let mut command = Command::new(program);
    command.args(certificate(&folder, over_tls));
    Peer::start("go", "HTTP/2 with go", folder, command)
}

/// A folder, with a certificate in it where it is needed.
pub(crate) fn folder(over_tls: bool) -> tempfile::TempDir {
    let folder = new_folder();
    if over_tls {
        let key = KeyPair::generate().expect("a key");
        let certificate = CertificateParams::new(vec!["127.0.0.1".to_owned()]).expect("an address");
        let certificate = certificate.self_signed(&key).expect("a certificate");
        fs::write(folder.path().join("cert.pem"), certificate.pem()).expect("the folder can be written");
        fs::write(folder.path().join("key.pem"), key.serialize_pem()).expect("the folder can be written");
    }
    folder
}

pub(crate) fn certificate(folder: &tempfile::TempDir, over_tls: bool) -> Vec<PathBuf> {
    let names: &[&str] = if over_tls { &["cert.pem", "key.pem"] } else { &[] };
    names.iter().map(|name| folder.path().join(name)).collect()
}

/// The stored result of `prony run` with these words.
fn run(peer: &Peer, words: &[&str]) -> Value {
    let json = peer.path("run.json");
    let words: Vec<&str> = [&["run"][..], words, &["-q", "--force", "--json", &json]].concat();
    let output = prony(&words);
    assert!(output.is_measured(), "{words:?} {output:?}");
    serde_json::from_str(&fs::read_to_string(&json).expect("a result")).expect("JSON")
}

/// Closed and open loops, large bodies both ways, with both drivers.
fn check(peer: &Peer, over_tls: bool) {
    let scheme = if over_tls { "https" } else { "http" };
    let url = |path: &str| format!("{scheme}://127.0.0.1:{}/{path}", peer.port);
    let how: &[&str] = if over_tls { &["--http2", "--insecure"] } else { &["--http2-prior-knowledge"] };
    let big = peer.path("big");
    fs::write(&big, vec![b'x'; 300_000]).expect("the folder can be written");
    for driver in DRIVERS {
        let done = |url: &str, words: &[&str], count: u64| {
            let result = run(peer, &[&[url, "--driver", driver][..], how, words].concat());
            assert_eq!(result["requests"]["done"], count, "{words:?} {}", result["errors"]);
            assert_eq!(result["plan"]["request"]["version"], "HTTP/2");
            assert_eq!(result["tls"]["alpn"] == "h2", over_tls);
            result
        };
        done(&url(""), &["-c", "4", "--streams", "10", "-n", "2000", "--expect-body", "hello"], 2000);
        done(&url(""), &["--rate", "400", "-n", "200", "--warmup", "0s", "-c", "3", "--streams", "5"], 200);
        let result =
            done(&url("300000"), &["-c", "2", "--streams", "4", "-n", "40", "--expect-length", "same"], 40);
        assert_eq!(result["bytes"]["body_received"], 40 * 300_000);
        let post = ["-c", "2", "--streams", "4", "-n", "40", "--body-file", &big, "--expect-body", "300000"];
        done(&url(""), &post, 40);
    }
    // curl's own options say the same.
    let curl = format!("curl {} {}", if over_tls { "--http2" } else { "--http2-prior-knowledge" }, url(""));
    let insecure: &[&str] = if over_tls { &["--insecure"] } else { &[] };
    let result = run(peer, &[&["--curl", &curl, "-c", "2", "-n", "20"][..], insecure].concat());
    assert_eq!(
        (&result["plan"]["request"]["version"], &result["requests"]["done"]),
        (&"HTTP/2".into(), &20.into())
    );
    let probe = prony(&[&["probe", &url("300000"), "--count", "3", "--reuse"][..], how].concat());
    assert_eq!(probe.code, Some(0), "{probe:?}");
    assert!(probe.out.contains("HTTP/2"), "{probe:?}");
    let post = prony(&[&["probe", &url(""), "--body-file", &big][..], how].concat());
    assert_eq!(post.code, Some(0), "{post:?}");
}

#[test]
fn node_without_tls() {
    if let Some(peer) = node(false) {
        check(&peer, false);
    }
}

#[test]
fn node_over_tls() {
    if let Some(peer) = node(true) {
        check(&peer, true);
    }
}

/// Both at once: where nothing was built before, its compiler takes longer than all of this.
#[test]
fn go_with_and_without_tls() {
    let folder = new_folder();
    let Some(program) = built_go(folder.path()) else { return };
    for over_tls in [false, true] {
        let peer = go(&program, over_tls).expect("it was built");
        check(&peer, over_tls);
    }
}

/// nginx ends each connection after so many requests, with those in flight left out: none of them fails.
#[test]
fn nginx_with_and_without_tls() {
    let ports: [u16; 3] = std::array::from_fn(|_| free_port());
    let server = |listen: &str, more: &str| {
        format!("server {{ listen 127.0.0.1:{listen}; {more} location / {{ return 200 \"ok\"; }} }}\n")
    };
    let servers = [
        server(&format!("{} ssl http2", ports[0]), ""),
        server(&format!("{} http2", ports[1]), "http2_max_concurrent_streams 4;"),
        server(&format!("{} ssl", ports[2]), ""),
    ];
    let directives = format!("keepalive_requests 50;\n{}", servers.concat());
    let Some(peer) = Peer::nginx("HTTP/2 with nginx", folder(true), &directives, ports[0]) else { return };
    let (secure, plain) =
        (format!("https://127.0.0.1:{}/", ports[0]), format!("http://127.0.0.1:{}/", ports[1]));
    for driver in DRIVERS {
        for (url, how) in [(&secure, &["--http2", "--insecure"][..]), (&plain, &["--http2-prior-knowledge"])]
        {
            let words =
                [url, "--driver", driver, "-c", "3", "--streams", "10", "-n", "3000", "--expect-body", "ok"];
            let result = run(&peer, &[&words[..], how].concat());
            assert_eq!(result["requests"]["done"], 3000, "{}", result["errors"]);
            assert!(result["http2"]["went_away"].as_u64() >= Some(50), "{}", result["http2"]);
            let is_limited = result["http2"]["stream_limit"] == 4;
            let findings = result["findings"].as_array().expect("a list");
            let is_found = findings.iter().any(|finding| finding["code"] == "stream-limit");
            assert_eq!((is_limited, is_found), (url == &plain, url == &plain), "{}", result["http2"]);
        }
    }
    let refused = |words: &[&str], expected: &str| {
        for command in ["run", "probe"] {
            let output = prony(&[&[command][..], words].concat());
            assert_eq!(output.code, Some(4), "{words:?} {output:?}");
            assert!(output.err.contains(expected), "{words:?}: {output:?}");
        }
    };
    refused(&[&format!("https://127.0.0.1:{}/", ports[2]), "--http2", "-k"], "no HTTP/2 at");
}

#[test]
fn contradictions_are_refused() {
    let refused = |words: &[&str], expected: &str| {
        let output = prony(words);
        assert_eq!((output.code, output.out.as_str()), (Some(2), ""), "{words:?} {output:?}");
        assert!(output.err.contains(expected), "{words:?}: `{expected}` in {output:?}");
    };
    let [http, https] = ["http://127.0.0.1:1/", "https://127.0.0.1:1/"];
    for command in ["run", "probe"] {
        refused(&[command, http, "--http2"], "--http2 is negotiated in the TLS handshake");
        refused(&[command, https, "--http2-prior-knowledge"], "--http2-prior-knowledge is for http");
        refused(&[command, https, "--http2", "--http1.0"], "two versions of HTTP");
        refused(&[command, https, "--http2", "-H", "Connection: close"], "the request can't be sent");
    }
    refused(&["run", https, "--streams", "2"], "add --http2, or use --pipeline");
    refused(&["run", https, "--http2", "--pipeline", "2"], "use --streams");
    refused(&["run", https, "--http2", "--streams", "1025"], "use 1 to 1024");
    refused(&["run", https, "--http2", "--streams", "0"], "0");
    refused(&["run", https, "--http2", "--streams", "2", "--no-keepalive"], "leave out --no-keepalive");
}

/// Each further connection with ten streams, by the memory of the whole process.
#[test]
fn connections_with_ten_streams_are_small() {
    const BYTES_MAX: u64 = 30 * 1024;
    let Some(peer) = node(false) else { return };
    let url = format!("http://127.0.0.1:{}/", peer.port);
    for driver in DRIVERS {
        let peak = |connections: &str, requests: &str| {
            let words =
                [&url, "--http2-prior-knowledge", "--streams", "10", "-c", connections, "-n", requests];
            let result = run(&peer, &[&words[..], &["--driver", driver]].concat());
            assert_eq!(result["requests"]["failed"], 0, "{}", result["errors"]);
            result["client"]["peak_rss_bytes"].as_u64().expect("Linux says it")
        };
        let each = peak("600", "12000").saturating_sub(peak("100", "2000")) / 500;
        assert!(each <= BYTES_MAX, "{driver}: {each} bytes");
    }
}

/// The commands of docs/http2.md, with the server's own port.
#[test]
fn the_examples_of_the_documentation_run() {
    const ADDRESS: &str = "127.0.0.1:3000";
    let text = fs::read_to_string(crate::repository::root().join("docs/http2.md")).expect("it is there");
    let example = text.split("```sh\n").nth(1).and_then(|rest| rest.split("```").next()).expect("an example");
    let (serve, load) = example.split_once('\n').expect("commands");
    let script = serve.split('\'').nth(1).expect("a script in quotes");
    let script = format!(
        "const server = {}.listen(0, \"127.0.0.1\", () => console.log(server.address().port))",
        script.rsplit_once(".listen(").expect("it listens").0
    );
    let mut command = Command::new("node");
    command.args(["-e", &script]);
    let Some(peer) = Peer::start("node", "HTTP/2 with node", folder(false), command) else { return };
    let own = format!("127.0.0.1:{}", peer.port);
    let commands: Vec<Vec<String>> = load
        .lines()
        .map(|line| line.split_whitespace().skip(1).map(|word| word.replace(ADDRESS, &own)).collect())
        .collect();
    assert!(commands.len() >= 4, "{example}");
    for words in commands {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let output = prony(&words);
        assert!(matches!(output.code, Some(0 | 3)), "{words:?} {output:?}");
    }
}

/// A study's key is the same for both schemes.
#[test]
fn a_study_speaks_it_by_its_targets_urls() {
    let (Some(plain), Some(secure)) = (node(false), node(true)) else { return };
    let study = plain.path("study.toml");
    let text = format!(
        "name = \"two\"\n[targets.plain]\nurl = \"http://127.0.0.1:{}\"\n\
         [targets.secure]\nurl = \"https://127.0.0.1:{}\"\ntls = {{ insecure = true }}\n\
         [loads.short]\npath = \"/\"\nconnections = 2\nstreams = 5\nhttp2 = true\nrequests = 50\n\
         [loads.one]\nkind = \"probe\"\npath = \"/\"\nhttp2 = true\n",
        plain.port, secure.port
    );
    fs::write(&study, text).expect("the folder can be written");
    let out = plain.path("out");
    let output = prony(&["study", &study, "--output", &out]);
    assert!(matches!(output.code, Some(0 | 3)), "{output:?}");
    let runs = fs::read_dir(format!("{out}/runs")).expect("results");
    let versions: Vec<Value> = runs
        .map(|run| fs::read_to_string(run.expect("a name").path()).expect("a result"))
        .map(|text| serde_json::from_str::<Value>(&text).expect("JSON")["plan"]["request"]["version"].clone())
        .collect();
    assert!(versions.len() >= 4 && versions.iter().all(|version| version == "HTTP/2"), "{versions:?}");
}
