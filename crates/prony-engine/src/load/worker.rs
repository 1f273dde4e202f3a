//! The only loop: one thread that paces, connects, sends, reads and records.
//!
//! Pacing, protocol and end condition are values in it. It allocates nothing once its connections are open,
//! and reads no name, file or log. What is due is begun in `begin.rs`; what happens to a single connection is in
//! `exchange.rs`; the end is in `ending.rs`.

use std::collections::VecDeque;
use std::io;

use prony_http::HeadCache;

use crate::Control;
use crate::clock::{self, NEVER, Nanos};
use crate::kernel::tcp_sampling::{LAST_SAMPLES_MAX, SAMPLE_EVERY};
use crate::load::checks::Checker;
use crate::load::conn::{Connection, Flights, State};
use crate::load::connect_limiter::ConnectLimiter;
use crate::load::deadlines::Deadlines;
use crate::load::driver::{Driver, Io, Slot};
use crate::load::first::Watch;
use crate::load::layer::Layer;
use crate::load::pacer::Schedule;
use crate::load::retry::Retries;
use crate::load::scenario::sessions::Sessions;
use crate::load::slot_list::SlotList;
use crate::load::streams::EventWatch;
use crate::load::trace::Tracer;
use crate::load::wake::WakeUp;
use crate::record::recorder::Recorder;

/// Connections on their way at once while a closed loop opens its first ones: the usual least length of a
/// server's queue (net.core.somaxconn was 128 for decades), so that the opening itself drops nothing. Once
/// more are open, half as many again may be on their way: that server accepts fast.
pub(crate) const RAMP_IN_FLIGHT: u32 = 128;
/// Pause before a closed loop connects again after a failure to connect, so that a dead server is not
/// hammered: 100 attempts a second for each connection. An open loop pauses as long when the client itself has no
/// port or descriptor left.
pub(crate) const RETRY_PAUSE: Nanos = 10_000_000;
/// How often a stop by hand is checked for, at least.
const CONTROL_EVERY: Nanos = 50_000_000;
/// Connections that are passed over in search of an open one to sample.
const PASSED_OVER_MAX: u32 = 1024;

/// What a worker is given.
pub(crate) struct Assignment {
    /// Connections (closed loop) or most connections (open loop) of this worker.
    pub slots: u32,
    /// The first attempt to connect gets this number; they pick peers and sources in turn.
    pub first_attempt: u64,
    /// What is due when.
    pub pace: Pace,
    /// The first worker sends one request at a time until then, and the others none (closed loop only); 0 for never.
    pub solo_until: Nanos,
    /// When the measured part begins.
    pub measure_from: Nanos,
    /// When the measured part ends; [`NEVER`] where only a count ends it.
    pub measure_to: Nanos,
    /// Whether a count may end it.
    pub counted: bool,
    /// How long to wait for what is outstanding after that.
    pub drain: Nanos,
    /// For a connection.
    pub connect_timeout: Nanos,
    /// For a complete response.
    pub request_timeout: Nanos,
    /// Requests in flight on one connection.
    pub depth: u32,
    /// Whether connections carry more than one request.
    pub keep_alive: bool,
    /// Bytes of one request.
    pub request_bytes: u64,
    /// Whether responses are streams of events.
    pub events: bool,
    /// Sends failed requests again, where the plan asks for it.
    pub retries: Option<Box<Retries>>,
    /// Writes the traceparent of each request, where the plan asks for it.
    pub tracer: Option<Box<Tracer>>,
}

/// What decides when a request is begun.
pub(crate) enum Pace {
    /// A connection that is free begins its next request; so many requests of the measured part are left.
    Closed { left: u64 },
    /// The clock does.
    Open(Schedule),
    /// Sessions do, each with requests of its own.
    Sessions(Box<Sessions>),
}

impl Pace {
    /// Requests that are due by a clock at `now`, and were not taken yet.
    #[inline]
    pub(crate) fn waiting(&mut self, now: Nanos) -> u64 {
        match self {
            Self::Closed { .. } => 0,
            Self::Open(schedule) => schedule.waiting(now),
            Self::Sessions(sessions) => sessions.waiting(now),
        }
    }

    /// When the next one becomes due by a clock; [`NEVER`] in a closed loop.
    #[inline]
    fn next_due(&self) -> Nanos {
        match self {
            Self::Closed { .. } => NEVER,
            Self::Open(schedule) => schedule.next_due(),
            Self::Sessions(sessions) => sessions.next_due(),
        }
    }
}

