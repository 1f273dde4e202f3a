//! Merges the slices of all workers while the run is on, on the caller's thread: totals, parts of the run
//! for intervals, the per-second series, progress, and the result so far.

use std::sync::Arc;
use std::sync::atomic::AtomicI32;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender};
use std::time::Duration;

use prony_model::{MachineUse, Phase, Progress, RunCounts, RunEvent, RunPlan, ServerUse, SliceCounts};
use prony_stats::Histogram;

use crate::clock::{self, Nanos};
use crate::evaluate::clean::{CleanTotals, Sorter};
use crate::kernel::stamps::Stamps;
use crate::kernel::waits::Waits;
use crate::machine::observe::Observer;
use crate::machine::server::ServerWatch;
use crate::record::handshakes::Handshakes;
use crate::record::http2::Http2Counts;
use crate::record::retries::RetryRecord;
use crate::record::samples::Samples;
use crate::record::scenario::ScenarioRecord;
use crate::record::series::Series;
use crate::record::slice::{Counters, SLICE, Slice};
use crate::record::slowest::Slowest;
use crate::record::so_far::SoFar;
use crate::record::stages::StageRecord;
use crate::record::streams::Streams;
use crate::record::traces::TraceRecord;

/// When load, measurement and end are.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Window {
    /// The first request.
    pub start: Nanos,
    /// What is due from here on is counted.
    pub measure_from: Nanos,
    /// No request is begun from here on; [`clock::NEVER`] where a count ends the run.
    pub measure_to: Nanos,
}

/// The way of the slices.
pub(crate) struct Pipes {
    /// From all workers.
    pub full: Receiver<Box<Slice>>,
    /// Back to each of them.
    pub spares: Vec<SyncSender<Box<Slice>>>,
}

/// Everything that was recorded.
pub(crate) struct Totals {
    pub window: Window,
    /// When the last worker was ready.
    pub ready: Nanos,
    /// The last moment of the measured part.
    pub measured_to: Nanos,
    /// The last moment of all.
    pub ended: Nanos,
    /// All records of the measured part and of the drain, in one slice.
    pub all: Slice,
    /// Those of clean slices.
    pub clean: CleanTotals,
    /// What the kernel reported of them.
    pub stamps: Box<Stamps>,
    /// TLS handshakes of all connections.
    pub handshakes: Handshakes,
    /// What servers of HTTP/2 did beyond answering.
    pub http2: Http2Counts,
    /// Events of all responses that are streams of them.
    pub streams: Streams,
    /// Sessions, flows and steps.
    pub scenario: ScenarioRecord,
    /// What came of retries.
    pub retries: RetryRecord,
    /// What became of the requests of each stage; none without stages, and until a worker has ended.
    pub stages: Option<Box<StageRecord>>,
    /// The slowest requests; none until a worker has ended.
    pub slowest: Slowest,
    /// The slowest traced requests; none without traces, and until a worker has ended.
    pub traces: Option<Box<TraceRecord>>,
    /// Counters of the whole run, warm-up included.
    pub whole_run: Counters,
    /// By thread.
    pub threads: Vec<ThreadTotals>,
    pub series: Series,
    /// What the machine did beside the client.
    pub machine: MachineUse,
    /// What the server used, or why that is not known.
    pub server: Result<ServerUse, String>,
}

/// What one worker used.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ThreadTotals {
    pub cpu: Nanos,
    pub wall: Nanos,
    pub cpu_share_peak: f64,
    pub run_queue_wait_ns: Option<u64>,
    pub gap_max: Nanos,
    pub gaps_over_1ms: u64,
    pub polls: u64,
    is_ready: bool,
    open_peak: u64,
    /// Connections open and requests in flight in its last slice.
    last: (u64, f64),
    /// CPU and wall time of the second that is being summed up.
    second: (Nanos, Nanos),
}

/// Merges what comes.
pub(crate) struct Collector {
    pub(super) totals: Totals,
    pub(super) sorter: Sorter,
    pub(super) observer: Observer,
    pub(super) server: ServerWatch,
    waits: Waits,
    measuring: bool,
    draining: bool,
    done: u64,
    failed: u64,
    /// What has become of the requests of the measured part.
    counts: RunCounts,
    /// Response times of the good responses of the slice at hand.
    good: Histogram,
}

