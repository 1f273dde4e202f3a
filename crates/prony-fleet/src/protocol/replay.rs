//! Which counters of an epoch were used. Messages of one sender may overtake each other, so a counter is refused where
//! it was seen, or is too old to know (RFC 4303, section 3.4.3, has the same window).

use super::ProtocolError;

/// Counters below the highest one that may still arrive.
const WINDOW: u64 = 64;

/// What was seen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReplayWindow {
    epoch: u64,
    highest: u64,
    /// Bit n: `highest - n` was seen.
    seen: u64,
}

impl ReplayWindow {
    /// One that refuses everything up to `counter` in `epoch`: what an agent remembers over a restart.
    pub fn after(epoch: u64, counter: u64) -> Self {
        Self { epoch, highest: counter, seen: u64::MAX }
    }

    /// The highest epoch.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// The highest counter of that epoch.
    pub fn counter(&self) -> u64 {
        self.highest
    }

    /// Notes a counter, which begins at 1 in each epoch.
    pub fn accept(&mut self, epoch: u64, counter: u64) -> Result<(), ProtocolError> {
        if epoch < self.epoch {
            return Err(ProtocolError::StaleEpoch { epoch, current: self.epoch });
        }
        if epoch > self.epoch {
            *self = Self { epoch, highest: 0, seen: 1 };
        }
        if counter > self.highest {
            let step = counter - self.highest;
            self.seen = if step < WINDOW { self.seen << step } else { 0 } | 1;
            self.highest = counter;
            return Ok(());
        }
        let back = self.highest - counter;
        if counter == 0 || back >= WINDOW || self.seen >> back & 1 == 1 {
            return Err(ProtocolError::Replayed(counter));
        }
        self.seen |= 1 << back;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Beside a set of all that was seen.
        #[test]
        fn no_counter_counts_twice(counters in proptest::collection::vec((1_u64..4, 0_u64..200), 0..300)) {
            let mut window = ReplayWindow::default();
            let mut seen = BTreeSet::new();
            for (epoch, counter) in counters {
                let before = window;
                if window.accept(epoch, counter).is_ok() {
                    prop_assert!(seen.insert((epoch, counter)));
                    prop_assert!(epoch >= before.epoch && counter > 0);
                } else {
                    prop_assert_eq!(window, if epoch > before.epoch { window } else { before });
                }
                prop_assert!(window.epoch >= before.epoch);
            }
        }
    }

    #[test]
    fn overtaken_counters_are_good_once() {
        let mut window = ReplayWindow::default();
        for (counter, good) in
            [(2, true), (1, true), (1, false), (2, false), (70, true), (7, true), (6, false), (0, false)]
        {
            assert_eq!(window.accept(5, counter).is_ok(), good, "{counter}");
        }
        assert_eq!(window.accept(4, 100), Err(ProtocolError::StaleEpoch { epoch: 4, current: 5 }));
        let mut after = ReplayWindow::after(5, 70);
        assert_eq!(after.accept(5, 69), Err(ProtocolError::Replayed(69)));
        assert_eq!(after.accept(5, 71), Ok(()));
    }
}
