//! HTTP/2 on the connections of a worker: several requests in flight on each, answered in any order. Decision 021 has the
//! reasons.
//!
//! Frames for a connection are collected while what came on it is handled, and handed to the driver together. Reading
//! order: this file (what is kept, and what is sent), `flights` (requests in flight), `frames` (what comes), `ends` (how
//! requests and connections end), `refused` (requests that are sent again). The requests of sessions are theirs
//! (`scenario/`); all others are the one of the run.

mod ends;
mod flights;
mod frames;
pub(crate) mod refused;

use std::collections::VecDeque;

use prony_http::h2::{Connection, EncodedRequest, ErrorCode, Limits, Shared, Stream};

use self::flights::StreamFlights;
use self::refused::Outgoing;
use crate::clock::Nanos;
use crate::load::conn::{Flight, State};
use crate::load::driver::{Carries, Io, Slot};
use crate::load::layer::Sent;
use crate::load::scenario::sessions::NOBODY;
use crate::load::worker::{Pace, Worker};
use crate::record::failure_detail::Piece;

/// Memory that the buffer for frames keeps: what a hundred requests take, or a body's next piece.
const OUT_KEPT_MAX_BYTES: usize = 64 * 1024;

/// What a worker needs to speak it.
pub(crate) struct Http2 {
    shared: Shared,
    /// By slot; the memory of one that was closed is used again.
    peers: Box<[Option<Box<Peer>>]>,
    /// Requests in flight.
    pub(crate) flights: StreamFlights,
    /// Frames that are to be handed to the driver, all of one connection.
    out: Vec<u8>,
    out_slot: Slot,
    /// Whose requests are in `out`.
    out_requests: Vec<OutRequest>,
    /// How many requests each write had of which it is not yet known when it was sent, and which those are.
    unstamped_writes: VecDeque<usize>,
    unstamped: VecDeque<(Slot, Stream)>,
    /// Requests that are to be sent again.
    refused: VecDeque<Outgoing>,
}

/// One connection.
struct Peer {
    core: Connection,
    /// It takes no more requests, and is closed when the last one has ended.
    is_draining: bool,
    /// The reason that the server gave.
    farewell: Option<(ErrorCode, Piece)>,
    /// When something came last.
    heard: Nanos,
}

#[derive(Clone, Copy)]
struct OutRequest {
    stream: Stream,
    /// Whether it ends with these bytes: a long body may follow later.
    is_whole: bool,
}

impl Http2 {
    /// For so many connections that carry `depth` requests at once, each of them `request`.
    pub(crate) fn new(request: EncodedRequest, slots: u32, depth: u32) -> Self {
        let streams = u16::try_from(depth).expect("invariant: RunPlan::PIPELINE_MAX");
        Self {
            shared: Shared::new(request, Limits { streams, ..Limits::default() }),
            peers: (0..slots).map(|_| None).collect(),
            flights: StreamFlights::new(slots, streams),
            out: Vec::new(),
            out_slot: 0,
            out_requests: Vec::with_capacity(depth as usize),
            // What a turn may queue: a write for each connection, and all its requests.
            unstamped_writes: VecDeque::with_capacity(slots as usize),
            unstamped: VecDeque::with_capacity(slots as usize * depth as usize),
            refused: VecDeque::new(),
        }
    }

    /// `slot` has no connection any more.
    pub(crate) fn forget(&mut self, slot: Slot) {
        if self.out_slot == slot {
            self.out.clear();
            self.out_requests.clear();
        }
    }

    /// What is to be handed to the driver, and on which connection.
    #[inline]
    pub(crate) fn to_send(&self) -> Option<(Slot, &[u8], Carries)> {
        let carries = if self.out_requests.is_empty() { Carries::Control } else { Carries::Request };
        (!self.out.is_empty()).then_some((self.out_slot, &self.out[..], carries))
    }

    /// It was handed over. `is_sampled`: the kernel says when it leaves.
    #[inline]
    pub(crate) fn sent(&mut self, sent: &Sent, is_sampled: bool) {
        let slot = self.out_slot;
        for OutRequest { stream, is_whole } in &self.out_requests {
            let Some(flight) = self.flights.get(slot, *stream) else { continue };
            if let Some(at) = sent.at {
                flight.sent(at);
            }
            if *is_whole {
                flight.ends_at(sent.end, is_sampled);
            }
        }
        if sent.at.is_none() && !self.out_requests.is_empty() {
            self.unstamped_writes.push_back(self.out_requests.len());
            self.unstamped.extend(self.out_requests.iter().map(|request| (slot, request.stream)));
        }
        self.out.clear();
        self.out.shrink_to(OUT_KEPT_MAX_BYTES);
        self.out_requests.clear();
    }

    /// The oldest `writes` with requests that were queued went at `now`.
    pub(crate) fn went(&mut self, writes: usize, now: Nanos) {
        let requests: usize = self.unstamped_writes.drain(..writes.min(self.unstamped_writes.len())).sum();
        for (slot, stream) in self.unstamped.drain(..requests) {
            if let Some(flight) = self.flights.get(slot, stream) {
                flight.sent(now);
            }
        }
    }
}

