//! What has no safe wrapper: to change every descriptor of this process, whoever opened it.

#![allow(unsafe_code, reason = "a descriptor that nobody here owns is only a number; nothing else is here")]

use std::fs;
use std::io;
use std::os::fd::{BorrowedFd, RawFd};

use rustix::io::{Errno, FdFlags, fcntl_setfd};

/// The first descriptor behind stdin, stdout and stderr.
const FIRST: RawFd = 3;

/// Has the kernel close every descriptor but stdin, stdout and stderr when this process starts another program: what
/// was left open by the process that started it is for nobody below it. (`close_range` does the same, from Linux 5.11 on.)
pub(crate) fn keep_descriptors_from_commands() -> io::Result<()> {
    for entry in fs::read_dir("/proc/self/fd")? {
        let number: Option<RawFd> = entry?.file_name().to_str().and_then(|name| name.parse().ok());
        let Some(number) = number.filter(|number| *number >= FIRST) else { continue };
        // SAFETY: it is borrowed for one call, which sets a flag that only exec reads. Were it closed meanwhile, that
        // call would fail; were it another by then, that one must not be inherited either.
        let descriptor = unsafe { BorrowedFd::borrow_raw(number) };
        match fcntl_setfd(descriptor, FdFlags::CLOEXEC) {
            Ok(()) | Err(Errno::BADF) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}
