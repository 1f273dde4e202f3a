//! The sessions of one worker: which are under way, what each sends next, and what its response means.

use std::collections::VecDeque;

use prony_http::h2::OneRequest;
use prony_http::{HeadCache, Limits};
use prony_model::{ErrorKind, Outcome, StatusClass};

pub(crate) use super::agenda::Place;
use super::agenda::{Agenda, Arrivals, Entry};
use super::compile::Compiled;
use super::fault::StepFault;
use super::request::Rendered;
use super::response::{self, Noted, ResponseHead};
use super::session::Session;
use crate::clock::Nanos;
use crate::load::checks::BODY_MAX_BYTES;
use crate::load::driver::{Carries, Io, Slot};
use crate::load::layer::{Layer, Sent, hand_over};
use crate::load::pacer::Schedule;
use crate::load::retry::Retry;
use crate::load::worker::RETRY_PAUSE;
use crate::record::failure_detail::Detail;
use crate::record::sample::Sample;
use crate::record::scenario::ScenarioRecord;

/// Sessions under way in one worker at most: of some hundred bytes each. Those that arrive beyond wait until one ends, and
/// the wait is in the response time of their first step.
pub(crate) const SESSIONS_MAX: usize = 1 << 18;

/// No session.
pub(crate) const NOBODY: Place = Place::MAX;

/// All sessions of a worker.
pub(crate) struct Sessions {
    pub(super) scenario: Compiled,
    pub(super) agenda: Agenda,
    pub(super) places: Vec<Session>,
    /// Those of `places` that are not in use.
    free: VecDeque<Place>,
    /// Sessions that have begun in this worker, and its part in numbering them.
    begun: u64,
    thread: u64,
    threads: u64,
    /// Which session's request is in flight on a connection or, in HTTP/2, at the place of a stream.
    pub(super) by_slot: Box<[Place]>,
    /// Which session a connection is kept for, where sessions have connections of their own; else empty.
    owners: Box<[Place]>,
    /// Bytes that were sent on a connection, modulo 2^32: the kernel's stamps name bytes by this count.
    written: Box<[u32]>,
    /// Bodies that came in pieces and are read, by slot.
    pub(super) bodies: Box<[Vec<u8>]>,
    /// The heads of a step's answers are nearly always alike.
    heads: Box<[HeadCache]>,
    pub(super) rendered: Rendered,
    decoded: Vec<u8>,
    /// What sessions of the measured part are counted in, and since when.
    pub(super) record: ScenarioRecord,
    pub(super) measure_from: Nanos,
    stopped: bool,
    /// The feed that has no more rows.
    ended_by: Option<usize>,
}

/// A request that is due.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Due {
    /// When it was due, for the first time.
    pub intended: Nanos,
    /// Whose it is.
    pub place: Place,
    /// Which of its retries it is; none for the first attempt.
    pub retry: Option<Retry>,
}

/// Whom a connection is kept for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Holder {
    /// Any session may have it.
    Nobody,
    /// A session that is under way.
    Session,
    /// A session that has ended: it is to be closed.
    Ended,
}

/// What brings sessions about.
pub(crate) enum Beginning {
    /// The clock.
    Clock(Schedule),
    /// So many users, from `start` on, who begin `left` sessions of the measured part.
    Users { users: u32, left: u64, start: Nanos },
}

/// The number of a thread among those of all agents, and how many there are.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Turn {
    pub thread: u32,
    pub of: u32,
}

impl Sessions {
    /// Those of one worker, with so many requests in flight at once (`slots`); what arrives from `measure_from` on is counted.
    pub(crate) fn new(
        scenario: Compiled,
        beginning: Beginning,
        Turn { thread, of }: Turn,
        slots: u32,
        measure_from: Nanos,
    ) -> Self {
        let keeps_connections = scenario.keeps_connections;
        let agenda = match beginning {
            Beginning::Clock(schedule) => Agenda::new(Arrivals::Clock(schedule), keeps_connections),
            Beginning::Users { users, left, start } => {
                let arrivals = Arrivals::Users { left, count_from: measure_from };
                let mut agenda = Agenda::new(arrivals, keeps_connections);
                (0..users).for_each(|_| agenda.add(start, Entry::User));
                agenda
            }
        };
        let slots = slots as usize;
        let kinds = scenario.flows.iter().flat_map(|flow| flow.steps.iter().map(|step| step.kind));
        Self {
            heads: kinds.map(|kind| HeadCache::new(kind, Limits::default())).collect(),
            record: ScenarioRecord::new(&scenario),
            scenario,
            agenda,
            places: Vec::new(),
            free: VecDeque::new(),
            begun: 0,
            thread: thread.into(),
            threads: of.into(),
            by_slot: vec![NOBODY; slots].into(),
            owners: vec![NOBODY; if keeps_connections { slots } else { 0 }].into(),
            written: vec![0; slots].into(),
            bodies: vec![Vec::new(); slots].into(),
            rendered: Rendered::default(),
            decoded: Vec::new(),
            measure_from,
            stopped: false,
            ended_by: None,
        }
    }

