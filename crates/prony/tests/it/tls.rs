//! HTTPS from the command line: servers, certificates good and bad, what every report says.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, PKCS_ED25519, date_time_ymd,
};
use rustix::process::Signal;
use serde_json::Value;
use tempfile::TempDir;

use crate::binary::{ProgramOutput, prony};
use crate::servers::Served;

/// Files for one test.
struct Files(TempDir);

impl Files {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("the folder for temporary files can be written"))
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).to_str().expect("a plain name").to_owned()
    }

    fn write(&self, name: &str, text: &str) -> String {
        let path = self.path(name);
        fs::write(&path, text).expect("the folder can be written");
        path
    }

    fn json(&self, name: &str) -> Value {
        let text = fs::read_to_string(self.path(name)).expect("a result");
        serde_json::from_str(&text).expect("JSON")
    }
}

/// A server with a certificate of its own making, and the file of its authority.
fn serve(files: &Files, words: &[&str]) -> (Served, String) {
    let authority = files.path("ca.pem");
    let words = [words, &["--tls", "--tls-ca", &authority]].concat();
    let server = Served::start(&words);
    assert!(server.url.starts_with("https://127.0.0.1:"), "{}", server.url);
    (server, authority)
}

/// What a certificate is made of, where that is not as it should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    None,
    Expired,
    NotYetValid,
    WrongHost,
    SelfSigned,
    UnknownAuthority,
}

/// A server with a certificate of this kind; and the authority that a client trusts.
fn serve_with(files: &Files, fault: Fault) -> (Served, String) {
    let new = || KeyPair::generate().expect("a key");
    let authority = |name: &str| {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, name);
        CertifiedIssuer::self_signed(params, new()).expect("a certificate")
    };
    let (authority, other) = (authority("trusted"), authority("unknown"));
    let name = if fault == Fault::WrongHost { "elsewhere.example" } else { "127.0.0.1" };
    let mut leaf = CertificateParams::new(vec![name.to_owned()]).expect("a name");
    match fault {
        Fault::Expired => leaf.not_after = date_time_ymd(2001, 1, 1),
        Fault::NotYetValid => leaf.not_before = date_time_ymd(2999, 1, 1),
        _ => {}
    }
    let key = new();
    let certificate = match fault {
        Fault::SelfSigned => leaf.self_signed(&key),
        Fault::UnknownAuthority => leaf.signed_by(&key, &other),
        _ => leaf.signed_by(&key, &authority),
    };
    let certificate = files.write("cert.pem", &certificate.expect("a certificate").pem());
    let key = files.write("key.pem", &key.serialize_pem());
    let server = Served::start(&["null", "--tls-cert", &certificate, "--tls-key", &key]);
    (server, files.write("trusted.pem", &authority.pem()))
}

/// `text` without its line breaks and columns.
fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The number before ` what` in the last line of a server.
fn counted(line: &str, what: &str) -> u64 {
    let before = line.split(&format!(" {what}")).next().unwrap_or_default();
    let number = before.rsplit(' ').next().unwrap_or_default().replace(',', "");
    number.parse().unwrap_or_else(|_| panic!("`{what}` in {line}"))
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is a count"))
}

