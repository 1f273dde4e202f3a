//! A request and its response in HTTP/2, on a connection that carries one at a time.

use prony_http::h2::{Connection, EncodedRequest, Event, Limits, Shared, Stream};
use prony_model::{BodyFraming, ErrorKind};
use rustix::event::PollFlags;
use rustix::io::Errno;

use super::response;
use super::transaction::{Ended, Seen, Stop, Transaction, broken};
use super::wait::{Waited, wait};
use super::wire::{Broken, Received};
use crate::clock::{self, span};
use crate::record::failure_detail::Detail;

/// The client's side of a connection.
pub(super) struct Http2Peer {
    core: Connection,
    shared: Shared,
    /// What is to be sent, and how much of it has gone.
    out: Vec<u8>,
    gone: usize,
}

impl Http2Peer {
    /// For a new connection.
    pub(super) fn new(request: &EncodedRequest) -> Self {
        let shared = Shared::new(request.clone(), Limits { streams: 1, ..Limits::default() });
        let core = Connection::new(&shared);
        let mut out = Vec::new();
        core.preface(&shared, &mut out);
        Self { core, shared, out, gone: 0 }
    }
}

impl Transaction<'_> {
    /// As `run`, in HTTP/2.
    pub(super) fn run_http2(mut self, peer: &mut Http2Peer) -> (Seen, Ended) {
        let ended = match self.converse_http2(peer) {
            Ok(()) => {
                if let Some(body) = self.body {
                    body.complete();
                }
                let reusable = self.plan.request.keep_alive
                    && self.seen.sent.is_some()
                    && self.unsendable.is_none()
                    && !peer.core.is_going_away();
                Ended::Complete { reusable }
            }
            Err(stop) => Ended::Failed(self.failure(stop)),
        };
        (self.seen, ended)
    }

    fn converse_http2(&mut self, peer: &mut Http2Peer) -> Result<(), Stop> {
        let deadline = self.from.saturating_add(span(self.plan.timeouts.request));
        let stream = peer
            .core
            .send_request(&peer.shared, &mut peer.out)
            .map_err(|blocked| Stop::Failed(ErrorKind::Protocol, blocked.to_string()))?;
        let mut buffer = Vec::new();
        loop {
            let unsent = if self.send_frames(peer, stream) { PollFlags::OUT } else { PollFlags::empty() };
            match wait(self.wire.socket(), PollFlags::IN | unsent, deadline, self.control).map_err(broken)? {
                Waited::Ready(PollFlags::OUT) => {}
                Waited::Ready(_) => {
                    if self.receive_frames(peer, &mut buffer)? {
                        return Ok(());
                    }
                }
                Waited::TimedOut => return Err(self.late()),
                Waited::Stopped => return Err(Stop::ByHand),
            }
        }
    }

    /// Hands over as much as the kernel takes and the server's windows allow; whether some is left for the kernel.
    fn send_frames(&mut self, peer: &mut Http2Peer, stream: Stream) -> bool {
        loop {
            let now = clock::now();
            while self.unsendable.is_none() && peer.gone < peer.out.len() {
                match self.wire.send(&peer.out[peer.gone..]) {
                    Ok(count) => {
                        peer.gone += count;
                        self.seen.sent_bytes += count;
                    }
                    Err(Errno::AGAIN) => return true,
                    Err(Errno::INTR) => {}
                    Err(error) => self.unsendable = Some(error),
                }
            }
            peer.out.clear();
            peer.gone = 0;
            if self.unsendable.is_some() {
                return false;
            }
            if peer.core.is_whole(stream) {
                // As in HTTP/1.1: before the last of it was handed over.
                self.seen.sent.get_or_insert(now);
            }
            if !peer.core.has_more() {
                return false;
            }
            peer.core.send_more(&peer.shared, &mut peer.out);
        }
    }

    /// Reads what has come; whether the response is complete.
    fn receive_frames(&mut self, peer: &mut Http2Peer, buffer: &mut Vec<u8>) -> Result<bool, Stop> {
        let received = self.wire.receive(buffer);
        let now = clock::now();
        let mut input = match received {
            Ok(Received::Bytes(count)) => &buffer[..count],
            Ok(Received::Nothing) => return Ok(false),
            Ok(Received::End { .. }) => {
                let words = match peer.core.finish() {
                    Err(error) => error.to_string(),
                    Ok(()) => "the server closed the connection without an answer".to_owned(),
                };
                return Err(Stop::Failed(ErrorKind::ClosedEarly, words));
            }
            Err(Broken::System(error)) => return Err(broken(self.unsendable.unwrap_or(error))),
            Err(error) => {
                let (kind, words) = error.describe();
                return Err(Stop::Failed(kind, words));
            }
        };
        loop {
            let step = peer
                .core
                .next(&mut peer.shared, input, &mut peer.out)
                .map_err(|error| Stop::Failed(ErrorKind::Protocol, error.to_string()))?;
            input = &input[step.consumed..];
            let Some(event) = step.event else { return Ok(false) };
            match event {
                Event::Interim { status, .. } => self.seen.interim.push((status, now)),
                Event::Head { head, .. } => {
                    self.seen.head_began = Some(now);
                    self.seen.first_byte = Some(now);
                    self.seen.response = Some(response::read_http2(&head, &self.plan.target));
                }
                Event::Data { bytes, .. } => {
                    if let Some(response) = &mut self.seen.response {
                        response.body_bytes += bytes.len() as u64;
                    }
                    if let Some(body) = &mut self.body {
                        body.add(bytes);
                    }
                }
                Event::End { .. } => {
                    self.seen.done = Some(now);
                    if let Some(response) = &mut self.seen.response
                        && response.body_bytes == 0
                        && response.framing == BodyFraming::Stream
                    {
                        response.framing = BodyFraming::None;
                    }
                    return Ok(true);
                }
                Event::Reset { code, .. } => {
                    let words = Detail::Reset(code).describe(ErrorKind::StreamReset, "", "");
                    return Err(Stop::Failed(ErrorKind::StreamReset, words));
                }
                Event::Malformed { error, .. } => {
                    return Err(Stop::Failed(ErrorKind::Protocol, error.to_string()));
                }
                Event::Trailers { .. } | Event::GoAway { .. } | Event::Settings { .. } => {}
            }
        }
    }
}
