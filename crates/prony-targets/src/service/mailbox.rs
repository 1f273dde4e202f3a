//! Messages from other threads to a worker.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::event::{EventfdFlags, eventfd};

use super::Ticket;
use crate::StartError;

/// A note for the worker that holds a connection.
#[derive(Debug)]
pub(crate) enum Note<O> {
    /// What came of a request that was left for later.
    Outcome(O),
    /// The connection's stream has something to send.
    Stirred,
}

/// Notes for one worker. It holds at most one outcome and one stir for each connection: a request left for later
/// has one outcome, and a stream is stirred again only when it was read since.
#[derive(Debug)]
pub(crate) struct Mailbox<O> {
    event: OwnedFd,
    notes: Mutex<Vec<(Ticket, Note<O>)>>,
}

impl<O> Mailbox<O> {
    pub(crate) fn new() -> Result<Self, StartError> {
        let event = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)
            .map_err(|errno| StartError::Resource { what: "an eventfd", source: errno.into() })?;
        Ok(Self { event, notes: Mutex::default() })
    }

    /// Leaves a note and, if it is the first, wakes the worker.
    pub(crate) fn post(&self, ticket: Ticket, note: Note<O>) {
        let mut notes = self.lock();
        notes.push((ticket, note));
        if notes.len() == 1 {
            // It fails only when the counter is full, and then it is readable already.
            let _ = rustix::io::write(&self.event, &1_u64.to_ne_bytes());
        }
    }

    /// Puts all notes into `notes`, which is empty.
    pub(super) fn take(&self, notes: &mut Vec<(Ticket, Note<O>)>) {
        // Before the notes are taken, so that one that comes in between wakes the worker again.
        let _ = rustix::io::read(&self.event, &mut [0; 8]);
        std::mem::swap(&mut *self.lock(), notes);
    }

    /// A list of notes can't be left half changed, so a panic elsewhere does not spoil it.
    fn lock(&self) -> MutexGuard<'_, Vec<(Ticket, Note<O>)>> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<O> AsFd for Mailbox<O> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.event.as_fd()
    }
}
