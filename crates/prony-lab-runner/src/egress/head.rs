//! The head of a request to a proxy (RFC 9110, 9.3.6; RFC 9112, 3.2.2).

use url::Url;

/// Headers that are for the proxy alone.
const FOR_THE_PROXY: [&str; 4] = ["connection", "keep-alive", "proxy-connection", "proxy-authorization"];

/// Where a request wants to go.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) host: String,
    pub(super) port: u16,
    /// What the server gets first; nothing for a tunnel.
    pub(super) forwarded: Option<Vec<u8>>,
}

impl Head {
    /// From all bytes up to the empty line.
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let text = str::from_utf8(bytes).ok()?;
        let mut lines = text.split("\r\n");
        let mut words = lines.next()?.split(' ');
        let (method, target, version) = (words.next()?, words.next()?, words.next()?);
        if words.next().is_some() || !version.starts_with("HTTP/1.") {
            return None;
        }
        if method == "CONNECT" {
            let (host, port) = target.rsplit_once(':')?;
            return Some(Self { host: bare(host)?, port: port.parse().ok()?, forwarded: None });
        }
        let url = Url::parse(target).ok().filter(|url| url.scheme() == "http")?;
        let query = url.query().map(|query| format!("?{query}")).unwrap_or_default();
        let mut forwarded = format!("{method} {}{query} {version}\r\n", url.path());
        for line in lines.take_while(|line| !line.is_empty()) {
            let (name, _) = line.split_once(':')?;
            if !FOR_THE_PROXY.contains(&name.to_ascii_lowercase().as_str()) {
                forwarded.push_str(line);
                forwarded.push_str("\r\n");
            }
        }
        // The next request may want to go elsewhere.
        forwarded.push_str("Connection: close\r\n\r\n");
        let host = bare(url.host_str()?)?;
        Some(Self { host, port: url.port_or_known_default()?, forwarded: Some(forwarded.into_bytes()) })
    }
}

/// Without the brackets of an IPv6 address.
fn bare(host: &str) -> Option<String> {
    let inner = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    (!inner.is_empty()).then(|| inner.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tunnels_and_requests_are_read() {
        let read = |text: &str| Head::parse(text.as_bytes());
        let tunnel = read("CONNECT [::1]:443 HTTP/1.1\r\nHost: x\r\n\r\n").expect("a tunnel");
        assert_eq!((tunnel.host.as_str(), tunnel.port, tunnel.forwarded), ("::1", 443, None));
        let request = read("GET http://h:81/a?b HTTP/1.1\r\nHost: h:81\r\nProxy-Connection: x\r\n\r\n");
        let request = request.expect("a request");
        assert_eq!((request.host.as_str(), request.port), ("h", 81));
        let expected = "GET /a?b HTTP/1.1\r\nHost: h:81\r\nConnection: close\r\n\r\n";
        assert_eq!(request.forwarded.as_deref(), Some(expected.as_bytes()));
        for wrong in
            ["", "GET / HTTP/1.1\r\n\r\n", "CONNECT h HTTP/1.1\r\n\r\n", "CONNECT :1 HTTP/1.1\r\n\r\n"]
        {
            assert_eq!(read(wrong), None, "{wrong}");
        }
        assert_eq!(read("GET ftp://h/ HTTP/1.1\r\n\r\n"), None);
        assert_eq!(read("GET http://h/ HTTP/1.1 x\r\n\r\n"), None);
    }
}
