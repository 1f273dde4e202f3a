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
    DriverUsed, Environment, Load, RequestPlan, RunEvent, RunPlan, RunResult, ServerHint, Target, Version,
};

use crate::clock::{self, NEVER, Nanos, span};
use crate::kernel::kernel_clock::Stamping;
use crate::load::checks::Checker;
use crate::load::driver::{Driver, Epoll, Setup, Uring, network_address, pick};
use crate::load::http2::Http2;
use crate::load::layer::Layer;
use crate::load::pacer::{Part, Schedule, share};
use crate::load::retry::Retries;
use crate::load::scenario::compile::Compiled;
use crate::load::scenario::sessions::{Beginning, Sessions, Share};
use crate::load::worker::{Assignment, Pace, Worker};
use crate::machine::environment;
use crate::machine::limits;
use crate::machine::server::ServerWatch;
use crate::record::collect::{Collector, Pipes, Totals, Window};
use crate::record::recorder::Recorder;
use crate::record::samples::Samples;
use crate::record::slice::Slice;
use crate::record::so_far::SoFar;
use crate::record::summary::{Run, summarize};
use crate::resolve::{Peers, resolve};
use crate::{Control, RunError, sys, tls};

/// Slices that go round between a worker and the collector: one being filled, one being merged, and one for
/// a collector that is late.
const SLICES_PER_WORKER: usize = 3;
/// What TCP may send at once on a new connection: ten segments of 1,460 bytes, less a margin for short
/// segments (RFC 6928). Congestion control has no say in requests that fit.
const WINDOW_BYTES: usize = 8 * 1024;
/// A warm-up of at least this length begins with requests that are sent one at a time,
const SOLO_WARMUP_MIN: Duration = Duration::from_millis(800);
/// for this part of it,
const SOLO_PART: u32 = 3;
/// but for no longer than this.
const SOLO_MAX: Duration = Duration::from_secs(1);
/// Time for the threads to start before the first request is due.
const START_DELAY: Nanos = 5_000_000;

/// Runs `plan`, reports to `sink` how it goes, and returns what was found out. Blocks the calling thread.
///
/// # Errors
/// Only what prevents the load: once it is on, failures are counted in the result.
pub fn run(plan: &RunPlan, control: &Control, sink: &mut dyn FnMut(RunEvent)) -> Result<RunResult, RunError> {
    run_with_server(plan, &ServerHint::default(), None, control, sink)
}

