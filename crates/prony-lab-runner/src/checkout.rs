//! The files of a build: one commit of a repository, or a folder as it is now.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use prony_supervisor::{Cancel, Ended, Limits, StartError, Starter, StopReason};

use super::folder;
use super::git::{Credential, Git, GitResult, mirror, redacted, without_secrets};
use super::{ending, workspace};
use prony_lab_model::{Commit, Origin};

/// git itself shortens commits to no less.
const LEAST_DIGITS_OF_GIT: usize = 4;
/// What is shown of what git complains about.
const REASON_CHARS_MAX: usize = 500;

/// What a question to a repository's server may use.
const LOOK_LIMITS: Limits = Limits {
    time: std::time::Duration::from_mins(1),
    grace: std::time::Duration::from_secs(2),
    memory_bytes: 1 << 30,
    // Only what it writes to the disk itself: nothing.
    disk_bytes: u64::MAX / 2,
    output_bytes: 1 << 20,
    processes: 64,
    poll_interval: prony_supervisor::POLL_INTERVAL,
};

/// What listing commits may use: the lab's own copy is read, and nobody is asked.
const LIST_LIMITS: Limits = Limits {
    time: std::time::Duration::from_secs(30),
    // More than the longest list of subjects that people write.
    output_bytes: 4 << 20,
    ..LOOK_LIMITS
};
/// How git is to describe a commit, on one line: [`description`] reads it.
pub(super) const COMMIT_FORMAT: &str = "--format=%H%x00%ct%x00%an%x00%s";
/// Whatever a commit is written in.
pub(super) const ENCODING: &str = "--encoding=UTF-8";

/// Fetches files.
#[derive(Debug, Clone)]
pub struct Fetcher {
    /// What starts git.
    pub starter: Starter,
    /// Where the mirrors of repositories are kept.
    pub mirrors: PathBuf,
    /// Where to search for git.
    pub search_path: String,
    /// Home of the lab's user, whose keys and credentials git uses.
    pub home: Option<PathBuf>,
}

/// What was put there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Revision {
    /// The whole commit; of a folder that is none, a digest of its files.
    pub commit: String,
    /// First line of its message, or what the digest is of.
    pub subject: String,
    /// Who made the commit, and when; none of a digest.
    pub description: Option<Commit>,
    /// The branches whose newest commit it is, as far as is known here.
    pub newest_of: Vec<String>,
}

/// What lies between two commits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Between {
    /// What the second has and the first has not, the newest first.
    pub commits: Vec<Commit>,
    /// How many these are, with those that are not listed.
    pub ahead: u64,
    /// How many the first has and the second has not.
    pub behind: u64,
}

