//! Files in folders that a build could write to.
//!
//! The lab runs with rights that builds don't have, so it must never follow a link that one of them made: not at the end
//! of a path, not on the way to it. Every path is resolved by openat2(2) below an open folder, without any link.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Gid, Mode, OFlags, ResolveFlags, Stat, Uid, chownat, fchown, fstat, mkdirat,
    openat2, readlinkat, statat, symlinkat,
};

/// No `..` out of the folder, no link of any kind, none of /proc either.
const RESOLVE: ResolveFlags =
    ResolveFlags::BENEATH.union(ResolveFlags::NO_SYMLINKS).union(ResolveFlags::NO_MAGICLINKS);
/// A pipe in the place of a file must not make anybody wait.
const OPEN: OFlags = OFlags::CLOEXEC.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK);

/// An open folder below which no link is followed.
#[derive(Debug)]
pub struct ConfinedFolder {
    folder: OwnedFd,
    /// Who gets what is made here.
    owner: Option<u32>,
}

/// What is in a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its name.
    pub name: String,
    /// What it is; a link is one.
    pub kind: FileType,
    /// Its length.
    pub size_bytes: u64,
}

impl ConfinedFolder {
    /// Opens `path`, which itself must be a folder, not a link; what leads to it is the lab's.
    pub fn open(path: &Path) -> io::Result<Self> {
        let flags = OPEN | OFlags::DIRECTORY;
        Ok(Self { folder: rustix::fs::openat(CWD, path, flags, Mode::empty())?, owner: None })
    }

    /// The same, where what is made belongs to the user `owner`, and to the group of that number.
    #[must_use]
    pub fn for_owner(self, owner: Option<u32>) -> Self {
        Self { owner, ..self }
    }

    /// Opens the folder `path` in this one.
    pub fn folder(&self, path: impl AsRef<Path>) -> io::Result<Self> {
        let folder = self.open_at(path.as_ref(), OFlags::DIRECTORY, Mode::empty())?;
        Ok(Self { folder, owner: self.owner })
    }

    /// Makes the folder `path`, which must not be there yet.
    pub fn make_folder(&self, path: impl AsRef<Path>) -> io::Result<Self> {
        let path = path.as_ref();
        let name = path.file_name().ok_or_else(|| io::Error::other("it has no name"))?;
        match path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
            Some(parent) => mkdirat(&self.folder(parent)?.folder, name, Mode::RWXU)?,
            None => mkdirat(&self.folder, name, Mode::RWXU)?,
        }
        let made = self.folder(path)?;
        give(&made.folder, self.owner)?;
        Ok(made)
    }

    /// Opens the folder `path`; what is missing of it is made.
    pub fn make_folders(&self, path: impl AsRef<Path>) -> io::Result<Self> {
        let path = path.as_ref();
        match self.folder(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
                    self.make_folders(parent)?;
                }
                self.make_folder(path)
            }
            opened => opened,
        }
    }

    /// Makes the link `name` to `target` in this folder, where nothing may be yet.
    pub fn make_link(&self, name: &OsStr, target: &Path) -> io::Result<()> {
        Ok(symlinkat(target, &self.folder, name)?)
    }

    /// Writes the file `path`, which must not be there yet.
    pub fn write_new(&self, path: impl AsRef<Path>, bytes: &[u8]) -> io::Result<()> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL;
        let file = self.open_at(path.as_ref(), flags, Mode::RUSR | Mode::WUSR)?;
        give(&file, self.owner)?;
        File::from(file).write_all(bytes)
    }

    /// What is in the plain file `path`, of which there may be `most` bytes.
    pub fn read(&self, path: impl AsRef<Path>, most: u64) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.open_file(path)?.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > most {
            return Err(io::Error::new(
                io::ErrorKind::FileTooLarge,
                format!("it is longer than {most} bytes"),
            ));
        }
        Ok(bytes)
    }

    /// Opens the plain file `path` for reading.
    pub fn open_file(&self, path: impl AsRef<Path>) -> io::Result<File> {
        let file = self.open_at(path.as_ref(), OFlags::RDONLY, Mode::empty())?;
        if FileType::from_raw_mode(fstat(&file)?.st_mode) != FileType::RegularFile {
            return Err(io::Error::other("it is no plain file"));
        }
        Ok(file.into())
    }

    /// Where the link `path` leads to, which is not followed.
    pub fn link_text(&self, path: impl AsRef<Path>) -> io::Result<Vec<u8>> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let link = openat2(&self.folder, path.as_ref(), flags, Mode::empty(), RESOLVE)?;
        Ok(readlinkat(link, "", Vec::new())?.into_bytes())
    }

    /// What the folder holds, by name; names that are no text are left out.
    pub fn entries(&self) -> io::Result<Vec<Entry>> {
        let mut entries = Vec::new();
        self.visit(|name, stat| {
            if let Ok(name) = str::from_utf8(name) {
                entries.push(Entry {
                    name: name.to_owned(),
                    kind: FileType::from_raw_mode(stat.st_mode),
                    size_bytes: u64::try_from(stat.st_size).unwrap_or_default(),
                });
            }
            true
        })?;
        entries.sort_unstable_by(|one, other| one.name.cmp(&other.name));
        Ok(entries)
    }

    /// Goes through what the folder holds until `visit` returns false. What vanishes meanwhile is left out.
    pub fn visit(&self, mut visit: impl FnMut(&[u8], &Stat) -> bool) -> io::Result<()> {
        for entry in Dir::read_from(self.folder.as_fd())? {
            let entry = entry?;
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            let Ok(stat) = statat(&self.folder, name, AtFlags::SYMLINK_NOFOLLOW) else { continue };
            if !visit(name.to_bytes(), &stat) {
                break;
            }
        }
        Ok(())
    }

    /// Gives everything in it, and itself, to the user `owner`. Links are given, not followed.
    pub fn give_to(&self, owner: u32) -> io::Result<()> {
        give(&self.folder, Some(owner))?;
        let (user, group) = (Some(Uid::from_raw(owner)), Some(Gid::from_raw(owner)));
        let mut folders = vec![PathBuf::from(".")];
        while let Some(path) = folders.pop() {
            let (inner, mut failed) = (self.folder(&path)?, None);
            inner.visit(|name, stat| {
                let name = OsStr::from_bytes(name);
                let given = chownat(&inner.folder, name, user, group, AtFlags::SYMLINK_NOFOLLOW);
                failed = given.err();
                if FileType::from_raw_mode(stat.st_mode) == FileType::Directory {
                    folders.push(path.join(name));
                }
                failed.is_none()
            })?;
            if let Some(error) = failed {
                return Err(error.into());
            }
        }
        Ok(())
    }

    fn open_at(&self, path: &Path, flags: OFlags, mode: Mode) -> io::Result<OwnedFd> {
        openat2(&self.folder, path, OPEN | flags, mode, RESOLVE).map_err(|error| match error {
            rustix::io::Errno::LOOP => io::Error::other("a link is in its way, which is not followed"),
            rustix::io::Errno::XDEV => io::Error::other("it leads out of its folder"),
            error => error.into(),
        })
    }
}

