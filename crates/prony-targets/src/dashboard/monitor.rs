//! The uptime monitor: all sites, again and again, a few at once.

use std::fmt::Write as _;
use std::net::{SocketAddr, ToSocketAddrs as _};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use url::Url;

use super::check::{Found, check};
use crate::StartError;
use crate::clock::monotonic_ns;
use crate::stop::Stop;

/// Checks at once, as in the original.
const CHECKS_AT_ONCE: usize = 5;

/// A site to check: a URL that begins with `http://`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Site {
    url: Url,
}

/// Why a text is not a site that can be checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SiteError {
    /// It can't be read as a URL.
    #[error("this is not a URL: {0}; write http://host:port/path")]
    NotAUrl(#[from] url::ParseError),
    /// Its scheme is not http.
    #[error("only http:// can be checked: leave this site out")]
    NotHttp,
}

impl std::str::FromStr for Site {
    type Err = SiteError;

    fn from_str(text: &str) -> Result<Self, SiteError> {
        let url = Url::parse(text)?;
        if url.scheme() == "http" { Ok(Self { url }) } else { Err(SiteError::NotHttp) }
    }
}

/// All sites and what was last found of each.
#[derive(Debug)]
pub(super) struct Monitor {
    targets: Vec<Target>,
    found: Mutex<Vec<Found>>,
}

/// A site, ready to be asked.
#[derive(Debug)]
pub(super) struct Target {
    /// As the page shows it.
    name: String,
    pub(super) addresses: Vec<SocketAddr>,
    pub(super) request: String,
}

impl Target {
    fn look_up(site: &Site) -> Result<Self, StartError> {
        let url = &site.url;
        let host = url.host_str().expect("invariant: an http URL has a host");
        let port = url.port_or_known_default().expect("invariant: http has a port");
        let failed = |source| StartError::NoSuchHost { url: url.to_string(), source };
        // The resolver knows no brackets around an IPv6 address.
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        let addresses = (bare, port).to_socket_addrs().map_err(failed)?.collect();
        let authority = url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
        let target =
            url.query().map_or_else(|| url.path().to_owned(), |query| format!("{}?{query}", url.path()));
        let request = format!(
            "GET {target} HTTP/1.1\r\nHost: {authority}\r\nUser-Agent: prony-dashboard\r\nConnection: close\r\n\r\n"
        );
        // A password in the URL is for the site, not for who reads the page.
        let name = format!("http://{authority}{target}");
        Ok(Self { name, addresses, request })
    }
}

impl Monitor {
    pub(super) fn new(sites: &[Site]) -> Result<Self, StartError> {
        let targets = sites.iter().map(Target::look_up).collect::<Result<Vec<_>, _>>()?;
        let found = Mutex::new(vec![Found::Nothing; targets.len()]);
        Ok(Self { targets, found })
    }

    pub(super) fn has_sites(&self) -> bool {
        !self.targets.is_empty()
    }

    /// Checks until the stop.
    pub(super) fn run(&self, every: Duration, stop: &Stop) {
        let every_ns = u64::try_from(every.as_nanos()).unwrap_or(u64::MAX);
        loop {
            let due_ns = monotonic_ns().saturating_add(every_ns);
            self.round(stop);
            if stop.comes_before(due_ns) {
                return;
            }
        }
    }

    /// Checks every site once.
    fn round(&self, stop: &Stop) {
        let next = AtomicUsize::new(0);
        let take = || {
            while let Some((index, target)) = {
                let index = next.fetch_add(1, Ordering::Relaxed);
                self.targets.get(index).map(|target| (index, target))
            } {
                if let Some(found) = check(target, stop) {
                    self.found.lock().unwrap_or_else(PoisonError::into_inner)[index] = found;
                }
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..self.targets.len().min(CHECKS_AT_ONCE) {
                // Without a thread to be had, those that there are take its share.
                let _ = std::thread::Builder::new().name("check".to_owned()).spawn_scoped(scope, take);
            }
            take();
        });
    }

    /// Puts a line for each site behind what is in `page`.
    pub(super) fn write(&self, page: &mut Vec<u8>) {
        let mut lines = String::new();
        let found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        for (target, found) in self.targets.iter().zip(&*found) {
            writeln!(lines, "- {}: {found}", target.name)
                .expect("invariant: writing to a String does not fail");
        }
        page.extend_from_slice(lines.as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_http_is_checked() {
        assert_eq!("https://a/".parse::<Site>(), Err(SiteError::NotHttp));
        assert!(matches!("a".parse::<Site>(), Err(SiteError::NotAUrl(_))));
        assert!("http://127.0.0.1:3000/a?b".parse::<Site>().is_ok());
    }

    #[test]
    fn a_site_becomes_a_request() {
        let site = "http://user:secret@[::1]:8080/a?b#c".parse().unwrap();
        let target = Target::look_up(&site).unwrap();
        assert_eq!(target.addresses, ["[::1]:8080".parse().unwrap()]);
        assert!(
            target.request.starts_with("GET /a?b HTTP/1.1\r\nHost: [::1]:8080\r\n"),
            "{}",
            target.request
        );
        assert_eq!(target.name, "http://[::1]:8080/a?b");
    }
}