    /// How many sessions may begin.
    fn room(&self) -> u64 {
        (SESSIONS_MAX - self.places.len() + self.free.len()) as u64
    }

    /// Requests that are due at `now`.
    #[inline]
    pub(crate) fn waiting(&mut self, now: Nanos) -> u64 {
        let room = self.room();
        self.agenda.waiting(now, room)
    }

    /// When the next one becomes due that is not due yet.
    #[inline]
    pub(crate) fn next_due(&self) -> Nanos {
        self.agenda.next_due()
    }

    /// Takes the request that has been due for the longest; none if the session that was to send it can't begin.
    pub(crate) fn take(&mut self, now: Nanos) -> Option<Due> {
        let room = self.room();
        let (intended, entry) = self.agenda.take(now, room)?;
        match entry {
            Some(entry @ (Entry::Step(place) | Entry::Retry(place))) => {
                return Some(self.due(intended, place, entry));
            }
            Some(Entry::User) if !self.agenda.take_user(now) => return None,
            Some(Entry::User) | None => {}
        }
        let place = self.free.pop_front().unwrap_or_else(|| {
            self.places.push(Session::new(&self.scenario));
            // All may end together, at any time.
            self.free.reserve(self.places.len());
            Place::try_from(self.places.len() - 1).expect("invariant: SESSIONS_MAX")
        });
        let number = self.begun * self.threads + self.thread + 1;
        let session = &mut self.places[place as usize];
        if let Err(feed) = session.begin(&self.scenario, number, intended) {
            self.free.push_back(place);
            self.ended_by = Some(feed);
            self.agenda.end_arrivals(now);
            return None;
        }
        self.begun += 1;
        if intended >= self.measure_from {
            self.record.flows[session.flow].sessions.begun += 1;
        }
        Some(Due { intended, place, retry: None })
    }

    /// What `entry` of the session at `place` is about, which was due at `at`.
    fn due(&mut self, at: Nanos, place: Place, entry: Entry) -> Due {
        let retry = match entry {
            Entry::Retry(_) => self.places[place as usize].retry,
            Entry::Step(_) | Entry::User => None,
        };
        Due { intended: retry.map_or(at, |retry| retry.intended), place, retry }
    }

    /// Nothing becomes due any more but retries. Returns the moments of what was due and was not sent.
    pub(crate) fn end_at(&mut self, now: Nanos) -> Vec<Nanos> {
        self.stopped = true;
        self.agenda.stop(now)
    }

    /// Whether nothing is under way and nothing will begin.
    pub(crate) fn is_over(&self) -> bool {
        self.agenda.has_no_arrivals() && self.free.len() == self.places.len()
    }

    /// Whether a feed has ended the load.
    pub(crate) fn is_ended_by_feed(&self) -> bool {
        self.ended_by.is_some()
    }

    /// Sends the request that was made last, that of `place`, on `slot`. Returns when it was sent, as `Io::send` does, its
    /// bytes on the wire, and the number of bytes up to its end.
    pub(crate) fn send<I: Io>(
        &mut self,
        io: &mut I,
        slot: Slot,
        place: Place,
        layer: Option<&mut Layer>,
    ) -> Sent {
        self.by_slot[slot as usize] = place;
        let session = &mut self.places[place as usize];
        session.is_alone = self.scenario.shared.begin_request();
        session.was_sent = true;
        session.slot = slot;
        if let Some(owner) = self.owners.get_mut(slot as usize) {
            *owner = place;
        }
        let bytes = self.rendered.bytes();
        match layer {
            Some(layer) => layer.send_bytes(io, slot, bytes),
            None => hand_over(io, slot, bytes, Carries::Request, &mut self.written),
        }
    }

    /// Takes the step that has been due for the longest of sessions with connections of their own, and its connection, if
    /// it still has one. `waiting` was called before.
    pub(crate) fn take_kept(&mut self) -> Option<(Due, Option<Slot>)> {
        let (at, entry) = self.agenda.take_kept()?;
        let (Entry::Step(place) | Entry::Retry(place)) = entry else { return None };
        let slot = self.places[place as usize].slot;
        let is_own = self.owners.get(slot as usize) == Some(&place);
        Some((self.due(at, place, entry), is_own.then_some(slot)))
    }

    /// The session of `due` has lost its connection: it waits for another.
    pub(crate) fn lacks_connection(&mut self, due: Due) {
        match due.retry {
            Some(retry) => self.agenda.lacks_connection(retry.due, Entry::Retry(due.place)),
            None => self.agenda.lacks_connection(due.intended, Entry::Step(due.place)),
        }
    }

