//! Writes down what happened to each request: no allocation, no lock, no system call per request.

use std::sync::mpsc::{Receiver, SyncSender};

use prony_model::{ErrorKind, Outcome, SampleRecord};

use crate::clock::{self, NEVER, Nanos, Wall};
use crate::kernel::kernel_clock::Conversion;
use crate::kernel::stamps::Stamps;
use crate::load::first::First;
use crate::record::failure_detail::{Detail, Example};
use crate::record::handshakes::Handshakes;
use crate::record::http2::Http2Counts;
use crate::record::retries::RetryRecord;
use crate::record::sample::{Answer, Sample};
use crate::record::scenario::ScenarioRecord;
use crate::record::slice::{SLICE, Slice, WaitCause};
use crate::record::slowest::Slowest;
use crate::record::stages::StageRecord;
use crate::record::streams::Streams;
use crate::record::traces::TraceRecord;

/// One worker's records.
pub(crate) struct Recorder {
    pub(super) current: Box<Slice>,
    full: SyncSender<Box<Slice>>,
    spare: Receiver<Box<Slice>>,
    /// Requests due before this are not counted: they are of the warm-up.
    measure_from: Nanos,
    /// Requests that end before this were sent one at a time.
    solo_until: Nanos,
    /// What comes from here on is no longer part of any rate.
    pub(super) measure_to: Nanos,
    /// The planned end of the measured part, which a late thread passes.
    planned_to: Nanos,
    /// Which kinds of failure an example was kept of.
    shown: [bool; ErrorKind::ALL.len()],
    /// Requests in flight, and since when so many.
    pub(super) in_flight: u64,
    in_flight_since: Nanos,
    last_cpu: Nanos,
    slice_ends: Nanos,
    pub(super) open_loop: bool,
    keeps_samples: bool,
    /// Whether the kernel is asked when answers arrive.
    asks_kernel: bool,
    kernel_clock: Conversion,
    stamps: Box<Stamps>,
    pub(super) handshakes: Box<Handshakes>,
    pub(super) streams: Box<Streams>,
    pub(super) http2: Http2Counts,
    scenario: Option<Box<ScenarioRecord>>,
    pub(super) retries: Box<RetryRecord>,
    /// None without stages.
    pub(super) stages: Option<Box<StageRecord>>,
    /// Of all requests of the measured part.
    pub(super) slowest: Box<Slowest>,
    /// None without traces.
    pub(super) traces: Option<Box<TraceRecord>>,
}

impl Recorder {
    /// Records into `first`, hands full slices to `full` and takes empty ones from `spare`.
    pub(crate) fn new(
        first: Box<Slice>,
        full: SyncSender<Box<Slice>>,
        spare: Receiver<Box<Slice>>,
        open_loop: bool,
        asks_kernel: bool,
    ) -> Self {
        Self {
            keeps_samples: first.samples.is_kept(),
            asks_kernel,
            kernel_clock: Conversion::new(),
            stamps: Box::new(Stamps::new()),
            handshakes: Box::default(),
            streams: Box::default(),
            http2: Http2Counts::default(),
            scenario: None,
            retries: Box::default(),
            stages: None,
            slowest: Box::default(),
            traces: None,
            current: first,
            full,
            spare,
            measure_from: NEVER,
            solo_until: 0,
            measure_to: NEVER,
            planned_to: NEVER,
            shown: [false; ErrorKind::ALL.len()],
            in_flight: 0,
            in_flight_since: 0,
            last_cpu: 0,
            slice_ends: 0,
            open_loop,
        }
    }

    /// Begins at `now`, on the worker's own thread; counts what is due from `measure_from` on, which is to end at
    /// `planned_to`.
    pub(crate) fn start(&mut self, now: Nanos, measure_from: Nanos, planned_to: Nanos) {
        self.planned_to = planned_to;
        self.current.start = now;
        self.current.measured = now >= measure_from;
        self.measure_from = measure_from;
        self.in_flight_since = now;
        self.last_cpu = clock::thread_cpu();
        self.slice_ends = self.boundary(now);
    }

    /// Only one request of this worker's is in flight at a time until `until`.
    pub(crate) fn solo(&mut self, until: Nanos) {
        self.solo_until = until;
    }

    /// Requests are also counted by the stages of `record`.
    pub(crate) fn by_stages(&mut self, record: Box<StageRecord>) {
        self.stages = Some(record);
    }

