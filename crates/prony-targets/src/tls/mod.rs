//! TLS for the reference servers, by rustls: TLS 1.2 and 1.3, tickets for resumption, no early data.
//!
//! It stands between a server's loop and its sockets: a `Socket` receives and sends like one of the kernel, with the
//! kernel's errors, so that the loops are the same with and without TLS. It shares nothing with the client's TLS but
//! rustls itself: what a client reports about handshakes can be held against [`Tls::handshakes`].

mod certificate;
mod socket;

use std::fs::File;
use std::io::Read as _;
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{DEFAULT_VERSIONS, HandshakeKind, InconsistentKeys, ServerConfig, ServerConnection};

pub(crate) use socket::Socket;

use crate::StartError;

/// The longest file with certificates or a key: a bundle of all public authorities has 200 KiB.
const FILE_BYTES_MAX: u64 = 1024 * 1024;

/// What a server needs for TLS. Clones share their counters.
#[derive(Debug, Clone)]
pub struct Tls {
    config: Arc<ServerConfig>,
    counters: Arc<HandshakeCounters>,
}

/// A certificate of this process's own making.
#[derive(Debug)]
pub struct SelfSigned {
    /// What the server needs.
    pub tls: Tls,
    /// The authority that signed it, in PEM: what a client trusts to verify the server.
    pub authority_pem: String,
}

/// Handshakes that a server has ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Handshakes {
    /// With a certificate and a signature.
    pub full: u64,
    /// With the ticket of an earlier connection.
    pub resumed: u64,
    /// Given up by either side.
    pub failed: u64,
}

#[derive(Debug, Default)]
struct HandshakeCounters {
    full: AtomicU64,
    resumed: AtomicU64,
    failed: AtomicU64,
}

impl Tls {
    /// A new certificate for localhost, 127.0.0.1, ::1 and `listen`, valid for some weeks, signed by a new authority,
    /// whose key is forgotten.
    pub fn self_signed(listen: IpAddr) -> Result<SelfSigned, StartError> {
        let made = certificate::make(listen).map_err(|source| StartError::Tls { source: source.into() })?;
        let tls = Self::new(vec![made.certificate], made.key)
            .map_err(|source| StartError::Tls { source: source.into() })?;
        Ok(SelfSigned { tls, authority_pem: made.authority_pem })
    }

    /// The certificate chain (the server's own first) and its key, both in PEM.
    pub fn from_files(certificate: &Path, key: &Path) -> Result<Self, StartError> {
        let bad = |path: &Path, reason: &'static str| StartError::TlsFile { path: path.to_owned(), reason };
        let pem = read(certificate)?;
        let chain: Vec<_> = CertificateDer::pem_slice_iter(&pem)
            .collect::<Result<_, _>>()
            .map_err(|_| bad(certificate, "it is damaged; it must hold certificates in PEM"))?;
        if chain.is_empty() {
            return Err(bad(certificate, "it holds no certificate in PEM (-----BEGIN CERTIFICATE-----)"));
        }
        let pem = read(key)?;
        if is_encrypted(&pem) {
            return Err(bad(
                key,
                "it is encrypted; decrypt a copy of it with `openssl pkey -in KEY -out PLAIN`",
            ));
        }
        let secret = PrivateKeyDer::from_pem_slice(&pem)
            .map_err(|_| bad(key, "it holds no private key in PEM (-----BEGIN PRIVATE KEY-----)"))?;
        Self::new(chain, secret).map_err(|error| match error {
            rustls::Error::InconsistentKeys(InconsistentKeys::KeyMismatch) => {
                bad(key, "it belongs to another certificate")
            }
            rustls::Error::InvalidCertificate(_) => bad(certificate, "its first certificate can't be read"),
            _ => bad(key, "it is of a kind that can't be used; RSA, ECDSA P-256 or P-384 and Ed25519 can"),
        })
    }

    fn new(chain: Vec<CertificateDer<'static>>, key: PrivateKeyDer<'static>) -> Result<Self, rustls::Error> {
        let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_protocol_versions(DEFAULT_VERSIONS)?
            .with_no_client_auth()
            .with_single_cert(chain, key)?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        // Tickets, so that all workers can resume every session, and none has to be kept.
        config.ticketer = ring::Ticketer::new()?;
        let config = Arc::new(config);
        // What could be wrong with it shows here and not at the first connection.
        ServerConnection::new(Arc::clone(&config))?;
        Ok(Self { config, counters: Arc::default() })
    }

    /// The same for a server that speaks HTTP/2 and nothing else. The counters are shared.
    pub(crate) fn with_http2(&self) -> Self {
        let mut config = (*self.config).clone();
        config.alpn_protocols = vec![b"h2".to_vec()];
        Self { config: Arc::new(config), counters: Arc::clone(&self.counters) }
    }

    /// The handshakes so far. They are read one after another, so they may be a few apart.
    pub fn handshakes(&self) -> Handshakes {
        let HandshakeCounters { full, resumed, failed } = &*self.counters;
        Handshakes { full: full.load(Relaxed), resumed: resumed.load(Relaxed), failed: failed.load(Relaxed) }
    }
}

impl HandshakeCounters {
    fn count(&self, kind: Option<HandshakeKind>) {
        let counter = match kind {
            Some(HandshakeKind::Resumed) => &self.resumed,
            Some(_) => &self.full,
            None => &self.failed,
        };
        counter.fetch_add(1, Relaxed);
    }
}

fn read(path: &Path) -> Result<Vec<u8>, StartError> {
    let unreadable = |source| StartError::TlsFileUnreadable { path: path.to_owned(), source };
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(unreadable)?;
    file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        let reason = "it is longer than 1 MiB, which no certificate or key is";
        return Err(StartError::TlsFile { path: path.to_owned(), reason });
    }
    Ok(bytes)
}

/// PKCS #8 (RFC 7468 section 11) and the older form of OpenSSL (RFC 1421 section 4.6.1.1).
fn is_encrypted(pem: &[u8]) -> bool {
    [&b"-----BEGIN ENCRYPTED PRIVATE KEY-----"[..], b"Proc-Type: 4,ENCRYPTED"]
        .iter()
        .any(|mark| pem.windows(mark.len()).any(|window| window == *mark))
}
