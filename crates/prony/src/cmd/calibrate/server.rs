//! The null server of a calibration: in a thread of this process, or elsewhere.

use std::fs;
use std::time::Duration;

use prony_model::Target;
use prony_study::{CalibrationStep, NullServerUse};
use prony_targets::{Running, StartError, null};

use crate::cli_error::CliError;
use crate::clock;
use crate::cmd::serve;

/// The name of the null server's threads (prony-targets), which distinguishes them from the client's.
const THREAD_NAME: &str = "null";
/// Threads of the null server for each of the client: an answer costs it about 1.4 times what it costs the
/// client, and with too few the calibration would be of the server.
const WORKERS_PER_THREAD: u32 = 2;

/// A null server that can be loaded.
pub(super) struct Server {
    pub(super) target: Target,
    /// Whether client and server have a CPU for each of their threads.
    pub(super) has_room: bool,
    /// Stops when it is dropped.
    running: Option<Running>,
}

impl Server {
    /// One for `step` on this machine, which has `cpus` CPUs.
    pub(super) fn start(step: &CalibrationStep, cpus: u32) -> Result<Self, CliError> {
        let workers = (WORKERS_PER_THREAD * step.threads).min(cpus.saturating_sub(step.threads)).max(1);
        let config = null::Config {
            workers: workers as usize,
            body_bytes: usize::try_from(step.response_bytes).unwrap_or(usize::MAX),
            ..null::Config::default()
        };
        let running = null::start(config).map_err(|error| match error {
            StartError::Setting { reason, .. } => CliError::usage(format!("--response-bytes: {reason}")),
            other => serve::cli_error(&other),
        })?;
        let target = Target::parse(&format!("http://{}/", running.local_addr()))?;
        Ok(Self { target, has_room: step.threads + workers <= cpus, running: Some(running) })
    }

    /// The one at `target`, on whose machine nothing can be seen.
    pub(super) fn remote(target: &Target) -> Self {
        Self { target: target.clone(), has_room: true, running: None }
    }

    /// What its threads have done until now; nothing for one elsewhere.
    pub(super) fn sample(&self) -> Sample {
        let threads = if self.running.is_some() { threads() } else { Vec::new() };
        Sample { at: clock::monotonic(), threads }
    }
}

/// What the server's threads had done at a moment.
#[derive(Debug, Clone, Default)]
pub(super) struct Sample {
    at: Duration,
    /// By the kernel's number of the thread.
    threads: Vec<(i32, Times)>,
}

/// Of one thread since it started.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Times {
    cpu: Duration,
    waited: Duration,
}

impl Sample {
    /// What was done between `before` and this.
    pub(super) fn since(&self, before: &Self) -> NullServerUse {
        let wall_s = self.at.saturating_sub(before.at).as_secs_f64();
        let busiest = |part: fn(&Times) -> Duration| {
            let shares = self.threads.iter().filter_map(|(tid, times)| {
                let (_, earlier) = before.threads.iter().find(|(known, _)| known == tid)?;
                let spent = part(times).saturating_sub(part(earlier));
                (wall_s > 0.0).then(|| (spent.as_secs_f64() / wall_s).min(1.0))
            });
            shares.reduce(f64::max)
        };
        NullServerUse { cpu_share: busiest(|times| times.cpu), wait_share: busiest(|times| times.waited) }
    }
}

/// Every thread of this process that is one of the null server's.
fn threads() -> Vec<(i32, Times)> {
    let Ok(entries) = fs::read_dir("/proc/self/task") else { return Vec::new() };
    let of_thread = |entry: fs::DirEntry| {
        let name = fs::read_to_string(entry.path().join("comm")).ok()?;
        let times = fs::read_to_string(entry.path().join("schedstat")).ok();
        let tid = entry.file_name().to_str()?.parse().ok()?;
        (name.trim_end() == THREAD_NAME).then_some((tid, times.as_deref().and_then(read_times)?))
    };
    entries.flatten().filter_map(of_thread).collect()
}

/// Time on a CPU and time waiting for one, both in ns (Documentation/scheduler/sched-stats.rst).
fn read_times(schedstat: &str) -> Option<Times> {
    let mut numbers = schedstat.split_whitespace().map(str::parse);
    let mut next = || numbers.next()?.ok().map(Duration::from_nanos);
    Some(Times { cpu: next()?, waited: next()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_times_are_read() {
        let times = Times { cpu: Duration::from_nanos(1_500), waited: Duration::from_nanos(20) };
        assert_eq!(read_times("1500 20 7\n"), Some(times));
        assert_eq!(read_times("1500\n"), None);
        assert_eq!(read_times(""), None);
    }

    fn sample(at_ms: u64, threads: &[(i32, u64, u64)]) -> Sample {
        let ms = Duration::from_millis;
        let threads = threads
            .iter()
            .map(|(tid, cpu, waited)| (*tid, Times { cpu: ms(*cpu), waited: ms(*waited) }))
            .collect();
        Sample { at: ms(at_ms), threads }
    }

    #[test]
    fn the_busiest_thread_counts() {
        let before = sample(1_000, &[(7, 100, 0), (8, 400, 5)]);
        let after = sample(3_000, &[(7, 2_000, 0), (8, 400, 25), (9, 999, 999)]);
        assert_eq!(after.since(&before), NullServerUse { cpu_share: Some(0.95), wait_share: Some(0.01) });
        assert_eq!(sample(2_000, &[]).since(&sample(1_000, &[])), NullServerUse::default());
    }
}
