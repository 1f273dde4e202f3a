//! What the kernel reported of a worker's requests.
//!
//! Nobody asks how these change from slice to slice, so that a worker keeps them to itself and hands them over when it
//! has ended: one set of histograms, which stays in its cache, instead of one for each slice.

use prony_stats::Histogram;

use crate::clock::Nanos;
use crate::record::sample::Sample;

/// The records of one worker.
pub(crate) struct Stamps {
    /// departed − sent.
    pub departure: Histogram,
    /// arrived − departed.
    pub network: Histogram,
    /// done − arrived.
    pub arrival: Histogram,
    /// Response time by the kernel's clock: (ready − intended) + (arrived − departed), of the good responses whose
    /// requests were picked for stamps and have both.
    pub response: Histogram,
    /// Good responses whose requests were picked for stamps.
    pub sampled: u64,
    /// Requests whose stamps can't be trusted.
    pub discarded: u64,
}

impl Stamps {
    /// Nothing recorded.
    pub(crate) fn new() -> Self {
        Self {
            departure: Histogram::new(),
            network: Histogram::new(),
            arrival: Histogram::new(),
            response: Histogram::new(),
            sampled: 0,
            discarded: 0,
        }
    }

    /// Records `sample`, of which some stamp is there; returns what of it was the client's own delay. Moments that
    /// clocks put in the wrong order make no negative times.
    #[inline]
    pub(crate) fn record(&mut self, sample: &Sample) -> Nanos {
        let mut own = 0;
        if sample.departed != 0 {
            let departure = sample.departed.saturating_sub(sample.sent);
            self.departure.record(departure);
            own += departure;
            // A server that answers before it has the whole request has no time of its own.
            if sample.arrived >= sample.departed {
                self.network.record(sample.arrived - sample.departed);
            }
        }
        if sample.arrived != 0 {
            let arrival = sample.done.saturating_sub(sample.arrived);
            self.arrival.record(arrival);
            own += arrival;
        }
        own
    }

    /// Records the good response of `sample`, which was picked for stamps, without the client's own delays: they lie
    /// between ready and departed, and between arrived and done.
    #[inline]
    pub(crate) fn record_response(&mut self, sample: &Sample) {
        self.sampled += 1;
        if sample.departed != 0 && sample.arrived >= sample.departed {
            let blocked = sample.ready.saturating_sub(sample.intended);
            self.response.record(blocked + (sample.arrived - sample.departed));
        }
    }

    /// Forgets all so far, because the clock that the kernel stamps with was moved.
    #[cold]
    pub(crate) fn discard(&mut self) {
        self.discarded += self.arrival.count().max(self.departure.count());
        for histogram in [&mut self.departure, &mut self.network, &mut self.arrival, &mut self.response] {
            histogram.clear();
        }
    }

    /// Whether nothing was recorded, nor discarded.
    pub(crate) fn is_empty(&self) -> bool {
        self.discarded == 0 && self.sampled == 0 && self.arrival.is_empty() && self.departure.is_empty()
    }

    /// Adds what another worker recorded.
    pub(crate) fn add(&mut self, other: &Self) {
        self.departure.add(&other.departure);
        self.network.add(&other.network);
        self.arrival.add(&other.arrival);
        self.response.add(&other.response);
        self.sampled += other.sampled;
        self.discarded += other.discarded;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Records one request and returns its own delay with what departure, network and arrival hold.
    fn check(departed: Nanos, arrived: Nanos, expected: (Nanos, [Option<u64>; 3])) {
        let mut stamps = Stamps::new();
        let own = stamps.record(&Sample::stamped(1000, departed, arrived, 2000));
        let found = [&stamps.departure, &stamps.network, &stamps.arrival].map(Histogram::max);
        assert_eq!((own, found), expected, "{departed} {arrived}");
    }

    #[test]
    fn what_is_known_is_recorded() {
        check(1100, 1900, (200, [Some(100), Some(800), Some(100)]));
        check(0, 1900, (100, [None, None, Some(100)]));
        check(1100, 0, (100, [Some(100), None, None]));
        check(999, 2001, (0, [Some(0), Some(1002), Some(0)]));
        check(1500, 1400, (1100, [Some(500), None, Some(600)]));
    }

    #[test]
    fn a_moved_clock_takes_all_before_it() {
        let (mut one, mut other) = (Stamps::new(), Stamps::new());
        assert!(one.is_empty());
        (0..5).for_each(|_| assert_eq!(one.record(&Sample::stamped(1000, 0, 1900, 2000)), 100));
        one.discard();
        other.record(&Sample::stamped(1000, 1100, 1900, 2000));
        one.add(&other);
        assert_eq!((one.discarded, one.arrival.count(), one.departure.count()), (5, 1, 1));
        assert!(!one.is_empty());
    }
}
