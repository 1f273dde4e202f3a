//! What all connections to a server share: trust, versions, the client's own certificate.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustls::client::{ResolvesClientCert, Resumption, WebPkiServerVerifier};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::sign::CertifiedKey;
use rustls::version::{TLS12, TLS13};
use rustls::{ClientConfig, InconsistentKeys, RootCertStore, SignatureScheme, SupportedProtocolVersion};

use super::error::SetupError;
use super::sessions::Sessions;
use super::settings::{TlsSettings, Versions};
use super::verifier::{AcceptsAny, Strict};

/// Makes sessions. Clones share everything, also what may be resumed.
#[derive(Debug, Clone)]
pub struct TlsClient {
    pub(super) config: Arc<ClientConfig>,
    pub(super) name: ServerName<'static>,
    own: Arc<OwnCertificate>,
    resumption: bool,
}

impl TlsClient {
    /// Reads all files that `settings` name, or the system's certificates.
    pub fn new(settings: &TlsSettings) -> Result<Self, SetupError> {
        let provider = Arc::new(ring::default_provider());
        let name = ServerName::try_from(settings.server_name.clone())
            .map_err(|_| SetupError::ServerName(settings.server_name.clone()))?;
        let own = Arc::new(OwnCertificate::read(settings, &provider)?);
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(versions(settings.versions))
            .map_err(|error| SetupError::Config(error.to_string()))?
            .dangerous();
        let verified = if settings.insecure {
            builder.with_custom_certificate_verifier(Arc::new(AcceptsAny(provider)))
        } else {
            let trusted = Arc::new(trusted(settings)?);
            let verifier = WebPkiServerVerifier::builder_with_provider(trusted, provider)
                .build()
                .map_err(|error| SetupError::Config(error.to_string()))?;
            builder.with_custom_certificate_verifier(Arc::new(Strict(verifier)))
        };
        let mut config = verified.with_client_cert_resolver(Arc::clone(&own) as Arc<dyn ResolvesClientCert>);
        config.alpn_protocols = settings.protocols.iter().map(|protocol| protocol.to_vec()).collect();
        config.resumption = Resumption::disabled();
        let client = Self { config: Arc::new(config), name, own, resumption: settings.resumption };
        Ok(client.for_thread())
    }

    /// The same for one thread, which resumes its own sessions only: threads share no lock.
    #[must_use]
    pub fn for_thread(&self) -> Self {
        let mut config = ClientConfig::clone(&self.config);
        if self.resumption {
            config.resumption = Resumption::store(Arc::new(Sessions::new()));
        }
        Self { config: Arc::new(config), ..self.clone() }
    }

    /// Whether a server has demanded a client certificate that is not there.
    pub fn lacks_certificate(&self) -> bool {
        self.own.key.is_none() && self.own.was_demanded.load(Ordering::Relaxed)
    }
}

fn versions(versions: Versions) -> &'static [&'static SupportedProtocolVersion] {
    static BOTH: [&SupportedProtocolVersion; 2] = [&TLS13, &TLS12];
    match versions {
        Versions::Any => &BOTH,
        Versions::Tls12 => &BOTH[1..],
        Versions::Tls13 => &BOTH[..1],
    }
}

/// The certificates to trust.
fn trusted(settings: &TlsSettings) -> Result<RootCertStore, SetupError> {
    let mut store = RootCertStore::empty();
    for path in &settings.ca_files {
        let failed = |why: String| SetupError::CaFile { path: path.clone(), why };
        for certificate in certificates(path).map_err(failed)? {
            store.add(certificate).map_err(|error| failed(error.to_string()))?;
        }
    }
    if settings.ca_files.is_empty() {
        let found = rustls_native_certs::load_native_certs();
        // A few that can't be read are of no concern: systems carry old ones.
        let (added, _) = store.add_parsable_certificates(found.certs);
        if added == 0 {
            let why = found.errors.first().map_or_else(|| "none was found".to_owned(), ToString::to_string);
            return Err(SetupError::NoSystemRoots(why));
        }
    }
    Ok(store)
}

/// All certificates in a PEM file, at least one; or why there are none.
fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let found: Vec<_> =
        CertificateDer::pem_file_iter(path).and_then(Iterator::collect).map_err(|error| plain(&error))?;
    if found.is_empty() { Err("it holds no certificate in PEM".to_owned()) } else { Ok(found) }
}

fn plain(error: &rustls::pki_types::pem::Error) -> String {
    match error {
        rustls::pki_types::pem::Error::Io(error) => error.to_string(),
        rustls::pki_types::pem::Error::NoItemsFound => "it holds none in PEM".to_owned(),
        other => format!("it is not PEM ({other:?})"),
    }
}

/// The client's certificate, if it has one, and whether a server has demanded one.
struct OwnCertificate {
    key: Option<Arc<CertifiedKey>>,
    was_demanded: AtomicBool,
}

impl OwnCertificate {
    fn read(settings: &TlsSettings, provider: &CryptoProvider) -> Result<Self, SetupError> {
        let read = |(chain_file, key_file): &(PathBuf, PathBuf)| {
            let chain = certificates(chain_file)
                .map_err(|why| SetupError::ClientCertificate { path: chain_file.clone(), why })?;
            let failed = |why: String| SetupError::ClientKey { path: key_file.clone(), why };
            let key = PrivateKeyDer::from_pem_file(key_file).map_err(|error| failed(plain(&error)))?;
            let key = CertifiedKey::from_der(chain, key, provider).map_err(|error| match error {
                rustls::Error::InconsistentKeys(InconsistentKeys::KeyMismatch) => {
                    failed(format!("it is not the key of the certificate in {}", chain_file.display()))
                }
                error => failed(error.to_string()),
            })?;
            Ok(Arc::new(key))
        };
        let key = settings.client_certificate.as_ref().map(read).transpose()?;
        Ok(Self { key, was_demanded: AtomicBool::new(false) })
    }
}

impl std::fmt::Debug for OwnCertificate {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("OwnCertificate").finish_non_exhaustive()
    }
}

impl ResolvesClientCert for OwnCertificate {
    fn resolve(&self, _: &[&[u8]], _: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        self.was_demanded.store(true, Ordering::Relaxed);
        self.key.clone()
    }

    /// rustls asks [`Self::resolve`] only where this is true; without a key an empty answer goes out all the same.
    fn has_certs(&self) -> bool {
        true
    }
}