/// One worker thread.
pub(crate) struct Worker {
    pub(crate) plan: Assignment,
    pub(crate) pace: Pace,
    pub(crate) connections: Box<[Connection]>,
    pub(crate) flights: Flights,
    /// Open connections with room for a request, the longest free first (open loop only).
    pub(crate) free: SlotList,
    /// Slots without a connection.
    pub(crate) closed: Vec<Slot>,
    /// Slots that may connect again, and when (closed loop only).
    pub(crate) paused: VecDeque<(Nanos, Slot)>,
    /// How many connections an open loop may begin.
    pub(crate) limiter: ConnectLimiter,
    /// When an open loop that wants more connections may begin them; [`NEVER`] if it does not.
    pub(super) connect_at: Nanos,
    /// When connections are to be checked for timeouts.
    pub(crate) deadlines: Deadlines,
    /// How often a connection is checked for that, at least.
    pub(crate) check_every: Nanos,
    pub(crate) connecting: u32,
    pub(crate) open: u32,
    pub(crate) in_flight: u64,
    pub(crate) attempts: u64,
    /// What lies between the sockets and HTTP; none over plain TCP.
    pub(crate) layer: Option<Box<Layer>>,
    /// Shared by all connections: answers are nearly always alike.
    pub(crate) heads: HeadCache,
    /// Bodies that came in pieces and are to be checked, by slot.
    pub(crate) bodies: Box<[Vec<u8>]>,
    pub(crate) checker: Checker,
    /// Watches responses that are streams of events; none where nobody asks for it.
    pub(crate) events: Option<EventWatch>,
    /// Sends failed requests again; none where the plan does not ask for it.
    pub(crate) retries: Option<Box<Retries>>,
    /// Writes the traceparent of each request; none where the plan does not ask for it.
    pub(crate) tracer: Option<Box<Tracer>>,
    pub(crate) recorder: Recorder,
    pub(crate) first: Watch,
    /// A 400 has shown that the server speaks TLS.
    pub(crate) wants_tls: bool,
    /// No request is begun from here on.
    pub(crate) stop_at: Nanos,
    pub(crate) stopped: bool,
    /// When to check for a stop by hand, or to send a request again.
    pub(crate) next_control: Nanos,
    next_sample: Nanos,
    /// The connection that was sampled last.
    tcp_sampled: Slot,
    /// When the last of the bytes at hand arrived at the kernel; 0 for unknown.
    pub(crate) arrived: Nanos,
    /// The first event of the current batch, for the loop gap; 0 for none.
    pub(crate) woken: Nanos,
    control: Control,
    /// Another worker has failed: the run has no result.
    abort: Control,
    pub(super) aborted: bool,
    wake: WakeUp,
}

impl Worker {
    /// A worker that has not begun.
    pub(crate) fn new(
        mut plan: Assignment,
        layer: Option<Layer>,
        heads: HeadCache,
        checker: Checker,
        recorder: Recorder,
        control: Control,
        abort: Control,
    ) -> Self {
        let slots = plan.slots as usize;
        let is_http2 = layer.as_ref().is_some_and(|layer| layer.http2.is_some());
        // What is kept of responses is kept by connection, or by stream.
        let responses = if is_http2 { plan.slots * plan.depth } else { plan.slots };
        let free = if matches!(plan.pace, Pace::Closed { .. }) { 0 } else { plan.slots };
        let of_any_length = layer.is_some() || matches!(plan.pace, Pace::Sessions(_));
        let bodies = if checker.needs_body() { responses as usize } else { 0 };
        let shortest = plan.request_timeout.min(plan.connect_timeout);
        let (retries, tracer) = (plan.retries.take(), plan.tracer.take());
        Self {
            pace: std::mem::replace(&mut plan.pace, Pace::Closed { left: 0 }),
            connections: (0..slots).map(|_| Connection::new()).collect(),
            flights: if is_http2 {
                Flights::new(0, plan.depth)
            } else if of_any_length {
                Flights::of_any_length(plan.slots, plan.depth)
            } else {
                Flights::new(plan.slots, plan.depth)
            },
            layer: layer.map(Box::new),
            free: SlotList::new(free),
            closed: (0..plan.slots).rev().collect(),
            paused: VecDeque::with_capacity(slots),
            limiter: ConnectLimiter::new(),
            connect_at: NEVER,
            // A timeout is noticed at most 2 % late.
            deadlines: Deadlines::new(plan.slots, (shortest / 50).clamp(1_000_000, 100_000_000)),
            connecting: 0,
            open: 0,
            in_flight: 0,
            attempts: plan.first_attempt,
            heads,
            bodies: vec![Vec::new(); bodies].into_boxed_slice(),
            checker,
            events: plan.events.then(|| EventWatch::new(responses)),
            check_every: retries.as_ref().map_or(shortest, |retries| retries.check_every(shortest)),
            retries,
            tracer,
            recorder,
            first: Watch::Head,
            wants_tls: false,
            stop_at: plan.measure_to,
            stopped: false,
            next_control: 0,
            next_sample: 0,
            tcp_sampled: 0,
            woken: 0,
            arrived: 0,
            control,
            abort,
            aborted: false,
            wake: WakeUp::new(),
            plan,
        }
    }

