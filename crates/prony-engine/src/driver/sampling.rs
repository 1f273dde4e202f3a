//! Which requests the kernel is asked about when they leave.

use crate::kernel_clock::Wanted;

/// Messages that are read from a socket's error queue at once at most. The kernel keeps about 150 (net.core.rmem_default,
/// as each counts as 1,280 bytes or so); what comes meanwhile can wait.
pub(super) const DEPARTURES_AT_ONCE: usize = 256;

/// Picks one in so many requests of a worker.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sampling {
    pub arrivals: bool,
    one_in: u32,
    /// Where in its round of 2^32 the choice stands.
    position: u32,
}

/// 2^32 over the golden ratio: steps of this size spread most evenly (Weyl), so that no number of connections that
/// send in turn is in step with the choice.
const STEP: u32 = 0x9e37_79b9;

impl Sampling {
    /// For what a run wants.
    pub(super) fn new(wanted: Wanted) -> Self {
        Self { arrivals: wanted.arrivals, one_in: wanted.departures_one_in, position: 0 }
    }

    /// Whether any stamps are asked for.
    #[inline]
    pub(super) fn any(self) -> bool {
        self.arrivals || self.one_in > 0
    }

    /// Whether each request is asked about, so that a socket is told once.
    #[inline]
    pub(super) fn every(self) -> bool {
        self.one_in == 1
    }

    /// Whether the next request is one of a few that are asked about.
    #[inline]
    pub(super) fn picks(&mut self) -> bool {
        if self.one_in < 2 {
            return false;
        }
        self.position = self.position.wrapping_add(STEP);
        self.position <= u32::MAX / self.one_in
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sampling(departures_one_in: u32) -> Sampling {
        Sampling::new(Wanted { arrivals: true, departures_one_in })
    }

    #[test]
    fn one_in_so_many_is_picked() {
        let check = |one_in: u32, expected: usize| {
            let mut sampling = sampling(one_in);
            let picked = (0..64_000).filter(|_| sampling.picks()).count();
            assert!(picked.abs_diff(expected) <= 2, "one in {one_in}: {picked}");
        };
        check(64, 1000);
        check(2, 32_000);
        check(1, 0);
        check(0, 0);
        assert_eq!([0, 1, 64].map(|one_in| sampling(one_in).every()), [false, true, false]);
        assert!(!Sampling::new(Wanted::NONE).any());
    }

    #[test]
    fn connections_that_send_in_turn_are_picked_evenly() {
        for connections in [2, 3, 10, 50, 64, 100, 128, 256] {
            let mut sampling = sampling(64);
            let mut picked = vec![0_u32; connections];
            for request in 0..64 * 20 * connections {
                picked[request % connections] += u32::from(sampling.picks());
            }
            assert!(picked.iter().all(|count| (10..=30).contains(count)), "{connections}: {picked:?}");
        }
    }
}
