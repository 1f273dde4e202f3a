//! The address of the server under load.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::{Problem, TlsOptions};

/// A text that is not the URL of a server that can be loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TargetError {
    /// The text does not parse as a URL.
    Malformed {
        /// What was typed.
        text: String,
        /// The parser's words.
        why: String,
    },
    /// A scheme that Prony does not speak.
    Scheme {
        /// The scheme that was asked for.
        scheme: String,
    },
    /// HTTPS through a forward proxy, which is not built yet.
    TlsThroughProxy,
    /// User name or password in the URL.
    UserInfo,
    /// Port 0.
    PortZero,
}

impl TargetError {
    /// What is wrong, and what to try.
    pub fn problem(&self) -> Problem {
        match self {
            Self::Malformed { text, why } => {
                Problem::new(format!("`{text}` is not a URL ({why})"), "write it as http://HOST:PORT/PATH")
            }
            Self::Scheme { scheme } => {
                Problem::new(format!("unsupported scheme `{scheme}`"), "use http:// or https://")
            }
            Self::TlsThroughProxy => Problem::new(
                "https through a proxy is not supported yet",
                "load the server directly, without the proxy",
            ),
            Self::UserInfo => Problem::new(
                "the URL holds a user name or password",
                "send it as a header instead, -H 'Authorization: …'",
            ),
            Self::PortZero => Problem::new("port 0 is nobody's", "name the port on which the server listens"),
        }
    }
}

impl fmt::Display for TargetError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.problem().fmt(formatter)
    }
}

impl std::error::Error for TargetError {}

/// What is loaded: a URL, and the ways to reach it that a URL can't say.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Target {
    /// The URL as it is sent: scheme, host, port, path and query; never user info.
    pub url: String,
    /// Host name or address, without the brackets of IPv6.
    pub host: String,
    /// TCP port.
    pub port: u16,
    /// What stands in the request line: path and query, or the whole URL where a proxy is asked.
    pub path: String,
    /// The `Host` header: host, with the port unless it is the scheme's own (80, or 443 for https).
    pub authority: String,
    /// A Unix-domain socket to connect to instead of host and port.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unix: Option<PathBuf>,
    /// The addresses to connect to instead of those of host and port; the resolver is not asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub connect_to: Vec<SocketAddr>,
    /// The forward proxy that host and port name, as it was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proxy: Option<String>,
    /// TLS, for an `https://` URL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<TlsOptions>,
}

impl Target {
    /// Reads `text`, where a missing `http://` is supplied, as people expect of command lines.
    pub fn parse(text: &str) -> Result<Self, TargetError> {
        let typed = text.trim();
        let malformed = |why: &str| TargetError::Malformed { text: typed.to_owned(), why: why.to_owned() };
        if typed.is_empty() {
            return Err(malformed("it is empty"));
        }
        let full = if typed.contains("://") { typed.to_owned() } else { format!("http://{typed}") };
        let url = url::Url::parse(&full).map_err(|error| malformed(&error.to_string()))?;
        let tls = match url.scheme() {
            "http" => None,
            "https" => Some(TlsOptions::default()),
            other => return Err(TargetError::Scheme { scheme: other.to_owned() }),
        };
        if !url.username().is_empty() || url.password().is_some() {
            return Err(TargetError::UserInfo);
        }
        let bracketed = url.host_str().filter(|host| !host.is_empty()).ok_or_else(|| malformed("no host"))?;
        let port = url.port_or_known_default().ok_or_else(|| malformed("no port"))?;
        if port == 0 {
            return Err(TargetError::PortZero);
        }
        let path = match url.query() {
            Some(query) => format!("{}?{query}", url.path()),
            None => url.path().to_owned(),
        };
        let authority = url.port().map_or_else(|| bracketed.to_owned(), |port| format!("{bracketed}:{port}"));
        Ok(Self {
            url: format!("{}://{authority}{path}", url.scheme()),
            host: bracketed.trim_start_matches('[').trim_end_matches(']').to_owned(),
            port,
            path,
            authority,
            unix: None,
            connect_to: Vec::new(),
            proxy: None,
            tls,
        })
    }

    /// Where a redirect of this target to `location` points, as a whole URL; `None` where that is none.
    pub fn redirected(&self, location: &str) -> Option<String> {
        url::Url::parse(&self.url).ok()?.join(location).ok().map(String::from)
    }

    /// The same URL, asked of the forward proxy that listens where `proxy` points to (RFC 9112 section 3.2.2).
    pub fn through(self, proxy: &Self) -> Result<Self, TargetError> {
        if self.tls.is_some() || proxy.tls.is_some() {
            return Err(TargetError::TlsThroughProxy);
        }
        Ok(Self {
            host: proxy.host.clone(),
            port: proxy.port,
            path: self.url.clone(),
            proxy: Some(format!("{}:{}", proxy.host, proxy.port)),
            ..self
        })
    }
}

