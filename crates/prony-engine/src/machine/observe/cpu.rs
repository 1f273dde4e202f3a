//! What the CPUs did (/proc/stat), and how long tasks waited for one (/proc/pressure/cpu).

use crate::clock::Nanos;

/// Fewer ticks than this don't show a share of 1 %: one tick would be more. They are a second of one CPU at the
/// usual 100 ticks a second (USER_HZ, proc_stat(5)).
const TICKS_MIN: u64 = 100;
/// The same for the share in which the CPUs worked.
const BUSY_TICKS_MIN: u64 = 20;

/// Time of all CPUs together since boot, in ticks (proc_stat(5)).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CpuTimes {
    /// In whatever state.
    total: u64,
    /// Idle, also while a disk was awaited.
    idle: u64,
    softirq: u64,
    steal: u64,
}

/// Shares of all CPU time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct CpuShares {
    pub steal: f64,
    pub softirq: f64,
}

impl CpuTimes {
    /// Reads the first line of /proc/stat: `cpu user nice system idle iowait irq softirq steal …`. What follows
    /// is of guests and is in the fields before already.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let line = text.lines().find_map(|line| line.strip_prefix("cpu "))?;
        let ticks: Vec<u64> = line.split_whitespace().take(8).map_while(|word| word.parse().ok()).collect();
        let &[_, _, _, idle, iowait, _, softirq, steal] = ticks.as_slice() else { return None };
        Some(Self { total: ticks.iter().sum(), idle: idle + iowait, softirq, steal })
    }

    /// What became of the time since `earlier`; `None` if that was too short to measure.
    pub(super) fn shares_since(&self, earlier: &Self) -> Option<CpuShares> {
        let total = self.total.saturating_sub(earlier.total);
        if total < TICKS_MIN {
            return None;
        }
        let share = |now: u64, then: u64| now.saturating_sub(then) as f64 / total as f64;
        Some(CpuShares {
            steal: share(self.steal, earlier.steal),
            softirq: share(self.softirq, earlier.softirq),
        })
    }

    /// Share of the time since `earlier` in which the CPUs worked; `None` if that was too short. Known to a tick of
    /// each CPU at both ends, since idle time is counted exactly, not sampled.
    pub(super) fn busy_since(&self, earlier: &Self) -> Option<f64> {
        let total = self.total.saturating_sub(earlier.total);
        if total < BUSY_TICKS_MIN {
            return None;
        }
        let not_busy = self.idle.saturating_sub(earlier.idle) + self.steal.saturating_sub(earlier.steal);
        Some((1.0 - not_busy as f64 / total as f64).max(0.0))
    }
}

/// Time since boot in which some task waited for a CPU, or for a disk, as the file has it: `total` of the line `some`, in microseconds
/// (Documentation/accounting/psi.rst).
pub(super) fn pressure(text: &str) -> Option<Nanos> {
    let line = text.lines().find(|line| line.starts_with("some "))?;
    let total_us: u64 = line.split_once("total=")?.1.trim().parse().ok()?;
    Some(total_us * 1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_times() {
        let text = "cpu  74585 10 16487 106928 802 5 93 340 7 0\ncpu0 35075 0 7726 56455 212 0 12 164 0 0\n";
        let total = 74585 + 10 + 16487 + 106_928 + 802 + 5 + 93 + 340;
        let expected = CpuTimes { total, idle: 106_928 + 802, softirq: 93, steal: 340 };
        assert_eq!(CpuTimes::parse(text), Some(expected));
        assert_eq!(CpuTimes::parse("cpu0 1 2 3 4 5 6 7 8\n"), None, "that is one of them");
        assert_eq!(CpuTimes::parse("cpu  1 2 3 4\n"), None, "older than Linux 2.6.11");
    }

    #[test]
    fn shares_of_enough_time() {
        let at = |total, idle, softirq, steal| CpuTimes { total, idle, softirq, steal };
        let check = |later: CpuTimes, expected: Option<(f64, f64)>, expected_busy: Option<f64>| {
            let earlier = at(1000, 500, 10, 10);
            let shares = later.shares_since(&earlier);
            assert_eq!(shares.map(|shares| (shares.steal, shares.softirq)), expected);
            assert_eq!(later.busy_since(&earlier), expected_busy);
        };
        check(at(1200, 550, 12, 20), Some((0.05, 0.01)), Some(0.7));
        check(at(1050, 520, 10, 15), None, Some(0.5));
        check(at(1019, 500, 10, 20), None, None);
        // The kernel's idle time may go back by a tick.
        check(at(1100, 499, 10, 10), Some((0.0, 0.0)), Some(1.0));
    }

    #[test]
    fn pressure_of_some_tasks() {
        let text = "some avg10=15.74 avg60=27.64 avg300=10.29 total=63641235\n\
                    full avg10=0.00 avg60=0.00 avg300=0.00 total=7\n";
        assert_eq!(pressure(text), Some(63_641_235_000));
        assert_eq!(pressure("full avg10=0.00 total=7\n"), None);
        assert_eq!(pressure(""), None);
    }
}
