//! Forges: where a repository is hosted, and where the status of a built commit is shown.

use serde::Deserialize;
use url::Url;

use super::named::named;
use super::project::{DefinitionError, wrong};
use super::{Origin, SecretName, check_url, is_this_machine};

/// Forges show a longer name of a status only in part.
const CONTEXT_CHARS_MAX: usize = 100;
/// What a status is called if nothing is specified.
const DEFAULT_CONTEXT: &str = "prony";
/// GitLab nests groups at most so deep, with the project below them.
const SEGMENTS_MAX: usize = 21;

/// A kind of forge: each has its own API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Forge {
    /// github.com, and GitHub Enterprise.
    GitHub,
    /// gitlab.com, and a GitLab of one's own.
    GitLab,
    /// Gitea, Forgejo, Codeberg.
    Gitea,
}

named!(Forge, "forge", GitHub = "github", GitLab = "gitlab", Gitea = "gitea");

/// Where the status of a built commit is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatusTarget {
    /// Which API it has.
    pub forge: Forge,
    /// The secret of the lab by which the forge lets it in.
    pub token: SecretName,
    /// The address of the API, without a slash at its end.
    pub api: String,
    /// The repository there: `owner/name`, with GitLab after all of its groups.
    pub repository: String,
    /// Which of the statuses of a commit it is.
    pub context: String,
}

/// `[status]` of a definition as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StatusFile {
    forge: Option<String>,
    token: Option<String>,
    api: Option<String>,
    context: Option<String>,
}

impl Forge {
    /// What it adds to the address of a server; that of GitHub is the address of the API itself.
    pub fn api_path(self) -> &'static str {
        match self {
            Self::GitHub => "",
            Self::GitLab => "/api/v4",
            Self::Gitea => "/api/v1",
        }
    }

    /// The address of the API at a host that everybody knows.
    fn known_api(self, host: &str) -> Option<&'static str> {
        match (self, host) {
            (Self::GitHub, "github.com") => Some("https://api.github.com"),
            (Self::GitLab, "gitlab.com") => Some("https://gitlab.com"),
            (Self::Gitea, "codeberg.org") => Some("https://codeberg.org"),
            (Self::Gitea, "gitea.com") => Some("https://gitea.com"),
            _ => None,
        }
    }
}

impl StatusFile {
    /// What it says of a project whose files come from `origin`.
    pub(super) fn checked(self, origin: &Origin) -> Result<StatusTarget, DefinitionError> {
        let forge = match self.forge.as_deref() {
            None => return Err(wrong("status.forge", "write which API it has: github, gitlab or gitea")),
            Some("forgejo") => Forge::Gitea,
            Some(text) => text.parse().map_err(|message: String| wrong("status.forge", &message))?,
        };
        let token = self.token.ok_or_else(|| {
            let advice =
                "write the name of the secret that holds the token: `prony lab secret set FORGE_TOKEN`";
            wrong("status.token", advice)
        })?;
        // Somebody may have written the token itself, which must not be repeated.
        let token: SecretName = token.parse().map_err(|_| {
            let advice =
                "write the name of a secret of the lab, such as FORGE_TOKEN, and never the token itself";
            wrong("status.token", advice)
        })?;
        let Origin::Repository(address) = origin else {
            return Err(wrong("status", "a folder is at no forge: define a `repository`, or leave it out"));
        };
        let (host, path) = host_and_path(address).ok_or_else(|| {
            wrong(
                "status",
                "the repository is not at a forge: its address needs a host, as in https://HOST/OWNER/NAME",
            )
        })?;
        let api = match self.api {
            Some(text) => checked_api(forge, &text)?,
            None => forge.known_api(&host).map(str::to_owned).ok_or_else(|| {
                wrong(
                    "status.api",
                    &format!("write the address of the API: the lab doesn't know that of {host}"),
                )
            })?,
        };
        let repository = repository(forge, &api, &host, &path)?;
        let context = self.context.unwrap_or_else(|| DEFAULT_CONTEXT.to_owned()).trim().to_owned();
        if context.is_empty()
            || context.chars().count() > CONTEXT_CHARS_MAX
            || context.chars().any(char::is_control)
        {
            return Err(wrong(
                "status.context",
                &format!("write a name of 1 to {CONTEXT_CHARS_MAX} characters"),
            ));
        }
        Ok(StatusTarget { forge, token, api, repository, context })
    }
}

