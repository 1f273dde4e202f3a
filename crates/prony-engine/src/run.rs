//! One run, from plan to result: the way in. Everything that may fail by the user's or the machine's doing
//! is done here, before the load.

use std::io;
use std::num::NonZeroU64;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::mpsc::sync_channel;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use prony_http::tls::TlsClient;
use prony_http::{EncodedRequest, HeadCache, Limits, Request, RequestKind, h2};
use prony_model::{
    DriverUsed, Environment, RequestPlan, RunEvent, RunPlan, RunResult, ServerHint, TRACEPARENT, Target,
    Version,
};

use crate::assign::{What, assign, own_requests, thread_numbers};
use crate::clock::{self, NEVER, Nanos, span};
use crate::kernel::kernel_clock::Stamping;
use crate::load::checks::Checker;
use crate::load::driver::{Driver, Epoll, Setup, Uring, network_address, pick};
use crate::load::http2::Http2;
use crate::load::layer::Layer;
use crate::load::scenario::compile::Compiled;
use crate::load::trace::{PLACEHOLDER, Tracer};
use crate::load::worker::{Assignment, Worker};
use crate::machine::environment;
use crate::machine::limits;
use crate::machine::server::ServerWatch;
use crate::record::collect::{Collector, Pipes, Totals, Window};
use crate::record::recorder::Recorder;
use crate::record::samples::Samples;
use crate::record::slice::Slice;
use crate::record::so_far::SoFar;
use crate::record::stages::StageRecord;
use crate::record::summary::{Run, summarize};
use crate::record::traces::TraceRecord;
use crate::resolve::{Peers, resolve};
use crate::{Control, RunError, sys, tls};

/// Slices that go round between a worker and the collector: one being filled, one being merged, and one for
/// a collector that is late.
const SLICES_PER_WORKER: usize = 3;
/// What TCP may send at once on a new connection: ten segments of 1,460 bytes, less a margin for short
/// segments (RFC 6928). Congestion control has no say in requests that fit.
const WINDOW_BYTES: usize = 8 * 1024;
/// Time for the threads to start before the first request is due.
const START_DELAY: Nanos = 5_000_000;
/// How often a thread that waits for its start checks whether the run was ended.
const WAIT_STEP: Nanos = 50_000_000;

/// What a run is given beside its plan. By default: nothing is known of the server, and the load starts at once.
#[derive(Debug, Clone, Default)]
pub struct RunExtras {
    /// What is known of the server's processes: they are measured, too.
    pub server: ServerHint,
    /// The sink gets the result so far each time that this has passed ([`RunEvent::SoFar`]).
    pub so_far: Option<Duration>,
    /// Those results have the distributions, too: of all clocks, and of each outcome.
    pub so_far_distributions: bool,
    /// When the load starts, by CLOCK_MONOTONIC of this machine.
    pub start_at: Option<Duration>,
}

/// Runs `plan`, reports to `sink` how it goes, and returns what was found out. Blocks the calling thread.
///
/// # Errors
/// Only what prevents the load: once it is on, failures are counted in the result.
pub fn run(plan: &RunPlan, control: &Control, sink: &mut dyn FnMut(RunEvent)) -> Result<RunResult, RunError> {
    run_with(plan, &RunExtras::default(), control, sink)
}