#[test]
fn a_run_reports_what_was_negotiated_and_the_server_agrees() {
    for version in ["1.2", "1.3"] {
        let files = Files::new();
        let (server, authority) = serve(&files, &["null"]);
        let json = files.path("run.json");
        let words = [
            &server.url,
            "-n",
            "40",
            "-c",
            "4",
            "--no-keepalive",
            "--cacert",
            &authority,
            "--tls",
            version,
            "--json",
            &json,
        ];
        let output = prony(&words);
        assert!(output.is_measured(), "{output:?}");
        let (negotiated, out) = (format!("TLS TLS {version}, TLS"), flat(&output.out));
        for part in ["SUCCESS 100 % 40 of 40 requests", &negotiated, "ECDSA P-256, verified", "handshake"] {
            assert!(out.contains(part), "{part}: {output:?}");
        }
        let result = files.json("run.json");
        let tls = &result["tls"];
        assert_eq!(tls["alpn"], "http/1.1");
        assert_eq!(tls["verified"], true);
        let (full, resumed) = (number(&tls["handshakes"]["full"]), number(&tls["handshakes"]["resumed"]));
        assert!(full >= 1 && resumed >= 20, "most connections resume: {tls}");
        assert_eq!(number(&tls["handshakes"]["failed"]), 0, "{tls}");
        let (_, err, _) = server.end(Signal::TERM);
        // One connection more than the load's: the one before it.
        let served = counted(&err, "TLS handshakes in full") + counted(&err, "resumed");
        assert_eq!(served, full + resumed + 1, "{err} {tls}");
        assert_eq!(counted(&err, "resumed"), resumed, "{err} {tls}");
        assert!(!err.contains("failed"), "{err}");
    }
}

#[test]
fn every_server_can_be_loaded_over_tls() {
    for words in [
        &["rudy", "--delay", "0"][..],
        &["rudy", "--model", "async", "--delay", "1ms"],
        &["bottleneck", "--workers", "2"],
        &["queue", "--service", "1ms"],
        &["dashboard"],
        &["express"],
        &["truth", "--delay", "const:1ms"],
    ] {
        let files = Files::new();
        let (server, authority) = serve(&files, words);
        let output = prony(&[&server.url, "-n", "20", "-c", "2", "--cacert", &authority]);
        assert!(output.is_measured() && output.out.contains("20 of 20 requests"), "{words:?} {output:?}");
    }
}

#[test]
fn a_server_without_a_named_file_says_where_its_authority_is() {
    let mut server = Served::start(&["null", "--tls"]);
    let (url, file) = (server.url.clone(), server.line().replace("trust it with --cacert ", ""));
    let file = file.trim_end();
    let output = prony(&[&url, "-n", "5", "--cacert", file]);
    assert!(output.is_measured(), "{output:?}");
    server.end(Signal::TERM);
    assert!(!Path::new(file).exists(), "{file}");
}

#[test]
fn insecure_is_in_every_report() {
    let files = Files::new();
    let (server, _) = serve_with(&files, Fault::SelfSigned);
    let load = [&server.url, "-n", "5", "-c", "1", "-k"];
    for (format, expected) in [
        ("text", "NOT VERIFIED (--insecure)"),
        ("markdown", "NOT VERIFIED (--insecure)"),
        ("json", "\"verified\": false"),
    ] {
        let output = prony(&[&load[..], &["-o", format]].concat());
        assert!(
            matches!(output.code, Some(0 | 3)) && flat(&output.out).contains(expected),
            "{format}: {output:?}"
        );
        assert!(output.out.contains("not-verified"), "{format}: {output:?}");
    }
    let probe = prony(&["probe", &server.url, "--insecure"]);
    assert_eq!(probe.code, Some(0), "{probe:?}");
    assert!(flat(&probe.out).contains("NOT VERIFIED (--insecure)"), "{probe:?}");
    for words in [&["ab", "-n", "5", "--insecure"][..], &["wrk", "-d", "1s", "-c", "1", "-t", "1", "-k"]] {
        let output = prony(&[words, &[server.url.as_str()]].concat());
        assert_eq!(output.code, Some(0), "{output:?}");
        assert!(flat(&output.err).contains("was not verified"), "{output:?}");
    }
}

