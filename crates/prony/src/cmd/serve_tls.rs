//! `prony serve … --tls`: which certificate a server has, and how a client comes to trust it.

use std::io::Write as _;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use prony_targets::tls::{Handshakes, SelfSigned, Tls};
use tempfile::NamedTempFile;

use super::serve::cli_error;
use crate::args::ServeTlsArgs;
use crate::cli_error::CliError;

/// TLS of a server while it runs; none by default.
#[derive(Debug, Default)]
pub(super) struct ServingTls {
    tls: Option<Tls>,
    authority: Option<Authority>,
}

/// Where the certificate of the authority is.
#[derive(Debug)]
enum Authority {
    Named(PathBuf),
    /// Removed when the server ends.
    Temporary(NamedTempFile),
}

impl ServingTls {
    /// What `args` ask for, on a server that listens on `listen`.
    pub(super) fn new(args: &ServeTlsArgs, listen: IpAddr) -> Result<Self, CliError> {
        let failed = |error| cli_error(&error);
        if let (Some(certificate), Some(key)) = (&args.tls_cert, &args.tls_key) {
            let tls = Tls::from_files(certificate, key).map_err(failed)?;
            return Ok(Self { tls: Some(tls), authority: None });
        }
        if !args.tls {
            return Ok(Self::default());
        }
        let SelfSigned { tls, authority_pem } = Tls::self_signed(listen).map_err(failed)?;
        let authority = write(args.tls_ca.as_deref(), &authority_pem)?;
        Ok(Self { tls: Some(tls), authority: Some(authority) })
    }

    pub(super) fn tls(&self) -> Option<Tls> {
        self.tls.clone()
    }

    pub(super) fn scheme(&self) -> &'static str {
        if self.tls.is_some() { "https" } else { "http" }
    }

    /// How a client comes to trust a certificate that was made here: a line, or nothing.
    pub(super) fn trusted_with(&self) -> String {
        let path = match &self.authority {
            None => return String::new(),
            Some(Authority::Named(path)) => path.as_path(),
            Some(Authority::Temporary(file)) => file.path(),
        };
        format!("trust it with --cacert {}\n", path.display())
    }

    pub(super) fn handshakes(&self) -> Option<Handshakes> {
        self.tls.as_ref().map(Tls::handshakes)
    }
}

fn write(path: Option<&Path>, pem: &str) -> Result<Authority, CliError> {
    let Some(path) = path else {
        let unwritable = |error| {
            CliError::usage(format!("can't write a temporary file ({error})"))
                .hint("name a folder that has room: TMPDIR=/tmp, or a file: --tls-ca ca.pem")
        };
        let mut file =
            tempfile::Builder::new().prefix("prony-ca-").suffix(".pem").tempfile().map_err(unwritable)?;
        file.write_all(pem.as_bytes()).map_err(unwritable)?;
        return Ok(Authority::Temporary(file));
    };
    // It is made at each start: an older one is of no use.
    std::fs::write(path, pem).map_err(|error| {
        CliError::usage(format!("can't write {} ({error})", path.display()))
            .hint("check that the folder exists and may be written")
    })?;
    Ok(Authority::Named(path.to_owned()))
}
