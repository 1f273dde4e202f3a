//! The clocks of a run by name, for all that go through them or choose one.

use crate::{EventStreams, HistogramData, LatencySummary, RunResult};

/// One distribution of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Clock {
    /// done − intended, of good responses.
    #[default]
    Response,
    /// Response time by the kernel's clock, of good responses.
    KernelResponse,
    /// done − sent, of good responses.
    Service,
    /// first byte − sent.
    FirstByte,
    /// First event of a response − intended.
    FirstEvent,
    /// First event of a response − sent.
    FirstEventService,
    /// From one event of a response to the next.
    BetweenEvents,
    /// Connecting.
    Connect,
    /// The client's own lateness.
    Lag,
    /// The wait for a free connection.
    Blocked,
    /// From being handed to the kernel to being sent by it.
    Departure,
    /// From the kernel's sending to the kernel's receiving.
    Network,
    /// From the kernel's receiving to the client's looking.
    Arrival,
    /// Waiting times of requests that were cut off; without a summary, for the true latencies are unknown.
    Censored,
}

impl Clock {
    /// Every clock, the most important first.
    pub const ALL: [Self; 14] = [
        Self::Response,
        Self::KernelResponse,
        Self::Service,
        Self::FirstByte,
        Self::FirstEvent,
        Self::FirstEventService,
        Self::BetweenEvents,
        Self::Connect,
        Self::Lag,
        Self::Blocked,
        Self::Departure,
        Self::Network,
        Self::Arrival,
        Self::Censored,
    ];

    /// The stable name, as on the command line and in exported files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Response => "response",
            Self::KernelResponse => "kernel-response",
            Self::Service => "service",
            Self::FirstByte => "first-byte",
            Self::FirstEvent => "first-event",
            Self::FirstEventService => "first-event-service",
            Self::BetweenEvents => "between-events",
            Self::Connect => "connect",
            Self::Lag => "lag",
            Self::Blocked => "blocked",
            Self::Departure => "departure",
            Self::Network => "network",
            Self::Arrival => "arrival",
            Self::Censored => "censored",
        }
    }
}

/// The evidence of a finding that names the p99 by the kernel's clock as the one to quote, milliseconds.
pub const KERNEL_P99: &str = "kernel_response_p99";

/// The distribution of events where the plan does not ask for them.
static NO_EVENTS: HistogramData =
    HistogramData { encoding: String::new(), unit: String::new(), count: 0, data: String::new() };

impl RunResult {
    /// Whether the client made the tail of its own clock, p99 and above, so that only [`Clock::KernelResponse`] has
    /// one to quote.
    pub fn has_client_tail(&self) -> bool {
        self.findings
            .iter()
            .any(|finding| finding.evidence.iter().any(|evidence| evidence.name == KERNEL_P99))
    }

    /// The numbers of `clock`; none for [`Clock::Censored`], and of events where the plan does not ask for them.
    pub fn summary(&self, clock: Clock) -> Option<&LatencySummary> {
        let latency = &self.latency;
        Some(match clock {
            Clock::Response => &latency.response,
            Clock::KernelResponse => &latency.kernel_response,
            Clock::Service => &latency.service,
            Clock::FirstByte => &latency.first_byte,
            Clock::FirstEvent => &self.events.as_ref()?.first_response,
            Clock::FirstEventService => &self.events.as_ref()?.first_service,
            Clock::BetweenEvents => &self.events.as_ref()?.between,
            Clock::Connect => &latency.connect,
            Clock::Lag => &latency.lag,
            Clock::Blocked => &latency.blocked,
            Clock::Departure => &latency.departure,
            Clock::Network => &latency.network,
            Clock::Arrival => &latency.arrival,
            Clock::Censored => return None,
        })
    }

    /// The distribution of `clock`.
    pub fn histogram(&self, clock: Clock) -> &HistogramData {
        let histograms = &self.histograms;
        let of_events =
            |choose: fn(&EventStreams) -> &HistogramData| self.events.as_ref().map_or(&NO_EVENTS, choose);
        match clock {
            Clock::Response => &histograms.response,
            Clock::KernelResponse => &histograms.kernel_response,
            Clock::Service => &histograms.service,
            Clock::FirstByte => &histograms.first_byte,
            Clock::FirstEvent => of_events(|events| &events.first_response_histogram),
            Clock::FirstEventService => of_events(|events| &events.first_service_histogram),
            Clock::BetweenEvents => of_events(|events| &events.between_histogram),
            Clock::Connect => &histograms.connect,
            Clock::Lag => &histograms.lag,
            Clock::Blocked => &histograms.blocked,
            Clock::Departure => &histograms.departure,
            Clock::Network => &histograms.network,
            Clock::Arrival => &histograms.arrival,
            Clock::Censored => &histograms.censored,
        }
    }
}
