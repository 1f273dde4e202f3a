//! git, as the lab calls it: no hooks, no questions, no protocol that runs programs, within limits.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use prony_supervisor::{Cancel, CommandSpec, Ended, Limits, StartError, Starter};

use prony_lab_core::lab::Lab;
use prony_lab_core::secrets::{self, SecretError};
use prony_lab_model::{Definition, Origin};

/// Of what git prints, this much is kept: a list of 400,000 commits.
const OUTPUT_BYTES_MAX: usize = 16 << 20;
/// Settings of every call: what a repository or its server could use to run programs is off.
const SETTINGS: [&str; 12] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.attributesFile=/dev/null",
    "core.excludesFile=/dev/null",
    "core.alternateRefsCommand=true",
    "protocol.ext.allow=never",
    "submodule.recurse=false",
    "fetch.recurseSubmodules=false",
    "log.showSignature=false",
    // What runs on in the background would be killed with the guardian.
    "gc.autoDetach=false",
    "maintenance.autoDetach=false",
    "advice.detachedHead=false",
];

/// What git runs to ask for a credential (git-credential(1)): nobody reads a password among arguments.
const HELPER: &str = "!f() { test \"$1\" = get && \
                      printf 'username=%s\\npassword=%s\\n' \"$PRONY_GIT_USER\" \"$PRONY_GIT_PASSWORD\"; }; f";

/// Calls git.
#[derive(Debug, Clone, Copy)]
pub(super) struct Git<'a> {
    pub(super) starter: &'a Starter,
    pub(super) search_path: &'a str,
    /// Home of the lab's user, who has keys and credentials.
    pub(super) home: Option<&'a Path>,
    /// What counts as its disk.
    pub(super) room: &'a Path,
    pub(super) limits: Limits,
    pub(super) cancel: &'a Cancel,
    /// A repository of the lab's own with the objects and the files of another, whose settings count for nothing.
    pub(super) borrowed: Option<(&'a Path, &'a Path)>,
    /// What a server asks for.
    pub(super) credential: Option<&'a Credential>,
}

/// By what a server lets the lab in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Credential {
    /// Scheme, host and port of the only server that gets it.
    server: String,
    user: String,
    password: String,
}

impl Credential {
    /// By what the repository of a project with this definition is fetched, where it needs something.
    pub(super) fn of(lab: &Lab, definition: &Definition) -> Result<Option<Self>, SecretError> {
        let (Some(name), Origin::Repository(address)) = (&definition.credential, &definition.origin) else {
            return Ok(None);
        };
        let found = secrets::values(&lab.store, &lab.options.data, std::slice::from_ref(name))?;
        let text = found.first().map(|(_, value)| String::from_utf8_lossy(value).into_owned());
        Ok(text.and_then(|text| Self::new(address, &text)))
    }

    /// For the repository at `address`, of a secret that is a password or `user:password`.
    pub fn new(address: &str, secret: &str) -> Option<Self> {
        let server = url::Url::parse(address).ok()?.origin().ascii_serialization();
        // Servers of tokens take any name.
        let (user, password) = secret.split_once(':').unwrap_or(("git", secret));
        Some(Self { server, user: user.to_owned(), password: password.to_owned() })
    }
}

/// The result of a call.
#[derive(Debug)]
pub(super) struct GitResult {
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
    ) -> Result<GitResult, StartError> {
        let mut words: Vec<OsString> = vec!["git".into()];
        for setting in SETTINGS {
            words.extend(["-c".into(), setting.into()]);
        }
        let mut environment = self.environment(for_remote);
        if let Some(credential) = self.credential.filter(|_| for_remote) {
            // A server that sends git elsewhere does not send this along.
            let setting = format!("credential.{}.helper={HELPER}", credential.server);
            words.extend(["-c".into(), "credential.helper=".into(), "-c".into(), setting.into()]);
            environment.push(("PRONY_GIT_USER".into(), (&credential.user).into()));
            environment.push(("PRONY_GIT_PASSWORD".into(), (&credential.password).into()));
        }
        words.extend(arguments.iter().map(OsString::from));
        self.run(folder, words, environment)
    }

    /// Another program of the system, in the same bounds.
    pub(super) fn other(&self, folder: &Path, words: Vec<OsString>) -> Result<GitResult, StartError> {
        self.run(folder, words, self.environment(false))
    }

    fn run(
        &self,
        folder: &Path,
        words: Vec<OsString>,
        environment: Vec<(OsString, OsString)>,
    ) -> Result<GitResult, StartError> {
        let spec = CommandSpec {
            words,
            folder: folder.to_owned(),
            environment,
            disk: self.room.to_owned(),
            tree: true,
            limits: self.limits,
        };
        let mut output = Vec::new();
        let ran = self.starter.run(&spec, self.cancel, &mut |piece| {
            let room = OUTPUT_BYTES_MAX.saturating_sub(output.len());
            output.extend_from_slice(&piece[..piece.len().min(room)]);
        })?;
        Ok(GitResult { ended: ran.ended, text: String::from_utf8_lossy(&output).into_owned() })
    }

    fn environment(&self, for_remote: bool) -> Vec<(OsString, OsString)> {
        let mut all: Vec<(OsString, OsString)> = [
            ("PATH", self.search_path),
            ("LANG", "C.UTF-8"),
            ("GIT_CONFIG_NOSYSTEM", "1"),
            ("GIT_TERMINAL_PROMPT", "0"),
            ("GIT_ASKPASS", "/bin/false"),
            ("GIT_ALLOW_PROTOCOL", if for_remote { "file:https:ssh" } else { "file" }),
            ("GIT_SSH_COMMAND", "ssh -o BatchMode=yes -o ConnectTimeout=30"),
            ("GIT_OPTIONAL_LOCKS", "0"),
            ("GIT_LFS_SKIP_SMUDGE", "1"),
            ("GIT_NO_LAZY_FETCH", "1"),
            ("GIT_NO_REPLACE_OBJECTS", "1"),
        ]
        .map(|(name, value)| (name.into(), value.into()))
        .to_vec();
        // A folder without a repository is not to be taken for a part of one above it.
        all.push(("GIT_CEILING_DIRECTORIES".into(), self.room.into()));
        if let Some((own, files)) = self.borrowed {
            all.push(("GIT_DIR".into(), own.into()));
            all.push(("GIT_WORK_TREE".into(), files.into()));
            all.push(("GIT_OBJECT_DIRECTORY".into(), files.join(".git/objects").into()));
        }
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
        let message = "fatal: unable to access 'https://kim:pa55@example.org/a.git/': pa55 is wrong";
        let cleaned = without_secrets(message, "https://kim:pa55@example.org/a.git");
        assert_eq!(cleaned, "fatal: unable to access 'https://example.org/a.git/': … is wrong");
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
