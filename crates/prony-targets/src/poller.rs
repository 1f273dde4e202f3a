//! The sockets of one thread: an edge-triggered epoll over a listener, the server's stop, and connections in
//! numbered slots.

use std::os::fd::{AsFd, OwnedFd};

use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::io::Errno;

use crate::StartError;
use crate::clock::to_timespec;
use crate::listen::{self, Accepted, Listener};
use crate::stop::Stop;

/// Tokens of what is no connection; slots are far below.
const LISTENER: u64 = u64::MAX;
const STOP: u64 = u64::MAX - 1;
const MAILBOX: u64 = u64::MAX - 2;

/// What an event is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Woken {
    Listener,
    Stop,
    /// What [`Poller::watch`] was given.
    Mailbox,
    Slot {
        slot: usize,
        /// There is something to read. If not, there is only room to send, as always when a connection is new.
        readable: bool,
        /// The peer has closed its side, or there is an error. Edge-triggered polling won't report it again.
        hung_up: bool,
    },
}

/// Holds connections of the type `C`.
#[derive(Debug)]
pub(crate) struct Poller<C> {
    epoll: OwnedFd,
    listener: Option<Listener>,
    /// The listener may have more connections: edge-triggered polling won't report it again.
    accept_again: bool,
    slots: Vec<Option<C>>,
    free: Vec<usize>,
}

impl<C: AsFd> Poller<C> {
    pub(crate) fn new(listener: Listener, stop: &Stop) -> Result<Self, StartError> {
        let polled = || {
            let epoll = epoll::create(CreateFlags::CLOEXEC)?;
            epoll::add(&epoll, &listener, EventData::new_u64(LISTENER), EventFlags::IN | EventFlags::ET)?;
            epoll::add(&epoll, stop, EventData::new_u64(STOP), EventFlags::IN | EventFlags::ET)?;
            Ok(epoll)
        };
        let epoll = polled().map_err(refused)?;
        let (slots, free) = (Vec::new(), Vec::new());
        Ok(Self { epoll, listener: Some(listener), accept_again: false, slots, free })
    }

    /// Reports [`Woken::Mailbox`] whenever `descriptor` becomes readable.
    pub(crate) fn watch(&self, descriptor: impl AsFd) -> Result<(), StartError> {
        let flags = EventFlags::IN | EventFlags::ET;
        epoll::add(&self.epoll, descriptor, EventData::new_u64(MAILBOX), flags).map_err(refused)
    }

    /// Sleeps until something comes, `span_ns` at most, and not at all while the listener may have more.
    pub(crate) fn wait(&self, events: &mut Vec<Event>, span_ns: u64) {
        events.clear();
        let span_ns = if self.accept_again { 0 } else { span_ns };
        // An interrupted wait is one without events.
        let _ = epoll::wait(&self.epoll, spare_capacity(events), Some(&to_timespec(span_ns)));
    }

    /// What an event is about. One for a connection that ended earlier in this turn can reach its successor, so
    /// that a connection must cope with being woken for nothing.
    pub(crate) fn what(&mut self, event: Event) -> Woken {
        match event.data.u64() {
            LISTENER => {
                self.accept_again = true;
                Woken::Listener
            }
            STOP => Woken::Stop,
            MAILBOX => Woken::Mailbox,
            slot => {
                let slot = usize::try_from(slot).expect("invariant: tokens are slots");
                let flags = event.flags;
                let hung_up = flags.intersects(EventFlags::RDHUP | EventFlags::HUP | EventFlags::ERR);
                Woken::Slot { slot, readable: hung_up || flags.contains(EventFlags::IN), hung_up }
            }
        }
    }

    /// Accepts a connection, if one may wait: its slot. Nothing is reported of it before [`watch_slot`]: its request
    /// is often here already, and a connection that ends with that need not be watched at all, which saves a
    /// system call.
    ///
    /// [`watch_slot`]: Self::watch_slot
    pub(crate) fn accept(&mut self, make: impl FnOnce(Accepted) -> C) -> Option<usize> {
        if !self.accept_again {
            return None;
        }
        let Some(accepted) = self.listener.as_ref().and_then(listen::accept) else {
            self.accept_again = false;
            return None;
        };
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            self.slots.len() - 1
        });
        self.slots[slot] = Some(make(accepted));
        Some(slot)
    }

    /// Reports [`Woken::Slot`] for an accepted connection from now on, and for what has arrived already. False when
    /// the kernel is out of memory or watches: then it is best closed.
    pub(crate) fn watch_slot(&self, slot: usize) -> bool {
        let Some(connection) = &self.slots[slot] else { return true };
        let interest = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
        epoll::add(&self.epoll, connection, EventData::new_u64(slot as u64), interest).is_ok()
    }

    /// Tries an accept again that the machine had no room for.
    pub(crate) fn accept_anyway(&mut self) {
        self.accept_again |= self.listener.is_some();
    }

    pub(crate) fn stop_listening(&mut self) {
        self.listener = None;
        self.accept_again = false;
    }

    pub(crate) fn is_listening(&self) -> bool {
        self.listener.is_some()
    }

    /// It listens no more and every connection has ended.
    pub(crate) fn is_over(&self) -> bool {
        self.listener.is_none() && self.free.len() == self.slots.len()
    }

    /// Every slot that there is; some may be empty.
    pub(crate) fn slots(&self) -> std::ops::Range<usize> {
        0..self.slots.len()
    }

    pub(crate) fn connection(&mut self, slot: usize) -> Option<&mut C> {
        self.slots.get_mut(slot)?.as_mut()
    }

    /// Closing the socket takes it out of epoll.
    pub(crate) fn close(&mut self, slot: usize) -> Option<C> {
        let connection = self.slots[slot].take();
        if connection.is_some() {
            self.free.push(slot);
        }
        connection
    }
}

fn refused(errno: Errno) -> StartError {
    StartError::Resource { what: "epoll", source: errno.into() }
}
