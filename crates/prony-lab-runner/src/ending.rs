//! How a command of a build ended, in words for people; where there is something to try, with that.

use std::time::Duration;

use prony_supervisor::{Ended, Limits, StopReason};

/// Signals with a known cause: number and cause (signal(7) on x86 and ARM).
const CAUSES: [(i32, &str); 5] = [
    (6, "it gave up (SIGABRT)"),
    (9, "it was killed (SIGKILL), by itself or because the machine had no memory left"),
    (11, "it used memory that it does not have (SIGSEGV)"),
    (24, "it used more CPU time than allowed (SIGXCPU)"),
    (25, "a file became longer than limits.disk (SIGXFSZ)"),
];

/// Why a command within `limits` did not end well; nothing where its exit code is all that is known.
pub(super) fn reason_of(ended: Ended, limits: &Limits) -> Option<String> {
    let cause = ended.signal().and_then(|signal| CAUSES.iter().find(|(number, _)| *number == signal));
    match (ended, cause) {
        (Ended::Code(code), Some((_, cause))) => Some(format!("exit code {code}: {cause}")),
        (Ended::Code(_), None) => None,
        (Ended::Signal(signal), cause) => {
            let cause = cause.map(|(_, cause)| format!(": {cause}")).unwrap_or_default();
            Some(format!("ended by signal {signal}{cause}"))
        }
        (ended, _) => Some(describe(ended, limits)),
    }
}

/// What became of a command within `limits`.
pub(super) fn describe(ended: Ended, limits: &Limits) -> String {
    let raise = |key: &str| format!("; raise limits.{key} of the project if it needs more");
    match ended {
        Ended::Code(code) => format!("ended with exit code {code}"),
        Ended::Signal(signal) => format!("ended by signal {signal}"),
        Ended::Lost => "its guardian was killed, and it with that".to_owned(),
        Ended::Stopped(reason) => match reason {
            StopReason::Cancelled => "was cancelled".to_owned(),
            StopReason::Time => format!("took longer than {}{}", seconds(limits.time), raise("time")),
            StopReason::Output => format!("wrote more than {}{}", size(limits.output_bytes), raise("output")),
            StopReason::Memory => {
                format!("had more than {} of memory{}", size(limits.memory_bytes), raise("memory"))
            }
            StopReason::Processes => {
                format!("had more than {} processes at once{}", limits.processes, raise("processes"))
            }
            StopReason::Disk => {
                format!("had more than {} in its folder{}", size(limits.disk_bytes), raise("disk"))
            }
            StopReason::Files => "had more files in its folder than can be counted".to_owned(),
            StopReason::DiskFull => {
                "left too little of the disk to the lab: make room in the lab's data folder".to_owned()
            }
        },
    }
}

/// `1.5 s`, `7200 s`: of what is left of a longer time nobody wants to know the milliseconds.
fn seconds(time: Duration) -> String {
    let digits = usize::from(time < Duration::from_secs(10));
    format!("{:.digits$} s", time.as_secs_f64())
}

/// `512 MiB`; what is no whole number of a unit has the next smaller one.
fn size(bytes: u64) -> String {
    let units = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    let fitting = units.into_iter().find(|(unit, _)| bytes >= *unit && bytes.is_multiple_of(*unit));
    fitting.map_or_else(|| format!("{bytes} bytes"), |(unit, name)| format!("{} {name}", bytes / unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits() -> Limits {
        Limits {
            time: Duration::from_millis(1500),
            grace: Duration::ZERO,
            memory_bytes: 1 << 30,
            disk_bytes: 3 << 20,
            output_bytes: 1000,
            processes: 7,
            poll_interval: Duration::ZERO,
        }
    }

    #[test]
    fn ends_are_described_with_what_to_try() {
        let check = |ended: Ended, expected: &str| {
            let text = describe(ended, &limits());
            assert!(text.starts_with(expected), "{text}");
        };
        check(Ended::Code(2), "ended with exit code 2");
        check(Ended::Signal(11), "ended by signal 11");
        check(Ended::Stopped(StopReason::Time), "took longer than 1.5 s; raise limits.time of");
        check(Ended::Stopped(StopReason::Memory), "had more than 1 GiB of memory; raise limits.memory");
        check(Ended::Stopped(StopReason::Disk), "had more than 3 MiB in its folder; raise limits.disk");
        check(Ended::Stopped(StopReason::Output), "wrote more than 1000 bytes; raise limits.output");
        check(Ended::Stopped(StopReason::Processes), "had more than 7 processes at once; raise");
    }

    #[test]
    fn codes_that_stand_for_a_signal_have_its_cause() {
        let reason = |ended| reason_of(ended, &limits()).unwrap_or_default();
        assert_eq!(reason(Ended::Code(1)), "");
        assert_eq!(
            reason(Ended::Code(153)),
            "exit code 153: a file became longer than limits.disk (SIGXFSZ)"
        );
        assert_eq!(
            reason(Ended::Signal(25)),
            "ended by signal 25: a file became longer than limits.disk (SIGXFSZ)"
        );
        assert_eq!(reason(Ended::Signal(10)), "ended by signal 10");
    }
}
