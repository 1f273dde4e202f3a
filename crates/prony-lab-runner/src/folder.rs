//! The files of a project that is a folder of this machine: copied, and asked what they are without any of their settings.
//!
//! Anyone who can write in the folder could write into its `.git`, too, and have git run programs: filters, hooks, monitors of
//! files. So the lab calls git with a repository of its own, which is empty but for its settings, and lends it the objects
//! of the copy alone.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use prony_supervisor::{ConfinedFolder, FileType};
use sha2::{Digest as _, Sha256};

use super::checkout::{COMMIT_FORMAT, CheckoutError, ENCODING, Revision, description, good, is_commit};
use super::git::Git;
use prony_lab_model::Commit;

/// HEAD, a branch: one line.
const REFERENCE_BYTES_MAX: u64 = 4 << 10;
/// All references of a large repository.
const PACKED_BYTES_MAX: u64 = 64 << 20;
/// References that lead to references.
const STEPS_MAX: usize = 5;

/// Copies `folder` to the new folder `into`, and returns its revision. `own` is a new folder for the lab's own repository.
pub(super) fn copy(git: &Git<'_>, folder: &Path, into: &Path, own: &Path) -> Result<Revision, CheckoutError> {
    if !folder.is_dir() {
        let words =
            format!("{} is no folder: correct `folder` in the definition of the project", folder.display());
        return Err(io::Error::new(io::ErrorKind::NotFound, words).into());
    }
    let what = format!("copy {}", folder.display());
    let words =
        ["cp", "-R", "-P", "--preserve=mode,timestamps,links", "--reflink=auto", "--"].map(OsString::from);
    let paths = [folder.join("."), into.to_owned()].map(PathBuf::into_os_string);
    std::fs::create_dir_all(into)?;
    good(git, &what, &git.other(git.room, words.into_iter().chain(paths).collect())?, "")?;
    let files = ConfinedFolder::open(into)?;
    if let Some(commit) = head(&files)
        && let Some(found) = description_if_unchanged(git, into, own, &commit)?
    {
        let subject = found.subject.clone();
        return Ok(Revision { commit, subject, description: Some(found), newest_of: Vec::new() });
    }
    Ok(Revision {
        commit: digest(&files)?,
        subject: "(digest of the files: they are no commit)".to_owned(),
        description: None,
        newest_of: Vec::new(),
    })
}

/// The commit that the copied repository is at. None where it borrows objects from elsewhere: it could borrow those of
/// somebody else's.
fn head(files: &ConfinedFolder) -> Option<String> {
    let git = files.folder(".git").ok()?;
    if git.read("objects/info/alternates", REFERENCE_BYTES_MAX).is_ok() {
        return None;
    }
    let text = |name: &str| {
        String::from_utf8(git.read(name, REFERENCE_BYTES_MAX).ok()?).ok().map(|text| text.trim().to_owned())
    };
    let mut found = text("HEAD")?;
    for _ in 0..STEPS_MAX {
        let Some(name) = found.strip_prefix("ref: ") else { break };
        let name = name.trim().to_owned();
        found = text(&name).or_else(|| packed(&git, &name))?;
    }
    is_commit(&found).then_some(found)
}

/// What the reference `name` is among those that are packed into one file (git-pack-refs(1)).
fn packed(git: &ConfinedFolder, name: &str) -> Option<String> {
    let all = String::from_utf8(git.read("packed-refs", PACKED_BYTES_MAX).ok()?).ok()?;
    let mut lines = all.lines().filter_map(|line| line.split_once(' '));
    lines.find(|(_, found)| *found == name).map(|(commit, _)| commit.to_owned())
}

/// What git knows of `commit`, if the files of `into` are those of it and nothing else.
fn description_if_unchanged(
    git: &Git<'_>,
    into: &Path,
    own: &Path,
    commit: &str,
) -> Result<Option<Commit>, CheckoutError> {
    std::fs::create_dir_all(own)?;
    let init = git.call(own, false, &["init", "--quiet", "--bare", "--template=", "."])?;
    good(git, "look at the folder", &init, "")?;
    let git = Git { borrowed: Some((own, into)), ..*git };
    for words in [
        &["update-ref", "--no-deref", "HEAD", commit][..],
        &["read-tree", commit],
        &["status", "--porcelain", "--ignore-submodules=none", "--untracked-files=all"],
    ] {
        let result = git.call(into, false, words)?;
        // Objects that are missing, a tree that can't be read: then it is no commit.
        if !result.ended.is_good() || !result.text.is_empty() {
            return Ok(None);
        }
    }
    let result = git.call(into, false, &["log", "-1", ENCODING, COMMIT_FORMAT, commit])?;
    Ok(result.text.split('\n').find_map(description).filter(|_| result.ended.is_good()))
}

