//! Ending a series by hand.

use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use rustix::event::{EventfdFlags, eventfd};
use rustix::process::{Pid, Signal, kill_process_group};

use crate::ExecError;

/// A switch that any thread may flip to end a series early; what was measured is reported.
#[derive(Debug, Clone)]
pub struct Control {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    stopped: AtomicBool,
    /// Becomes readable with the stop, so that a wait for a process ends.
    wake: OwnedFd,
    /// The process group that runs now. It is taken away before its leader is reaped, so the number is never that
    /// of a stranger.
    group: Mutex<Option<Pid>>,
    /// Where the same is written down.
    ledger: OnceLock<File>,
}

impl Control {
    /// A switch that is not flipped.
    pub fn new() -> Result<Self, ExecError> {
        let wake = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)
            .map_err(|error| ExecError::System { what: "make an event descriptor", source: error.into() })?;
        let shared = Shared {
            stopped: AtomicBool::new(false),
            wake,
            group: Mutex::new(None),
            ledger: OnceLock::new(),
        };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// Asks the series to end: the running command is ended, cleanups still run.
    pub fn stop(&self) {
        self.shared.stopped.store(true, Ordering::SeqCst);
        // It can't be full after one write, and if it could, it would be readable all the same.
        let _ = rustix::io::write(&self.shared.wake, &1_u64.to_ne_bytes());
    }

    /// Kills whatever runs now; for a caller that is about to exit.
    pub fn kill(&self) {
        let group = self.shared.group.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(group) = *group {
            // It may just have ended.
            let _ = kill_process_group(group, Signal::KILL);
        }
    }

    /// From now on writes into the first four bytes of `ledger` which process group runs, 0 for none: for somebody who
    /// ends it should this process be killed. Only the first ledger is kept.
    pub fn note_in(&self, ledger: File) {
        let _ = self.shared.ledger.set(ledger);
    }

    /// Whether the series was asked to end.
    pub fn is_stopped(&self) -> bool {
        self.shared.stopped.load(Ordering::SeqCst)
    }

    pub(crate) fn wake(&self) -> BorrowedFd<'_> {
        self.shared.wake.as_fd()
    }

    /// Says which process group runs now.
    pub(crate) fn watch(&self, group: Option<Pid>) {
        *self.shared.group.lock().unwrap_or_else(PoisonError::into_inner) = group;
        if let Some(ledger) = self.shared.ledger.get() {
            let number = group.map_or(0, |group| group.as_raw_nonzero().get());
            // The series is worth more than its ledger.
            let _ = ledger.write_all_at(&number.to_ne_bytes(), 0);
        }
    }
}
