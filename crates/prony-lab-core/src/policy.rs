//! Which servers a lab may put a load on, for whom, and how much.
//!
//! The verdict is on the socket address that a connection goes to, never on a name or on how an address is spelt:
//! `2130706433`, `0x7f.1` and `127.1` are all loopback, and a name may mean another address tomorrow. So anyone who opens a
//! connection calls [`Policy::resolve`] first and connects to what it returns, to nothing else (`prony run
//! --connect-to`, [`agent`]).
//!
//! | the address is | viewer, runner | admin |
//! |---|---|---|
//! | a metadata service, link-local, nobody's | no | no |
//! | loopback, private | where `loopback`, `private` allow it, or `networks` holds it | the same |
//! | public | where `hosts` or `networks` holds it | there, and where its owner agrees ([`Ownership`]) |

mod address;
mod agent_rules;
mod caps;
mod connect;
mod ownership;
mod refusal;
mod rules;
mod trust;

use std::collections::BTreeMap;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs as _};
use std::path::{Path, PathBuf};

pub use address::{Kind, kind};
pub use agent_rules::{AgentPolicy, agent_policy};
pub use caps::{Caps, Unfinished, UserCaps};
pub use connect::{PolicyResolver, Reach, agent, agent_to};
pub use ownership::{Ownership, OwnershipError};
pub use refusal::Refusal;
pub use rules::{Rules, RulesError};
pub use trust::{TrustError, trusted};

use prony_lab_model::Role;
use rules::{HostPattern, PortRange};

/// Addresses of one name that are checked at most; a name with more is refused.
const ADDRESSES_MAX: usize = 64;

/// Rules that were checked; [`Rules`] is how they are written.
#[derive(Debug, Clone)]
pub struct Policy {
    loopback: bool,
    private: bool,
    hosts: Vec<HostPattern>,
    networks: Vec<ipnet::IpNet>,
    refused: Vec<ipnet::IpNet>,
    ports: Vec<PortRange>,
    caps: Caps,
    public_caps: Caps,
    user_caps: UserCaps,
    authorities: BTreeMap<String, PathBuf>,
}

impl Policy {
    /// Whether somebody with `role` may have a connection opened to `address`, which no name led to.
    pub fn check(&self, role: Role, address: SocketAddr) -> Result<(), Refusal> {
        self.check_named(role, None, address)
    }

    /// The same for an address that was found under the name `host`.
    pub fn check_named(&self, role: Role, host: Option<&str>, address: SocketAddr) -> Result<(), Refusal> {
        let ip = address.ip();
        let kind = kind(ip);
        match kind {
            Kind::Metadata => return Err(Refusal::Metadata { address }),
            Kind::LinkLocal => return Err(Refusal::LinkLocal { address }),
            Kind::Nobody => return Err(Refusal::Nobody { address }),
            Kind::Loopback | Kind::Private | Kind::Public => {}
        }
        if let Some(network) = within(&self.refused, address) {
            return Err(Refusal::Network { address, network: network.to_string() });
        }
        let port = address.port();
        if port == 0 || !(self.ports.is_empty() || self.ports.iter().any(|range| range.contains(port))) {
            return Err(Refusal::Port { port, allowed: self.allowed_ports() });
        }
        if self.vouched_for(host, address) {
            return Ok(());
        }
        match kind {
            Kind::Loopback if !self.loopback => Err(Refusal::Loopback { address }),
            Kind::Private if !self.private => Err(Refusal::Private { address }),
            Kind::Public if role < Role::Admin => Err(Refusal::Public { address }),
            _ => Ok(()),
        }
    }

    /// The addresses to which a load on `url` may go, each of them checked. One that is refused refuses the URL: which
    /// one a connection gets is chance.
    ///
    /// Asks the system's resolver and waits for it: not for a thread that others wait for.
    pub fn resolve(&self, role: Role, url: &str) -> Result<Vec<SocketAddr>, Refusal> {
        let (host, port) = host_and_port(url)?;
        self.resolve_host(role, &host, port)
    }