fn give(file: &OwnedFd, owner: Option<u32>) -> io::Result<()> {
    let Some(owner) = owner else { return Ok(()) };
    Ok(fchown(file, Some(Uid::from_raw(owner)), Some(Gid::from_raw(owner)))?)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn no_link_of_any_kind_is_followed() {
        let room = tempfile::tempdir().expect("room");
        let (files, outside) = (room.path().join("files"), room.path().join("outside"));
        for folder in [&files, &outside, &files.join("inner")] {
            fs::create_dir(folder).expect("room");
        }
        fs::write(outside.join("secret"), "secret").expect("room");
        fs::write(files.join("inner/own"), "own").expect("room");
        symlink(&outside, files.join("folder")).expect("room");
        symlink(outside.join("secret"), files.join("file")).expect("room");
        symlink("inner", files.join("near")).expect("room");
        symlink("/proc/self/root", files.join("magic")).expect("room");
        let confined = ConfinedFolder::open(&files).expect("a folder");
        for path in
            ["file", "folder/secret", "near/own", "magic/etc/passwd", "../outside/secret", "/etc/passwd"]
        {
            assert!(confined.read(path, 1000).is_err(), "{path}");
        }
        for path in ["file", "folder/new", "near/new", "../outside/new", "inner/own"] {
            assert!(confined.write_new(path, b"x").is_err(), "{path}");
        }
        for path in ["folder", "near", "folder/new", "../outside/new", "inner"] {
            assert!(confined.make_folder(path).is_err(), "{path}");
        }
        assert!(confined.folder("folder").is_err() && ConfinedFolder::open(&files.join("folder")).is_err());
        assert_eq!(confined.read("inner/own", 3).expect("plain"), b"own");
        assert!(confined.read("inner/own", 2).is_err(), "too long");
        confined.make_folder("inner/new").and_then(|new| new.write_new("file", b"new")).expect("fresh");
        assert_eq!(fs::read_to_string(files.join("inner/new/file")).expect("there"), "new");
        let names: Vec<_> = fs::read_dir(&outside).expect("there").flatten().collect();
        assert_eq!(names.len(), 1, "{names:?}");
    }

    #[test]
    fn folders_and_links_are_made_where_nothing_is() {
        let room = tempfile::tempdir().expect("room");
        let outside = tempfile::tempdir().expect("room");
        let confined = ConfinedFolder::open(room.path()).expect("a folder");
        for _ in 0..2 {
            confined.make_folders("a/b/c").expect("made, or there");
        }
        symlink(outside.path(), room.path().join("a/link")).expect("room");
        fs::write(room.path().join("a/file"), "").expect("room");
        for path in ["a/link", "a/link/new", "a/file", "a/file/new", "../new", "/new"] {
            assert!(confined.make_folders(path).is_err(), "{path}");
        }
        assert!(fs::read_dir(outside.path()).expect("there").next().is_none());
        let inner = confined.folder("a/b").expect("there");
        inner.make_link(OsStr::new("new"), Path::new("/nowhere")).expect("made");
        assert_eq!(inner.link_text("new").expect("a link"), b"/nowhere");
        assert!(inner.make_link(OsStr::new("c"), Path::new("/nowhere")).is_err(), "it is there");
    }

    #[test]
    fn nobody_waits_for_a_pipe() {
        let room = tempfile::tempdir().expect("room");
        let made = std::process::Command::new("mkfifo").arg(room.path().join("pipe")).status();
        assert!(made.is_ok_and(|status| status.success()));
        let confined = ConfinedFolder::open(room.path()).expect("a folder");
        assert_eq!(confined.read("pipe", 10).expect_err("no file").to_string(), "it is no plain file");
        assert_eq!(confined.entries().expect("read")[0].kind, FileType::Fifo);
    }
}