/// Why there are no files.
#[derive(Debug, thiserror::Error)]
pub enum CheckoutError {
    /// The name could be taken for something else.
    #[error("`{0}` is no name of a branch, tag or commit: take one that git accepts")]
    Hostile(String),
    /// Nothing has that name.
    #[error("there is no branch, tag or commit `{reference}` in {address}: push it, or name another")]
    Unknown {
        /// What was asked for.
        reference: String,
        /// Where.
        address: String,
    },
    /// Several commits begin like this.
    #[error("several commits begin with {0}: write more digits")]
    Ambiguous(String),
    /// A commit that was built once, in another copy of the repository.
    #[error("the lab's copy of the repository has no commit {0} any more: build it again")]
    Gone(String),
    /// A folder has only the files that it has.
    #[error("a folder has no other commits: register the project as a repository to compare two")]
    Folder,
    /// git did not do it.
    #[error("{what}: git {how}{output}")]
    Git {
        /// What was tried.
        what: String,
        /// How it ended.
        how: String,
        /// What it printed, after a line feed.
        output: String,
    },
    /// It was cancelled.
    #[error("was cancelled")]
    Cancelled,
    /// There is no guardian.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The file system.
    #[error("{0}")]
    Io(#[from] io::Error),
}

impl CheckoutError {
    /// The error in one line, with the cause that git reports.
    pub(super) fn summary(&self) -> String {
        let words = self.to_string();
        let mut lines = words.lines();
        let first = lines.next().unwrap_or_default().to_owned();
        match lines.find_map(|line| line.strip_prefix("fatal: ").or_else(|| line.strip_prefix("error: "))) {
            Some(cause) => format!("{first}: {cause}"),
            None => first,
        }
    }
}

impl Fetcher {
    /// Puts the files of `origin` at `reference` into the new folder `into`, inside of `room`, and returns their revision.
    /// `report` gets lines for people.
    pub fn fetch(
        &self,
        origin: &Origin,
        reference: &str,
        into: &Path,
        limits: (&Path, Limits, &Cancel),
        credential: Option<&Credential>,
        report: &mut dyn FnMut(&str),
    ) -> Result<Revision, CheckoutError> {
        let (room, limits, cancel) = limits;
        let (search_path, home) = (self.search_path.as_str(), self.home.as_deref());
        let git = Git {
            starter: &self.starter,
            search_path,
            home,
            room,
            limits,
            cancel,
            borrowed: None,
            credential,
        };
        match origin {
            Origin::Repository(address) => {
                let mirror = mirror(&self.mirrors, address);
                let git = Git { room: &mirror, ..git };
                self.prepare(&git, &mirror)?;
                let commit = find(&git, &mirror, address, reference, report)?;
                let words =
                    ["for-each-ref", "--points-at", &commit, "--format=%(refname:strip=2)", "refs/heads"];
                let newest_of =
                    run_git(&git, &mirror, "list branches", &words)?.lines().map(str::to_owned).collect();
                let git = Git { room, ..git };
                check_out(&git, &mirror, &commit, into)?;
                let text = run_git(&git, into, "read the commit", &["log", "-1", ENCODING, COMMIT_FORMAT])?;
                let description = text.split('\n').find_map(description);
                let subject = description.as_ref().map(|found| found.subject.clone()).unwrap_or_default();
                report(&format!("{commit} {subject}"));
                Ok(Revision { commit, subject, description, newest_of })
            }
            Origin::Folder(folder) => {
                report(&format!("copying {}", folder.display()));
                let own = room.join(workspace::LAB).join(into.file_name().unwrap_or_default());
                let revision = folder::copy(&git, folder, into, &own)?;
                report(&format!("{} {}", revision.commit, revision.subject));
                Ok(revision)
            }
        }
    }

    /// The newest commit of `branch` in the repository at `address`; `None` where there is no such branch. Nothing is
    /// fetched.
    pub(super) fn newest(
        &self,
        address: &str,
        branch: &str,
        credential: Option<&Credential>,
    ) -> Result<Option<String>, CheckoutError> {
        check(branch)?;
        fs::create_dir_all(&self.mirrors)?;
        let git = Git {
            starter: &self.starter,
            search_path: &self.search_path,
            home: self.home.as_deref(),
            room: &self.mirrors,
            limits: LOOK_LIMITS,
            cancel: &Cancel::default(),
            borrowed: None,
            credential,
        };
        let words = ["ls-remote", "--", address, &format!("refs/heads/{branch}")];
        let result = git.call(&self.mirrors, true, &words)?;
        good(&git, &format!("ask {}", redacted(address)), &result, address)?;
        let commit =
            result.text.lines().find_map(|line| line.split_once('\t')).map(|(commit, _)| commit.to_owned());
        Ok(commit.filter(|commit| is_commit(commit)))
    }

    /// The commits that the commit `tip` of the repository at `address` has and `base` has not, the newest `most` of
    /// them, and how many there are, as far as the lab's own copy has both: nothing is fetched. `in_line`: of what was
    /// merged only the merge.
    pub fn commits_between(
        &self,
        address: &str,
        [base, tip]: [&str; 2],
        (most, in_line): (u32, bool),
        cancel: &Cancel,
    ) -> Result<Between, CheckoutError> {
        let mirror = mirror(&self.mirrors, address);
        let git = Git {
            starter: &self.starter,
            search_path: &self.search_path,
            home: None,
            room: &mirror,
            limits: LIST_LIMITS,
            cancel,
            borrowed: None,
            credential: None,
        };
        for commit in [base, tip] {
            let is_there = mirror.is_dir() && is_commit(commit) && resolved(&git, &mirror, commit)?.is_some();
            if !is_there {
                return Err(CheckoutError::Gone(commit.chars().filter(char::is_ascii_hexdigit).collect()));
            }
        }
        let line: &[&str] = if in_line { &["--first-parent"] } else { &[] };
        let count = |from: &str, to: &str, line: &[&str]| {
            let range = format!("{from}..{to}");
            let words = [&["rev-list", "--count"][..], line, &[range.as_str(), "--"][..]].concat();
            let text = run_git(&git, &mirror, "count the commits", &words)?;
            Ok::<u64, CheckoutError>(text.lines().find_map(|line| line.parse().ok()).unwrap_or(0))
        };
        let (ahead, behind) = (count(base, tip, line)?, count(tip, base, &[])?);
        let (most, range) = (format!("--max-count={most}"), format!("{base}..{tip}"));
        let words = [&["log", most.as_str(), ENCODING, COMMIT_FORMAT][..], line, &[range.as_str(), "--"][..]]
            .concat();
        let listed = run_git(&git, &mirror, "list the commits", &words)?;
        Ok(Between { commits: listed.split('\n').filter_map(description).collect(), ahead, behind })
    }

