//! What a command uses of the machine: memory, processes, disk.

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::FileType;
use rustix::process::Pid;

use crate::cgroup::Group;
use crate::ended::StopReason;
use crate::limits::Limits;
use crate::tree::below;
use crate::{ConfinedFolder, clock};

/// More files than this are not counted: the largest source trees with what is built of them have less.
pub(crate) const FILES_MAX: usize = 2_000_000;
/// What commands leave of the disk: the lab's store must always be able to write.
pub(crate) const FREE_BYTES_MIN: u64 = 512 << 20;
/// Blocks in which stat(2) counts, bytes.
const BLOCK_BYTES: u64 = 512;
/// A folder is gone through at most this often, ...
const WALK: Duration = Duration::from_secs(1);
/// ... and in at most one part in this many of the time.
const WALK_SHARE: u32 = 20;

/// Watches what a command uses.
#[derive(Debug)]
pub(crate) struct ResourceMonitor<'a> {
    guardian: Pid,
    limits: &'a Limits,
    /// The folder whose content counts as its disk.
    disk: &'a Path,
    group: Option<Group>,
    next_poll: Duration,
    next_walk: Duration,
    peak_memory_bytes: u64,
    peak_processes: u32,
}

impl<'a> ResourceMonitor<'a> {
    /// For all that descends from `guardian`, in `group` if there is one.
    pub(crate) fn new(guardian: Pid, limits: &'a Limits, disk: &'a Path, group: Option<Group>) -> Self {
        let zero = Duration::ZERO;
        Self {
            guardian,
            limits,
            disk,
            group,
            next_poll: zero,
            next_walk: zero,
            peak_memory_bytes: 0,
            peak_processes: 0,
        }
    }

    /// Polls if it is time to, and returns why the command must stop, if so.
    pub(crate) fn poll(&mut self, now: Duration) -> Option<StopReason> {
        if now < self.next_poll {
            return None;
        }
        self.next_poll = now + self.limits.poll_interval;
        let members = below(self.guardian);
        let alive = members.iter().filter(|member| !member.is_over);
        let processes = u32::try_from(alive.clone().count()).unwrap_or(u32::MAX);
        let memory: u64 = alive.map(|member| member.resident_bytes).sum();
        self.peak_processes = self.peak_processes.max(processes);
        self.peak_memory_bytes = self.peak_memory_bytes.max(memory);
        if self.is_out_of_memory() || (self.group.is_none() && memory > self.limits.memory_bytes) {
            return Some(StopReason::Memory);
        }
        if processes > self.limits.processes {
            return Some(StopReason::Processes);
        }
        if free_bytes(self.disk).is_some_and(|free| free < FREE_BYTES_MIN) {
            return Some(StopReason::DiskFull);
        }
        self.walk(now)
    }

    /// Whether the kernel killed it for its memory.
    pub(crate) fn is_out_of_memory(&self) -> bool {
        self.group.as_ref().is_some_and(Group::is_out_of_memory)
    }

    fn walk(&mut self, now: Duration) -> Option<StopReason> {
        if now < self.next_walk {
            return None;
        }
        let used = used(self.disk, FILES_MAX);
        let after = clock::now();
        self.next_walk =
            after + (after.saturating_sub(now) * WALK_SHARE).max(WALK).max(self.limits.poll_interval);
        match used {
            None => Some(StopReason::Files),
            Some(bytes) if bytes > self.limits.disk_bytes => Some(StopReason::Disk),
            Some(_) => None,
        }
    }

    /// The most memory in bytes, and the most processes.
    pub(crate) fn peaks(&self) -> (u64, u32) {
        let of_group = self.group.as_ref().and_then(Group::peak_memory_bytes);
        (of_group.unwrap_or(self.peak_memory_bytes), self.peak_processes)
    }
}

/// The bytes on the disk of everything in `folder`, links not followed; none where there are more than `most` files, or
/// folders so deep that no path leads there. What vanishes meanwhile doesn't count.
pub(crate) fn used(folder: &Path, most: usize) -> Option<u64> {
    let Ok(root) = ConfinedFolder::open(folder) else { return Some(0) };
    let (mut bytes, mut files, mut is_too_much) = (0_u64, 0_usize, false);
    let mut folders: Vec<PathBuf> = vec![PathBuf::from(".")];
    while let Some(path) = folders.pop() {
        let inner = match root.folder(&path) {
            Ok(inner) => inner,
            Err(error) if error.kind() == std::io::ErrorKind::InvalidFilename => return None,
            Err(_) => continue,
        };
        // What can't be read to its end vanished.
        let _ = inner.visit(|name, stat| {
            files += 1;
            is_too_much = files > most;
            let blocks = u64::try_from(stat.st_blocks).unwrap_or_default();
            bytes = bytes.saturating_add(blocks.saturating_mul(BLOCK_BYTES));
            if FileType::from_raw_mode(stat.st_mode) == FileType::Directory {
                folders.push(path.join(std::ffi::OsStr::from_bytes(name)));
            }
            !is_too_much
        });
        if is_too_much {
            return None;
        }
    }
    Some(bytes)
}

/// Threads of all processes of the user of this process.
pub(crate) fn tasks_of_user() -> u64 {
    let user = rustix::process::getuid().as_raw();
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let of_user = processes.filter(|entry| entry.metadata().is_ok_and(|metadata| metadata.uid() == user));
    of_user.filter_map(|entry| Some(fs::read_dir(entry.path().join("task")).ok()?.count() as u64)).sum()
}

/// What is free for us on the file system of `folder`.
fn free_bytes(folder: &Path) -> Option<u64> {
    let of = rustix::fs::statvfs(folder).ok()?;
    Some(of.f_bavail.saturating_mul(of.f_frsize))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_measured_without_following_links() {
        let folder = tempfile::tempdir().expect("room");
        let inner = folder.path().join("a/b");
        fs::create_dir_all(&inner).expect("room");
        fs::write(inner.join("file"), vec![1; 100_000]).expect("room");
        std::os::unix::fs::symlink("/usr", inner.join("link")).expect("room");
        std::os::unix::fs::symlink("..", inner.join("loop")).expect("room");
        let bytes = used(folder.path(), 10).expect("few files");
        assert!((100_000..400_000).contains(&bytes), "{bytes}");
        assert_eq!(used(folder.path(), 4), None, "there are five");
        assert_eq!(used(Path::new("/no/such/folder"), 4), Some(0));
        assert!(free_bytes(folder.path()).is_some_and(|free| free > 0));
        assert!(tasks_of_user() >= 2, "this thread, and that of the test's harness");
    }

    #[test]
    fn folders_too_deep_for_a_path_are_too_much() {
        let folder = tempfile::tempdir().expect("room");
        let script = "n=0; while [ $n -lt 30 ]; do d=$(printf '%0200d' $n); mkdir $d; cd $d 2>/dev/null || break; n=$((n + 1)); done";
        let made = std::process::Command::new("sh").args(["-c", script]).current_dir(&folder).status();
        assert!(made.is_ok_and(|status| status.success()));
        assert_eq!(used(folder.path(), 1000), None);
    }
}
