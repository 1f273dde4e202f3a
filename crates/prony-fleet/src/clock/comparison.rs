//! From pings to an offset: what an agent measures.
//!
//! A ping and its answer bound the offset: it lies within half a round trip of the middle. The mean of the quickest
//! eighth is used: a single best one is often an accident, and slow ones have waited in a queue in one direction. An
//! asymmetry of the way itself can't be seen, which is why the bound is half a round trip and not a spread.

use prony_model::ClockOffset;

use super::PINGS;

/// How the controller's clock relates to the agent's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offset {
    /// Controller's clock − agent's clock, nanoseconds.
    pub offset_ns: i64,
    /// It is within this of the truth, nanoseconds.
    pub bound_ns: u64,
    /// The longest round trip, nanoseconds.
    pub rtt_ns: u64,
}

impl Offset {
    /// A moment of the controller's clock on the agent's; `None` before the agent's clock began.
    pub fn local(&self, controller_ns: u64) -> Option<u64> {
        u64::try_from(i128::from(controller_ns) - i128::from(self.offset_ns)).ok()
    }

    /// The agent's clock, as the controller sees it.
    pub fn of_agent(&self) -> ClockOffset {
        ClockOffset { offset_ns: self.offset_ns.saturating_neg(), bound_ns: self.bound_ns }
    }
}

/// Pings on their way.
#[derive(Debug, Clone, Default)]
pub struct Comparison {
    /// Round trip and offset of each answered ping.
    answered: Vec<(u64, i64)>,
    /// Number and moment of the one that waits for its answer.
    waiting: Option<(u32, u64)>,
    next: u32,
}

impl Comparison {
    /// Notes a ping that is sent now, and returns its number.
    pub fn ping(&mut self, now_ns: u64) -> u32 {
        let ping = self.next;
        self.next += 1;
        self.waiting = Some((ping, now_ns));
        ping
    }

    /// Notes an answer: the controller's clock read `controller_ns`. Answers to other pings than the last one are
    /// dropped.
    pub fn pong(&mut self, ping: u32, controller_ns: u64, now_ns: u64) -> bool {
        let Some((_, sent_ns)) = self.waiting.filter(|(waiting, _)| *waiting == ping) else { return false };
        self.waiting = None;
        let rtt_ns = now_ns.saturating_sub(sent_ns);
        let middle = i128::from(sent_ns) + i128::from(rtt_ns / 2);
        if let Ok(offset_ns) = i64::try_from(i128::from(controller_ns) - middle) {
            self.answered.push((rtt_ns, offset_ns));
        }
        true
    }

    /// When the ping that has no answer was sent.
    pub fn waiting_since(&self) -> Option<u64> {
        self.waiting.map(|(_, sent_ns)| sent_ns)
    }

    /// The offset, once there are enough answers.
    pub fn offset(&self) -> Option<Offset> {
        if self.answered.len() < PINGS as usize {
            return None;
        }
        let mut answered = self.answered.clone();
        answered.sort_unstable();
        let rtt_ns = answered.last().map_or(0, |(rtt_ns, _)| *rtt_ns);
        answered.truncate(answered.len() / 8);
        let sum: i128 = answered.iter().map(|(_, offset_ns)| i128::from(*offset_ns)).sum();
        let mean = sum / i128::try_from(answered.len()).unwrap_or(1);
        let slowest = answered.last().map_or(0, |(rtt_ns, _)| *rtt_ns);
        Some(Offset { offset_ns: i64::try_from(mean).unwrap_or(0), bound_ns: slowest.div_ceil(2), rtt_ns })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Whatever each way takes, the truth is within the bound; with equal ways it is met.
        #[test]
        fn the_offset_is_within_its_bound(
            truth in -1_000_000_000_000_i64..1_000_000_000_000,
            ways in proptest::collection::vec((0_u64..50_000_000, 0_u64..50_000_000), PINGS as usize),
        ) {
            let mut comparison = Comparison::default();
            let mut now = 2_000_000_000_000_u64;
            let mut longest = 0;
            for (there, back) in ways {
                let ping = comparison.ping(now);
                let controller = u64::try_from(i128::from(now + there) + i128::from(truth)).expect("positive");
                now += there + back;
                longest = longest.max(there + back);
                prop_assert!(comparison.pong(ping, controller, now));
            }
            let found = comparison.offset().expect("enough pings");
            prop_assert!(found.offset_ns.abs_diff(truth) <= found.bound_ns + 1);
            prop_assert_eq!(found.rtt_ns, longest);
        }
    }

    #[test]
    fn late_answers_are_dropped() {
        let mut comparison = Comparison::default();
        let first = comparison.ping(0);
        let second = comparison.ping(10);
        assert!(!comparison.pong(first, 5, 11));
        assert!(comparison.pong(second, 5, 11));
        assert!(!comparison.pong(second, 5, 11));
        assert_eq!(comparison.offset(), None);
    }
}
