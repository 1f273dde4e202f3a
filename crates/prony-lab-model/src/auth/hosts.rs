//! The names by which a lab may be asked (S2).
//!
//! Loopback is no protection by itself: a page anywhere can give its own name the address 127.0.0.1 (DNS rebinding), and
//! the browser then lets it read what it asks. Such a request carries that name in `Host`, and is refused.

use std::net::IpAddr;

/// Names that can be added; they are written by hand.
const NAMES_MAX: usize = 100;

/// The names by which a lab may be asked.
#[derive(Debug, Clone)]
pub struct Hosts {
    /// In lower case, without port, addresses of IPv6 without brackets.
    names: Vec<String>,
}

/// A `Host` that isn't ours, or a name that can't be one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HostError {
    /// None, several, or not a host.
    #[error("the request names no host: send a Host header")]
    None,
    /// Somebody else's name.
    #[error("this lab isn't known as `{0}`: ask it by its own address, or start it with --host {0}")]
    Foreign(String),
    /// A name for the list that isn't one.
    #[error("`{0}` is no host name: write it without scheme, port and path")]
    Name(String),
    /// Too many names.
    #[error("a lab has at most {NAMES_MAX} names: leave some out")]
    TooMany,
}

impl Hosts {
    /// The names of this machine on loopback, and `names`. Ports don't matter: a tunnel may change them, and the name
    /// alone shows a rebound request.
    pub fn new<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<Self, HostError> {
        let mut known = ["localhost", "127.0.0.1", "::1"].map(str::to_owned).to_vec();
        for name in names {
            match without_port(name) {
                Some(host) if name.len() == host.len() || name == format!("[{host}]") => {
                    known.push(host.to_ascii_lowercase());
                }
                _ => return Err(HostError::Name(name.to_owned())),
            }
        }
        if known.len() > NAMES_MAX { Err(HostError::TooMany) } else { Ok(Self { names: known }) }
    }

    /// Whether the value of `Host` is one of them.
    pub fn check(&self, host: &str) -> Result<(), HostError> {
        let name = without_port(host).ok_or(HostError::None)?;
        if self.names.iter().any(|known| known.eq_ignore_ascii_case(name)) {
            Ok(())
        } else {
            Err(HostError::Foreign(name.to_owned()))
        }
    }
}

/// The host of `host[:port]`, without the brackets of IPv6; `None` where it is none.
fn without_port(host: &str) -> Option<&str> {
    if let Ok(address) = host.parse::<IpAddr>() {
        // An address of IPv6 without brackets, as people write it on the command line, has colons of its own.
        return Some(host).filter(|_| !address.is_unspecified());
    }
    let (name, port) = match host.strip_prefix('[') {
        Some(rest) => {
            let (name, rest) = rest.split_once(']')?;
            name.parse::<std::net::Ipv6Addr>().ok()?;
            (name, if rest.is_empty() { None } else { Some(rest.strip_prefix(':')?) })
        }
        None => host.split_once(':').map_or((host, None), |(name, port)| (name, Some(port))),
    };
    let name = name.strip_suffix('.').unwrap_or(name);
    let good = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:".contains(&byte);
    let port_is_good = port.is_none_or(|port| port.parse::<u16>().is_ok());
    (!name.is_empty() && name.bytes().all(good) && port_is_good).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_and_what_was_named() {
        let hosts = Hosts::new(["Lab.example.org", "fd00::7", "[fd00::8]", "10.0.0.5"]).expect("names");
        for good in [
            "localhost",
            "LOCALHOST:8080",
            "127.0.0.1:1",
            "[::1]:8080",
            "lab.example.org",
            "lab.example.org.:443",
            "[fd00::7]:8080",
            "[fd00::8]",
            "10.0.0.5:80",
        ] {
            assert_eq!(hosts.check(good), Ok(()), "{good}");
        }
        for foreign in
            ["evil.example", "127.0.0.1.evil.example", "xlocalhost", "127.0.0.2:8080", "[::2]", "2130706433"]
        {
            assert!(matches!(hosts.check(foreign), Err(HostError::Foreign(_))), "{foreign}");
        }
        for none in [
            "",
            ":80",
            "[::1",
            "[::1]x",
            "a b",
            "localhost:x",
            "localhost:99999",
            "a@localhost",
            "[localhost]",
        ] {
            assert_eq!(hosts.check(none), Err(HostError::None), "{none}");
        }
    }

    #[test]
    fn names_that_are_none() {
        for name in ["http://lab", "lab:80", "lab/x", "", "0.0.0.0", "[::1]:80"] {
            assert_eq!(Hosts::new([name]).err(), Some(HostError::Name(name.to_owned())), "{name}");
        }
        assert_eq!(Hosts::new(["a"; 101]).err(), Some(HostError::TooMany));
    }
}
