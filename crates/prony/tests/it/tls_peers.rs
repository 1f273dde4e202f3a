//! HTTPS with servers that others have written.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rcgen::{CertificateParams, KeyPair};
use serde_json::Value;

use crate::binary::prony;

/// nginx with an RSA key and neither tickets nor a session cache.
struct Nginx {
    process: Child,
    url: String,
    folder: tempfile::TempDir,
}

impl Nginx {
    /// `None` where nginx or openssl is missing.
    fn start() -> Option<Self> {
        let what = "findings on TLS with nginx";
        let folder = tempfile::tempdir().expect("the folder for temporary files can be written");
        let path = |name: &str| folder.path().join(name).to_str().expect("a plain name").to_owned();
        let made = Command::new("openssl")
            .args([
                "genpkey",
                "-algorithm",
                "RSA",
                "-pkeyopt",
                "rsa_keygen_bits:2048",
                "-out",
                &path("key.pem"),
            ])
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
        let port = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
        let port = port.expect("a free port").port();
        let places = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
        let places = places.map(|name| format!("{name}_temp_path {};\n", path(name))).concat();
        let configuration = format!(
            "daemon off;\nmaster_process off;\npid {};\nerror_log stderr;\nevents {{}}\nhttp {{\naccess_log off;\n\
             {places}server {{\nlisten 127.0.0.1:{port} ssl;\nssl_certificate {};\nssl_certificate_key {};\n\
             ssl_session_tickets off;\nssl_session_cache off;\nlocation / {{ return 200 \"ok\"; }}\n}}\n}}\n",
            path("pid"),
            path("cert.pem"),
            path("key.pem")
        );
        fs::write(path("nginx.conf"), configuration).expect("the folder can be written");
        let process = Command::new("nginx")
            .args(["-p", &path(""), "-c", &path("nginx.conf"), "-e", "stderr"])
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let Ok(mut process) = process else {
            prony_testing::skip_without("nginx", what);
            return None;
        };
        let address = format!("127.0.0.1:{port}");
        while TcpStream::connect_timeout(&address.parse().expect("an address"), Duration::from_secs(1))
            .is_err()
        {
            let ended = process.try_wait().expect("it is ours");
            assert!(ended.is_none(), "nginx ended: {ended:?}");
            std::thread::yield_now();
        }
        Some(Self { process, url: format!("https://{address}/"), folder })
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).to_str().expect("a plain name").to_owned()
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn a_server_without_tickets_is_found_out() {
    let Some(server) = Nginx::start() else { return };
    let (json, certificate) = (server.path("run.json"), server.path("cert.pem"));
    let words =
        [&server.url, "-n", "200", "-c", "4", "--no-keepalive", "--cacert", &certificate, "--json", &json];
    let output = prony(&words);
    assert!(output.is_measured(), "{output:?}");
    let out = output.out.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in ["RSA 2048, verified", "were opened anew, and none resumed a session"] {
        assert!(out.contains(part), "{part}: {output:?}");
    }
    let result: Value = serde_json::from_str(&fs::read_to_string(&json).expect("a result")).expect("JSON");
    assert_eq!(result["tls"]["handshakes"]["resumed"], 0);
    assert_eq!(result["requests"]["done"], 200);
    let probe = prony(&["probe", &server.url, "--cacert", &certificate, "--count", "3", "--reuse"]);
    assert_eq!(probe.code, Some(0), "{probe:?}");
    assert!(
        probe.out.contains("on a connection used before") || probe.out.contains("TLS handshake"),
        "{probe:?}"
    );
}
