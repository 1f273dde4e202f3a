//! The watchdog: ends a command that no guardian may stand before, because its time is measured.
//!
//! The process that times commands writes into a piece of shared memory which process group runs now; `prony watchdog` sleeps
//! meanwhile, and reads it once its orders end, which they also do when this process is killed.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};

use rustix::fs::{MemfdFlags, memfd_create};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process_group};

use crate::SELF;

/// The subcommand of the binary that is a watchdog.
const WATCHDOG: &str = "watchdog";

/// A watchdog, seen from this side. Dropped, it ends, and kills nothing unless something runs.
#[derive(Debug)]
pub struct Watchdog(Child);

impl Watchdog {
    /// Starts one, and gives the ledger into which the number of a process group is written.
    pub fn start() -> io::Result<(Self, File)> {
        let ledger = File::from(memfd_create("prony-ledger", MemfdFlags::CLOEXEC)?);
        let child = Command::new(SELF)
            .arg0("prony")
            .arg(WATCHDOG)
            .stdin(Stdio::piped())
            .stdout(ledger.try_clone()?)
            .stderr(Stdio::null())
            // Ctrl-C in the terminal must not end it before this process.
            .process_group(0)
            .spawn()?;
        Ok((Self(child), ledger))
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        // The end of its orders.
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

/// Stays until `orders` end, and then kills the process group that the first four bytes of `ledger` name, if any.
pub fn watch(orders: impl AsFd, ledger: impl AsFd) -> io::Result<()> {
    let mut order = [0];
    loop {
        match rustix::io::read(&orders, &mut order) {
            Ok(0) => break,
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    let mut number = [0; 4];
    let got = rustix::io::pread(&ledger, &mut number, 0)?;
    if let Some(group) = Pid::from_raw(i32::from_ne_bytes(number)).filter(|_| got == number.len()) {
        // It may just have ended.
        let _ = kill_process_group(group, Signal::KILL);
    }
    Ok(())
}
