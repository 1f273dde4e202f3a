//! Servers over TLS: rustls on the other side, with certificates that are valid until 2999 (`certificates/make`).

mod broken;
mod certificates;
mod load;
mod truth;

use std::path::PathBuf;
use std::sync::Arc;

use prony_model::{RunPlan, TlsOptions, TlsVersions};
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::version::{TLS12, TLS13};
use rustls::{RootCertStore, ServerConfig, SupportedProtocolVersion};

use crate::plans::plan;

/// A file of `certificates/`.
pub(crate) fn file(name: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "tests/certificates", name].iter().collect()
}

/// A server that shows the certificate `name`.
pub(crate) fn config(name: &str) -> ServerConfig {
    config_of(name, &[&TLS13, &TLS12], false)
}

/// The same for these versions; `demands`: with a certificate of the client's.
pub(crate) fn config_of(
    name: &str,
    versions: &[&'static SupportedProtocolVersion],
    demands: bool,
) -> ServerConfig {
    let path = file(&format!("{name}.pem"));
    let provider = Arc::new(ring::default_provider());
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(versions)
        .expect("versions that there are");
    let builder = if demands {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_file(file("ca.pem")).expect("a certificate")).expect("a CA");
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
        builder.with_client_cert_verifier(verifier.build().expect("a verifier"))
    } else {
        builder.with_no_client_auth()
    };
    let chain = CertificateDer::pem_file_iter(&path).expect("a file").map(|one| one.expect("PEM")).collect();
    let key = PrivateKeyDer::from_pem_file(&path).expect("a key");
    let mut config = builder.with_single_cert(chain, key).expect("a key of the certificate");
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    config
}

/// One GET of `url`, which trusts the tests' CA.
pub(crate) fn trusting(url: &str) -> RunPlan {
    with(url, |_| {})
}

/// The same with other options.
pub(crate) fn with(url: &str, change: impl FnOnce(&mut TlsOptions)) -> RunPlan {
    let mut plan = plan(url);
    let mut options = TlsOptions { ca_files: vec![file("ca.pem")], ..TlsOptions::default() };
    change(&mut options);
    plan.target.tls = plan.target.tls.map(|_| options);
    plan
}

/// The plan's versions, and what a server of these speaks.
pub(crate) const VERSIONS: [(TlsVersions, &str); 2] =
    [(TlsVersions::Tls12, "TLS 1.2"), (TlsVersions::Tls13, "TLS 1.3")];