/// As [`run()`], with `extras`.
///
/// # Errors
/// As [`run()`], processes that are named and aren't there, and a start that has passed when everything is ready for it.
pub fn run_with(
    plan: &RunPlan,
    extras: &RunExtras,
    control: &Control,
    sink: &mut dyn FnMut(RunEvent),
) -> Result<RunResult, RunError> {
    plan.check()?;
    sys::map_large_allocations();
    let request = Encoded::of(&plan.target, &plan.request, plan.trace.is_some())?;
    let checker = Checker::new(&plan.checks)?;
    let scenario = Compiled::of(plan)?;
    limits::make_room(u64::from(plan.own_load().connections()), u64::from(plan.threads))?;
    let driver = pick(plan.driver)?;
    let stamping = Stamping::pick(plan, driver.name == "io_uring");
    let kernel = Kernel { driver, stamping };
    let tls = tls::client(&plan.target, plan.request.version)?;
    let peers = resolve(plan, tls.as_ref())?;
    let mut environment = environment::before();
    if !peers.here {
        environment.link_mbit_per_s = environment::link::mbit_per_s(&peers.names);
    }
    let mut server = ServerWatch::new(plan, &peers, &extras.server)?;
    sink(RunEvent::Starting { addresses: peers.names.clone(), driver: kernel.driver.clone() });

    let now = clock::now();
    let window = window(plan, start(extras, now)?);
    let started_at = clock::wall() + Duration::from_nanos(window.start - now);
    server.start(window);
    let what = What { request: &request, checker: &checker, scenario: scenario.as_ref() };
    let (workers, pipes) = start_workers(plan, &what, &kernel, tls.as_ref(), &peers, control, window)?;
    let mut collector =
        Collector::new(plan, window, server, workers.iter().map(|worker| Arc::clone(&worker.tid)).collect());
    let run = |environment: &Environment, is_over, totals: &Totals| {
        summarize(&Run {
            plan,
            keep_alive: request.keep_alive(plan.request.keep_alive),
            peers: &peers,
            driver: kernel.driver.clone(),
            requests: own_requests(plan, window),
            kernel_clock: kernel.stamping.used(),
            environment: environment.clone(),
            started_at,
            stopped: is_over && control.is_stopped(),
            stopped_because: control.reason(),
            is_over,
            with_distributions: is_over || extras.so_far_distributions,
            totals,
        })
    };
    let summarize_so_far = |totals: &Totals| run(&environment, false, totals);
    let so_far = extras.so_far.map(|every| SoFar::new(every, &summarize_so_far));
    collector.collect(&pipes, so_far, sink);
    for worker in workers {
        let ended = worker.handle.join().expect("invariant: workers don't panic");
        ended.map_err(|source| RunError::System { action: "talk to the kernel", source })?;
    }
    environment.load_average_after = environment::load_average();
    Ok(run(&environment, true, &collector.finish()))
}

/// How the kernel is asked.
struct Kernel {
    driver: DriverUsed,
    stamping: Stamping,
}

/// A worker thread.
struct Started {
    handle: JoinHandle<io::Result<()>>,
    /// Its number with the kernel; 0 until it runs.
    tid: Arc<AtomicI32>,
}

/// A plan's request as it is sent.
#[derive(Clone)]
pub(crate) enum Encoded {
    /// In HTTP/1.0 or HTTP/1.1: its bytes.
    Http1(EncodedRequest),
    /// In HTTP/2.
    Http2(h2::EncodedRequest),
}

impl Encoded {
    /// `request` of `target`. `traced`: in HTTP/1 it has a traceparent, to be overwritten; in HTTP/2 that goes with each stream.
    pub(crate) fn of(target: &Target, request: &RequestPlan, traced: bool) -> Result<Self, RunError> {
        let mut written = written(target, request);
        if traced && request.version != Version::Http2 {
            written.headers.push((TRACEPARENT.to_owned(), PLACEHOLDER.to_owned()));
        }
        let scheme = if target.tls.is_some() { h2::Scheme::Https } else { h2::Scheme::Http };
        let encoded = match request.version {
            Version::Http10 | Version::Http11 => written.encode().map(Self::Http1),
            Version::Http2 => h2::EncodedRequest::new(&written, scheme).map(Self::Http2),
        };
        encoded.map_err(|error| RunError::Request(error.to_string()))
    }

    /// What a driver repeats: nothing in HTTP/2, where each connection writes bytes of its own.
    pub(crate) fn repeated(&self) -> &[u8] {
        match self {
            Self::Http1(request) => request.bytes(),
            Self::Http2(_) => &[],
        }
    }

