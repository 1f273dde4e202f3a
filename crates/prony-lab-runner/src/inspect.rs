//! Inspects what may become a project: fetches its files, as a build would, and reads those few that show how it is built.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use prony_supervisor::{Cancel, ConfinedFolder, Limits, POLL_INTERVAL};

use super::checkout::{CheckoutError, Fetcher};
use super::workspace;
use prony_lab_core::lab::Inspect;
use prony_lab_model::{Origin, Proposal, project_files};

/// A lock file may be long; it is its name that counts.
const FILE_BYTES_MAX: u64 = 1 << 20;
/// What fetching may use. Somebody waits for it at a page.
const LIMITS: Limits = Limits {
    time: Duration::from_mins(2),
    grace: Duration::from_secs(2),
    memory_bytes: 2 << 30,
    disk_bytes: 4 << 30,
    output_bytes: 1 << 20,
    processes: 64,
    poll_interval: POLL_INTERVAL,
};

/// Looks into repositories and folders, one at a time.
pub(super) struct Inspector {
    fetcher: Fetcher,
    /// Where files are put for the moment.
    folder: PathBuf,
    turn: Mutex<()>,
}

/// Why nothing can be proposed.
#[derive(Debug, thiserror::Error)]
pub(super) enum InspectError {
    /// Another one is being inspected.
    #[error("somebody else has the lab look into a project now: try again in a minute")]
    Busy,
    /// There are no files.
    #[error("{0}")]
    Checkout(String),
    /// The file system.
    #[error("can't read it ({0}): check that the lab's user may")]
    Io(#[from] io::Error),
}

impl From<CheckoutError> for InspectError {
    fn from(error: CheckoutError) -> Self {
        Self::Checkout(error.summary())
    }
}

impl Inspector {
    pub(super) fn new(fetcher: Fetcher, folder: PathBuf) -> Self {
        Self { fetcher, folder, turn: Mutex::default() }
    }

    fn inspect(&self, origin: &Origin, branch: &str) -> Result<Proposal, InspectError> {
        let Ok(_turn) = self.turn.try_lock() else { return Err(InspectError::Busy) };
        let files = match origin {
            // Nothing is copied for it.
            Origin::Folder(path) => read_project_files(path)?,
            Origin::Repository(_) => {
                workspace::remove(&self.folder)?;
                std::fs::create_dir_all(&self.folder)?;
                let into = self.folder.join("files");
                let limits = (self.folder.as_path(), LIMITS, &Cancel::default());
                let fetched = self.fetcher.fetch(origin, branch, &into, limits, None, &mut |_| {});
                let files = fetched.map_err(InspectError::from).and_then(|_| Ok(read_project_files(&into)?));
                workspace::remove(&self.folder)?;
                files?
            }
        };
        Ok(Proposal::of(origin, branch, &files))
    }
}

impl Inspect for Inspector {
    fn inspect_blocking(&self, origin: &Origin, branch: &str) -> Result<Proposal, String> {
        self.inspect(origin, branch).map_err(|error| error.to_string())
    }
}

/// Those of the files in `folder` that show how it is built. No link is followed: who wrote them may want the lab's.
fn read_project_files(folder: &Path) -> io::Result<BTreeMap<String, String>> {
    let folder = ConfinedFolder::open(folder)?;
    let read = |name: &'static str| {
        let bytes = folder.read(name, FILE_BYTES_MAX).ok()?;
        Some((name.to_owned(), String::from_utf8_lossy(&bytes).into_owned()))
    };
    Ok(project_files().filter_map(read).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_shows_nothing_of_the_lab() {
        let folder = tempfile::tempdir().expect("a folder");
        let (secret, project) = (folder.path().join("secret"), folder.path().join("project"));
        std::fs::create_dir(&project).expect("room");
        std::fs::write(&secret, "[package]\nname = \"secret\"").expect("room");
        std::os::unix::fs::symlink(&secret, project.join("Cargo.toml")).expect("room");
        std::fs::write(project.join("go.mod"), "module x").expect("room");
        let found = read_project_files(&project).expect("read");
        assert_eq!(found.into_keys().collect::<Vec<_>>(), ["go.mod"]);
    }
}
