//! Certificates of an authority that an administrator named.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use ureq::tls::{Certificate, PemItem, RootCerts, parse_pem};

/// A file of authorities is small: all public ones together take 250 kB.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// Why nothing can be trusted.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    /// It can't be read.
    #[error(
        "the file of the authority {name} can't be read ({error}): an administrator sets its path in the target policy"
    )]
    Unreadable {
        /// The authority.
        name: String,
        /// Why.
        error: std::io::Error,
    },
    /// It has no certificate.
    #[error("the file of the authority {0} has no certificate: it is PEM, with -----BEGIN CERTIFICATE-----")]
    Empty(String),
}

/// The certificates in `file`, of the authority called `name`. Nothing of what the file has is in an error: who adds
/// monitors may not read it.
pub fn trusted(name: &str, file: &Path) -> Result<RootCerts, TrustError> {
    let unreadable = |error| TrustError::Unreadable { name: name.to_owned(), error };
    let mut bytes = Vec::new();
    File::open(file).map_err(unreadable)?.take(FILE_BYTES_MAX).read_to_end(&mut bytes).map_err(unreadable)?;
    let found = parse_pem(&bytes).filter_map(|item| match item {
        Ok(PemItem::Certificate(certificate)) => Some(certificate),
        _ => None,
    });
    let found: Vec<Certificate<'static>> = found.collect();
    if found.is_empty() { Err(TrustError::Empty(name.to_owned())) } else { Ok(RootCerts::from(found)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_a_certificate_is_refused_and_not_shown() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("ca.pem");
        let refused = |file: &Path| trusted("inner", file).expect_err("nothing to trust").to_string();
        assert!(refused(&file).contains("the authority inner can't be read"), "{}", refused(&file));
        for text in ["", "root:x:0:0", "-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n"] {
            std::fs::write(&file, text).expect("written");
            assert!(refused(&file).starts_with("the file of the authority inner has no certificate"));
            assert!(text.is_empty() || !refused(&file).contains(text));
        }
    }
}
