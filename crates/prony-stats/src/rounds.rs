//! The rate of a closed loop from whole rounds, without the steps of a count.
//!
//! A connection of a closed loop goes round: request, response, next request. Where connections move in lockstep, a
//! short window holds one round or two, never one and a half, and a count of responses jumps by whole rounds. By
//! Little's law the rate is N/W: N connections at work, each taking W for a round. Both move continuously. W is the
//! mean over the requests that *began* in the window, each to its end, also where that lies behind the window: the
//! requests that reach over the edges are longer than the usual one, and so the window takes those at its end and
//! leaves those at its beginning out.
//!
//! Sources: Little, Operations Research 9 (1961); for rounds that begin in a window and Wald's equation, Asmussen,
//! Applied Probability and Queues (2003), V.

/// How requests that ended well cover a window of time.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Rounds {
    /// Time of all requests within the window, added up.
    busy_ns: u128,
    /// Each request counted by the share of its time that lies in the window.
    shares: f64,
}

impl Rounds {
    /// Adds a request that lasted from `began` to `ended`, as far as it lies between `from` and `to`.
    #[inline]
    pub fn add(&mut self, began: u64, ended: u64, from: u64, to: u64) {
        let (first, last) = (began.max(from), ended.min(to));
        if last <= first {
            return;
        }
        let within = last - first;
        self.busy_ns += u128::from(within);
        self.shares += if within == ended - began { 1.0 } else { within as f64 / (ended - began) as f64 };
    }

    /// Adds what was seen of other connections in the same window, or of the same ones in the next.
    pub fn merge(&mut self, other: &Self) {
        self.busy_ns += other.busy_ns;
        self.shares += other.shares;
    }

    /// The rate in a window of `window_ns`, where `begun` requests that began in it ended well and took `took_ns`
    /// in all; `None` if no request lay in it.
    ///
    /// In a window in which no request began, as within a freeze, each counts by its share.
    pub fn per_second(&self, begun: u64, took_ns: u128, window_ns: u64) -> Option<f64> {
        if self.busy_ns == 0 || window_ns == 0 {
            return None;
        }
        let window_s = window_ns as f64 / 1e9;
        let rounds = if begun > 0 && took_ns > 0 {
            self.busy_ns as f64 * begun as f64 / took_ns as f64
        } else {
            self.shares
        };
        Some(rounds / window_s)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// The rate of `connections` in lockstep, each round taking `round_ns`, in a window of 200 ms that begins
    /// somewhere within a round.
    fn lockstep(connections: u64, round_ns: u64, offset_ns: u64) -> f64 {
        let (from, to) = (10_000 * MS + offset_ns, 10_200 * MS + offset_ns);
        let (mut rounds, mut begun, mut took) = (Rounds::default(), 0, 0);
        for began in (0..12_000 * MS).step_by(usize::try_from(round_ns).unwrap()) {
            for _ in 0..connections {
                rounds.add(began, began + round_ns, from, to);
                if (from..to).contains(&began) {
                    begun += 1;
                    took += u128::from(round_ns);
                }
            }
        }
        rounds.per_second(begun, took, to - from).unwrap()
    }

    #[test]
    fn lockstep_has_no_steps() {
        for round_ns in [MS, 39_200_000, 40_800_000, 98 * MS, 100_500_000, 190 * MS, 500 * MS] {
            for offset_ns in [0, 1, 17 * MS, 60 * MS] {
                let expected = 8.0 * 1e9 / round_ns as f64;
                let rate = lockstep(8, round_ns, offset_ns);
                assert!(
                    (rate / expected - 1.0).abs() < 1e-6,
                    "{round_ns} ns, {offset_ns}: {rate} /s, not {expected}"
                );
            }
        }
    }

    #[test]
    fn a_window_within_a_freeze_counts_shares() {
        let mut rounds = Rounds::default();
        for _ in 0..4 {
            rounds.add(0, 1000 * MS, 300 * MS, 500 * MS);
        }
        // Four requests of a second each.
        assert_eq!(rounds.per_second(0, 0, 200 * MS), Some(4.0));
    }

    #[test]
    fn connections_that_are_never_answered_do_not_count() {
        let mut rounds = Rounds::default();
        (0..20).for_each(|k| rounds.add(10 * k * MS, 10 * (k + 1) * MS, 0, 200 * MS));
        assert_eq!(rounds.per_second(20, 200 * u128::from(MS), 200 * MS), Some(100.0));
        assert_eq!(Rounds::default().per_second(0, 0, 200 * MS), None);
        assert_eq!(rounds.per_second(20, 1, 0), None);
    }

    #[test]
    fn what_lies_outside_does_not_count() {
        let mut rounds = Rounds::default();
        rounds.add(0, 5, 10, 20);
        rounds.add(20, 25, 10, 20);
        assert_eq!(rounds, Rounds::default());
        rounds.merge(&rounds.clone());
        assert_eq!(rounds, Rounds::default());
    }
}