    /// Requests have traces, of which the slowest that are sampled are kept, too.
    pub(crate) fn by_traces(&mut self, record: Option<Box<TraceRecord>>) {
        self.traces = record;
    }

    /// When the current slice should be handed over: on time, and exactly where the measured part begins.
    #[inline]
    pub(crate) fn slice_ends(&self) -> Nanos {
        self.slice_ends
    }

    /// The next boundary after `now` on a grid that all workers share, so that their slices lie side by side.
    fn boundary(&self, now: Nanos) -> Nanos {
        match now.checked_sub(self.measure_from) {
            Some(passed) => self.measure_from + (passed / SLICE + 1) * SLICE,
            None => self.measure_from - (self.measure_from - now - 1) / SLICE * SLICE,
        }
    }

    /// No more of what comes is part of a rate: the measured part ended at `now`.
    pub(crate) fn stop_counting(&mut self, now: Nanos) {
        self.weigh(now);
        self.rotate(now);
        self.measure_to = now;
    }

    /// Hands the current slice over, if an empty one is there to go on with.
    pub(crate) fn rotate(&mut self, now: Nanos) {
        self.weigh(now);
        self.distrust_moved_clock(now);
        self.slice_ends = self.boundary(now);
        let Ok(spare) = self.spare.try_recv() else { return };
        self.close(now);
        let full = std::mem::replace(&mut self.current, spare);
        self.current.start = now;
        self.current.measured = now >= self.measure_from;
        hand_over(&self.full, full);
    }

    /// Hands the last slice over; `never_sent` and the like are in it.
    pub(crate) fn finish(mut self, now: Nanos) {
        self.weigh(now);
        self.distrust_moved_clock(now);
        self.close(now);
        // An empty slice in its place would be fifty histograms, made to be dropped.
        let Self {
            mut current,
            stamps,
            handshakes,
            streams,
            http2,
            scenario,
            retries,
            stages,
            slowest,
            traces,
            full,
            ..
        } = self;
        current.stamps = Some(stamps);
        current.handshakes = Some(handshakes);
        current.streams = Some(streams);
        current.http2 = Some(http2);
        current.scenario = scenario;
        current.retries = Some(retries);
        current.stages = stages;
        current.slowest = Some(slowest);
        current.traces = traces;
        hand_over(&full, current);
    }

    /// Writes down where the current slice ends.
    fn close(&mut self, now: Nanos) {
        let slice = &mut *self.current;
        slice.end = now;
        slice.counted_to = now.min(self.measure_to);
        let cpu = clock::thread_cpu();
        slice.counters.cpu = cpu - self.last_cpu;
        self.last_cpu = cpu;
    }

    /// Whether a request that was due at `intended` belongs to the measured part.
    #[inline]
    pub(crate) fn counts(&self, intended: Nanos) -> bool {
        intended >= self.measure_from
    }

    /// A request was begun.
    #[inline]
    pub(crate) fn taken(&mut self, intended: Nanos) {
        self.current.tally.taken += u64::from(self.counts(intended));
    }

    /// A request that was due at `intended` had to wait before it could be sent.
    pub(crate) fn waited(&mut self, intended: Nanos, cause: WaitCause) {
        let counted = u64::from(self.counts(intended));
        let tally = &mut self.current.tally;
        match cause {
            WaitCause::Limit => tally.waited_for_limit += counted,
            WaitCause::Connecting => tally.waited_for_connecting += counted,
        }
    }

    /// A request was handed over.
    #[inline]
    pub(crate) fn sent(&mut self, intended: Nanos, bytes: u64, reused: bool, now: Nanos) {
        self.weigh(now);
        self.in_flight += 1;
        let counts = self.counts(intended);
        let tally = &mut self.current.tally;
        tally.sent += u64::from(counts);
        tally.traffic[usize::from(counts)].sent += 1;
        let counters = &mut self.current.counters;
        counters.first_sent.get_or_insert(now);
        counters.sent_now += 1;
        counters.reused += u64::from(reused);
        counters.sent_bytes += bytes;
    }

    /// Bytes have come.
    #[inline]
    pub(crate) fn received(&mut self, bytes: usize) {
        self.current.counters.received_bytes += bytes as u64;
    }

    /// Bytes were sent that are of no request.
    #[inline]
    pub(crate) fn wrote(&mut self, bytes: usize) {
        self.current.counters.sent_bytes += bytes as u64;
    }

