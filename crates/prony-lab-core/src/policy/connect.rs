//! HTTP requests of the lab's own (monitors, webhooks, proofs of ownership), each connection checked against the policy.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use ureq::config::Config;
use ureq::http::Uri;
use ureq::tls::{RootCerts, TlsConfig};
use ureq::unversioned::resolver::{ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{DefaultConnector, NextTimeout};

use super::Policy;
use prony_lab_model::Role;

/// Addresses of one name that ureq can hold.
const ADDRESSES_MAX: usize = 16;

/// How a server is reached, where that is not the usual way.
#[derive(Debug, Default)]
pub struct Reach {
    /// The authorities to trust instead of the public ones.
    pub trusted: Option<RootCerts>,
    /// Accept any certificate.
    pub insecure: bool,
    /// Connect to where this URL leads, whatever the host in the URL that is asked for: with another name there, that
    /// name is asked for and verified.
    pub leads_to: Option<String>,
}

/// A resolver that returns allowed addresses only. ureq calls it before each connection, those for redirects
/// included, and connects to nothing else.
#[derive(Debug)]
pub struct PolicyResolver {
    policy: Arc<Policy>,
    role: Role,
    leads_to: Option<String>,
}

impl PolicyResolver {
    /// One that allows what `role` may reach.
    pub fn new(policy: Arc<Policy>, role: Role) -> Self {
        Self { policy, role, leads_to: None }
    }
}

impl Resolver for PolicyResolver {
    fn resolve(&self, uri: &Uri, _: &Config, _: NextTimeout) -> Result<ResolvedSocketAddrs, ureq::Error> {
        let url = self.leads_to.clone().unwrap_or_else(|| uri.to_string());
        let found =
            self.policy.resolve(self.role, &url).map_err(|refusal| ureq::Error::Other(Box::new(refusal)))?;
        let mut addresses = self.empty();
        for address in found.into_iter().take(ADDRESSES_MAX) {
            addresses.push(address);
        }
        Ok(addresses)
    }
}

/// A resolver that returns one address whatever the name: that of an earlier look-up, which was checked.
#[derive(Debug)]
struct Pinned(SocketAddr);

impl Resolver for Pinned {
    fn resolve(&self, _: &Uri, _: &Config, _: NextTimeout) -> Result<ResolvedSocketAddrs, ureq::Error> {
        let mut addresses = self.empty();
        addresses.push(self.0);
        Ok(addresses)
    }
}

/// A client whose every connection is checked for `role`. It follows no redirect, uses no proxy, and takes an answer of
/// any status for an answer. `timeout` is for one whole exchange.
pub fn agent(policy: Arc<Policy>, role: Role, timeout: Duration, reach: Reach) -> ureq::Agent {
    let Reach { trusted, insecure, leads_to } = reach;
    let tls = TlsConfig::builder().disable_verification(insecure);
    let tls = match trusted {
        Some(trusted) => tls.root_certs(trusted),
        None => tls,
    };
    with_resolver(PolicyResolver { policy, role, leads_to }, timeout, tls.build())
}

/// The same, but it resolves no name: it connects to `address`, which the caller has checked.
pub fn agent_to(address: SocketAddr, timeout: Duration) -> ureq::Agent {
    with_resolver(Pinned(address), timeout, TlsConfig::default())
}

fn with_resolver(resolver: impl Resolver, timeout: Duration, tls: TlsConfig) -> ureq::Agent {
    let config = ureq::Agent::config_builder()
        .timeout_global(Some(timeout))
        .max_redirects(0)
        .max_redirects_will_error(false)
        .http_status_as_error(false)
        .proxy(None)
        .tls_config(tls)
        .user_agent(concat!("prony-lab/", env!("CARGO_PKG_VERSION")))
        .build();
    ureq::Agent::with_parts(config, DefaultConnector::default(), resolver)
}
