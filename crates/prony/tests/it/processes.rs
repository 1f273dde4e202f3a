//! Whether processes live.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open, test_kill_process};

/// Whether there is such a process.
pub(crate) fn is_alive(process: Pid) -> bool {
    test_kill_process(process).is_ok()
}

/// Waits until `process`, which need not be a child of this one, has ended.
pub(crate) fn await_end(process: Pid) {
    let Ok(handle) = pidfd_open(process, PidfdFlags::empty()) else { return };
    let patience = Timespec { tv_sec: 60, tv_nsec: 0 };
    let ended =
        poll(&mut [PollFd::new(&handle, PollFlags::IN)], Some(&patience)).expect("it can be waited for");
    assert_eq!(ended, 1, "process {process} still lives after a minute");
}
