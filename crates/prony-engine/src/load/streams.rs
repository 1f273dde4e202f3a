//! Watches bodies that are streams of events, where the plan asks for it: when each event came.
//!
//! A slot is that of a connection, or with HTTP/2 the place of a stream among those of all connections.

use prony_http::{EventFormat, EventScanner};

use crate::clock::Nanos;
use crate::load::conn::Flight;
use crate::load::driver::Slot;
use crate::record::recorder::Recorder;

/// The streams of a worker's connections, by slot.
pub(crate) struct EventWatch {
    streams: Box<[Option<Stream>]>,
}

/// The body that comes on a connection.
struct Stream {
    scanner: EventScanner,
    events: u64,
    /// When the last event came.
    last: Nanos,
}

impl EventWatch {
    /// For so many connections.
    pub(crate) fn new(slots: u32) -> Self {
        Self { streams: (0..slots).map(|_| None).collect() }
    }

    /// A response with this `Content-Type` begins on `slot`.
    pub(crate) fn begin(&mut self, slot: Slot, content_type: Option<&[u8]>) {
        let format = content_type.and_then(EventFormat::of);
        self.streams[slot as usize] =
            format.map(|format| Stream { scanner: EventScanner::new(format), events: 0, last: 0 });
    }

    /// Bytes of the body of `flight`'s response have come at `now`.
    pub(crate) fn body(
        &mut self,
        slot: Slot,
        flight: Flight,
        bytes: &[u8],
        now: Nanos,
        recorder: &mut Recorder,
    ) {
        if let Some(stream) = &mut self.streams[slot as usize] {
            let count = stream.scanner.feed(bytes);
            stream.came(count, flight, now, recorder);
        }
    }

    /// The response of `slot` is complete: how many events it had.
    pub(crate) fn end(&mut self, slot: Slot, flight: Flight, now: Nanos, recorder: &mut Recorder) -> u64 {
        let Some(mut stream) = self.streams[slot as usize].take() else { return 0 };
        let last = stream.scanner.finish();
        stream.came(last, flight, now, recorder);
        stream.events
    }

    /// `slot` has no connection any more.
    pub(crate) fn forget(&mut self, slot: Slot) {
        self.streams[slot as usize] = None;
    }
}

impl Stream {
    fn came(&mut self, count: u64, flight: Flight, now: Nanos, recorder: &mut Recorder) {
        if count == 0 {
            return;
        }
        let since = (self.events > 0).then(|| now.saturating_sub(self.last));
        if self.events == 0 {
            recorder.first_event(flight.intended, flight.sent, now);
        }
        recorder.events(flight.intended, count, since);
        self.events += count;
        self.last = now;
    }
}
