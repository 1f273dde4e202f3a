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

#[cfg(test)]
mod tests {
    use prony_model::TlsUse;
    use rand::RngExt as _;

    use super::*;
    use crate::record::shared::{merged, nanos, shared};

    #[test]
    fn handshakes_of_agents_are_those_of_one_recorder() {
        let (one, agents) =
            shared(20_000, |record: &mut Handshakes, generator| match generator.random_range(0..3) {
                0 => record.full.record(nanos(generator)),
                1 => record.resumed.record(nanos(generator)),
                _ => record.failed += 1,
            });
        let result = merged(&agents, |result, record| {
            result.tls = Some(TlsUse { handshakes: record.summary(), ..TlsUse::default() });
        });
        let handshakes = result.tls.expect("there was TLS").handshakes;
        assert_eq!(handshakes, one.summary());
        assert!(handshakes.full > 6_000 && handshakes.full_latency.quantiles_ms["0.99"].is_some());
    }
}
