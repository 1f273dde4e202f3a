//! What the events of a worker's responses took, of its measured part. Handed over when it has ended.

use prony_model::EventStreams;
use prony_stats::{Censored, Histogram};
use prony_summary::{histogram_data, summary};

use crate::clock::Nanos;

/// The records of one worker.
#[derive(Default)]
pub(crate) struct Streams {
    /// First event − intended.
    first_response: Histogram,
    /// First event − sent.
    first_service: Histogram,
    /// From one event to the next.
    between: Histogram,
    /// Events of each good response that has one.
    numbers: Histogram,
    events: u64,
    together: u64,
    without_events: u64,
}

impl Streams {
    /// The first event of a response came, that long after its request was due, and after it was sent.
    pub(crate) fn first(&mut self, response: Nanos, service: Nanos) {
        self.first_response.record(response);
        self.first_service.record(service);
    }

    /// `count` events came in one read; `since` the last one of the same response, if there was one.
    pub(crate) fn came(&mut self, count: u64, since: Option<Nanos>) {
        self.events += count;
        // The first of a read comes after the last of the read before; the others come with it.
        let others = count - 1;
        self.together += others;
        if let Some(since) = since {
            self.between.record(since);
        }
        if others > 0 {
            self.between.record_n(0, others);
        }
    }

    /// A good response with so many events is complete.
    pub(crate) fn complete(&mut self, events: u64) {
        if events == 0 {
            self.without_events += 1;
        } else {
            self.numbers.record(events);
        }
    }

    /// Adds what another worker recorded.
    pub(crate) fn add(&mut self, other: &Self) {
        self.first_response.add(&other.first_response);
        self.first_service.add(&other.first_service);
        self.between.add(&other.between);
        self.numbers.add(&other.numbers);
        self.events += other.events;
        self.together += other.together;
        self.without_events += other.without_events;
    }

    /// For the result of a run that measured for so many seconds.
    pub(crate) fn summary(&self, measured_s: f64) -> EventStreams {
        EventStreams {
            streams: self.numbers.count(),
            without_events: self.without_events,
            events: self.events,
            events_per_s: if measured_s > 0.0 { self.events as f64 / measured_s } else { 0.0 },
            together: self.together,
            events_min: self.numbers.min().unwrap_or_default(),
            events_p50: self.numbers.value_at_quantile(0.5).unwrap_or_default(),
            events_max: self.numbers.max().unwrap_or_default(),
            first_response: summary(&self.first_response, Censored::NONE),
            first_service: summary(&self.first_service, Censored::NONE),
            between: summary(&self.between, Censored::NONE),
            first_response_histogram: histogram_data(&self.first_response),
            first_service_histogram: histogram_data(&self.first_service),
            between_histogram: histogram_data(&self.between),
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::RngExt as _;

    use super::*;
    use crate::record::shared::{merged, nanos, shared};

    #[test]
    fn events_of_agents_are_those_of_one_recorder() {
        // As many events in each response: where medians differ, agents' results don't have that of all.
        const EVENTS: u64 = 4;
        let (one, agents) = shared(5_000, |record: &mut Streams, generator| {
            if generator.random_range(0..10) == 0 {
                return record.complete(0);
            }
            let first = nanos(generator);
            record.first(first + nanos(generator), first);
            record.came(2, None);
            record.came(EVENTS - 2, Some(nanos(generator)));
            record.complete(EVENTS);
        });
        let result = merged(&agents, |result, record| {
            result.events = Some(record.summary(result.timing.measured_s));
        });
        assert_eq!(result.events, Some(one.summary(result.timing.measured_s)));
        assert!(result.events.is_some_and(|events| events.between.quantiles_ms["0.99"].is_some()));
    }

    #[test]
    fn events_that_come_together_have_no_time_between() {
        let mut streams = Streams::default();
        streams.first(9_000_000, 8_000_000);
        streams.came(3, None);
        streams.came(1, Some(5_000_000));
        streams.complete(4);
        streams.complete(0);
        let mut all = Streams::default();
        all.add(&streams);
        let found = all.summary(2.0);
        assert_eq!((found.streams, found.without_events, found.events, found.together), (1, 1, 4, 2));
        assert_eq!((found.events_min, found.events_p50, found.events_max), (4, 4, 4));
        assert!((found.events_per_s - 2.0).abs() < 1e-9);
        assert_eq!((found.first_response.count, found.first_service.count, found.between.count), (1, 1, 3));
        assert_eq!(found.between.min_ms, Some(0.0));
        assert!(found.between.max_ms.is_some_and(|max| (max - 5.0).abs() < 0.01));
    }
}
