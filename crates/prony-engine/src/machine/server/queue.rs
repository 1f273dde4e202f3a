//! Connections that wait until the server accepts them.

use std::collections::BTreeSet;

use prony_model::ListenerUse;

use super::locate::Listeners;
use super::sock_diag::SockDiag;

/// The queue of the listening sockets.
pub(super) struct Queue {
    diag: SockDiag,
    inodes: BTreeSet<u64>,
    is_unix: bool,
    pub seen: ListenerUse,
}

impl Queue {
    /// Of these listeners; `None` where the kernel does not report them.
    pub(super) fn new(listeners: Listeners, is_unix: bool) -> Option<Self> {
        Some(Self {
            diag: SockDiag::open()?,
            inodes: listeners.inodes,
            is_unix,
            seen: ListenerUse::default(),
        })
    }

    /// Reads how many connections wait.
    pub(super) fn poll(&mut self) {
        /// AF_INET and AF_INET6.
        const FAMILIES: [u8; 2] = [2, 10];
        let queues = if self.is_unix {
            self.diag.unix_queues()
        } else {
            let both = FAMILIES.map(|family| self.diag.tcp_queues(family));
            both.into_iter().collect::<Option<Vec<_>>>().map(|both| both.concat())
        };
        let own = queues.into_iter().flatten().filter(|queue| self.inodes.contains(&queue.inode));
        // With SO_REUSEPORT each process has a queue of its own: the fullest one counts.
        if let Some(fullest) = own.max_by_key(|queue| queue.waiting) {
            self.seen.waiting_max = self.seen.waiting_max.max(fullest.waiting);
            self.seen.backlog = fullest.backlog;
            self.seen.samples += 1;
        }
    }
}
