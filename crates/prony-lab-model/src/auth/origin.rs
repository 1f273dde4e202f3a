//! Whether a request that changes something was made by a page of this lab (S6).
//!
//! A browser sends a session's cookie whoever made the request; `Sec-Fetch-Site` and `Origin` say who did, and pages
//! can't forge them. This is asked beside the form's token, not instead of it.

/// The headers of a browser about where a request comes from.
#[derive(Debug, Clone, Copy, Default)]
pub struct Provenance<'a> {
    /// `Sec-Fetch-Site`
    pub fetch_site: Option<&'a str>,
    /// `Origin`
    pub origin: Option<&'a str>,
    /// `Referer`, for browsers that send neither of the others.
    pub referer: Option<&'a str>,
    /// `Host`, checked before against the list of names.
    pub host: &'a str,
    /// Whether the lab is reached by HTTPS.
    pub secure: bool,
}

/// A request from a page that isn't the lab's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("this request doesn't come from a page of this lab: open the form here and send it again")]
pub struct ForeignOrigin;

impl Provenance<'_> {
    /// Whether the request may change something. Browsers without any of the three headers (w3m) pass: what they send
    /// has the form's token, which a foreign page can't know.
    pub fn check(&self) -> Result<(), ForeignOrigin> {
        match self.fetch_site {
            // `none`: typed, or from a bookmark; a POST that way is a repeated one.
            None | Some("same-origin" | "none") => {}
            Some(_) => return Err(ForeignOrigin),
        }
        let own = match (self.origin, self.referer) {
            (Some(origin), _) => self.is_own(origin),
            (None, Some(referer)) => {
                let origin = url::Url::parse(referer).map(|url| url.origin().ascii_serialization());
                origin.is_ok_and(|origin| self.is_own(&origin))
            }
            (None, None) => true,
        };
        if own { Ok(()) } else { Err(ForeignOrigin) }
    }

    /// Whether `origin` is scheme and host of this lab.
    fn is_own(&self, origin: &str) -> bool {
        let (scheme, default_port) = if self.secure { ("https://", ":443") } else { ("http://", ":80") };
        let bare =
            |authority: &str| authority.strip_suffix(default_port).unwrap_or(authority).to_ascii_lowercase();
        origin.strip_prefix(scheme).is_some_and(|authority| bare(authority) == bare(self.host))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(fetch_site: Option<&str>, origin: Option<&str>, referer: Option<&str>, expected: bool) {
        let provenance = Provenance { fetch_site, origin, referer, host: "127.0.0.1:8080", secure: false };
        assert_eq!(provenance.check().is_ok(), expected, "{provenance:?}");
    }

    #[test]
    fn own_pages_pass() {
        let own = Some("http://127.0.0.1:8080");
        check(Some("same-origin"), own, None, true);
        check(None, own, None, true);
        check(None, None, Some("http://127.0.0.1:8080/add_job?x"), true);
        check(None, None, None, true);
        check(Some("none"), None, None, true);
    }

    #[test]
    fn foreign_pages_do_not() {
        let own = Some("http://127.0.0.1:8080");
        for site in ["cross-site", "same-site", "", "unheard-of"] {
            check(Some(site), own, None, false);
        }
        for origin in ["null", "http://127.0.0.1:8081", "https://127.0.0.1:8080", "http://localhost:8080", ""]
        {
            check(Some("same-origin"), Some(origin), None, false);
            check(None, Some(origin), None, false);
        }
        check(None, None, Some("http://evil.example/127.0.0.1:8080"), false);
        check(None, None, Some("nonsense"), false);
    }

    #[test]
    fn default_ports_may_be_left_out() {
        let secure = Provenance {
            origin: Some("https://Lab.example"),
            host: "lab.example:443",
            secure: true,
            ..Provenance::default()
        };
        assert_eq!(secure.check(), Ok(()));
    }
}
