//! The loop itself: sleep until something comes or is due, then do that.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use rustix::event::epoll::Event as Polled;

use super::connection::{Connection, Read};
use super::exchange::{Exchange, Phase};
use super::reader::{Event, Fault};
use super::{STREAMS_MAX, write};
use crate::StartError;
use crate::clock::{SECOND_NS, monotonic_ns};
use crate::counters::{Counters, count};
use crate::listen::Listener;
use crate::poller::{Poller, Woken};
use crate::stop::Stop;
use crate::sys;
use crate::timed::connection::INPUT_BYTES;
use crate::timed::ending::IDLE_LIMIT_NS;
use crate::timed::stamps::Stamps;
use crate::timed::timer::Timer;
use crate::timed::worker::{ACCEPTS_PER_TURN, EVENTS_PER_TURN};
use crate::timed::{End, FramedHandler, Options};

/// How often to look for connections that nobody uses.
const SWEEP_NS: u64 = SECOND_NS;

/// A thread of the server.
#[derive(Debug)]
pub(crate) struct Http2Worker<S: FramedHandler> {
    pub(super) script: S,
    request_timeout_ns: u64,
    pub(super) poller: Poller<Connection>,
    /// Requests that wait or are being answered, by place.
    pub(super) exchanges: Vec<Option<Exchange<S::Ticket>>>,
    pub(super) free: Vec<usize>,
    /// Places by due time. A place stays taken until its entry has come up.
    pub(super) due: Timer,
    stamps: Stamps,
    pub(super) counters: Arc<Counters>,
    stop: Arc<Stop>,
    input: Box<[u8; INPUT_BYTES]>,
    swept_ns: u64,
}

impl<S: FramedHandler> Http2Worker<S> {
    pub(crate) fn new(
        script: S,
        options: Options,
        listener: Listener,
        counters: Arc<Counters>,
        stop: Arc<Stop>,
    ) -> Result<Self, StartError> {
        if options.kernel_stamps {
            // As in HTTP/1: without it arrivals are dated when they are read, and marked so.
            let _ = sys::stamp_arrivals(listener.fd());
        }
        let poller = Poller::new(listener, &stop)?;
        Ok(Self {
            script,
            request_timeout_ns: u64::try_from(options.request_timeout.as_nanos()).unwrap_or(u64::MAX),
            poller,
            exchanges: Vec::new(),
            free: Vec::new(),
            due: Timer::new(u64::try_from(options.spin.as_nanos()).unwrap_or(u64::MAX)),
            stamps: Stamps::new(options.kernel_stamps),
            counters,
            stop,
            input: Box::new([0; INPUT_BYTES]),
            swept_ns: 0,
        })
    }

    /// Serves until stopped.
    pub(crate) fn run(mut self) {
        crate::clock::wake_exactly();
        let mut events = Vec::with_capacity(EVENTS_PER_TURN);
        loop {
            let now_ns = monotonic_ns();
            let sleep_ns = SWEEP_NS.min(self.stop.cutoff_ns().saturating_sub(now_ns));
            self.due.wait(&self.poller, &mut events, now_ns, sleep_ns);
            self.answer_due();
            for event in &events {
                self.handle(*event);
                self.answer_due();
            }
            self.accept();
            let now_ns = monotonic_ns();
            if now_ns >= self.swept_ns.saturating_add(SWEEP_NS) {
                self.sweep(now_ns);
            }
            if self.poller.is_over() || now_ns >= self.stop.cutoff_ns() {
                return self.abandon();
            }
        }
    }

    fn handle(&mut self, event: Polled) {
        match self.poller.what(event) {
            Woken::Stop => {
                self.poller.stop_listening();
                for slot in self.poller.slots() {
                    self.flush(slot);
                }
            }
            Woken::Slot { slot, readable, hung_up } => {
                let Some(connection) = self.poller.connection(slot) else { return };
                connection.hung_up |= hung_up;
                if readable {
                    self.read(slot);
                }
                self.flush(slot);
            }
            Woken::Listener | Woken::Mailbox => {}
        }
    }

