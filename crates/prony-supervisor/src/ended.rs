//! How a process ended.

use std::fmt;

/// What a shell, and a sandbox, adds to the number of the signal that ended a command.
const SIGNAL_OFFSET: i32 = 128;
/// The highest number of a signal.
const SIGNAL_MAX: i32 = 64;

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// By itself, with this code.
    Code(i32),
    /// By a signal that nobody here sent.
    Signal(i32),
    /// It was stopped.
    Stopped(StopReason),
    /// Its guardian was killed, and it with that.
    Lost,
}

/// Why a command was stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopReason {
    /// Somebody cancelled it.
    Cancelled,
    /// Its time was over.
    Time,
    /// It wrote too much to its output.
    Output,
    /// It had too much memory.
    Memory,
    /// It had too many processes.
    Processes,
    /// It had too much in its folder.
    Disk,
    /// It had too many files in its folder.
    Files,
    /// It left too little of the disk to others.
    DiskFull,
}

impl Ended {
    /// Whether all went well.
    pub fn is_good(self) -> bool {
        self == Self::Code(0)
    }

    /// The signal that ended it, also where a shell or a sandbox made a code of it.
    pub fn signal(self) -> Option<i32> {
        match self {
            Self::Signal(signal) => Some(signal),
            Self::Code(code) => Some(code - SIGNAL_OFFSET).filter(|signal| (1..=SIGNAL_MAX).contains(signal)),
            Self::Stopped(_) | Self::Lost => None,
        }
    }

    /// The line by which a guardian reports it.
    pub(crate) fn report(self) -> Option<String> {
        match self {
            Self::Code(code) => Some(format!("ended code {code}")),
            Self::Signal(signal) => Some(format!("ended signal {signal}")),
            Self::Stopped(_) | Self::Lost => None,
        }
    }

    /// From a guardian's report; without one the guardian was killed.
    pub(crate) fn from_report(report: &str) -> Self {
        let mut words = report.split_whitespace().skip(1);
        match (words.next(), words.next().and_then(|number| number.parse().ok())) {
            (Some("code"), Some(code)) => Self::Code(code),
            (Some("signal"), Some(signal)) => Self::Signal(signal),
            _ => Self::Lost,
        }
    }
}

impl fmt::Display for Ended {
    /// A text that follows "ended with".
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => write!(formatter, "exit code {code}"),
            Self::Signal(signal) => write!(formatter, "signal {signal}"),
            Self::Stopped(_) => formatter.write_str("a stop"),
            Self::Lost => formatter.write_str("its guardian"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_are_read_as_they_are_written() {
        for (ended, words) in [(Ended::Code(0), "exit code 0"), (Ended::Signal(9), "signal 9")] {
            let report = ended.report().expect("it has one");
            assert_eq!((Ended::from_report(&report), ended.to_string().as_str()), (ended, words));
        }
        assert!(Ended::Code(0).is_good() && !Ended::Code(1).is_good() && !Ended::Signal(0).is_good());
        for broken in ["", "ended", "ended code", "ended code x"] {
            assert_eq!(Ended::from_report(broken), Ended::Lost, "{broken}");
        }
    }

    #[test]
    fn a_code_above_128_is_a_signal() {
        let check = |ended: Ended, signal| assert_eq!(ended.signal(), signal, "{ended}");
        check(Ended::Code(153), Some(25));
        check(Ended::Signal(25), Some(25));
        check(Ended::Code(128), None);
        check(Ended::Code(255), None);
        check(Ended::Code(1), None);
    }
}
