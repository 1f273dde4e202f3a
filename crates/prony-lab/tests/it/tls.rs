//! HTTPS, where the lab does it itself (S1, S5).

use std::path::{Path, PathBuf};
use std::process::Command;

use prony_lab::Lab;
use ureq::tls::{TlsConfig, TlsProvider};

use crate::front::{Front, options};

/// A certificate for localhost and its key, made by openssl(1).
fn certificate(folder: &Path) -> (PathBuf, PathBuf) {
    let (certificate, key) = (folder.join("certificate.pem"), folder.join("key.pem"));
    let made = Command::new("openssl")
        .args([
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:prime256v1",
            "-nodes",
            "-days",
            "2",
        ])
        .args(["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"])
        .arg("-keyout")
        .arg(&key)
        .arg("-out")
        .arg(&certificate)
        .output()
        .expect("openssl");
    assert!(made.status.success(), "{made:?}");
    (certificate, key)
}

#[test]
fn https_has_its_own_cookie_and_stays() {
    let folder = tempfile::tempdir().expect("a folder");
    let front = Front::with(|options| options.tls = Some(certificate(folder.path())));
    let tls = TlsConfig::builder().provider(TlsProvider::Rustls).disable_verification(true).build();
    let config = ureq::Agent::config_builder().tls_config(tls).http_status_as_error(false).max_redirects(0);
    let agent = ureq::Agent::new_with_config(config.max_redirects_will_error(false).build());
    let base = format!("https://{}", front.address);
    let link = front.lab.first_link().expect("a store").expect("nobody is there");
    let words = crate::front::PASSWORD;
    let reply = agent
        .post(format!("{base}{link}"))
        .header("Origin", &base)
        .send_form([("password", words), ("again", words)])
        .expect("an answer");
    assert_eq!(reply.status(), 303);
    let cookie = reply.headers()["set-cookie"].to_str().expect("ASCII");
    assert!(cookie.starts_with("__Host-prony-lab=") && cookie.contains("; Secure; "), "{cookie}");
    assert!(
        reply.headers()["strict-transport-security"]
            .to_str()
            .is_ok_and(|value| value.starts_with("max-age="))
    );
    let foreign = agent.post(format!("{base}/login")).header("Origin", format!("http://{}", front.address));
    assert_eq!(foreign.send_form([("name", "admin")]).expect("an answer").status(), 403, "http isn't https");
}

#[test]
fn elsewhere_only_with_tls() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut wide = options(folder.path());
    wide.listen = vec!["0.0.0.0:0".parse().unwrap()];
    let refused = Lab::open(wide.clone()).err().expect("refused").to_string();
    assert!(refused.contains("--tls-certificate"), "{refused}");
    wide.tls = Some((folder.path().join("none.pem"), folder.path().join("none.pem")));
    let lab = Lab::open(wide).expect("the place is good");
    let refused = prony_lab::serve(&lab).err().expect("no certificate").to_string();
    assert!(refused.contains("none.pem") && refused.contains("PEM"), "{refused}");
}
