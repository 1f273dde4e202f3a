//! Which processes hold which sockets, from the links in /proc/PID/fd.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::ErrorKind;

/// Descriptors of one process that are looked at; those beyond are of no known process.
const DESCRIPTORS_MAX: usize = 200_000;

/// Who holds the sockets that were asked for.
#[derive(Debug, Default)]
pub(super) struct Holders {
    /// Processes, and which of the sockets each has.
    pub by_process: BTreeMap<u32, Vec<u64>>,
    /// Some process did not let its descriptors be seen: it belongs to another user.
    pub some_hidden: bool,
}

/// Who holds one of the sockets `inodes`.
pub(super) fn holders(inodes: &BTreeSet<u64>) -> Holders {
    let mut found = Holders::default();
    if inodes.is_empty() {
        return found;
    }
    for pid in processes() {
        match sockets_of(pid) {
            Ok(sockets) => {
                let held: Vec<u64> = sockets.into_iter().filter(|inode| inodes.contains(inode)).collect();
                if !held.is_empty() {
                    found.by_process.insert(pid, held);
                }
            }
            Err(kind) => found.some_hidden |= kind == ErrorKind::PermissionDenied,
        }
    }
    found
}

/// The numbers of all processes that can be seen.
pub(super) fn processes() -> Vec<u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// The sockets of process `pid`.
pub(super) fn sockets_of(pid: u32) -> Result<Vec<u64>, ErrorKind> {
    let entries = fs::read_dir(format!("/proc/{pid}/fd")).map_err(|error| error.kind())?;
    let mut sockets = Vec::new();
    for entry in entries.flatten().take(DESCRIPTORS_MAX) {
        match fs::read_link(entry.path()) {
            Ok(link) => sockets.extend(link.to_str().and_then(socket_inode)),
            // The folder opens for everyone, its links only for who may trace the process.
            Err(error) if error.kind() == ErrorKind::PermissionDenied => return Err(error.kind()),
            Err(_) => {}
        }
    }
    Ok(sockets)
}

/// How many descriptors process `pid` has open.
pub(super) fn descriptors_of(pid: u32) -> Option<u64> {
    let entries = fs::read_dir(format!("/proc/{pid}/fd")).ok()?;
    u64::try_from(entries.take(DESCRIPTORS_MAX).count()).ok()
}

/// The number in `socket:[NUMBER]`.
fn socket_inode(link: &str) -> Option<u64> {
    link.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd as _;

    use super::*;

    #[test]
    fn links() {
        assert_eq!(socket_inode("socket:[4711]"), Some(4711));
        for link in ["socket:[]", "socket:4711", "pipe:[4711]", "/tmp/socket:[1]", "socket:[-1]", ""] {
            assert_eq!(socket_inode(link), None, "{link}");
        }
    }

    #[test]
    fn this_process_holds_its_listener() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let inode = rustix::fs::fstat(listener.as_fd()).expect("it is open").st_ino;
        let found = holders(&BTreeSet::from([inode]));
        assert!(found.by_process.contains_key(&std::process::id()), "{found:?}");
        assert!(descriptors_of(std::process::id()).expect("own ones") > 3);
        assert!(holders(&BTreeSet::new()).by_process.is_empty());
    }
}
