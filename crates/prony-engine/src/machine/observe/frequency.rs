//! The CPU's frequency, of the fastest CPU at each poll: idle ones slow down, and nobody minds.

use std::fs::read_to_string;
use std::path::PathBuf;

/// CPUs that are asked: each answer may interrupt its CPU, and the busy ones of a machine change together.
const CPUS_MAX: usize = 16;
/// Fewer polls don't show a change.
const LEAST_POLLS: usize = 2;

/// What was seen.
pub(super) struct Frequencies {
    files: Vec<PathBuf>,
    count: usize,
    sum_khz: f64,
    least_khz: f64,
    most_khz: f64,
}

impl Frequencies {
    /// Of the CPUs that we may run on.
    pub(super) fn new() -> Self {
        let allowed = rustix::thread::sched_getaffinity(None).ok();
        let may_run = |cpu: &usize| allowed.as_ref().is_none_or(|allowed| allowed.is_set(*cpu));
        let file = |cpu| PathBuf::from(format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_cur_freq"));
        let cpus = (0..rustix::thread::CpuSet::MAX_CPU).filter(may_run).take(CPUS_MAX);
        Self::of(cpus.map(file).filter(|file| file.exists()).collect())
    }

    fn of(files: Vec<PathBuf>) -> Self {
        Self { files, count: 0, sum_khz: 0.0, least_khz: f64::INFINITY, most_khz: 0.0 }
    }

    /// Polls once.
    pub(super) fn poll(&mut self) {
        let khz = |file: &PathBuf| read_to_string(file).ok()?.trim().parse::<u32>().ok();
        let fastest = self.files.iter().filter_map(khz).max();
        if let Some(khz) = fastest {
            self.add(f64::from(khz));
        }
    }

    fn add(&mut self, khz: f64) {
        self.count += 1;
        self.sum_khz += khz;
        self.least_khz = self.least_khz.min(khz);
        self.most_khz = self.most_khz.max(khz);
    }

    /// The greatest distance from the mean, as a share of it.
    pub(super) fn drift(&self) -> Option<f64> {
        let mean = self.sum_khz / self.count as f64;
        let distance = (self.most_khz - mean).max(mean - self.least_khz);
        (self.count >= LEAST_POLLS && mean > 0.0).then(|| distance / mean)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(polls: &[f64], expected: Option<f64>) {
        let mut frequencies = Frequencies::of(Vec::new());
        for khz in polls {
            frequencies.add(*khz);
        }
        assert_eq!(frequencies.drift(), expected, "{polls:?}");
    }

    #[test]
    fn the_greatest_distance_from_the_mean() {
        check(&[], None);
        check(&[3_000_000.0], None);
        check(&[3_000_000.0, 3_000_000.0], Some(0.0));
        check(&[2_000_000.0, 4_000_000.0, 3_000_000.0], Some(1.0 / 3.0));
        check(&[0.0, 0.0], None);
    }

    #[test]
    fn a_machine_that_does_not_say_has_no_drift() {
        let mut frequencies = Frequencies::of(vec![PathBuf::from("/nowhere/scaling_cur_freq")]);
        (0..3).for_each(|_| frequencies.poll());
        assert_eq!(frequencies.drift(), None);
    }
}