/// The address of an API, to which a token may be sent.
fn checked_api(forge: Forge, text: &str) -> Result<String, DefinitionError> {
    let failed = |message: &str| wrong("status.api", message);
    let text = check_url(text).map_err(|message| failed(&message))?;
    let url = Url::parse(&text).map_err(|error| failed(&error.to_string()))?;
    if url.query().is_some() || url.fragment().is_some() {
        return Err(failed("write it without ? and #"));
    }
    if url.scheme() == "http" && !is_this_machine(&url) {
        return Err(failed("the token would be sent in the clear: write an https address"));
    }
    let text = text.trim_end_matches('/');
    let added = forge.api_path();
    if !added.is_empty() && text.ends_with(added) {
        return Err(failed(&format!("write the address of the server, without {added}")));
    }
    Ok(text.to_owned())
}

/// Host and path of a repository's address: a URL, or `git@host:path` as scp has it.
fn host_and_path(address: &str) -> Option<(String, String)> {
    if let Ok(url) = Url::parse(address)
        && let Some(host) = url.host_str()
    {
        return Some((host.to_ascii_lowercase(), url.path().to_owned()));
    }
    let (place, path) = address.split_once(':').filter(|(place, _)| !place.contains('/'))?;
    let host = place.rsplit_once('@').map_or(place, |(_, host)| host);
    if host.is_empty() { None } else { Some((host.to_ascii_lowercase(), path.to_owned())) }
}

