//! Writes down what happens to connections and streams, beside the requests on them.

use crate::clock::Nanos;
use crate::record::recorder::Recorder;
use crate::sys::TcpInfo;

impl Recorder {
    /// An attempt to connect began.
    pub(crate) fn connecting(&mut self) {
        self.current.counters.attempted += 1;
    }

    /// An attempt to connect succeeded, of which TCP took `took`; `open` connections are open now.
    pub(crate) fn connected(&mut self, took: Nanos, open: u64) {
        let slice = &mut *self.current;
        slice.counters.opened += 1;
        slice.counters.open_peak = slice.counters.open_peak.max(open);
        slice.connect.record(took);
    }

    /// A TLS handshake that took `took` is complete.
    pub(crate) fn secured(&mut self, resumed: bool, took: Nanos) {
        if resumed { &mut self.handshakes.resumed } else { &mut self.handshakes.full }.record(took);
    }

    /// A TLS handshake ended without a secure connection.
    pub(crate) fn handshake_failed(&mut self) {
        self.handshakes.failed += 1;
    }

    /// The server refused a request in flight that was due at `intended` before it processed it; it is sent again.
    /// `reused`: its connection had carried another one before. `retry`: it was not its first attempt.
    pub(crate) fn refused(&mut self, intended: Nanos, reused: bool, retry: bool, now: Nanos) {
        self.leave_flight(now);
        let part = usize::from(self.counts(intended));
        self.http2.refused[part] += 1;
        self.http2.refused_retries += u64::from(retry && part == 1);
        self.http2.refused_reused += u64::from(reused);
    }

    /// The server announced that it takes no more requests on a connection.
    pub(crate) fn went_away(&mut self) {
        self.http2.went_away += 1;
    }

    /// The server takes so many requests at once on a connection; [`u32::MAX`] if it does not say.
    pub(crate) fn stream_limit(&mut self, streams: u32) {
        self.http2.stream_limit = self.http2.stream_limit.min(streams);
    }

    /// The first event of a response came at `now`.
    pub(crate) fn first_event(&mut self, intended: Nanos, sent: Nanos, now: Nanos) {
        if self.counts(intended) {
            self.streams.first(now.saturating_sub(intended), now.saturating_sub(sent));
        }
    }

    /// `count` events of a response that was due at `intended` came in one read, `since` its last one.
    pub(crate) fn events(&mut self, intended: Nanos, count: u64, since: Option<Nanos>) {
        if self.counts(intended) {
            self.streams.came(count, since);
        }
    }

    /// A good response that was due at `intended` is complete, with so many events.
    pub(crate) fn stream_complete(&mut self, intended: Nanos, events: u64) {
        if self.counts(intended) {
            self.streams.complete(events);
        }
    }

    /// `open` connections are open now; reported once for each slice.
    pub(crate) fn open(&mut self, open: u64) {
        let peak = &mut self.current.counters.open_peak;
        *peak = (*peak).max(open);
    }

    /// The server closed an idle connection.
    pub(crate) fn closed_by_server(&mut self) {
        self.current.counters.closed_by_server += 1;
    }

    /// Bytes came that nobody had asked for.
    pub(crate) fn stray(&mut self) {
        self.current.counters.stray += 1;
    }

    /// Adds what the kernel reports of a connection under load.
    pub(crate) fn tcp_sample(&mut self, info: TcpInfo) {
        self.current.counters.tcp_samples.add_sample(info);
    }

    /// The same at the end of the run.
    pub(crate) fn last_tcp_sample(&mut self, info: TcpInfo) {
        self.current.counters.tcp_samples.add_last_sample(info);
    }
}