#[test]
fn bad_certificates_are_named_with_what_to_do() {
    let check = |fault: Fault, what: &str, advice: &str| {
        let files = Files::new();
        let (server, authority) = serve_with(&files, fault);
        for command in ["run", "probe"] {
            let output = prony(&[command, &server.url, "--cacert", &authority]);
            assert_eq!(output.code, Some(4), "{fault:?} {output:?}");
            assert!(output.err.starts_with("error: no TLS connection to 127.0.0.1:"), "{output:?}");
            assert!(output.err.contains(what) && output.err.contains(advice), "{fault:?} {output:?}");
        }
        let output = prony(&["probe", &server.url, "--insecure"]);
        assert_eq!(output.code, Some(0), "{fault:?} {output:?}");
    };
    check(Fault::Expired, "has expired", "renew it");
    check(Fault::NotYetValid, "is not valid before 2999-01-01", "check the clocks");
    check(Fault::WrongHost, "is for elsewhere.example, not for 127.0.0.1", "--sni NAME");
    check(Fault::SelfSigned, "is self-signed", "--cacert FILE");
    check(Fault::UnknownAuthority, "is signed by an unknown authority", "--cacert FILE");
    let files = Files::new();
    let (server, authority) = serve_with(&files, Fault::None);
    let output = prony(&["probe", &server.url, "--cacert", &authority]);
    assert_eq!(output.code, Some(0), "{output:?}");
}

#[test]
fn another_name_can_be_asked_for() {
    let files = Files::new();
    let (server, authority) = serve_with(&files, Fault::WrongHost);
    let words = ["probe", &server.url, "--cacert", &authority, "--sni", "elsewhere.example"];
    let output = prony(&words);
    assert_eq!(output.code, Some(0), "{output:?}");
    assert!(flat(&output.out).contains("TLS for elsewhere.example"), "{output:?}");
}

#[test]
fn a_server_of_the_other_scheme_is_named() {
    let plain = Served::start(&["null"]);
    let https = plain.url.replace("http://", "https://");
    for words in [&["run"][..], &["probe"], &["ab"], &["wrk"]] {
        let output = prony(&[words, &[https.as_str()]].concat());
        assert_eq!(output.code, Some(4), "{words:?} {output:?}");
        assert!(output.err.contains("the server doesn't speak TLS on this port"), "{output:?}");
    }
    let files = Files::new();
    let (secure, _) = serve(&files, &["null"]);
    let http = secure.url.replace("https://", "http://");
    for words in [&["run", "-n", "3", "-c", "1"][..], &["probe"]] {
        let output = prony(&[words, &[http.as_str()]].concat());
        assert!(
            flat(&output.out).contains("the server speaks TLS on this port: try an https URL"),
            "{words:?} {output:?}"
        );
    }
}

#[test]
fn a_probe_shows_the_handshake_and_the_certificate() {
    let files = Files::new();
    let (server, authority) = serve(&files, &["rudy", "--delay", "0"]);
    let json = files.path("probe.json");
    let words = ["probe", &server.url, "--cacert", &authority, "--count", "3", "--json", &json, "-o", "text"];
    let output = prony(&words);
    assert_eq!(output.code, Some(0), "{output:?}");
    for part in ["TLS handshake", "TLS 1.3, TLS13_", "ECDSA P-256, verified, full handshake, ALPN http/1.1"] {
        assert!(flat(&output.out).contains(part), "{part}: {output:?}");
    }
    assert!(
        flat(&output.out).contains("for localhost, issued by Prony reference servers, valid until "),
        "{output:?}"
    );
    let result = files.json("probe.json");
    let requests = result["requests"].as_array().expect("a list");
    let resumed: Vec<bool> =
        requests.iter().filter_map(|request| request["tls"]["resumed"].as_bool()).collect();
    assert_eq!(resumed, [false, true, true]);
    for request in requests {
        let phases = &request["phases"];
        let of = |name: &str| phases[name].as_f64().unwrap_or_default();
        let sum: f64 =
            ["dns_ms", "connect_ms", "tls_ms", "send_ms", "server_ms", "transfer_ms"].map(of).iter().sum();
        assert!(of("tls_ms") > 0.0 && (sum - of("total_ms")).abs() < 1e-6, "{phases}");
    }
}

