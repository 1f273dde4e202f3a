//! Pages of code hosts.

use url::Url;

/// The page of `commit` at the code host of the repository at `address`. None where the host is not known, or the
/// address is not https: then nothing is guessed.
pub fn commit_page(address: &str, commit: &str) -> Option<String> {
    let url = Url::parse(address).ok().filter(|url| url.scheme() == "https")?;
    let host = url.host_str()?;
    let is_plain =
        |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte));
    let path = url.path().trim_matches('/');
    let path = path.strip_suffix(".git").unwrap_or(path);
    let parts: Vec<&str> = path.split('/').collect();
    let are_names = parts.iter().all(|part| !part.is_empty() && is_plain(part));
    if parts.len() < 2 || !are_names || !commit.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let is_gitlab = host == "gitlab.com" || host.starts_with("gitlab.");
    let middle = match host {
        _ if is_gitlab => "-/commit",
        _ if parts.len() > 2 => return None,
        "github.com" | "codeberg.org" | "gitea.com" | "git.sr.ht" => "commit",
        "bitbucket.org" => "commits",
        _ => return None,
    };
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    Some(format!("https://{host}{port}/{path}/{middle}/{commit}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_hosts_have_pages_of_commits() {
        let check = |address: &str, expected: Option<&str>| {
            assert_eq!(commit_page(address, "abc123").as_deref(), expected, "{address}");
        };
        check("https://github.com/a/b.git", Some("https://github.com/a/b/commit/abc123"));
        check("https://github.com/a/b/", Some("https://github.com/a/b/commit/abc123"));
        check("https://gitlab.com/a/b/c.git", Some("https://gitlab.com/a/b/c/-/commit/abc123"));
        check(
            "https://gitlab.example.org:8443/a/b",
            Some("https://gitlab.example.org:8443/a/b/-/commit/abc123"),
        );
        check("https://codeberg.org/a/b.c", Some("https://codeberg.org/a/b.c/commit/abc123"));
        check("https://bitbucket.org/a/b.git", Some("https://bitbucket.org/a/b/commits/abc123"));
        check("https://git.sr.ht/~a/b", Some("https://git.sr.ht/~a/b/commit/abc123"));
        // A name or a password in the address is not repeated.
        check("https://kim:pa55@github.com/a/b.git", Some("https://github.com/a/b/commit/abc123"));
        for unknown in [
            "https://example.org/a/b.git",
            "http://github.com/a/b",
            "ssh://git@github.com/a/b.git",
            "git@github.com:a/b.git",
            "/srv/github.com/a/b",
            "https://github.com/a",
            "https://github.com/a/b/c",
            "https://github.com/a/b%22onclick",
            "https://github.com.evil.example/a/b",
            "javascript:alert(1)",
        ] {
            check(unknown, None);
        }
        assert_eq!(commit_page("https://github.com/a/b", "../x"), None);
    }
}
