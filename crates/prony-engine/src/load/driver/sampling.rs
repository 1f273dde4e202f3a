//! Which connections and which of their requests the kernel is asked about.

use super::Slot;
use crate::kernel::kernel_clock::StampSampling;

/// Messages that are read from a socket's error queue at once at most. The kernel keeps about 150 (net.core.rmem_default,
/// as each counts as 1,280 bytes or so); what comes meanwhile can wait.
pub(super) const DEPARTURES_AT_ONCE: usize = 256;

/// Picks one in so many connections of a worker, and one in so many requests on them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sampling {
    /// One in so many connections; 0 for none.
    connections_one_in: u32,
    /// One in so many of their requests; 0 for none.
    one_in: u32,
    /// Where in its round of 2^32 the choice stands.
    position: u32,
}

/// 2^32 over the golden ratio: steps of this size spread most evenly (Weyl), so that no number of connections that
/// send in turn is in step with the choice.
const STEP: u32 = 0x9e37_79b9;

impl Sampling {
    /// For what a run wants of a worker with so many `slots`.
    pub(super) fn new(stamps: StampSampling, slots: u32) -> Self {
        let connections_one_in = stamps.arrivals_one_in;
        let sampled = sampled_slots(connections_one_in, slots);
        // Of all requests, of which these connections carry their share.
        let one_in = u64::from(stamps.departures_one_in) * u64::from(sampled) / u64::from(slots.max(1));
        let one_in = u32::try_from(one_in).expect("invariant: a share of 32 bits has 32 bits");
        Self { connections_one_in, one_in: one_in.max(stamps.departures_one_in.min(1)), position: 0 }
    }

    /// Whether the connection of `slot` is asked for stamps.
    #[inline]
    pub(super) fn covers(self, slot: Slot) -> bool {
        self.connections_one_in > 0 && slot.is_multiple_of(self.connections_one_in)
    }

    /// How many of so many `slots` are.
    pub(super) fn sampled_slots(self, slots: u32) -> u32 {
        sampled_slots(self.connections_one_in, slots)
    }

    /// Whether each request of such a connection is asked about, so that a socket is set up once.
    #[inline]
    pub(super) fn every(self) -> bool {
        self.one_in == 1
    }

    /// Whether the next request of such a connection is one of a few that are asked about.
    #[inline]
    pub(super) fn picks(&mut self) -> bool {
        if self.one_in < 2 {
            return false;
        }
        self.position = self.position.wrapping_add(STEP);
        self.position <= u32::MAX / self.one_in
    }
}

/// The slots that are multiples of `one_in`.
fn sampled_slots(one_in: u32, slots: u32) -> u32 {
    if one_in == 0 { 0 } else { slots.div_ceil(one_in) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sampling(departures_one_in: u32) -> Sampling {
        Sampling::new(StampSampling { arrivals_one_in: 1, departures_one_in }, 64)
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
        assert!(!Sampling::new(StampSampling::NONE, 64).covers(0));
    }

    #[test]
    fn some_connections_stand_for_all() {
        let check = |connections_one_in: u32, departures_one_in: u32, slots: u32, expected: (u32, usize)| {
            let stamps = StampSampling { arrivals_one_in: connections_one_in, departures_one_in };
            let mut sampling = Sampling::new(stamps, slots);
            let picked = (0..64_000_u32)
                .filter(|request| sampling.covers(request % slots) && (sampling.every() || sampling.picks()))
                .count();
            assert_eq!(sampling.sampled_slots(slots), expected.0);
            let sampled = (0..slots).filter(|slot| sampling.covers(*slot)).count();
            assert_eq!(sampled, expected.0 as usize);
            assert!(picked.abs_diff(expected.1) <= 2, "{stamps:?} of {slots}: {picked}");
        };
        check(8, 64, 64, (8, 1000));
        check(8, 64, 1, (1, 1000));
        check(8, 64, 4, (1, 1000));
        check(8, 64, 9, (2, 1016));
        check(1, 1, 10, (10, 64_000));
        check(0, 0, 10, (0, 0));
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
