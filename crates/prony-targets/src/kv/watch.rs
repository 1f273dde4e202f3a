//! Watching a key: server-sent events (WHATWG HTML, section 9.2), one for each change.
//!
//! `event: set` with the value as its data, or `event: deleted` without; the present value comes first, if there
//! is one. A value is sent as text, so what is not UTF-8 in it is replaced, and every kind of line end becomes
//! one of the format's own. A stream is ended by the client or by the server's stop, or when the client takes its
//! events too slowly: then the last of them is `event: dropped`.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::routes::Outcome;
use super::store::Store;
use crate::clock::monotonic_ns;
use crate::reply::put_ms;
use crate::service::{Mailbox, Note, Owed, Stream, Ticket};

/// The most streams at once.
pub const WATCHER_LIMIT: usize = 1000;
/// The most that waits for one client, in events and in bytes; a single event may be longer.
const QUEUE_LIMIT_EVENTS: usize = 1000;
const QUEUE_LIMIT_BYTES: usize = 256 * 1024;
/// The last event for a client that is too slow.
const DROPPED: &[u8] = b"event: dropped\ndata: too many events were waiting; start over\n\n";

/// Where the changes of a key are collected for one connection.
#[derive(Debug)]
pub(super) struct Watcher {
    mailbox: Arc<Mailbox<Outcome>>,
    ticket: Ticket,
    queue: Mutex<Queue>,
}

#[derive(Debug, Default)]
struct Queue {
    events: Vec<Arc<[u8]>>,
    bytes: usize,
    /// The worker knows that there is something.
    stirred: bool,
    dropped: bool,
}

impl Watcher {
    pub(super) fn new(mailbox: Arc<Mailbox<Outcome>>, ticket: Ticket) -> Arc<Self> {
        Arc::new(Self { mailbox, ticket, queue: Mutex::default() })
    }

    /// Adds an event, or gives the client up.
    pub(super) fn push(&self, event: &Arc<[u8]>) {
        let mut queue = self.lock();
        if queue.dropped {
            return;
        }
        let full = queue.events.len() >= QUEUE_LIMIT_EVENTS || queue.bytes + event.len() > QUEUE_LIMIT_BYTES;
        if full && !queue.events.is_empty() {
            queue.dropped = true;
        } else {
            queue.bytes += event.len();
            queue.events.push(Arc::clone(event));
        }
        if !std::mem::replace(&mut queue.stirred, true) {
            self.mailbox.post(self.ticket, Note::Stirred);
        }
    }

    /// A queue is whole between two calls, so a panic elsewhere does not spoil it.
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection's place among those who watch a key, until it is dropped.
#[derive(Debug)]
pub(super) struct Subscription {
    store: Arc<Store>,
    key: Box<[u8]>,
    watcher: Arc<Watcher>,
}

impl Subscription {
    /// `None` when too many watch already.
    pub(super) fn begin(store: &Arc<Store>, key: &[u8], watcher: Arc<Watcher>) -> Option<Self> {
        store.watch(key, &watcher).then(|| Self { store: Arc::clone(store), key: key.into(), watcher })
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.store.unwatch(&self.key, &self.watcher);
    }
}

impl Stream for Subscription {
    fn pull(&mut self, out: &mut Vec<u8>) -> bool {
        let mut queue = self.watcher.lock();
        for event in queue.events.drain(..) {
            out.extend_from_slice(&event);
        }
        queue.bytes = 0;
        queue.stirred = false;
        if queue.dropped {
            out.extend_from_slice(DROPPED);
        }
        !queue.dropped
    }

    fn heartbeat(&self) -> &'static [u8] {
        b": nothing new\n\n"
    }
}

/// The head of a stream. It has no length, so the end of the connection is its end.
pub(super) fn write_head(owed: Owed, out: &mut Vec<u8>) {
    out.extend_from_slice(
        b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-store\r\nConnection: close\r\n\
          Server-Timing: app;dur=",
    );
    put_ms(monotonic_ns().saturating_sub(owed.read_ns), out);
    out.extend_from_slice(b"\r\n\r\n");
}

/// The event for a key's new value, or for none.
pub(super) fn event(value: Option<&[u8]>) -> Arc<[u8]> {
    let Some(value) = value else { return b"event: deleted\ndata\n\n"[..].into() };
    let text = String::from_utf8_lossy(value).replace("\r\n", "\n").replace('\r', "\n");
    let mut event = String::from("event: set\n");
    for line in text.split('\n') {
        event.push_str("data: ");
        event.push_str(line);
        event.push('\n');
    }
    event.push('\n');
    event.into_bytes().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_the_data_of_an_event_line_by_line() {
        let check = |value: Option<&[u8]>, expected: &str| {
            assert_eq!(String::from_utf8(event(value).to_vec()).unwrap(), expected);
        };
        check(Some(b"abc"), "event: set\ndata: abc\n\n");
        check(Some(b""), "event: set\ndata: \n\n");
        check(
            Some(b"a\r\nb\rc\n\nd\xff"),
            "event: set\ndata: a\ndata: b\ndata: c\ndata: \ndata: d\u{fffd}\n\n",
        );
        check(None, "event: deleted\ndata\n\n");
    }
}
