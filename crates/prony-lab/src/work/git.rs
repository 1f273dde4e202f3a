//! git, as the lab calls it: no hooks, no questions, no protocol that runs programs, within limits.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::process::{Bounds, Cancel, Ended, Order, Starter};

/// Of what git prints, this much is kept: a list of 400,000 commits.
const MOST_SAID_BYTES: usize = 16 << 20;
/// Settings of every call: what a repository or its server could use to run programs is off.
const SETTINGS: [&str; 6] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "protocol.ext.allow=never",
    // What runs on in the background would be killed with the guardian.
    "gc.autoDetach=false",
    "maintenance.autoDetach=false",
    "advice.detachedHead=false",
];

/// Calls git.
#[derive(Debug, Clone, Copy)]
pub(super) struct Git<'a> {
    pub(super) starter: &'a Starter,
    pub(super) search_path: &'a str,
    /// Home of the lab's user, who has keys and credentials.
    pub(super) home: Option<&'a Path>,
    /// What counts as its disk.
    pub(super) room: &'a Path,
    pub(super) bounds: Bounds,
    pub(super) cancel: &'a Cancel,
}

/// What a call came to.
#[derive(Debug)]
pub(super) struct Said {
    pub(super) ended: Ended,
    /// Both outputs.
    pub(super) text: String,
}

impl Git<'_> {
    /// `git arguments`, in `folder`; `for_remote`: with the settings and credentials of the lab's user.
    pub(super) fn call(
        &self,
        folder: &Path,
        for_remote: bool,
        arguments: &[&str],
    ) -> Result<Said, super::StartError> {
        let mut words: Vec<OsString> = vec!["git".into()];
        for setting in SETTINGS {
            words.extend(["-c".into(), setting.into()]);
        }
        words.extend(arguments.iter().map(OsString::from));
        self.run(folder, words, self.environment(for_remote))
    }

    /// Another program of the system, in the same bounds.
    pub(super) fn other(&self, folder: &Path, words: Vec<OsString>) -> Result<Said, super::StartError> {
        self.run(folder, words, self.environment(false))
    }

    fn run(
        &self,
        folder: &Path,
        words: Vec<OsString>,
        environment: Vec<(OsString, OsString)>,
    ) -> Result<Said, super::StartError> {
        let order = Order {
            words,
            folder: folder.to_owned(),
            environment,
            room: self.room.to_owned(),
            is_asked_whole: true,
            bounds: self.bounds,
        };
        let mut said = Vec::new();
        let ran = self.starter.run(&order, self.cancel, &mut |piece| {
            let room = MOST_SAID_BYTES.saturating_sub(said.len());
            said.extend_from_slice(&piece[..piece.len().min(room)]);
        })?;
        Ok(Said { ended: ran.ended, text: String::from_utf8_lossy(&said).into_owned() })
    }

    fn environment(&self, for_remote: bool) -> Vec<(OsString, OsString)> {
        let mut all: Vec<(OsString, OsString)> = [
            ("PATH", self.search_path),
            ("LANG", "C.UTF-8"),
            ("GIT_CONFIG_NOSYSTEM", "1"),
            ("GIT_TERMINAL_PROMPT", "0"),
            ("GIT_ASKPASS", "/bin/false"),
            ("GIT_ALLOW_PROTOCOL", "file:https:ssh"),
            ("GIT_SSH_COMMAND", "ssh -o BatchMode=yes -o ConnectTimeout=30"),
            ("GIT_OPTIONAL_LOCKS", "0"),
            ("GIT_LFS_SKIP_SMUDGE", "1"),
        ]
        .map(|(name, value)| (name.into(), value.into()))
        .to_vec();
        // A folder without a repository is not to be taken for a part of one above it.
        all.push(("GIT_CEILING_DIRECTORIES".into(), self.room.into()));
        match self.home.filter(|_| for_remote) {
            Some(home) => all.push(("HOME".into(), home.into())),
            None => all.push(("GIT_CONFIG_GLOBAL".into(), "/dev/null".into())),
        }
        all
    }
}

/// `address` without the name and the password that it may hold, for people.
pub(super) fn redacted(address: &str) -> String {
    match url::Url::parse(address) {
        Ok(mut url) if url.has_host() && (!url.username().is_empty() || url.password().is_some()) => {
            // Both can be set wherever there is a host.
            let _ = url.set_username("");
            let _ = url.set_password(None);
            url.to_string()
        }
        _ => address.to_owned(),
    }
}

/// `text` with every secret of `address` taken out.
pub(super) fn without_secrets(text: &str, address: &str) -> String {
    let secret = address.split_once("://").and_then(|(_, rest)| {
        let authority = rest.split('/').next().unwrap_or_default();
        authority.rsplit_once('@').map(|(secret, _)| secret)
    });
    let Some(secret) = secret.filter(|secret| !secret.is_empty()) else { return text.to_owned() };
    let text = text.replace(&format!("{secret}@"), "");
    match secret.split_once(':').filter(|(_, password)| !password.is_empty()) {
        Some((_, password)) => text.replace(password, "…"),
        None => text,
    }
}

/// Where the mirror of the repository `address` is, in the folder `mirrors`.
pub(super) fn mirror(mirrors: &Path, address: &str) -> PathBuf {
    use std::fmt::Write as _;

    use sha2::{Digest as _, Sha256};
    let mut name = String::new();
    for byte in &Sha256::digest(address)[..16] {
        write!(name, "{byte:02x}").expect("invariant: texts grow");
    }
    mirrors.join(name + ".git")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_of_addresses_are_never_shown() {
        let check = |address: &str, shown: &str| assert_eq!(redacted(address), shown);
        check("https://kim:se%20cret@example.org/a.git", "https://example.org/a.git");
        check("https://token@example.org/a.git", "https://example.org/a.git");
        check("https://example.org/a.git", "https://example.org/a.git");
        check("git@example.org:a.git", "git@example.org:a.git");
        check("/srv/a.git", "/srv/a.git");
        let said = "fatal: unable to access 'https://kim:pa55@example.org/a.git/': pa55 is wrong";
        let told = without_secrets(said, "https://kim:pa55@example.org/a.git");
        assert_eq!(told, "fatal: unable to access 'https://example.org/a.git/': … is wrong");
        assert_eq!(without_secrets("a", "/srv/a@b.git"), "a");
    }

    #[test]
    fn each_repository_has_a_mirror_of_its_own() {
        let folder = Path::new("/lab");
        let first = mirror(folder, "https://example.org/a.git");
        assert_eq!(first, mirror(folder, "https://example.org/a.git"));
        assert_ne!(first, mirror(folder, "https://example.org/b.git"));
        assert!(first.starts_with(folder) && first.extension().is_some_and(|end| end == "git"));
    }
}