    /// Makes the mirror, if there is none yet.
    fn prepare(&self, git: &Git<'_>, mirror: &Path) -> Result<(), CheckoutError> {
        fs::create_dir_all(&self.mirrors)?;
        if mirror.join("HEAD").is_file() {
            return Ok(());
        }
        fs::create_dir_all(mirror)?;
        run_git(git, mirror, "make a mirror", &["init", "--quiet", "--bare", "--template=", "."])?;
        // Work folders take single commits from here.
        run_git(git, mirror, "make a mirror", &["config", "uploadpack.allowAnySHA1InWant", "true"])?;
        Ok(())
    }
}

/// The commit that `reference` names in the repository at `address`, which `mirror` has then.
fn find(
    git: &Git<'_>,
    mirror: &Path,
    address: &str,
    reference: &str,
    report: &mut dyn FnMut(&str),
) -> Result<String, CheckoutError> {
    check(reference)?;
    // A whole commit can't have become another one.
    if is_commit(reference)
        && let Some(commit) = resolved(git, mirror, reference)?
    {
        return Ok(commit);
    }
    report(&format!("fetching {}", redacted(address)));
    let heads = "+refs/heads/*:refs/heads/*";
    let tags = "+refs/tags/*:refs/tags/*";
    let words =
        ["fetch", "--quiet", "--prune", "--force", "--no-recurse-submodules", "--", address, heads, tags];
    let result = git.call(mirror, true, &words)?;
    good(git, &format!("fetch {}", redacted(address)), &result, address)?;
    for name in [format!("refs/heads/{reference}"), format!("refs/tags/{reference}")] {
        if let Some(commit) = resolved(git, mirror, &name)? {
            return Ok(commit);
        }
    }
    if is_hexadecimal(reference)
        && let Some(commit) = by_digits(git, mirror, &reference.to_ascii_lowercase())?
    {
        return Ok(commit);
    }
    Err(CheckoutError::Unknown { reference: reference.to_owned(), address: redacted(address) })
}

/// The commit that begins with `digits`.
fn by_digits(git: &Git<'_>, mirror: &Path, digits: &str) -> Result<Option<String>, CheckoutError> {
    if digits.len() >= LEAST_DIGITS_OF_GIT {
        let result = git.call(mirror, false, &["rev-parse", &format!("--disambiguate={digits}")])?;
        if !result.ended.is_good() {
            return Ok(None);
        }
        let mut commits = Vec::new();
        for name in result.text.lines().filter(|name| is_hexadecimal(name)) {
            // Files and folders have such names, too.
            commits.extend(resolved(git, mirror, name)?);
        }
        return one_of(commits, digits);
    }
    let listed = run_git(git, mirror, "list commits", &["rev-list", "--all"])?;
    one_of(listed.lines().filter(|commit| commit.starts_with(digits)).map(str::to_owned).collect(), digits)
}

fn one_of(mut commits: Vec<String>, digits: &str) -> Result<Option<String>, CheckoutError> {
    commits.sort_unstable();
    commits.dedup();
    if commits.len() > 1 {
        return Err(CheckoutError::Ambiguous(digits.to_owned()));
    }
    Ok(commits.pop())
}

/// The commit of an exact name.
fn resolved(git: &Git<'_>, mirror: &Path, name: &str) -> Result<Option<String>, CheckoutError> {
    let wanted = format!("{name}^{{commit}}");
    let result =
        git.call(mirror, false, &["rev-parse", "--verify", "--quiet", "--end-of-options", &wanted])?;
    let commit = result.text.trim();
    Ok((result.ended.is_good() && is_commit(commit)).then(|| commit.to_owned()))
}

/// Puts one commit of `mirror` into the new folder `into`, which then knows nothing else.
fn check_out(git: &Git<'_>, mirror: &Path, commit: &str, into: &Path) -> Result<(), CheckoutError> {
    fs::create_dir_all(into)?;
    let source = format!("file://{}", std::path::absolute(mirror)?.display());
    let steps: [&[&str]; 3] = [
        &["init", "--quiet", "--template=", "."],
        &["fetch", "--quiet", "--depth=1", "--no-tags", "--no-recurse-submodules", "--", &source, commit],
        &["checkout", "--quiet", "--detach", commit],
    ];
    for words in steps {
        run_git(git, into, &format!("check out {commit}"), words)?;
    }
    Ok(())
}

/// The output of a git call for `what`.
fn run_git(git: &Git<'_>, folder: &Path, what: &str, words: &[&str]) -> Result<String, CheckoutError> {
    let result = git.call(folder, false, words)?;
    good(git, what, &result, "")?;
    Ok(result.text)
}

/// An error, if it did not go well.
pub(super) fn good(
    git: &Git<'_>,
    what: &str,
    result: &GitResult,
    address: &str,
) -> Result<(), CheckoutError> {
    match result.ended {
        ended if ended.is_good() => Ok(()),
        Ended::Stopped(StopReason::Cancelled) => Err(CheckoutError::Cancelled),
        ended => {
            let text: String =
                without_secrets(&result.text, address).trim().chars().take(REASON_CHARS_MAX).collect();
            let output = if text.is_empty() { text } else { format!("\n{text}") };
            Err(CheckoutError::Git {
                what: what.to_owned(),
                how: ending::describe(ended, &git.limits),
                output,
            })
        }
    }
}

/// Whether `reference` can be nothing but a name (git-check-ref-format(1)).
fn check(reference: &str) -> Result<(), CheckoutError> {
    let is_hostile = reference.is_empty()
        || reference.starts_with(['-', '/', '.'])
        || ["..", "//", "@{"].iter().any(|part| reference.contains(part))
        || reference.chars().any(|c| c.is_control() || c.is_whitespace() || "~^:?*[\\".contains(c));
    let shown =
        || CheckoutError::Hostile(reference.chars().take(80).flat_map(char::escape_default).collect());
    if is_hostile { Err(shown()) } else { Ok(()) }
}

/// A commit as git describes it by [`COMMIT_FORMAT`].
pub(super) fn description(line: &str) -> Option<Commit> {
    let mut parts = line.trim_end_matches('\n').splitn(4, '\0');
    let commit = parts.next().filter(|commit| is_commit(commit))?;
    let (seconds, author, subject) = (parts.next()?, parts.next()?, parts.next()?);
    Some(Commit::new(commit, author, subject, seconds.parse().ok()))
}

fn is_hexadecimal(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Whether it is a whole commit, by SHA-1 or SHA-256.
pub(super) fn is_commit(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && is_hexadecimal(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cause_stands_in_the_first_line() {
        let error = CheckoutError::Git {
            what: "fetch /srv/a".to_owned(),
            how: "ended with exit code 128".to_owned(),
            output: "\nwarning: x\nfatal: detected dubious ownership in repository at '/srv/a'\nmore"
                .to_owned(),
        };
        let expected = "fetch /srv/a: git ended with exit code 128: detected dubious ownership in repository at '/srv/a'";
        assert_eq!(error.summary(), expected);
        assert_eq!(CheckoutError::Cancelled.summary(), "was cancelled");
    }

    #[test]
    fn descriptions_of_commits_are_read() {
        let hash = "0123456789012345678901234567890123456789";
        let found = description(&format!("{hash}\05\0Kim\0say \0 something\n"));
        assert_eq!(found, Some(Commit::new(hash, "Kim", "say  something", Some(5))));
        let undated = description(&format!("{hash}\0never\0\0"));
        assert_eq!(undated, Some(Commit::new(hash, "", "", None)));
        for other in ["", "\n", hash, "abc\x005\0Kim\0x", "warning: x\x005\0Kim\0x"] {
            assert_eq!(description(other), None, "{other:?}");
        }
    }

    #[test]
    fn hostile_references_are_refused() {
        for good in ["main", "v1.0", "feature/a-b", "abc", "0123456789012345678901234567890123456789"] {
            assert!(check(good).is_ok(), "{good}");
        }
        for hostile in
            ["", "-x", "--upload-pack=x", "a..b", "a b", "a\nb", "a\0b", "/a", ".a", "a@{1}", "HEAD~1", "a:b"]
        {
            let error = check(hostile).expect_err(hostile).to_string();
            assert!(!error.contains(['\n', '\0']), "{error}");
        }
    }
}