impl Worker {
    /// HTTP/2, where it is spoken.
    #[inline]
    fn http2(&mut self) -> Option<&mut Http2> {
        self.layer.as_mut()?.http2.as_mut()
    }

    /// Whether HTTP/2 is spoken.
    #[inline]
    pub(crate) fn is_http2(&self) -> bool {
        self.layer.as_ref().is_some_and(|layer| layer.http2.is_some())
    }

    /// The oldest `writes` with requests that were queued went at `now`.
    pub(crate) fn writes_went(&mut self, writes: usize, now: Nanos) {
        if let Some(http2) = self.http2() {
            http2.went(writes, now);
        }
    }

    /// A connection is ready for the first bytes of HTTP/2.
    pub(crate) fn begin_frames<I: Io>(&mut self, io: &mut I, slot: Slot, now: Nanos) {
        self.turn_to(io, slot);
        let Some(Http2 { shared, peers, out, .. }) = self.http2() else { return };
        let peer = peers[slot as usize].get_or_insert_with(|| Box::new(Peer::new(shared)));
        peer.core.reset(shared);
        (peer.is_draining, peer.farewell, peer.heard) = (false, None, now);
        peer.core.preface(shared, out);
        // How many requests the server takes at once is not known yet: every server takes one.
        let connection = &mut self.connections[slot as usize];
        connection.depth = 1;
        if connection.waiting == 0 {
            self.send_refused_on(io, slot, now);
        }
    }

    /// Sends `request` on a stream of its own, for the first time or again.
    pub(crate) fn send_stream<I: Io>(&mut self, io: &mut I, slot: Slot, request: Outgoing, now: Nanos) {
        self.turn_to(io, slot);
        let connection = &mut self.connections[slot as usize];
        let Some(http2) = self.layer.as_mut().and_then(|layer| layer.http2.as_mut()) else { return };
        let Http2 { shared, peers, flights, out, out_requests, refused, .. } = http2;
        let Some(peer) = &mut peers[slot as usize] else { return };
        let (trace, own) = match (&self.pace, &mut self.tracer) {
            (Pace::Sessions(sessions), _) => (sessions.trace(request.place), sessions.request(request.place)),
            (Pace::Closed { .. } | Pace::Open(_), None) => (request.attempt.trace(), None),
            (Pace::Closed { .. } | Pace::Open(_), Some(tracer)) => {
                let trace = tracer.resume(request.attempt.trace());
                (trace, Some(tracer.stream_request(trace)))
            }
        };
        let sent = match own {
            Some(own) => peer.core.send_one(shared, own, out),
            None => peer.core.send_request(shared, out),
        };
        let Ok(stream) = sent else {
            // `depth` has the number of streams, so only a connection that takes no more of them refuses one.
            (peer.is_draining, connection.depth) = (true, 0);
            return refused.push_back(Outgoing { attempt: request.attempt.with_trace(trace), ..request });
        };
        let ready = request.intended.max(connection.since).max(request.at);
        let reused = std::mem::replace(&mut connection.used, true);
        let trace = trace.on_connection(!reused);
        let flight = Flight { intended: request.intended, ready, sent: 0, departed: 0, trace };
        flights.begin(slot, stream, flight, request.refusals);
        let number = flights.number(slot, stream.place);
        out_requests.push(OutRequest { stream, is_whole: peer.core.is_whole(stream) });
        connection.stream_begun();
        self.in_flight += 1;
        if let Pace::Sessions(sessions) = &mut self.pace
            && request.place != NOBODY
        {
            sessions.sent_on(number, request.place);
        }
        if let Some(retries) = &mut self.retries {
            retries.note_attempt(number, request.attempt);
        }
        if request.attempt.is_retry() {
            self.recorder.sent_again(request.intended, 0, reused, now);
        } else {
            self.recorder.sent(request.intended, 0, reused, now);
        }
    }

    /// Sends more of the requests' bodies, as far as the server's windows and the driver have room.
    pub(crate) fn send_bodies<I: Io>(&mut self, io: &mut I, slot: Slot) {
        // What is kept of a connection before, while this one is on its way, has nothing to send any more.
        while self.connections[slot as usize].state == State::Open {
            let Some(peer) = self.http2().and_then(|http2| http2.peers[slot as usize].as_ref()) else {
                return;
            };
            if !peer.core.has_more() {
                return;
            }
            self.flush_frames(io);
            if io.is_backed_up(slot) {
                return;
            }
            self.turn_to(io, slot);
            let Some(Http2 { shared, peers, out, .. }) = self.http2() else { return };
            if let Some(peer) = &mut peers[slot as usize] {
                peer.core.send_more(shared, out);
            }
        }
    }

    /// What is written next is for `slot`: hands over what waits for another connection.
    #[inline]
    fn turn_to<I: Io>(&mut self, io: &mut I, slot: Slot) {
        let is_other = self.http2().is_some_and(|http2| http2.out_slot != slot);
        if is_other {
            self.flush_frames(io);
            if let Some(http2) = self.http2() {
                http2.out_slot = slot;
            }
        }
    }
}

impl Peer {
    fn new(shared: &Shared) -> Self {
        Self { core: Connection::new(shared), is_draining: false, farewell: None, heard: 0 }
    }
}
