//! What comes on a connection of HTTP/2, event by event.

use prony_http::h2::{End, ErrorCode, Event, Http2Error, Stream};
use prony_model::ErrorKind;

use super::Http2;
use crate::clock::Nanos;
use crate::load::checks::BODY_MAX_BYTES;
use crate::load::conn::State;
use crate::load::driver::{Io, Slot};
use crate::load::worker::{Pace, Worker};
use crate::record::failure_detail::{Detail, Piece};

/// An event that changes more than the response of one stream.
#[derive(Clone, Copy)]
enum Change {
    End(Stream, End),
    Reset { stream: Stream, code: ErrorCode, refused: bool },
    Malformed(Stream, Http2Error),
    GoAway(ErrorCode, Piece),
    Settings { streams: u32 },
}

impl Worker {
    /// Handles what a server says in HTTP/2.
    pub(crate) fn frames<I: Io>(&mut self, io: &mut I, slot: Slot, bytes: &[u8], now: Nanos) {
        if self.connections[slot as usize].state != State::Open {
            return;
        }
        self.turn_to(io, slot);
        if let Some(peer) = self.http2().and_then(|http2| http2.peers[slot as usize].as_mut()) {
            peer.heard = now;
        }
        let mut rest = bytes;
        loop {
            match self.next_change(slot, &mut rest, now) {
                Ok(Some(change)) => {
                    if !self.change(io, slot, change, now) {
                        return;
                    }
                }
                Ok(None) => return self.settle(io, slot, now),
                Err(error) => {
                    // The server is to know why.
                    self.flush_frames(io);
                    return self.lose_or_drop(io, slot, ErrorKind::Protocol, Detail::Http2(error), now);
                }
            }
        }
    }

    /// Reads `rest` up to the next change, or all of it.
    fn next_change(
        &mut self,
        slot: Slot,
        rest: &mut &[u8],
        now: Nanos,
    ) -> Result<Option<Change>, Http2Error> {
        let Some(layer) = &mut self.layer else { return Ok(None) };
        let Some(Http2 { shared, peers, flights, out, .. }) = &mut layer.http2 else { return Ok(None) };
        let Some(peer) = &mut peers[slot as usize] else { return Ok(None) };
        loop {
            let step = peer.core.next(shared, rest, out)?;
            *rest = &rest[step.consumed..];
            let Some(event) = step.event else { return Ok(None) };
            let (stream, begins) = match &event {
                Event::Interim { stream, .. } | Event::Head { stream, .. } => (*stream, true),
                Event::Data { stream, .. } => (*stream, false),
                Event::Trailers { .. } => continue,
                Event::End { stream, end } => return Ok(Some(Change::End(*stream, *end))),
                Event::Reset { stream, code, refused } => {
                    let (stream, code, refused) = (*stream, *code, *refused);
                    return Ok(Some(Change::Reset { stream, code, refused }));
                }
                Event::Malformed { stream, error } => return Ok(Some(Change::Malformed(*stream, *error))),
                Event::GoAway { code, debug, .. } => {
                    return Ok(Some(Change::GoAway(*code, Piece::of(debug))));
                }
                Event::Settings { streams } => return Ok(Some(Change::Settings { streams: *streams })),
            };
            let number = flights.number(slot, stream.place);
            let Some(flight) = flights.get(slot, stream) else { continue };
            if begins && flight.first_byte == 0 {
                flight.first_byte = now;
            }
            match event {
                Event::Head { head, .. } => {
                    if let Pace::Sessions(sessions) = &mut self.pace {
                        sessions.head(number, &head);
                    }
                    self.first.head(number, || head.header("server"));
                    if let Some(events) = &mut self.events {
                        events.begin(number, head.header("content-type"));
                    }
                }
                Event::Data { bytes, .. } => {
                    if let Pace::Sessions(sessions) = &mut self.pace {
                        sessions.body(number, bytes);
                    }
                    if let Some(kept) = self.bodies.get_mut(number as usize) {
                        // One byte too many is enough to know that it is too long.
                        let room = (BODY_MAX_BYTES + 1).saturating_sub(kept.len());
                        kept.extend_from_slice(&bytes[..bytes.len().min(room)]);
                    }
                    if let Some(events) = &mut self.events {
                        events.body(number, flight.flight, bytes, now, &mut self.recorder);
                    }
                }
                _ => {}
            }
        }
    }

    /// Does what `change` asks for. Returns whether the connection is still there.
    fn change<I: Io>(&mut self, io: &mut I, slot: Slot, change: Change, now: Nanos) -> bool {
        match change {
            Change::End(stream, end) => return self.complete_stream(io, slot, stream, end, now),
            Change::Reset { stream, code, refused: true } => self.refuse(slot, stream, code, now),
            Change::Reset { stream, code, refused: false } => {
                self.lose_stream(slot, stream, ErrorKind::StreamReset, Detail::Reset(code), now);
            }
            Change::Malformed(stream, error) => {
                self.lose_stream(slot, stream, ErrorKind::Protocol, Detail::Http2(error), now);
            }
            Change::GoAway(code, debug) => {
                self.recorder.went_away();
                if let Some(peer) = self.http2().and_then(|http2| http2.peers[slot as usize].as_mut()) {
                    peer.farewell = Some((code, debug));
                }
                self.drain(slot);
            }
            Change::Settings { streams } => {
                self.recorder.stream_limit(streams);
                let depth = self.flights.depth();
                let is_draining = self.is_draining(slot);
                let connection = &mut self.connections[slot as usize];
                if streams == 0 {
                    // It may be a server that is about to end: the next connection will show.
                    self.drain(slot);
                } else if !is_draining {
                    connection.depth = u16::try_from(streams).map_or(depth, |streams| streams.min(depth));
                }
            }
        }
        true
    }

    /// All that came was handled: uses the room that there is now, or closes a connection that is of no more use.
    pub(super) fn settle<I: Io>(&mut self, io: &mut I, slot: Slot, now: Nanos) {
        if self.layer.as_ref().is_some_and(|layer| layer.is_worn(slot)) {
            self.drain(slot);
        }
        self.send_bodies(io, slot);
        if self.is_draining(slot) && self.connections[slot as usize].in_flight() == 0 {
            self.part(io, slot, now);
        } else {
            self.send_refused_on(io, slot, now);
            match self.pace {
                Pace::Closed { .. } => self.refill(io, slot, now),
                Pace::Open(_) | Pace::Sessions(_) if self.connections[slot as usize].has_room() => {
                    self.free.push_back(slot);
                }
                Pace::Open(_) | Pace::Sessions(_) => self.free.remove(slot),
            }
        }
        if self.has_refused() {
            self.send_refused(io, now);
        }
        self.dispatch_waiting(io, now);
    }
}