/// Each further connection, by the memory of the whole process: its session, and what it has of the peer's certificate.
#[test]
fn connections_are_small() {
    const BYTES_MAX: u64 = 40 * 1024;
    let files = Files::new();
    let (server, authority) = serve(&files, &["null"]);
    for (driver, version) in [("epoll", "1.3"), ("io_uring", "1.3"), ("epoll", "1.2")] {
        let peak = |connections: &str, requests: &str| {
            let words = ["run", &server.url, "--cacert", &authority, "--tls", version, "--driver", driver];
            let load = ["-c", connections, "-n", requests, "-t", "1", "-o", "json"];
            let output = prony(&[&words[..], &load].concat());
            assert!(matches!(output.code, Some(0 | 3)), "{output:?}");
            let result: Value = serde_json::from_str(&output.out).expect("JSON");
            assert_eq!(result["requests"]["failed"], 0, "{}", result["errors"]);
            number(&result["client"]["peak_rss_bytes"])
        };
        let each = peak("600", "12000").saturating_sub(peak("100", "2000")) / 500;
        assert!(each <= BYTES_MAX, "{driver}, TLS {version}: {each} bytes");
    }
}

#[test]
fn a_comparison_and_resumption_turned_off() {
    let files = Files::new();
    let (server, authority) = serve(&files, &["null"]);
    let words = [
        "compare",
        &server.url,
        &server.url,
        "--cacert",
        &authority,
        "--pairs",
        "6",
        "--block",
        "20ms",
        "--warmup",
        "0",
        "-c",
        "1",
    ];
    let output = prony(&words);
    assert!(matches!(output.code, Some(0 | 3)) && flat(&output.out).contains("trusting "), "{output:?}");
    let json = files.path("run.json");
    let words = [
        &server.url,
        "-n",
        "40",
        "-c",
        "2",
        "--no-keepalive",
        "--no-resumption",
        "--cacert",
        &authority,
        "--json",
        &json,
    ];
    let output = prony(&words);
    assert!(output.is_measured() && flat(&output.out).contains("without TLS resumption"), "{output:?}");
    let handshakes = &files.json("run.json")["tls"]["handshakes"];
    assert!(number(&handshakes["resumed"]) == 0 && number(&handshakes["full"]) >= 40, "{handshakes}");
}

#[test]
fn a_study_trusts_the_servers_that_it_starts() {
    let files = Files::new();
    let (server, _) = serve_with(&files, Fault::None);
    let study = files.write(
        "secure.toml",
        &format!(
            "name = \"secure\"\n\
             [targets.own]\nserve = \"null --tls\"\nready = {{ path = \"/\" }}\nprepare = [{{ path = \"/\" }}]\n\
             [targets.running]\nurl = \"{}\"\ntls = {{ cacert = \"trusted.pem\", version = \"{{version}}\" }}\n\
             [loads.short]\npath = \"/\"\nconnections = 1\nrequests = 20\n\
             [loads.one]\nkind = \"probe\"\npath = \"/\"\n\
             [matrix]\ntarget = [\"own\", \"running\"]\nload = [\"short\", \"one\"]\nversion = [\"1.2\", \"1.3\"]\n",
            server.url
        ),
    );
    let out = files.path("out");
    let output = prony(&["study", &study, "--output", &out]);
    assert!(matches!(output.code, Some(0 | 3)), "{output:?}");
    let runs: Vec<PathBuf> = fs::read_dir(files.0.path().join("out/runs"))
        .expect("results")
        .map(|entry| entry.expect("a name").path())
        .collect();
    assert!(runs.len() >= 4, "{runs:?}");
    for run in runs {
        let result: Value = serde_json::from_str(&fs::read_to_string(&run).expect("a result")).expect("JSON");
        let tls = if result["tls"].is_object() { &result["tls"] } else { &result["requests"][0]["tls"] };
        assert_eq!(tls["verified"], true, "{} {tls}", run.display());
    }
}

