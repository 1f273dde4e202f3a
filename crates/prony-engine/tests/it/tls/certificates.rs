//! What is verified, and the errors about what is refused.

use std::path::PathBuf;

use prony_model::{ClientCertificate, ErrorKind, RunPlan};
use rustls::version::{TLS12, TLS13};

use super::{config, config_of, file, trusting, with};
use crate::plans::{failures, refused, requests, run};
use crate::server::{Peer, Server, ok};

fn serve(peer: &mut Peer) {
    while peer.request().is_some() && peer.answer(&ok("hello")) {}
}

on_both_drivers! {
    fn bad_certificates_end_a_run_before_it_begins(driver) {
        let check = |certificate: &str, expected: &[&str]| {
            let server = Server::over_tls(config(certificate), serve);
            let error = refused(driver, trusting(server.url())).to_string();
            for words in expected {
                assert!(error.contains(words), "{certificate}: {error}");
            }
            assert_eq!(server.requests(), 0);
            // Anyone who wants to can load it all the same, and the result says so.
            let plan = with(server.url(), |options| options.insecure = true);
            let result = run(driver, RunPlan { end: requests(5), ..plan });
            assert_eq!(result.requests.done, 5, "{:?}", result.errors);
            assert!(!result.tls.expect("TLS was used").verified);
        };
        check("expired", &["has expired, on 2020-01-02T00:00:00Z", "insecure"]);
        check("future", &["is not valid before 2999-01-01T00:00:00Z", "clocks"]);
        check("other-host", &["is for example.org, www.example.org, not for 127.0.0.1", "sni"]);
        check("unknown-ca", &["is signed by an unknown authority", "cacert", "insecure"]);
        check("self-signed", &["is self-signed", "cacert"]);
    }

    fn the_systems_certificates_are_not_the_tests(driver) {
        let server = Server::over_tls(config("server"), serve);
        let plan = with(server.url(), |options| options.ca_files.clear());
        let error = refused(driver, plan).to_string();
        let expected = ["is signed by an unknown authority", "the system has no certificates to trust"];
        assert!(expected.iter().any(|words| error.contains(words)), "{error}");
    }

    fn a_self_signed_certificate_can_be_trusted(driver) {
        let server = Server::over_tls(config("self-signed"), serve);
        let plan = with(server.url(), |options| options.ca_files = vec![file("self-signed.pem")]);
        assert_eq!(run(driver, plan).requests.done, 1);
    }

    fn another_name_can_be_asked_for(driver) {
        let server = Server::over_tls(config("other-host"), serve);
        let plan = with(server.url(), |options| options.server_name = Some("www.example.org".to_owned()));
        let result = run(driver, plan);
        assert_eq!(result.requests.done, 1);
        assert!(result.tls.expect("TLS was used").verified);
        let plan = with(server.url(), |options| options.server_name = Some("not a name".to_owned()));
        assert!(refused(driver, plan).to_string().contains("`not a name` is not a host name"));
    }

    fn a_client_certificate_is_demanded(driver) {
        for version in [&TLS12, &TLS13] {
            let server = Server::over_tls(config_of("server", &[version], true), serve);
            let error = refused(driver, trusting(server.url())).to_string();
            let expected = ["demands a client certificate", "may want a client certificate"];
            assert!(expected.iter().any(|words| error.contains(words)), "{version:?} {error}");
            assert!(error.contains("cert"), "{error}");
            let own = ClientCertificate { chain: file("client.pem"), key: file("client.pem") };
            let plan = with(server.url(), |options| options.client_certificate = Some(own));
            let result = run(driver, RunPlan { end: requests(20), ..plan });
            assert_eq!(result.requests.done, 20, "{:?}", result.errors);
        }
    }

    fn versions_without_a_common_one(driver) {
        let server = Server::over_tls(config_of("server", &[&TLS12], false), serve);
        let plan = with(server.url(), |options| options.versions = prony_model::TlsVersions::Tls13);
        let error = refused(driver, plan).to_string();
        assert!(error.contains("none of the TLS versions"), "{error}");
    }

    fn a_server_without_http_1(driver) {
        let mut config = config("server");
        config.alpn_protocols = vec![b"h2".to_vec()];
        let server = Server::over_tls(config, serve);
        let error = refused(driver, trusting(server.url())).to_string();
        assert!(error.contains("no_application_protocol"), "{error}");
    }

    fn a_certificate_that_is_bad_only_once_the_load_is_on(driver) {
        let state = std::sync::Arc::new(Changing::default());
        let mut config = config("server");
        config.cert_resolver = state;
        let server = Server::over_tls(config, serve);
        let plan = with(server.url(), |options| options.resumption = false);
        let result = run(driver, RunPlan { end: requests(3), ..plan });
        let failed = failures(&result, ErrorKind::Certificate);
        assert_eq!((failed.count, failed.first_example.as_str()), (3, "the server's certificate has expired"));
    }
}

/// Shows a good certificate first and an expired one from then on.
#[derive(Debug, Default)]
struct Changing {
    shown: std::sync::atomic::AtomicU64,
}

impl rustls::server::ResolvesServerCert for Changing {
    fn resolve(
        &self,
        _: rustls::server::ClientHello<'_>,
    ) -> Option<std::sync::Arc<rustls::sign::CertifiedKey>> {
        use rustls::pki_types::pem::PemObject as _;
        let first = self.shown.fetch_add(1, std::sync::atomic::Ordering::SeqCst) == 0;
        let path = file(if first { "server.pem" } else { "expired.pem" });
        let certificate = rustls::pki_types::CertificateDer::from_pem_file(&path).expect("a certificate");
        let key = rustls::pki_types::PrivateKeyDer::from_pem_file(&path).expect("a key");
        let provider = rustls::crypto::ring::default_provider();
        rustls::sign::CertifiedKey::from_der(vec![certificate], key, &provider).ok().map(std::sync::Arc::new)
    }
}

/// Files that are not what they should be are named before anything is connected to.
#[test]
fn files_that_can_not_be_used() {
    let check = |change: &dyn Fn(&mut prony_model::TlsOptions), expected: &str| {
        let plan = with("https://127.0.0.1:1/", change);
        let error = refused(prony_model::DriverChoice::Epoll, plan).to_string();
        assert!(error.contains(expected), "{error}");
    };
    let own = |chain: PathBuf, key: PathBuf| Some(ClientCertificate { chain, key });
    check(
        &|options| options.ca_files = vec!["/nothing/here.pem".into()],
        "no certificates to trust in /nothing",
    );
    check(&|options| options.ca_files = vec![file("make")], "it holds no certificate in PEM");
    check(
        &|options| options.client_certificate = own(file("make"), file("make")),
        "no client certificate in ",
    );
    check(
        &|options| options.client_certificate = own(file("client.pem"), file("ca.pem")),
        "no usable key in ",
    );
    check(
        &|options| options.client_certificate = own(file("client.pem"), file("server.pem")),
        "it is not the key of the certificate",
    );
}
