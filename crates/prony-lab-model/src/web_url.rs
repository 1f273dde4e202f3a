//! URLs that the lab keeps, to request them later.

/// Checks that `text` is a URL that may be kept and asked: http or https, without user name or password.
pub fn check_url(text: &str) -> Result<String, String> {
    const URL_MAX: usize = 2_000;
    let text = text.trim();
    let advice = "write it as https://HOST:PORT/PATH";
    if text.len() > URL_MAX {
        return Err(format!("longer than {URL_MAX} characters: {advice}"));
    }
    let url = url::Url::parse(text).map_err(|error| format!("not a URL ({error}): {advice}"))?;
    if !["http", "https"].contains(&url.scheme()) || !url.has_host() {
        return Err(format!("neither http nor https: {advice}"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(
            "it holds a user name or password, which everybody here could read: leave it out".to_owned()
        );
    }
    Ok(url.into())
}

/// Whether `url` leads to this machine: what is sent there in the clear is read by nobody on the way.
pub fn is_this_machine(url: &url::Url) -> bool {
    match url.host() {
        Some(url::Host::Domain(name)) => name == "localhost",
        Some(url::Host::Ipv4(address)) => address.is_loopback(),
        Some(url::Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_that_may_be_kept() {
        assert_eq!(check_url(" http://a.example:8080/x?y=1 "), Ok("http://a.example:8080/x?y=1".to_owned()));
        for bad in ["", "a.example", "ftp://a.example/", "http://kim:secret@a.example/", "file:///etc/passwd"]
        {
            assert!(check_url(bad).is_err(), "{bad}");
        }
        assert!(check_url(&format!("http://a.example/{}", "x".repeat(2_000))).is_err());
    }
}
