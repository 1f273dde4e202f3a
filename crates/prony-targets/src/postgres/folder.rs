//! The folder of one PostgreSQL: its data, its socket and its log.
//!
//! A process that uses a folder holds a lock on it (flock), which the kernel lets go when the process ends, however it
//! ends. So a folder without a lock is one that a killed process has left.

use std::fs::{self, DirBuilder, File};
use std::io::{self, ErrorKind, Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, chown};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use rustix::process::geteuid;

use super::PostgresError;
use super::owner::Owner;

/// The beginning of every folder's name.
const PREFIX: &str = "prony-postgres-";
/// Names tried for a new folder; a process has as many databases at once at most.
const NAME_LIMIT: u32 = 1000;
/// Left folders removed by one start.
const SWEEP_LIMIT: usize = 100;
/// A socket's path has 107 bytes at most (unix(7)), of which `/.s.PGSQL.5432` takes 14.
const PATH_LIMIT_BYTES: usize = 107 - 14;
/// How much of the log is reported when something went wrong: a few lines.
const LAST_WORDS_BYTES: u64 = 600;

/// A folder that is locked, and gone when it is dropped.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
    /// Holds the lock.
    _lock: File,
}

impl Folder {
    /// A new folder in `parent` that `owner` and nobody else can enter, after those that were left there are gone.
    pub(super) fn make(parent: &Path, owner: Option<Owner>) -> Result<Self, PostgresError> {
        let fault = |source| PostgresError::Folder { path: parent.to_owned(), source };
        // Its programs are run from another folder, where a relative path would mean something else.
        let parent = std::path::absolute(parent).map_err(fault)?;
        sweep(&parent, owner);
        let process = std::process::id();
        for number in 0..NAME_LIMIT {
            let path = parent.join(format!("{PREFIX}{process}-{number}"));
            if path.as_os_str().len() > PATH_LIMIT_BYTES {
                return Err(PostgresError::PathTooLong { path });
            }
            match DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => {}
                Err(error) if error.kind() == ErrorKind::AlreadyExists => continue,
                Err(error) => return Err(fault(error)),
            }
            if let Some(lock) = lock(&path) {
                if let Some(owner) = owner {
                    chown(&path, Some(owner.user), Some(owner.group)).map_err(fault)?;
                }
                return Ok(Self { path, _lock: lock });
            }
            // Somebody took it for one that was left, before it was locked: the next one, then.
        }
        Err(fault(ErrorKind::AlreadyExists.into()))
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Where its programs write their log.
    pub(super) fn log(&self) -> Result<File, PostgresError> {
        let opened = File::options().append(true).create(true).open(self.path.join("log"));
        opened.map_err(|source| self.fault(source))
    }

    /// The end of the log, on one line.
    pub(super) fn last_words(&self) -> String {
        let read = || -> io::Result<Vec<u8>> {
            let mut file = File::open(self.path.join("log"))?;
            let length = file.metadata()?.len();
            file.seek(SeekFrom::Start(length.saturating_sub(LAST_WORDS_BYTES)))?;
            let mut end = Vec::new();
            file.take(LAST_WORDS_BYTES).read_to_end(&mut end)?;
            Ok(end)
        };
        // A log that can't be read counts as empty.
        let end = read().unwrap_or_default();
        let words = String::from_utf8_lossy(&end).split_whitespace().collect::<Vec<_>>().join(" ");
        if words.is_empty() { "nothing".to_owned() } else { words }
    }

    pub(super) fn fault(&self, source: io::Error) -> PostgresError {
        PostgresError::Folder { path: self.path.clone(), source }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What can't be removed now is removed by the next start.
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// Removes folders that killed processes have left: ours or the owner's, and not locked.
fn sweep(parent: &Path, owner: Option<Owner>) {
    let users = [Some(geteuid().as_raw()), owner.map(|owner| owner.user)];
    // What can't be read or removed stays, and harms nobody.
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    let ours = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(PREFIX));
    for entry in ours.take(SWEEP_LIMIT) {
        let Some(lock) = lock(&entry.path()) else { continue };
        if lock.metadata().is_ok_and(|found| users.contains(&Some(found.uid()))) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Locks a folder; `None` if another has, or if it is no folder, or not there any more.
fn lock(path: &Path) -> Option<File> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder = File::from(rustix::fs::open(path, flags, Mode::empty()).ok()?);
    folder.try_lock().ok()?;
    // Between the two calls it may have been removed, and another have taken its name.
    let (mine, now) = (folder.metadata().ok()?, fs::symlink_metadata(path).ok()?);
    ((mine.dev(), mine.ino()) == (now.dev(), now.ino())).then_some(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_that_nobody_holds_are_removed_by_the_next_start() {
        let parent = std::env::temp_dir().join(format!("prony-sweep-{}", std::process::id()));
        fs::create_dir_all(&parent).unwrap();
        let held = Folder::make(&parent, None).unwrap();
        let left = parent.join(format!("{PREFIX}0-0"));
        fs::create_dir_all(left.join("data")).unwrap();
        let other = parent.join("something-else");
        fs::create_dir(&other).unwrap();
        let second = Folder::make(&parent, None).unwrap();
        assert!(held.path().is_dir() && second.path().is_dir() && held.path() != second.path());
        assert!(!left.exists() && other.exists());
        let path = held.path().to_owned();
        drop(held);
        assert!(!path.exists());
        drop(second);
        fs::remove_dir_all(&parent).unwrap();
    }

    #[test]
    fn the_last_words_are_one_line_and_short() {
        let parent = std::env::temp_dir().join(format!("prony-words-{}", std::process::id()));
        fs::create_dir_all(&parent).unwrap();
        let folder = Folder::make(&parent, None).unwrap();
        assert_eq!(folder.last_words(), "nothing");
        let text = "x".repeat(2000) + "\nFATAL:  a\n  b\n";
        fs::write(folder.path().join("log"), text).unwrap();
        let words = folder.last_words();
        assert!(words.ends_with("x FATAL: a b") && words.len() < 700, "{words}");
        drop(folder);
        fs::remove_dir_all(&parent).unwrap();
    }

    #[test]
    fn a_name_too_long_for_a_socket_is_refused() {
        let parent = PathBuf::from(format!("/{}", "x".repeat(PATH_LIMIT_BYTES)));
        assert!(matches!(Folder::make(&parent, None), Err(PostgresError::PathTooLong { .. })));
    }
}
