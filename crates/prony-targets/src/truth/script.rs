//! What a truth server does with one request.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex, PoisonError};

use super::SlowBody;
use super::delay::{Delay, Ending, draw, whole_ns};
use super::log::{Outcome, Record};
use super::schedule::Schedule;
use crate::counters::{Counters, count};
use crate::head::Method;
use crate::reader::Request;
use crate::reply::Reply;
use crate::timed::{Act, Came, End, FramedHandler, Pieces, TimedHandler};

/// What all workers of a server share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) seed: u64,
    pub(super) delay: Delay,
    pub(super) error_share: f64,
    pub(super) reset_share: f64,
    pub(super) slow_body: Option<SlowBody>,
    pub(super) body: Vec<u8>,
    /// The next id for a request that brings none.
    pub(super) next_id: AtomicU64,
    pub(super) schedule: Mutex<Schedule>,
}

/// One worker's script.
#[derive(Debug)]
pub(super) struct Truth {
    pub(super) shared: Arc<Shared>,
    pub(super) records: Option<SyncSender<Record>>,
    pub(super) counters: Arc<Counters>,
}

/// A request on its way: its record, as far as it can be filled in, and what the reply needs.
#[derive(Debug)]
pub(super) struct Ticket {
    record: Record,
    ending: Ending,
    method: Method,
}

impl TimedHandler for Truth {
    type Ticket = Ticket;

    fn plan(&mut self, request: Request, came: Came) -> (u64, Ticket) {
        let shared = &*self.shared;
        let id = request.id.unwrap_or_else(|| shared.next_id.fetch_add(1, Relaxed));
        let drawn = draw(shared.seed, id, shared.delay, shared.error_share, shared.reset_share);
        // A schedule can't be left half changed, so a panic elsewhere does not spoil it.
        let mut schedule = shared.schedule.lock().unwrap_or_else(PoisonError::into_inner);
        let times = schedule.place(came.arrival_ns, whole_ns(drawn.service));
        drop(schedule);
        let record = Record {
            id,
            connection: came.connection,
            peer_port: came.peer_port,
            arrival_ns: came.arrival_ns,
            read_ns: came.read_ns,
            start_ns: times.start_ns,
            delay_ns: times.due_ns - came.arrival_ns,
            first_ns: 0,
            last_ns: 0,
            outcome: Outcome::Unfinished,
            stamped: came.stamped,
            clock_moved: came.clock_moved,
        };
        (times.due_ns, Ticket { record, ending: drawn.ending, method: request.method })
    }

    fn answer(&mut self, ticket: &Ticket, now_ns: u64, close: bool, out: &mut Vec<u8>) -> Act {
        let Some((reply, pieces)) = self.reply(ticket, now_ns) else { return Act::Reset };
        let reply = Reply { close, ..reply };
        reply.write(out);
        if pieces.count > 1 && ticket.method == Method::Other {
            let head_bytes = out.len() - reply.body.len();
            Act::SendSlowly { head_bytes, pieces: pieces.count, every_ns: pieces.every_ns }
        } else {
            Act::Send
        }
    }

    fn over(&mut self, ticket: Ticket, end: End) {
        let Some(records) = &self.records else { return };
        let outcome = match ticket.ending {
            _ if !end.delivered => Outcome::Unfinished,
            Ending::Success => Outcome::Success,
            Ending::Error => Outcome::Error,
            Ending::Reset => Outcome::Reset,
        };
        let record = Record { first_ns: end.first_ns, last_ns: end.last_ns, outcome, ..ticket.record };
        if records.try_send(record).is_err() {
            count(&self.counters.records_lost);
        }
    }
}

impl FramedHandler for Truth {
    fn reply<'a>(&'a self, ticket: &'a Ticket, now_ns: u64) -> Option<(Reply<'a>, Pieces)> {
        let mut pieces = Pieces { count: 1, every_ns: 0 };
        let (status, body) = match ticket.ending {
            Ending::Success => {
                if let Some(SlowBody { pieces: count, over }) = self.shared.slow_body {
                    let pauses = u64::from(count.max(2) - 1);
                    pieces = Pieces { count, every_ns: whole_ns(over) / pauses };
                }
                ("200 OK", &self.shared.body[..])
            }
            Ending::Error => ("500 Internal Server Error", &b"an error, as drawn\n"[..]),
            Ending::Reset => return None,
        };
        let Ticket { record, method, .. } = *ticket;
        let took_ns = now_ns.saturating_sub(record.arrival_ns);
        let id = Some(record.id);
        let (content_type, fields, close) = ("text/plain", "", false);
        Some((Reply { status, content_type, fields, body, took_ns, id, close, method }, pieces))
    }
}
