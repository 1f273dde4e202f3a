//! One request and its response on an open connection, with the moment of everything that happens.

use prony_http::tls::TlsError;
use prony_http::{End, Event, Finish, HeadCache, ProtocolError, ResponseParser};
use prony_model::{
    ErrorKind, InterimResponse, ProbeFailure, ProbePhase, ProbePlan, ProbedRequest, ProbedResponse,
};
use rustix::event::PollFlags;
use rustix::io::Errno;

use super::wait::{Waited, wait};
use super::wire::{Broken, Received, Wire};
use super::{KeptBody, ms, response, stopped};
use crate::Control;
use crate::clock::{self, Nanos, span};
use crate::record::failure_detail::{Detail, Piece, kind_of};
use crate::resolve::plain;
use crate::run::Encoded;

/// How it ended.
pub(super) enum Ended {
    /// With a complete response.
    Complete {
        /// Whether the connection can carry another request.
        reusable: bool,
    },
    /// Without one.
    Failed(ProbeFailure),
}

/// What was seen of a request, up to wherever it came.
#[derive(Default)]
pub(super) struct Seen {
    pub(super) sent_bytes: usize,
    /// When the last of it was handed to the kernel.
    pub(super) sent: Option<Nanos>,
    /// When the head that is being read began; interim ones are heads, too.
    pub(super) head_began: Option<Nanos>,
    /// When the final response began.
    pub(super) first_byte: Option<Nanos>,
    pub(super) done: Option<Nanos>,
    pub(super) interim: Vec<(u16, Nanos)>,
    pub(super) response: Option<ProbedResponse>,
}

/// A request under way.
pub(super) struct Transaction<'a> {
    pub(super) wire: &'a mut Wire,
    request: &'a Encoded,
    pub(super) plan: &'a ProbePlan,
    pub(super) control: &'a Control,
    /// When the connection was there for it.
    pub(super) from: Nanos,
    pub(super) body: Option<&'a mut KeptBody>,
    /// Why the rest of the request can't be sent. The answer may have come nevertheless: servers that refuse a body
    /// by its length don't read it.
    pub(super) unsendable: Option<Errno>,
    pub(super) seen: Seen,
}

/// Why it can't go on.
pub(super) enum Stop {
    Failed(ErrorKind, String),
    ByHand,
}

impl<'a> Transaction<'a> {
    /// For a request on `wire`, which was there for it at the moment `from`.
    pub(super) fn new(
        wire: &'a mut Wire,
        request: &'a Encoded,
        plan: &'a ProbePlan,
        control: &'a Control,
        from: Nanos,
        body: Option<&'a mut KeptBody>,
    ) -> Self {
        Self { wire, request, plan, control, from, body, unsendable: None, seen: Seen::default() }
    }

    /// Sends the request and reads the response, both at once where the server answers early.
    pub(super) fn run(mut self, parser: &mut ResponseParser, heads: &mut HeadCache) -> (Seen, Ended) {
        let ended = match self.converse(parser, heads) {
            Ok(end) => {
                if let Some(body) = self.body {
                    body.complete();
                }
                let stray = self.seen.response.as_ref().is_some_and(|response| response.stray_bytes > 0);
                let reusable = end.keep_alive
                    && self.request.keep_alive(self.plan.request.keep_alive)
                    && self.seen.sent.is_some()
                    && !stray;
                Ended::Complete { reusable }
            }
            Err(stop) => Ended::Failed(self.failure(stop)),
        };
        (self.seen, ended)
    }

    fn converse(&mut self, parser: &mut ResponseParser, heads: &mut HeadCache) -> Result<End, Stop> {
        let deadline = self.from.saturating_add(span(self.plan.timeouts.request));
        let mut buffer = Vec::new();
        loop {
            let unsent = if self.send() { PollFlags::OUT } else { PollFlags::empty() };
            match wait(self.wire.socket(), PollFlags::IN | unsent, deadline, self.control).map_err(broken)? {
                Waited::Ready(PollFlags::OUT) => {}
                Waited::Ready(_) => {
                    if let Some(end) = self.receive(parser, heads, &mut buffer)? {
                        return Ok(end);
                    }
                }
                Waited::TimedOut => return Err(self.late()),
                Waited::Stopped => return Err(Stop::ByHand),
            }
        }
    }

    /// Hands over as much as the kernel takes; whether some is left for later.
    fn send(&mut self) -> bool {
        let bytes = self.request.repeated();
        while self.unsendable.is_none() && self.seen.sent_bytes < bytes.len() {
            let now = clock::now();
            match self.wire.send(&bytes[self.seen.sent_bytes..]) {
                Ok(count) => self.seen.sent_bytes += count,
                Err(Errno::AGAIN) => return true,
                Err(Errno::INTR) => {}
                Err(error) => self.unsendable = Some(error),
            }
            if self.seen.sent_bytes == bytes.len() {
                // As in a run: on loopback the kernel delivers within the call, and the server is at work before it
                // returns.
                self.seen.sent = Some(now);
            }
        }
        false
    }

