//! HTTPS with servers that others have written.

use std::fs;
use std::process::{Command, Stdio};

use rcgen::{CertificateParams, KeyPair};
use serde_json::Value;

use crate::binary::prony;
use crate::peer::{Peer, free_port, in_folder, new_folder};

/// nginx with an RSA key and neither tickets nor a session cache; `None` where nginx or openssl is missing.
fn nginx_without_tickets() -> Option<Peer> {
    let what = "findings on TLS with nginx";
    let folder = new_folder();
    let path = |name: &str| in_folder(&folder, name);
    let made = Command::new("openssl")
        .args(["genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048", "-out", &path("key.pem")])
        .stderr(Stdio::null())
        .status();
    if !made.is_ok_and(|status| status.success()) {
        prony_testing::skip_without("openssl", what);
        return None;
    }
    let key = fs::read_to_string(path("key.pem")).expect("a key");
    let key = KeyPair::from_pem(&key).expect("a key of 2,048 bits");
    let certificate = CertificateParams::new(vec!["127.0.0.1".to_owned()]).expect("an address");
    let certificate = certificate.self_signed(&key).expect("a certificate");
    fs::write(path("cert.pem"), certificate.pem()).expect("the folder can be written");
    let port = free_port();
    let directives = format!(
        "server {{\nlisten 127.0.0.1:{port} ssl;\nssl_session_tickets off;\nssl_session_cache off;\nlocation / {{ \
         return 200 \"ok\"; }}\n}}\n"
    );
    Peer::nginx(what, folder, &directives, port)
}

#[test]
fn a_server_without_tickets_is_found_out() {
    let Some(server) = nginx_without_tickets() else { return };
    let url = format!("https://127.0.0.1:{}/", server.port);
    let (json, certificate) = (server.path("run.json"), server.path("cert.pem"));
    let words = [&url, "-n", "200", "-c", "4", "--no-keepalive", "--cacert", &certificate, "--json", &json];
    let output = prony(&words);
    assert!(output.is_measured(), "{output:?}");
    let out = output.out.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in ["RSA 2048, verified", "were reopened, and none resumed a session"] {
        assert!(out.contains(part), "{part}: {output:?}");
    }
    let result: Value = serde_json::from_str(&fs::read_to_string(&json).expect("a result")).expect("JSON");
    assert_eq!(result["tls"]["handshakes"]["resumed"], 0);
    assert_eq!(result["requests"]["done"], 200);
    let probe = prony(&["probe", &url, "--cacert", &certificate, "--count", "3", "--reuse"]);
    assert_eq!(probe.code, Some(0), "{probe:?}");
    assert!(
        probe.out.contains("on a connection used before") || probe.out.contains("TLS handshake"),
        "{probe:?}"
    );
}