    /// A request in flight has got its answer, good or not.
    #[inline]
    pub(crate) fn answered(&mut self, sample: Sample, outcome: Outcome, answer: Answer, detail: Detail) {
        self.leave_flight(sample.done);
        let counters = &mut self.current.counters;
        counters.body_bytes += answer.body_bytes;
        let in_time = sample.done < self.measure_to;
        counters.answered_now += u64::from(in_time);
        let counts = self.counts(sample.intended);
        let traffic = &mut self.current.tally.traffic[usize::from(counts)];
        traffic.answered += 1;
        traffic.answered_in_drain += u64::from(!in_time);
        if counts {
            self.current.statuses[usize::from(answer.status.min(599))] += 1;
            if let Some(stages) = &mut self.stages {
                stages.answered(sample.intended);
            }
        }
        self.ended(sample, outcome, Some(answer), detail);
    }

    /// A request in flight will get no answer.
    pub(crate) fn lost(&mut self, sample: Sample, kind: ErrorKind, detail: Detail) {
        self.leave_flight(sample.done);
        self.ended(sample, Outcome::Failed(kind), None, detail);
    }

    /// A request could not be sent, because there was no connection for it.
    pub(crate) fn unconnected(&mut self, sample: Sample, kind: ErrorKind, detail: Detail) {
        self.current.tally.sent += u64::from(self.counts(sample.intended));
        self.ended(sample, Outcome::Failed(kind), None, detail);
    }

    #[inline]
    pub(super) fn ended(
        &mut self,
        mut sample: Sample,
        outcome: Outcome,
        answer: Option<Answer>,
        detail: Detail,
    ) {
        let counted = self.counts(sample.intended);
        let slice = &mut *self.current;
        if sample.done < self.measure_to {
            match outcome {
                Outcome::Done(_) => slice.counters.done_now += 1,
                Outcome::Failed(_) | Outcome::UnexpectedStatus(_) => slice.counters.failed_now += 1,
            }
        }
        if matches!(outcome, Outcome::Done(_)) {
            let to = self.measure_to.min(self.planned_to);
            slice.tally.rounds.add(sample.intended, sample.done, self.measure_from, to);
        }
        if !counted {
            if sample.done < self.solo_until && matches!(outcome, Outcome::Done(_)) {
                slice.solo.record(sample.done.saturating_sub(sample.sent));
            }
            return;
        }
        let clocks = &mut slice.outcomes[outcome.index()];
        clocks.response.record(sample.done.saturating_sub(sample.intended));
        clocks.service.record(sample.done.saturating_sub(sample.sent));
        if sample.first_byte != 0 {
            slice.first_byte.record(sample.first_byte.saturating_sub(sample.sent));
        }
        if let Some(stages) = &mut self.stages {
            stages.ended(&sample, outcome);
        }
        let lag = sample.sent.saturating_sub(sample.ready);
        slice.lag.record(lag);
        let mut own = lag;
        if sample.departed | sample.arrived != 0 {
            if self.kernel_clock.fits(&sample) {
                own += self.stamps.record(&sample);
            } else {
                self.stamps.discarded += 1;
                (sample.departed, sample.arrived) = (0, 0);
            }
        }
        if sample.sampled && matches!(outcome, Outcome::Done(_)) {
            self.stamps.record_response(&sample);
        }
        // Where only some are stamped, those stand for all: of the others the client's part is not known.
        if matches!(outcome, Outcome::Done(_)) && (sample.arrived != 0 || !self.asks_kernel) {
            slice.own_delay.record(sample.done.saturating_sub(sample.intended), own);
            if sample.arrived != 0 {
                slice.arrivals.record(sample.done.saturating_sub(sample.arrived), 0);
            }
        }
        if self.open_loop && sample.ready > sample.intended {
            slice.blocked.record(sample.ready - sample.intended);
        }
        let is_traced = self.traces.as_mut().is_some_and(|traces| traces.ended(&sample));
        if is_traced || self.slowest.takes(&sample) {
            self.list(&sample, Some(outcome), answer);
        }
        if self.keeps_samples {
            self.keep(sample, outcome, answer);
        }
        if let Some(kind) = outcome.error_kind() {
            self.show(kind, sample.done, detail);
        }
    }

    /// `stamp` of the kernel's as a moment of ours; 0 if it is unknown.
    #[inline]
    pub(crate) fn moment(&self, stamp: Wall) -> Nanos {
        self.kernel_clock.moment(stamp)
    }