impl Collector {
    /// For a run of `plan` whose workers store their thread numbers in `tids`.
    pub(crate) fn new(
        plan: &RunPlan,
        window: Window,
        server: ServerWatch,
        tids: Vec<Arc<AtomicI32>>,
    ) -> Self {
        let totals = Totals {
            window,
            ready: window.start,
            measured_to: window.measure_from,
            ended: window.start,
            all: Slice::new(0, Samples::none()),
            clean: CleanTotals::new(0),
            stamps: Box::new(Stamps::new()),
            handshakes: Handshakes::default(),
            http2: Http2Counts::default(),
            streams: Streams::default(),
            scenario: ScenarioRecord::default(),
            retries: RetryRecord::default(),
            stages: None,
            slowest: Slowest::default(),
            traces: None,
            whole_run: Counters::default(),
            threads: vec![ThreadTotals::default(); tids.len()],
            series: Series::new(window.measure_from, plan.threads, plan.share.is_some()),
            machine: MachineUse::default(),
            server: Err(String::new()),
        };
        let observer = Observer::new(window, clock::now());
        let waits = Waits::new(tids, window.measure_from, clock::now());
        let good = Histogram::new();
        let sorter = Sorter::new(window, plan.threads, plan.samples);
        Self {
            totals,
            sorter,
            observer,
            server,
            waits,
            measuring: false,
            draining: false,
            done: 0,
            failed: 0,
            counts: RunCounts::default(),
            good,
        }
    }

