//! What a command uses of the machine: memory, processes, disk.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::Duration;

use prony_study::below;
use rustix::process::Pid;

use super::process::{Order, Why};
use crate::clock;

/// More files than this are not counted: the largest source trees with what is built of them have less.
pub(super) const MOST_FILES: usize = 2_000_000;
/// What builds leave of the disk: the lab's store must always be able to write.
pub(super) const LEAST_FREE_BYTES: u64 = 512 << 20;
/// Blocks in which stat(2) counts, bytes.
const BLOCK_BYTES: u64 = 512;
/// A folder is gone through at most this often, ...
const WALK: Duration = Duration::from_secs(1);
/// ... and in at most one part in this many of the time.
const WALK_SHARE: u32 = 20;

/// Watches what a command uses.
#[derive(Debug)]
pub(super) struct Gauge<'a> {
    guardian: Pid,
    order: &'a Order,
    next_look: Duration,
    next_walk: Duration,
    peak_memory_bytes: u64,
    peak_processes: u32,
}

impl<'a> Gauge<'a> {
    /// For all that descends from `guardian`.
    pub(super) fn new(guardian: Pid, order: &'a Order) -> Self {
        let zero = Duration::ZERO;
        Self { guardian, order, next_look: zero, next_walk: zero, peak_memory_bytes: 0, peak_processes: 0 }
    }

    /// Looks if it is time to, and says why the command must stop, if so.
    pub(super) fn look(&mut self, now: Duration) -> Option<Why> {
        if now < self.next_look {
            return None;
        }
        let bounds = &self.order.bounds;
        self.next_look = now + bounds.look;
        let members = below(self.guardian);
        let alive = members.iter().filter(|member| !member.is_over);
        let processes = u32::try_from(alive.clone().count()).unwrap_or(u32::MAX);
        let memory: u64 = alive.map(|member| member.resident_bytes).sum();
        self.peak_processes = self.peak_processes.max(processes);
        self.peak_memory_bytes = self.peak_memory_bytes.max(memory);
        if memory > bounds.memory_bytes {
            return Some(Why::Memory);
        }
        if processes > bounds.processes {
            return Some(Why::Processes);
        }
        if free_bytes(&self.order.room).is_some_and(|free| free < LEAST_FREE_BYTES) {
            return Some(Why::DiskFull);
        }
        self.walk(now)
    }

    fn walk(&mut self, now: Duration) -> Option<Why> {
        if now < self.next_walk {
            return None;
        }
        let used = used(&self.order.room, MOST_FILES);
        let after = clock::steady();
        self.next_walk =
            after + (after.saturating_sub(now) * WALK_SHARE).max(WALK).max(self.order.bounds.look);
        match used {
            None => Some(Why::Files),
            Some(bytes) if bytes > self.order.bounds.disk_bytes => Some(Why::Disk),
            Some(_) => None,
        }
    }

    /// The most memory in bytes, and the most processes, of all looks.
    pub(super) fn peaks(&self) -> (u64, u32) {
        (self.peak_memory_bytes, self.peak_processes)
    }
}

/// The bytes on the disk of everything in `folder`, links not followed; none where there are more than `most` files.
/// What vanishes meanwhile doesn't count.
pub(super) fn used(folder: &Path, most: usize) -> Option<u64> {
    let (mut bytes, mut files) = (0_u64, 0_usize);
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            files += 1;
            if files > most {
                return None;
            }
            // Of the entry itself: a link counts as one.
            let Ok(metadata) = entry.metadata() else { continue };
            bytes = bytes.saturating_add(metadata.blocks().saturating_mul(BLOCK_BYTES));
            if metadata.is_dir() {
                folders.push(entry.path());
            }
        }
    }
    Some(bytes)
}

/// Threads of all processes of the user of the lab.
pub(super) fn tasks_of_user() -> u64 {
    let user = rustix::process::getuid().as_raw();
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let of_user = processes.filter(|entry| entry.metadata().is_ok_and(|metadata| metadata.uid() == user));
    of_user.filter_map(|entry| Some(fs::read_dir(entry.path().join("task")).ok()?.count() as u64)).sum()
}

/// What is free for the lab on the file system of `folder`.
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
}
