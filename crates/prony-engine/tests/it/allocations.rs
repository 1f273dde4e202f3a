//! The worker loop allocates nothing after warm-up.
#![allow(unsafe_code, reason = "a global allocator cannot be written without it")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use prony_engine::Control;
use prony_model::{BodyCheck, Checks, DriverChoice, Load, Phase, RunEvent, RunPlan, Step, StepBody};

use crate::alone::alone;
use crate::descriptors::{path, test};
use crate::http2;
use crate::plans::{closed, for_ms, plan, poisson, run_with};
use crate::scenario::{flow, scenario, step};
use crate::server::{Server, ok};
use crate::tls::{config, trusting};
use crate::traces::traced;

/// The system's allocator, which counts what threads named `load-…` ask of it while [`COUNTING`].
struct Counting;

static COUNTING: AtomicBool = AtomicBool::new(false);
static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn count() {
    if COUNTING.load(Ordering::Relaxed) && is_worker() {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
    }
}

/// Whether the present thread is a worker, by the name that the kernel knows; asking it allocates nothing.
fn is_worker() -> bool {
    let mut name = [0_u8; 16];
    // SAFETY: the kernel writes at most 16 bytes to `name` (prctl(2), PR_GET_NAME).
    let result = unsafe { libc::prctl(libc::PR_GET_NAME, name.as_mut_ptr()) };
    result == 0 && name.starts_with(b"load-")
}

