//! TLS: how a server is reached over it, and what was negotiated.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::{HistogramData, LatencySummary};

/// How an `https://` server is reached.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TlsOptions {
    /// Whether any certificate is accepted, unverified.
    #[serde(default)]
    pub insecure: bool,
    /// PEM files with the certificates to trust instead of the system's; empty trusts the system's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ca_files: Vec<PathBuf>,
    /// What the client shows a server that demands a certificate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_certificate: Option<ClientCertificate>,
    /// The name to ask for (SNI) and to verify instead of the URL's host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_name: Option<String>,
    /// The versions to offer.
    #[serde(default)]
    pub versions: TlsVersions,
    /// Whether new connections may resume the session of an earlier one.
    #[serde(default = "resumes")]
    pub resumption: bool,
}

impl Default for TlsOptions {
    /// As a browser would: verified against the system's certificates, any version, with resumption.
    fn default() -> Self {
        Self {
            insecure: false,
            ca_files: Vec::new(),
            client_certificate: None,
            server_name: None,
            versions: TlsVersions::Any,
            resumption: resumes(),
        }
    }
}

/// Absent means on.
fn resumes() -> bool {
    true
}

/// PEM files of a client certificate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ClientCertificate {
    /// The certificate and those between it and a trusted one.
    pub chain: PathBuf,
    /// Its private key.
    pub key: PathBuf,
}

/// Which versions of TLS are offered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum TlsVersions {
    /// 1.2 and 1.3.
    #[default]
    #[serde(rename = "any")]
    Any,
    /// 1.2 only.
    #[serde(rename = "1.2")]
    Tls12,
    /// 1.3 only.
    #[serde(rename = "1.3")]
    Tls13,
}

impl TlsVersions {
    /// Every choice.
    pub const ALL: [Self; 3] = [Self::Any, Self::Tls12, Self::Tls13];

    /// As it is written: `any`, `1.2`, `1.3`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Any => "any",
            Self::Tls12 => "1.2",
            Self::Tls13 => "1.3",
        }
    }

    /// Reads a [`Self::name`].
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|versions| versions.name() == text)
    }
}

/// What was negotiated with a server, and what its handshakes took.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TlsUse {
    /// `TLS 1.2` or `TLS 1.3`: of the connection before the load, as the rest up to `certificate`.
    pub version: String,
    /// IANA's name, such as `TLS13_AES_128_GCM_SHA256`.
    pub cipher_suite: String,
    /// Key exchange group, such as `X25519`.
    pub key_exchange: Option<String>,
    /// The protocol that the server chose (ALPN); null where it chose none.
    pub alpn: Option<String>,
    /// Whether the certificate was verified.
    pub verified: bool,
    /// What the server showed.
    pub certificate: Option<ServerCertificate>,
    /// Every handshake of the run, warm-up included.
    pub handshakes: Handshakes,
}

/// The server's own certificate.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ServerCertificate {
    /// `RSA`, `ECDSA`, `Ed25519`, …
    pub key: String,
    /// Length of that key, bits.
    pub key_bits: Option<u32>,
    /// Whom it is for, in short: the common name.
    pub subject: Option<String>,
    /// Who signed it, in short: the common name or the organization.
    pub issuer: Option<String>,
    /// Until when it is valid, RFC 3339 in UTC.
    pub not_after: Option<String>,
}

/// TLS handshakes of a whole run, warm-up included; each begins when the TCP connection is open.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Handshakes {
    /// Those with a new key exchange and certificate.
    pub full: u64,
    /// Those that resumed a session.
    pub resumed: u64,
    /// Those that ended without a secure connection.
    pub failed: u64,
    /// How long the full ones took.
    pub full_latency: LatencySummary,
    /// How long the resumed ones took.
    pub resumed_latency: LatencySummary,
    /// The distribution of the full ones.
    #[serde(default)]
    pub full_histogram: HistogramData,
    /// The distribution of the resumed ones.
    #[serde(default)]
    pub resumed_histogram: HistogramData,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_as_they_are_written() {
        for versions in TlsVersions::ALL {
            assert_eq!(TlsVersions::parse(versions.name()), Some(versions));
            let json = serde_json::to_string(&versions).expect("JSON");
            assert_eq!(json, format!("\"{}\"", versions.name()));
        }
        assert_eq!(TlsVersions::parse("1.1"), None);
    }

    #[test]
    fn what_is_absent_is_as_by_default() {
        let read: TlsOptions = serde_json::from_str("{}").expect("JSON");
        assert_eq!(read, TlsOptions::default());
        assert!(read.resumption && !read.insecure);
    }
}