    /// Bytes of a request that is not the first one of its connection.
    pub(crate) fn length(&self) -> usize {
        match self {
            Self::Http1(request) => request.bytes().len(),
            Self::Http2(request) => request.frame_bytes().1,
        }
    }

    /// Bytes of the first request of a connection.
    pub(crate) fn first_length(&self) -> usize {
        match self {
            Self::Http1(request) => request.bytes().len(),
            Self::Http2(request) => request.frame_bytes().0,
        }
    }

    /// What the framing of its response depends on.
    pub(crate) fn kind(&self) -> RequestKind {
        match self {
            Self::Http1(request) => request.kind(),
            Self::Http2(request) => request.kind(),
        }
    }

    /// Whether a connection carries more than one, where the plan has `asked` for that.
    pub(crate) fn keep_alive(&self, asked: bool) -> bool {
        match self {
            Self::Http1(request) => request.keep_alive(),
            Self::Http2(_) => asked,
        }
    }
}

/// A plan's request, before it is encoded.
fn written(target: &Target, request: &RequestPlan) -> Request {
    Request {
        method: request.method.clone(),
        target: target.path.clone(),
        authority: target.authority.clone(),
        version: match request.version {
            Version::Http10 => prony_http::Version::Http10,
            // HTTP/2 has no use for it.
            Version::Http11 | Version::Http2 => prony_http::Version::Http11,
        },
        keep_alive: request.keep_alive,
        headers: request.headers.clone(),
        verbatim: request.verbatim,
        body: request.body.bytes.clone(),
    }
}

/// The moment of the first request.
fn start(extras: &RunExtras, now: Nanos) -> Result<Nanos, RunError> {
    let earliest = now + START_DELAY;
    let start = extras.start_at.map_or(earliest, span);
    match earliest.checked_sub(start) {
        Some(late @ 1..) => Err(RunError::StartPassed { late: Duration::from_nanos(late) }),
        _ => Ok(start),
    }
}

/// When load, measurement and end are.
pub(crate) fn window(plan: &RunPlan, start: Nanos) -> Window {
    let measure_from = start + span(plan.warmup);
    let measure_to = plan.end.duration().map_or(NEVER, |duration| measure_from + span(duration));
    Window { start, measure_from, measure_to }
}

/// Starts the workers. Their slices come out of the first end until the last worker has ended, and go back
/// through the others.
fn start_workers(
    plan: &RunPlan,
    what: &What<'_>,
    kernel: &Kernel,
    tls: Option<&TlsClient>,
    peers: &Peers,
    control: &Control,
    window: Window,
) -> Result<(Vec<Started>, Pipes), RunError> {
    let What { request, checker, scenario } = *what;
    let threads = plan.threads as usize;
    let longest = scenario.map_or(request.length(), Compiled::longest_known);
    let (full, collected) = sync_channel(SLICES_PER_WORKER * threads);
    let mut workers = Vec::with_capacity(threads);
    let mut spares = Vec::with_capacity(threads);
    let abort = Control::default();
    for (thread, number) in (0..plan.threads).zip(thread_numbers(plan)) {
        let mut assignment = assign(plan, what, window, number);
        let tracer = Tracer::of(plan, request, number)?;
        let traces = tracer.as_ref().map(|tracer| Box::new(TraceRecord::new(tracer.ids())));
        assignment.tracer = tracer.map(Box::new);
        let setup = Setup {
            slots: assignment.slots,
            request: request.repeated().into(),
            depth: assignment.depth,
            keep_alive: assignment.keep_alive,
            // The end of a backoff is a moment as exact as that of a schedule.
            closed_loop: plan.load.rate().is_none() && plan.retries.is_none(),
            unpaced: longest * assignment.depth as usize <= WINDOW_BYTES && environment::paces(),
            stamps: kernel.stamping.sampling,
            peers: peers.addresses.clone(),
            sources: plan.sources.iter().map(|source| network_address((*source, 0).into())).collect(),
            writes: tls.is_some()
                || scenario.is_some()
                || plan.request.version == Version::Http2
                || traces.is_some(),
        };
        let layer = layer(request, tls, &assignment);
        let (spare, taken) = sync_channel(SLICES_PER_WORKER);
        for _ in 1..SLICES_PER_WORKER {
            spare.send(slice(plan, thread)).expect("invariant: the other end is in this function");
        }
        spares.push(spare);
        let asks_kernel = kernel.stamping.sampling.arrivals_one_in > 0;
        let open_loop = plan.load.rate().is_some();
        let mut recorder = Recorder::new(slice(plan, thread), full.clone(), taken, open_loop, asks_kernel);
        if let Some(stages) = &plan.stages {
            recorder.by_stages(Box::new(StageRecord::new(stages, window.measure_from)));
        }
        recorder.by_traces(traces);
        let heads = HeadCache::new(request.kind(), Limits::default());
        let worker =
            Worker::new(assignment, layer, heads, checker.clone(), recorder, control.clone(), abort.clone());
        let uring = kernel.driver.name == "io_uring";
        let wait = Wait { until: window.start, control: control.clone(), abort: abort.clone() };
        workers.push(spawn(thread, worker, setup, uring, wait)?);
    }
    Ok((workers, Pipes { full: collected, spares }))
}

