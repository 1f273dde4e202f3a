//! TLS as it was asked for, on a command line or in a study file, and what it makes of a target.

use std::path::PathBuf;

use crate::problem::shown_as_problem;
use crate::{ClientCertificate, Problem, Spelling, Target, TlsOptions, TlsVersions};

/// How an `https://` server is to be reached: empty where nothing was given.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TlsChoices {
    /// PEM files with the certificates to trust instead of the system's.
    pub ca_files: Vec<PathBuf>,
    /// PEM file of the client's certificate.
    pub certificate: Option<PathBuf>,
    /// PEM file of its key, where that is not in the same file.
    pub key: Option<PathBuf>,
    /// Accept any certificate.
    pub insecure: bool,
    /// The name to ask for and to verify instead of the URL's host.
    pub server_name: Option<String>,
    /// The only version to offer.
    pub versions: TlsVersions,
    /// A full handshake for every connection.
    pub no_resumption: bool,
}

/// Choices that can't be followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TlsChoicesError {
    /// The target has no TLS.
    NotHttps {
        /// The plain name of the setting.
        setting: &'static str,
        /// The target.
        url: String,
    },
    /// A key of no certificate.
    KeyWithoutCertificate,
    /// Trust in nobody in particular, and in everybody.
    InsecureWithAuthorities,
    /// Not a name of a server.
    ServerName(String),
}

impl TlsChoicesError {
    /// What is wrong, and what to try.
    pub fn problem(&self, spelled: Spelling) -> Problem {
        match self {
            Self::NotHttps { setting, url } => Problem::new(
                format!("{} is for https, and {url} is not", spelled(setting)),
                "write https://, or leave it out",
            )
            .about(setting),
            Self::KeyWithoutCertificate => Problem::new(
                format!("{} is the key of no certificate", spelled("key")),
                format!("name the certificate, too: {} FILE", spelled("cert")),
            )
            .about("key"),
            Self::InsecureWithAuthorities => Problem::new(
                format!(
                    "{} accepts every certificate, and {} only some",
                    spelled("insecure"),
                    spelled("cacert")
                ),
                "leave out one of them",
            )
            .about("insecure"),
            Self::ServerName(name) => Problem::new(
                format!("`{name}` is not the name of a server"),
                "write a host name or an address",
            )
            .about("sni"),
        }
    }
}

shown_as_problem!(TlsChoicesError);

impl TlsChoices {
    /// The plain name of the first setting that was given.
    pub fn first(&self) -> Option<&'static str> {
        [
            ("cacert", !self.ca_files.is_empty()),
            ("cert", self.certificate.is_some()),
            ("key", self.key.is_some()),
            ("insecure", self.insecure),
            ("sni", self.server_name.is_some()),
            ("tls", self.versions != TlsVersions::Any),
            ("no-resumption", self.no_resumption),
        ]
        .into_iter()
        .find_map(|(setting, is_given)| is_given.then_some(setting))
    }

    /// `target`, reached as was asked for.
    pub fn applied_to(&self, target: Target) -> Result<Target, TlsChoicesError> {
        if target.tls.is_none() {
            return match self.first() {
                None => Ok(target),
                Some(setting) => Err(TlsChoicesError::NotHttps { setting, url: target.url }),
            };
        }
        if self.insecure && !self.ca_files.is_empty() {
            return Err(TlsChoicesError::InsecureWithAuthorities);
        }
        if let Some(name) = self.server_name.as_deref().filter(|name| !is_host(name)) {
            return Err(TlsChoicesError::ServerName(name.to_owned()));
        }
        let client_certificate = match (&self.certificate, &self.key) {
            (None, None) => None,
            (None, Some(_)) => return Err(TlsChoicesError::KeyWithoutCertificate),
            (Some(chain), key) => {
                let key = key.as_ref().unwrap_or(chain).clone();
                Some(ClientCertificate { chain: chain.clone(), key })
            }
        };
        let tls = TlsOptions {
            insecure: self.insecure,
            ca_files: self.ca_files.clone(),
            client_certificate,
            server_name: self.server_name.clone(),
            versions: self.versions,
            resumption: !self.no_resumption,
        };
        Ok(Target { tls: Some(tls), ..target })
    }
}

