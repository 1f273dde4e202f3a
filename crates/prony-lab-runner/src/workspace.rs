//! The folder of one build: its files, its home, its temporary files. Gone when the build is.

use std::ffi::OsString;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use prony_supervisor::ConfinedFolder;

/// Nobody but the builds' user looks into it.
const MODE: u32 = 0o700;
/// What the lab itself puts there while builds run: commands of a build don't see it.
pub(super) const LAB: &str = "lab";
/// What sandboxes show of a workspace.
const SHOWN: [&str; 5] = ["source", "base", "home", "tmp", LAB];

/// A folder of its own for one build.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workspace {
    path: PathBuf,
    /// The user who gets what the lab makes here, where that is not the lab's own.
    owner: Option<u32>,
}

impl Workspace {
    /// Makes the workspace `name` in `parent`, empty, for `owner` if that is not the lab's user; what is left of an
    /// earlier one is removed.
    pub fn make(parent: &Path, name: &str, owner: Option<u32>) -> io::Result<Self> {
        let workspace = Self { path: std::path::absolute(parent)?.join(name), owner };
        workspace.remove()?;
        let lab = workspace.path.join(LAB);
        for folder in [&workspace.path, &workspace.home(), &workspace.tmp(), &lab] {
            DirBuilder::new().recursive(true).mode(MODE).create(folder)?;
            if let Some(owner) = owner {
                std::os::unix::fs::lchown(folder, Some(owner), Some(owner))?;
            }
        }
        if let (Some(owner), Ok(below)) = (owner, workspace.path.strip_prefix("/tmp")) {
            // A sandbox has a /tmp of its own, and shows the workspace in there: as its user can't make these.
            for name in SHOWN {
                fs::create_dir_all(workspace.tmp().join(below).join(name))?;
            }
            ConfinedFolder::open(&workspace.tmp())?.give_to(owner)?;
        }
        Ok(workspace)
    }

    /// All of it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What builds have for the home of their user.
    pub fn home(&self) -> PathBuf {
        self.path.join("home")
    }

    /// For temporary files.
    pub fn tmp(&self) -> PathBuf {
        self.path.join("tmp")
    }

    /// All of it, for the lab to read and write in: a build may have made links there.
    pub fn open(&self) -> io::Result<ConfinedFolder> {
        Ok(ConfinedFolder::open(&self.path)?.for_owner(self.owner))
    }

    /// Gives everything in it to the user of the builds.
    pub(super) fn hand_over(&self) -> io::Result<()> {
        self.owner.map_or(Ok(()), |owner| self.open()?.give_to(owner))
    }

    /// All of the environment of what runs here, with `own` at the end. Nothing of the lab's own environment is in it:
    /// that may hold secrets.
    pub fn environment(&self, search_path: &str, own: &[(&str, String)]) -> Vec<(OsString, OsString)> {
        let pair = |name: &str, value: &dyn AsRef<Path>| (name.into(), value.as_ref().as_os_str().to_owned());
        let mut all: Vec<(OsString, OsString)> = vec![
            ("PATH".into(), search_path.into()),
            pair("HOME", &self.home()),
            pair("TMPDIR", &self.tmp()),
            ("LANG".into(), "C.UTF-8".into()),
            // What most tools take for: no colours, no questions.
            ("CI".into(), "true".into()),
            ("TERM".into(), "dumb".into()),
        ];
        all.extend(own.iter().map(|(name, value)| (OsString::from(name), OsString::from(value))));
        all
    }

    /// Removes it with everything in it, whatever a build did to that.
    pub fn remove(&self) -> io::Result<()> {
        remove(&self.path)
    }
}

/// Removes `folder`, if it is there.
pub(crate) fn remove(folder: &Path) -> io::Result<()> {
    // The tools of the system go down to any depth; the standard library calls itself for each folder.
    for (program, arguments) in
        [("rm", &["-rf", "--"][..]), ("chmod", &["-R", "u+rwX", "--"]), ("rm", &["-rf", "--"])]
    {
        if fs::symlink_metadata(folder).is_err() {
            return Ok(());
        }
        Command::new(program)
            .args(arguments)
            .arg(folder)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()?;
    }
    match fs::symlink_metadata(folder) {
        Ok(_) => Err(io::Error::other(format!("{} can't be removed", folder.display()))),
        Err(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_room_is_made_empty_and_removed_with_what_resists() {
        let parent = tempfile::tempdir().expect("room");
        let room = Workspace::make(parent.path(), "7", None).expect("room");
        let locked = room.path().join("source/locked");
        fs::create_dir_all(&locked).expect("room");
        fs::write(locked.join("file"), "text").expect("room");
        fs::set_permissions(&locked, fs::Permissions::from_mode(0o0)).expect("ours");
        let again = Workspace::make(parent.path(), "7", None).expect("room");
        assert!(!again.path().join("source").exists() && again.tmp().exists());
        assert_eq!(fs::metadata(again.path()).expect("there").permissions().mode() & 0o777, 0o700);
        again.remove().expect("it goes");
        assert!(!again.path().exists());
        again.remove().expect("nothing to do");
    }

    #[test]
    fn the_environment_is_made_from_nothing() {
        let room = Workspace { path: PathBuf::from("/srv/lab/7"), owner: None };
        let all = room.environment("/bin", &[("PRONY_COMMIT", "abc".to_owned())]);
        let names: Vec<_> = all.iter().map(|(name, _)| name.to_str().expect("ASCII")).collect();
        assert_eq!(names, ["PATH", "HOME", "TMPDIR", "LANG", "CI", "TERM", "PRONY_COMMIT"]);
        assert_eq!(all[1].1, "/srv/lab/7/home");
    }
}