    fn accept(&mut self) {
        for _ in 0..ACCEPTS_PER_TURN {
            let counters = &self.counters;
            let slot = self.poller.accept(|accepted| {
                let number = counters.connections.fetch_add(1, Relaxed);
                Connection::new(accepted, number, monotonic_ns())
            });
            let Some(slot) = slot else { return };
            if self.poller.watch_slot(slot) {
                // Its settings; over TLS they wait for the handshake.
                self.read(slot);
                self.flush(slot);
            } else {
                self.close(slot);
            }
        }
    }

    /// Reads until nothing is left: events are edge-triggered.
    fn read(&mut self, slot: usize) {
        loop {
            let Some(connection) = self.poller.connection(slot) else { return };
            let more = match connection.read(&mut self.input, &self.stamps) {
                Read::Some { more } => more,
                Read::Nothing => return,
                Read::Gone => return self.close(slot),
            };
            if let Err(fault) = self.take_events(slot) {
                return self.reject(slot, fault);
            }
            if !more {
                return;
            }
        }
    }

    fn take_events(&mut self, slot: usize) -> Result<(), Fault> {
        while let Some(connection) = self.poller.connection(slot)
            && let Some(event) = connection.reader.next()?
        {
            match event {
                Event::Request { stream } => {
                    if connection.exchanges.len() + connection.reader.open() >= STREAMS_MAX {
                        return Err(Fault::Protocol);
                    }
                    self.plan(slot, stream);
                }
                Event::Data { stream, bytes } => {
                    write::room(0, bytes, &mut connection.out);
                    if let Some(stream) = stream {
                        write::room(stream, bytes, &mut connection.out);
                    }
                }
                Event::Reset { stream } => {
                    if let Some(place) = connection.place(stream) {
                        self.give_up(place);
                    }
                }
                Event::Settings { window_bytes } => {
                    write::settings_ack(&mut connection.out);
                    if let Some(bytes) = window_bytes {
                        self.resize_windows(slot, bytes.into())?;
                    }
                }
                Event::Ping(payload) => write::ping_ack(payload, &mut connection.out),
                Event::Room { stream, bytes } => self.open_window(slot, stream, bytes.into())?,
            }
        }
        Ok(())
    }

    /// Hands what waits to the kernel, and closes a connection that is of no more use.
    pub(super) fn flush(&mut self, slot: usize) {
        let is_listening = self.poller.is_listening();
        let Some(connection) = self.poller.connection(slot) else { return };
        let is_last = !is_listening && connection.exchanges.is_empty();
        if is_last {
            write::go_away(connection.reader.last_stream(), None, &mut connection.out);
        }
        if !connection.flush() || is_last {
            self.close(slot);
        }
    }

    fn reject(&mut self, slot: usize, fault: Fault) {
        count(&self.counters.rejected);
        if let Some(connection) = self.poller.connection(slot) {
            write::go_away(connection.reader.last_stream(), Some(fault), &mut connection.out);
            // It fits unless the client doesn't read; then it is lost.
            connection.flush();
        }
        self.close(slot);
    }

    fn close(&mut self, slot: usize) {
        let Some(connection) = self.poller.close(slot) else { return };
        for (_, place) in connection.exchanges {
            self.give_up(place);
        }
    }

    /// Ends what nobody uses.
    fn sweep(&mut self, now_ns: u64) {
        self.swept_ns = now_ns;
        self.stamps.compare_clocks();
        self.poller.accept_anyway();
        for slot in self.poller.slots() {
            let Some(connection) = self.poller.connection(slot) else { continue };
            let limit_ns = if connection.served { IDLE_LIMIT_NS } else { self.request_timeout_ns };
            if connection.exchanges.is_empty() && now_ns.saturating_sub(connection.since_ns) >= limit_ns {
                write::go_away(connection.reader.last_stream(), None, &mut connection.out);
                connection.flush();
                self.close(slot);
            }
        }
    }

    /// Gives up what is unanswered. It stays in flight in the counters, and that is how the stop's report knows.
    fn abandon(mut self) {
        for exchange in std::mem::take(&mut self.exchanges).into_iter().flatten() {
            let end = match &exchange.phase {
                Phase::Waiting => End { first_ns: 0, last_ns: 0, delivered: false },
                Phase::Replying(replying) => replying.end(false),
            };
            if let Some(ticket) = exchange.ticket {
                self.script.over(ticket, end);
            }
        }
    }
}