/// As [`run()`], with what is known of the server's processes: they are measured, too. Where `so_far` is a length of
/// time, `sink` gets the result so far each time that it has passed ([`RunEvent::SoFar`]).
///
/// # Errors
/// As [`run()`], and processes that are named and aren't there.
pub fn run_with_server(
    plan: &RunPlan,
    hint: &ServerHint,
    so_far: Option<Duration>,
    control: &Control,
    sink: &mut dyn FnMut(RunEvent),
) -> Result<RunResult, RunError> {
    plan.check()?;
    sys::map_large_allocations();
    let request = Encoded::of(&plan.target, &plan.request)?;
    let checker = Checker::new(&plan.checks)?;
    let scenario = Compiled::of(plan)?;
    limits::make_room(u64::from(plan.load.connections()), u64::from(plan.threads))?;
    let driver = pick(plan.driver)?;
    let stamping = Stamping::pick(plan, driver.name == "io_uring");
    let kernel = Kernel { driver, stamping };
    let tls = tls::client(&plan.target, plan.request.version)?;
    let peers = resolve(plan, tls.as_ref())?;
    let mut environment = environment::before();
    if !peers.here {
        environment.link_mbit_per_s = environment::link::mbit_per_s(&peers.names);
    }
    let mut server = ServerWatch::new(plan, &peers, hint)?;
    sink(RunEvent::Starting { addresses: peers.names.clone(), driver: kernel.driver.clone() });

    let started_at = clock::wall() + Duration::from_nanos(START_DELAY);
    let window = window(plan);
    server.start(window);
    let what = What { request: &request, checker: &checker, scenario: scenario.as_ref() };
    let (workers, pipes) = start(plan, &what, &kernel, tls.as_ref(), &peers, control, window)?;
    let mut collector =
        Collector::new(plan, window, server, workers.iter().map(|worker| Arc::clone(&worker.tid)).collect());
    let run = |environment: &Environment, is_over, totals: &Totals| {
        summarize(&Run {
            plan,
            keep_alive: request.keep_alive(plan.request.keep_alive),
            peers: &peers,
            driver: kernel.driver.clone(),
            kernel_clock: kernel.stamping.used(),
            environment: environment.clone(),
            started_at,
            stopped: is_over && control.is_stopped(),
            stopped_because: control.reason(),
            is_over,
            totals,
        })
    };
    let summarize_so_far = |totals: &Totals| run(&environment, false, totals);
    let so_far = so_far.map(|every| SoFar::new(every, &summarize_so_far));
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

/// What is sent, and what must come back.
struct What<'a> {
    request: &'a Encoded,
    checker: &'a Checker,
    /// Instead of both.
    scenario: Option<&'a Compiled>,
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
    /// `request` of `target`.
    pub(crate) fn of(target: &Target, request: &RequestPlan) -> Result<Self, RunError> {
        let written = written(target, request);
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
    fn length(&self) -> usize {
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

/// When load, measurement and end are.
fn window(plan: &RunPlan) -> Window {
    let start = clock::now() + START_DELAY;
    let measure_from = start + span(plan.warmup);
    let measure_to = plan.end.duration().map_or(NEVER, |duration| measure_from + span(duration));
    Window { start, measure_from, measure_to }
}

/// Starts the workers. Their slices come out of the first end until the last worker has ended, and go back
/// through the others.
fn start(
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
    for thread in 0..plan.threads {
        let assignment = assign(plan, what, window, thread);
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
            writes: tls.is_some() || scenario.is_some() || plan.request.version == Version::Http2,
        };
        let layer = layer(request, tls, &assignment);
        let (spare, taken) = sync_channel(SLICES_PER_WORKER);
        for _ in 1..SLICES_PER_WORKER {
            spare.send(slice(plan, thread)).expect("invariant: the other end is in this function");
        }
        spares.push(spare);
        let asks_kernel = kernel.stamping.sampling.arrivals_one_in > 0;
        let open_loop = plan.load.rate().is_some();
        let recorder = Recorder::new(slice(plan, thread), full.clone(), taken, open_loop, asks_kernel);
        let heads = HeadCache::new(request.kind(), Limits::default());
        let worker =
            Worker::new(assignment, layer, heads, checker.clone(), recorder, control.clone(), abort.clone());
        let uring = kernel.driver.name == "io_uring";
        workers.push(spawn(thread, worker, setup, uring, window.start, abort.clone())?);
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

/// Starts one worker thread. If it fails, `abort` ends the others: a run that lacks a worker has no result.
fn spawn(
    thread: u32,
    worker: Worker,
    setup: Setup,
    uring: bool,
    start: Nanos,
    abort: Control,
) -> Result<Started, RunError> {
    let tid = Arc::new(AtomicI32::new(0));
    let shared_tid = Arc::clone(&tid);
    let body = move || {
        shared_tid.store(rustix::thread::gettid().as_raw_nonzero().get(), Ordering::Relaxed);
        // By default the kernel may wake a thread 50 microseconds late to save power.
        let _as_before = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
        sys::ask_for_short_slices();
        let ended =
            if uring { work::<Uring>(worker, &setup, start) } else { work::<Epoll>(worker, &setup, start) };
        ended.inspect_err(|_| abort.stop())
    };
    let handle = thread::Builder::new()
        .name(format!("load-{thread}"))
        .spawn(body)
        .map_err(|source| RunError::System { action: "start a thread", source })?;
    Ok(Started { handle, tid })
}

/// The life of a worker thread.
fn work<D: Driver>(worker: Worker, setup: &Setup, start: Nanos) -> io::Result<()> {
    let mut driver = D::new(setup)?;
    thread::sleep(Duration::from_nanos(start.saturating_sub(clock::now())));
    worker.run(&mut driver)
}

/// The part of `plan` that worker `thread` does. The parts add up to the plan exactly.
fn assign(plan: &RunPlan, what: &What<'_>, window: Window, thread: u32) -> Assignment {
    let request = what.request;
    let requests = plan.end.requests().unwrap_or(u64::MAX);
    let slots = slots(plan, thread);
    let left = share(requests, thread, plan.threads);
    let sessions = |scenario: &Compiled, beginning| {
        let share = Share { thread, threads: plan.threads };
        let sessions = Sessions::new(scenario.clone(), beginning, share, slots, window.measure_from);
        Pace::Sessions(Box::new(sessions))
    };
    let pace = match plan.load {
        Load::Closed { .. } => match what.scenario {
            None => Pace::Closed { left },
            Some(scenario) => {
                sessions(scenario, Beginning::Users { users: slots, left, start: window.start })
            }
        },
        Load::Open { rate_per_s, arrivals, .. } => {
            let (start, count_from, end) = (window.start, window.measure_from, window.measure_to);
            let part =
                Part { thread, threads: plan.threads, seed: plan.seed, start, count_from, end, requests };
            let schedule = Schedule::new(rate_per_s, arrivals, part);
            match what.scenario {
                None => Pace::Open(schedule),
                Some(scenario) => sessions(scenario, Beginning::Clock(schedule)),
            }
        }
    };
    Assignment {
        slots,
        first_attempt: u64::from(thread),
        pace,
        solo_until: solo(plan).map_or(0, |length| window.start + span(length)),
        measure_from: window.measure_from,
        measure_to: window.measure_to,
        counted: plan.end.requests().is_some(),
        drain: span(plan.timeouts.drain),
        connect_timeout: span(plan.timeouts.connect),
        request_timeout: span(
            plan.retries.as_ref().map_or(plan.timeouts.request, |retries| retries.attempt_timeout),
        ),
        depth: plan.request.pipeline,
        keep_alive: request.keep_alive(plan.request.keep_alive),
        request_bytes: request.length() as u64,
        events: plan.events,
        retries: Retries::of(plan, thread).map(Box::new),
    }
}

/// The connections of worker `thread`, at most.
pub(crate) fn slots(plan: &RunPlan, thread: u32) -> u32 {
    let connections = share(u64::from(plan.load.connections()), thread, plan.threads);
    u32::try_from(connections).expect("invariant: a share of 32 bits has 32 bits")
}

/// How long the warm-up sends one request at a time: what the server takes without a queue distinguishes a server
/// that waits from too few connections. These requests are part of the warm-up's load, none is sent in addition.
fn solo(plan: &RunPlan) -> Option<Duration> {
    let closed = matches!(plan.load, Load::Closed { connections } if connections > 1);
    let may =
        closed && plan.scenario.is_none() && plan.request.pipeline == 1 && plan.warmup >= SOLO_WARMUP_MIN;
    may.then(|| (plan.warmup / SOLO_PART).min(SOLO_MAX))
}
