//! What the TLS handshakes of a worker took, of its whole run. Handed over when it has ended, as the kernel's stamps are.

use prony_model::Handshakes as Summary;
use prony_stats::{Censored, Histogram};
use prony_summary::{histogram_data, summary};

/// The records of one worker.
#[derive(Default)]
pub(crate) struct Handshakes {
    /// Those with a new key exchange and certificate.
    pub full: Histogram,
    /// Those that resumed a session.
    pub resumed: Histogram,
    /// Those that ended without a secure connection.
    pub failed: u64,
}

impl Handshakes {
    /// Adds what another worker recorded.
    pub(crate) fn add(&mut self, other: &Self) {
        self.full.add(&other.full);
        self.resumed.add(&other.resumed);
        self.failed += other.failed;
    }

    /// For the result.
    pub(crate) fn summary(&self) -> Summary {
        Summary {
            full: self.full.count(),
            resumed: self.resumed.count(),
            failed: self.failed,
            full_latency: summary(&self.full, Censored::NONE),
            resumed_latency: summary(&self.resumed, Censored::NONE),
            full_histogram: histogram_data(&self.full),
            resumed_histogram: histogram_data(&self.resumed),
        }
    }
}
