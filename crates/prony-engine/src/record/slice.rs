//! What one worker recorded in one short stretch of time.

use prony_model::{ErrorKind, Outcome, TrafficPart};
use prony_stats::{Histogram, Rounds};

use crate::clock::Nanos;
use crate::kernel::stamps::Stamps;
use crate::kernel::tcp_sampling::TcpSamples;
use crate::load::first::First;
use crate::record::failure_detail::Example;
use crate::record::handshakes::Handshakes;
use crate::record::http2::Http2Counts;
use crate::record::own_delay::OwnDelay;
use crate::record::retries::RetryRecord;
use crate::record::samples::Samples;
use crate::record::scenario::ScenarioRecord;
use crate::record::slowest::Slowest;
use crate::record::stages::StageRecord;
use crate::record::streams::Streams;
use crate::record::traces::TraceRecord;

/// The length of a slice: 200 parts in a run of ten seconds, which the statistics of tails ask for. A worker
/// that can't hand over a slice makes it longer instead.
pub(crate) const SLICE: Nanos = 50_000_000;

/// The records of one worker over `start..end`. Its memory goes round between worker and collector, so that
/// the worker never allocates; histograms that stay empty take no memory.
pub(crate) struct Slice {
    /// Whose records these are.
    pub thread: u32,
    /// First moment.
    pub start: Nanos,
    /// Last moment.
    pub end: Nanos,
    /// Last moment that is part of a rate: `end`, or before it where the measured part ended; not after `start`
    /// in the drain.
    pub counted_to: Nanos,
    /// Whether this is of the measured part or later.
    pub measured: bool,
    /// Latencies by [`Outcome::index`].
    pub outcomes: Box<[Clocks]>,
    /// first byte − sent.
    pub first_byte: Histogram,
    /// Connecting.
    pub connect: Histogram,
    /// sent − ready.
    pub lag: Histogram,
    /// ready − intended.
    pub blocked: Histogram,
    /// Waiting so far of the requests that were cut off.
    pub censored: Histogram,
    /// done − sent of the good ones among the requests of the warm-up that were sent one at a time.
    pub solo: Histogram,
    /// The client's own delays of the good responses, by response time.
    pub own_delay: OwnDelay,
    /// done − arrived, in buckets that are wide enough to decide by.
    pub arrivals: OwnDelay,
    /// Complete responses by status code.
    pub statuses: Box<[u64; 600]>,
    /// The first failures of their kind.
    pub examples: [Option<Example>; ErrorKind::ALL.len()],
    /// What became of requests, beyond what the histograms count.
    pub tally: Tally,
    /// What happened meanwhile.
    pub counters: Counters,
    /// Requests one by one.
    pub samples: Samples,
    /// The worker's first complete response, if it came now.
    pub first_response: Option<First>,
    /// What the kernel reported of all of the worker's requests, in its last slice.
    pub stamps: Option<Box<Stamps>>,
    /// What the handshakes of all of the worker's connections took, in its last slice.
    pub handshakes: Option<Box<Handshakes>>,
    /// The events of all responses of the worker that are streams of them, in its last slice.
    pub streams: Option<Box<Streams>>,
    /// What servers of HTTP/2 did beyond answering, in its last slice.
    pub http2: Option<Http2Counts>,
    /// What the worker's sessions took, in its last slice.
    pub scenario: Option<Box<ScenarioRecord>>,
    /// What came of the retries of all of the worker's requests, in its last slice.
    pub retries: Option<Box<RetryRecord>>,
    /// What became of the requests of each stage, in its last slice.
    pub stages: Option<Box<StageRecord>>,
    /// The slowest of all of the worker's requests, in its last slice.
    pub slowest: Option<Box<Slowest>>,
    /// The slowest of the worker's traced requests, in its last slice.
    pub traces: Option<Box<TraceRecord>>,
}

/// Both clocks of one outcome.
#[derive(Default)]
pub(crate) struct Clocks {
    /// done − intended.
    pub response: Histogram,
    /// done − sent.
    pub service: Histogram,
}

/// Counts of requests of the measured part, whenever they were recorded; of those of the warm-up only the traffic.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Tally {
    /// Begun, or due and never sent.
    pub taken: u64,
    /// Sent, or failed for want of a connection.
    pub sent: u64,
    /// Due and never sent.
    pub never_sent: u64,
    /// Outstanding at the end.
    pub unfinished: u64,
    /// Waited until one of the connections that are allowed came free.
    pub waited_for_limit: u64,
    /// Waited until a connection opened.
    pub waited_for_connecting: u64,
    /// Good ones whose bodies were not as long as the first.
    pub lengths: Lengths,
    /// How good requests, of the warm-up too, cover the measured part.
    pub rounds: Rounds,
    /// What was sent and answered: of the warm-up, of the measured part.
    pub traffic: [TrafficPart; 2],
}

/// What a request of an open loop waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WaitCause {
    /// All connections that are allowed were in use.
    Limit,
    /// Its connection had to be opened first.
    Connecting,
}