/// The commands of docs/tls.md, with the server's own port and a folder of this test's.
#[test]
fn the_examples_of_the_documentation_run() {
    const URL: &str = "https://localhost:3000/";
    let text = fs::read_to_string(crate::repository::root().join("docs/tls.md")).expect("it is there");
    let example = text.split("```sh\n").nth(1).and_then(|rest| rest.split("```").next()).expect("an example");
    let files = Files::new();
    let commands: Vec<Vec<String>> = example
        .lines()
        .map(|line| {
            let line = line.split('#').next().unwrap_or_default();
            let words = line.split_whitespace().skip(1);
            words.map(|word| if word == "ca.pem" { files.path(word) } else { word.to_owned() }).collect()
        })
        .collect();
    let (serve, load) = commands.split_first().expect("commands");
    assert_eq!(serve[0], "serve");
    let words: Vec<&str> = serve[1..].iter().map(String::as_str).collect();
    let server = Served::start(&words);
    let url = server.url.replace("127.0.0.1", "localhost");
    assert!(load.len() >= 7 && load.iter().all(|words| words.iter().any(|word| word == URL)), "{example}");
    for words in load {
        let words: Vec<&str> =
            words.iter().map(|word| if word == URL { &url } else { word.as_str() }).collect();
        let output = prony(&words);
        assert!(matches!(output.code, Some(0 | 3)), "{words:?} {output:?}");
    }
}

fn refused(words: &[&str], expected: &str) {
    let output: ProgramOutput = prony(words);
    assert_eq!((output.code, output.out.as_str()), (Some(2), ""), "{words:?} {output:?}");
    assert!(output.err.contains(expected), "{words:?}: `{expected}` in {output:?}");
}

#[test]
fn files_and_flags_that_can_not_be_used() {
    let files = Files::new();
    let (server, authority) = serve(&files, &["null"]);
    let url = server.url.as_str();
    let key = KeyPair::generate().expect("a key");
    let other = KeyPair::generate_for(&PKCS_ED25519).expect("a key");
    let certificate = CertificateParams::new(vec!["client".to_owned()]).expect("a name").self_signed(&key);
    let certificate = files.write("client.pem", &certificate.expect("a certificate").pem());
    let encrypted = key.serialize_pem().replace("PRIVATE KEY", "ENCRYPTED PRIVATE KEY");
    let encrypted = files.write("encrypted.pem", &encrypted);
    let other = files.write("other.pem", &other.serialize_pem());
    let garbage = files.write("garbage.pem", "garbage\n");
    let empty = files.write("empty.pem", "");
    for command in ["run", "probe"] {
        refused(&[command, url, "--cacert", "/no/such/file"], "in /no/such/file: No such file");
        for file in [&garbage, &empty] {
            refused(&[command, url, "--cacert", file], "name a PEM file with at least one certificate");
            refused(&[command, url, "--cacert", &authority, "--cert", file], "no client certificate in");
        }
        let with_key = |key: &str, expected: &str| {
            let words = [command, url, "--cacert", &authority, "--cert", &certificate, "--key", key];
            refused(&words, expected);
        };
        with_key("/no/such/file", "in /no/such/file: No such file");
        with_key(&garbage, "no usable key in");
        with_key(&other, "it is not the key of the certificate in");
        with_key(&encrypted, "without a password");
        refused(&[command, url, "--key", &other], "--key is the key of no certificate");
        refused(&[command, url, "-k", "--cacert", &authority], "leave out one of them");
        refused(&[command, url, "--sni", "a b"], "`a b` is not the name of a server");
        refused(&[command, url, "--tls", "1.1"], "1.1");
        refused(&[command, "http://h:1/", "--insecure"], "--insecure is for https, and http://h:1/ is not");
    }
    refused(&["serve", "null", "--tls-cert", &certificate], "--tls-key");
    refused(
        &["serve", "null", "--port", "0", "--tls-cert", &certificate, "--tls-key", &other],
        "it belongs to another certificate",
    );
    refused(&["serve", "null", "--port", "0", "--tls", "--tls-ca", "/no/such/folder/ca"], "can't write");
    let port = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    let https = format!("https://{}/", port.expect("a free port"));
    let output = prony(&["run", &https]);
    assert_eq!(output.code, Some(4), "{output:?}");
    assert!(output.err.contains("nothing answers at"), "{output:?}");
}