/// What lies between driver and HTTP/1.1 on the connections of a worker.
fn layer(request: &Encoded, tls: Option<&TlsClient>, worker: &Assignment) -> Option<Layer> {
    let client = tls.map(TlsClient::for_thread);
    match request {
        Encoded::Http1(request) => client.map(|client| Layer::http1(client, request.bytes(), worker.slots)),
        Encoded::Http2(request) => {
            let http2 = Http2::new(request.clone(), worker.slots, worker.depth);
            Some(Layer::http2(client, http2, worker.slots))
        }
    }
}

/// An empty slice for `thread`.
fn slice(plan: &RunPlan, thread: u32) -> Box<Slice> {
    Box::new(Slice::new(thread, Samples::new(plan.samples)))
}

/// What a worker waits for before it begins.
struct Wait {
    until: Nanos,
    /// Ends the run, and the wait.
    control: Control,
    /// Another worker has failed.
    abort: Control,
}

impl Wait {
    fn wait(&self) {
        while !self.control.is_stopped() && !self.abort.is_stopped() {
            let left = self.until.saturating_sub(clock::now());
            if left == 0 {
                return;
            }
            thread::sleep(Duration::from_nanos(left.min(WAIT_STEP)));
        }
    }
}

/// Starts one worker thread. If it fails, `abort` ends the others: a run that lacks a worker has no result.
fn spawn(thread: u32, worker: Worker, setup: Setup, uring: bool, wait: Wait) -> Result<Started, RunError> {
    let tid = Arc::new(AtomicI32::new(0));
    let shared_tid = Arc::clone(&tid);
    let body = move || {
        shared_tid.store(rustix::thread::gettid().as_raw_nonzero().get(), Ordering::Relaxed);
        // By default the kernel may wake a thread 50 microseconds late to save power.
        let _as_before = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
        sys::ask_for_short_slices();
        let ended =
            if uring { work::<Uring>(worker, &setup, &wait) } else { work::<Epoll>(worker, &setup, &wait) };
        ended.inspect_err(|_| wait.abort.stop())
    };
    let handle = thread::Builder::new()
        .name(format!("load-{thread}"))
        .spawn(body)
        .map_err(|source| RunError::System { action: "start a thread", source })?;
    Ok(Started { handle, tid })
}

/// The life of a worker thread.
fn work<D: Driver>(worker: Worker, setup: &Setup, wait: &Wait) -> io::Result<()> {
    let mut driver = D::new(setup)?;
    wait.wait();
    worker.run(&mut driver)
}
