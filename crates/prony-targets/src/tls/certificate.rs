//! A certificate for this machine's own addresses, and the authority that signs it.

use std::net::IpAddr;
use std::time::Duration;

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose, date_time_ymd,
};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::clock::{SECOND_NS, clocks};

/// Whom it is for.
const NAMES: [&str; 3] = ["localhost", "127.0.0.1", "::1"];
const DAY: Duration = Duration::from_hours(24);
/// It begins a day ago, so that a client whose clock is behind takes it, and outlives any study.
const VALID_BEFORE: Duration = DAY;
const VALID_FOR: Duration = Duration::from_hours(90 * 24);

/// A leaf with its key, and the authority.
pub(super) struct Made {
    pub(super) certificate: CertificateDer<'static>,
    pub(super) key: PrivateKeyDer<'static>,
    pub(super) authority_pem: String,
}

/// Makes both, with keys on P-256: the fastest signature that every client accepts.
pub(super) fn make(listen: IpAddr) -> Result<Made, rcgen::Error> {
    let mut authority = params(Vec::new(), "Prony reference servers")?;
    authority.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    authority.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    let authority = CertifiedIssuer::self_signed(authority, KeyPair::generate()?)?;
    let mut names = NAMES.map(str::to_owned).to_vec();
    let listen = listen.to_string();
    if !names.contains(&listen) {
        names.push(listen);
    }
    let mut leaf = params(names, "localhost")?;
    leaf.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    leaf.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    let key = KeyPair::generate()?;
    let certificate = leaf.signed_by(&key, &authority)?;
    Ok(Made { certificate: certificate.into(), key: key.into(), authority_pem: authority.pem() })
}

fn params(names: Vec<String>, common_name: &str) -> Result<CertificateParams, rcgen::Error> {
    let mut params = CertificateParams::new(names)?;
    params.distinguished_name.push(DnType::CommonName, common_name);
    let now = Duration::from_secs(clocks().realtime_ns / SECOND_NS);
    let begin = date_time_ymd(1970, 1, 1) + now.saturating_sub(VALID_BEFORE);
    params.not_before = begin;
    params.not_after = begin + VALID_FOR;
    Ok(params)
}