/// Bodies of good responses that are not as long as the first one of the run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Lengths {
    /// How many.
    pub others: u64,
    /// Length of the first one, bytes.
    pub first: u64,
    /// Of the shortest of the others.
    pub shortest: u64,
    /// Of the longest of the others.
    pub longest: u64,
}

impl Lengths {
    /// Counts a body of `body_bytes`, which differs from the `first` one.
    pub(crate) fn note(&mut self, first: u64, body_bytes: u64) {
        self.add(&Self { others: 1, first, shortest: body_bytes, longest: body_bytes });
    }

    /// Adds those of another stretch of time.
    pub(crate) fn add(&mut self, more: &Self) {
        if self.others == 0 {
            *self = *more;
        } else if more.others > 0 {
            self.others += more.others;
            self.shortest = self.shortest.min(more.shortest);
            self.longest = self.longest.max(more.longest);
        }
    }
}

/// Counts of what happened in a stretch of time.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Counters {
    /// When the first one was sent in this stretch of time.
    pub first_sent: Option<Nanos>,
    /// Requests sent in this stretch of time, whenever they were due.
    pub sent_now: u64,
    /// Complete responses in this stretch of time.
    pub answered_now: u64,
    /// Others in this stretch of time, whose requests were sent again.
    pub retried_now: u64,
    /// Good ones among them.
    pub done_now: u64,
    /// Failures in this stretch of time.
    pub failed_now: u64,
    /// Bytes sent.
    pub sent_bytes: u64,
    /// Bytes received.
    pub received_bytes: u64,
    /// Bytes of complete bodies.
    pub body_bytes: u64,
    /// Attempts to connect.
    pub attempted: u64,
    /// Attempts that succeeded.
    pub opened: u64,
    /// Requests on a connection that had carried one before.
    pub reused: u64,
    /// Connections that the server closed between two requests.
    pub closed_by_server: u64,
    /// Connections that sent bytes nobody had asked for.
    pub stray: u64,
    /// Most connections open at one moment.
    pub open_peak: u64,
    /// Integral over time of the requests in flight, in request-nanoseconds (Little's law).
    pub in_flight_ns: u128,
    /// CPU time of the worker.
    pub cpu: Nanos,
    /// Longest time between two polls of the sockets.
    pub gap_max: Nanos,
    /// Times that it was over a millisecond.
    pub gaps_over_1ms: u64,
    /// Polls of the sockets.
    pub polls: u64,
    /// What the kernel reported of single connections.
    pub tcp_samples: TcpSamples,
}

impl Slice {
    /// Whether some of its time is part of rates.
    pub(crate) fn is_counted(&self) -> bool {
        self.measured && self.counted_to > self.start
    }

    /// An empty slice for `thread`.
    pub(crate) fn new(thread: u32, samples: Samples) -> Self {
        Self {
            thread,
            start: 0,
            end: 0,
            counted_to: 0,
            measured: false,
            outcomes: (0..Outcome::COUNT).map(|_| Clocks::default()).collect(),
            first_byte: Histogram::new(),
            connect: Histogram::new(),
            lag: Histogram::new(),
            blocked: Histogram::new(),
            censored: Histogram::new(),
            solo: Histogram::new(),
            own_delay: OwnDelay::new(),
            arrivals: OwnDelay::new(),
            statuses: Box::new([0; 600]),
            examples: [None; ErrorKind::ALL.len()],
            tally: Tally::default(),
            counters: Counters::default(),
            samples,
            first_response: None,
            stamps: None,
            handshakes: None,
            streams: None,
            http2: None,
            scenario: None,
            retries: None,
            stages: None,
            slowest: None,
            traces: None,
        }
    }

    /// Empties it for use again.
    pub(crate) fn clear(&mut self) {
        for clocks in &mut self.outcomes {
            clocks.response.clear();
            clocks.service.clear();
        }
        for histogram in [
            &mut self.first_byte,
            &mut self.connect,
            &mut self.lag,
            &mut self.blocked,
            &mut self.censored,
            &mut self.solo,
        ] {
            histogram.clear();
        }
        self.own_delay.clear();
        self.arrivals.clear();
        self.statuses.fill(0);
        self.examples = [None; ErrorKind::ALL.len()];
        self.tally = Tally::default();
        self.counters = Counters::default();
        self.samples.clear();
        self.first_response = None;
        self.stamps = None;
        self.handshakes = None;
        self.streams = None;
        self.http2 = None;
        self.scenario = None;
        self.retries = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_add_up() {
        let mut lengths = Lengths::default();
        lengths.add(&Lengths::default());
        assert_eq!(lengths, Lengths::default());
        lengths.note(5, 7);
        lengths.note(5, 0);
        lengths.add(&Lengths::default());
        lengths.add(&Lengths { others: 3, first: 5, shortest: 4, longest: 900 });
        assert_eq!(lengths, Lengths { others: 5, first: 5, shortest: 0, longest: 900 });
    }
}
