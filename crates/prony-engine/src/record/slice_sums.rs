//! Sums of slices: what another one recorded is added.

use prony_model::{Outcome, RunCounts};
use prony_stats::Histogram;

use crate::record::slice::{Clocks, Counters, Slice};

impl Slice {
    /// Adds what another slice recorded of requests of the measured part, and of connections.
    pub(crate) fn absorb(&mut self, other: &Slice) {
        for (mine, theirs) in self.outcomes.iter_mut().zip(&other.outcomes) {
            mine.response.add(&theirs.response);
            mine.service.add(&theirs.service);
        }
        self.first_byte.add(&other.first_byte);
        self.connect.add(&other.connect);
        self.lag.add(&other.lag);
        self.blocked.add(&other.blocked);
        self.censored.add(&other.censored);
        self.solo.add(&other.solo);
        self.own_delay.add(&other.own_delay);
        self.arrivals.add(&other.arrivals);
        for (mine, theirs) in self.statuses.iter_mut().zip(other.statuses.iter()) {
            *mine += theirs;
        }
        self.tally.taken += other.tally.taken;
        self.tally.sent += other.tally.sent;
        self.tally.never_sent += other.tally.never_sent;
        self.tally.unfinished += other.tally.unfinished;
        self.tally.waited_for_limit += other.tally.waited_for_limit;
        self.tally.waited_for_connecting += other.tally.waited_for_connecting;
        self.tally.lengths.add(&other.tally.lengths);
        self.tally.rounds.merge(&other.tally.rounds);
        for (mine, theirs) in self.tally.traffic.iter_mut().zip(&other.tally.traffic) {
            mine.sent += theirs.sent;
            mine.answered += theirs.answered;
            mine.answered_in_drain += theirs.answered_in_drain;
        }
        if let Some(found) = &other.first_response
            && self.first_response.as_ref().is_none_or(|mine| found.at < mine.at)
        {
            self.first_response = Some(found.clone());
        }
        for (mine, found) in self.examples.iter_mut().zip(&other.examples) {
            if found.is_some_and(|found| mine.is_none_or(|mine| found.at < mine.at)) {
                *mine = *found;
            }
        }
    }

    /// Response times of all good responses.
    pub(crate) fn good_responses(&self) -> Histogram {
        let mut sum = Histogram::new();
        self.add_good_responses(&mut sum);
        sum
    }

    /// Adds the response times of all good responses to `sum`.
    pub(crate) fn add_good_responses(&self, sum: &mut Histogram) {
        self.good_clocks().for_each(|clocks| sum.add(&clocks.response));
    }

    /// Service times of all good responses.
    pub(crate) fn good_services(&self) -> Histogram {
        let mut sum = Histogram::new();
        self.add_good_services(&mut sum);
        sum
    }

    /// Adds the service times of all good responses to `sum`.
    pub(crate) fn add_good_services(&self, sum: &mut Histogram) {
        self.good_clocks().for_each(|clocks| sum.add(&clocks.service));
    }

    /// Adds what became of requests of the measured part to `counts`.
    pub(super) fn add_counts(&self, counts: &mut RunCounts) {
        for (count, clocks) in counts.outcomes.iter_mut().zip(&self.outcomes) {
            *count += clocks.response.count();
        }
        for clocks in self.good_clocks() {
            widen(&mut counts.response_ms, &clocks.response);
            widen(&mut counts.service_ms, &clocks.service);
        }
    }

    fn good_clocks(&self) -> impl Iterator<Item = &Clocks> {
        let good = Outcome::all().filter(|outcome| outcome.error_kind().is_none());
        good.map(|outcome| &self.outcomes[outcome.index()])
    }
}

/// Widens `ends`, milliseconds, to what `times` holds.
fn widen(ends: &mut Option<(f64, f64)>, times: &Histogram) {
    const NANOS_PER_MS: f64 = 1e6;
    let Some((least, greatest)) = times.min().zip(times.max()) else { return };
    let (least, greatest) = (least as f64 / NANOS_PER_MS, greatest as f64 / NANOS_PER_MS);
    *ends = Some(ends.map_or((least, greatest), |(low, high)| (low.min(least), high.max(greatest))));
}

impl Counters {
    pub(crate) fn add(&mut self, other: &Self) {
        self.first_sent = self.first_sent.into_iter().chain(other.first_sent).min();
        self.sent_now += other.sent_now;
        self.answered_now += other.answered_now;
        self.retried_now += other.retried_now;
        self.done_now += other.done_now;
        self.failed_now += other.failed_now;
        self.sent_bytes += other.sent_bytes;
        self.received_bytes += other.received_bytes;
        self.body_bytes += other.body_bytes;
        self.attempted += other.attempted;
        self.opened += other.opened;
        self.reused += other.reused;
        self.closed_by_server += other.closed_by_server;
        self.stray += other.stray;
        self.in_flight_ns += other.in_flight_ns;
        self.cpu += other.cpu;
        self.polls += other.polls;
        self.tcp_samples.add(&other.tcp_samples);
        self.gaps_over_1ms += other.gaps_over_1ms;
        self.gap_max = self.gap_max.max(other.gap_max);
        self.open_peak = self.open_peak.max(other.open_peak);
    }
}
