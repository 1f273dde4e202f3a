//! The policy as an admin writes it.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use ipnet::IpNet;
use serde::{Deserialize, Serialize};

use super::{Caps, Policy, UserCaps};

/// Entries of one list; a policy is read by people.
const ENTRIES_MAX: usize = 1_000;

/// The policy as it is written, in TOML or JSON. Without a word from anybody, a lab loads its own machine and its
/// private network, and nothing else.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Rules {
    /// Whether the lab's own machine may be loaded.
    pub loopback: bool,
    /// Whether private networks may be loaded.
    pub private: bool,
    /// Names whose public addresses may be loaded by runners, too: `example.org`, `*.example.org`.
    pub hosts: Vec<String>,
    /// Networks that may be loaded by runners, too: `203.0.113.0/24`, `2001:db8::/32`, single addresses.
    pub networks: Vec<String>,
    /// Networks that nobody may load, whatever else is allowed.
    pub refused: Vec<String>,
    /// Ports that may be loaded: `8080`, `3000-3999`; empty for every one.
    pub ports: Vec<String>,
    /// The most of one load.
    pub caps: Caps,
    /// The most of one load on a public address.
    pub public_caps: Caps,
    /// The most that one user has under way.
    pub user_caps: UserCaps,
    /// Certificate authorities that monitors may trust instead of the public ones: names, and PEM files on the lab's
    /// machine.
    pub authorities: BTreeMap<String, PathBuf>,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            loopback: true,
            private: true,
            hosts: Vec::new(),
            networks: Vec::new(),
            refused: Vec::new(),
            ports: Vec::new(),
            caps: Caps::OWN,
            public_caps: Caps::PUBLIC,
            user_caps: UserCaps::default(),
            authorities: BTreeMap::new(),
        }
    }
}

/// An entry of a policy that can't be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RulesError {
    /// Not a network.
    #[error("`{0}` is no network: write 10.0.0.0/8, 2001:db8::/32 or a single address")]
    Network(String),
    /// Not a host.
    #[error("`{0}` is no host name: write example.org or *.example.org")]
    Host(String),
    /// Not a port.
    #[error("`{0}` is no port: write 8080 or 3000-3999")]
    Port(String),
    /// Not a name and a file of an authority.
    #[error(
        "`{0}` is no authority: write a name of letters, digits, - and _, and the absolute path of a PEM file"
    )]
    Authority(String),
    /// A list without end.
    #[error("`{list}` has {count} entries: at most {ENTRIES_MAX} can be read")]
    TooMany {
        /// Which list.
        list: &'static str,
        /// Its length.
        count: usize,
    },
}

impl Rules {
    /// Checks what is written.
    pub fn check(&self) -> Result<Policy, RulesError> {
        Ok(Policy {
            loopback: self.loopback,
            private: self.private,
            hosts: every("hosts", &self.hosts, HostPattern::read)?,
            networks: every("networks", &self.networks, network)?,
            refused: every("refused", &self.refused, network)?,
            ports: every("ports", &self.ports, PortRange::read)?,
            caps: self.caps,
            public_caps: self.public_caps,
            user_caps: self.user_caps,
            authorities: authorities(&self.authorities)?,
        })
    }
}

pub(super) fn every<T>(
    list: &'static str,
    entries: &[String],
    read: impl Fn(&str) -> Result<T, RulesError>,
) -> Result<Vec<T>, RulesError> {
    if entries.len() > ENTRIES_MAX {
        return Err(RulesError::TooMany { list, count: entries.len() });
    }
    entries.iter().map(|entry| read(entry.trim())).collect()
}

fn authorities(all: &BTreeMap<String, PathBuf>) -> Result<BTreeMap<String, PathBuf>, RulesError> {
    if all.len() > ENTRIES_MAX {
        return Err(RulesError::TooMany { list: "authorities", count: all.len() });
    }
    let is_name = |name: &str| {
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
    };
    match all.iter().find(|(name, path)| !is_name(name) || !path.is_absolute()) {
        Some((name, _)) => Err(RulesError::Authority(name.clone())),
        None => Ok(all.clone()),
    }
}

fn network(text: &str) -> Result<IpNet, RulesError> {
    text.parse::<IpNet>()
        .or_else(|_| text.parse().map(|address: std::net::IpAddr| IpNet::from(address)))
        .map(|network| network.trunc())
        .map_err(|_| RulesError::Network(text.to_owned()))
}

/// A host name, or every name below one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HostPattern {
    /// In lower case, without a dot at the end.
    name: String,
    /// Whether it stands for the names below, not for the name itself.
    below: bool,
}

impl HostPattern {
    fn read(text: &str) -> Result<Self, RulesError> {
        let (name, below) = text.strip_prefix("*.").map_or((text, false), |name| (name, true));
        let name = canonical(name);
        let label = |label: &str| {
            !label.is_empty()
                && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
        };
        // Addresses belong in `networks`, where it doesn't matter how they are spelt.
        if name.parse::<std::net::IpAddr>().is_ok() || !name.split('.').all(label) {
            return Err(RulesError::Host(text.to_owned()));
        }
        Ok(Self { name, below })
    }

    /// Whether `host` is meant.
    pub(super) fn matches(&self, host: &str) -> bool {
        let host = canonical(host);
        if self.below {
            host.strip_suffix(&self.name).is_some_and(|rest| rest.len() > 1 && rest.ends_with('.'))
        } else {
            host == self.name
        }
    }
}

fn canonical(host: &str) -> String {
    host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase()
}

/// Ports from one to another, both included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PortRange {
    first: u16,
    last: u16,
}

impl PortRange {
    pub(super) fn read(text: &str) -> Result<Self, RulesError> {
        let port = |text: &str| text.trim().parse::<u16>().ok().filter(|port| *port > 0);
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        match (port(first), port(last)) {
            (Some(first), Some(last)) if first <= last => Ok(Self { first, last }),
            _ => Err(RulesError::Port(text.to_owned())),
        }
    }

    pub(super) fn contains(self, port: u16) -> bool {
        (self.first..=self.last).contains(&port)
    }
}

impl fmt::Display for PortRange {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.first == self.last {
            write!(formatter, "{}", self.first)
        } else {
            write!(formatter, "{}-{}", self.first, self.last)
        }
    }
}