    /// Whether the connection on `slot`, which carries no request now, is free for any session.
    pub(crate) fn holder(&self, slot: Slot) -> Holder {
        match self.owners.get(slot as usize) {
            None | Some(&NOBODY) => Holder::Nobody,
            Some(&owner) => {
                let session = &self.places[owner as usize];
                if session.in_use && session.slot == slot { Holder::Session } else { Holder::Ended }
            }
        }
    }

    /// Makes the request of `due`, but for its traceparent.
    pub(super) fn make(&mut self, due: Due) -> Result<(), StepFault> {
        let Self { scenario, places, rendered, .. } = self;
        let session = &mut places[due.place as usize];
        if due.retry.is_some() {
            rendered.repeat(&session.lines);
            return Ok(());
        }
        let step = &scenario.flows[session.flow].steps[session.step];
        let mut path = std::mem::take(&mut session.path);
        let cookies = std::mem::take(&mut session.cookies);
        let mut stream = std::mem::take(&mut session.request);
        let made = if session.redirects > 0 {
            path.clear();
            path.extend_from_slice(&session.location);
            let (as_get, mut values) = (session.as_get, session.values(scenario));
            step.request.redirected(&mut values, &cookies, &path, as_get, rendered, &mut stream)
        } else {
            session.as_get = false;
            let mut values = session.values(scenario);
            step.request.render(&mut values, &cookies, &mut path, rendered, &mut stream)
        };
        session.path = path;
        session.cookies = cookies;
        session.request = stream;
        session.trace_at = rendered.trace_at();
        if scenario.keeps_lines {
            session.lines.clear();
            session.lines.extend_from_slice(rendered.bytes());
        }
        made
    }

