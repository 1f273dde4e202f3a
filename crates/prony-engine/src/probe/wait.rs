//! Waiting for one socket, until a moment and no longer than somebody wants it.

use std::os::fd::OwnedFd;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;

use crate::Control;
use crate::clock::{self, Nanos};

/// How long after Ctrl-C a wait goes on at most: nobody notices a tenth of a second.
const POLL_INTERVAL: Nanos = 100_000_000;

/// How a wait ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Waited {
    /// With these events.
    Ready(PollFlags),
    /// At its deadline.
    TimedOut,
    /// By hand.
    Stopped,
}

/// Waits until `socket` has one of `events`, or an error, or `deadline` has come.
pub(super) fn wait(
    socket: &OwnedFd,
    events: PollFlags,
    deadline: Nanos,
    control: &Control,
) -> Result<Waited, Errno> {
    loop {
        if control.is_stopped() {
            return Ok(Waited::Stopped);
        }
        let until = deadline.min(clock::now().saturating_add(POLL_INTERVAL));
        let mut sockets = [PollFd::new(socket, events)];
        match poll(&mut sockets, Some(&clock::until(until))) {
            Ok(0) | Err(Errno::INTR) if clock::now() >= deadline => return Ok(Waited::TimedOut),
            Ok(0) | Err(Errno::INTR) => {}
            Ok(_) => return Ok(Waited::Ready(sockets[0].revents())),
            Err(error) => return Err(error),
        }
    }
}
