//! What each request gets.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, TrySendError};

use super::durable::Job;
use super::store::{Change, Changed, KEY_LIMIT_BYTES, Store};
use super::watch::{Subscription, Watcher, write_head};
use crate::lines::Lines;
use crate::service::{Mailbox, Owed, Request, Service, Then};

/// One worker's service.
#[derive(Debug)]
pub(super) struct KeyValue {
    pub(super) store: Arc<Store>,
    /// Where writes go that must be on disk first.
    pub(super) jobs: Option<SyncSender<Job>>,
    pub(super) mailbox: Arc<Mailbox<Outcome>>,
    pub(super) copy_values: bool,
    pub(super) connection_log: Option<Lines>,
}

/// What came of a write that had to be on disk first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    Changed(Changed),
    /// The disk is full, or broken.
    NotWritten,
}

const NOT_FOUND: (&str, &str) = ("404 Not Found", "no such key\n");
const BUSY: (&str, &str) = ("503 Service Unavailable", "too many writes wait for the disk; try again\n");

impl Service for KeyValue {
    type Outcome = Outcome;
    type Stream = Subscription;

    fn opened(&mut self, number: u64, peer: Option<SocketAddr>) {
        let Some(log) = &mut self.connection_log else { return };
        match peer {
            Some(peer) => log.add(format_args!("connection {number} from {peer}\n")),
            None => log.add(format_args!("connection {number}\n")),
        }
        // At once, as the original did: to see what that costs is what the log is for.
        log.write();
    }

    fn answer(&mut self, request: &Request<'_>, out: &mut Vec<u8>) -> Then<Subscription> {
        let owed = request.owed;
        let reads = matches!(request.verb, "GET" | "HEAD");
        let Some(key) = request.path_and_query().strip_prefix('/').map(str::as_bytes) else {
            return say(owed, ("400 Bad Request", "a key begins with a slash\n"), out);
        };
        if key.len() > KEY_LIMIT_BYTES {
            return say(owed, ("414 URI Too Long", "a key has at most 1,024 bytes\n"), out);
        }
        match request.verb {
            "GET" if request.wants_events => self.watch(key, request, out),
            _ if reads => self.read(key, owed, out),
            "PUT" | "POST" if key.is_empty() => {
                say(owed, ("404 Not Found", "name a key behind the slash\n"), out)
            }
            "PUT" | "POST" => self.change(Change::put(key, request.body), request, out),
            "DELETE" => self.change(Change::delete(key), request, out),
            _ => {
                let mut reply = owed.reply("405 Method Not Allowed", b"use GET, PUT, POST or DELETE\n");
                reply.fields = "Allow: GET, HEAD, PUT, POST, DELETE\r\n";
                reply.write(out);
                Then::Next
            }
        }
    }

    fn conclude(&mut self, outcome: Outcome, owed: Owed, out: &mut Vec<u8>) {
        say::<Subscription>(owed, words(outcome), out);
    }
}

impl KeyValue {
    fn read(&self, key: &[u8], owed: Owed, out: &mut Vec<u8>) -> Then<Subscription> {
        let value = self.store.value(key);
        // As the original did with its C strings; else the value is sent from where it is.
        let copy = value.as_deref().filter(|_| self.copy_values).map(<[u8]>::to_vec);
        match copy.as_deref().or(value.as_deref()) {
            Some(value) => owed.reply("200 OK", value).write(out),
            None => return say(owed, NOT_FOUND, out),
        }
        Then::Next
    }

    fn change(&self, change: Change, request: &Request<'_>, out: &mut Vec<u8>) -> Then<Subscription> {
        let owed = request.owed;
        let Ok(reserved) = self.store.reserve(change) else {
            return say(owed, ("507 Insufficient Storage", "the memory for values is used up\n"), out);
        };
        let Some(jobs) = &self.jobs else {
            return say(owed, words(Outcome::Changed(self.store.apply(reserved))), out);
        };
        let job = Job { change: reserved, ticket: request.from, mailbox: Arc::clone(&self.mailbox) };
        match jobs.try_send(job) {
            Ok(()) => Then::Later,
            Err(TrySendError::Full(job) | TrySendError::Disconnected(job)) => {
                self.store.release(&job.change);
                say(owed, BUSY, out)
            }
        }
    }

    fn watch(&self, key: &[u8], request: &Request<'_>, out: &mut Vec<u8>) -> Then<Subscription> {
        let watcher = Watcher::new(Arc::clone(&self.mailbox), request.from);
        match Subscription::begin(&self.store, key, watcher) {
            Some(subscription) => {
                write_head(request.owed, out);
                Then::Stream(subscription)
            }
            None => say(request.owed, ("503 Service Unavailable", "too many watch already\n"), out),
        }
    }
}

/// Status and text for what a write came to.
fn words(outcome: Outcome) -> (&'static str, &'static str) {
    match outcome {
        Outcome::Changed(Changed::Created) => ("201 Created", "stored\n"),
        Outcome::Changed(Changed::Replaced) => ("200 OK", "stored\n"),
        Outcome::Changed(Changed::Deleted) => ("200 OK", "deleted\n"),
        Outcome::Changed(Changed::Missing) => NOT_FOUND,
        Outcome::NotWritten => ("500 Internal Server Error", "not written: the disk refused it\n"),
    }
}

fn say<S>(owed: Owed, (status, text): (&str, &str), out: &mut Vec<u8>) -> Then<S> {
    owed.reply(status, text.as_bytes()).write(out);
    Then::Next
}
