//! The stretches of time that the machine spoiled, as a short memory: slices ask about their own time.

use std::collections::VecDeque;

use prony_model::CutReason;

use crate::clock::Nanos;
use crate::record::slice::SLICE;

/// Length of a tick of /proc/stat: USER_HZ is 100 on every system that is in use (proc_stat(5)).
pub(super) const TICK: Nanos = 10_000_000;
/// Share of all CPU time of a stretch that may be taken: the bound from which `steal` is a finding.
const SHARE_MAX: f64 = 0.01;
/// Time that may be taken from one core in a stretch: less than two ticks may be the rest of many stretches.
const CORE_MAX: Nanos = 2 * TICK;
/// The aftermath of a stretch in which much was taken is cut for as long as that was, up to this: a server that is busy
/// half of the time has served by then what waited.
const AFTERMATH_MAX: Nanos = 1_000_000_000;
/// Stretches that are remembered: three seconds of them, marked without a break. Slices ask within a fraction of that.
const MARKS_MAX: usize = 128;
/// A slice's time is evaluated when so much of what follows is known: the kernel may count what it lost a tick of its
/// own later, and a core that fell asleep counts when it wakes up. No mark reaches further back from its stretch.
const LOOK_AHEAD: Nanos = SLICE;

/// What was taken between two polls.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Stretch {
    pub from: Nanos,
    pub to: Nanos,
    /// Taken from the core that lost most.
    pub core_most: Nanos,
    /// Share of all CPU time that was taken.
    pub share: f64,
    /// Whether the control group was held back.
    pub throttled: bool,
}

/// Stretches that are not clean.
#[derive(Debug, Default)]
pub(crate) struct Marks {
    stretches: VecDeque<Mark>,
    known_to: Nanos,
    /// Of the stretches without a break up to now: their end, and what was taken in them.
    running: (Nanos, Nanos),
}

#[derive(Debug, Clone, Copy)]
struct Mark {
    from: Nanos,
    to: Nanos,
    reason: CutReason,
}

impl Stretch {
    /// Why it is not clean, and how long somebody else had a core.
    fn reason(&self) -> Option<(CutReason, Nanos)> {
        if self.throttled {
            return Some((CutReason::Throttled, self.to - self.from));
        }
        let is_taken = self.share > SHARE_MAX || self.core_most >= CORE_MAX;
        is_taken.then_some((CutReason::Steal, self.core_most))
    }
}

impl Marks {
    /// Takes the stretch that followed the last one.
    pub(crate) fn add(&mut self, stretch: &Stretch) {
        self.known_to = self.known_to.max(stretch.to);
        let Some((reason, taken)) = stretch.reason() else { return };
        // What is counted at once may have been taken before the last poll.
        let late = if taken >= CORE_MAX { LOOK_AHEAD } else { 0 };
        let (until, before) = self.running;
        let taken = if stretch.from <= until { taken + before } else { taken };
        let aftermath = taken.clamp(SLICE, AFTERMATH_MAX);
        self.running = (stretch.to + aftermath, taken.min(AFTERMATH_MAX));
        self.push(Mark { from: stretch.from.saturating_sub(late), to: stretch.to, reason });
        self.push(Mark { from: stretch.to, to: stretch.to + aftermath, reason: CutReason::Aftermath });
    }

    fn push(&mut self, mark: Mark) {
        if self.stretches.len() == MARKS_MAX {
            self.stretches.pop_front();
        }
        self.stretches.push_back(mark);
    }

    /// Why the time from `from` to `to` is not clean; `None` if it is.
    pub(crate) fn reason(&self, from: Nanos, to: Nanos) -> Option<CutReason> {
        let overlaps = self.stretches.iter().filter(|mark| mark.from < to && from < mark.to);
        overlaps.map(|mark| mark.reason).min()
    }

    /// Whether all is known of the time up to `to`.
    pub(crate) fn know(&self, to: Nanos) -> bool {
        to.saturating_add(LOOK_AHEAD) <= self.known_to
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CORES: u64 = 2;

    /// A stretch of one slice's length, number `index`, in which `ticks` were taken from one of two cores.
    fn stretch(index: u64, ticks: u64) -> Stretch {
        let taken = ticks * TICK;
        Stretch {
            from: index * SLICE,
            to: (index + 1) * SLICE,
            core_most: taken,
            share: taken as f64 / (SLICE * CORES) as f64,
            ..Stretch::default()
        }
    }

    /// What becomes of each slice: S(teal), T(hrottled), A(ftermath) or clean.
    fn check(stretches: &[Stretch], expected: &str) {
        let mut marks = Marks::default();
        for stretch in stretches {
            marks.add(stretch);
        }
        let found: String = (0..expected.len() as u64)
            .map(|index| match marks.reason(index * SLICE, (index + 1) * SLICE) {
                None => '.',
                Some(CutReason::Steal) => 'S',
                Some(CutReason::Throttled) => 'T',
                Some(CutReason::Aftermath) => 'A',
            })
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn a_quiet_machine_is_clean() {
        check(&[stretch(0, 0), stretch(1, 0), stretch(2, 0)], ".....");
    }

    #[test]
    fn a_tick_spoils_its_slice_and_the_next() {
        check(&[stretch(0, 0), stretch(1, 0), stretch(2, 1), stretch(3, 0)], "..SA..");
    }

    #[test]
    fn what_is_counted_at_once_may_have_been_taken_before() {
        check(&[stretch(0, 0), stretch(1, 0), stretch(2, 4), stretch(3, 0)], ".SSA..");
    }

    #[test]
    fn the_aftermath_grows_with_what_was_taken() {
        let many: Vec<Stretch> = (1..5).map(|index| stretch(index, 5)).collect();
        check(&many, "SSSSSAAAA...");
        // A second burst within the aftermath of the first adds to it.
        let two = [stretch(1, 5), stretch(2, 0), stretch(3, 5), stretch(4, 0)];
        check(&two, "SSSSAA..");
    }

    #[test]
    fn one_tick_of_many_cores_is_nothing() {
        let one_of_64 = Stretch { share: 1.0 / (64.0 * 5.0), ..stretch(1, 1) };
        check(&[stretch(0, 0), one_of_64], "....");
        check(&[stretch(0, 0), Stretch { core_most: 2 * TICK, ..one_of_64 }], "SSA.");
    }

    #[test]
    fn a_quota_that_ran_out_spoils_its_slice() {
        check(&[stretch(0, 0), Stretch { throttled: true, ..stretch(1, 0) }], "TTA.");
    }

    #[test]
    fn a_slice_is_evaluated_when_what_follows_is_known() {
        let mut marks = Marks::default();
        marks.add(&stretch(0, 0));
        assert!(!marks.know(SLICE));
        marks.add(&stretch(1, 0));
        assert!(marks.know(SLICE) && !marks.know(2 * SLICE));
    }
}
