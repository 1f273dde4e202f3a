//! Requests that wait, and their answers.

use super::exchange::{Exchange, Phase, Replying, Sent};
use super::reader::Fault;
use super::worker::Http2Worker;
use super::{WINDOW_BYTES_MAX, write};
use crate::clock::monotonic_ns;
use crate::counters::count;
use crate::head::Method;
use crate::reader::Request;
use crate::timed::worker::ANSWERS_PER_TURN;
use crate::timed::{Came, End, FramedHandler};

impl<S: FramedHandler> Http2Worker<S> {
    /// A request has come on `stream`.
    pub(super) fn plan(&mut self, slot: usize, stream: u32) {
        let Some(connection) = self.poller.connection(slot) else { return };
        self.counters.enter();
        let came = Came {
            connection: connection.number,
            peer_port: connection.peer_port,
            arrival_ns: connection.arrival.at_ns,
            read_ns: connection.arrival.read_ns,
            stamped: connection.arrival.stamped,
            clock_moved: connection.arrival.clock_moved,
        };
        let request = Request { target: String::new(), method: Method::Other, keep_alive: true, id: None };
        let (due_ns, ticket) = self.script.plan(request, came);
        let exchange = Exchange {
            slot,
            stream,
            ticket: Some(ticket),
            is_timed: true,
            phase: Phase::Waiting,
            window: connection.stream_window,
        };
        let place = self.free.pop().unwrap_or_else(|| {
            self.exchanges.push(None);
            self.exchanges.len() - 1
        });
        self.exchanges[place] = Some(exchange);
        connection.exchanges.push((stream, place));
        self.due.push(due_ns, place);
    }

    pub(super) fn answer_due(&mut self) {
        for _ in 0..ANSWERS_PER_TURN {
            let Some((place, now_ns)) = self.due.pop() else { return };
            let exchange =
                self.exchanges[place].as_mut().expect("invariant: taken until its entry has come up");
            exchange.is_timed = false;
            let Some(ticket) = &exchange.ticket else {
                self.vacate(place);
                continue;
            };
            let slot = exchange.slot;
            if matches!(exchange.phase, Phase::Waiting) {
                let connection = self.poller.connection(slot).expect("invariant: who waits is open");
                let Some((reply, pieces)) = self.script.reply(ticket, now_ns) else {
                    write::reset(exchange.stream, &mut connection.out);
                    let end = End { first_ns: now_ns, last_ns: now_ns, delivered: true };
                    self.finish(place, end);
                    self.flush(slot);
                    continue;
                };
                exchange.phase = Phase::Replying(Replying::new(reply.body.to_vec(), pieces));
                write::response(exchange.stream, &reply, &mut connection.out);
            }
            self.send_on(place);
            self.flush(slot);
        }
    }

    /// Appends what may be sent of an answer.
    fn send_on(&mut self, place: usize) {
        let Some(exchange) = &mut self.exchanges[place] else { return };
        let Phase::Replying(replying) = &mut exchange.phase else { return };
        let Some(connection) = self.poller.connection(exchange.slot) else { return };
        let windows = [&mut exchange.window, &mut connection.window];
        match replying.send(exchange.stream, windows, &mut connection.out) {
            Sent::All => {
                let end = replying.end(true);
                self.finish(place, end);
            }
            Sent::Piece { every_ns } => {
                exchange.is_timed = true;
                self.due.push(monotonic_ns() + every_ns, place);
            }
            Sent::NoRoom => {}
        }
    }

    /// All answers of `slot` that wait for room go on.
    fn send_on_all(&mut self, slot: usize) {
        let Some(connection) = self.poller.connection(slot) else { return };
        let places: Vec<usize> = connection.exchanges.iter().map(|(_, place)| *place).collect();
        for place in places {
            if self.exchanges[place].as_ref().is_some_and(|exchange| !exchange.is_timed) {
                self.send_on(place);
            }
        }
    }

    pub(super) fn open_window(&mut self, slot: usize, stream: u32, bytes: i64) -> Result<(), Fault> {
        let Some(connection) = self.poller.connection(slot) else { return Ok(()) };
        let window = if stream == 0 {
            &mut connection.window
        } else {
            // One that has ended may still be given room.
            let Some(place) = connection.place(stream) else { return Ok(()) };
            let Some(exchange) = &mut self.exchanges[place] else { return Ok(()) };
            &mut exchange.window
        };
        *window += bytes;
        if *window > WINDOW_BYTES_MAX {
            return Err(Fault::FlowControl);
        }
        self.send_on_all(slot);
        Ok(())
    }

    /// The client's windows for streams have this size from now on, those of open ones as well (RFC 9113 section 6.9.2).
    pub(super) fn resize_windows(&mut self, slot: usize, bytes: i64) -> Result<(), Fault> {
        let Some(connection) = self.poller.connection(slot) else { return Ok(()) };
        let change = bytes - connection.stream_window;
        connection.stream_window = bytes;
        for (_, place) in &connection.exchanges {
            let Some(exchange) = &mut self.exchanges[*place] else { continue };
            exchange.window += change;
            if exchange.window > WINDOW_BYTES_MAX {
                return Err(Fault::FlowControl);
            }
        }
        self.send_on_all(slot);
        Ok(())
    }

    /// The answer of `place` is sent, or given up.
    fn finish(&mut self, place: usize, end: End) {
        let Some(exchange) = &mut self.exchanges[place] else { return };
        if let Some(connection) = self.poller.connection(exchange.slot) {
            connection.exchanges.retain(|(_, other)| *other != place);
            connection.since_ns = end.last_ns;
            connection.served = true;
        }
        if let Some(ticket) = exchange.ticket.take() {
            self.counters.leave();
            count(if end.delivered { &self.counters.requests } else { &self.counters.broken });
            self.script.over(ticket, end);
        }
        if !exchange.is_timed {
            self.vacate(place);
        }
    }

    /// The client does not want the answer any more.
    pub(super) fn give_up(&mut self, place: usize) {
        let Some(exchange) = &self.exchanges[place] else { return };
        let end = match &exchange.phase {
            Phase::Waiting => End { first_ns: 0, last_ns: 0, delivered: false },
            Phase::Replying(replying) => replying.end(false),
        };
        self.finish(place, end);
    }

    fn vacate(&mut self, place: usize) {
        self.exchanges[place] = None;
        self.free.push(place);
    }
}
