//! How a target is reached over TLS, as a file has it.

use std::path::{Path, PathBuf};

use prony_model::{Problem, Target, TlsChoices, TlsVersions};
use schemars::JsonSchema;
use serde::Deserialize;

use super::keys::OneOrMore;
use super::scalar::Scalar;
use super::template::plain;

/// How an https target is reached.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(
    rename_all = "kebab-case",
    deny_unknown_fields,
    expecting = "a table such as { cacert = \"ca.pem\", version = \"1.3\" }"
)]
#[schemars(rename = "Tls")]
pub(super) struct TlsKeys {
    /// PEM files with the certificates to trust instead of the system's, relative to the study file.
    pub(super) cacert: Option<OneOrMore>,
    /// Client certificate, a PEM file.
    pub(super) cert: Option<String>,
    /// Its key, a PEM file; in the file of `cert` if absent.
    pub(super) key: Option<String>,
    /// Accept any certificate; false if absent.
    pub(super) insecure: Option<bool>,
    /// The name to ask for and to verify; the URL's host if absent.
    pub(super) sni: Option<String>,
    /// The only version to offer, 1.2 or 1.3; both if absent.
    pub(super) version: Option<Scalar>,
    /// Whether sessions are resumed; true if absent.
    pub(super) resumption: Option<bool>,
}

/// What `keys` ask for; files begin at `folder`.
pub(super) fn choices(keys: &TlsKeys, folder: &Path) -> Result<TlsChoices, Problem> {
    let file = |typed: &String| -> PathBuf { folder.join(plain(typed)) };
    let version = keys.version.as_ref().map(|version| plain(&version.to_string()));
    let versions = match version {
        None => TlsVersions::Any,
        Some(name) => TlsVersions::parse(&name).ok_or_else(|| {
            Problem::new(format!("`{name}` is not a version of TLS"), "write \"1.2\" or \"1.3\"")
        })?,
    };
    Ok(TlsChoices {
        ca_files: keys
            .cacert
            .clone()
            .map(OneOrMore::into_list)
            .unwrap_or_default()
            .iter()
            .map(file)
            .collect(),
        certificate: keys.cert.as_ref().map(file),
        key: keys.key.as_ref().map(file),
        insecure: keys.insecure.unwrap_or_default(),
        server_name: keys.sni.as_deref().map(plain),
        versions,
        no_resumption: keys.resumption == Some(false),
    })
}

/// What is wrong with `choices` for `target`.
pub(super) fn check(choices: &TlsChoices, target: Target) -> Result<(), Problem> {
    choices.applied_to(target).map(drop).map_err(|error| error.problem(spelled))
}

/// A setting of this plain name, as the table has it.
fn spelled(setting: &str) -> String {
    match setting {
        "tls" => "`version`".to_owned(),
        "no-resumption" => "`resumption = false`".to_owned(),
        setting => format!("`{setting}`"),
    }
}