    /// Collects until every worker has ended, and sends what `so_far` makes of the totals when that is due.
    pub(crate) fn collect(
        &mut self,
        pipes: &Pipes,
        mut so_far: Option<SoFar<'_>>,
        sink: &mut dyn FnMut(RunEvent),
    ) {
        if self.totals.window.measure_from > self.totals.window.start {
            sink(RunEvent::Phase(Phase::Warmup));
        }
        loop {
            // Before the start there is nothing to do, and at the start the cores are for the workers.
            let first = self.totals.window.start.saturating_add(SLICE).saturating_sub(clock::now());
            match pipes.full.recv_timeout(Duration::from_nanos(first.max(SLICE))) {
                Ok(mut slice) => {
                    self.merge(&slice, sink);
                    self.totals.add_stamps(slice.stamps.take());
                    if let Some(handshakes) = slice.handshakes.take() {
                        self.totals.handshakes.add(&handshakes);
                    }
                    if let Some(streams) = slice.streams.take() {
                        self.totals.streams.add(&streams);
                    }
                    if let Some(http2) = slice.http2.take() {
                        self.totals.http2.add(&http2);
                    }
                    if let Some(scenario) = slice.scenario.take() {
                        self.totals.scenario.add(*scenario);
                    }
                    if let Some(retries) = slice.retries.take() {
                        self.totals.retries.add(&retries);
                    }
                    if let Some(slowest) = slice.slowest.take() {
                        self.totals.slowest.add_all(&slowest);
                    }
                    if let Some(traces) = slice.traces.take() {
                        match &mut self.totals.traces {
                            None => self.totals.traces = Some(traces),
                            Some(sum) => sum.add(&traces),
                        }
                    }
                    if let Some(stages) = slice.stages.take() {
                        match &mut self.totals.stages {
                            None => self.totals.stages = Some(stages),
                            Some(sum) => sum.add(&stages),
                        }
                    }
                    let spare = self.sorter.hold(slice);
                    // A worker that has ended takes nothing back.
                    let _gone = pipes.spares[spare.thread as usize].try_send(spare);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            self.poll_clock(sink);
            if let Some(so_far) = so_far.as_mut().filter(|_| self.measuring && !self.draining) {
                so_far.poll(self, sink);
            }
        }
    }

    /// The totals, when all is collected.
    pub(crate) fn finish(mut self) -> Totals {
        let now = clock::now();
        self.totals.series.finish();
        self.totals.machine = self.observer.until(now);
        (self.totals.all, self.totals.clean) = self.sorter.finish(now, &self.totals.threads);
        self.totals.server = self.server.finish();
        for (thread, totals) in self.totals.threads.iter_mut().enumerate() {
            totals.run_queue_wait_ns = self.waits.of_wall(thread, totals.wall);
        }
        self.totals.add_open_peaks();
        self.totals
    }

    /// Phases begin by the clock, and the kernel is asked how long the workers waited.
    fn poll_clock(&mut self, sink: &mut dyn FnMut(RunEvent)) {
        let now = clock::now();
        self.observer.poll(now);
        self.server.poll(now);
        let measuring = now >= self.totals.window.measure_from;
        let threads = &mut self.totals.threads;
        self.waits.poll(now, |thread, waited| threads[thread].run_queue_wait_ns = Some(waited));
        self.sorter.poll(now, &self.totals.threads);
        if !measuring {
            return;
        }
        if !std::mem::replace(&mut self.measuring, true) {
            sink(RunEvent::Phase(Phase::Measure));
        }
        if now >= self.totals.window.measure_to && !std::mem::replace(&mut self.draining, true) {
            self.waits.end_all();
            sink(RunEvent::Phase(Phase::Drain));
        }
    }

    fn merge(&mut self, slice: &Slice, sink: &mut dyn FnMut(RunEvent)) {
        self.totals.whole_run.add(&slice.counters);
        let thread = &mut self.totals.threads[slice.thread as usize];
        thread.open_peak = thread.open_peak.max(slice.counters.open_peak);
        // A worker's first slice begins when it is ready.
        if !std::mem::replace(&mut thread.is_ready, true) {
            self.totals.ready = self.totals.ready.max(slice.start);
        }
        let took = slice.end.saturating_sub(slice.start).max(1);
        thread.last = (slice.counters.open_peak, slice.counters.in_flight_ns as f64 / took as f64);
        self.totals.ended = self.totals.ended.max(slice.end);
        self.good.clear();
        slice.add_good_responses(&mut self.good);
        send_samples(slice, sink);
        // A request of the measured part may be recorded in the slice before it.
        slice.add_counts(&mut self.counts);
        if slice.measured {
            sink(RunEvent::Counts(Box::new(self.counts)));
        } else {
            // Another worker's slice may have come first and begun the next phase.
            if !self.measuring {
                self.send_progress(slice, self.totals.window.start, sink);
            }
            return;
        }
        if slice.counted_to < slice.end {
            self.waits.end(slice.thread as usize);
        }
        if slice.counted_to <= slice.start {
            return;
        }
        self.totals.threads[slice.thread as usize].add(slice);
        // Where a count ends the run, the measured part is as long as there were answers.
        let last = slice.counted_to.min(self.totals.window.measure_to);
        self.totals.measured_to = self.totals.measured_to.max(last);
        self.totals.series.add(slice, last, &self.good);
        self.server.count(slice.start, last, slice.counters.answered_now + slice.counters.retried_now);
        self.done += slice.counters.done_now;
        self.failed += slice.counters.failed_now;
        sink(RunEvent::Slice(SliceCounts {
            thread: slice.thread,
            took: Duration::from_nanos(last.saturating_sub(slice.start)),
            answered: slice.counters.answered_now,
            done: slice.counters.done_now,
            failed: slice.counters.failed_now,
        }));
        self.send_progress(slice, self.totals.window.measure_from, sink);
    }

    /// Reports how far the run is, as seen from the first worker's slices.
    fn send_progress(&self, slice: &Slice, since: Nanos, sink: &mut dyn FnMut(RunEvent)) {
        if slice.thread != 0 || self.draining {
            return;
        }
        let seconds = Duration::from_nanos(slice.end.saturating_sub(slice.start)).as_secs_f64();
        let rate = slice.counters.done_now as f64 * self.totals.threads.len() as f64;
        sink(RunEvent::Progress(Progress {
            elapsed: Duration::from_nanos(slice.end.saturating_sub(since)),
            done: self.done,
            failed: self.failed,
            rate_per_s: if seconds > 0.0 { rate / seconds } else { 0.0 },
            median: self.good.value_at_quantile(0.5).map(Duration::from_nanos),
            in_flight: self.totals.threads.iter().map(|thread| thread.last.1).sum(),
            open: self.totals.threads.iter().map(|thread| thread.last.0).sum(),
        }));
    }
}

impl Totals {
    /// Most connections open at one moment, of all threads together.
    pub(super) fn add_open_peaks(&mut self) {
        self.whole_run.open_peak = self.threads.iter().map(|thread| thread.open_peak).sum();
    }

    /// Adds those of one worker. The first ones are taken as they are, which saves their memory.
    fn add_stamps(&mut self, stamps: Option<Box<Stamps>>) {
        match stamps {
            Some(stamps) if self.stamps.is_empty() => self.stamps = stamps,
            Some(stamps) => self.stamps.add(&stamps),
            None => {}
        }
    }
}

/// Sends the single samples of `slice`, where there are any.
fn send_samples(slice: &Slice, sink: &mut dyn FnMut(RunEvent)) {
    if !slice.samples.records().is_empty() {
        sink(RunEvent::Samples(slice.samples.records().to_vec()));
    }
    if slice.samples.lost() > 0 {
        sink(RunEvent::SamplesLost(slice.samples.lost()));
    }
}

impl ThreadTotals {
    pub(crate) fn add(&mut self, slice: &Slice) {
        const SECOND: Nanos = 1_000_000_000;
        let wall = slice.end.saturating_sub(slice.start);
        self.cpu += slice.counters.cpu;
        self.wall += wall;
        self.gap_max = self.gap_max.max(slice.counters.gap_max);
        self.gaps_over_1ms += slice.counters.gaps_over_1ms;
        self.polls += slice.counters.polls;
        self.second = (self.second.0 + slice.counters.cpu, self.second.1 + wall);
        if self.second.1 >= SECOND {
            let share = self.second.0 as f64 / self.second.1 as f64;
            self.cpu_share_peak = self.cpu_share_peak.max(share.min(1.0));
            self.second = (0, 0);
        }
    }

    /// The greatest share of a core within a second; over all of a shorter run.
    pub(crate) fn cpu_share(&self) -> f64 {
        let mean = if self.wall == 0 { 0.0 } else { self.cpu as f64 / self.wall as f64 };
        self.cpu_share_peak.max(mean.min(1.0))
    }
}
