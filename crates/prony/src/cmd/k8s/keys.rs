//! Keys and certificates of one run. What signed the certificate is forgotten at once: nobody can make a second one.

use std::time::Duration;

use prony_fleet::bus::Nkey;
use prony_fleet::protocol::{AgentName, ControllerKey};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose, date_time_ymd,
};

use super::run_file::agent;
use crate::cli_error::CliError;
use crate::clock;
use crate::cmd::agent::nats_config::{agent_user, lab_user, text};

/// It begins a day ago, for clocks that are behind,
const VALID_BEFORE: Duration = Duration::from_hours(24);
/// and ends after any run.
const VALID_FOR: Duration = Duration::from_hours(8 * 24);
/// Where the broker's pod has the certificate and its key.
const FILES: [&str; 2] = ["/etc/prony-broker/tls.crt", "/etc/prony-broker/tls.key"];

/// All that the processes of a run know each other by.
pub(super) struct Keys {
    /// What signs commands.
    pub(super) lab_key: String,
    /// What agents know it by.
    pub(super) lab_public: String,
    /// What the broker knows the controller by.
    pub(super) lab_nkey: String,
    /// And each agent.
    pub(super) agent_nkeys: Vec<String>,
    /// The broker's configuration.
    pub(super) nats_conf: String,
    pub(super) certificate: String,
    pub(super) certificate_key: String,
    /// The authority that signed the certificate.
    pub(super) authority: String,
}

impl Keys {
    /// New ones, for a broker of this name with `count` agents.
    pub(super) fn new(broker: &str, count: u32) -> Result<Self, CliError> {
        let nkey = || Nkey::generate().map_err(CliError::internal);
        let internal = |error: prony_fleet::protocol::KeyError| CliError::internal(error.to_string());
        let lab_key = ControllerKey::generate().map_err(internal)?;
        let lab_public = ControllerKey::read(&lab_key).map_err(internal)?.public().to_string();
        let lab = nkey()?;
        let mut users = vec![lab_user(&lab.public)];
        let mut agent_nkeys = Vec::new();
        for index in 0..count {
            let name = AgentName::new(&agent(index)).expect("invariant: a word and a number make a name");
            let nkey = nkey()?;
            users.push(agent_user(&name, &nkey.public));
            agent_nkeys.push(nkey.seed);
        }
        let certificate = certificate(broker).map_err(|error| {
            CliError::internal(format!("the broker's certificate could not be made ({error})"))
        })?;
        Ok(Self {
            lab_key,
            lab_public,
            lab_nkey: lab.seed,
            agent_nkeys,
            nats_conf: text("0.0.0.0:4222", Some(&FILES.map(str::to_owned)), &users),
            certificate: certificate.leaf,
            certificate_key: certificate.key,
            authority: certificate.authority,
        })
    }
}

struct Certificate {
    leaf: String,
    key: String,
    authority: String,
}

/// A certificate for the broker's name, and for the controller beside it.
fn certificate(broker: &str) -> Result<Certificate, rcgen::Error> {
    let mut authority = params(Vec::new(), "Prony run")?;
    authority.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    authority.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    let authority = CertifiedIssuer::self_signed(authority, KeyPair::generate()?)?;
    let mut leaf = params(vec![broker.to_owned(), "127.0.0.1".to_owned()], broker)?;
    leaf.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    leaf.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    let key = KeyPair::generate()?;
    let certificate = leaf.signed_by(&key, &authority)?;
    Ok(Certificate { leaf: certificate.pem(), key: key.serialize_pem(), authority: authority.pem() })
}

fn params(names: Vec<String>, common_name: &str) -> Result<CertificateParams, rcgen::Error> {
    let mut params = CertificateParams::new(names)?;
    params.distinguished_name.push(DnType::CommonName, common_name);
    let begin = date_time_ymd(1970, 1, 1) + clock::wall().saturating_sub(VALID_BEFORE);
    params.not_before = begin;
    params.not_after = begin + VALID_FOR;
    Ok(params)
}
