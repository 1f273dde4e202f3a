//! How much room the disk of the lab has.

use std::path::Path;

use rustix::fs::statvfs;

/// The room of a disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Space {
    /// What this user may still write.
    pub free_bytes: u64,
    /// All of it.
    pub total_bytes: u64,
}

/// The room of the disk on which `path` is, or would be; nothing where the system doesn't tell.
pub fn space(path: &Path) -> Option<Space> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let found = statvfs(path).or_else(|_| statvfs(parent)).ok()?;
    Some(Space {
        free_bytes: found.f_bavail.saturating_mul(found.f_frsize),
        total_bytes: found.f_blocks.saturating_mul(found.f_frsize),
    })
}
