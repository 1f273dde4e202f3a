//! The result so far: what the collector knows while the run is on, as if it were over.

use std::time::Duration;

use prony_model::{RunEvent, RunResult};

use super::collect::{Collector, Totals};
use crate::clock::{self, Nanos, span};

/// Results so far may take one part in so many of a core.
const COST_ONE_IN: Nanos = 200;

/// When the next one is due, and how it is made.
pub(crate) struct SoFar<'a> {
    every: Nanos,
    next: Nanos,
    summarize: &'a dyn Fn(&Totals) -> RunResult,
}

impl<'a> SoFar<'a> {
    /// One of `summarize` after each `every`, or more rarely where that would cost too much.
    pub(crate) fn new(every: Duration, summarize: &'a dyn Fn(&Totals) -> RunResult) -> Self {
        Self { every: span(every), next: 0, summarize }
    }

    /// Sends one if it is due.
    pub(super) fn poll(&mut self, collector: &mut Collector, sink: &mut dyn FnMut(RunEvent)) {
        let now = clock::now();
        if now < self.next {
            return;
        }
        let before = clock::thread_cpu();
        let result = (self.summarize)(collector.so_far(now));
        let cost = clock::thread_cpu().saturating_sub(before);
        self.next = now + self.every.max(cost.saturating_mul(COST_ONE_IN));
        sink(RunEvent::SoFar(Box::new(result)));
    }
}

impl Collector {
    /// The totals at `now`, of the requests that have ended.
    fn so_far(&mut self, now: Nanos) -> &Totals {
        let totals = &mut self.totals;
        totals.all.clear();
        self.sorter.add_so_far(&mut totals.all);
        let ended: u64 = totals.all.outcomes.iter().map(|clocks| clocks.response.count()).sum();
        let tally = &mut totals.all.tally;
        tally.taken = tally.taken.min(ended + tally.never_sent + tally.unfinished);
        tally.sent = tally.sent.min(tally.taken);
        totals.add_open_peaks();
        totals.series.pack();
        totals.machine = self.observer.until(now);
        totals.server = self.server.so_far();
        &self.totals
    }
}
