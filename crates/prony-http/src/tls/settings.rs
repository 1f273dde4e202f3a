//! What is asked for.

use std::path::PathBuf;

/// How a server is reached over TLS.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TlsSettings {
    /// The name to ask for (SNI) and to verify: a DNS name, or an address, which has no SNI.
    pub server_name: String,
    /// Whether any certificate is accepted.
    pub insecure: bool,
    /// PEM files of the certificates to trust instead of the system's; empty trusts the system's.
    pub ca_files: Vec<PathBuf>,
    /// PEM files of the client's certificate chain and its key.
    pub client_certificate: Option<(PathBuf, PathBuf)>,
    /// The versions to offer.
    pub versions: Versions,
    /// Whether sessions are resumed.
    pub resumption: bool,
    /// The protocols to offer (ALPN), the preferred one first; empty offers none.
    pub protocols: Vec<&'static [u8]>,
}

/// Versions of TLS to offer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Versions {
    /// 1.2 and 1.3.
    #[default]
    Any,
    /// 1.2 only.
    Tls12,
    /// 1.3 only.
    Tls13,
}