// SAFETY: every call is handed on to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller keeps the promises of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller keeps the promises of `alloc_zeroed`.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: the caller keeps the promises of `realloc`, and `pointer` came from `System`.
        unsafe { System.realloc(pointer, layout, size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the promises of `dealloc`, and `pointer` came from `System`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// Runs `load` with body checks and counts what its workers allocate from the beginning of the measured part
/// on, but not at its end, when a thread gives back what it has.
fn check(driver: DriverChoice, load: Load, threads: u32, url: &str) {
    assert_steady(measure(driver, load, threads, url));
}

/// No request allocates. Now and then a buffer of a connection grows late, where a busy machine lets more bytes wait for
/// it than ever before.
fn assert_steady((counted, done): (Option<u64>, u64)) {
    let counted = counted.expect("it was measured");
    assert!(counted * 50 <= done, "{counted} allocations of the workers for {done} requests");
}

/// The same, and returns the allocations and the requests that were sent meanwhile, or a little less.
fn measure(driver: DriverChoice, load: Load, threads: u32, url: &str) -> (Option<u64>, u64) {
    measure_plan(driver, RunPlan { checks: checks(), load, threads, ..trusting(url) })
}

/// A body that is looked at.
fn checks() -> Checks {
    Checks { body: Some(BodyCheck::Exact("hello".to_owned())), same_length: true, ..Checks::default() }
}

/// The same of `plan`, but for when it begins and ends.
fn measure_plan(driver: DriverChoice, plan: RunPlan) -> (Option<u64>, u64) {
    // By then each slice of a worker was used, and on each connection an answer has come in two pieces, where a buffer
    // ended: what holds the first piece is allocated once.
    let warmup = Duration::from_millis(1500);
    let plan = RunPlan { warmup, end: for_ms(700), ..plan };
    let (mut measuring, mut counted, mut done) = (false, None, 0);
    let result = run_with(driver, plan, &Control::default(), &mut |event| match event {
        RunEvent::Phase(Phase::Measure) => {
            measuring = true;
            COUNTING.store(true, Ordering::Relaxed);
        }
        RunEvent::Progress(progress) if measuring && progress.elapsed >= Duration::from_millis(400) => {
            COUNTING.store(false, Ordering::Relaxed);
            if counted.is_none() {
                counted = Some(ALLOCATIONS.load(Ordering::Relaxed));
                done = progress.done;
            }
        }
        _ => {}
    });
    assert_eq!(result.requests.failed, 0, "{:?}", result.errors);
    assert!(result.requests.done > 100, "{:?}", result.requests);
    (counted, done)
}

on_both_drivers! {
    fn closed_loop(driver) {
        let server = Server::answering(&ok("hello"));
        let name = format!("{}::{}", path(module_path!()), test(driver));
        alone(&name, 1000, server.url(), |url| check(driver, closed(8), 2, url));
    }

    fn streams(driver) {
        let server = Server::start(http2::serve);
        let name = format!("{}::{}", path(module_path!()), test(driver));
        alone(&name, 1000, server.url(), |url| {
            let plan = RunPlan { checks: checks(), load: closed(4), threads: 2, ..http2::load(url, 4, 10, 1) };
            assert_steady(measure_plan(driver, plan));
        });
    }

    fn over_tls(driver) {
        let server = Server::over_tls(config("server"), |peer| {
            while peer.request().is_some() && peer.answer(&ok("hello")) {}
        });
        let name = format!("{}::{}", path(module_path!()), test(driver));
        alone(&name, 1000, server.url(), |url| {
            let (counted, done) = measure(driver, closed(4), 1, url);
            let counted = counted.expect("it was measured");
            // rustls 0.23 allocates once for each record, in both directions, and once for a queue of them.
            let most = 3 * (done + done / 5);
            assert!(done > 100 && counted <= most, "{counted} allocations for {done} requests");
        });
    }

    fn traces(driver) {
        let server = Server::answering(&ok("hello"));
        let name = format!("{}::{}", path(module_path!()), test(driver));
        alone(&name, 1000, server.url(), |url| {
            let plan = RunPlan { checks: checks(), load: closed(8), threads: 2, ..plan(url) };
            assert_steady(measure_plan(driver, traced(plan, 0.5)));
        });
    }

    fn traces_on_streams(driver) {
        let server = Server::start(http2::serve);
        let name = format!("{}::{}", path(module_path!()), test(driver));
        alone(&name, 1000, server.url(), |url| {
            let plan = RunPlan { threads: 2, ..http2::load(url, 4, 10, 1) };
            assert_steady(measure_plan(driver, traced(plan, 0.5)));
        });
    }

    fn sessions_of_static_steps(driver) {
        let server = Server::answering(&ok("hello"));
        let name = format!("{}::{}", path(module_path!()), test(driver));
        alone(&name, 1000, server.url(), |url| {
            let steps = vec![step("a", "/a"), step("b", "/b")];
            let flows = vec![flow("f", 2, steps), flow("g", 1, vec![step("c", "/c")])];
            let plan = RunPlan { scenario: scenario(flows), ..plan(url) };
            assert_steady(measure_plan(driver, RunPlan { load: closed(4), threads: 2, ..plan }));
        });
    }

    fn sessions_of_static_steps_on_streams(driver) {
        let server = Server::start(http2::serve);
        let name = format!("{}::{}", path(module_path!()), test(driver));
        alone(&name, 1000, server.url(), |url| {
            let body = StepBody::Json("{\"a\": 1}".to_owned());
            let post = Step { method: "POST".to_owned(), body, ..step("b", "/b") };
            let flows = vec![flow("f", 2, vec![step("a", "/a"), post]), flow("g", 1, vec![step("c", "/c")])];
            let plan = RunPlan { scenario: scenario(flows), ..http2::load(url, 4, 10, 1) };
            assert_steady(measure_plan(driver, RunPlan { threads: 2, ..plan }));
        });
    }

    fn open_loop(driver) {
        // Random arrivals over one connection: requests wait for it in each slice, from the first on.
        let server = Server::answering(&ok("hello"));
        let name = format!("{}::{}", path(module_path!()), test(driver));
        alone(&name, 1000, server.url(), |url| check(driver, poisson(3000.0, 1), 1, url));
    }
}

/// The counter counts: otherwise the tests above would pass whatever the workers do.
#[test]
fn what_a_worker_allocates_is_counted() {
    alone("allocations::what_a_worker_allocates_is_counted", 1000, "", |_| {
        COUNTING.store(true, Ordering::Relaxed);
        let work = || {
            let before = ALLOCATIONS.load(Ordering::Relaxed);
            drop(black_box(Box::new(1)));
            drop(black_box(vec![0_u8; 100_000]));
            ALLOCATIONS.load(Ordering::Relaxed) - before
        };
        let counted = |name: &str| {
            let thread = std::thread::Builder::new().name(name.to_owned()).spawn(work);
            thread.expect("a thread can be started").join().expect("no panic")
        };
        assert_eq!([counted("load-0"), counted("other")], [2, 0]);
    });
}
