//! Ends the command that is being timed, should this process be killed.
//!
//! It can't be started through a guardian, whose time would be measured with it. Instead prony-exec writes into a piece
//! of shared memory what runs, and a process that sleeps meanwhile reads it once this one is gone.

use std::fs::File;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};

use prony_exec::Control;
use rustix::fs::{MemfdFlags, memfd_create};

/// The process that sleeps. Dropped, it ends, and kills nothing unless something runs.
pub(super) struct Follower(Child);

impl Follower {
    /// Follows what `control` says.
    pub(super) fn start(control: &Control) -> io::Result<Self> {
        let ledger = File::from(memfd_create("prony-ledger", MemfdFlags::CLOEXEC)?);
        let child = Command::new(prony_study::SELF)
            .arg0("prony")
            .args(["keep", "--follow"])
            .stdin(Stdio::piped())
            .stdout(ledger.try_clone()?)
            .stderr(Stdio::null())
            // Ctrl-C in the terminal must not end it before this process.
            .process_group(0)
            .spawn()?;
        control.note_in(ledger);
        Ok(Self(child))
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        // The end of its orders.
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}