    /// Reads what has come; the end of the response, if that is it.
    fn receive(
        &mut self,
        parser: &mut ResponseParser,
        heads: &mut HeadCache,
        buffer: &mut Vec<u8>,
    ) -> Result<Option<End>, Stop> {
        let received = self.wire.receive(buffer);
        let now = clock::now();
        let piece = match received {
            Ok(Received::Bytes(count)) => &buffer[..count],
            Ok(Received::Nothing) => return Ok(None),
            Ok(Received::End { clean }) => return self.finished(parser, clean, now).map(Some),
            Err(Broken::System(error)) => return Err(broken(self.unsendable.unwrap_or(error))),
            Err(error) => {
                let (kind, words) = error.describe();
                return Err(Stop::Failed(kind, words));
            }
        };
        let is_first = self.seen.head_began.is_none();
        self.seen.head_began.get_or_insert(now);
        self.read(parser, heads, piece, now).map_err(|error| {
            let detail = if is_first {
                Detail::Protocol(error, Piece::of(piece)).describe(ErrorKind::Protocol, "", "")
            } else {
                error.to_string()
            };
            Stop::Failed(ErrorKind::Protocol, detail)
        })
    }

    /// Gives `input`, which came at the moment `now`, to the parser, and notes what it finds.
    fn read(
        &mut self,
        parser: &mut ResponseParser,
        heads: &mut HeadCache,
        mut input: &[u8],
        now: Nanos,
    ) -> Result<Option<End>, ProtocolError> {
        loop {
            let step = parser.next(heads, input)?;
            input = &input[step.consumed..];
            match step.event {
                None => return Ok(None),
                Some(Event::Interim { status }) => {
                    self.seen.interim.push((status, now));
                    self.seen.head_began = (!input.is_empty()).then_some(now);
                }
                Some(Event::Head(head)) => {
                    self.seen.first_byte = self.seen.head_began;
                    self.seen.response = Some(response::read(&head, &self.plan.target));
                }
                Some(Event::Body(bytes)) => {
                    if let Some(response) = &mut self.seen.response {
                        response.body_bytes += bytes.len() as u64;
                    }
                    if let Some(body) = &mut self.body {
                        body.add(bytes);
                    }
                }
                Some(Event::End(end)) => {
                    self.seen.done = Some(now);
                    if let Some(response) = &mut self.seen.response {
                        response.stray_bytes = input.len() as u64;
                    }
                    return Ok(Some(end));
                }
            }
        }
    }

    /// The server will send no more.
    fn finished(&mut self, parser: &mut ResponseParser, clean: bool, now: Nanos) -> Result<End, Stop> {
        let words = match (parser.finish(), self.unsendable) {
            (Ok(Finish::BodyEnd(_)), _) if !clean => {
                return Err(Stop::Failed(ErrorKind::ClosedEarly, TlsError::Truncated.to_string()));
            }
            (Ok(Finish::BodyEnd(end)), _) => {
                self.seen.done = Some(now);
                return Ok(end);
            }
            (Ok(Finish::Idle), Some(error)) => return Err(broken(error)),
            (Ok(Finish::Idle), None) => "the server closed the connection without an answer".to_owned(),
            (Err(error), _) => error.to_string(),
        };
        Err(Stop::Failed(ErrorKind::ClosedEarly, words))
    }

    pub(super) fn late(&self) -> Stop {
        let timeout_s = self.plan.timeouts.request.as_secs_f64();
        let words = match self.phase().0 {
            ProbePhase::Transfer => "the response was not complete",
            ProbePhase::Send => "the request was not taken",
            _ => "no response came",
        };
        Stop::Failed(ErrorKind::RequestTimeout, format!("{words} within {timeout_s} s"))
    }

    /// The phase that it is in, and since when.
    fn phase(&self) -> (ProbePhase, Nanos) {
        match (self.seen.head_began, self.seen.sent) {
            (Some(began), _) => (ProbePhase::Transfer, began),
            (None, Some(sent)) => (ProbePhase::Server, sent),
            (None, None) => (ProbePhase::Send, self.from),
        }
    }

    pub(super) fn failure(&self, stop: Stop) -> ProbeFailure {
        let (phase, since) = self.phase();
        let (kind, message) = match stop {
            Stop::Failed(kind, message) => (Some(kind), message),
            Stop::ByHand => (None, stopped(phase).to_owned()),
        };
        let after_ms = Some(ms(clock::now().saturating_sub(since)));
        ProbeFailure { phase: Some(phase), after_ms, kind, message }
    }
}

impl Seen {
    /// Writes into `probed`, which began at `start` and had its connection at `from`, how far it came and where the
    /// time went.
    pub(super) fn record(self, probed: &mut ProbedRequest, start: Nanos, from: Nanos) {
        let first_byte = self.first_byte.or(self.head_began);
        // A response that came before all of the request was sent ends the sending.
        let sent = [self.sent, first_byte].into_iter().flatten().min();
        let between = |from: Option<Nanos>, to: Option<Nanos>| Some(ms(to?.saturating_sub(from?)));
        let phases = &mut probed.phases;
        phases.send_ms = between(Some(from), sent);
        phases.server_ms = between(sent, first_byte);
        phases.transfer_ms = between(first_byte, self.done);
        phases.total_ms = between(Some(start), self.done);
        probed.sent_bytes = self.sent_bytes as u64;
        let interim = |(status, moment): (u16, Nanos)| InterimResponse {
            status,
            after_ms: ms(moment.saturating_sub(sent.unwrap_or(from))),
        };
        probed.interim = self.interim.into_iter().map(interim).collect();
        probed.response = self.response;
    }
}

/// The connection broke.
pub(super) fn broken(error: Errno) -> Stop {
    Stop::Failed(kind_of(error), plain(&error.into()))
}