/// A digest of all files in `folder` but for those of git: their names, what may be done with them, and what is in them.
fn digest(folder: &ConfinedFolder) -> io::Result<String> {
    let (mut files, mut folders) = (Vec::new(), vec![PathBuf::from(".")]);
    while let Some(path) = folders.pop() {
        folder.folder(&path)?.visit(|name, stat| {
            let inner = path.join(std::ffi::OsStr::from_bytes(name));
            match FileType::from_raw_mode(stat.st_mode) {
                FileType::Directory if name != b".git" => folders.push(inner),
                FileType::RegularFile | FileType::Symlink => files.push((inner, stat.st_mode)),
                _ => {}
            }
            true
        })?;
    }
    files.sort_unstable();
    let mut all = Sha256::new();
    for (path, mode) in files {
        let name = path.strip_prefix(".").unwrap_or(&path).as_os_str().as_bytes();
        let is_link = FileType::from_raw_mode(mode) == FileType::Symlink;
        let mut content = Sha256::new();
        if is_link {
            content.update(folder.link_text(&path)?);
        } else {
            io::copy(&mut folder.open_file(&path)?, &mut Digesting(&mut content))?;
        }
        all.update((name.len() as u64).to_le_bytes());
        all.update(name);
        all.update([u8::from(mode & 0o100 != 0), u8::from(is_link)]);
        all.update(content.finalize());
    }
    let mut text = String::new();
    for byte in all.finalize() {
        write!(text, "{byte:02x}").expect("invariant: texts grow");
    }
    Ok(text)
}

/// A digest that can be written to.
struct Digesting<'a>(&'a mut Sha256);

impl io::Write for Digesting<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_digest_is_of_names_and_contents_and_nothing_else() {
        let folder = tempfile::tempdir().expect("room");
        let path = folder.path();
        let now = || digest(&ConfinedFolder::open(path).expect("a folder")).expect("it can be read");
        fs::create_dir(path.join("a")).expect("room");
        fs::write(path.join("a/file"), "text").expect("room");
        let first = now();
        assert!(is_commit(&first), "{first}");
        fs::create_dir(path.join(".git")).expect("room");
        fs::write(path.join(".git/HEAD"), "text").expect("room");
        assert_eq!(now(), first);
        fs::write(path.join("a/file"), "other").expect("room");
        let other = now();
        fs::rename(path.join("a/file"), path.join("a/name")).expect("room");
        let renamed = now();
        fs::set_permissions(path.join("a/name"), fs::Permissions::from_mode(0o755)).expect("ours");
        let runnable = now();
        std::os::unix::fs::symlink("/nowhere", path.join("link")).expect("room");
        let all = [first, other, renamed, runnable, now()];
        let different: std::collections::BTreeSet<_> = all.iter().collect();
        assert_eq!(different.len(), all.len());
    }

    #[test]
    fn the_commit_of_a_folder_is_read_without_git() {
        let folder = tempfile::tempdir().expect("room");
        let git = folder.path().join(".git");
        fs::create_dir_all(git.join("refs/heads")).expect("room");
        let check = |expected: Option<&str>| {
            let files = ConfinedFolder::open(folder.path()).expect("a folder");
            assert_eq!(head(&files).as_deref(), expected);
        };
        check(None);
        let (one, two) = ("1".repeat(40), "2".repeat(40));
        fs::write(git.join("HEAD"), "ref: refs/heads/main\n").expect("room");
        check(None);
        fs::write(git.join("packed-refs"), format!("# pack-refs\n{two} refs/heads/main\n")).expect("room");
        check(Some(&two));
        fs::write(git.join("refs/heads/main"), format!("{one}\n")).expect("room");
        check(Some(&one));
        fs::write(git.join("HEAD"), "ref: HEAD\n").expect("room");
        check(None);
        fs::write(git.join("HEAD"), format!("{one}\n")).expect("room");
        fs::create_dir_all(git.join("objects/info")).expect("room");
        fs::write(git.join("objects/info/alternates"), "/somebody/else\n").expect("room");
        check(None);
    }
}