    /// The same for a host and a port.
    pub fn resolve_host(&self, role: Role, host: &str, port: u16) -> Result<Vec<SocketAddr>, Refusal> {
        self.resolve_with(role, host, port, &|host, port| Ok((host, port).to_socket_addrs()?.collect()))
    }

    /// The same with another resolver than the system's.
    fn resolve_with(
        &self,
        role: Role,
        host: &str,
        port: u16,
        resolver: &dyn Fn(&str, u16) -> io::Result<Vec<SocketAddr>>,
    ) -> Result<Vec<SocketAddr>, Refusal> {
        let failed = |why: String| Refusal::Resolve { host: host.to_owned(), why };
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        let found = resolver(bare, port).map_err(|error| failed(error.to_string()))?;
        let mut addresses: Vec<SocketAddr> = Vec::new();
        for address in found {
            self.check_named(role, Some(bare), address)?;
            if !addresses.contains(&address) {
                addresses.push(address);
            }
            if addresses.len() > ADDRESSES_MAX {
                return Err(failed(format!("it has more than {ADDRESSES_MAX} addresses")));
            }
        }
        if addresses.is_empty() { Err(failed("it has no address".to_owned())) } else { Ok(addresses) }
    }

    /// Whether a load on `address` needs its owner's agreement: it is anybody's, and no rule vouches for it.
    pub fn needs_proof(&self, host: Option<&str>, address: SocketAddr) -> bool {
        kind(address.ip()) == Kind::Public && !self.vouched_for(host, address)
    }

    /// Whether a rule names `address`, or the name it was found under.
    fn vouched_for(&self, host: Option<&str>, address: SocketAddr) -> bool {
        // A name vouches for public addresses only: anyone who owns the name chooses its addresses, and must not reach
        // this machine or its network by that.
        let named = kind(address.ip()) == Kind::Public
            && host.is_some_and(|host| self.hosts.iter().any(|pattern| pattern.matches(host)));
        named || within(&self.networks, address).is_some()
    }

    /// The PEM file of the authority called `name`.
    pub fn authority(&self, name: &str) -> Option<&Path> {
        self.authorities.get(name).map(PathBuf::as_path)
    }

    /// The names of all authorities.
    pub fn authorities(&self) -> impl Iterator<Item = &str> {
        self.authorities.keys().map(String::as_str)
    }

    fn allowed_ports(&self) -> String {
        self.ports.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
    }
}

/// The first of `networks` that holds what `address` may mean.
fn within(networks: &[ipnet::IpNet], address: SocketAddr) -> Option<&ipnet::IpNet> {
    let meanings = address::meanings(address.ip());
    networks.iter().find(|network| meanings.iter().any(|meaning| network.contains(meaning)))
}

/// Host and port of a URL that the lab may ask.
fn host_and_port(url: &str) -> Result<(String, u16), Refusal> {
    let refused =
        |why: &str| Refusal::Url { url: crate::policy::refusal::shortened(url), why: why.to_owned() };
    // The parser drops line feeds and tabs, and whatever reads the text next may not.
    if url.chars().any(char::is_control) {
        return Err(refused("it holds a control character"));
    }
    let parsed = url::Url::parse(url).map_err(|error| refused(&error.to_string()))?;
    if !matches!(parsed.scheme(), "http" | "https") {
        return Err(refused("only http:// and https:// are spoken here"));
    }
    if !parsed.username().is_empty() || parsed.password().is_some() {
        return Err(Refusal::UserInfo);
    }
    let host =
        parsed.host_str().filter(|host| !host.is_empty()).ok_or_else(|| refused("it names no host"))?;
    let port = parsed.port_or_known_default().ok_or_else(|| refused("it names no port"))?;
    Ok((host.to_owned(), port))
}

#[cfg(test)]
mod tests;
