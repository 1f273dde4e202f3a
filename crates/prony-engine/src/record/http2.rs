//! What servers did beyond answering on a worker's connections of HTTP/2, of its whole run. Handed over when it has ended.

use prony_model::Http2Use;

/// The counts of one worker.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Http2Counts {
    /// Requests that were refused and sent again: of the warm-up, of the measured part.
    pub refused: [u64; 2],
    /// Those of the measured part that were not sent for the first time.
    pub refused_retries: u64,
    /// Those of all whose connection had carried another request before.
    pub refused_reused: u64,
    /// Connections on which the server announced that it takes no more.
    pub went_away: u64,
    /// Requests that the server takes at once on a connection, the least that was announced; [`u32::MAX`] for no limit.
    pub stream_limit: u32,
}

impl Default for Http2Counts {
    fn default() -> Self {
        Self { refused: [0; 2], refused_retries: 0, refused_reused: 0, went_away: 0, stream_limit: u32::MAX }
    }
}

impl Http2Counts {
    /// Adds what another worker counted.
    pub(crate) fn add(&mut self, other: &Self) {
        for (sum, more) in self.refused.iter_mut().zip(other.refused) {
            *sum += more;
        }
        self.refused_retries += other.refused_retries;
        self.refused_reused += other.refused_reused;
        self.went_away += other.went_away;
        self.stream_limit = self.stream_limit.min(other.stream_limit);
    }

    /// For the result.
    pub(crate) fn summary(&self) -> Http2Use {
        Http2Use {
            stream_limit: (self.stream_limit < u32::MAX).then_some(self.stream_limit),
            refused: self.refused[1],
            went_away: self.went_away,
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::RngExt as _;

    use super::*;
    use crate::record::shared::{merged, shared};

    #[test]
    fn what_servers_did_to_agents_is_what_they_did_to_one_recorder() {
        let (one, agents) = shared(5_000, |record: &mut Http2Counts, generator| {
            record.add(&Http2Counts {
                refused: [generator.random_range(0..3), generator.random_range(0..5)],
                went_away: generator.random_range(0..2),
                stream_limit: generator.random_range(100..20_000),
                ..Http2Counts::default()
            });
        });
        let result = merged(&agents, |result, record| result.http2 = Some(record.summary()));
        assert_eq!(result.http2, Some(one.summary()));
        assert!(one.summary().stream_limit.is_some());
    }
}