    /// The request of `place` in HTTP/2: as it was made last, however often it is sent.
    #[inline]
    pub(crate) fn request(&self, place: Place) -> Option<OneRequest<'_>> {
        let session = self.places.get(place as usize)?;
        let step = &self.scenario.flows[session.flow].steps[session.step];
        Some(session.request.for_core(step.kind))
    }

    /// The request of `place` goes on the stream at this place, by the number of which its answer is handed over.
    #[inline]
    pub(crate) fn sent_on(&mut self, stream: Slot, place: Place) {
        self.by_slot[stream as usize] = place;
        let session = &mut self.places[place as usize];
        session.is_alone = self.scenario.shared.begin_request();
        session.was_sent = true;
    }

    /// Which of all steps the session at `place` is at; 0 without a session.
    #[inline]
    pub(crate) fn step_number(&self, place: Place) -> usize {
        let session = self.places.get(place as usize);
        session.map_or(0, |session| self.scenario.flows[session.flow].steps[session.step].number)
    }

    /// The heads of the answers that come on `slot`.
    #[inline]
    pub(crate) fn heads(&mut self, slot: Slot) -> &mut HeadCache {
        let number = self.step_number(self.by_slot[slot as usize]);
        &mut self.heads[number]
    }

    /// The head of an answer has come on `slot`.
    #[inline]
    pub(crate) fn head(&mut self, slot: Slot, head: &impl ResponseHead) {
        if let Some(session) = self.places.get_mut(self.by_slot[slot as usize] as usize) {
            response::head(session, &self.scenario, head);
        }
    }

    /// A piece of its body.
    pub(crate) fn body(&mut self, slot: Slot, piece: &[u8]) {
        let Some(session) = self.places.get(self.by_slot[slot as usize] as usize) else { return };
        if self.scenario.flows[session.flow].steps[session.step].reads_body {
            let kept = &mut self.bodies[slot as usize];
            // One byte too many is enough to know that it is too long.
            let room = (BODY_MAX_BYTES + 1).saturating_sub(kept.len());
            kept.extend_from_slice(&piece[..piece.len().min(room)]);
        }
    }

    /// The answer on `slot` is complete; `body` is its body, if it came in one piece.
    pub(crate) fn evaluate(&mut self, slot: Slot, status: u16, body: Option<&[u8]>) -> (Outcome, Detail) {
        let class = StatusClass::of(status);
        let place = self.by_slot[slot as usize];
        let Self { scenario, places, bodies, decoded, record, measure_from, .. } = self;
        let Some(session) = places.get_mut(place as usize) else {
            return (Outcome::Done(class), Detail::None);
        };
        let number = scenario.flows[session.flow].steps[session.step].number;
        let most = scenario.flows[session.flow].steps[session.step].redirects;
        let result = if session.fault.is_none() && !session.location.is_empty() {
            if session.redirects < most { Ok(()) } else { Err(StepFault::Redirects) }
        } else {
            let counts = session.due >= *measure_from;
            let body = body.unwrap_or(&bodies[slot as usize]);
            response::complete(session, scenario, status, body, decoded, &mut |noted| match noted {
                Noted::NothingFound(extraction) => {
                    record.steps[number].nothing_found[extraction] += u64::from(counts);
                }
                Noted::Decoded { coded, decoded, cpu } if counts => {
                    record.decoding.decoded(coded, decoded, cpu);
                }
                Noted::Decoded { .. } => {}
            })
        };
        bodies[slot as usize].clear();
        session.status = status;
        let result = match result {
            // A replayed request that was an error of its client is expected to be one again.
            Err(StepFault::Status(400..500)) if session.recorded_status == status => Ok(()),
            result => result,
        };
        session.fault = result.err();
        match result {
            Ok(()) => (Outcome::Done(class), Detail::None),
            Err(StepFault::Status(status)) => (Outcome::UnexpectedStatus(class), Detail::Status(status)),
            Err(fault) => (Outcome::Failed(ErrorKind::CheckFailed), Detail::Step(fault)),
        }
    }

    /// The request on `slot` has ended as [`Self::evaluate`] says: its session goes on, or ends.
    pub(crate) fn answered(&mut self, slot: Slot, sample: &Sample) {
        let place = std::mem::replace(&mut self.by_slot[slot as usize], NOBODY);
        let Some(session) = self.places.get_mut(place as usize) else { return };
        self.scenario.shared.end_request();
        response::take_cookies(session, &self.scenario);
        if session.fault.is_none() && !session.location.is_empty() {
            session.redirects += 1;
            if !self.stopped {
                self.agenda.add(sample.done, Entry::Step(place));
            }
            return;
        }
        let fault = session.fault.take();
        self.step_ended(place, sample, fault);
    }

    /// The request on `slot` has got no answer.
    pub(crate) fn lost(&mut self, slot: Slot, sample: &Sample) {
        let place = std::mem::replace(&mut self.by_slot[slot as usize], NOBODY);
        self.bodies[slot as usize].clear();
        if let Some(session) = self.places.get_mut(place as usize) {
            self.scenario.shared.end_request();
            response::take_cookies(session, &self.scenario);
            self.step_ended(place, sample, Some(StepFault::Connection));
        }
    }

    /// The request of `place` could not be made, or got no connection.
    pub(crate) fn not_sent(&mut self, place: Place, sample: &Sample, fault: StepFault) {
        self.step_ended(place, sample, Some(fault));
    }

    /// `slot` has another connection from here on.
    pub(crate) fn forget(&mut self, slot: Slot) {
        self.written[slot as usize] = 0;
        if let Some(owner) = self.owners.get_mut(slot as usize) {
            *owner = NOBODY;
        }
        self.bodies[slot as usize].clear();
    }

    fn step_ended(&mut self, place: Place, sample: &Sample, fault: Option<StepFault>) {
        let session = &mut self.places[place as usize];
        session.request.body = None;
        let flow = &self.scenario.flows[session.flow];
        let step = &flow.steps[session.step];
        if session.due >= self.measure_from {
            if let Some(replay) = &mut self.record.replay {
                // What was not sent has no such time.
                let lateness = session.was_sent.then(|| sample.sent.saturating_sub(session.due));
                replay.ended(session.recorded_status, session.status, lateness);
            }
            let since = session.due - self.measure_from;
            self.record.step_ended(step.number, session.due, since, sample, fault, session.is_alone);
            self.record.steps[step.number].recovered += u64::from(fault.is_none() && session.retries > 0);
        }
        let failed = fault.is_some() && !step.go_on;
        let is_last = session.step + 1 == flow.steps.len();
        if !failed && !is_last {
            let think = session.think(step);
            session.step += 1;
            session.thought += think;
            let due = sample.done.saturating_add(think);
            session.begin_step(due);
            if !self.stopped {
                self.agenda.add(due, Entry::Step(place));
            }
            return;
        }
        if session.began >= self.measure_from {
            self.record.flows[session.flow].ended(failed, sample.done - session.began, session.thought);
        }
        session.in_use = false;
        let pause = if fault.is_some_and(StepFault::is_without_answer) { RETRY_PAUSE } else { 0 };
        let next = (session.began.saturating_add(flow.pacing)).max(sample.done + pause);
        self.free.push_back(place);
        if !self.stopped {
            self.agenda.add_user(next);
        }
    }

    /// What was counted, when nothing will change it any more.
    pub(crate) fn finish(self) -> ScenarioRecord {
        let Self { mut record, places, measure_from, ended_by, .. } = self;
        record.ended_by = ended_by;
        for session in places.iter().filter(|session| session.in_use && session.began >= measure_from) {
            record.flows[session.flow].sessions.unfinished += 1;
        }
        record
    }
}
