//! The model `Async`: the evented loop with one constant delay.

use std::sync::Arc;
use std::time::Duration;

use super::Config;
use super::page::Pages;
use crate::StartError;
use crate::counters::Counters;
use crate::listen::Listener;
use crate::reader::Request;
use crate::running::Running;
use crate::stop::Stop;
use crate::timed::{Act, Came, End, Options, TimedHandler, Worker};

pub(super) fn spawn(
    running: &mut Running,
    listener: Listener,
    config: &Config,
    pages: Arc<Pages>,
    counters: Arc<Counters>,
    stop: Arc<Stop>,
) -> Result<(), StartError> {
    let options = Options {
        keep_alive: config.keep_alive,
        request_timeout: config.request_timeout,
        spin: Duration::ZERO,
        kernel_stamps: false,
    };
    let delay_ns = u64::try_from(config.delay.as_nanos()).unwrap_or(u64::MAX);
    let worker = Worker::new(Rudy { delay_ns, pages }, options, listener, counters, stop)?;
    running.spawn("rudy", move || worker.run())
}

#[derive(Debug)]
struct Rudy {
    delay_ns: u64,
    pages: Arc<Pages>,
}

impl TimedHandler for Rudy {
    /// The request, and when it had been read.
    type Ticket = (Request, u64);

    fn plan(&mut self, request: Request, came: Came) -> (u64, Self::Ticket) {
        (came.read_ns.saturating_add(self.delay_ns), (request, came.read_ns))
    }

    fn answer(&mut self, ticket: &Self::Ticket, now_ns: u64, close: bool, out: &mut Vec<u8>) -> Act {
        let (request, read_ns) = ticket;
        self.pages.write(request, now_ns.saturating_sub(*read_ns), close, out);
        Act::Send
    }

    fn over(&mut self, _ticket: Self::Ticket, _end: End) {}
}
