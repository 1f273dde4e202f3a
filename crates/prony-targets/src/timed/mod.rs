//! One thread, many requests waiting for their time: the loop of `rudy`'s asynchronous model and of `truth`.
//!
//! The loop knows connections, limits and due times. A [`TimedHandler`] knows when a request is to be answered and
//! with what. On each connection requests are handled one after another, as HTTP/1 wants it; `http2` has the loop that
//! handles them side by side.

mod connection;
mod due;
mod ending;
mod http2;
mod spin;
mod stamps;
mod timer;
mod worker;

use std::time::Duration;

use crate::reader::Request;
use crate::reply::Reply;

pub(crate) use http2::Http2Worker;
pub(crate) use stamps::wait_until_stamped;
pub(crate) use worker::Worker;

/// What the server does, as opposed to how.
pub(crate) trait TimedHandler: Send + 'static {
    /// What it remembers of a request until that is over.
    type Ticket: Send;

    /// A request has come completely: when is it due, on the monotonic clock?
    fn plan(&mut self, request: Request, came: Came) -> (u64, Self::Ticket);

    /// It is due. The reply, if there is one, goes into `out`, which is empty.
    fn answer(&mut self, ticket: &Self::Ticket, now_ns: u64, close: bool, out: &mut Vec<u8>) -> Act;

    /// It is over.
    fn over(&mut self, ticket: Self::Ticket, end: End);
}

/// A handler whose answers also go out in frames.
pub(crate) trait FramedHandler: TimedHandler {
    /// It is due: its reply, and in how many pieces the body goes; `None` where the stream is reset instead.
    fn reply<'a>(&'a self, ticket: &'a Self::Ticket, now_ns: u64) -> Option<(Reply<'a>, Pieces)>;
}

/// The pieces of a body, all of one length, one by one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pieces {
    pub(crate) count: u32,
    pub(crate) every_ns: u64,
}

/// When and on what a request came.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Came {
    /// The number of the connection: the first is 0.
    pub(crate) connection: u64,
    /// The client's port; 0 if unknown.
    pub(crate) peer_port: u16,
    /// When its last byte reached the machine, by the kernel, or else `read_ns`.
    pub(crate) arrival_ns: u64,
    /// When the server had read it.
    pub(crate) read_ns: u64,
    /// `arrival_ns` is the kernel's.
    pub(crate) stamped: bool,
    /// The realtime clock, which the kernel's stamps are on, has just moved against the monotonic one.
    pub(crate) clock_moved: bool,
}

/// What to do with a request that is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Act {
    Send,
    /// The head and one piece of the body at once, the other pieces, all of one length, one by one.
    SendSlowly {
        head_bytes: usize,
        pieces: u32,
        every_ns: u64,
    },
    /// No reply: the connection is reset.
    Reset,
}

/// How a request ended.
#[derive(Debug, Clone, Copy)]
pub(crate) struct End {
    /// Just before the first byte of the reply, or the reset, was handed to the kernel.
    pub(crate) first_ns: u64,
    /// Just before the last piece was.
    pub(crate) last_ns: u64,
    /// The kernel took all of it.
    pub(crate) delivered: bool,
}

/// The settings of the loop.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Options {
    /// Serve more than one request per connection to who asks for it.
    pub(crate) keep_alive: bool,
    /// How long a request may take to come.
    pub(crate) request_timeout: Duration,
    /// How long before a due time to stop sleeping and watch the clock; zero: never.
    pub(crate) spin: Duration,
    /// Ask the kernel when requests came.
    pub(crate) kernel_stamps: bool,
}