    /// Works until the run is over. Ends with an error only if the driver itself fails.
    pub(crate) fn run<D: Driver>(mut self, driver: &mut D) -> io::Result<()> {
        self.recorder.start(clock::now(), self.plan.measure_from, self.plan.measure_to);
        self.recorder.solo(self.plan.solo_until);
        let result = loop {
            let mut now = clock::now();
            self.wake.awake(now, self.woken == 0);
            if self.woken != 0 {
                self.recorder.polled(now - self.woken);
                self.woken = 0;
            }
            if !matches!(self.pace, Pace::Closed { .. }) {
                now = self.wake.watch(self.pace.next_due(), now);
            }
            self.turn(driver.io(), now);
            if self.is_over(now) {
                break Ok(());
            }
            let until = self.next_wake(now);
            if let Err(error) = driver.poll(&mut self, until) {
                break Err(error);
            }
        };
        self.sample_tcp_at_the_end(driver.io());
        self.finish();
        result
    }

    /// What the clock asks for.
    fn turn<I: Io>(&mut self, io: &mut I, now: Nanos) {
        if now >= self.next_control {
            self.next_control = now + CONTROL_EVERY;
            self.aborted = self.abort.is_stopped();
            if self.control.is_stopped() || self.aborted {
                self.stop_at = self.stop_at.min(now);
            }
            if self.retries.is_some() {
                self.retry_due(io, now);
            }
        }
        if now >= self.stop_at && !self.stopped {
            self.send_last(io);
            self.stop(now);
        }
        if now >= self.recorder.slice_ends() {
            self.recorder.rotate(now);
            self.recorder.open(u64::from(self.open));
        }
        self.check_timeouts(io, now);
        if now >= self.next_sample {
            self.next_sample = now + SAMPLE_EVERY;
            self.sample_tcp(io);
        }
        if !self.stopped {
            match self.pace {
                Pace::Closed { .. } => self.open_closed_loop(io, now),
                Pace::Open(_) | Pace::Sessions(_) => self.dispatch(io, now),
            }
        } else if matches!(self.pace, Pace::Sessions(_)) && self.has_retries_left() {
            self.dispatch(io, now);
        } else if self.retries.is_some() && self.retries_take_any_connection() {
            self.dispatch_retries(io, now);
        }
        self.flush_frames(io);
    }

    /// Asks the kernel about the next open connection.
    fn sample_tcp<I: Io>(&mut self, io: &I) {
        let slots = self.plan.slots;
        let mut next = (1..=slots.min(PASSED_OVER_MAX)).map(|step| (self.tcp_sampled + step) % slots);
        let open = next.find(|slot| self.connections[*slot as usize].state == State::Open);
        let Some(slot) = open else {
            self.tcp_sampled = (self.tcp_sampled + PASSED_OVER_MAX) % slots;
            return;
        };
        self.tcp_sampled = slot;
        if let Some(info) = io.tcp_info(slot) {
            self.recorder.tcp_sample(info);
        }
    }

    /// Asks the kernel about each open connection, when nothing is measured any more.
    fn sample_tcp_at_the_end<I: Io>(&mut self, io: &I) {
        for slot in 0..self.plan.slots.min(LAST_SAMPLES_MAX) {
            if self.connections[slot as usize].state == State::Open
                && let Some(info) = io.tcp_info(slot)
            {
                self.recorder.last_tcp_sample(info);
            }
        }
    }

    /// When the clock asks for something next.
    fn next_wake(&mut self, now: Nanos) -> Nanos {
        let checks = self.deadlines.next_check(now).min(self.next_sample);
        let mut wake = self.recorder.slice_ends().min(checks).min(self.next_control);
        if self.stopped {
            if let Pace::Sessions(sessions) = &self.pace {
                wake = wake.min(sessions.next_due());
                wake = wake.min(self.connect_at);
            }
            return wake.min(self.stop_at.saturating_add(self.plan.drain));
        }
        if self.plan.solo_until != 0 {
            wake = wake.min(self.plan.solo_until);
        }
        wake = wake.min(self.stop_at).min(self.connect_at);
        match &self.pace {
            Pace::Open(_) | Pace::Sessions(_) => self.wake.before(self.pace.next_due(), wake),
            Pace::Closed { .. } => wake.min(self.paused.front().map_or(NEVER, |(at, _)| *at)),
        }
    }
}

#[cfg(test)]
mod tests {
    use rustix::io::Errno;