    /// Discards the stamps so far, if the wall clock was moved while this slice lasted.
    fn distrust_moved_clock(&mut self, now: Nanos) {
        if self.kernel_clock.moved(now) {
            self.stamps.discard();
            self.current.samples.discard_stamps();
            // Those of the slices before were taken by a clock that had not moved yet.
            self.current.own_delay.clear();
            self.current.arrivals.clear();
        }
    }

    /// Keeps a single sample. A full slice is handed over early; where none is spare, the sample is lost.
    #[cold]
    fn keep(&mut self, sample: Sample, outcome: Outcome, answer: Option<Answer>) {
        if self.current.samples.is_full() {
            self.rotate(sample.done);
        }
        self.current.samples.keep(SampleRecord {
            thread: self.current.thread,
            port: sample.port,
            intended_ns: sample.intended,
            ready_ns: sample.ready,
            sent_ns: sample.sent,
            tx_ns: sample.departed,
            rx_ns: sample.arrived,
            first_byte_ns: sample.first_byte,
            done_ns: sample.done,
            connect_ns: sample.connect,
            outcome,
            status: answer.map_or(0, |answer| answer.status),
            body_bytes: answer.map_or(0, |answer| answer.body_bytes),
        });
    }

    /// A good response has another length than the `first` one.
    #[cold]
    pub(crate) fn other_length(&mut self, intended: Nanos, first: u64, body_bytes: u64) {
        if self.counts(intended) {
            self.current.tally.lengths.note(first, body_bytes);
        }
    }

    /// The first complete response of this worker, seen at `at`.
    #[cold]
    pub(crate) fn first_response(&mut self, first: First) {
        self.current.first_response = Some(first);
    }

    #[cold]
    fn show(&mut self, kind: ErrorKind, at: Nanos, detail: Detail) {
        if !std::mem::replace(&mut self.shown[kind as usize], true) {
            self.current.examples[kind as usize] = Some(Example { at, detail });
        }
    }

    /// A request in flight was cut off by the end of the run.
    pub(crate) fn unfinished(&mut self, sample: &Sample) {
        let (intended, now) = (sample.intended, sample.done);
        self.leave_flight(now);
        if self.counts(intended) {
            // What is only queued, the server has not seen.
            if sample.sent < now {
                if let Some(traces) = &mut self.traces {
                    traces.ended(sample);
                }
                self.list(sample, None, None);
            }
            self.current.tally.unfinished += 1;
            self.current.censored.record(now.saturating_sub(intended));
            if let Some(stages) = &mut self.stages {
                stages.unfinished(intended, now.saturating_sub(intended));
            }
        }
    }

    /// A request that was due was never sent. `begun`: it had been taken by a connection that never came.
    pub(crate) fn never_sent(&mut self, intended: Nanos, begun: bool, now: Nanos) {
        if self.counts(intended) {
            let tally = &mut self.current.tally;
            tally.taken += u64::from(!begun);
            tally.never_sent += 1;
            self.current.censored.record(now.saturating_sub(intended));
            if let Some(stages) = &mut self.stages {
                stages.never_sent(intended, now.saturating_sub(intended));
            }
        }
    }

    /// What the worker's sessions took, when they have ended.
    pub(crate) fn sessions(&mut self, record: Box<ScenarioRecord>) {
        self.scenario = Some(record);
    }

    /// `gap` passed between two polls of the sockets.
    #[inline]
    pub(crate) fn polled(&mut self, gap: Nanos) {
        const MILLISECOND: Nanos = 1_000_000;
        let counters = &mut self.current.counters;
        counters.polls += 1;
        counters.gap_max = counters.gap_max.max(gap);
        counters.gaps_over_1ms += u64::from(gap > MILLISECOND);
    }

    #[inline]
    pub(super) fn leave_flight(&mut self, now: Nanos) {
        self.weigh(now);
        self.in_flight -= 1;
    }

    /// Adds the time since the last change to the integral of requests in flight.
    #[inline]
    pub(super) fn weigh(&mut self, now: Nanos) {
        let passed = now.saturating_sub(self.in_flight_since);
        self.current.counters.in_flight_ns += u128::from(passed) * u128::from(self.in_flight);
        self.in_flight_since = self.in_flight_since.max(now);
    }
}

/// The channel holds all slices that exist. Only a collector that is gone refuses, and then nobody asks.
fn hand_over(full: &SyncSender<Box<Slice>>, slice: Box<Slice>) {
    let _refused = full.try_send(slice);
}
