//! Samples single connections while they are under load: what the kernel reports of a few of them, each second.

use crate::clock::Nanos;
use crate::sys::TcpInfo;

/// Time between two samples of a worker: eight a second, which cost a microsecond each.
pub(crate) const SAMPLE_EVERY: Nanos = 125_000_000;
/// Connections that are sampled when the run is over: a sample of each of so many takes some milliseconds.
pub(crate) const LAST_SAMPLES_MAX: u32 = 16 * 1024;
/// Share of its busy time that a connection may be held back without being counted.
const HELD_BACK: f64 = 0.10;

/// What the samples showed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct TcpSamples {
    /// Samples of connections.
    pub taken: u64,
    /// Those that found bytes in the send buffer which the kernel had not sent yet.
    pub unsent: u64,
    /// Most of such bytes.
    pub unsent_bytes_max: u64,
    /// Those of connections that their buffers or the peer's window had held back for much of their time.
    pub held_back: u64,
    /// Connections at the end of the run that had sent data again.
    pub resent: u64,
    /// Segments that they had sent again.
    pub retransmitted: u64,
}

impl TcpSamples {
    /// Adds a sample in the midst of the load.
    pub(crate) fn add_sample(&mut self, info: TcpInfo) {
        self.taken += 1;
        self.unsent += u64::from(info.unsent_bytes > 0);
        self.unsent_bytes_max = self.unsent_bytes_max.max(u64::from(info.unsent_bytes));
        self.held_back += u64::from(info.held_back_us as f64 > info.busy_us as f64 * HELD_BACK);
    }

    /// Adds the last sample of a connection, which counts what happened to it in its whole life.
    pub(crate) fn add_last_sample(&mut self, info: TcpInfo) {
        self.resent += u64::from(info.retransmitted > 0);
        self.retransmitted += u64::from(info.retransmitted);
    }

    /// Adds those of another stretch of time.
    pub(crate) fn add(&mut self, other: &Self) {
        self.taken += other.taken;
        self.unsent += other.unsent;
        self.unsent_bytes_max = self.unsent_bytes_max.max(other.unsent_bytes_max);
        self.held_back += other.held_back;
        self.resent += other.resent;
        self.retransmitted += other.retransmitted;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_add_up() {
        let info = |unsent_bytes, held_back_us, retransmitted| TcpInfo {
            unsent_bytes,
            busy_us: 100,
            held_back_us,
            retransmitted,
            ..TcpInfo::default()
        };
        let mut samples = TcpSamples::default();
        samples.add_sample(info(0, 10, 0));
        samples.add_sample(info(70, 11, 0));
        samples.add_sample(TcpInfo::default());
        samples.add_last_sample(info(0, 0, 4));
        samples.add_last_sample(info(0, 0, 0));
        let expected = TcpSamples {
            taken: 3,
            unsent: 1,
            unsent_bytes_max: 70,
            held_back: 1,
            resent: 1,
            retransmitted: 4,
        };
        assert_eq!(samples, expected);
        samples.add(&expected);
        let twice = TcpSamples {
            taken: 6,
            unsent: 2,
            unsent_bytes_max: 70,
            held_back: 2,
            resent: 2,
            retransmitted: 8,
        };
        assert_eq!(samples, twice);
    }
}
