//! Instructions and cycles of the server, where the machine counts them and lets one look.

use std::collections::BTreeSet;
use std::io;

use prony_model::CounterUse;

use crate::clock::Nanos;
use crate::sys::{Counter, Event};

/// Threads that are counted: each takes two descriptors.
const THREADS_MAX: usize = 64;
/// A server that used less CPU time than this may have executed nothing while a counter was free.
const LEAST_CPU: Nanos = 10_000_000;

/// Counters of a server's threads.
#[derive(Debug)]
pub(super) struct Counters {
    state: Result<Running, String>,
}

#[derive(Debug)]
struct Running {
    instructions: Vec<Counter>,
    cycles: Vec<Counter>,
    first: (u64, u64),
    user_only: bool,
}

impl Counters {
    /// Begins to count the threads `tids` and all that they start.
    pub(super) fn new(tids: &BTreeSet<u32>) -> Self {
        Self { state: Running::new(tids) }
    }

    /// Sets the beginning to now.
    pub(super) fn begin(&mut self) {
        if let Ok(running) = &mut self.state {
            running.first = running.read().unwrap_or_default();
        }
    }

    /// Instructions since the beginning.
    pub(super) fn instructions(&self) -> Option<u64> {
        let running = self.state.as_ref().ok()?;
        Some(running.read()?.0.saturating_sub(running.first.0))
    }

    /// What was counted while the server used so much `cpu` time.
    pub(super) fn summary(&self, cpu: Nanos) -> CounterUse {
        let absent = |why: &str| CounterUse { absent_because: Some(why.to_owned()), ..CounterUse::default() };
        let running = match &self.state {
            Ok(running) => running,
            Err(why) => return absent(why),
        };
        match running.read() {
            None => absent("the counters can't be read any more"),
            Some(last) if last.0 <= running.first.0 && cpu >= LEAST_CPU => {
                absent("this machine has counters that do not count, as virtual machines may")
            }
            Some(last) => CounterUse {
                instructions: Some(last.0.saturating_sub(running.first.0)),
                cycles: Some(last.1.saturating_sub(running.first.1)).filter(|cycles| *cycles > 0),
                absent_because: running.user_only.then(|| {
                    "only user mode was counted: kernel.perf_event_paranoid forbids more".to_owned()
                }),
            },
        }
    }
}

impl Running {
    fn new(tids: &BTreeSet<u32>) -> Result<Self, String> {
        if tids.len() > THREADS_MAX {
            return Err(format!("the server has more than {THREADS_MAX} threads: they were not counted"));
        }
        match Self::open(tids, false) {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Self::open(tids, true),
            other => other,
        }
        .map_err(|error| reason(&error))
    }

    fn open(tids: &BTreeSet<u32>, user_only: bool) -> io::Result<Self> {
        let mut running = Self { instructions: Vec::new(), cycles: Vec::new(), first: (0, 0), user_only };
        for tid in tids {
            match Counter::open(*tid, Event::Instructions, user_only) {
                Ok(counter) => running.instructions.push(counter),
                // A thread that has just ended needs no counter.
                Err(error) if error.raw_os_error() == Some(libc::ESRCH) => continue,
                Err(error) => return Err(error),
            }
            running.cycles.extend(Counter::open(*tid, Event::Cycles, user_only).ok());
        }
        Ok(running)
    }

    /// Instructions and cycles so far, made up for the time in which the CPU's counters served others.
    fn read(&self) -> Option<(u64, u64)> {
        let sum = |counters: &[Counter]| {
            counters.iter().try_fold(0_u64, |sum, counter| {
                let count = counter.read()?;
                // Multiplied wide: a year of nanoseconds times as many instructions.
                let running = u128::from(count.running_ns.max(1));
                let whole = u128::from(count.value) * u128::from(count.enabled_ns) / running;
                Some(sum.saturating_add(u64::try_from(whole).unwrap_or(u64::MAX)))
            })
        };
        Some((sum(&self.instructions)?, sum(&self.cycles).unwrap_or(0)))
    }
}

/// Why the kernel has no counters.
fn reason(error: &io::Error) -> String {
    match error.raw_os_error() {
        Some(libc::EACCES | libc::EPERM) => {
            "counting is not permitted: sysctl kernel.perf_event_paranoid=1, or CAP_PERFMON".to_owned()
        }
        Some(libc::ENOENT | libc::EOPNOTSUPP | libc::ENODEV | libc::ENXIO) => {
            "this machine has no hardware counters, as most virtual machines".to_owned()
        }
        Some(libc::ENOSYS) => "this kernel has no perf_event_open".to_owned(),
        Some(libc::EMFILE | libc::ENFILE) => "too few descriptors were left for counters".to_owned(),
        _ => format!("counting failed ({error})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_say_what_to_do() {
        let why = |number| reason(&io::Error::from_raw_os_error(number));
        assert!(why(libc::EACCES).contains("perf_event_paranoid"));
        assert!(why(libc::ENOENT).contains("no hardware counters"));
    }

    #[test]
    fn own_threads_are_counted_or_there_is_a_reason() {
        let tid = rustix::thread::gettid().as_raw_nonzero().get();
        let mut counters = Counters::new(&BTreeSet::from([u32::try_from(tid).expect("above 0")]));
        counters.begin();
        let found = counters.summary(0);
        assert!(found.instructions.is_some() || found.absent_because.is_some(), "{found:?}");
        let many = Counters::new(&(0..100).collect()).summary(0);
        assert!(many.absent_because.is_some_and(|why| why.contains("64 threads")));
    }
}