    use super::*;
    use crate::load::connect_limiter::{CONNECTS_PER_TURN, TURN};
    use crate::load::driver::Handler as _;
    use crate::load::scripted::{Call, ScriptedIo, closed_loop, open_loop};

    fn connects(io: &ScriptedIo) -> usize {
        io.count(|call| matches!(call, Call::Connect(_)))
    }

    #[test]
    fn a_closed_loop_that_ends_waits_for_the_requests_whose_connections_are_on_their_way() {
        let (mut worker, mut io) = (closed_loop(3), ScriptedIo::default());
        worker.turn(&mut io, 1);
        assert_eq!(connects(&io), 3);
        worker.stop_at = 10;
        worker.turn(&mut io, 10);
        assert!(!worker.is_over(10), "they were never sent");
        io.connect_all(&mut worker, 11);
        assert_eq!((io.count(|call| matches!(call, Call::Send(_))), worker.in_flight), (3, 3));
        assert!(!worker.is_over(12));
        assert!(worker.is_over(10 + worker.plan.drain), "the drain has a bound");
    }

    #[test]
    fn an_open_loop_that_ends_waits_for_no_connection() {
        let (mut worker, mut io) = (open_loop(3, 3), ScriptedIo::default());
        worker.turn(&mut io, 10);
        assert_eq!(connects(&io), 3);
        worker.stop_at = 20;
        worker.turn(&mut io, 20);
        assert!(worker.is_over(20), "what waited is counted as never sent");
    }

    #[test]
    fn what_is_due_just_before_the_end_is_sent_where_a_connection_is_free() {
        let (mut worker, mut io) = (open_loop(2, 2), ScriptedIo::default());
        worker.turn(&mut io, 0);
        io.connect_all(&mut worker, 0);
        let slot = worker.closed.pop().expect("a second connection");
        worker.connect(&mut io, slot, 0);
        io.connect_all(&mut worker, 0);
        let sent = |io: &ScriptedIo| io.count(|call| matches!(call, Call::Send(_)));
        assert_eq!(sent(&io), 1);
        // The second request is due a nanosecond before the end, at which the worker wakes up.
        worker.stop_at = 2;
        worker.turn(&mut io, 2);
        assert_eq!((sent(&io), worker.stopped), (2, true), "no server kept it from being sent");
    }

    #[test]
    fn a_run_without_result_ends_without_a_drain() {
        let (mut worker, mut io) = (closed_loop(3), ScriptedIo::default());
        worker.turn(&mut io, 1);
        io.connect_all(&mut worker, 1);
        assert!(!worker.is_over(1) && worker.in_flight == 3);
        worker.abort.stop();
        let now = 1 + CONTROL_EVERY;
        worker.turn(&mut io, now);
        assert!(worker.is_over(now));
    }

    #[test]
    fn a_stall_that_ends_is_no_flood_of_connections() {
        let (mut worker, mut io) = (open_loop(1000, 1000), ScriptedIo::default());
        for turn in 1..=3_u32 {
            let now = Nanos::from(turn) * TURN;
            // Polls of the sockets in between begin no more.
            for step in 0..10 {
                worker.turn(&mut io, now + step);
            }
            assert_eq!(connects(&io), turn as usize * CONNECTS_PER_TURN as usize);
            assert_eq!(worker.next_wake(now + 9), now + TURN, "the others are not forgotten");
        }
    }

    #[test]
    fn a_client_without_ports_waits_for_the_connections_that_it_has() {
        let (mut worker, mut io) = (open_loop(1000, 1000), ScriptedIo::default());
        worker.turn(&mut io, TURN);
        io.connect_all(&mut worker, TURN);
        let open = connects(&io);
        let sent = |io: &ScriptedIo| io.count(|call| matches!(call, Call::Send(_)));
        assert_eq!((sent(&io), worker.open), (open, 64));
        io.refuses = Some(Errno::ADDRNOTAVAIL);
        for step in 0..1000 {
            worker.turn(&mut io, 2 * TURN + step * TURN / 10);
        }
        // In a tenth of a second.
        assert_eq!(connects(&io) - open, 10, "one attempt in each pause");
        let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
        let now = 200 * TURN;
        worker.received(&mut io, 0, answer, crate::clock::Wall::UNKNOWN, now);
        assert_eq!(sent(&io), 65, "what waits goes on the connection that came free");
    }

    #[test]
    fn a_client_without_ports_and_connections_fails_what_is_due() {
        let mut io = ScriptedIo { refuses: Some(Errno::MFILE), ..ScriptedIo::default() };
        let mut worker = open_loop(1000, 1000);
        worker.turn(&mut io, TURN);
        let Pace::Open(schedule) = &mut worker.pace else { panic!("it is one") };
        assert_eq!((schedule.waiting(TURN), connects(&io)), (0, 1));
    }
}