impl fmt::Display for Target {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.unix, &self.proxy) {
            (Some(socket), _) => write!(formatter, "{} through {}", self.url, socket.display()),
            (None, Some(proxy)) => write!(formatter, "{} through the proxy {proxy}", self.url),
            (None, None) => {
                formatter.write_str(&self.url)?;
                for (index, address) in self.connect_to.iter().enumerate() {
                    write!(formatter, "{}{address}", if index == 0 { " at " } else { ", " })?;
                }
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, host: &str, port: u16, path: &str, authority: &str) {
        let target = Target::parse(text).expect(text);
        let got = (target.host.as_str(), target.port, target.path.as_str(), target.authority.as_str());
        assert_eq!(got, (host, port, path, authority), "{text}");
    }

    #[test]
    fn urls_as_people_type_them() {
        check("http://127.0.0.1:3000/", "127.0.0.1", 3000, "/", "127.0.0.1:3000");
        check("localhost:8080", "localhost", 8080, "/", "localhost:8080");
        check("example.org", "example.org", 80, "/", "example.org");
        check("http://[::1]:3000/a?b=c", "::1", 3000, "/a?b=c", "[::1]:3000");
        check("http://localhost:8080/asd;lfkwk;lef", "localhost", 8080, "/asd;lfkwk;lef", "localhost:8080");
        check("http://localhost:8080//test2", "localhost", 8080, "//test2", "localhost:8080");
        check("http://h/with space?q=ä", "h", 80, "/with%20space?q=%C3%A4", "h");
        check("http://h/x#fragment", "h", 80, "/x", "h");
    }

    #[test]
    fn https_has_tls_and_a_port_of_its_own() {
        check("https://h/a?b", "h", 443, "/a?b", "h");
        check("https://h:443/", "h", 443, "/", "h");
        check("https://h:80/", "h", 80, "/", "h:80");
        check("HTTPS://[::1]:8443", "::1", 8443, "/", "[::1]:8443");
        let target = Target::parse("https://h:443/x").expect("a URL");
        assert_eq!((target.url.as_str(), &target.tls), ("https://h/x", &Some(TlsOptions::default())));
        assert_eq!(Target::parse("http://h:443/").expect("a URL").tls, None);
        assert_eq!(target.redirected("/y").as_deref(), Some("https://h/y"));
    }

    #[test]
    fn https_goes_through_no_proxy() {
        let parse = |url| Target::parse(url).expect("a URL");
        for (target, proxy) in [("https://h/", "http://p:3128/"), ("http://h/", "https://p/")] {
            let refused = parse(target).through(&parse(proxy));
            assert_eq!(refused, Err(TargetError::TlsThroughProxy), "{target} {proxy}");
        }
    }

    #[test]
    fn addresses_to_connect_to_are_shown() {
        let mut target = Target::parse("http://example.org/").expect("a URL");
        target.connect_to = ["127.0.0.1:3000", "[::1]:3000"].map(|text| text.parse().expect(text)).to_vec();
        assert_eq!(target.to_string(), "http://example.org/ at 127.0.0.1:3000, [::1]:3000");
        assert_eq!(target.authority, "example.org");
    }

    #[test]
    fn redirects() {
        let target = Target::parse("http://h:3000/a/b?c").expect("a URL");
        let check = |location: &str, expected: &str| {
            assert_eq!(target.redirected(location).as_deref(), Some(expected), "{location}");
        };
        check("/login?next=%2Fa", "http://h:3000/login?next=%2Fa");
        check("d", "http://h:3000/a/d");
        check("//other/", "http://other/");
        check("https://h/", "https://h/");
        assert_eq!(target.redirected("http://[/"), None);
    }

    #[test]
    fn a_proxy_is_asked_for_the_whole_url() {
        let [target, proxy] =
            ["http://h:8080/a?b", "127.0.0.1:3128"].map(|url| Target::parse(url).expect(url));
        let target = target.through(&proxy).expect("neither is https");
        let got = (target.host.as_str(), target.port, target.path.as_str(), target.authority.as_str());
        assert_eq!(got, ("127.0.0.1", 3128, "http://h:8080/a?b", "h:8080"));
        assert_eq!(target.to_string(), "http://h:8080/a?b through the proxy 127.0.0.1:3128");
    }

    #[test]
    fn what_is_refused() {
        let refused = |text: &str| Target::parse(text).expect_err(text);
        assert!(matches!(refused(""), TargetError::Malformed { .. }));
        assert!(matches!(refused("http://"), TargetError::Malformed { .. }));
        assert!(matches!(refused("http://h:99999/"), TargetError::Malformed { .. }));
        assert!(matches!(refused("http://[::1/"), TargetError::Malformed { .. }));
        assert!(matches!(refused("ftp://h/"), TargetError::Scheme { .. }));
        assert_eq!(refused("http://user:secret@h/"), TargetError::UserInfo);
        assert_eq!(refused("http://h:0/"), TargetError::PortZero);
    }
}
