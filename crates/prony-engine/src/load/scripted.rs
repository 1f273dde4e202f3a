//! A worker between a scripted kernel and a clock of the test's own.

use std::sync::mpsc::sync_channel;

use prony_http::{HeadCache, Limits, RequestKind};
use prony_model::{Arrivals, Checks, Rate};
use rustix::io::Errno;

use crate::Control;
use crate::clock::{NEVER, Nanos};
use crate::load::checks::Checker;
use crate::load::driver::{Carries, Handler as _, Io, Slot};
use crate::load::pacer::{Part, Schedule};
use crate::load::worker::{Assignment, Pace, Worker};
use crate::record::recorder::Recorder;
use crate::record::samples::Samples;
use crate::record::slice::Slice;
use crate::sys::TcpInfo;

/// What a worker asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Call {
    Connect(Slot),
    Send(Slot),
    Close(Slot),
    Release(Slot),
}

/// Does nothing but remember.
#[derive(Default)]
pub(crate) struct ScriptedIo {
    pub calls: Vec<Call>,
    /// What every attempt to connect ends with at once.
    pub refuses: Option<Errno>,
    /// What the clock says when something is sent.
    pub now: Nanos,
    /// Calls that `connect_all` has seen.
    pub connected: usize,
}

impl ScriptedIo {
    /// How many of the calls are `wanted`.
    pub(crate) fn count(&self, wanted: impl Fn(&Call) -> bool) -> usize {
        self.calls.iter().filter(|call| wanted(call)).count()
    }

    /// Connects what was begun since the last time.
    pub(crate) fn connect_all(&mut self, worker: &mut Worker, now: Nanos) {
        self.now = now;
        while self.connected < self.calls.len() {
            self.connected += 1;
            if let Call::Connect(slot) = self.calls[self.connected - 1] {
                worker.connected(self, slot, now);
            }
        }
    }
}

impl Io for ScriptedIo {
    fn connect(&mut self, slot: Slot, _: u64) -> Result<(), Errno> {
        self.calls.push(Call::Connect(slot));
        self.refuses.map_or(Ok(()), Err)
    }

    fn send(&mut self, slot: Slot) -> Option<Nanos> {
        self.calls.push(Call::Send(slot));
        Some(self.now.max(1))
    }

    fn write(&mut self, slot: Slot, _: &[u8], _: Carries) -> Option<Nanos> {
        self.send(slot)
    }

    fn is_backed_up(&self, _: Slot) -> bool {
        false
    }

    fn sampled(&self) -> bool {
        false
    }

    fn close(&mut self, slot: Slot) {
        self.calls.push(Call::Close(slot));
    }

    fn release(&mut self, slot: Slot, _: Nanos) {
        self.calls.push(Call::Release(slot));
    }

    fn local_port(&self, _: Slot) -> u16 {
        0
    }

    fn tcp_info(&self, _: Slot) -> Option<TcpInfo> {
        None
    }
}

/// A worker that has `requests` to send in the first millisecond, over `slots` connections at most.
pub(crate) fn open_loop(requests: u64, slots: u32) -> Worker {
    let part = Part { thread: 0, threads: 1, seed: 1, start: 0, end: NEVER, requests, count_from: 0 };
    let rate = Rate::per_second(1e9).expect("a rate");
    worker(Pace::Open(Schedule::new(rate, Arrivals::Constant, part)), slots)
}

/// A worker that sends as fast as it can.
pub(crate) fn closed_loop(slots: u32) -> Worker {
    worker(Pace::Closed { left: u64::MAX }, slots)
}

fn worker(pace: Pace, slots: u32) -> Worker {
    let open = matches!(pace, Pace::Open(_));
    let plan = Assignment {
        slots,
        first_attempt: 0,
        pace,
        solo_until: 0,
        measure_from: 0,
        measure_to: NEVER,
        counted: false,
        drain: 1_000_000_000,
        connect_timeout: 5_000_000_000,
        request_timeout: 30_000_000_000,
        depth: 1,
        keep_alive: true,
        request_bytes: 40,
        events: false,
        tracer: None,
        retries: None,
    };
    let (full, _) = sync_channel(1);
    let (_, spare) = sync_channel(1);
    let slice = Box::new(Slice::new(0, Samples::none()));
    let recorder = Recorder::new(slice, full, spare, open, false);
    let checker = Checker::new(&Checks::default()).expect("no checks");
    let heads = HeadCache::new(RequestKind::Normal, Limits::default());
    Worker::new(plan, None, heads, checker, recorder, Control::default(), Control::default())
}
