//! The limit on open files: raised if that is allowed, or refused before the load.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::RunError;
use crate::load::driver::late_close::HELD_MAX;

/// Descriptors that a run needs beside its connections: standard streams, a ring or an epoll set for each
/// thread, files under /proc, and some that the caller holds.
const OTHER_FILES: u64 = 64;

/// Connections that a run of `threads` threads can have, by the limit on open files.
pub fn connections_allowed(threads: u32) -> u64 {
    let files = getrlimit(Resource::Nofile).maximum.unwrap_or(u64::MAX);
    files.saturating_sub(beside_connections(u64::from(threads)))
}

/// Descriptors of `threads` threads beside those of connections in use.
fn beside_connections(threads: u64) -> u64 {
    threads * (2 + HELD_MAX as u64) + OTHER_FILES
}

/// Makes room for `connections` connections over `threads` threads.
pub(crate) fn make_room(connections: u64, threads: u64) -> Result<(), RunError> {
    let needed_files = connections + beside_connections(threads);
    let now = getrlimit(Resource::Nofile);
    let enough = |limit: Option<u64>| limit.is_none_or(|limit| limit >= needed_files);
    if enough(now.current) {
        return Ok(());
    }
    let raised = Rlimit { current: Some(needed_files), maximum: now.maximum };
    if enough(now.maximum) && setrlimit(Resource::Nofile, raised).is_ok() {
        return Ok(());
    }
    Err(RunError::Descriptors { needed: connections, needed_files, allowed: now.maximum.unwrap_or_default() })
}
