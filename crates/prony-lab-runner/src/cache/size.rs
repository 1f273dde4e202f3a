//! How much a cache holds.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use prony_supervisor::{ConfinedFolder, FileType};

/// A cache with more files is emptied: to copy or remove it would take longer than to fill it.
const FILES_MAX: usize = 500_000;
/// Blocks in which stat(2) counts, bytes.
const BLOCK_BYTES: u64 = 512;

/// The bytes on the disk of everything in `folder`, no link followed. An error where something of it can't be read, or
/// there are more than [`FILES_MAX`] files: anyone who filled it may want to hide how much that is.
pub(super) fn size_bytes(folder: &Path) -> io::Result<u64> {
    let root = ConfinedFolder::open(folder)?;
    let (mut bytes, mut files) = (0_u64, 0_usize);
    let mut folders = vec![PathBuf::from(".")];
    while let Some(path) = folders.pop() {
        root.folder(&path)?.visit(|name, stat| {
            files += 1;
            let blocks = u64::try_from(stat.st_blocks).unwrap_or_default();
            bytes = bytes.saturating_add(blocks.saturating_mul(BLOCK_BYTES));
            if FileType::from_raw_mode(stat.st_mode) == FileType::Directory {
                folders.push(path.join(OsStr::from_bytes(name)));
            }
            files <= FILES_MAX
        })?;
        if files > FILES_MAX {
            return Err(io::Error::other(format!("it has more than {FILES_MAX} files")));
        }
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    #[test]
    fn links_lead_nowhere_and_nothing_hides() {
        let (room, outside) = (tempfile::tempdir().expect("room"), tempfile::tempdir().expect("room"));
        fs::write(outside.path().join("large"), vec![1; 4 << 20]).expect("room");
        symlink(outside.path(), room.path().join("link")).expect("room");
        symlink(outside.path().join("large"), room.path().join("file-link")).expect("room");
        fs::create_dir_all(room.path().join("a/b")).expect("room");
        fs::write(room.path().join("a/b/file"), vec![1; 1 << 20]).expect("room");
        let size = size_bytes(room.path()).expect("read");
        assert!(((1 << 20)..(2 << 20)).contains(&size), "{size}");
        assert!(size_bytes(&room.path().join("link")).is_err(), "a link is no cache");
        if !rustix::process::geteuid().is_root() {
            fs::set_permissions(room.path().join("a"), fs::Permissions::from_mode(0o000)).expect("ours");
            assert!(size_bytes(room.path()).is_err());
            fs::set_permissions(room.path().join("a"), fs::Permissions::from_mode(0o700)).expect("ours");
        }
    }
}