/// Whether `name` can be a host's: a domain name (RFC 1123 section 2.1) or an address.
fn is_host(name: &str) -> bool {
    const LETTERS_MAX: usize = 253;
    let is_name = name.len() <= LETTERS_MAX
        && name.split('.').all(|label| !label.is_empty())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte));
    is_name || name.parse::<std::net::IpAddr>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(url: &str) -> Target {
        Target::parse(url).expect("a URL")
    }

    fn refused(choices: &TlsChoices, url: &str, expected: &str) {
        let error = choices.applied_to(target(url)).expect_err("it can't be done");
        assert_eq!(error.problem(|name| format!("--{name}")).to_string(), expected);
    }

    #[test]
    fn nothing_given_changes_nothing() {
        for url in ["http://h/", "https://h/"] {
            assert_eq!(TlsChoices::default().applied_to(target(url)), Ok(target(url)));
        }
    }

    #[test]
    fn every_choice_is_for_https_only() {
        let file = || Some(PathBuf::from("f"));
        let none = TlsChoices::default();
        let each = [
            ("cacert", TlsChoices { ca_files: vec!["f".into()], ..none.clone() }),
            ("cert", TlsChoices { certificate: file(), ..none.clone() }),
            ("key", TlsChoices { key: file(), ..none.clone() }),
            ("insecure", TlsChoices { insecure: true, ..none.clone() }),
            ("sni", TlsChoices { server_name: Some("h".to_owned()), ..none.clone() }),
            ("tls", TlsChoices { versions: TlsVersions::Tls12, ..none.clone() }),
            ("no-resumption", TlsChoices { no_resumption: true, ..none }),
        ];
        for (name, choices) in each {
            let expected =
                format!("--{name} is for https, and http://h/ is not: write https://, or leave it out");
            refused(&choices, "http://h/", &expected);
            if name != "key" {
                assert_ne!(choices.applied_to(target("https://h/")), Ok(target("https://h/")), "{name}");
            }
        }
    }

    #[test]
    fn what_was_asked_for_is_in_the_target() {
        let choices = TlsChoices {
            ca_files: vec!["a.pem".into(), "b.pem".into()],
            certificate: Some("both.pem".into()),
            server_name: Some("other.example".to_owned()),
            versions: TlsVersions::Tls13,
            no_resumption: true,
            ..TlsChoices::default()
        };
        let made = choices.applied_to(target("https://h/")).expect("a target");
        let both = PathBuf::from("both.pem");
        let expected = TlsOptions {
            insecure: false,
            ca_files: choices.ca_files.clone(),
            client_certificate: Some(ClientCertificate { chain: both.clone(), key: both }),
            server_name: choices.server_name.clone(),
            versions: TlsVersions::Tls13,
            resumption: false,
        };
        assert_eq!(made.tls, Some(expected));
    }

    #[test]
    fn contradictions_are_refused() {
        let none = TlsChoices::default();
        let key = TlsChoices { key: Some("k".into()), ..none.clone() };
        let expected = "--key is the key of no certificate: name the certificate, too: --cert FILE";
        refused(&key, "https://h/", expected);
        let both = TlsChoices { insecure: true, ca_files: vec!["f".into()], ..none.clone() };
        let expected = "--insecure accepts every certificate, and --cacert only some: leave out one of them";
        refused(&both, "https://h/", expected);
        for name in ["", "a b", "a..b", "h:443", "https://h/", "ä"] {
            let named = TlsChoices { server_name: Some(name.to_owned()), ..none.clone() };
            let expected = format!("`{name}` is not the name of a server: write a host name or an address");
            refused(&named, "https://h/", &expected);
        }
    }
}