/// `owner/name` of the repository with this path on `host`.
fn repository(forge: Forge, api: &str, host: &str, path: &str) -> Result<String, DefinitionError> {
    // A server may be below a path of its host: this is no part of the name.
    let below = Url::parse(api)
        .ok()
        .filter(|url| url.host_str() == Some(host))
        .map(|url| url.path().trim_matches('/').to_owned())
        .filter(|below| !below.is_empty());
    let path = path.trim_matches('/');
    let path = below.and_then(|below| path.strip_prefix(&below)?.strip_prefix('/')).unwrap_or(path);
    let path = path.strip_suffix(".git").unwrap_or(path);
    let segments: Vec<&str> = path.split('/').collect();
    let is_plain = |segment: &&str| {
        !matches!(*segment, "" | "." | "..")
            && segment.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
    };
    let is_count_right = match forge {
        Forge::GitHub | Forge::Gitea => segments.len() == 2,
        Forge::GitLab => (2..=SEGMENTS_MAX).contains(&segments.len()),
    };
    if is_count_right && segments.iter().all(is_plain) {
        Ok(path.to_owned())
    } else {
        Err(wrong("status", "the repository's address doesn't end with OWNER/NAME, which the forge needs"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Definition;

    fn read(repository: &str, status: &str) -> Result<StatusTarget, String> {
        let text = format!("repository = \"{repository}\"\nstudy = \"x\"\n[status]\n{status}");
        let read = Definition::read(&text).map_err(|error| error.to_string())?;
        Ok(read.status.expect("it has one"))
    }

    #[test]
    fn a_known_host_needs_a_forge_and_a_token() {
        let of = |repository: &str, forge: &str| {
            let target = read(repository, &format!("forge = \"{forge}\"\ntoken = \"FORGE_TOKEN\""));
            let target = target.unwrap_or_else(|error| panic!("{repository}: {error}"));
            assert_eq!((target.context.as_str(), target.token.as_str()), ("prony", "FORGE_TOKEN"));
            (target.api, target.repository)
        };
        let github = ("https://api.github.com".to_owned(), "o/r.x".to_owned());
        for address in [
            "https://github.com/o/r.x.git",
            "https://GitHub.com/o/r.x/",
            "ssh://git@github.com/o/r.x.git",
            "git@github.com:o/r.x.git",
            "github.com:o/r.x",
        ] {
            assert_eq!(of(address, "github"), github, "{address}");
        }
        let nested = ("https://gitlab.com".to_owned(), "a/b/c".to_owned());
        assert_eq!(of("git@gitlab.com:a/b/c.git", "gitlab"), nested);
        let codeberg = ("https://codeberg.org".to_owned(), "o/r".to_owned());
        assert_eq!(of("https://codeberg.org/o/r", "gitea"), codeberg);
        assert_eq!(of("https://codeberg.org/o/r", "forgejo"), codeberg);
    }

    #[test]
    fn other_hosts_need_the_address_of_their_api() {
        let with = |repository: &str, api: &str| {
            read(
                repository,
                &format!("forge = \"gitea\"\ntoken = \"T\"\napi = \"{api}\"\ncontext = \" speed \""),
            )
        };
        let target = with("ssh://git@git.example:2222/o/r.git", "https://git.example/").expect("good");
        assert_eq!((target.api.as_str(), target.repository.as_str()), ("https://git.example", "o/r"));
        assert_eq!(target.context, "speed");
        // Below a path of its host.
        let target = with("https://example.org/git/o/r.git", "https://example.org/git").expect("good");
        assert_eq!((target.api.as_str(), target.repository.as_str()), ("https://example.org/git", "o/r"));
        let target = with("https://git.example/o/r", "http://127.0.0.1:3000").expect("this machine");
        assert_eq!(target.api, "http://127.0.0.1:3000");
    }

    #[test]
    fn mistakes_name_their_field() {
        let good = "https://github.com/o/r";
        let secret = "ghp_0123456789abcdef";
        for (repository, status, place) in [
            (good, "token = \"T\"", "`status.forge`"),
            (good, "forge = \"githob\"\ntoken = \"T\"", "`status.forge`"),
            (good, "forge = \"github\"", "`status.token`"),
            (good, &format!("forge = \"github\"\ntoken = \"{secret}\""), "`status.token`"),
            (good, "forge = \"gitlab\"\ntoken = \"T\"", "`status.api`"),
            (good, "forge = \"github\"\ntoken = \"T\"\napi = \"api.github.com\"", "`status.api`"),
            (good, "forge = \"github\"\ntoken = \"T\"\napi = \"http://git.example\"", "`status.api`"),
            (good, "forge = \"github\"\ntoken = \"T\"\napi = \"https://kim:pw@git.example\"", "`status.api`"),
            (good, "forge = \"github\"\ntoken = \"T\"\napi = \"https://git.example/?x\"", "`status.api`"),
            (good, "forge = \"gitlab\"\ntoken = \"T\"\napi = \"https://g.example/api/v4/\"", "`status.api`"),
            (good, "forge = \"github\"\ntoken = \"T\"\ncontext = \" \"", "`status.context`"),
            (good, "forge = \"github\"\ntoken = \"T\"\ncontext = \"a\\nb\"", "`status.context`"),
            (good, "forge = \"github\"\ntoken = \"T\"\nkontext = \"a\"", "(line 6)"),
            ("/srv/a", "forge = \"github\"\ntoken = \"T\"", "`status`"),
            ("https://github.com/r", "forge = \"github\"\ntoken = \"T\"", "`status`"),
            ("https://github.com/a/b/c", "forge = \"github\"\ntoken = \"T\"", "`status`"),
            ("https://github.com/a/b%2Fc", "forge = \"github\"\ntoken = \"T\"", "`status`"),
            ("git@github.com:a/..", "forge = \"github\"\ntoken = \"T\"", "`status`"),
        ] {
            let error = read(repository, status).expect_err(status);
            assert!(error.contains(place), "{repository} {status}: {error}");
            assert!(!error.contains(secret), "{error}");
        }
        let folder = "folder = \"/srv/a\"\nstudy = \"x\"\n[status]\nforge = \"github\"\ntoken = \"T\"";
        assert!(Definition::read(folder).expect_err("no forge").to_string().contains("`status`"));
    }
}
