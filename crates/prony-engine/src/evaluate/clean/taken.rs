//! What was taken from this machine's cores, poll by poll: steal (/proc/stat) and quotas (cpu.stat).

use std::fs::read_to_string;
use std::path::PathBuf;

use super::marks::{Stretch, TICK};
use crate::clock::{self, Nanos};
use crate::machine::observe::cgroup;
use crate::record::slice::SLICE;

/// A poll takes at most one part in so many of the time until the next: /proc/stat has a line for each core and a
/// number for each interrupt, which takes long on large machines.
const COST_MAX: Nanos = 200;

/// Polls the machine, once for each slice.
pub(crate) struct Taken {
    quotas: Vec<PathBuf>,
    before: Option<Reading>,
    next: Nanos,
    /// Taken from all cores since `from`.
    pub(crate) total: Nanos,
    from: Nanos,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Reading {
    at: Nanos,
    /// Ticks of steal since boot, by core.
    steal: Vec<(u32, u64)>,
    throttled: Option<u64>,
}

impl Taken {
    /// Counts the total from `from` on.
    pub(crate) fn new(from: Nanos) -> Self {
        Self { quotas: cgroup::quota_files(), before: None, next: 0, total: 0, from }
    }

    /// Makes a poll due.
    pub(crate) fn make_due(&mut self) {
        self.next = 0;
    }

    /// Whether this machine says what was taken.
    pub(crate) fn is_known(&self) -> bool {
        self.before.as_ref().is_some_and(|reading| !reading.steal.is_empty())
    }

    /// What was taken since the last poll; `None` when none is due at `now`.
    pub(crate) fn poll(&mut self, now: Nanos) -> Option<Stretch> {
        if now < self.next {
            return None;
        }
        let text = read_to_string("/proc/stat").unwrap_or_default();
        let reading = Reading { at: now, steal: steal(&text), throttled: cgroup::throttled(&self.quotas) };
        let cost = clock::now().saturating_sub(now);
        self.next = now + SLICE.max(cost * COST_MAX);
        let before = self.before.replace(reading.clone())?;
        let stretch = reading.since(&before);
        if before.at >= self.from {
            let cores = reading.steal.len() as f64;
            self.total += nanos(stretch.share * cores * (stretch.to - stretch.from) as f64);
        }
        Some(stretch)
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a span of time that was measured"
)]
fn nanos(span: f64) -> Nanos {
    span as Nanos
}

impl Reading {
    fn since(&self, before: &Self) -> Stretch {
        let grown = self.steal.iter().filter_map(|(core, ticks)| {
            let (_, then) = before.steal.iter().find(|(known, _)| known == core)?;
            Some(ticks.saturating_sub(*then) * TICK)
        });
        let (sum, most, cores) =
            grown.fold((0, 0, 0_u32), |(sum, most, cores), grown| (sum + grown, most.max(grown), cores + 1));
        let wall = self.at.saturating_sub(before.at);
        let of_all = wall as f64 * f64::from(cores);
        Stretch {
            from: before.at,
            to: self.at,
            core_most: most,
            share: if of_all > 0.0 { sum as f64 / of_all } else { 0.0 },
            throttled: self.throttled.zip(before.throttled).is_some_and(|(now, then)| now > then),
        }
    }
}

/// Ticks of steal since boot, by core: the eighth number of the lines `cpu0 user nice system idle iowait irq softirq
/// steal …` (proc_stat(5)).
fn steal(text: &str) -> Vec<(u32, u64)> {
    let of_core = |line: &str| {
        let mut words = line.strip_prefix("cpu")?.split(' ');
        let core = words.next()?.parse().ok()?;
        Some((core, words.nth(7)?.parse().ok()?))
    };
    text.lines().take_while(|line| line.starts_with("cpu")).filter_map(of_core).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steal_by_core() {
        let text = "cpu  74585 10 16487 106928 802 5 93 340 7 0\ncpu0 1 0 2 3 4 0 12 164 0 0\n\
                    cpu12 1 0 2 3 4 0 12 176 0 0\nintr 5 6\ncpu9 no\n";
        assert_eq!(steal(text), [(0, 164), (12, 176)]);
        assert_eq!(steal("cpu0 1 2\n"), []);
        assert_eq!(steal(""), []);
    }

    #[test]
    fn what_was_taken_between_two_polls() {
        let reading = |at, steal: &[(u32, u64)], throttled| Reading {
            at,
            steal: steal.to_vec(),
            throttled: Some(throttled),
        };
        let before = reading(SLICE, &[(0, 10), (1, 20)], 3);
        let stretch = reading(3 * SLICE, &[(0, 13), (1, 21)], 3).since(&before);
        assert_eq!((stretch.from, stretch.to, stretch.core_most), (SLICE, 3 * SLICE, 3 * TICK));
        assert!((stretch.share - 0.2).abs() < 1e-9 && !stretch.throttled, "{stretch:?}");
        // A core that came or went counts for nothing, nor does one whose count went back.
        let stretch = reading(3 * SLICE, &[(1, 19), (2, 500)], 4).since(&before);
        assert_eq!((stretch.core_most, stretch.throttled), (0, true));
    }

    #[test]
    fn this_machine_can_be_read() {
        let mut taken = Taken::new(0);
        assert!(taken.poll(SLICE).is_none() && taken.is_known(), "the first poll has none before it");
        assert!(taken.poll(SLICE + 1).is_none(), "not due");
        assert!(taken.poll(Nanos::MAX / 2).is_some());
    }
}
