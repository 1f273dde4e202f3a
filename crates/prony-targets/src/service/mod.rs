//! The loop of the servers with routes: `dashboard`, `kv` and `express`.
//!
//! Like that of `null`, it answers what one read brought with one write, and reads the clock as little as it can;
//! unlike it, it knows requests with bodies, answers that another thread gives later, and streams of events. A
//! [`Service`] knows what the requests mean.
//!
//! Each worker is one thread with its own listening socket (SO_REUSEPORT) and its own connections.

mod chunks;
mod connection;
mod mailbox;
mod request_decoder;
mod worker;

use std::fmt::Debug;
use std::net::SocketAddr;
use std::time::Duration;

use crate::StartError;
use crate::clock::monotonic_ns;
use crate::head::Method;
use crate::reply::Reply;

pub(crate) use mailbox::{Mailbox, Note};
pub(crate) use worker::Worker;

/// More threads than this is a slip of the keyboard.
const WORKER_LIMIT: usize = 1024;

/// What a server does with requests, as opposed to how they come and go.
pub(crate) trait Service: Debug + Send + 'static {
    /// The result from another thread for a deferred request.
    type Outcome: Debug + Send;
    /// What a connection sends on its own accord, once it was asked to.
    type Stream: Stream;

    /// A connection has opened: its number, counted from 0 over all workers, and the client's end.
    fn opened(&mut self, _number: u64, _peer: Option<SocketAddr>) {}

    /// A request has come completely. Its reply, or the head of its stream, goes behind what is in `out`.
    fn answer(&mut self, request: &Request<'_>, out: &mut Vec<u8>) -> Then<Self::Stream>;

    /// The outcome of a request that was left for later. Its reply goes behind what is in `out`.
    fn conclude(&mut self, outcome: Self::Outcome, owed: Owed, out: &mut Vec<u8>);

    /// All that had come is handled, and the worker may be about to sleep.
    fn pause(&mut self) {}
}

/// Events for one connection.
pub(crate) trait Stream: Debug + Send {
    /// Puts what there is behind what is in `out`; false when the stream ends behind it.
    fn pull(&mut self, out: &mut Vec<u8>) -> bool;

    /// What is sent now and then, so that both ends notice when the other is gone.
    fn heartbeat(&self) -> &'static [u8];
}

/// No stream and no outcome: a service of plain replies has no value of this type.
impl Stream for std::convert::Infallible {
    fn pull(&mut self, _out: &mut Vec<u8>) -> bool {
        match *self {}
    }

    fn heartbeat(&self) -> &'static [u8] {
        match *self {}
    }
}

/// A request with its body.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Request<'a> {
    /// The method as it was written.
    pub(crate) verb: &'a str,
    pub(crate) target: &'a str,
    /// The client would take a stream of events.
    pub(crate) wants_events: bool,
    /// The field If-None-Match, unless the client wants no cached answer.
    pub(crate) if_none_match: Option<&'a str>,
    pub(crate) body: &'a [u8],
    /// Whose it is.
    pub(crate) from: Ticket,
    /// How its reply begins.
    pub(crate) owed: Owed,
}

/// What a reply needs to know of its request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Owed {
    pub(crate) method: Method,
    /// The connection ends behind the reply.
    pub(crate) close: bool,
    /// When the request had been read.
    pub(crate) read_ns: u64,
}

/// A connection, even when another has its slot by now.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Ticket {
    slot: usize,
    number: u64,
}

/// How it goes on after a request.
#[derive(Debug)]
pub(crate) enum Then<S> {
    /// It is answered.
    Next,
    /// Another thread will post the outcome.
    Later,
    /// The head of the reply is written, and these events follow until the connection ends.
    Stream(S),
}

/// The settings of the loop.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Options {
    /// Serve more than one request per connection to who asks for it.
    pub(crate) keep_alive: bool,
    /// How long a head may take to come.
    pub(crate) head_timeout: Duration,
    /// Close a connection whose client has finished sending while another thread makes the reply, instead of keeping it for
    /// a client that still listens.
    pub(crate) leave_with_client: bool,
}

impl Owed {
    /// A reply of plain text, made now.
    pub(crate) fn reply<'a>(self, status: &'a str, body: &'a [u8]) -> Reply<'a> {
        Reply {
            status,
            content_type: "text/plain",
            fields: "",
            body,
            took_ns: monotonic_ns().saturating_sub(self.read_ns),
            id: None,
            close: self.close,
            method: self.method,
        }
    }
}

impl Request<'_> {
    /// The path and the query, if the whole URL was asked for as well (RFC 9112 section 3.2.2).
    pub(crate) fn path_and_query(&self) -> &str {
        let Some((_, rest)) = self.target.split_once("://").filter(|_| !self.target.starts_with('/')) else {
            return self.target;
        };
        rest.find('/').map_or("/", |at| &rest[at..])
    }
}

/// Whether a server can be run so; the settings that all have in common.
pub(crate) fn check(workers: usize, head_timeout: Duration) -> Result<(), StartError> {
    let fail = |setting, reason| Err(StartError::Setting { setting, reason });
    if !(1..=WORKER_LIMIT).contains(&workers) {
        return fail("workers", "choose from 1 to 1024 threads");
    }
    if head_timeout.is_zero() {
        return fail("head_timeout", "no request comes in no time; 10 s is usual");
    }
    Ok(())
}
